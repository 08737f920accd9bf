import RollcallBasis
import RollcallSupport

/// The question that `rollcall take` asks of a server. Source: R2.
package struct TakeQuestion: Sendable {
    private let incident: String
    /// The request's body; nil to give the incident back.
    private let body: JSONTree?
    private let isJSON: Bool

    private init(_ incident: String, _ body: JSONTree?, isJSON: Bool) {
        self.incident = incident
        self.body = body
        self.isJSON = isJSON
    }

    /// Takes an incident, by its number or its key, for a span such as `2h`.
    /// - Throws: `QuestionError` if the span is none.
    package init(
        _ incident: String, by: String?, note: String?, span: String?, isJSON: Bool
    ) throws(QuestionError) {
        if let span, SettingText.duration(span)?.count ?? 0 <= 0 {
            throw .wrongOption("--for: a span like 30m or 2h expected (\(ConsoleText.safe(span)))")
        }
        let given = [("by", by), ("note", note), ("duration", span)]
        let members = given.compactMap { name, text in
            text.map { JSONTree.Member(name: name, value: .text($0)) }
        }
        self.init(incident, .object(members), isJSON: isJSON)
    }

    /// Gives an incident back.
    package static func release(_ incident: String, isJSON: Bool) -> TakeQuestion {
        TakeQuestion(incident, nil, isJSON: isJSON)
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> String {
        let path = Resource.take.path(ServerQuestions.escaped(incident))
        let answer = try server.send(body == nil ? .delete : .post, path, body).body
        if isJSON { return answer.printed }
        let number = answer["incident"]?.whole.map { "\($0)" } ?? ConsoleText.safe(incident)
        guard body != nil else { return "Nobody sees to incident \(number) any more.\n" }
        let take = answer["taken"]
        let by = take?["by"]?.shown ?? GapListing.missing
        let until =
            take?["until"]?.instant.map { " until \(style.moment($0)) \(style.zone($0))" } ?? ""
        return "\(by) sees to incident \(number)\(until).\n"
    }
}
