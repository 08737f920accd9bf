import ArgumentParser
import RollcallTools

/// `rollcall take`: somebody sees to an incident.
struct TakeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Say that you see to an incident, so that nobody is told of it again.",
        discussion: """
            Until it ends, in an hour unless --for says otherwise, nobody is told again: no \
            repeat, no escalation, no fallback. Taken again, it is yours. The number of \
            an incident is in `rollcall status --json`, its key in the pager.
            """
    )

    @Argument(help: "The incident: its number, or its key as the pager has it.")
    var incident: String

    @Option(help: "Who sees to it; without it, whose token it is.")
    var by: String?

    @Option(help: "Words for the others.")
    var note: String?

    @Option(name: .customLong("for"), help: "For so long: 30m, 2h; 12h at most.")
    var span: String?

    @Flag(help: "Give it back: nobody sees to it any more.")
    var release = false

    @OptionGroup var server: ServerOptions

    func run() throws {
        try server.print { (questions, style, _) throws(QuestionError) in
            let question =
                release
                ? TakeQuestion.release(incident, isJSON: server.json)
                : try TakeQuestion(incident, by: by, note: note, span: span, isJSON: server.json)
            return try question.answer(from: questions, style: style)
        }
    }

    func validate() throws {
        if release, by != nil || note != nil || span != nil {
            throw ValidationError(
                "--release stands alone: it says who, why and how long of nothing")
        }
    }
}
