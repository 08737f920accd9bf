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
        help: """
            So many regions, people and alerts. (default: a table \(StatusQuestion.limitStandard), \
            else all)
            """)
    var limit: Int?

    @Option(help: "With -o csv and ids: silent, regions or alerts. (default: silent)")
    var part: StatusPart?

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        let form = try list.form(server)
        try server.list { (questions, style, _) throws(QuestionError) in
            try StatusQuestion(limit: limit, form: form, part: part)
                .answer(from: questions, style: style)
        }
    }
}
