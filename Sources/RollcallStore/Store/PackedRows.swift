import RollcallCore

/// Rows of the journal in a block: those of one person stand next to each other, so that each says only
/// what is new.
///
///     first id │ row: flags, [person], [id], [previous], [kind], body │ row: …
package struct PackedRows {
    /// A row of a block.
    package struct Row: Equatable {
        package var id: Int64
        package var kind: UInt8
        /// The person's number + 1; 0 for none.
        package var responder: Int64
        package var previous: Int64
        /// The number by which the row has its place: the person's, also when nothing of them is left.
        package var key: Int64
        /// The range of the body in the bytes of all.
        package var body: Range<Int>
    }

    /// The rows by rising key, those of one key by rising id.
    package private(set) var rows: [Row] = []
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Adds a row behind all others.
    package mutating func append(_ row: JournalRow, key: Int64) {
        let begin = bytes.count
        bytes.append(contentsOf: row.body)
        rows.append(
            Row(
                id: row.id, kind: row.kind, responder: row.responder, previous: row.previous,
                key: key, body: begin..<bytes.count))
    }

    /// Lets `body` see a row as the journal had it.
    package func with<Value, Failure: Error>(
        _ row: Row, _ body: (JournalRow) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
            let bytes = UnsafeRawBufferPointer(buffer)
            return try body(
                JournalRow(
                    id: row.id, kind: row.kind, responder: row.responder, previous: row.previous,
                    body: UnsafeRawBufferPointer(rebasing: bytes[row.body])))
        }
    }

    /// The row of a person with an id; nil if there is none.
    package func row(_ id: Int64, of responder: Int64) -> Row? {
        rows.first { $0.id == id && $0.responder == responder }
    }

    /// Puts `rest` in the place of all that a person's rows say.
    package mutating func replace(
        rowsOf responder: Int64, with rest: (Row) -> (kind: UInt8, body: [UInt8])
    ) {
        var made = PackedRows()
        for row in rows {
            var kept = row
            var body = Array(bytes[row.body])
            if row.responder == responder {
                (kept.kind, body) = rest(row)
                (kept.responder, kept.previous) = (0, 0)
            }
            body.withUnsafeBytes { body in
                made.append(
                    JournalRow(
                        id: kept.id, kind: kept.kind, responder: kept.responder,
                        previous: kept.previous, body: body), key: kept.key)
            }
        }
        self = made
    }
}

extension PackedRows: Equatable {
    /// True if both hold the same rows with the same bodies.
    package static func == (a: Self, b: Self) -> Bool {
        a.rows.count == b.rows.count
            && zip(a.rows, b.rows).allSatisfy { one, other in
                var moved = other
                moved.body = one.body
                return one == moved && a.bytes[one.body].elementsEqual(b.bytes[other.body])
            }
    }
}

// MARK: - Reading

extension PackedRows {
    /// The rows of a block that a `RowPacker` wrote; nil if it is damaged.
    package init?(block: [UInt8]) {
        var packing = ItemPacking()
        var at = 0
        // About what comes of it, so that nothing is moved.
        rows.reserveCapacity(block.count / 12)
        bytes.reserveCapacity(block.count * 8)
        let isWhole = block.withUnsafeBufferPointer { buffer in
            let block = buffer.span
            guard let id = Varint.read(block, &at, block.count) else { return false }
            let first = Int64(bitPattern: id)
            while at < block.count {
                guard read(block, &at, first, &packing) else { return false }
            }
            return true
        }
        guard isWhole, !rows.isEmpty else { return nil }
    }

    private mutating func read(
        _ block: Span<UInt8>, _ at: inout Int, _ first: Int64, _ packing: inout ItemPacking
    ) -> Bool {
        typealias Flag = RowPacker.Flag
        let end = block.count
        let flags = block[at]
        at += 1
        var row = rows.last ?? Row(id: 0, kind: 0, responder: 0, previous: 0, key: 0, body: 0..<0)
        let before = row
        if flags & Flag.sameKey != 0 {
            guard !rows.isEmpty, let step = Varint.read(block, &at, end) else { return false }
            row.id = before.id &+ Int64(bitPattern: step)
        } else {
            packing.beginPerson()
            guard let step = Varint.readSigned(block, &at, end),
                let place = Varint.readSigned(block, &at, end)
            else { return false }
            row.key = before.key &+ step
            row.id = first &+ place
        }
        row.responder = flags & Flag.nobodys == 0 ? row.key : 0
        row.previous = 0
        if flags & Flag.chained != 0 {
            row.previous = before.id
        } else if row.responder > 0 {
            guard let back = Varint.read(block, &at, end) else { return false }
            row.previous = back == 0 ? 0 : row.id &- Int64(bitPattern: back)
        }
        if flags & Flag.sameKind == 0 {
            guard at < end else { return false }
            row.kind = block[at]
            at += 1
        }
        let begin = bytes.count
        if flags & Flag.sameBody != 0 {
            // A part of itself that is appended to it would be copied with all of it.
            for place in before.body { bytes.append(bytes[place]) }
        } else if flags & Flag.packed != 0 {
            guard packing.read(block, &at, end, to: &bytes) else { return false }
        } else {
            guard let count = Varint.read(block, &at, end), count <= UInt64(end - at) else {
                return false
            }
            for place in at..<(at + Int(count)) { bytes.append(block[place]) }
            at += Int(count)
        }
        row.body = begin..<bytes.count
        rows.append(row)
        return true
    }
}
