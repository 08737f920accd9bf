/// A fact about a person with a time of its own. Source: fine print F15.
enum Fact: Int, CaseIterable {
    case duty
    case region
    case circles
    case sharing
    case platform
    case versions
    case battery
    case telemetry
}

/// The highest sequence of the batch that told each fact, to decide between two batches that tell
/// for the same instant. Source: design §3 I2.
///
/// Four bytes each: a sequence below 2³¹ is kept as it is; of a larger one, such as a time in
/// milliseconds, the low 31 bits, which are compared around the clock as TCP does: two such batches
/// received in the same millisecond are not a thousand million updates apart.
struct FactSequences: Sendable {
    /// The sequence + 1, or its low bits behind the mark; 0 for what was told without one.
    private var low = InlineArray<8, UInt32>(repeating: 0)

    /// True if what is told of `fact` for `instant` is news after what was told for `at`. Ties go to
    /// the higher sequence, else to what comes later; nil and −1 are no sequence.
    func isNews(
        _ fact: Fact, _ instant: WatchedTime, _ sequence: Int64?, toldAt at: WatchedTime
    ) -> Bool {
        if instant != at { return instant > at }
        guard let sequence, sequence >= 0, low[fact.rawValue] != 0 else { return true }
        let (new, old) = (Self.low(sequence), low[fact.rawValue])
        guard new & old & Self.large != 0 else { return new >= old }
        return Int32(bitPattern: (new &- old) << 1) >= 0
    }

    /// Remembers who told `fact`.
    mutating func note(_ fact: Fact, _ sequence: Int64?) {
        low[fact.rawValue] = sequence.map { $0 < 0 ? 0 : Self.low($0) } ?? 0
    }

    mutating func code(_ archive: inout Archive) {
        for index in low.indices { archive.code(&low[index]) }
    }

    /// Marks a sequence of which only the low bits are kept.
    private static let large: UInt32 = 1 << 31

    private static func low(_ sequence: Int64) -> UInt32 {
        let next = UInt64(bitPattern: sequence) + 1
        return next < UInt64(large) ? UInt32(next) : UInt32(truncatingIfNeeded: next) | large
    }
}
