import ArgumentParser
import RollcallTools

/// `rollcall drill`: a test of the way to a receiver.
struct DrillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drill",
        abstract: "Send a clearly marked test alert to a receiver and wait for it.",
        discussion: """
            Asks a running server, which sends it the way that alerts go. It ends by itself. The \
            exit code is 0 if the receiver took it, else 1.
            """
    )

    @Argument(help: "The receiver's name in the settings.")
    var receiver: String

    @OptionGroup var server: ServerOptions

    func run() throws {
        var isDelivered = false
        try server.print { (questions, _, _) throws(QuestionError) in
            let answer = try DrillQuestion(receiver, isJSON: server.json).answer(from: questions)
            isDelivered = answer.isDelivered
            return answer.text
        }
        if !isDelivered { throw ExitCode(1) }
    }
}
