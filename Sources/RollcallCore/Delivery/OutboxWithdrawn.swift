/// Firings that messages of a queue do not tell of any more, because they are over (A9) or told
/// together with others (D11).
struct OutboxWithdrawn: Equatable, Sendable {
    /// Those that no attempt has told of, with the message that would have and is not finished yet:
    /// nothing is to be told of their ends either.
    private var unheard: [Int64: Int64] = [:]
    /// Those that the message on its way tells of, unless it fails.
    private var inFlight: [Int64] = []

    /// True if the receiver cannot have heard of a firing.
    func isUnheard(_ incident: Int64) -> Bool { unheard[incident] != nil }

    /// It may have, by an older message.
    mutating func heard(_ incident: Int64) { unheard[incident] = nil }

    /// A firing is withdrawn from the triggers that have it. Returns those that it is to be taken out
    /// of now: of one that is not over, all but what is on its way.
    mutating func take(
        _ incident: Int64, from messages: [OutboxMessage], isOver: Bool
    ) -> [OutboxMessage] {
        if let last = messages.last, messages.allSatisfy({ $0.attempts == 0 }) {
            unheard[incident] = last.number
        }
        if isOver { return messages }
        if messages.contains(where: { $0.state == .sending }) { inFlight.append(incident) }
        return messages.filter { $0.state != .sending }
    }

    /// Takes what is withdrawn once the attempt that is under way has failed.
    mutating func takeInFlight() -> [Int64] {
        defer { inFlight = [] }
        return inFlight
    }

    /// A message is finished.
    mutating func finish(_ message: OutboxMessage) {
        if unheard.isEmpty { return }
        for member in message.notice.members where unheard[member.incident] == message.number {
            unheard[member.incident] = nil
        }
    }
}
