import RollcallCore
import RollcallStore
import RollcallSupport

/// Packs the history behind the newest checkpoint but one, a piece a turn (J12).
///
///     idle ──► old blocks are removed ──► turns and rows are read ──► blocks are written ──► rows and
///      ▲                                                     of the tables are removed ──────┘ │
///      └───────────────────────────────────────────────────────────────────────────────────────┘
///
/// A start needs nothing of what is packed, unless the newest checkpoint is damaged. No segment has a
/// kept checkpoint in its middle, so that retention, which cuts up to one, cuts whole segments.
package struct PackingWriter {
    /// Rows, and turns, of a segment, with those of one turn more.
    package static let rowsMax = 65_536
    /// Fewer rows and turns before the newest checkpoint but one wait for more.
    package static let rowsMin = 16_384
    /// Rows or turns read or removed a piece.
    private static let rowsAPiece: Int64 = 1000
    /// About what one takes.
    private static let bytesARow = 128
    /// Blocks removed a piece.
    private static let blocksAPiece: Int64 = 64
    /// The time for which a piece goes on writing blocks.
    private static let writingMax = Duration.milliseconds(2)

    private enum Stage {
        case idle
        /// Segments that were not finished are given up, blocks of what was are removed, and what is packed
        /// from the tables.
        case cleaning(hasDropped: Bool)
        /// Turns, then rows, are read, up to a turn.
        case reading(through: Int64)
        /// Blocks are written; `next` is the id of the next one, nil before the first.
        case writing(next: Int64?)
        /// A segment is read again: after it, rows and turns have one place only.
        case checking(Segment, SegmentSeen)
        /// Rows and turns that are packed are removed.
        case removing(Segment)
    }

    private let rowsMin: Int
    private let rowsMax: Int
    private var stage = Stage.idle
    private var builder = SegmentBuilder()
    /// The first turn that is being packed; 0 if none is.
    private var begin: Int64 = 0
    /// True once something cannot be packed: it is left as it is until the next start.
    private var hasGivenUp = false
    /// The reason why, until somebody takes it.
    private var damage: String?

    /// Packs once there are `rowsMin` rows and turns, and `rowsMax` in a segment.
    package init(rowsMin: Int = rowsMin, rowsMax: Int = rowsMax) {
        self.rowsMin = rowsMin
        self.rowsMax = rowsMax
    }

    /// True if there is something to be written.
    package var isBusy: Bool {
        if case .idle = stage { return false }
        return !hasGivenUp
    }

    /// True if rows are at hand that are not packed yet: nobody may take anything out of them.
    package var isHolding: Bool {
        switch stage {
        case .reading, .writing: true
        case .idle, .cleaning, .checking, .removing: false
        }
    }

    /// The first turn that is being packed; nil if none is.
    package var firstTurn: Int64? { isHolding ? begin : nil }

    /// Gives up what is being packed, until the next checkpoint: a transaction failed, maybe for what
    /// it wrote, or the rows at hand change.
    package mutating func abandon() {
        builder = SegmentBuilder()
        stage = .idle
    }

    /// Looks for what can be packed: at the start of a store with a checkpoint, and after each.
    package mutating func consider() {
        if case .idle = stage { stage = .cleaning(hasDropped: false) }
    }

    /// Returns why history cannot be packed, once; nil if it can.
    package mutating func takeDamage() -> String? {
        defer { damage = nil }
        return damage
    }

    /// Writes the next piece into the open transaction; returns about how many bytes. Turns up to
    /// `cut` are being removed.
    /// - Throws: `StoreError` if the store cannot be read or written.
    package mutating func write(
        to journal: Journal, cutThrough cut: Int64
    ) throws(StoreError) -> Int {
        do throws(StoreError) {
            return try writePiece(to: journal, cut)
        } catch .damaged(let reason) {
            // It is served as before; whoever reads it, or copies it, hears the same.
            hasGivenUp = true
            damage = reason
            abandon()
            return 0
        }
    }

    private mutating func writePiece(
        to journal: Journal, _ cut: Int64
    ) throws(StoreError) -> Int {
        switch stage {
        case .idle: return 0
        case .cleaning(let hasDropped): return try clean(journal, cut, hasDropped)
        case .reading(let last):
            try read(through: last, journal)
            return 1
        case .writing(let next): return try write(from: next, journal)
        case .removing(let segment):
            let isLeft = try journal.removePacked(through: segment, limit: Self.rowsAPiece)
            if !isLeft { stage = .cleaning(hasDropped: true) }
            return Self.bytesARow * Int(Self.rowsAPiece)
        case .checking(let segment, var seen):
            let isWhole = try journal.check(segment, &seen, limit: Int(Self.blocksAPiece))
            stage = isWhole ? .removing(segment) : .checking(segment, seen)
            return 1
        }
    }

    private mutating func clean(
        _ journal: Journal, _ cut: Int64, _ hasDropped: Bool
    ) throws(StoreError) -> Int {
        // Once: what is finished from now on is not given up.
        if !hasDropped { try journal.dropUnfinishedSegments() }
        stage = .cleaning(hasDropped: true)
        if try journal.pruneSegments(blocksMax: Self.blocksAPiece) {
            return Int(Self.blocksAPiece) * RowPacker.bytesOfPage
        }
        if try journal.hasPackedTwice(), let segment = try journal.lastSegment() {
            stage = .checking(segment, SegmentSeen())
            return 1
        }
        stage = try next(journal, cut).map { .reading(through: $0) } ?? .idle
        return 1
    }

    /// Returns the turn through which the next segment may go, and notes where it begins; nil if there
    /// is too little.
    private mutating func next(_ journal: Journal, _ cut: Int64) throws(StoreError) -> Int64? {
        let kept = try journal.checkpoints(beforeTurn: .max)
        guard kept.count >= 2, let first = try journal.unpackedTurns(from: .min, limit: 1).first,
            first.number > cut
        else { return nil }
        // A cut that a stop interrupted took the rows first, and will go on.
        if let row = try journal.firstUnpackedRow(), row > first.firstRow { return nil }
        begin = first.number
        let last = kept[kept.count - 2].turn
        guard let end = kept.first(where: { $0.turn >= first.number })?.turn, end <= last else {
            return nil
        }
        // Before an older one nothing more comes.
        if end < last { return end }
        guard let turn = try journal.unpackedTurns(from: end, limit: 1).first else { return nil }
        let rows = turn.lastRow &- first.firstRow &+ 1
        let turns = turn.number &- first.number &+ 1
        return rows >= Int64(rowsMin) || rows &+ turns >= Int64(rowsMin) ? end : nil
    }

    private mutating func read(through last: Int64, _ journal: Journal) throws(StoreError) {
        let isFull = builder.turns.count >= rowsMax || builder.rowsToCome >= rowsMax
        guard let turn = builder.turns.last, isFull || turn.number == last else {
            var next = builder.turns.last.map { $0.number + 1 } ?? begin
            let turns = try journal.unpackedTurns(from: next, limit: Self.rowsAPiece)
            guard !turns.isEmpty else { throw .damaged("there is no turn \(next)") }
            for turn in turns where next <= last && builder.rowsToCome < rowsMax {
                guard turn.number == next else { throw .damaged("there is no turn \(next)") }
                builder.append(turn)
                next += 1
            }
            return
        }
        guard let row = builder.nextRow else {
            builder.sort()
            stage = .writing(next: nil)
            return
        }
        var next = row
        try journal.unpackedRows(from: row, through: turn.lastRow, limit: Self.rowsAPiece) {
            found in
            guard found.id == next else { return }
            builder.append(found)
            next += 1
        }
        guard next == min(row + Self.rowsAPiece, turn.lastRow + 1) else {
            throw .damaged("there is no journal row \(next)")
        }
    }

    private mutating func write(
        from begun: Int64?, _ journal: Journal
    ) throws(StoreError) -> Int {
        guard let first = builder.turns.first else { return 0 }
        var next =
            if let begun { begun } else {
                try journal.beginSegment(firstTurn: first.number, firstRow: first.firstRow)
            }
        let end = ContinuousClock.now + Self.writingMax
        var bytes = 0
        repeat {
            let block = try builder.nextBlock()
            try journal.appendBlock(next, block)
            bytes += block.count
            next += 1
        } while !builder.isOver && ContinuousClock.now < end
        stage = .writing(next: next)
        if builder.isOver {
            try journal.completeSegment(builder)
            builder = SegmentBuilder()
            stage = .cleaning(hasDropped: true)
        }
        return bytes
    }
}
