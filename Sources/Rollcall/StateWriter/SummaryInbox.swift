import RollcallCore

/// The summaries that cells handed over and no turn has folded yet. Source: K2.
struct SummaryInbox {
    /// A cell whose summaries end so long ago is waited for no longer: it is held as it was.
    static let heldAfter = Milliseconds(3000)

    /// Bytes of what is taken at once, after which the rest waits for the next turn: an event of the journal
    /// has 32 MiB at most, and one summary two thirds of that.
    static let takenMax = 8 << 20

    private struct Cell {
        /// The wall through which it has said everything.
        var through = Timestamp.distantPast
        /// Not folded yet, in their order.
        var waiting: [Summary] = []
    }

    private var cells: [[UInt8]: Cell] = [:]

    /// True if something waits to be folded.
    var isEmpty: Bool { cells.values.allSatisfy(\.waiting.isEmpty) }

    /// Takes in a summary at an instant of the fleet cell's wall. A cell whose clock is ahead says things
    /// of the future: they count from now on, and wait for nothing.
    mutating func put(_ summary: Summary, at now: Timestamp) {
        var summary = summary
        if summary.through > now {
            summary.through = now
            for place in summary.changes.indices where summary.changes[place].at > now {
                summary.changes[place].move(to: now)
            }
        }
        var cell = cells[summary.cell] ?? Cell()
        cell.through = summary.through
        cell.waiting.append(summary)
        cells[summary.cell] = cell
    }

    /// Returns the wall through which every cell that is not held has said everything; `now` if all are.
    func through(_ now: Timestamp) -> Timestamp {
        cells.values.map(\.through).filter { now - $0 < Self.heldAfter }.min()
            .map { min($0, now) } ?? now
    }

    /// Takes what was said of the time through `wall`. Of a cell that was split, and of the new one, it is kept until
    /// both have said something: that counts from one instant on, and nobody is missed on the way (K6).
    mutating func take(
        through wall: Timestamp, splits: [(origin: [UInt8], new: [UInt8])] = []
    ) -> [Summary] {
        let isSaid = { [cells] (name: [UInt8]) in
            cells[name]?.waiting.contains { $0.through <= wall } ?? false
        }
        let isReady = { (split: (origin: [UInt8], new: [UInt8])) in
            isSaid(split.origin) && isSaid(split.new)
        }
        let kept = Set(splits.filter { !isReady($0) }.flatMap { [$0.origin, $0.new] })
        let joined = Set(splits.filter(isReady).flatMap { [$0.origin, $0.new] })
        return take(through: wall, but: kept).map { summary in
            guard joined.contains(summary.cell) else { return summary }
            var summary = summary
            for place in summary.changes.indices { summary.changes[place].move(to: wall) }
            // What it says of that instant was said by then.
            summary.through = max(summary.through, wall)
            return summary
        }
    }

    private mutating func take(through wall: Timestamp, but kept: Set<[UInt8]>) -> [Summary] {
        var taken: [Summary] = []
        var size = 0
        for name in cells.keys.sorted(by: { $0.lexicographicallyPrecedes($1) })
        where !kept.contains(name) {
            guard var cell = cells[name], !cell.waiting.isEmpty else { continue }
            while let first = cell.waiting.first, first.through <= wall, size < Self.takenMax {
                size += first.size
                taken.append(cell.waiting.removeFirst())
            }
            if size >= Self.takenMax {
                cells[name] = cell
                break
            }
            // One that says everything is of its end.
            if let first = cell.waiting.first, !first.isWhole {
                let said = first.changes.prefix { $0.at <= wall }
                let count = said.prefix {
                    if size < Self.takenMax { size += $0.size }
                    return size < Self.takenMax
                }.count
                if count > 0 {
                    var part = first
                    // These come with the rest.
                    part.sources = []
                    part.changes = Array(said.prefix(count))
                    // What is left of this instant comes with the next turn.
                    part.through = count < said.count ? said[count - 1].at : wall
                    taken.append(part)
                    cell.waiting[0].changes.removeFirst(count)
                }
            }
            cells[name] = cell
            if size >= Self.takenMax { break }
        }
        return taken
    }
}

/// The summaries that a cell gave, and who waits for the next. Source: K2.
struct SummaryOutbox {
    var waits: [SummaryWait] = []
    /// The position of the last one; 0 before the first.
    var position: Int64 = 0
}

/// Somebody who waits for what this cell has to say.
struct SummaryWait: Sendable {
    /// Milliseconds for which one waits for a turn on its way.
    static let patience: Int64 = 1000

    /// The last position that they heard; 0 for none.
    let after: Int64
    /// True if they are told which company is wanted.
    let wants: Bool
    let until: Int64
    let reply: @Sendable (Summary?, PeerGroups) -> Void
}
