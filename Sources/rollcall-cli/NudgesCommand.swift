import ArgumentParser
import RollcallTools

/// `rollcall nudges`: who was asked to open their app, and who was not and why.
struct NudgesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nudges",
        abstract: "List who was nudged, who was not and why, and what followed.",
        discussion: """
            Asks a running server. With an ID it says first whether this person would be nudged \
            now; if not, why not, and when at the earliest.
            """
    )

    @Argument(help: "Only this responder.")
    var id: String?

    @Option(help: "Only send, hold or dry_run.", completion: .list(["send", "hold", "dry_run"]))
    var decision: String?

    @Option(
        help: "So many, the newest. (default: a table \(NudgeQuestion.limitStandard), else all)")
    var limit: Int?

    @Option(
        help:
            "Count those that were sent, by some of \(NudgeQuestion.keys.joined(separator: ", ")).")
    var by: String?

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        var options = NudgeQuestion.Options()
        options.id = id
        options.decision = decision
        options.limit = limit
        options.by = by
        options.form = try list.form(server)
        try server.list { (server, style, _) throws(QuestionError) in
            try NudgeQuestion(options).answer(from: server, style: style)
        }
    }
}
