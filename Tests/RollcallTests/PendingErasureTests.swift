import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallStore
@testable import RollcallSupport

/// When an erasure is over in all of a watch, and what was put aside of a store. Source: S13.
@Suite struct PendingErasureTests {
    private static func erasure(_ turn: Int64) -> Erasure {
        var erasure = Erasure(number: turn * 10, responder: 1)
        erasure.turn = turn
        erasure.requestedAt = Timestamp(milliseconds: turn * 1000)
        return erasure
    }

    private static func pending(
        _ turns: [Int64], said: [String: Int64], emptied: Int64, names: [String]
    ) -> [PendingErasure] {
        var view = LogView(
            head: LogHead(log: 1, position: 200, hash: 1, reign: 1, revision: 9), beat: 0, tail: 0,
            notes: said.map { name, erased in
                var note = MemberNote(
                    member: Array(name.utf8), position: 200, wall: Timestamp(milliseconds: 1))
                note.erased = erased
                return note
            })
        view.emptied = emptied
        return PendingErasure.pending(
            turns.map(erasure), offset: 100, view, names: names.map { Array($0.utf8) })
    }

    @Test
    func `S13: it is pending while a member has not said that it is over, or the log holds it`() {
        let names = ["a", "b", "c"]
        let said: [String: Int64] = ["a": 50, "b": 7, "d": 0]
        let all = Self.pending([5, 8], said: said, emptied: 105, names: names)
        #expect(all.map(\.number) == [50, 80])
        #expect(all.map(\.missing) == [[Array("c".utf8)], [Array("b".utf8), Array("c".utf8)]])
        #expect(all.map(\.isInLog) == [false, true])
        #expect(all.map(\.position) == [105, 108])
        // Who is removed is waited for no more.
        #expect(Self.pending([5], said: said, emptied: 105, names: ["a", "b"]) == [])
        #expect(Self.pending([5], said: said, emptied: 104, names: ["a", "b"]).count == 1)
    }

    @Test func `S13: what was erased before there was a log is in none`() {
        let before = Self.pending([-99, -100], said: ["a": 0], emptied: 0, names: ["a"])
        #expect(before == [])
    }

    @Test func `S13: the whole is told in a few words`() {
        let all = Self.pending([5, 8], said: ["a": 6], emptied: 105, names: ["c", "a", "b"])
        #expect(
            PendingErasure.answer(all) == [
                "pending": 2, "oldest_at": .text("1970-01-01T00:00:05.000Z"),
                "missing": ["a", "b", "c"], "in_log": 1,
            ])
        #expect(
            PendingErasure.answer([]) == [
                "pending": 0, "oldest_at": nil, "missing": [], "in_log": 0,
            ])
    }

    @Test
    func `S11, S13: what was put aside goes once somebody was erased since, and nothing else`()
        throws
    {
        let directory = TemporaryDirectory()
        let path = directory.path + "/rollcall.db"
        let (aside, late) = (
            path + ".replaced-20260101T000000Z", path + ".corrupt-20260102T000000Z"
        )
        for file in [path, aside, aside + "-wal", late, path + ".epoch", path + "x.corrupt-1"] {
            try "x".write(toFile: file, atomically: false, encoding: .utf8)
        }
        let old = Date(timeIntervalSinceNow: -7200)
        for file in [path, aside, aside + "-wal", path + ".epoch", path + "x.corrupt-1"] {
            try FileManager.default.setAttributes([.modificationDate: old], ofItemAtPath: file)
        }
        let erased = Timestamp(
            milliseconds: Int64(Date(timeIntervalSinceNow: -3600).timeIntervalSince1970 * 1000))
        let names = StoreQuarantine.deleteReplaced(path, changedBefore: erased)
        #expect(
            names == [
                "rollcall.db.replaced-20260101T000000Z",
                "rollcall.db.replaced-20260101T000000Z-wal",
            ])
        for file in [path, late, path + ".epoch", path + "x.corrupt-1"] {
            #expect(StoreFile.isThere(file), "\(file)")
        }
    }
}
