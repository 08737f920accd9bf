import ArgumentParser
import RollcallTools

/// `rollcall silence`: mutes of notifications.
struct SilenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "silence",
        abstract: "Mute notifications of some alerts for a while; list or end that.",
        subcommands: [Add.self, List.self, End.self]
    )

    /// `rollcall silence add`.
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Mute the alerts that fit all matchers.",
            discussion: """
                A matcher is name=value, name!=value, or name=a|b for any of them; names are \
                alertname, severity, region, source, suspected and those of your settings. Alerts \
                fire and end as ever.
                """
        )

        @Argument(help: "Such as alertname=HighOfflineRate or 'region=north|south'.")
        var matchers: [String]

        @Option(name: .customLong("for"), help: "For so long: 90m, 2h, 1d.")
        var span: String

        @Option(help: "Who mutes.")
        var author: String

        @Option(help: "Why.")
        var comment: String

        @Option(help: "A name of your own: asked for again, it is the same silence.")
        var id: String?

        @OptionGroup var server: ServerOptions

        func run() throws {
            try server.print { (questions, style, _) throws(QuestionError) in
                try SilenceQuestion(
                    matchers: matchers, span: span, author: author, comment: comment, id: id,
                    isJSON: server.json
                ).answer(from: questions, style: style).text
            }
        }
    }

    /// `rollcall silence list`.
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List what is muted, and what was within the last 24 hours.")

        @OptionGroup var list: ListOptions

        @OptionGroup var server: ServerOptions

        func run() throws {
            let form = try list.form(server)
            try server.list { (questions, style, _) throws(QuestionError) in
                try SilenceQuestion.list(form).answer(from: questions, style: style)
            }
        }
    }

    /// `rollcall silence end`.
    struct End: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End a silence now.")

        @Argument(help: "Its id, as the list has it: in a fleet of cells CELL/NUMBER.")
        var id: String

        @Option(
            help: ArgumentHelp(
                "At a gateway, the cell whose silence it is. (default: that of ID, else the fleet cell)",
                valueName: "name"))
        var cell: String?

        @OptionGroup var server: ServerOptions

        func run() throws {
            try server.print { (questions, style, _) throws(QuestionError) in
                try SilenceQuestion.end(id, cell: cell, isJSON: server.json)
                    .answer(from: questions, style: style).text
            }
        }
    }
}
