import CSQLite
import Glibc
import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallTools

/// Which stores can be exported, and what is said of the others.
@Suite struct ExportStoreTests {
    private func lines(_ path: String, since: Timestamp? = nil) throws -> Int {
        var export = try StoreExport(path: path, since: since)
        var count = 0
        while true {
            let chunk = try export.chunk()
            if chunk.isEmpty { return count }
            count += chunk.count { $0 == 0x0A }
        }
    }

    private func story(_ directory: TemporaryDirectory) throws -> ExportStory {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        return story
    }

    @Test func `a store is read while another has it open, and while its lock is held`() throws {
        let directory = TemporaryDirectory()
        let story = try story(directory)
        let count = try lines(directory.store)
        #expect(count > 100)
        // It goes on meanwhile.
        var export = try StoreExport(path: directory.store)
        let begun = export.span
        try story.commit([])
        while !(try export.chunk().isEmpty) {}
        #expect(export.span == begun)
        try story.close()
        #expect(try lines(directory.store) == count + 1)
    }

    @Test func `a store is read without its log, and with one that a crash left`() throws {
        let directory = TemporaryDirectory()
        let story = try story(directory)
        let count = try lines(directory.store)
        // What a crash leaves: the file and the log, and no index of it.
        let copy = TemporaryDirectory()
        for name in ["rollcall.db", "rollcall.db-wal"] {
            let bytes = try contents(directory.path + "/" + name)
            try write(bytes, copy.path + "/" + name)
        }
        #expect(try lines(copy.store) == count)
        try story.close()
        let alone = TemporaryDirectory()
        try write(try contents(directory.store), alone.store)
        #expect(try lines(alone.store) == count)
    }

    @Test func `a damaged checkpoint is passed by`() throws {
        let directory = TemporaryDirectory()
        let story = try story(directory)
        try story.close()
        let cuts = story.cuts
        let connection = try SQLiteConnection(path: directory.store, access: .readWrite)
        try connection.run(
            """
            UPDATE checkpoint_slices SET body = substr(body, 1, length(body) - 1)
            WHERE turn = (SELECT max(turn) FROM checkpoints WHERE state = 1)
            """)
        let fromBefore = try lines(directory.store, since: cuts[cuts.count - 2])
        #expect(try lines(directory.store, since: cuts.last) == fromBefore)
    }

    @Test func `a journal that was cut begins with its oldest checkpoint`() throws {
        let directory = TemporaryDirectory()
        let story = try story(directory)
        let kept = try story.store.journal.checkpoints(beforeTurn: .max)
        let found = try story.store.journal.turn(kept[0].turn)
        let turn = try #require(found)
        try story.store.journal.begin()
        try story.store.journal.dropCheckpoints(beforeTurn: turn.number)
        while try story.store.journal.cut(through: turn, limit: 10) {}
        try story.store.journal.commit()
        try story.close()
        let count = try lines(directory.store)
        #expect(try lines(directory.store, since: Timestamp(milliseconds: 0)) == count)
        let export = try StoreExport(path: directory.store, since: Timestamp(milliseconds: 0))
        #expect(export.note?.hasSuffix("nothing older is kept") == true)
        #expect(try VerifyFile(path: directory.store).run().isSame)
    }

    @Test func `what retention takes away while it is read is no hole but an error`() throws {
        let directory = TemporaryDirectory()
        let story = try story(directory)
        let kept = try story.store.journal.checkpoints(beforeTurn: .max)
        let found = try story.store.journal.turn(kept[kept.count - 1].turn)
        let turn = try #require(found)
        // Pieces are large: the first would hold all of this journal.
        let export = try ExportReader(path: directory.store, mindsErasures: true)
        try export.checkUncut(turn: 1, row: 1)
        try story.store.journal.begin()
        try story.store.journal.dropCheckpoints(beforeTurn: turn.number)
        _ = try story.store.journal.cut(through: turn, limit: 50)
        try story.store.journal.commit()
        #expect(throws: ExportError.cut(path: directory.store, turn: 1)) {
            try export.checkUncut(turn: 1, row: 1)
        }
        #expect(throws: ExportError.cut(path: directory.store, turn: 9)) {
            try export.checkUncut(turn: 9, row: 10)
        }
        // Behind the checkpoint nothing is cut.
        try export.checkUncut(turn: turn.number + 1, row: turn.lastRow + 1)
        try story.close()
    }

    @Test func `what is no store of ours is told from one, and from a file of lines`() throws {
        let directory = TemporaryDirectory()
        #expect(!ExportReader.isDatabase(directory.store))
        #expect(throws: ExportError.unreadable(path: directory.store, errno: ENOENT)) {
            try lines(directory.store)
        }
        try write(Array(repeating: 0x7B, count: 4000), directory.store)
        #expect(!ExportReader.isDatabase(directory.store))
        #expect(throws: ExportError.self) { try lines(directory.store) }
        unlink(directory.store)
        _ = try StateStore(path: directory.store)
        #expect(ExportReader.isDatabase(directory.store))
        let error = #expect(throws: ExportError.self) { try lines(directory.store) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("nothing was ever stored"))
    }

    @Test(arguments: 1..<Int(JournalSchema.version))
    func `an older version's store is to be started once`(version: Int) throws {
        let directory = TemporaryDirectory()
        let golden = "\(#filePath)".split(separator: "/").dropLast().joined(separator: "/")
        let path = "/\(golden)/Golden/store-\(version)"
        try write(try contents(path), directory.store)
        if let log = try? contents(path + "-wal") { try write(log, directory.store + "-wal") }
        let error = #expect(throws: ExportError.self) { try lines(directory.store) }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("start `rollcall serve` once on it"))
    }

    // MARK: - Files

    private func contents(_ path: String) throws -> [UInt8] {
        let descriptor = open(path, O_RDONLY)
        try #require(descriptor >= 0, "\(path)")
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while true {
            let chunk = try InputFile.chunk(descriptor, path: path)
            if chunk.isEmpty { return bytes }
            bytes += chunk
        }
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let failure = StandardOutput.write(bytes, to: descriptor)
        try #require(failure == 0)
    }
}
