import ArgumentParser
import RollcallTools

/// `rollcall explain`: one person's last day.
struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Tell what happened to one person, what was suspected, and what it was.",
        discussion: """
            Asks a running server. A suspicion rests on what the phone said before it fell silent, \
            a verdict on what its return showed.
            """
    )

    @Argument(help: "The responder's id.")
    var id: String

    @Option(help: "From then on: 24h, or 2026-11-21T03:00:00Z.")
    var since = "24h"

    @OptionGroup var list: ListOptions

    @OptionGroup var server: ServerOptions

    func run() throws {
        let form = try list.form(server)
        try server.list { (questions, style, now) throws(QuestionError) in
            try Explanation.Question(id: id, since: since, form: form, now: now)
                .answer(from: questions, style: style)
        }
    }
}
