import ArgumentParser
import RollcallTools

/// `rollcall ask`: somebody is asked to reconnect.
struct AskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Ask a person to open their app, by a push.",
        discussion: """
            Nobody is asked twice within an hour, nor more than six times a day, whoever asks. The \
            exit code is 0 if a push goes to them, 1 if not, which is said with the reason.
            """
    )

    @Argument(help: "The person's id.")
    var responder: String

    @Option(help: "Who asks; without it, whose token it is.")
    var by: String?

    @Option(help: "Why, for the events.")
    var note: String?

    @OptionGroup var server: ServerOptions

    func run() throws {
        var isAsked = false
        try server.print { (questions, style, _) throws(QuestionError) in
            let answer = try AskQuestion(responder, by: by, note: note, isJSON: server.json)
                .answer(from: questions, style: style)
            isAsked = answer.isAsked
            return answer.text
        }
        if !isAsked { throw ExitCode(1) }
    }
}
