/// What became of messages, by receiver; it goes on over restarts (V2).
package struct NotificationCounters: Equatable, Sendable {
    private var counts: [[UInt8]: [Int]] = [:]

    /// How many messages to a receiver came to an end.
    package func count(_ receiver: [UInt8], _ outcome: NoticeOutcome) -> Int {
        counts[receiver]?[Int(outcome.rawValue)] ?? 0
    }

    mutating func note(_ end: NoticeEnd) {
        let none = [Int](repeating: 0, count: NoticeOutcome.allCases.count)
        counts[end.receiver, default: none][Int(end.outcome.rawValue)] += 1
    }

    /// Receivers that the settings know no longer are not shown, and need not be kept.
    mutating func keep(only receivers: [Receiver]) {
        counts = counts.filter { entry in receivers.contains { $0.name == entry.key } }
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
