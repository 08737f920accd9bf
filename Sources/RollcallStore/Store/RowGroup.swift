import RollcallCore

/// The rows that a row of the journal's table stands for: itself, or a group of rows of one turn that
/// follow each other (J13). Read one after the other, in order.
///
/// A group has the id of its last row; its `previous` is the id of its first, and its body has them all:
///
///     person, steps back to their row before or 0, kind, bytes, body │ person, …
package struct RowGroup {
    /// The kind of a group, which no event has.
    static let kind: UInt8 = 0x7F
    /// The most bytes of a group: with its columns it fits in a leaf of the table, so that a row costs no
    /// more pages than it did alone.
    static let bytesMax = 3968
    /// More rows than fit in one.
    static let rowsMax: Int64 = 1024

    private let row: JournalRow
    private let isGroup: Bool
    private var at = 0
    private var id: Int64

    /// The rows of `row`, which is as it was written; valid as long as it is.
    package init(_ row: JournalRow) {
        self.row = row
        isGroup = row.kind == Self.kind
        id = row.firstID
    }

    /// Returns the next row; nil at the end.
    /// - Throws: `StoreError.damaged` if the group makes no sense.
    package mutating func next() throws(StoreError) -> JournalRow? {
        guard isGroup else {
            defer { at = 1 }
            return at == 0 ? row : nil
        }
        guard at < row.body.count else {
            guard id == row.id &+ 1 else { throw damage }
            return nil
        }
        guard id <= row.id, let next = read() else { throw damage }
        id &+= 1
        return next
    }

    private mutating func read() -> JournalRow? {
        let bytes = row.body.assumingMemoryBound(to: UInt8.self)
        let span = bytes.span
        guard let responder = Varint.read(span, &at, span.count),
            let back = Varint.read(span, &at, span.count), at < span.count
        else { return nil }
        let kind = bytes[at]
        at += 1
        guard let count = Varint.read(span, &at, span.count), count <= UInt64(span.count - at)
        else { return nil }
        let end = at + Int(count)
        defer { at = end }
        return JournalRow(
            id: id, kind: kind, responder: Int64(bitPattern: responder),
            previous: back == 0 ? 0 : id &- Int64(bitPattern: back),
            body: UnsafeRawBufferPointer(rebasing: row.body[at..<end]))
    }

    private var damage: StoreError {
        .damaged("the group of journal row \(row.id) makes no sense")
    }
}

extension JournalRow {
    /// The id of the first row that it stands for.
    package var firstID: Int64 { kind == RowGroup.kind ? previous : id }

    /// False if all rows that it stands for are behind row `last`: whether it is whole is not asked then.
    func begins(by last: Int64) -> Bool { min(id, firstID) <= last }

    /// True if it is not as it was written, and may have been the one with row `id`.
    func isDamaged(_ checksum: Int64?, at id: Int64) -> Bool {
        !fits(checksum) && self.id &- id < RowGroup.rowsMax
    }

    /// Returns the row of an id, if it stands for that.
    /// - Throws: `StoreError.damaged` if it is a group that makes no sense.
    func row(_ id: Int64) throws(StoreError) -> JournalRow? {
        var group = RowGroup(self)
        while let row = try group.next() { if row.id == id { return row } }
        return nil
    }
}

extension SQL {
    /// The table's row that stands for row `id`, if one does.
    static let tableRow: SQL = "\(select: .journal) WHERE id >= :id ORDER BY id LIMIT 1"
    /// The table's rows that stand for rows `first` to `last`, in order.
    static let tableRows: SQL = """
        \(select: .journal)
        WHERE id >= :first AND :first <= :last
            AND id <= ifnull((SELECT id FROM journal WHERE id >= :last ORDER BY id LIMIT 1), :last)
        ORDER BY id
        """
}

/// Rows that follow each other, until they are written as one.
struct RowGroupBuilder {
    private var bytes: [UInt8] = []
    private var first: Int64 = 0
    private var last: Int64 = 0

    /// Makes room for one group.
    init() { bytes.reserveCapacity(2 * RowGroup.bytesMax) }

    /// True if there is nothing to be written.
    var isEmpty: Bool { bytes.isEmpty }

    /// True if a row may stand behind those that are there.
    func takes(_ row: JournalRow) -> Bool {
        isEmpty || row.id == last + 1 && bytes.count + Self.bytes(of: row) <= RowGroup.bytesMax
    }

    /// About how many bytes a row takes, at most.
    private static func bytes(of row: JournalRow) -> Int { 26 + row.body.count }

    /// Adds a row behind all others.
    mutating func append(_ row: JournalRow) {
        if isEmpty { first = row.id }
        last = row.id
        Varint.append(UInt64(bitPattern: row.responder), to: &bytes)
        Varint.append(
            UInt64(bitPattern: row.previous == 0 ? 0 : row.id &- row.previous), to: &bytes)
        bytes.append(row.kind)
        Varint.append(UInt64(row.body.count), to: &bytes)
        bytes.append(contentsOf: row.body)
    }

    /// Forgets all of them.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Writes them by a statement: one alone as it is.
    /// - Throws: `StoreError` if SQLite refuses.
    func write(by statement: Statement) throws(StoreError) {
        try bytes.withUnsafeBufferPointer { bytes throws(StoreError) in
            let group = JournalRow(
                id: last, kind: RowGroup.kind, responder: 0, previous: first,
                body: UnsafeRawBufferPointer(bytes))
            var rows = RowGroup(group)
            guard first == last, let row = try rows.next() else {
                return try group.write(by: statement)
            }
            try row.write(by: statement)
        }
    }
}
