import Glibc
import Logging
import RollcallCore
import RollcallSupport
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// A turn in which a mass falls silent, written while it is decided.
struct MassStory {
    static let began: Int64 = 1_795_230_000_000
    static let people = 300

    func at(_ seconds: Int64) -> RunningTime {
        RunningTime(milliseconds: Self.began + seconds * 1000)
    }

    /// A batch of each of so many people, in three regions.
    func batches(of count: Int) throws -> Event {
        let items = (0..<count).map { number in
            #"{"responder_id":"r-\#(number)","region":"g-\#(number % 3)"}"#
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        return .items(
            try ItemScanner.scan(body.span, kind: .batch).items, source: EventSource.standard)
    }

    /// A store with a turn in which everybody reported.
    func begin(
        _ path: String, _ engine: inout Engine, vfs: String? = nil
    ) throws -> StateStore {
        let store = try StateStore(path: path, vfs: vfs)
        var pending = PendingTurn()
        _ = pending.fold(.start(), into: &engine, at: at(0))
        _ = pending.fold(try batches(of: Self.people), into: &engine, at: at(0))
        engine.advance(to: at(0))
        pending.take(from: &engine)
        pending.close(number: 1, engine)
        try store.commit([pending])
        return store
    }

    /// Decides that all are OFFLINE, and writes it meanwhile, by so many decisions at once.
    func decide(
        _ store: StateStore, _ engine: inout Engine, from count: Int
    ) -> (PendingTurn, DecisionWriter?) {
        engine.massFrom = count
        var pending = PendingTurn()
        var writer: DecisionWriter?
        engine.advance(to: at(300)) { engine, _ in
            let decisions = engine.takeDecisions()
            pending.append(decisions)
            let used = writer ?? store.decisionWriter(turn: 2)
            used.write(decisions)
            writer = used
        }
        pending.take(from: &engine)
        pending.close(number: 2, engine)
        return (pending, writer)
    }

    /// All that a store holds of decisions and gaps, in words.
    func rows(_ path: String) throws -> [String] {
        let connection = try SQLiteConnection(path: path, access: .readOnly)
        let select = try Statement(connection, "\(select: .decisions) ORDER BY id")
        let decisions = try select.all { row in
            let decision = DecisionRow(row)
            let numbers = [
                decision.id, decision.turn, Int64(decision.kind), decision.responder,
                decision.previous, decision.atMilliseconds,
            ]
            return "\(numbers) \(Array(decision.body)) \(decision.fits(row.checksum))"
        }
        let gaps = try Statement(connection, "\(select: .gaps) ORDER BY number").all { row in
            "\(row[.number] as Int64) \(row[.responder] as Int64) \(row[.openedMs] as Int64) "
                + "\(row[.turn] as Int64) \(Array(row.bytes(.body))) \(row.fits(.gaps))"
        }
        return decisions + gaps
    }
}

/// What a turn decides of a mass is written while the rest of it is being decided, and comes to the same.
/// Source: J3, J14.
@Suite struct DecisionWriterTests {
    private let story = MassStory()

    @Test func `J14: what was written meanwhile is what the turn would have written`() throws {
        var plain = Engine()
        let one = TemporaryDirectory()
        let first = try story.begin(one.store, &plain)
        let (whole, none) = story.decide(first, &plain, from: .max)
        #expect(none == nil)
        try first.commit([whole])
        try first.journal.close()
        let wanted = try story.rows(one.store)
        #expect(wanted.count > 4 * MassStory.people)
        // The last number is more than the batches that may be on their way.
        for count in [1000, 64, 1] {
            var engine = Engine()
            let directory = TemporaryDirectory()
            let store = try story.begin(directory.store, &engine)
            let (pending, writer) = story.decide(store, &engine, from: count)
            #expect(pending.decisions == whole.decisions)
            #expect(writer != nil)
            try store.commit(pending, begunBy: writer) {}
            try store.journal.close()
            let found = try story.rows(directory.store)
            let isSame = found == wanted
            #expect(isSame)
            let again = try StateStore(path: directory.store)
            let recovered = try again.recover()
            #expect(recovered.differences == 0 && recovered.lastTurn?.number == 2)
            try again.journal.close()
        }
    }

    @Test func `J14: a turn that is given up in its midst leaves the store at the one before`()
        throws
    {
        var engine = Engine()
        let directory = TemporaryDirectory()
        let store = try story.begin(directory.store, &engine)
        let before = try story.rows(directory.store)
        let (pending, writer) = story.decide(store, &engine, from: 16)
        #expect(throws: StoreError.self) {
            try store.commit(pending, begunBy: writer) { () throws(StoreError) in
                throw .damaged("given up")
            }
        }
        let after = try story.rows(directory.store)
        #expect(after == before)
        #expect(try store.journal.lastTurn()?.number == 1)
        try store.journal.close()
    }

    /// 5000 people are 10 000 decisions, more than a mass needs.
    @Test func `J14: a state writer decides a mass as an engine does that nobody relieves`() throws
    {
        let directory = TemporaryDirectory()
        var policy = Policy()
        policy.onDuty.expected = Milliseconds(200)
        policy.onDuty.degradedAfter = Milliseconds(700)
        policy.onDuty.offlineAfter = Milliseconds(1400)
        let writer = try StateWriter(
            path: directory.store, policy: policy,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            edge: EdgeStats(),
            refusals: { 0 }, onFatal: { _ in })
        writer.start()
        let outcomes = Mailbox<WriteOutcome>()
        writer.write(try story.batches(of: 5000)) { outcomes.put($0) }
        guard case .committed? = outcomes.takeAll(waiting: 10_000).first else {
            Issue.record("the batch was not taken")
            return
        }
        #expect(
            isTrueSoon {
                let offline = writer.answer(within: 5000) { $0.engine.aggregates.byStatus[3] }
                return offline == 5000
            })
        let stopped = Mailbox<Bool>()
        writer.stop { stopped.put(true) }
        #expect(stopped.takeAll(waiting: 10_000) == [true])
        // From the beginning: no checkpoint may hide what was decided.
        let store = try StateStore(path: directory.store)
        try store.write { () throws(StoreError) in
            for checkpoint in try store.journal.checkpoints(beforeTurn: .max) {
                try store.journal.dropCheckpoint(turn: checkpoint.turn)
            }
        }
        let recovered = try store.recover()
        #expect(recovered.checkpoint == nil && recovered.differences == 0)
        #expect(try store.journal.decisionsAfter(turn: 0).count >= 20_000)
        try store.journal.close()
    }
}

/// Faults of the disk are global: one after the other with all others.
extension JournalFaultTests {
    @Test func `whichever write finds no room, a mass is refused whole and taken later`() throws {
        let story = MassStory()
        var isRefused = false
        for room in sequence(first: 0, next: { $0 < 4 ? $0 + 1 : $0 * 2 }) {
            var engine = Engine()
            let directory = TemporaryDirectory()
            let store = try story.begin(directory.store, &engine, vfs: FaultyDisk.install())
            // A page cache of some pages: most is written before the commit.
            try store.journal.connection.run("PRAGMA cache_size = 4")
            FaultyDisk.writesLeft = room
            defer { FaultyDisk.writesLeft = .max }
            let (pending, writer) = story.decide(store, &engine, from: 16)
            do {
                try store.commit(pending, begunBy: writer) {}
                break
            } catch {
                FaultyDisk.writesLeft = .max
                isRefused = true
                #expect(error.disposition == .recoverable(.full))
                #expect(try store.journal.lastTurn()?.number == 1)
                #expect(try store.journal.decisionsAfter(turn: 1) == [])
                try store.commit([pending])
                try store.journal.close()
                let again = try StateStore(path: directory.store)
                #expect(try again.recover().differences == 0)
                #expect(try again.journal.decisionsAfter(turn: 1).count > 2 * MassStory.people)
                try again.journal.close()
            }
        }
        #expect(isRefused)
    }
}
