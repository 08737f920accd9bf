import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Each bit of a store, one after the other: none may flip unnoticed (J3, D-08).
@Suite struct RowChecksumBitsTests {
    private typealias Table = RowChecksum.Table

    private static let tables: [Table] =
        [.journal, .decisions, .turns, .slices, .blocks] + Table.partly

    private func store() throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try story.tellRest(isErasing: true)
        // Some of it: a row of each table is to be left.
        try PackedStore.pack(story.store.journal, rowsMax: 40, segmentsMax: 2)
        try story.close()
        return directory
    }

    /// True if the current row is taken for the one that was written.
    private func fits(_ select: Statement, _ table: Table) -> Bool {
        switch table {
        case .journal: JournalRow(select).fits(select.checksum)
        case .decisions: DecisionRow(select).fits(select.checksum)
        case .turns: Turn(select).fits(select.checksum)
        case .blocks: BlockRow(select).fits(select.checksum)
        case .slices:
            SliceRow(select, engineVersion: Engine.version).fits(select.checksum)
        default: select.fits(table)
        }
    }

    /// A view of all rows of a table as often as `column` has bits, each time with another one flipped.
    private func flipped(_ column: String, of columns: [String], _ table: String) -> String {
        let bytes = (0...255).map { String($0, radix: 16) }
            .map { $0.count < 2 ? "0" + $0 : $0 }.joined()
        // SQL has no XOR, and of blobs no bytes but by looking them up.
        let flip = """
            CASE typeof(\(column))
                WHEN 'integer' THEN (\(column) | (1 << n)) - (\(column) & (1 << n))
                ELSE (SELECT CAST(substr(whole, 1, n / 8)
                    || substr(x'\(bytes)', 1 + (byte | (1 << n % 8)) - (byte & (1 << n % 8)), 1)
                    || substr(whole, n / 8 + 2) AS BLOB)
                    FROM (SELECT whole, instr(x'\(bytes)', substr(whole, n / 8 + 1, 1)) - 1 AS byte
                        FROM (SELECT CAST(\(column) AS BLOB) AS whole))) END
            """
        let shown = columns.map { $0 == column ? "flip AS \($0)" : $0 }
        return """
            DROP VIEW IF EXISTS flipped;
            CREATE VIEW flipped AS
            WITH RECURSIVE bits(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM bits
                WHERE n < (SELECT max(64, 8 * max(length(CAST(\(column) AS BLOB)))) FROM \(table)))
            SELECT \(shown.joined(separator: ", ")) FROM (
                SELECT *, CASE typeof(\(column)) WHEN 'text' THEN CAST(\(flip) AS TEXT) ELSE \(flip) END
                    AS flip
                FROM \(table) JOIN bits
                ON n < iif(typeof(\(column)) = 'integer', 64, 8 * length(CAST(\(column) AS BLOB))))
            """
    }

    @Test(arguments: tables)
    fileprivate func `no bit of any column of any row flips unnoticed`(
        table: RowChecksum.Table
    ) throws {
        let directory = try store()
        let name = table.name
        let columns = try StoreSurgery.run(
            directory.store, "SELECT name FROM pragma_table_info('\(name)') ORDER BY cid")
        #expect(columns.last == "checksum")
        let counted = try StoreSurgery.run(directory.store, "SELECT count(*) FROM \(name)")
        let rows = try #require(counted.first.flatMap { Int($0) })
        #expect(rows > 0)
        for column in columns {
            try StoreSurgery.run(directory.store, flipped(column, of: columns, name))
            let connection = try SQLiteConnection(path: directory.store, access: .readOnly)
            let select = try Statement(connection, "SELECT * FROM flipped")
            var (count, unnoticed) = (0, 0)
            while try select.next() {
                count += 1
                if fits(select, table) { unnoticed += 1 }
            }
            select.finalize()
            try connection.close()
            #expect(count >= rows || column == "region" || column == "error", "\(name).\(column)")
            #expect(unnoticed == 0, "\(name).\(column): \(unnoticed) of \(count)")
        }
    }

    /// By it what is too old is told: history that is seconds old was cut by a flip (J7).
    @Test func `J7: no bit of a checkpoint's time flips unnoticed at a start, so nothing is cut`()
        throws
    {
        let original = try store()
        for bit in 0..<64 {
            let directory = TemporaryDirectory()
            original.copy("rollcall.db", to: directory)
            try StoreSurgery.run(
                directory.store,
                StoreSurgery.flip(
                    "created_ms", of: "checkpoints",
                    where: "turn = (SELECT max(turn) FROM checkpoints)", bit: 1 << bit))
            let opening = try StoreOpening(path: directory.store)
            #expect(opening.loss?.cause == .damaged, "bit \(bit)")
            try opening.store.journal.close()
        }
    }

    // MARK: - The migration

    /// The store that version 8 left behind.
    private func golden() throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("Golden")
        for suffix in ["", "-wal"] {
            let bytes = try Data(contentsOf: folder.appendingPathComponent("store-8\(suffix)"))
            directory.write("rollcall.db\(suffix)", Array(bytes))
        }
        return directory
    }

    @Test func `J4: what version 8 knew to be damaged is not made whole by the migration`() throws {
        let undamaged = try golden()
        let whole = try StoreOpening(path: undamaged.store)
        #expect(whole.loss == nil)
        try whole.store.journal.close()
        let damages = [
            ("meta", "value", 5, "key = 'push_claims'"), ("checkpoints", "slices", 1, "state = 1"),
            ("checkpoints", "created_ms", 20, "state = 1"), ("erasures", "gap", 3, "1"),
            ("erasures", "requested_ms", 40, "1"),
            // Of which version 8 knew nothing, and the checkpoint's turn does.
            ("checkpoints", "created_ms", 40, "state = 1"),
            ("checkpoints", "created_ms", 33, "state = 1"),
            ("checkpoints", "created_ms", 63, "state = 1"),
        ]
        for (table, column, bit, rows) in damages {
            let directory = try golden()
            try StoreSurgery.run(
                directory.store,
                StoreSurgery.flip(column, of: table, where: rows, bit: 1 << bit))
            let opening = try StoreOpening(path: directory.store)
            #expect(opening.loss?.cause == .damaged, "\(table).\(column), bit \(bit)")
            try opening.store.journal.close()
        }
        let directory = try golden()
        try StoreSurgery.run(
            directory.store, StoreSurgery.flip("offline", of: "samples", where: "1", bit: 1))
        let opening = try StoreOpening(path: directory.store)
        let connection = opening.store.journal.connection
        #expect(throws: StoreError.self) { try RowChecksum.check(.samples, connection) }
        try opening.store.journal.close()
    }

    /// There may be millions of them, and a start must not read them all.
    @Test func `turns that version 8 wrote keep their sums, and no bit of them flips unnoticed`()
        throws
    {
        let directory = try golden()
        try StoreOpening(path: directory.store).store.journal.close()
        let connection = try SQLiteConnection(path: directory.store, access: .readOnly)
        let select = try Statement(connection, "SELECT * FROM turns")
        var count = 0
        while try select.next() {
            let turn = Turn(select)
            let stored = select.checksum
            #expect(stored == turn.checksum(isEnded: false))
            #expect(turn.fits(stored))
            for bit in 0..<64 {
                var flipped = turn
                flipped.engineVersion ^= 1 << bit
                #expect(!flipped.fits(stored), "bit \(bit)")
            }
            count += 1
        }
        #expect(count > 100)
    }
}
