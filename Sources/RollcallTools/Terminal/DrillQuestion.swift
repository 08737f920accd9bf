import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question that `rollcall drill` asks of a server: a test alert, and what became of it.
/// Source: A11.
package struct DrillQuestion: Sendable {
    /// The time that the command waits for the receiver, in seconds.
    package static let patience = 30
    /// Seconds between questions for the end.
    private static let pause: UInt32 = 1

    private let receiver: String
    private let isJSON: Bool
    private let patience: Int

    /// A drill of a receiver.
    package init(_ receiver: String, isJSON: Bool, patience: Int = Self.patience) {
        self.receiver = receiver
        self.isJSON = isJSON
        self.patience = patience
    }

    /// Asks, waits, and returns what is to be printed, and whether every address took it.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions
    ) throws(QuestionError) -> (text: String, isDelivered: Bool) {
        let end = ContinuousClock.now + .seconds(patience)
        let drills = Resource.drills.path
        let asked = try server.send(.post, drills, ["receiver": .text(receiver)])
        var (status, answer) = asked
        guard let number = answer["drill"]?.whole else {
            throw .strange(server: server.server, "\(drills) without drill")
        }
        while status == 202, ContinuousClock.now < end {
            sleep(Self.pause)
            (status, answer) = try server.send(.get, Resource.drill.path("\(number)"))
        }
        let isDelivered = answer["outcome"]?.text == "delivered"
        return (isJSON ? answer.printed : words(number, answer), isDelivered)
    }

    private func words(_ number: Int64, _ answer: JSONTree) -> String {
        let name = ConsoleText.safe(receiver)
        let targets = answer["targets"]?.elements ?? []
        var lines: [String] = []
        switch answer["outcome"]?.text {
        case "delivered":
            let took = answer["took_ms"]?.whole.map { " after \($0) ms" } ?? ""
            lines.append("Drill \(number): \(name) took it\(took).")
        case let outcome?:
            lines.append(
                "Drill \(number): \(name) did not take it (\(ConsoleText.safe(outcome))).")
        case nil:
            lines.append(
                "Drill \(number): \(name) has not taken it within \(patience) s; it is still "
                    + "tried.")
        }
        for target in targets {
            guard let attempt = target["attempts"]?.elements.last else { continue }
            let status = attempt["status"]?.whole.map { "\($0)" }
            let error = attempt["error"]?.shown
            // What went well in one attempt is told already.
            if targets.count == 1, error == nil, answer["outcome"]?.text == "delivered" { continue }
            let place = target["target"]?.whole.map { "\($0)" } ?? GapListing.missing
            let count = target["attempts"]?.elements.count ?? 0
            lines.append(
                "  address \(place), attempt \(count): "
                    + [status, error].compactMap { $0 }.joined(separator: ", "))
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
