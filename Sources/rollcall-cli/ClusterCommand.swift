import ArgumentParser
import RollcallTools

/// `rollcall cluster`: how a watch on several machines stands.
struct ClusterCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster",
        abstract: "Tell who leads, and what each member of a watch on several machines holds.",
        discussion: """
            Asks a running member. Ends with 1 if it knows of nobody who leads, or does not hold \
            all of the log.
            """
    )

    @OptionGroup var server: ServerOptions

    func run() throws {
        var isWell = true
        try server.print { (questions, style, now) throws(QuestionError) in
            let answer = try ClusterQuestion(isJSON: server.json)
                .answer(from: questions, style: style, now: now)
            isWell = answer.isWell
            return answer.text
        }
        if !isWell { throw ExitCode(1) }
    }
}
