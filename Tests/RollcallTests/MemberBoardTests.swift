import Foundation
import RollcallCluster
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallStore
@testable import RollcallSupport

/// What a member says of itself, and the copy that it takes of another's store.
@Suite struct MemberBoardTests {
    private static func place() -> LogPlace {
        var place = LogPlace()
        place.position = 90_210
        place.hash = 0xFFFF_FFFF_FFFF_FFF1
        place.reign = 3
        place.revision = 180_422
        place.log = 0x8000_0000_0000_0001
        return place
    }

    private static func board(
        _ role: MemberStanding.Role = .following, end: Int64 = 90_210, confirmedAt: Int64? = 1000,
        leadsUntil: Int64 = .min
    ) -> MemberBoard {
        let board = MemberBoard(member: Array("b".utf8), silence: .seconds(2))
        var standing = MemberStanding()
        standing.role = role
        standing.place = place()
        standing.end = end
        standing.leader = Array("a".utf8)
        standing.confirmedAt = confirmedAt
        standing.leadsUntil = leadsUntil
        standing.notes = [
            MemberNote(
                member: Array("a".utf8), position: 90_209, wall: Timestamp(milliseconds: 5),
                address: "http://10.0.0.1:10112")
        ]
        board.publish(standing)
        return board
    }

    @Test func `S11: a member reads of another's answer where that stands, to the last bit`() throws
    {
        var answer: [UInt8] = []
        Self.board().answer().append(to: &answer)
        let read = MemberBoard.place(try JSONTree(reading: answer))
        #expect(read == PeerPlace(member: Array("b".utf8), place: Self.place()))
        #expect(MemberBoard.place([:]) == nil)
        #expect(MemberBoard.place("<html>") == nil)
    }

    @Test
    func `S15: a state is confirmed for as long as the silence, and only if all of it is held`() {
        #expect(Self.board().isConfirmed(at: 3000))
        #expect(!Self.board().isConfirmed(at: 3001))
        #expect(!Self.board(end: 90_211).isConfirmed(at: 1000))
        #expect(!Self.board(confirmedAt: nil).isConfirmed(at: 1000))
        #expect(!Self.board(.lost).isConfirmed(at: 1000))
    }

    @Test
    func `S15: who was suspended, or whom the log refuses, leads no longer than nobody else may`() {
        let board = Self.board(.leading, leadsUntil: 3000)
        #expect(board.isLeading(at: 3000))
        #expect(!board.isLeading(at: 3001))
        #expect(!Self.board(.standing, leadsUntil: 3000).isLeading(at: 3000))
        #expect(!Self.board(.leading).isLeading(at: 1000))
    }

    @Test func `S15: who follows says where the leader is`() {
        let standing = Self.board().standing
        #expect(standing.leaderAddress == "http://10.0.0.1:10112")
        #expect(standing.lag == 0)
    }

    @Test func `S7: the first entry of a log says whose watch it is, and what came before`() {
        let creation = WatchCreation(watch: 0xFEDC_BA98_7654_3210, turn: 77)
        #expect(WatchCreation(creation.bytes) == creation)
        #expect(WatchCreation(Array(creation.bytes.dropLast())) == nil)
        #expect(WatchCreation(creation.bytes + [0]) == nil)
        #expect(WatchCreation([UInt8](repeating: 0xFF, count: 16)) == nil)
    }

    @Test func `S12: a copy takes the place of a store, with nothing left of the old one`() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/rollcall.db"
        try write(path, "old")
        try write(path + "-wal", "old log")
        let incoming = try #require(StoreJoin.Incoming(storePath: path))
        #expect(incoming.append(Array("a n".utf8)) && incoming.append(Array("ew store".utf8)))
        #expect(!StoreJoin.isThere(path), "half of it is nothing")
        #expect(incoming.finish())
        #expect(StoreJoin.isThere(path))
        try StoreJoin.take(path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "a new store")
        #expect(!StoreFile.isThere(path + "-wal") && !StoreJoin.isThere(path))
    }

    @Test func `a copy is handed over in pieces, and only the present one`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/rollcall.db"
        let journal = try Journal(path: path)
        let copies = StoreCopy(storePath: path)
        let made = await withCheckedContinuation { done in
            copies.make { done.resume(returning: $0) }
        }
        let copy = try #require(made)
        var bytes: [UInt8] = []
        while let piece = copies.piece(of: copy.number, at: Int64(bytes.count)) { bytes += piece }
        #expect(Int64(bytes.count) == copy.bytes)
        #expect(bytes.starts(with: Array("SQLite format 3".utf8)))
        #expect(!StoreFile.isThere(path + ".copying"), "S13: nobody would erase from it")
        #expect(copies.piece(of: copy.number + 1, at: 0) == nil)
        #expect(copies.piece(of: copy.number, at: copy.bytes) == nil)
        copies.close()
        #expect(copies.piece(of: copy.number, at: 0) == nil)
        #expect(!StoreFile.isThere(path + ".copying"))
        try journal.close()
    }

    private func write(_ path: String, _ text: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }
}
