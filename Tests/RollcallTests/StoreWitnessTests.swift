import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// Somebody lays hands on the store's file between its opening and the first look at it: the file that
/// is looked for is the one that was opened (J6).
@Suite struct StoreWitnessTests {
    /// A store of which everything is in its file, with a log beside it, just opened again.
    private func opened(_ directory: TemporaryDirectory) throws -> Journal {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try story.close()
        return try StoreOpening(path: directory.store).store.journal
    }

    /// Has `body` at the file through a descriptor of its own process, as somebody else would: ours
    /// would drop SQLite's locks.
    private func disturb(_ directory: TemporaryDirectory, _ command: String) throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", command, "sh", directory.store]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
    }

    private func disturbance(_ journal: Journal) -> StoreError? {
        do throws(StoreError) {
            try journal.checkFiles()
            return nil
        } catch {
            return error
        }
    }

    @Test func `J6: a store that is cut before the first look is noticed by it`() throws {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        try disturb(directory, "truncate --size=-4096 \"$1\"")
        #expect(disturbance(journal) == .disturbed(path: directory.store, .cut))
    }

    @Test func `J6: a store that is replaced by an older copy before the first look is noticed`()
        throws
    {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        // The counter of changes is big-endian, at 24.
        try disturb(
            directory, "printf '\\0\\0\\0\\0' | dd of=\"$1\" bs=1 seek=24 conv=notrunc status=none")
        #expect(disturbance(journal) == .disturbed(path: directory.store, .overwritten))
    }

    @Test func `J6: a log that is cut is noticed before a commit makes it long again`() throws {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        for number in Int64(1)...50 { try journal.turn(number, rows: [(number, "a")]) }
        let half = directory.size("rollcall.db-wal") / 2
        try disturb(directory, "truncate --size=\(half) \"$1-wal\"")
        let error = try thrown { try journal.turn(51, rows: [(51, "b")]) }
        #expect(error == .disturbed(path: directory.store + "-wal", .cut))
    }

    /// The store of a server that was killed: some of it in the file, `moved` turns, and all that came
    /// since in the log.
    private func killed(moved: Int64) throws -> TemporaryDirectory {
        let directory = TemporaryDirectory()
        let killed = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        for number in Int64(1)...200 {
            try journal.turn(number, rows: [(number, String(repeating: "a", count: 500))])
            if number == moved { _ = try journal.checkpointWAL(.truncate) }
        }
        for name in ["rollcall.db", "rollcall.db-wal"] { directory.copy(name, to: killed) }
        try journal.close()
        return killed
    }

    @Test(arguments: ["noise", "backup"])
    func `J6: a file that begins otherwise beside a whole log is put right by the start`(
        how: String
    ) throws {
        let directory = try killed(moved: 0)
        var bytes = directory.bytes("rollcall.db")
        if how == "noise" {
            for place in bytes.indices.prefix(4096) { bytes[place] = 0xA5 }
        } else {
            // A copy that our backup makes is not in WAL mode.
            (bytes[18], bytes[19]) = (1, 1)
        }
        directory.write("rollcall.db", bytes)
        let journal = try Journal(path: directory.store)
        #expect(disturbance(journal) == nil)
        #expect(try journal.tail(after: 0).count == 400)
        try journal.turn(201, rows: [(201, "b")])
        #expect(disturbance(journal) == nil)
        try journal.close()
        #expect(directory.bytes("rollcall.db").starts(with: Array("SQLite format 3\0".utf8)))
        let again = try Journal(path: directory.store)
        #expect(try again.tail(after: 0).count == 402)
        #expect(disturbance(again) == nil)
        try again.close()
    }

    @Test func `J6: a copy beside an empty log is put right by the start`() throws {
        let directory = try killed(moved: 200)
        var bytes = directory.bytes("rollcall.db")
        (bytes[18], bytes[19]) = (1, 1)
        directory.write("rollcall.db", bytes)
        // Of another store: SQLite has no use for it, and takes the file as it is.
        directory.write("rollcall.db-wal", "no log")
        let journal = try Journal(path: directory.store)
        #expect(disturbance(journal) == nil)
        #expect(try journal.tail(after: 0).count == 400)
        try journal.close()
    }

    @Test func `J6: a file that its log does not make whole is put aside by the start`() throws {
        let directory = try killed(moved: 150)
        var bytes = directory.bytes("rollcall.db")
        for place in bytes.indices { bytes[place] = 0xA5 }
        directory.write("rollcall.db", bytes)
        let opening = try StoreOpening(path: directory.store)
        #expect(opening.loss?.cause == .damaged)
        try opening.store.journal.close()
    }

    @Test func `J6: a store that nobody touches is as it was`() throws {
        let directory = TemporaryDirectory()
        let journal = try opened(directory)
        #expect(disturbance(journal) == nil)
        try journal.close()
    }
}
