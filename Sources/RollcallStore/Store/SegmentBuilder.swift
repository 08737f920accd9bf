import RollcallCore

/// Makes a segment of turns and their rows, which are given in order.
package struct SegmentBuilder {
    /// Bodies of one block, with those of a row more: many may be the same.
    private static let bytesMax = 256 << 10

    package private(set) var turns: [Turn] = []
    private var rows = PackedRows()
    /// The places of the rows in the order of the blocks; empty before `sort()`.
    private var order: [Int] = []
    private var rowsTaken = 0
    private var turnsTaken = 0
    var directory = SegmentDirectory()

    package init() {}

    /// Adds a turn, whose rows follow.
    package mutating func append(_ turn: Turn) { turns.append(turn) }

    /// Adds a row.
    package mutating func append(_ row: JournalRow) { rows.append(row, key: row.responder) }

    /// Rows that its turns have.
    package var rowsToCome: Int {
        guard let first = turns.first, let last = turns.last else { return 0 }
        return Int(clamping: last.lastRow &- first.firstRow &+ 1)
    }

    /// The id of the row that comes next; nil once all are there.
    package var nextRow: Int64? {
        guard let first = turns.first, let last = turns.last else { return nil }
        let next = rows.rows.last.map { $0.id + 1 } ?? first.firstRow
        return next <= last.lastRow ? next : nil
    }

    /// True once there are no more blocks.
    package var isOver: Bool { rowsTaken == order.count && turnsTaken == turns.count }

    /// Puts the rows in the order of the blocks: by person, then by id.
    package mutating func sort() {
        let rows = rows.rows
        // They came by rising id.
        let places = rows.indices.sorted { (rows[$0].key, $0) < (rows[$1].key, $1) }
        order = places
    }

    /// Returns the next block, which is read again to see that it is what was given.
    /// - Throws: `StoreError.damaged` if it is not.
    package mutating func nextBlock() throws(StoreError) -> [UInt8] {
        guard rowsTaken < order.count else {
            let begin = turnsTaken
            directory.turns.append(
                SegmentDirectory.TurnPlace(
                    number: turns[begin].number, firstRow: turns[begin].firstRow))
            let block = PackedTurns.block(of: turns, from: &turnsTaken)
            guard PackedTurns.turns(of: block) == Array(turns[begin..<turnsTaken]) else {
                throw .damaged("turn \(turns[begin].number) cannot be packed")
            }
            return block
        }
        let first = rows.rows[order[rowsTaken]]
        directory.rows.append(SegmentDirectory.Place(key: first.key, id: first.id))
        if let block = block(packs: true) ?? block(packs: false) { return block }
        throw .damaged("journal row \(first.id) cannot be packed")
    }

    /// Returns a block of the next rows, and takes them; nil if they are not read again from it.
    private mutating func block(packs: Bool) -> [UInt8]? {
        var packer = RowPacker()
        var given = PackedRows()
        var next = rowsTaken
        while next < order.count, given.bytes.count < Self.bytesMax {
            let row = rows.rows[order[next]]
            guard packer.append(row, Array(rows.bytes[row.body]), packs: packs) else { break }
            rows.with(row) { given.append($0, key: row.key) }
            next += 1
        }
        guard PackedRows(block: packer.bytes) == given else { return nil }
        rowsTaken = next
        return packer.bytes
    }
}

extension RowPacker {
    /// Returns one block of rows that were in one, however long it becomes; nil if they are not
    /// read again from it.
    static func block(of rows: PackedRows) -> [UInt8]? {
        for packs in [true, false] {
            var packer = RowPacker(bytesMax: .max)
            for row in rows.rows {
                _ = packer.append(row, Array(rows.bytes[row.body]), packs: packs)
            }
            if PackedRows(block: packer.bytes) == rows { return packer.bytes }
        }
        return nil
    }
}
