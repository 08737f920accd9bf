import RollcallCore
import Testing

@testable import RollcallStore

/// Decisions are written many at once, and numbered by SQLite where they follow the last one: the rows are
/// those that one after the other would be. Source: J14.
@Suite struct DecisionRowsTests {
    private static let most = DecisionRows.rowsMax

    private func append(_ ids: [Int64], to journal: Journal, turn: Int64) throws {
        try journal.begin()
        for id in ids {
            try Array("\(id)".utf8).withUnsafeBytes { body in
                try journal.appendDecision(
                    id: id, turn: turn, kind: 1, responder: id % 7, previous: id - 1,
                    atMilliseconds: 5_000_000 + id, body: body)
            }
        }
        try journal.write(turn: .of(turn, nil))
    }

    /// What a store holds of decisions, in words, and whether each row is whole.
    private func rows(_ path: String) throws -> [String] {
        let connection = try SQLiteConnection(path: path, access: .readOnly)
        return try Statement(connection, "\(select: .decisions) ORDER BY id").all { row in
            let found = DecisionRow(row)
            let numbers = [
                found.id, found.responder, found.previous, found.atMilliseconds,
            ]
            let text = String(decoding: found.body, as: UTF8.self)
            return "\(numbers) \(text) \(row.checksum != nil && found.fits(row.checksum))"
        }
    }

    private func wanted(_ ids: [Int64]) -> [String] {
        ids.map { "[\($0), \($0 % 7), \($0 - 1), \(5_000_000 + $0)] \($0) true" }
    }

    @Test(arguments: [1, most - 1, most, most + 1, 2 * most, 3 * most - 1])
    func `J14: as many decisions as fill a step, or one more or less, are the rows of each alone`(
        count: Int
    ) throws {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        try append(Array(1...Int64(count)), to: journal, turn: 1)
        try journal.commit()
        try append(Array(Int64(count + 1)...Int64(2 * count)), to: journal, turn: 2)
        try journal.commit()
        try journal.close()
        #expect(try rows(directory.store) == wanted(Array(1...Int64(2 * count))))
    }

    @Test(arguments: [1, most / 2, most - 1, most])
    func `J14: behind a hole and around one decisions keep their numbers`(hole: Int) throws {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        let all = (2...Int64(4 * Self.most)).filter { $0 != 2 + Int64(hole) }
        try append(all, to: journal, turn: 1)
        try journal.commit()
        try journal.close()
        #expect(try rows(directory.store) == wanted(all))
    }

    @Test func `J14: where the newest decisions are gone the next ones keep their numbers`() throws
    {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        let count = Int64(Self.most)
        try append(Array(1...count), to: journal, turn: 1)
        try journal.commit()
        // As an erasure takes them away.
        try journal.begin()
        try journal.connection.run("DELETE FROM decisions WHERE id > 10")
        try journal.write(turn: .of(2, nil))
        try journal.commit()
        try append(Array((count + 1)...(3 * count)), to: journal, turn: 3)
        try journal.commit()
        try journal.close()
        let left = Array(1...Int64(10)) + Array((count + 1)...(3 * count))
        #expect(try rows(directory.store) == wanted(left))
    }

    @Test func `J6: a step that is given up is written again`() throws {
        let directory = TemporaryDirectory()
        let journal = try Journal(path: directory.store)
        let ids = Array(1...Int64(2 * Self.most))
        try append(ids, to: journal, turn: 1)
        try journal.rollback()
        try append(ids, to: journal, turn: 1)
        try journal.commit()
        try journal.close()
        #expect(try rows(directory.store) == wanted(ids))
    }
}
