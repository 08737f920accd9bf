import ArgumentParser
import RollcallTools

/// `rollcall status`: how everything stands.
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Tell whether it watches, how the fleet stands, who is silent and why, alerts.",
        discussion: """
            Asks a running server. Ages are told by its clock. Regions with most people OFFLINE \
            come first, then the newest silences.
            """
    )

    @Option(
        help: "So many regions, people and alerts. (default: \(StatusQuestion.limitStandard))")
    var limit: Int?

    @OptionGroup var server: ServerOptions

    func run() throws {
        try server.print { (questions, style, _) throws(QuestionError) in
            try StatusQuestion(limit: limit, isJSON: server.json)
                .answer(from: questions, style: style)
        }
    }
}
