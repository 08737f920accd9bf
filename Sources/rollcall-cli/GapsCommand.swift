import ArgumentParser
import RollcallCore
import RollcallTools

/// `rollcall gaps`: who was silent, and why.
struct GapsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gaps",
        abstract: "List who was silent, since when and why; or count them.",
        discussion: """
            Asks a running server. Only gaps that reached OFFLINE are there. With --by they are \
            counted instead, beside how many are OFFLINE now.
            """
    )

    @Option(help: "open or closed.", completion: .list(["open", "closed"]))
    var state: String?

    @Option(
        help: "Only with this suspected cause: app_suspended, no_network, …",
        completion: .list(GapCause.allCases.map { "\($0.word)" }))
    var cause: String?

    @Option(
        help: "Only with this verdict: network, app_stopped, …",
        completion: .list(GapVerdict.allCases.map { "\($0.word)" }))
    var verdict: String?

    @Option(help: "Only in this region.")
    var region: String?

    @Option(
        help: "Only on ios, android, other or unknown.",
        completion: .list(Platform.allCases.map { "\($0.word)" }))
    var platform: String?

    @Option(help: "Only those that opened since then: 24h, or 2026-11-21T03:00:00Z.")
    var since: String?

    @Option(help: "Only those that opened before then, said alike.")
    var until: String?

    @Option(help: "Only of who was OFFLINE at this instant, said alike, back by now or not.")
    var at: String?

    @Option(help: "So many, the newest. (default: a table \(GapQuestion.limitStandard), else all)")
    var limit: Int?

    @Option(
        help: """
            Count them by any of cause, verdict, region, platform, manufacturer, model, app_version, \
            os_version: cause,platform.
            """)
    var by: String?

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        var options = GapQuestion.Options()
        options.state = state
        options.cause = cause
        options.verdict = verdict
        options.region = region
        options.platform = platform
        options.since = since
        options.until = until
        options.at = at
        options.limit = limit
        options.by = by
        options.form = try list.form(server)
        try server.list { (server, style, now) throws(QuestionError) in
            try GapQuestion(options, now: now).answer(from: server, style: style)
        }
    }
}
