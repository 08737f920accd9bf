/// The terms on which a roster comes. Source: I11.
package struct RosterTerms: Equatable, Sendable {
    /// True if it may retire more than half of the active.
    package var allowsShrink: Bool
    /// The roster that this is a part of; empty for one that comes whole.
    package var id: [UInt8]
    /// True if more parts follow.
    package var hasMore: Bool

    /// Terms of a whole roster, or of a part.
    package init(allowsShrink: Bool = false, id: [UInt8] = [], hasMore: Bool = false) {
        self.allowsShrink = allowsShrink
        self.id = id
        self.hasMore = hasMore
    }
}

/// The reason why a roster, or a part of one, is refused.
package enum RosterFault: Error, Equatable, Sendable {
    /// It would retire so many of so many active: a failed query must not switch the watch off.
    case shrinks(active: Int, retiring: Int)
    /// This roster is complete, or was given up: another one needs another id.
    case ended
}

/// A set of people by number.
package struct NumberSet: Equatable, Sendable {
    private(set) var words: [UInt64] = []

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    /// An empty one.
    package init() {}

    /// True if it has that person, by a number from 0 on.
    package func contains(_ number: Int) -> Bool {
        number / 64 < words.count && words[number / 64] >> UInt64(number % 64) & 1 == 1
    }

    mutating func insert(_ number: Int) {
        while words.count <= number / 64 { words.append(0) }
        words[number / 64] |= 1 << UInt64(number % 64)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&words, empty: 0) { $0.code(&$1) }
    }
}

/// Rosters of which some parts have come, and which have lately ended.
///
///     (none) ── part with more ──► open ── last part ──► complete ── 10 min ──► (none)
///                                   │ no part for 10 min, or eight newer ones
///                                   └──────────────────► given up ── 10 min ──► (none)
///
/// A part of one that was given up is refused: taken for a whole roster, the last part alone would
/// retire everybody who was in the others.
package struct RosterParts: Sendable {
    /// Rosters open at once.
    package static let openMax = 8
    /// Ended rosters remembered at most.
    static let endedMax = 64
    /// Time between two parts at most, and for which an ended one is remembered.
    package static let partsApart = Milliseconds.seconds(600)

    struct Open: Sendable {
        var id: [UInt8]
        /// The people who stood in the parts so far.
        var named = NumberSet()
        var lastPart: RunningTime
    }

    struct Ended: Sendable {
        var id: UInt64
        /// Hash of the last part, so that a retry is known; 0 for one that was given up.
        var lastPart: UInt64
        var at: RunningTime
    }

    private(set) var open: [Open] = []
    private(set) var ended: [Ended] = []

    /// The ended roster of this id.
    func ended(_ id: [UInt8]) -> Ended? {
        let hash = StableHash.of(id.span, 0..<id.count)
        return ended.last { $0.id == hash }
    }

    /// Returns the people who stood in the earlier parts.
    func named(_ id: [UInt8]) -> NumberSet? { open.first { $0.id == id }?.named }

    /// A part with more to follow has named some people.
    mutating func add(_ numbers: some Sequence<Int>, to id: [UInt8], now: RunningTime) {
        if !open.contains(where: { $0.id == id }) {
            if open.count == Self.openMax { giveUp(at: 0, now) }
            open.append(Open(id: id, lastPart: now))
        }
        guard let index = open.firstIndex(where: { $0.id == id }) else { return }
        open[index].lastPart = now
        for number in numbers { open[index].named.insert(number) }
    }

    /// The last part came.
    mutating func complete(_ id: [UInt8], lastPart: UInt64, now: RunningTime) {
        open.removeAll { $0.id == id }
        end(id, lastPart, now)
    }

    /// Gives up and forgets what has become too old, as of when it did.
    mutating func expire(now: RunningTime) {
        while let index = open.firstIndex(where: { now - $0.lastPart >= Self.partsApart }) {
            giveUp(at: index, open[index].lastPart + Self.partsApart)
        }
        ended.removeAll { now - $0.at >= Self.partsApart }
    }

    private mutating func giveUp(at index: Int, _ now: RunningTime) {
        end(open.remove(at: index).id, 0, now)
    }

    private mutating func end(_ id: [UInt8], _ lastPart: UInt64, _ now: RunningTime) {
        let hash = StableHash.of(id.span, 0..<id.count)
        ended.append(Ended(id: hash, lastPart: lastPart, at: now))
        if ended.count > Self.endedMax { ended.removeFirst() }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&open, empty: Open(id: [], lastPart: .distantPast)) { archive, roster in
            archive.code(&roster.id)
            roster.named.code(&archive)
            archive.code(&roster.lastPart)
        }
        archive.code(&ended, empty: Ended(id: 0, lastPart: 0, at: .distantPast)) {
            archive, roster in
            archive.code(&roster.id)
            archive.code(&roster.lastPart)
            archive.code(&roster.at)
        }
    }
}
