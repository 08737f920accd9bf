import RollcallBasis
import RollcallSupport

/// The question that `rollcall ask` asks of a server. Source: R3.
package struct AskQuestion: Sendable {
    private let responder: String
    private let body: JSONTree
    private let isJSON: Bool

    /// Asks for a person by their id.
    package init(_ responder: String, by: String?, note: String?, isJSON: Bool) {
        let given = [("responder_id", responder), ("by", by), ("note", note)]
        self.responder = responder
        self.isJSON = isJSON
        body = .object(
            given.compactMap { name, text in
                text.map { JSONTree.Member(name: name, value: .text($0)) }
            })
    }

    /// Asks, and returns what is to be printed, and whether a push goes to them.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> (text: String, isAsked: Bool) {
        let path = Resource.nudges.path
        let answer = try server.send(.post, path, body).body
        let isAsked = answer["decision"]?.text == "send"
        if isJSON { return (answer.printed, isAsked) }
        guard let text = answer["text"]?.shown else {
            throw .strange(server: server.server, "\(path) without text")
        }
        let until =
            answer["until"]?.instant.map { ", until \(style.moment($0)) \(style.zone($0))" } ?? ""
        return ("\(ConsoleText.safe(responder)): \(text)\(until).\n", isAsked)
    }
}
