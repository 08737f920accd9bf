import Glibc
import RollcallCore
import Testing

@testable import RollcallStore
@testable import RollcallTools

/// Whatever is wrong with a copy, it does not become a backup.
@Suite struct BackupCheckTests {
    private let bytes: [UInt8]

    init() throws {
        let directory = TemporaryDirectory()
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try story.tellRest(isErasing: true)
        try PackedStore.pack(story.store.journal, rowsMax: 10, segmentsMax: 2)
        try story.close()
        bytes = directory.bytes("rollcall.db")
    }

    private func copy() -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        directory.write("rollcall.db", bytes)
        return directory
    }

    /// What is said of a copy that SQL of Rollcall's own has changed; nil if it is taken for whole.
    private func finding(_ change: SQL) throws -> String? {
        let directory = copy()
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        try connection.run(change)
        try #require(connection.changes > 0)
        try connection.close()
        return finding(directory)
    }

    private func finding(_ directory: TemporaryDirectory) -> String? {
        do throws(BackupError) {
            _ = try BackupCheck.run(directory.store, of: "the store")
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func `what is whole is taken`() throws {
        #expect(finding(copy()) == nil)
        // The control of what follows: SQL that changes nothing that counts is no damage.
        #expect(try finding("UPDATE turns SET number = number") == nil)
    }

    @Test(
        arguments: [RowChecksum.Table.journal, .decisions, .turns, .slices, .blocks]
            + RowChecksum.Table.partly)
    fileprivate func `damage in any column of any table is noticed`(
        table: RowChecksum.Table
    ) throws {
        let name = table == .slices ? "checkpoint_slices" : "\(table)"
        let whole = copy()
        for isKey in [false, true] {
            for column in try StoreSurgery.columns(whole.store, of: name, isKey: isKey)
            where column != "checksum" {
                let directory = copy()
                // Of one row in the middle, by a bit that makes no two rows the same.
                let row = """
                    rowid = (SELECT rowid FROM \(name) ORDER BY rowid
                        LIMIT 1 OFFSET (SELECT count(*) / 2 FROM \(name)))
                    """
                let place = ["meta", "attempts", "dark"].contains(name) ? "1" : row
                try StoreSurgery.run(
                    directory.store,
                    StoreSurgery.flip(column, of: name, where: place, bit: 1 << 20))
                #expect(finding(directory) != nil, "\(name).\(column)")
            }
        }
    }

    @Test func `rows and turns that are missing are noticed, wherever they stood`() throws {
        let turns = try finding("DELETE FROM turns WHERE number = 60")
        #expect(turns?.contains("turn 61 is not as it was written") == true, "\(turns ?? "")")
        let rows = try finding(
            "DELETE FROM journal WHERE id = (SELECT min(id) FROM journal WHERE id >= 60)")
        #expect(rows?.contains(/journal row \d+ is not as it was written/) == true, "\(rows ?? "")")
        let last = try finding(
            "DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)")
        #expect(last?.contains("is not the last turn's") == true, "\(last ?? "")")
        let lastTurn = try finding(
            "DELETE FROM turns WHERE number = (SELECT max(number) FROM turns)")
        #expect(lastTurn == nil || lastTurn?.contains("last turn") == true)
        let all = try finding("DELETE FROM turns")
        #expect(all != nil)
    }

    @Test func `a checkpoint that lacks a slice, or none behind a cut, is noticed`() throws {
        let slice = try finding(
            """
            DELETE FROM checkpoint_slices WHERE slice = 1
            AND turn = (SELECT min(turn) FROM checkpoints WHERE state = 1)
            """)
        #expect(slice?.contains("the checkpoint of turn") == true, "\(slice ?? "")")
        let directory = copy()
        try StoreSurgery.run(
            directory.store,
            """
            DELETE FROM checkpoints; DELETE FROM turns WHERE number = 1;
            DELETE FROM blocks WHERE id < (SELECT block FROM segments WHERE first_turn > 1
                ORDER BY first_turn LIMIT 1);
            DELETE FROM segments WHERE first_turn = 1
            """)
        let base = finding(directory)
        #expect(
            base?.contains("no checkpoint, and its first turns are cut") == true, "\(base ?? "")")
    }

    /// With a checksum that fits: only counting finds it, and a start would refuse the store.
    @Test func `counts of what waits that are wrong are noticed`() throws {
        for change: SQL in [
            """
            UPDATE meta SET value = value + 1, checksum = row_checksum(5, key, value + 1)
            WHERE key = 'messages_alive'
            """,
            """
            UPDATE meta SET value = value + 1, checksum = row_checksum(5, key, value + 1)
            WHERE key = 'pushes_alive'
            """,
            "DELETE FROM meta WHERE key = 'pushes_alive'",
        ] {
            let found = try finding(change)
            #expect(found?.contains("messages or pushes are missing") == true, "\(found ?? "")")
        }
    }

    /// Each row fits its checksum, and what is told of them would be less than there is.
    @Test func `an index that is not its table's is noticed`() throws {
        let directory = copy()
        try StoreSurgery.run(
            directory.store, hiding: "gaps_opened",
            "DELETE FROM gaps WHERE number = (SELECT min(number) FROM gaps WHERE closed_ms > 0)")
        let found = finding(directory)
        #expect(found?.contains("integrity_check") == true, "\(found ?? "")")
    }

    @Test func `what a finished backup still has as a second name is not written`() throws {
        let directory = TemporaryDirectory()
        directory.write("old.db", "whole")
        let partial = directory.path + "/new.db.partial"
        #expect(link(directory.path + "/old.db", partial) == 0)
        let file = try BackupFile(partial)
        try file.begin()
        #expect(directory.bytes("old.db") == Array("whole".utf8))
        withExtendedLifetime(file) {}
    }

    @Test func `what a backup cannot open it does not take away`() {
        let directory = TemporaryDirectory()
        #expect(symlink("/nowhere", directory.path + "/new.db.partial") == 0)
        #expect(throws: BackupError.self) {
            _ = try BackupFile(directory.path + "/new.db.partial")
        }
        #expect(directory.names == ["new.db.partial"])
    }
}
