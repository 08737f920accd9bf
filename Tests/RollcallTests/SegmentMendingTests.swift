import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallTools

/// Rows of segments that are damaged or gone (J12).
@Suite struct SegmentMendingTests {
    private let directory = TemporaryDirectory()

    /// What a whole store says.
    private struct Truth: Equatable {
        var export: [UInt8]
        var state: [[UInt8]]
        var walks: [[[UInt8]]]
        var table: [String]
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    private func truth(_ store: StateStore) throws -> Truth {
        let path = store.journal.connection.path
        let engine = try store.recover().engine
        return Truth(
            export: try PackedStore.export(path), state: state(engine),
            walks: try (0..<engine.roster.count).map { number in
                try PackedStore.walk(
                    path, from: engine.roster[number].lastRow, of: Int64(number + 1))
            },
            table: try table(path))
    }

    private func table(_ path: String) throws -> [String] {
        try StoreSurgery.run(
            path,
            """
            SELECT printf('%d %d %d %d %d %d %s %d', first_turn, last_turn, first_row, last_row, block,
                state, hex(body), checksum)
            FROM segments ORDER BY first_turn
            """)
    }

    /// A store of several segments, closed.
    private func packed(rowsMax: Int = 12) throws -> Truth {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try PackedStore.pack(story.store.journal, rowsMax: rowsMax)
        let truth = try truth(story.store)
        try story.close()
        return truth
    }

    /// Opens the store, which must say that it mended so many segments, and what the whole one said.
    private func expect(
        _ truth: Truth, mended: ClosedRange<Int>, _ what: String
    ) throws {
        let store = try StateStore(path: directory.store)
        let damage = try #require(store.journal.segmentDamage, "\(what)")
        #expect(mended.contains(damage.segments.count), "\(what): \(damage)")
        #expect(damage.segments.allSatisfy { $0.blocksLost == 0 }, "\(what)")
        let found = try self.truth(store)
        #expect(found == truth, "\(what)")
        try store.journal.close()
        #expect(
            try BackupCheck.run(directory.store, of: directory.store).number > 0, "\(what)")
        let again = try StateStore(path: directory.store)
        #expect(again.journal.segmentDamage == nil, "\(what)")
        try again.journal.close()
    }

    private func turns() throws -> [String] {
        try StoreSurgery.run(
            directory.store, "SELECT first_turn FROM segments ORDER BY first_turn")
    }

    @Test func `J12: whatever bit of a segment's row flips, a start makes it anew`() throws {
        let truth = try packed()
        let turns = try turns()
        #expect(turns.count > 5)
        let columns = try StoreSurgery.run(
            directory.store, "SELECT name FROM pragma_table_info('segments')")
        #expect(columns.count == 8)
        for turn in [turns[0], turns[2], turns[turns.count - 1]] {
            for column in columns {
                for bit in [1, 1 << 20, 1 << 40] where bit == 1 || column != "body" {
                    let sql = StoreSurgery.flip(
                        column, of: "segments", where: "first_turn = \(turn)", bit: bit)
                    // Another row may have that key.
                    guard (try? StoreSurgery.run(directory.store, sql)) != nil else { continue }
                    let what = "\(column) of \(turn), bit \(bit)"
                    #expect(throws: ExportError.self, "\(what)") {
                        try PackedStore.export(directory.store)
                    }
                    try expect(truth, mended: 1...1, what)
                }
            }
        }
    }

    @Test func `J12: blocks of a segment that was never finished go, once`() throws {
        _ = try packed()
        let blocks = "SELECT count(*) FROM blocks WHERE id >= "
        let first = try #require(
            try StoreSurgery.run(
                directory.store,
                "SELECT block FROM segments ORDER BY first_turn DESC LIMIT 1"
            ).first)
        // A kill in the midst of packing: of its blocks those of rows are there, and its row is damaged.
        for table in [
            "blocks WHERE id = (SELECT max(id) FROM blocks)", "segments WHERE block = \(first)",
        ] {
            try StoreSurgery.run(directory.store, "DELETE FROM \(table)")
        }
        #expect(try StoreSurgery.run(directory.store, blocks + first) != ["0"])
        let store = try StateStore(path: directory.store)
        #expect(try #require(store.journal.segmentDamage).segments.isEmpty)
        try store.journal.close()
        #expect(try StoreSurgery.run(directory.store, blocks + first) == ["0"])
        let again = try StateStore(path: directory.store)
        #expect(again.journal.segmentDamage == nil)
        try again.journal.close()
    }

    @Test func `J12: a segment's row that its index does not find is made anew`() throws {
        let truth = try packed()
        let turns = try turns()
        for (turn, sum) in [(turns[0], 4), (turns[1], 1 << 30)] {
            try StoreSurgery.run(
                directory.store, hiding: "segment_rows",
                "UPDATE segments SET first_row = first_row + \(sum) WHERE first_turn = \(turn)")
            try expect(truth, mended: 1...1, "row of \(turn)")
        }
    }

    @Test func `J12: a segment's row that is gone is missed, also by an export, and made anew`()
        throws
    {
        let truth = try packed()
        let turns = try turns()
        for turn in [turns[0], turns[3], turns[turns.count - 1]] {
            try StoreSurgery.run(
                directory.store, "DELETE FROM segments WHERE first_turn = \(turn)")
            #expect(throws: ExportError.self, "\(turn)") {
                try PackedStore.export(directory.store)
            }
            try expect(truth, mended: 1...1, "gone: \(turn)")
        }
        // Several that stand together, and all.
        let last = turns[turns.count - 2]
        try StoreSurgery.run(
            directory.store, "DELETE FROM segments WHERE first_turn <= \(last)")
        try expect(truth, mended: (turns.count - 1)...(turns.count - 1), "all but one")
        try StoreSurgery.run(directory.store, "DELETE FROM segments")
        try expect(truth, mended: turns.count...turns.count, "all")
    }

    @Test func `J12: the row of a segment of which the tables have all still is given up`() throws {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        let journal = story.store.journal
        var writer = PackingWriter(rowsMin: 1)
        writer.consider()
        while try journal.lastSegment() == nil {
            try journal.begin()
            _ = try writer.write(to: journal, cutThrough: 0)
            try journal.commit()
        }
        let export = try PackedStore.export(directory.store)
        try story.close()
        try StoreSurgery.run(directory.store, "UPDATE segments SET last_turn = last_turn + 1")
        let store = try StateStore(path: directory.store)
        #expect(store.journal.segmentDamage?.segments.count == 1)
        #expect(try store.journal.lastSegment() == nil)
        #expect(try PackedStore.export(directory.store) == export)
        try PackedStore.pack(store.journal)
        #expect(try PackedStore.export(directory.store) == export)
        try store.journal.close()
    }

    /// A block and the row of its segment: what the block held is lost, and is said to be.
    @Test func `J12: of a segment with a damaged block all others are found again`() throws {
        _ = try packed(rowsMax: 40)
        let blocks = try StoreSurgery.run(directory.store, "SELECT id FROM blocks ORDER BY id")
        for block in blocks {
            let other = TemporaryDirectory()
            for name in ["rollcall.db", "rollcall.db-wal"] {
                other.write(name, directory.bytes(name))
            }
            try StoreSurgery.run(
                other.store,
                """
                UPDATE blocks SET body = x'FF' || substr(body, 2) WHERE id = \(block);
                UPDATE segments SET checksum = checksum + 1 WHERE block <= \(block) AND \(block) < ifnull((
                    SELECT min(s.block) FROM segments AS s WHERE s.block > segments.block), 1 << 60)
                """)
            let store = try StateStore(path: other.store)
            let damage = try #require(store.journal.segmentDamage)
            #expect(damage.segments.map(\.blocksLost) == [1], "block \(block)")
            #expect(throws: ExportError.self, "block \(block)") {
                try PackedStore.export(other.store)
            }
            // A start needs none of it; nor is the segment before it or behind it touched.
            #expect(try store.recover().differences == 0)
            _ = try store.journal.firstTurn()
            try store.journal.close()
            let again = try StateStore(path: other.store)
            #expect(again.journal.segmentDamage == nil, "block \(block)")
            try again.journal.close()
        }
    }

    @Test func `J12: nothing of somebody erased is left in a segment whose row was damaged`() throws
    {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try PackedStore.pack(story.store.journal, rowsMax: 12)
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let responder = Int64(number + 1)
        let theirs = try blocks(story.store.journal, of: responder)
        #expect(theirs.count > 4)
        // Each segment's row, and of their blocks each second one.
        try StoreSurgery.run(
            directory.store, "UPDATE segments SET body = x'00', first_row = first_row + 100")
        for (place, id) in theirs.enumerated() where place % 2 == 0 {
            try StoreSurgery.run(
                directory.store,
                "UPDATE blocks SET body = x'FF' || substr(body, 2) WHERE id = \(id)")
        }
        try story.crash(away: 5)
        #expect(story.store.journal.segmentDamage?.segments.isEmpty == false)
        try story.erase("r-3", isRemoved: true)
        #expect(try story.store.journal.erasures().allSatisfy { $0.nextRow == 0 })
        #expect(try blocks(story.store.journal, of: responder) == [])
        let unread = try story.store.journal.connection.integers(
            "SELECT id FROM blocks WHERE body = x'' ORDER BY id")
        #expect(unread == theirs.enumerated().filter { $0.offset % 2 == 0 }.map(\.element))
        try story.close()
    }

    @Test(arguments: [true, false])
    func `J12, I11: an erasure that missed a segment's row walks once more when it is made anew`(
        isOver: Bool
    ) throws {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try PackedStore.pack(story.store.journal, rowsMax: 12)
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let responder = Int64(number + 1)
        #expect(try blocks(story.store.journal, of: responder).count > 4)
        // Lost while the store is served: the walk takes that for the place up to which rows are cut.
        try StoreSurgery.run(directory.store, "DELETE FROM segments")
        try story.erase("r-3", isRemoved: true)
        let journal = story.store.journal
        #expect(try journal.erasures().allSatisfy { $0.nextRow == 0 && $0.finishedAt != nil })
        #expect(try blocks(journal, of: responder).count > 4)
        if !isOver {
            var erasure = try #require(try journal.erasures().last)
            erasure.finishedAt = nil
            try story.store.write { () throws(StoreError) in try journal.put(erasure) }
        }
        try story.crash(away: 5)
        #expect(story.store.journal.segmentDamage?.segments.isEmpty == false)
        let again = try #require(try story.store.journal.erasures().last)
        #expect(again.finishedAt == nil && again.nextRow == -.max)
        try story.removeErased()
        #expect(try blocks(story.store.journal, of: responder) == [])
        #expect(try story.store.journal.erasures().allSatisfy { $0.finishedAt != nil })
        // A start that mends nothing opens none.
        try story.crash(away: 5)
        #expect(try story.store.journal.erasures().allSatisfy { $0.finishedAt != nil })
        try story.close()
    }

    @Test func `J12, I11: what came in the turn that asked for an erasure goes with it then`()
        throws
    {
        let story = try ExportStory(path: directory.store)
        try story.tell()
        try PackedStore.pack(story.store.journal, rowsMax: 12)
        let number = try #require(story.engine.roster.number(of: Array("r-3".utf8)))
        let responder = Int64(number + 1)
        let row = story.engine.nextRow
        // One group of rows, whose number is that of the last one.
        try story.commit([
            try story.batch(#"{"responder_id":"r-3","install_id":"i-2"}"#),
            .erase(.id(Array("r-3".utf8)), source: EventSource.standard),
            try story.batch(#"{"responder_id":"r-1"}"#),
        ])
        try StoreSurgery.run(directory.store, "DELETE FROM segments")
        try story.crash(away: 5)
        #expect(story.store.journal.segmentDamage?.segments.isEmpty == false)
        try story.removeErased()
        #expect(try story.store.journal.erasures().allSatisfy { $0.finishedAt != nil })
        #expect(try blocks(story.store.journal, of: responder) == [])
        let left = try PackedStore.walk(directory.store, from: row, of: responder)
        // A row stays, and is nobody's.
        #expect(left.allSatisfy { $0[1] & ~EventCode.begins == ItemKind.nobody.rawValue })
        try story.close()
    }

    /// The ids of the blocks that can be read and have rows of somebody.
    private func blocks(_ journal: Journal, of responder: Int64) throws -> [Int64] {
        let select = try Statement(journal.connection, "\(select: .blocks) ORDER BY id")
        defer { select.finalize() }
        return try select.all { row in
            let rows = PackedRows(block: Array(row.bytes(.body)))
            return rows?.rows.contains { $0.responder == responder } == true ? row[.id] : 0
        }.filter { $0 > 0 }
    }
}
