import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallTools

/// Rows of a turn that follow each other stand in the table as one (J13).
@Suite struct RowGroupTests {
    private let directory = TemporaryDirectory()

    /// A row with a body of its own, as it was written.
    private struct Written: Equatable, CustomStringConvertible {
        var id: Int64
        var kind: UInt8
        var responder: Int64
        var previous: Int64
        var body: [UInt8]

        init(id: Int64, kind: UInt8, responder: Int64, previous: Int64, body: [UInt8]) {
            (self.id, self.kind, self.responder) = (id, kind, responder)
            (self.previous, self.body) = (previous, body)
        }

        init(_ row: JournalRow) {
            self.init(
                id: row.id, kind: row.kind, responder: row.responder, previous: row.previous,
                body: Array(row.body))
        }

        var description: String { "\(id)/\(kind)/\(responder)/\(previous) \(body.count) bytes" }
    }

    /// Writes rows as turn `number`.
    private func write(_ rows: [Written], turn number: Int64, to journal: Journal) throws {
        try journal.begin()
        for row in rows {
            try row.body.withUnsafeBytes { body in
                try journal.append(
                    id: row.id, kind: row.kind, responder: row.responder, previous: row.previous,
                    body: body)
            }
        }
        let range = try #require(rows.first).id...(try #require(rows.last).id)
        try journal.write(turn: .of(number, range))
        try journal.commit()
    }

    private func tail(_ journal: Journal, after number: Int64 = 0) throws -> [Written] {
        var rows: [Written] = []
        try journal.replayTail(afterTurn: number) {
            rows.append(Written($0))
        } turn: { _ in
        }
        return rows
    }

    private func count(_ journal: Journal, _ sql: SQL = "SELECT count(*) FROM journal") throws
        -> Int64
    {
        try journal.connection.integer(sql)
    }

    /// Rows of four people, in turn.
    private func rows(_ ids: ClosedRange<Int64>, bytes: Int = 100) -> [Written] {
        ids.map { id in
            Written(
                id: id, kind: UInt8(id % 7), responder: id % 4 + 1, previous: max(0, id - 4),
                body: Array(repeating: UInt8(truncatingIfNeeded: id), count: bytes))
        }
    }

    @Test func `J13: rows of a turn stand together, a page at most, and are read one by one`()
        throws
    {
        let journal = try Journal(path: directory.store)
        let first = rows(1...200)
        try write(first, turn: 1, to: journal)
        let second = rows(201...240)
        try write(second, turn: 2, to: journal)
        #expect(try count(journal) == 8)
        #expect(try count(journal, "SELECT max(length(body)) FROM journal") <= 3968)
        #expect(try count(journal, "SELECT max(id) FROM journal") == 240)
        #expect(try tail(journal) == first + second)
        #expect(try tail(journal, after: 1) == second)
        var read: [Written] = []
        try journal.unpackedRows(from: 37, through: 100, limit: 50) { read.append(Written($0)) }
        #expect(read == Array(first[36..<86]))
        #expect(try journal.firstUnpackedRow() == 1)
        #expect(try count(journal, .firstRow) == 1)
        let reader = try JournalReader(path: directory.store)
        var walked: [Int64] = []
        var next: Int64 = 239
        while next > 0 {
            next = try reader.walk(from: next, of: 4, limit: 7) { walked.append($0.id) }
        }
        #expect(walked == Array(stride(from: 239, through: 3, by: -4)))
        // Nobody finds what is not there.
        #expect(try reader.walk(from: 241, of: 4, limit: 7) { _ in } == 0)
        try journal.close()
        let again = try Journal(path: directory.store)
        #expect(again.lastRow == 240)
        try again.close()
    }

    @Test func `J13: a row alone, one that is large, and one behind a hole stand as they are`()
        throws
    {
        let journal = try Journal(path: directory.store)
        var all: [Written] = []
        for (turn, rows) in [
            rows(1...1), rows(2...3), rows(4...4, bytes: 5000), rows(5...6) + rows(9...9),
            rows(10...11) + rows(12...12, bytes: 3969) + rows(13...13),
            rows(14...14, bytes: 3968) + rows(15...15),
        ].enumerated() {
            try write(rows, turn: Int64(turn + 1), to: journal)
            all += rows
        }
        #expect(try tail(journal) == all)
        let select = try Statement(journal.connection, "\(select: .journal) ORDER BY id")
        let stored = try select.all { "\(JournalRow($0).firstID)-\($0.integer(.id))" }
        select.finalize()
        #expect(
            stored == [
                "1-1", "2-3", "4-4", "5-6", "9-9", "10-11", "12-12", "13-13", "14-14", "15-15",
            ])
        try journal.close()
    }

    @Test func `J13: any rows come back as they were, byte for byte`() throws {
        var dice = Dice(seed: 28)
        func number(_ range: ClosedRange<Int>) -> Int {
            Int(dice.number(Int64(range.lowerBound)...Int64(range.upperBound)))
        }
        let journal = try Journal(path: directory.store)
        var all: [Written] = []
        var id: Int64 = 0
        for turn in 1...60 {
            var rows: [Written] = []
            for _ in 0...number(0...80) {
                id += number(0...30) == 0 ? Int64(number(2...1000)) : 1
                let length = number(0...9) == 0 ? number(0...4200) : number(0...200)
                rows.append(
                    Written(
                        id: id, kind: [0, 1, 126, 128, 255][number(0...4)],
                        responder: [0, 1, 127, 128, .max][number(0...4)],
                        previous: number(0...1) == 0 ? 0 : Int64(number(0...Int(id - 1))),
                        body: (0..<length).map { _ in UInt8(number(0...255)) }))
            }
            try write(rows, turn: Int64(turn), to: journal)
            all += rows
        }
        #expect(try tail(journal) == all)
        for _ in 0..<50 {
            let wanted = all[number(0...(all.count - 1))]
            let found = try journal.statements.row.first([.id: wanted.id]) {
                (statement) throws(StoreError) in
                try JournalRow(statement).row(wanted.id).map { Written($0) }
            }
            #expect(found == wanted)
        }
        try journal.close()
    }

    @Test func `J13: what was rolled back does not come with the next turn`() throws {
        let journal = try Journal(path: directory.store)
        try journal.begin()
        try journal.append(id: 1, text: "lost")
        try journal.rollback()
        let kept = rows(1...3)
        try write(kept, turn: 1, to: journal)
        #expect(try tail(journal) == kept)
        try journal.close()
    }

    @Test func `J13: a bit in a group is damage to whoever reads it`() throws {
        let journal = try Journal(path: directory.store)
        try write(rows(1...20), turn: 1, to: journal)
        try journal.connection.run(
            "UPDATE journal SET body = substr(body, 1, 99) || x'00' || substr(body, 101)")
        let damage = StoreError.damaged("journal row 1 is not as it was written")
        #expect(throws: damage) { try tail(journal) }
        #expect(throws: damage) {
            try journal.unpackedRows(from: 7, through: 9, limit: 9) { _ in }
        }
        let walk = StoreError.damaged("row 7 of responder 4 is not as it was written")
        #expect(throws: walk) {
            try JournalReader(path: directory.store).walk(from: 7, of: 4, limit: 9) { _ in }
        }
        #expect(throws: ExportError.self) {
            try ExportReader(path: directory.store, mindsErasures: false).rows(from: 1, through: 9)
        }
        try journal.close()
    }

    /// With a checksum that fits: of a fault of our own.
    @Test func `J13: a group that makes no sense is damage, and not another story`() throws {
        let journal = try Journal(path: directory.store)
        try write(rows(1...20), turn: 1, to: journal)
        let whole = try #require(
            try journal.statements.row.first([.id: 1]) { Array($0.bytes(.body)) })
        for body in [
            [], [1], [1, 0], [1, 0, 0], [1, 0, 0, 5, 255], [1, 0, 0, 0x80], whole.dropLast(104),
            whole.dropLast(), whole + [1, 0, 0, 0], whole + [1],
        ] as [[UInt8]] {
            try journal.begin()
            try body.withUnsafeBytes { body in
                let row = JournalRow(
                    id: 20, kind: RowGroup.kind, responder: 0, previous: 1, body: body)
                try row.write(by: journal.statements.replaceRow)
            }
            try journal.commit()
            #expect(throws: StoreError.damaged("the group of journal row 20 makes no sense")) {
                try tail(journal)
            }
        }
        try journal.close()
    }

    @Test func `J13, I11: an erasure takes a person out of groups, and leaves the others`() throws {
        let journal = try Journal(path: directory.store)
        let written = rows(1...200)
        try write(written, turn: 1, to: journal)
        #expect(try erase(from: 199, journal, turn: 2).rows == 50)
        let left = try tail(journal)
        #expect(left.filter { $0.responder != 0 } == written.filter { $0.responder != 4 })
        #expect(left.count == 200 && left.map(\.id) == written.map(\.id))
        #expect(left.filter { $0.responder == 0 }.allSatisfy { $0.body.count <= 3 })
        try journal.close()
    }

    /// Erases person 4, whose newest row is `id`.
    private func erase(from id: Int64, _ journal: Journal, turn: Int64) throws -> Erasure {
        var erasure = Erasure(number: id, responder: 4)
        erasure.nextRow = id
        try journal.begin()
        while erasure.nextRow != 0 { try journal.removeRows(of: &erasure, limit: 9) }
        try journal.write(turn: .of(turn, nil))
        try journal.commit()
        return erasure
    }

    /// A bit may be in the body, so that nobody knows where it ends, or in what says which rows it has.
    @Test(
        arguments: [
            "body = x'FFFFFF' || substr(body, 4)", "previous = previous + 64", "previous = 0",
            "kind = kind - 1", "responder = 3", "checksum = checksum + 1", "body = x''",
            "checksum = NULL",
        ] as [SQL])
    func `J13, I11: a damaged group is emptied, and the person's older rows are found`(damage: SQL)
        throws
    {
        let journal = try Journal(path: directory.store)
        for turn in 1...4 as ClosedRange<Int64> {
            try write(rows((turn * 20 - 19)...(turn * 20)), turn: turn, to: journal)
        }
        try StoreSurgery.run(directory.store, "UPDATE journal SET \(damage) WHERE id = 60")
        #expect(throws: StoreError.damaged("row 59 of responder 4 is not as it was written")) {
            try JournalReader(path: directory.store).walk(from: 79, of: 4, limit: 99) { _ in }
        }
        #expect(try erase(from: 79, journal, turn: 5).rows == 15)
        #expect(try count(journal, "SELECT length(body) FROM journal WHERE id = 60") == 0)
        #expect(throws: StoreError.self) { try tail(journal) }
        // A second one that meets it goes on behind it likewise.
        var other = Erasure(number: 81, responder: 3)
        other.nextRow = 78
        try journal.begin()
        while other.nextRow != 0 { try journal.removeRows(of: &other, limit: 9) }
        try journal.write(turn: .of(6, nil))
        try journal.commit()
        #expect(other.rows == 15)
        let left = try [1...20, 21...40, 61...80].flatMap { range in
            var found: [Written] = []
            try journal.unpackedRows(
                from: Int64(range.lowerBound), through: Int64(range.upperBound), limit: 99
            ) { found.append(Written($0)) }
            return found
        }
        #expect(left.count == 60)
        #expect(Set(left.map(\.responder)) == [0, 1, 2])
        try journal.close()
    }

    @Test func `J13: of a row that is not there nobody is given the next one`() throws {
        let journal = try Journal(path: directory.store)
        for id in 1...4 as ClosedRange<Int64> { try write(rows(id...id), turn: id, to: journal) }
        try journal.connection.run("DELETE FROM journal WHERE id = 2")
        #expect(try tail(journal).map(\.id) == [1, 3, 4])
        #expect(
            try JournalReader(path: directory.store).walk(from: 2, of: 3, limit: 9) { _ in } == 0)
        #expect(
            try ExportReader(path: directory.store, mindsErasures: false).rows(from: 2, through: 2)
                .isEmpty)
        try journal.close()
    }

    @Test
    func
        `J13: a group that is damaged at the beginning neither is packed nor has an end of its own`()
        throws
    {
        let journal = try Journal(path: directory.store)
        try write(rows(1...20), turn: 1, to: journal)
        for change in ["previous - 5", "previous + 70000", "previous - 9223372036854775807 - 1"] {
            try StoreSurgery.run(directory.store, "UPDATE journal SET previous = \(change)")
            #expect(throws: StoreError.self) { try journal.firstUnpackedRow() }
            #expect((1...20).contains(try count(journal, .firstRow)))
            try StoreSurgery.run(directory.store, "UPDATE journal SET previous = 1")
        }
        try journal.close()
    }

    @Test func `J7, J13: a cut takes groups whole, and what is left begins behind it`() throws {
        let journal = try Journal(path: directory.store)
        try write(rows(1...200), turn: 1, to: journal)
        try write(rows(201...300), turn: 2, to: journal)
        try write(rows(301...400), turn: 3, to: journal)
        let cut = try #require(try journal.turn(2))
        var isLeft = true
        var pieces = 0
        while isLeft {
            try journal.begin()
            isLeft = try journal.cut(through: cut, limit: 2)
            try journal.commit()
            pieces += 1
        }
        #expect(pieces > 3)
        #expect(try journal.firstUnpackedRow() == 301)
        #expect(try tail(journal) == rows(301...400))
        try journal.close()
    }
}
