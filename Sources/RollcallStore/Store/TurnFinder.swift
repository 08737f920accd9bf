import RollcallCore

/// Turns and rows between two times.
package struct TurnSpan {
    /// Turns before it are older than what is asked for.
    package var first = Int64.min
    package var firstRow = Int64.min
    /// Turns behind it are newer.
    package var last = Int64.max
    package var lastRow = Int64.max
}

/// Finds turns by their rows and times. Neither has an index: both rise with the turns' numbers,
/// times but for a wall that was set back.
package struct TurnFinder {
    private let reader: HistoryReader
    /// The turn that was found last: the next row of a walk back is before it.
    private var found: Turn?

    /// A finder in the store of `reader`.
    package init(_ reader: HistoryReader) { self.reader = reader }

    /// Returns the turn in which a row was folded; nil if it was cut.
    /// - Throws: `StoreError` if the store cannot be read.
    package mutating func turn(ofRow row: Int64) throws(StoreError) -> Turn? {
        var high = try reader.lastTurnNumber()
        if let found, found.lastRow >= row {
            if found.firstRow <= row { return found }
            high = found.number - 1
        }
        if let packed = try reader.journal.segments.turn(ofRow: row) {
            found = packed
            return packed
        }
        let first = try first(through: high) { $0.lastRow >= row }
        guard let turn = first, turn.firstRow <= row else { return nil }
        found = turn
        return turn
    }

    /// Returns the turns from one time on and before another.
    /// - Throws: `StoreError` if the store cannot be read.
    package func span(since: Timestamp?, until: Timestamp?) throws(StoreError) -> TurnSpan {
        var span = TurnSpan()
        let last = try reader.lastTurnNumber()
        if let since {
            let turn = try first(through: last) { $0.wallMilliseconds >= since.milliseconds }
            (span.first, span.firstRow) = turn.map { ($0.number, $0.firstRow) } ?? (.max, .max)
        }
        if let until,
            let turn = try first(
                through: last, where: { $0.wallMilliseconds >= until.milliseconds })
        {
            (span.last, span.lastRow) = (turn.number - 1, turn.firstRow - 1)
        }
        return span
    }

    /// Returns the first turn of which `holds` says yes, once it holds of all behind it; some
    /// twenty reads.
    /// - Throws: `StoreError` if the store cannot be read.
    private func first(
        through last: Int64, where holds: (Turn) -> Bool
    ) throws(StoreError) -> Turn? {
        guard let oldest = try reader.turn(notBefore: .min), oldest.number <= last else {
            return nil
        }
        var low = oldest.number
        var high = last
        var best: Turn?
        while low <= high {
            let middle = low + (high - low) / 2
            guard let turn = try reader.turn(notBefore: middle), turn.number <= high else {
                high = middle - 1
                continue
            }
            if holds(turn) {
                best = turn
                high = middle - 1
            } else {
                low = turn.number + 1
            }
        }
        return best
    }
}
