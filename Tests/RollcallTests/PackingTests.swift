import Foundation
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallTools

/// History that is packed says what it said, to everybody who asks (J12).
@Suite struct PackingTests {
    private let directory = TemporaryDirectory()

    private func story() throws -> ExportStory {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        return story
    }

    private func count(_ story: ExportStory, _ sql: SQL) throws -> Int64 {
        try story.store.journal.connection.integer(sql)
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    private func contents() throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: directory.store)))
    }

    /// Everybody's rows.
    private func walks(_ story: ExportStory) throws -> [[[UInt8]]] {
        try (0..<story.engine.roster.count).map { number in
            try PackedStore.walk(
                directory.store, from: story.engine.roster[number].lastRow,
                of: Int64(number + 1))
        }
    }

    @Test func `J12: an export, each person's walk and a start come to the same as before`() throws
    {
        let story = try story()
        let export = try PackedStore.export(directory.store)
        let walks = try walks(story)
        let first = try #require(try story.store.journal.firstTurn())
        let turns = try (first.number...story.turn).map { try story.store.journal.turn($0) }
        try PackedStore.pack(story.store.journal)
        let kept = try story.store.journal.checkpoints(beforeTurn: .max)
        let last = try #require(try story.store.journal.lastSegment())
        #expect(last.lastTurn == kept[kept.count - 2].turn)
        #expect(try count(story, "SELECT min(number) FROM turns") == last.lastTurn + 1)
        #expect(try count(story, "SELECT min(id) FROM journal") == last.lastRow + 1)
        #expect(try count(story, .firstRow) == first.firstRow)
        #expect(try story.store.journal.firstTurn() == first)
        let again = try (first.number...story.turn).map { try story.store.journal.turn($0) }
        #expect(again == turns)
        #expect(try PackedStore.export(directory.store) == export)
        #expect(try self.walks(story) == walks)
        #expect(state(try story.store.recover().engine) == state(story.engine))
        try story.close()
    }

    @Test func `J12: a start with an older checkpoint folds what is packed`() throws {
        let story = try story()
        try PackedStore.pack(story.store.journal)
        let kept = try story.store.journal.checkpoints(beforeTurn: .max)
        // Without any it begins with the first turn.
        for checkpoint in kept.reversed() {
            try story.store.write { () throws(StoreError) in
                try story.store.journal.dropCheckpoint(turn: checkpoint.turn)
            }
            let newest = try story.store.journal.newestCheckpoint()
            #expect(newest?.turn ?? 0 < checkpoint.turn)
            let recovered = try story.store.recover()
            #expect(recovered.differences == 0)
            #expect(state(recovered.engine) == state(story.engine))
        }
        try story.close()
    }

    @Test func `J12: segments are of a size, and end with a turn`() throws {
        let story = try story()
        let export = try PackedStore.export(directory.store)
        let walks = try walks(story)
        try PackedStore.pack(story.store.journal, rowsMax: 7)
        let segments = try count(story, "SELECT count(*) FROM segments")
        #expect(segments > 5)
        #expect(try PackedStore.export(directory.store) == export)
        #expect(try self.walks(story) == walks)
        #expect(state(try story.store.recover().engine) == state(story.engine))
        try story.close()
        #expect(try BackupCheck.run(directory.store, of: directory.store).number == story.turn)
    }

    @Test func `J12: no kept checkpoint is in the middle of a segment`() throws {
        let story = try story()
        let kept = try story.store.journal.checkpoints(beforeTurn: .max).map(\.turn)
        try PackedStore.pack(story.store.journal)
        let ends = try story.store.journal.connection.integers(
            "SELECT last_turn FROM segments ORDER BY first_turn")
        #expect(ends == Array(kept.dropLast()))
        try story.close()
    }

    @Test func `J12: whoever reads meanwhile finds every row and turn, at every moment`() throws {
        let story = try story()
        let export = try PackedStore.export(directory.store)
        let walks = try walks(story)
        let journal = story.store.journal
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        while writer.isBusy {
            try journal.begin()
            _ = try writer.write(to: journal, cutThrough: 0)
            try journal.commit()
            #expect(try PackedStore.export(directory.store) == export)
            #expect(try self.walks(story) == walks)
        }
        try story.close()
    }

    @Test func `J12: a transaction that fails at any piece loses nothing, and it is begun again`()
        throws
    {
        let story = try story()
        let export = try PackedStore.export(directory.store)
        let journal = story.store.journal
        var failing = 0
        while true {
            var writer = PackingWriter(rowsMin: 1)
            writer.consider()
            var pieces = 0
            while writer.isBusy, pieces < failing {
                try journal.begin()
                _ = try writer.write(to: journal, cutThrough: 0)
                try journal.commit()
                pieces += 1
            }
            guard writer.isBusy else { break }
            try journal.begin()
            _ = try writer.write(to: journal, cutThrough: 0)
            try journal.rollback()
            writer.abandon()
            #expect(try PackedStore.export(directory.store) == export)
            failing += 1
        }
        #expect(failing > 3)
        try PackedStore.pack(journal)
        #expect(try PackedStore.export(directory.store) == export)
        #expect(try count(story, "SELECT count(*) FROM segments WHERE state <> 1") == 0)
        try story.close()
    }

    @Test func `J12: an erasure finds what is packed, and nothing of the person is left`() throws {
        let story = try story()
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let others = try walks(story).enumerated().filter { $0.offset != number }.map(\.element)
        try PackedStore.pack(story.store.journal)
        try story.erase("r-3", isRemoved: true)
        let rest = try walks(story).enumerated().filter { $0.offset != number }.map(\.element)
        // What the others said is as it was, but for what came with the erasure.
        #expect(rest.map { $0.suffix(1) } == others.map { $0.suffix(1) })
        #expect(rest.map(\.count) == others.map(\.count))
        let file = try contents()
        for name in ["r-3", "r-30"] {
            let found = String(decoding: file, as: UTF8.self).contains("\u{3}\(name)\u{2}")
            #expect(!found)
        }
        try story.checkpoint()
        #expect(state(try story.store.recover().engine) == state(story.engine))
        _ = try PackedStore.export(directory.store)
        let erased = try story.store.journal.erasures()
        #expect(erased.allSatisfy { $0.rows > 0 && $0.nextRow == 0 })
        try story.close()
    }

    @Test func `J12: what is packed and removed from the tables is erased from both`() throws {
        let story = try story()
        let journal = story.store.journal
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        // Until one segment is complete, and its rows are still in the table.
        try write(&writer, journal) { _ in try journal.lastSegment() != nil }
        #expect(try journal.hasPackedTwice())
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        try story.erase("r-3", isRemoved: true)
        var theirs = 0
        try journal.unpackedRows(from: 1, through: .max, limit: .max) { row in
            if row.responder == 4 { theirs += 1 }
        }
        #expect(theirs == 0)
        try PackedStore.pack(journal)
        let walked = try PackedStore.walk(
            directory.store, from: story.engine.roster[number].lastRow, of: Int64(number + 1))
        #expect(walked == [])
        try story.close()
    }

    @Test(arguments: 1...8)
    func `J12: while rows of a segment leave the table, an erasure goes on in older segments`(
        removed: Int64
    ) throws {
        let story = try story()
        let journal = story.store.journal
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let walked = try PackedStore.walk(
            directory.store, from: story.engine.roster[number].lastRow, of: Int64(number + 1))
        var writer = PackingWriter(rowsMin: 1, rowsMax: 12)
        writer.consider()
        try write(&writer, journal) { _ in
            try journal.connection.integer("SELECT count(*) FROM segments WHERE state = 1") == 4
                && journal.hasPackedTwice()
        }
        let last = try #require(try journal.lastSegment())
        try journal.begin()
        _ = try journal.removePacked(through: last, limit: removed)
        try journal.commit()
        try story.erase("r-3", isRemoved: true)
        #expect(try blocks(story, of: Int64(number + 1)) == [])
        try journal.unpackedRows(from: 1, through: .max, limit: .max) { row in
            #expect(row.responder != Int64(number + 1))
        }
        let erasure = try #require(try journal.erasures().last)
        #expect(erasure.rows == Int64(walked.count))
        try story.close()
    }

    /// The ids of the blocks that can be read and have rows of somebody.
    private func blocks(_ story: ExportStory, of responder: Int64) throws -> [Int64] {
        let select = try Statement(
            story.store.journal.connection, "\(select: .blocks) ORDER BY id")
        defer { select.finalize() }
        return try select.all { row in
            let rows = PackedRows(block: Array(row.bytes(.body)))
            return rows?.rows.contains { $0.responder == responder } == true ? row[.id] : 0
        }.filter { $0 > 0 }
    }

    /// Writes pieces until `holds`.
    private func write(
        _ writer: inout PackingWriter, _ journal: Journal,
        until holds: (PackingWriter) throws -> Bool
    ) throws {
        while writer.isBusy, try !holds(writer) {
            try journal.begin()
            _ = try writer.write(to: journal, cutThrough: 0)
            try journal.commit()
        }
    }

    @Test func `J12: an erasure empties a damaged block, and goes on in older segments`() throws {
        let story = try story()
        let journal = story.store.journal
        try PackedStore.pack(journal, rowsMax: 12)
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let theirs = try blocks(story, of: Int64(number + 1))
        #expect(theirs.count > 4)
        // Every second of theirs loses a bit.
        let damaged = theirs.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        for id in damaged {
            try StoreSurgery.run(
                directory.store,
                "UPDATE blocks SET body = x'FF' || substr(body, 2) WHERE id = \(id)")
        }
        try story.erase("r-3", isRemoved: true)
        #expect(try journal.erasures().allSatisfy { $0.nextRow == 0 })
        #expect(try blocks(story, of: Int64(number + 1)) == [])
        let empty = try journal.connection.integers("SELECT id FROM blocks WHERE body = x''")
        #expect(empty == damaged)
        #expect(state(try story.store.recover().engine) == state(story.engine))
        try story.close()
    }

    @Test func `J12: a hole in the tables is not packed, and is said`() throws {
        for (sql, reason) in [
            ("DELETE FROM turns WHERE number = 9", "there is no turn 9"),
            ("DELETE FROM journal WHERE id = 15", "there is no journal row 3"),
        ] as [(SQL, String)] {
            let other = TemporaryDirectory()
            let story = try ExportStory(path: other.store)
            try story.tell()
            try story.store.journal.connection.run(sql)
            var writer = PackingWriter(rowsMin: 1)
            writer.consider()
            try write(&writer, story.store.journal) { _ in false }
            #expect(writer.takeDamage() == reason)
            #expect(try story.store.journal.lastSegment() == nil)
            try story.close()
        }
    }

    @Test func `J12: rows leave the tables only when their segment was read again`() throws {
        let story = try story()
        let journal = story.store.journal
        let rows = try count(story, "SELECT count(*) FROM journal")
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        try write(&writer, journal) { _ in try journal.lastSegment() != nil }
        try journal.connection.run(
            "UPDATE blocks SET body = x'FF' || substr(body, 2) WHERE id = 1")
        let export = try PackedStore.export(directory.store)
        try write(&writer, journal) { _ in false }
        #expect(writer.takeDamage() == "block 1 is not as it was written")
        #expect(try count(story, "SELECT count(*) FROM journal") == rows)
        // The tables have them all.
        #expect(try PackedStore.export(directory.store) == export)
        try story.close()
    }

    @Test func `J7, J12: what is being packed is known from the first piece on; a cut goes first`()
        throws
    {
        let story = try story()
        let journal = story.store.journal
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        try write(&writer, journal) { $0.isHolding }
        #expect(writer.firstTurn == 1)
        writer.abandon()
        #expect(writer.firstTurn == nil && !writer.isBusy)
        // Nor is begun what a cut takes.
        writer.consider()
        try journal.begin()
        _ = try writer.write(to: journal, cutThrough: 5)
        try journal.commit()
        #expect(!writer.isBusy)
        // Nor what a cut has begun to take.
        try journal.connection.run("DELETE FROM journal WHERE id <= 3")
        writer.consider()
        try write(&writer, journal) { _ in false }
        #expect(writer.takeDamage() == nil)
        #expect(try journal.lastSegment() == nil)
        try story.close()
    }

    @Test func `J12: a damaged row is not packed, and is served as before`() throws {
        let story = try story()
        let journal = story.store.journal
        let rows = try count(story, "SELECT count(*) FROM journal")
        try journal.connection.run("UPDATE journal SET body = x'00' WHERE id = 15")
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        try write(&writer, journal) { _ in false }
        #expect(writer.takeDamage() == "journal row 3 is not as it was written")
        #expect(writer.takeDamage() == nil)
        #expect(try journal.lastSegment() == nil)
        #expect(try count(story, "SELECT count(*) FROM journal") == rows)
        try story.close()
    }

    @Test func `J12: a damaged block is told, and nothing of it is read as if it were whole`()
        throws
    {
        let story = try story()
        try PackedStore.pack(story.store.journal)
        let journal = story.store.journal
        let id = try count(story, "SELECT min(id) FROM blocks")
        try journal.connection.run(
            """
            UPDATE blocks SET body = substr(body, 1, 9) || x'00' || substr(body, 11)
            WHERE id = (SELECT min(id) FROM blocks)
            """)
        var said = ""
        do { _ = try PackedStore.export(directory.store) } catch { said = "\(error)" }
        #expect(said.contains("block \(id) is not as it was written"))
        try story.close()
        #expect(throws: BackupError.self) {
            try BackupCheck.run(directory.store, of: directory.store)
        }
    }

    @Test func `J12: a copy of a packed store is checked, whole`() throws {
        let story = try story()
        try PackedStore.pack(story.store.journal)
        let turn = story.turn
        try story.close()
        #expect(try BackupCheck.run(directory.store, of: directory.store).number == turn)
    }
}
