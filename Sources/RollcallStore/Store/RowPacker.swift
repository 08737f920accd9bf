import RollcallCore

/// Writes blocks of rows.
package struct RowPacker {
    /// The bytes of a block that fills a page of the file.
    package static let bytesOfPage = 4030

    /// A row has no more of them beside its body.
    private static let rowBytesMax = 128

    /// The bits of a row's first byte.
    enum Flag {
        /// It is of the key of the row before it.
        static let sameKey: UInt8 = 1
        /// `previous` is the row before it.
        static let chained: UInt8 = 2
        static let sameKind: UInt8 = 4
        /// Nothing is left of the person.
        static let nobodys: UInt8 = 8
        /// The body is an item, packed; else it stands as it is.
        static let packed: UInt8 = 16
        /// The body is that of the row before it.
        static let sameBody: UInt8 = 32
    }

    private let bytesMax: Int
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0
    private var packing = ItemPacking()
    private var last = PackedRows.Row(
        id: 0, kind: 0, responder: 0, previous: 0, key: 0, body: 0..<0)
    private var lastBody: [UInt8] = []
    private var first: Int64 = 0

    /// A block of `bytesMax` bytes; of more if its first row has them.
    package init(bytesMax: Int = bytesOfPage) { self.bytesMax = bytesMax }

    /// Adds a row; false, and it is as if it had not been given, if the block is full.
    package mutating func append(
        _ row: PackedRows.Row, _ body: [UInt8], packs: Bool = true
    ) -> Bool {
        // Whoever is far from full needs no way back, which is a copy.
        if bytes.count + body.count <= bytesMax - Self.rowBytesMax || count == 0 {
            write(row, body, packs: packs)
        } else {
            let before = self
            write(row, body, packs: packs)
            if bytes.count > bytesMax {
                self = before
                return false
            }
        }
        count += 1
        return true
    }

    private mutating func write(_ row: PackedRows.Row, _ body: [UInt8], packs: Bool) {
        if count == 0 {
            first = row.id
            Varint.append(UInt64(bitPattern: row.id), to: &bytes)
        }
        let place = bytes.count
        bytes.append(0)
        var flags: UInt8 = 0
        if count > 0, row.key == last.key {
            flags |= Flag.sameKey
            Varint.append(UInt64(bitPattern: row.id &- last.id), to: &bytes)
        } else {
            packing.beginPerson()
            Varint.appendSigned(row.key &- last.key, to: &bytes)
            Varint.appendSigned(row.id &- first, to: &bytes)
        }
        let isOf = row.responder == row.key
        if !isOf { flags |= Flag.nobodys }
        if flags & Flag.sameKey != 0, isOf, row.key > 0, row.previous == last.id {
            flags |= Flag.chained
        } else if isOf, row.key > 0 {
            let back = row.previous == 0 ? 0 : row.id &- row.previous
            Varint.append(UInt64(bitPattern: back), to: &bytes)
        }
        if count > 0, row.kind == last.kind {
            flags |= Flag.sameKind
        } else {
            bytes.append(row.kind)
        }
        if count > 0, body == lastBody {
            flags |= Flag.sameBody
        } else if packs, packing.append(body, to: &bytes) {
            flags |= Flag.packed
        } else {
            Varint.append(UInt64(body.count), to: &bytes)
            bytes.append(contentsOf: body)
        }
        bytes[place] = flags
        last = row
        lastBody = body
    }
}
