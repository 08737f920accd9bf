import Logging
import RollcallCore
import Testing

@testable import Rollcall

/// Checkpoints, erasures and retention beside writes that wait (J5, J7).
struct StoreChoresTests {
    private var chores = StoreChores(
        checkpoints: CheckpointWriter(last: nil), erasures: ErasureWriter([]),
        retention: RetentionWriter(bytesMax: 1 << 30, log: Logger(label: "test")))
    private let began = ContinuousClock.now

    private func hasRoom(after milliseconds: Int, isWaitedFor: Bool = true) -> Bool {
        chores.hasRoom(
            at: began.advanced(by: .milliseconds(milliseconds)), isWaitedFor: isWaitedFor)
    }

    @Test func `the first piece is written at once`() {
        #expect(hasRoom(after: 0))
    }

    @Test mutating func `a piece is followed by as much time as it took beyond a plain commit`() {
        chores.committed(after: .milliseconds(1), hasPiece: false, at: began)
        chores.committed(
            after: .milliseconds(7), hasPiece: true, at: began.advanced(by: .milliseconds(7)))
        #expect(!hasRoom(after: 12))
        #expect(hasRoom(after: 13))
    }

    @Test mutating func `nobody who waits is no reason to wait`() {
        chores.committed(after: .milliseconds(7), hasPiece: true, at: began)
        #expect(!hasRoom(after: 6))
        #expect(hasRoom(after: 6, isWaitedFor: false))
    }

    @Test func `a commit is longer for the writing of a piece and for its share of the bytes`() {
        var piece = ChorePiece()
        piece.began = began
        piece.ended = began.advanced(by: .milliseconds(3))
        let end = began.advanced(by: .milliseconds(13))
        piece.bytes = 300
        #expect(piece.span(ofCommitUntil: end, ownBytes: 100) == .microseconds(10_500))
        #expect(piece.span(ofCommitUntil: end, ownBytes: 0) == .milliseconds(13))
        piece.bytes = 0
        #expect(piece.span(ofCommitUntil: end, ownBytes: 100) == .zero)
    }

    @Test mutating func `a piece in a long commit takes no time of its own`() {
        chores.committed(after: .milliseconds(50), hasPiece: false, at: began)
        chores.committed(after: .milliseconds(20), hasPiece: true, at: began)
        #expect(hasRoom(after: 0))
    }

    @Test mutating func `an erasure is worked off although one checkpoint follows another`()
        throws
    {
        let directory = TemporaryDirectory()
        var story = try HistoryStory(directory)
        let journal = story.store.journal
        let ids = (1...3000).map { "p\($0)" }
        try story.turn(
            at: 0, [.start(), try HistoryStory.batches(ids, sequence: 1, captured: 0)])
        try checkpoint(story, journal)
        try story.turn(at: 1, [.erase(.id(Array("p7".utf8)), source: EventSource.standard)])
        try checkpoint(story, journal)
        chores.erasures = ErasureWriter(try journal.erasures())
        var began = 0
        for _ in 0..<500 where !chores.erasures.wantsLogCut {
            if !chores.checkpoints.isWriting {
                began += 1
                try story.turn(at: Int64(1 + began))
                chores.checkpoints.begin(turn: story.turn, story.engine, .now())
            }
            try journal.begin()
            _ = try chores.writePiece(to: journal, story.engine)
            try journal.commit()
            chores.checkpoints.wrote()
            chores.erasures.committed()
        }
        #expect(chores.erasures.wantsLogCut)
        #expect(began > 1)
    }

    private mutating func checkpoint(_ story: HistoryStory, _ journal: Journal) throws {
        try chores.checkpoints.writeWhole(turn: story.turn, story.engine, .now(), to: journal)
    }
}
