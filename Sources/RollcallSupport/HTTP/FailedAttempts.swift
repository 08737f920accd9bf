import RollcallCore

/// The passwords in vain of a short while ago, by the network that they came from.
struct FailedAttempts: Sendable {
    /// The attempts that may follow each other at once.
    static let atOnceMax = 20
    /// One more may be made after each such span.
    static let every = Milliseconds.seconds(1)
    /// Networks that are remembered; beyond that the oldest attempts are forgotten.
    static let networksMax = 4096

    private struct Record: Sendable {
        var left: Int
        var filledAt: Int64
    }

    private var records: [UInt64: Record] = [:]

    /// Networks that are remembered.
    var count: Int { records.count }

    /// Returns true if a network may try one more.
    func mayTry(_ network: UInt64, at elapsed: Int64) -> Bool { left(network, at: elapsed) > 0 }

    /// Returns how many a network may make at once.
    func left(_ network: UInt64, at elapsed: Int64) -> Int {
        records[network].map { filled($0, at: elapsed).left } ?? Self.atOnceMax
    }

    /// Notes an attempt, in vain until it is given back.
    mutating func take(_ network: UInt64, at elapsed: Int64) {
        fill(network, at: elapsed)
        var record = records[network] ?? Record(left: Self.atOnceMax, filledAt: elapsed)
        record.left = max(0, record.left - 1)
        if records[network] == nil, records.count >= Self.networksMax { forget(at: elapsed) }
        records[network] = record
    }

    /// Takes back an attempt that was not in vain.
    mutating func giveBack(_ network: UInt64) {
        guard let left = records[network]?.left else { return }
        records[network]?.left = min(Self.atOnceMax, left + 1)
    }

    private mutating func fill(_ network: UInt64, at elapsed: Int64) {
        guard let record = records[network].map({ filled($0, at: elapsed) }) else { return }
        records[network] = record.left == Self.atOnceMax ? nil : record
    }

    private func filled(_ record: Record, at elapsed: Int64) -> Record {
        let more = max(0, (elapsed - record.filledAt) / Self.every.count)
        return Record(
            left: min(Self.atOnceMax, record.left + Int(clamping: min(more, 1 << 20))),
            filledAt: record.filledAt + more * Self.every.count)
    }

    /// Makes room: first those who may try as often as anybody, else the one noted the longest ago.
    private mutating func forget(at elapsed: Int64) {
        for network in Array(records.keys) { fill(network, at: elapsed) }
        guard records.count >= Self.networksMax,
            let first = records.min(by: { $0.value.filledAt < $1.value.filledAt })
        else { return }
        records[first.key] = nil
    }
}
