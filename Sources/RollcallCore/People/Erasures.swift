/// The person who is to be erased.
package enum ErasedPerson: Equatable, Sendable {
    /// By their id, as it is asked for.
    case id([UInt8])
    /// As the journal keeps it, which must not hold the id: by number, nil for nobody known, and by
    /// the hash of the id.
    case number(Int?, hash: UInt64)

    /// The number that they have in `roster`, nil for nobody known, and the hash of their id.
    package func found(in roster: Roster) -> (number: Int?, hash: UInt64) {
        switch self {
        case .id(let id):
            (roster.number(of: id), StableHash.of(id.span, 0..<id.count))
        case .number(let number, let hash):
            (number.flatMap { $0 < roster.count && roster[$0].idCount > 0 ? $0 : nil }, hash)
        }
    }
}

/// Hashes of erased ids, refused for the retention or until somebody names them again. Source:
/// F17.
package struct Erasures: Sendable {
    struct Entry: Sendable {
        /// The instant at which it was last asked for.
        var at: RunningTime
        /// The journal's row of the first asking: the erasure's number.
        var row: Int64
    }

    private var entries: [UInt64: Entry] = [:]

    /// Remembers an erasure; returns its number, which a repeated one shares.
    @discardableResult
    mutating func note(_ hash: UInt64, row: Int64, now: RunningTime) -> Int64 {
        let row = entries[hash]?.row ?? row
        entries[hash] = Entry(at: now, row: row)
        return row
    }

    /// Forgets an id that was named again.
    mutating func forget(_ hash: UInt64) { entries[hash] = nil }

    /// True for an id erased less than `retention` ago.
    func holds(
        _ bytes: Span<UInt8>, _ range: Range<Int>, now: RunningTime, retention: Milliseconds
    ) -> Bool {
        if entries.isEmpty { return false }
        return entries[StableHash.of(bytes, range)].map { now - $0.at < retention } ?? false
    }

    /// Drops what is older than `retention`.
    mutating func expire(now: RunningTime, retention: Milliseconds) {
        entries = entries.filter { now - $0.value.at < retention }
    }

    mutating func code(_ archive: inout Archive) {
        var list = entries.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        archive.code(&list, empty: (0, Entry(at: .distantPast, row: 0))) { archive, entry in
            archive.code(&entry.0)
            archive.code(&entry.1.at)
            archive.code(&entry.1.row)
        }
        if archive.isReading { entries = Dictionary(list, uniquingKeysWith: { $1 }) }
    }
}
