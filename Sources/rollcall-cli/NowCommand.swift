import ArgumentParser
import RollcallSupport
import RollcallTools

/// `rollcall` alone: how everything stands, in a sentence, and what to type next.
struct NowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "now",
        abstract: "Tell in a sentence how everything stands, and what to type next.",
        discussion: """
            Asks a running server. This is what `rollcall` does without a command. Ends with 0 however \
            things stand; with 69 if no server answers, which is said with what to type then, or a cell of a \
            fleet does not.
            """
    )

    @Argument(help: .hidden)
    var words: [String] = []

    @OptionGroup var server: ServerOptions

    func run() throws {
        var hasAnswered = false
        do {
            try server.print { (questions, style, _) throws(QuestionError) in
                defer { hasAnswered = questions.hasAnswered }
                return try NowQuestion(
                    flags: [
                        ("server", server.place.server), ("token-file", server.place.tokenFile),
                    ],
                    isJSON: server.json
                ).answer(from: questions, style: style)
            }
        } catch let code as ExitCode where code.rawValue == 69 && !hasAnswered {
            advise(NowQuestion.advice(.ofStandardOutput(isLocal: false)))
            throw code
        }
    }

    func validate() throws {
        guard let word = words.first else { return }
        let names = RollcallCommand.configuration.subcommands.compactMap {
            $0.configuration.commandName
        }
        let hint = Spelling.hint(for: word, among: names)
        throw ValidationError("there is no command \"\(ConsoleText.safe(word))\"\(hint)")
    }
}
