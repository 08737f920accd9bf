import RollcallCore

/// The counts of messages on their way, by receiver.
struct DeliveryStats: Sendable {
    /// In milliseconds: from a pager that answers at once to one that was away for a day.
    private static let latencyBounds: [Int64] = [
        100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 3_600_000,
        14_400_000, 86_400_000,
    ]
    private static let results: [(kind: OutboxVerdict, word: StaticString)] = [
        (.delivered, "delivered"), (.failed, "failed"), (.refused, "refused"),
    ]

    private struct Receiver {
        var attempts = [Int](repeating: 0, count: results.count)
        var latency = Histogram(bounds: latencyBounds)
    }

    private var receivers: [[UInt8]: Receiver] = [:]

    /// Counts an attempt.
    mutating func attempted(_ receiver: [UInt8], _ kind: OutboxVerdict) {
        guard let place = Self.results.firstIndex(where: { $0.kind == kind }) else { return }
        receivers[receiver, default: Receiver()].attempts[place] += 1
    }

    /// Counts a message that a receiver took so long after it was decided.
    mutating func notified(_ receiver: [UInt8], after span: Milliseconds) {
        receivers[receiver, default: Receiver()].latency.observe(span.count)
    }

    /// Appends the families of those receivers that the settings know; `pending` is how many
    /// messages wait for each.
    func append(to page: inout Exposition, of names: [[UInt8]], pending: [[UInt8]: Int]) {
        let ordered = names.sorted { $0.lexicographicallyPrecedes($1) }
        page.family(
            "rollcall_outbox_pending", .gauge, "Messages that a receiver has not taken yet.")
        for name in ordered {
            page.sample(["receiver": .bytes(name)], Quantity(pending[name] ?? 0))
        }
        page.family(
            "rollcall_notification_attempts", .counter, "Attempts to deliver a message.")
        for name in ordered {
            let attempts = (receivers[name] ?? Receiver()).attempts
            for (result, count) in zip(Self.results, attempts) {
                page.sample(
                    ["receiver": .bytes(name), "result": .word(result.word)], Quantity(count))
            }
        }
        page.family(
            "rollcall_notification_latency_seconds", .histogram,
            "Time from a decision until its receiver took the message.")
        for name in ordered {
            page.histogram(["receiver": .bytes(name)], (receivers[name] ?? Receiver()).latency)
        }
    }
}
