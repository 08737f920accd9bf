import RollcallCore

/// Turns in a block: each says only how it differs from the one before it.
package enum PackedTurns {
    /// The bits of a turn's first byte; above them stands how many rows it has, 15 for more.
    private enum Flag {
        /// The wall moved by as much as running time.
        static let sameWall: UInt8 = 1
        /// Its rows begin behind those of the turn before it.
        static let follows: UInt8 = 2
        static let sameVersion: UInt8 = 4
        /// Its number is the next one.
        static let next: UInt8 = 8
    }

    private static let rowsMax: UInt64 = 15

    /// Before the first turn of a block.
    private static let none = Turn(
        number: 0, nowMilliseconds: 0, wallMilliseconds: 0, firstRow: 0, lastRow: 0,
        engineVersion: 0)

    /// Adds turns to a block from `index` on, as many as there is room for, and moves `index` on;
    /// one at least.
    package static func block(of turns: [Turn], from index: inout Int) -> [UInt8] {
        var block: [UInt8] = []
        var last = none
        var count = 0
        while index < turns.count {
            var bytes: [UInt8] = []
            append(turns[index], after: last, to: &bytes)
            if count > 0, block.count + bytes.count > RowPacker.bytesOfPage { break }
            block.append(contentsOf: bytes)
            last = turns[index]
            index += 1
            count += 1
        }
        return block
    }

    private static func append(_ turn: Turn, after last: Turn, to bytes: inout [UInt8]) {
        let moved = turn.nowMilliseconds &- last.nowMilliseconds
        let wallMoved = turn.wallMilliseconds &- last.wallMilliseconds
        let rows = UInt64(bitPattern: turn.lastRow &- turn.firstRow &+ 1)
        var flags = UInt8(min(rows, rowsMax)) << 4
        if wallMoved == moved { flags |= Flag.sameWall }
        if turn.firstRow == last.lastRow &+ 1 { flags |= Flag.follows }
        if turn.engineVersion == last.engineVersion { flags |= Flag.sameVersion }
        if turn.number == last.number &+ 1 { flags |= Flag.next }
        bytes.append(flags)
        Varint.appendSigned(moved, to: &bytes)
        if flags & Flag.next == 0 { Varint.append(UInt64(bitPattern: turn.number), to: &bytes) }
        if flags & Flag.sameWall == 0 { Varint.appendSigned(wallMoved, to: &bytes) }
        if flags & Flag.follows == 0 {
            Varint.append(UInt64(bitPattern: turn.firstRow), to: &bytes)
        }
        if flags & Flag.sameVersion == 0 {
            Varint.append(UInt64(bitPattern: turn.engineVersion), to: &bytes)
        }
        if rows >= rowsMax { Varint.append(rows, to: &bytes) }
    }

    /// The turns of a block; nil if it is damaged.
    package static func turns(of block: [UInt8]) -> [Turn]? {
        block.withUnsafeBufferPointer { buffer in
            let bytes = buffer.span
            var (at, last, turns) = (0, none, [Turn]())
            while at < bytes.count {
                guard let turn = read(bytes, &at, after: last) else { return nil }
                turns.append(turn)
                last = turn
            }
            return turns.isEmpty ? nil : turns
        }
    }

    private static func read(_ bytes: Span<UInt8>, _ at: inout Int, after last: Turn) -> Turn? {
        let end = bytes.count
        let flags = bytes[at]
        at += 1
        // What is as expected is not written.
        func written(unless flag: UInt8, _ expected: Int64, _ at: inout Int) -> Int64? {
            flags & flag != 0
                ? expected : Varint.read(bytes, &at, end).map { Int64(bitPattern: $0) }
        }
        guard let moved = Varint.readSigned(bytes, &at, end),
            let number = written(unless: Flag.next, last.number &+ 1, &at),
            let wallMoved = flags & Flag.sameWall != 0
                ? moved : Varint.readSigned(bytes, &at, end),
            let first = written(unless: Flag.follows, last.lastRow &+ 1, &at),
            let version = written(unless: Flag.sameVersion, last.engineVersion, &at)
        else { return nil }
        var rows = UInt64(flags >> 4)
        if rows == rowsMax {
            guard let written = Varint.read(bytes, &at, end) else { return nil }
            rows = written
        }
        return Turn(
            number: number, nowMilliseconds: last.nowMilliseconds &+ moved,
            wallMilliseconds: last.wallMilliseconds &+ wallMoved, firstRow: first,
            lastRow: first &+ Int64(bitPattern: rows) &- 1, engineVersion: version)
    }
}
