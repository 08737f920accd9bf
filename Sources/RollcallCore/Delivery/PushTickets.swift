/// Pushes that the sink took and of which its receipts tell later whether the phone's system did.
///
/// To ask is harmless: a question that failed is asked again. Source: N7.
struct PushTickets: Equatable, Sendable {
    /// In the order of `next`: whoever comes is the last to be asked for.
    private(set) var waiting: ArraySlice<PushMessage> = []
    /// The pushes whose receipts are being asked for.
    private var asked: [PushMessage] = []
    /// The first instant at which one is given up, or an earlier one.
    private var givenUpFrom = RunningTime.distantFuture
    /// The effect of questions that failed on the next one.
    private var outage = Outage()

    /// Takes one over from the store.
    mutating func restore(_ message: PushMessage) {
        let place = waiting.lastIndex { ($0.next, $0.number) < (message.next, message.number) }
        waiting.insert(message, at: place.map { $0 + 1 } ?? waiting.startIndex)
        givenUpFrom = min(givenUpFrom, message.until)
    }

    /// Takes one that has its ticket, or that has no receipt yet.
    mutating func keep(_ message: PushMessage) {
        waiting.append(message)
        givenUpFrom = min(givenUpFrom, message.until)
    }

    /// Another sink's failures say nothing about the next one.
    mutating func forgetFailures() { outage.forget() }

    /// Returns the instant at which something is to be done; `isFree` if somebody could ask.
    func due(isFree: Bool, _ times: OutboxTimes) -> RunningTime {
        guard isFree, let first = waiting.first else { return givenUpFrom }
        return min(givenUpFrom, max(first.next, outage.pausedUntil(times)))
    }

    /// Those of the next question.
    mutating func begin(now: RunningTime, _ times: OutboxTimes) -> [PushMessage] {
        guard outage.pausedUntil(times) <= now else { return [] }
        asked = Array(waiting.prefix(PushBox.expoReceiptsMax).prefix { $0.next <= now })
        waiting.removeFirst(asked.count)
        return asked
    }

    /// Takes out what is given up: what waited for too long, the first of too many, or all of them.
    mutating func giveUp(now: RunningTime, countMax: Int, all: Bool) -> [PushMessage] {
        var victims: [PushMessage] = []
        if all {
            victims = Array(waiting)
            waiting = []
        } else if givenUpFrom <= now {
            victims = waiting.filter { $0.until <= now }
            waiting.removeAll { $0.until <= now }
        }
        let excess = max(0, waiting.count - countMax)
        victims += waiting.prefix(excess)
        waiting.removeFirst(excess)
        if givenUpFrom <= now || waiting.isEmpty {
            givenUpFrom = waiting.map(\.until).min() ?? .distantFuture
        }
        return victims
    }

    /// Takes the answer and returns the pushes that were asked for, each with what its receipt
    /// says; nil if the question failed, and is asked again after a while that `seed` spreads, and
    /// after `wish`.
    mutating func take(
        _ receipts: [ReceiptVerdict]?, now: RunningTime, wish: Milliseconds, seed: UInt64
    ) -> [(message: PushMessage, receipt: ReceiptVerdict)]? {
        let messages = asked
        asked = []
        guard let receipts, receipts.count == messages.count else {
            outage.failed(now: now, wish: wish, seed: seed)
            waiting = messages[...] + waiting
            givenUpFrom = min(givenUpFrom, messages.map(\.until).min() ?? .distantFuture)
            return nil
        }
        forgetFailures()
        return zip(messages, receipts).map { ($0, $1) }
    }
}
