import ArgumentParser
import Glibc
import RollcallTools

/// `rollcall events`: what was decided, as it happens.
struct EventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print what was decided, and with --follow what is decided from now on.",
        discussion: """
            Asks a running server: statuses, gaps and their verdicts, alerts, nudges, blind windows, \
            deliveries, who did what, who came and left. The oldest of what is shown comes first. \
            --json prints a line of JSON each, whose cursor goes into --after.
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
            """)
    var kinds: String?

    @Option(help: "Only about this region, or somebody in it.")
    var region: String?

    @Option(help: "Only about this responder.")
    var responder: String?

    @Option(help: "So many at first. (default: \(EventQuestion.limitStandard))")
    var limit: Int?

    @OptionGroup var server: ServerOptions

    func run() throws {
        var options = EventQuestion.Options()
        options.follows = follow
        options.after = after
        options.kinds = kinds
        options.region = region
        options.responder = responder
        options.limit = limit
        options.isJSON = server.json
        try server.print { (server, style, _) throws(QuestionError) in
            try EventQuestion(options).run(
                from: server, style: style,
                print: {
                    Swift.print($0)
                    fflush(nil)
                },
                complain: { complain($0) })
            return ""
        }
    }
}
