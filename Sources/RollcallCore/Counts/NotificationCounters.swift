/// The counts of messages by receiver and by the end they came to; they go on over restarts (V2).
package struct NotificationCounters: Equatable, Sendable {
    /// A receiver that did not take something, and its fallback.
    private struct Endpoint: Hashable {
        var receiver: [UInt8] = []
        var fallback: [UInt8] = []
    }

    private var counts: [[UInt8]: [Int]] = [:]
    /// Alerts that were given to a fallback.
    private var given: [Endpoint: Int] = [:]

    /// Returns the number of messages to a receiver that came to an end.
    package func count(_ receiver: [UInt8], _ outcome: NoticeOutcome) -> Int {
        counts[receiver]?[Int(outcome.rawValue)] ?? 0
    }

    mutating func note(_ end: NoticeEnd) {
        let none = [Int](repeating: 0, count: NoticeOutcome.allCases.count)
        counts[end.receiver, default: none][Int(end.outcome.rawValue)] += 1
    }

    /// Returns the number of alerts that `receiver` had not taken and `fallback` was given.
    package func given(from receiver: [UInt8], to fallback: [UInt8]) -> Int {
        given[Endpoint(receiver: receiver, fallback: fallback)] ?? 0
    }

    mutating func noteGiven(from receiver: [UInt8], to fallback: [UInt8]) {
        given[Endpoint(receiver: receiver, fallback: fallback), default: 0] += 1
    }

    /// Receivers that the settings know no longer are not shown, and need not be kept.
    mutating func keep(only receivers: [Receiver]) {
        counts = counts.filter { entry in receivers.contains { $0.name == entry.key } }
        given = given.filter { entry in
            receivers.contains {
                $0.name == entry.key.receiver && $0.fallback == entry.key.fallback
            }
        }
    }

    /// Codes the counts that version 6 added; a part of its own, behind all other counts.
    mutating func codeFallbacks(_ archive: inout Archive) {
        var list = given.sorted { a, b in
            a.key.receiver == b.key.receiver
                ? a.key.fallback.lexicographicallyPrecedes(b.key.fallback)
                : a.key.receiver.lexicographicallyPrecedes(b.key.receiver)
        }.map { (endpoint: $0.key, count: $0.value) }
        archive.code(&list, empty: (endpoint: Endpoint(), count: 0)) { archive, entry in
            archive.code(&entry.endpoint.receiver)
            archive.code(&entry.endpoint.fallback)
            archive.code(&entry.count)
        }
        guard archive.isReading, !archive.isDamaged else { return }
        given = Dictionary(list.map { ($0.endpoint, $0.count) }) { first, _ in first }
    }

    mutating func code(_ archive: inout Archive) {
        var list = counts.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        archive.code(&list, empty: ([], [])) { archive, entry in
            var key = entry.key
            var value = entry.value
            archive.code(&key)
            archive.code(&value)
            if value.count != NoticeOutcome.allCases.count { archive.refuse() }
            entry = (key, value)
        }
        guard archive.isReading, !archive.isDamaged else { return }
        counts = Dictionary(list.map { ($0.key, $0.value) }) { first, _ in first }
    }
}
