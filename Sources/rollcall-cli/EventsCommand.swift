import ArgumentParser
import RollcallBasis
import RollcallTools

/// `rollcall events`: what was decided, as it happens.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print what was decided, and with --follow what is decided from now on.",
        discussion: """
            Asks a running server: statuses, gaps and their verdicts, alerts, nudges, blind windows, \
            deliveries, who did what, who came and left. The oldest of what is shown comes first. \
            -o json prints a line of JSON each, whose cursor goes into --after, -o ids the cursors.
            """
    )

    @Flag(name: .shortAndLong, help: "Go on with what comes, until interrupted.")
    var follow = false

    @Option(help: "Behind this cursor. Without it the newest are shown.")
    var after: String?

    @Option(
        help: """
            Only of these kinds, with commas between: status, gap, verdict, alert, nudge, blind, \
            delivery, action, person.
            """,
        completion: .list(EventKind.allCases.map { "\($0.word)" }))
    var kinds: String?

    @Option(help: "Only about this region, or somebody in it.")
    var region: String?

    @Option(help: "Only about this responder.")
    var responder: String?

    @Option(
        help: """
            So many at first. (default: \(EventQuestion.limitStandard); with --after a table so many, \
            else all)
            """)
    var limit: Int?

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        var options = EventQuestion.Options()
        options.follows = follow
        options.after = after
        options.kinds = kinds
        options.region = region
        options.responder = responder
        options.limit = limit
        options.form = try list.form(server)
        try server.ask { (server, style, _) throws(QuestionError) in
            try EventQuestion(options).run(
                from: server, style: style, print: put, complain: { complain($0) })
        }
    }
}
