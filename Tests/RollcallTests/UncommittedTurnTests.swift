import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// A turn of which the commit failed is kept whole: what follows a commit follows this one, too, once it
/// works (J6).
@Suite struct UncommittedTurnTests {
    private let directory = TemporaryDirectory()

    /// Has the turn that takes `event` fail to commit, so that it is kept; then `whileKept`.
    ///
    /// Another turn may fail before it, with what a delivery worker has brought; what is written
    /// then is refused and never becomes a turn, so it is written again.
    private func keepTurn(
        of event: Event, _ writer: StateWriter, whileKept: () -> Void = {}
    ) throws {
        for _ in 0..<20 {
            let isKept = try withholdingCommits {
                let isKept = answer(writer, event) == .failed
                if isKept { whileKept() }
                return isKept
            }
            if isKept { return }
            #expect(isTrueSoon { writer.isTakingWrites })
        }
        Issue.record("no turn was kept")
    }

    /// Somebody who lets no one else write.
    private func withholdingCommits<Value>(_ body: () throws -> Value) throws -> Value {
        let outsider = try SQLiteConnection(path: directory.store, access: .readWrite)
        outsider.setBusyTimeout(milliseconds: 5000)
        try outsider.run("BEGIN IMMEDIATE")
        let value = try body()
        try outsider.run("ROLLBACK")
        try outsider.close()
        return value
    }

    @Test func `J6: the pages of a kept turn are sent once it is committed, and not before`() throws
    {
        let pager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 202) }
        let paging = try NotifyingStateWriter(directory, ["oncall": pager])
        // It is known to be there: what is due is begun in the turn that decides it.
        #expect(
            paging.deliveryStatus(of: paging.drill("oncall"))?.targets.map(\.outcome) == [
                .delivered
            ])
        #expect(isTrueSoon { pager.log.count == 2 })
        try keepTurn(of: .drill(receiver: Array("oncall".utf8)), paging.writer) {
            #expect(pager.log.count == 2)
        }
        #expect(isTrueSoon { pager.log.count == 4 })
        #expect(pager.log.suffix(2) == ["3 fired 3", "4 resolved 3"])
        paging.stop()
    }

    @Test func `J6: an erasure of a kept turn is begun once that is committed`() throws {
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(directory, sink, policy: Policy())
        pushing.report(["a", "b"])
        try keepTurn(of: .erase(.id(Array("a".utf8)), source: []), pushing.writer)
        #expect(
            isTrueSoon {
                erasures(pushing.writer).contains { $0.finishedAt != nil }
            })
        pushing.stop()
        let store = try StateStore(path: directory.store)
        #expect(try store.journal.erasures().map { $0.finishedAt != nil } == [true])
        try store.journal.close()
    }

    /// The edge refused them since the store failed, which is blindness of its own: as overload they
    /// would make the watch blind once more after it.
    @Test func `J6: what was refused while the store failed is no overload afterwards`() throws {
        let refused = Atomic(0)
        let writer = try StateWriter(
            path: directory.store, policy: Policy(), log: LogCapture().logger, edge: EdgeStats(),
            refusals: { refused.load(ordering: .relaxed) }, onFatal: { _ in })
        writer.start()
        #expect(isCommitted(writer, .heartbeat(source: Array("s".utf8), every: .seconds(10))))
        try keepTurn(of: .heartbeat(source: Array("s".utf8), every: .seconds(10)), writer) {
            refused.store(500, ordering: .relaxed)
        }
        #expect(isTrueSoon { writer.isTakingWrites })
        for _ in 0..<3 {
            #expect(isCommitted(writer, .heartbeat(source: Array("s".utf8), every: .seconds(10))))
        }
        // One that comes afterwards is one.
        refused.store(501, ordering: .relaxed)
        #expect(isCommitted(writer, .heartbeat(source: Array("s".utf8), every: .seconds(10))))
        let done = ReplyCounter()
        writer.stop { done.add("done") }
        #expect(isTrueSoon { !done.all.isEmpty })
        let journal = try Journal(path: directory.store)
        var counts: [[UInt8]] = []
        try journal.replayTail(afterTurn: 0) { row in
            if row.kind == EventCode.refused { counts.append(Array(row.body)) }
        } turn: { _ in
        }
        #expect(counts.count == 1, "\(counts)")
        try journal.close()
    }

    private func erasures(_ writer: StateWriter) -> [Erasure] {
        let found = Mutex<[Erasure]?>(nil)
        writer.ask { view in found.withLock { $0 = Array(view.erasures.values) } }
        _ = isTrueSoon { found.withLock { $0 != nil } }
        return found.withLock { $0 ?? [] }
    }

    private enum Answer { case committed, failed, refused, missing }

    private func answer(_ writer: StateWriter, _ event: Event) -> Answer {
        let answer = Mutex(Answer.missing)
        writer.write(event) { outcome in
            answer.withLock {
                switch outcome {
                case .committed: $0 = .committed
                case .unavailable(let reason):
                    $0 = reason.hasPrefix("the commit failed") ? .failed : .refused
                }
            }
        }
        _ = isTrueSoon { answer.withLock { $0 != .missing } }
        return answer.withLock { $0 }
    }

    private func isCommitted(_ writer: StateWriter, _ event: Event) -> Bool {
        answer(writer, event) == .committed
    }
}
