import Logging
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// Checkpoints, erasures and retention beside writes that wait (J5, J7).
struct StoreChoresTests {
    private var chores = StoreChores(
        checkpoints: CheckpointWriter(last: nil), erasures: ErasureWriter([]),
        retention: RetentionWriter(bytesMax: 1 << 30, log: Logger(label: "test")),
        packing: PackingWriter())
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

    // MARK: - Pace

    @Test mutating func `what must keep pace gets half of the time, and three quarters beyond`() {
        chores.committed(after: .zero, hasPiece: false, at: began)
        let now = began.advanced(by: .milliseconds(800))
        #expect(chores.allowance(at: now, isBeyond: false) == .milliseconds(800))
        #expect(chores.allowance(at: now, isBeyond: true) == .milliseconds(2400))
    }

    /// One piece a turn was all, so that none was ever complete while turns took a second (J5).
    @Test mutating func `J5: however few the turns, a restart folds at most twice the aim`() throws
    {
        let directory = TemporaryDirectory()
        var story = try HistoryStory(directory)
        let journal = story.store.journal
        let ids = (1...3000).map { "p\($0)" }
        try story.turn(
            at: 0, [.start(), try HistoryStory.batches(ids, sequence: 1, captured: 0)])
        // One a turn would be beyond it.
        let aim = 3000
        try #require(Checkpoint(story.engine).sliceCount >= 5)
        chores.checkpoints = CheckpointWriter(last: nil, rowsAim: aim)
        var most = 0
        var complete: Set<Int64> = []
        for turn in 1...80 {
            let rows = [1500, 200, 2900, 10][turn % 4]
            try story.turn(at: Int64(turn))
            // A turn that took a minute to be folded.
            let now = ContinuousClock.now
            chores.committed(after: .seconds(1), hasPiece: true, at: now - .seconds(60))
            try journal.begin()
            if chores.hasRoom(at: now - .seconds(59.5), isWaitedFor: true, turnRows: rows) {
                _ = try chores.writePiece(to: journal, story.engine, turnRows: rows)
            }
            try journal.commit()
            chores.checkpoints.committed(
                rows: rows, turn: story.turn, story.engine, .now(), isWanted: false)
            most = max(most, chores.checkpoints.rows)
            chores.checkpoints.last.map { _ = complete.insert($0.turn) }
        }
        #expect(most >= aim && most <= 2 * aim, "\(most)")
        #expect(complete.count > 5)
        // Old slices go as new ones come.
        let slices = try journal.connection.integer("SELECT count(*) FROM checkpoint_slices")
        #expect(slices <= 5 * Int64(Checkpoint(story.engine).sliceCount))
    }

    /// Starts that follow each other closely would add up, and each fold more.
    @Test func `rows that a start has folded count for the next checkpoint`() throws {
        let directory = TemporaryDirectory()
        var story = try HistoryStory(directory)
        try story.turn(at: 0, [.start()])
        for (rows, isDue) in [
            (CheckpointWriter.rowsAim - 2, false), (CheckpointWriter.rowsAim, true),
        ] {
            var writer = CheckpointWriter(last: nil, rows: rows)
            writer.committed(
                rows: 1, turn: story.turn, story.engine, .now(), isWanted: false)
            #expect(writer.isWriting == isDue)
        }
    }

    private mutating func checkpoint(_ story: HistoryStory, _ journal: Journal) throws {
        try chores.checkpoints.writeWhole(turn: story.turn, story.engine, .now(), to: journal)
    }
}
