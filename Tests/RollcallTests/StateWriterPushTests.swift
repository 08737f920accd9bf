import Glibc
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport
@testable import RollcallTools

/// What the state writer does with what is on its way to phones (N2, N6, N7, N9).
@Suite struct StateWriterPushTests {
    private let directory = TemporaryDirectory()

    @Test func `a nudge is sent once, and a restart sends it not again`() throws {
        let sink = ScriptedSink()
        var pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        pushing.report(["a"], ",\"platform\":\"ios\"")
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 1 })
        #expect(sink.log == ["nudge a"])
        let payload = try #require(sink.payloads.first)
        #expect(payload.number == 1 && payload.token == nil && !payload.isSilent)
        #expect(payload.timeToLive <= .seconds(3600) && payload.timeToLive > .seconds(3500))
        #expect(payload.facts.stale >= Milliseconds(1) && payload.facts.platform == .ios)
        #expect(pushing.view?.pending == 0)
        pushing.stop()
        pushing = try PushingStateWriter(directory, sink)
        // Contact, but no newer location: the throttle holds.
        pushing.report(["a", "z"], isLocated: false)
        pushing.report(["a"], sequence: 2, ago: 9000)
        pushing.stop()
        #expect(sink.log == ["nudge a"])
        // Nobody is named in the log.
        #expect(pushing.log.lines.allSatisfy { !$0.contains("nudge_") && !$0.contains("=a") })
    }

    @Test func `a dry run sends nothing`() throws {
        let sink = ScriptedSink()
        var policy = PushingStateWriter.policy(.webhook)
        policy.nudges.mode = .dryRun
        let pushing = try PushingStateWriter(directory, sink, policy: policy)
        pushing.report(["a", "b"])
        // Who was located just now is too old a millisecond later; in a circle of their own one of
        // them would have no company.
        #expect(isTrueSoon { pushing.view?.engine.counters.nudges.dryRuns == 2 })
        pushing.tell("[{\"responder_id\":\"a\",\"circles\":[\"alpha\"]}]")
        _ = pushing.write(.wake(.circle(Array("alpha".utf8), viewer: []), source: []))
        #expect(pushing.view?.engine.counters.nudges.dryRuns == 2)
        #expect(pushing.view?.pending == 0)
        pushing.stop()
        #expect(sink.log == [])
        #expect(directory.names.contains("rollcall.db.epoch"))
    }

    @Test func `whoever is located meanwhile, or pauses, is not asked any more`() throws {
        let sink = ScriptedSink { _ in .refused(retryAfter: Milliseconds(100)) }
        let pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        pushing.report(["a", "b"])
        #expect(isTrueSoon { sink.log.count >= 2 })
        pushing.report(["a"], sequence: 2, ago: 0)
        pushing.tell("[{\"responder_id\":\"b\",\"sharing\":\"paused\"}]")
        #expect(isTrueSoon { pushing.ended(.nudge, .dropped) == 2 })
        #expect(pushing.view?.pending == 0)
        pushing.stop()
    }

    @Test func `a reload retries soon what the sink refused, and nothing that may have gone out`()
        throws
    {
        let takes = Mutex(false)
        let sink = ScriptedSink(times: .slow) { payload in
            if payload.responderID == Array("b".utf8) { return .unknown }
            return takes.withLock { $0 } ? .delivered : .refused(retryAfter: nil)
        }
        var policy = PushingStateWriter.policy(.webhook)
        policy.nudges.timeToLive = .seconds(86_400)
        let pushing = try PushingStateWriter(directory, sink, policy: policy)
        pushing.report(["z"], isLocated: false)
        pushing.report(["a"])
        #expect(isTrueSoon { pushing.log.lines.contains { $0.contains("pushes not taken") } })
        takes.withLock { $0 = true }
        #expect(sink.log == ["nudge a"])
        var endpoints = EndpointChanges()
        endpoints.sink = .secret
        pushing.writer.retrySoon(endpoints) {}
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 1 })
        pushing.report(["b"])
        #expect(isTrueSoon { pushing.ended(.nudge, .unknown) == 1 })
        pushing.writer.retrySoon(endpoints) {}
        pushing.stop()
        #expect(sink.log == ["nudge a", "nudge a", "nudge b"])
    }

    @Test func `an erased person is sent nothing, and their rows go`() throws {
        let sink = ScriptedSink { _ in .refused(retryAfter: Milliseconds(100)) }
        let pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        pushing.report(["a"])
        #expect(isTrueSoon { !sink.log.isEmpty })
        _ = pushing.write(.erase(.id(Array("a".utf8)), source: []))
        #expect(isTrueSoon { pushing.ended(.nudge, .dropped) == 1 })
        let isErased = isTrueSoon {
            let done = Mutex(false)
            pushing.writer.ask { view in
                done.withLock { $0 = view.erasures.values.allSatisfy { $0.finishedAt != nil } }
            }
            usleep(5000)
            return done.withLock { $0 }
        }
        #expect(isErased)
        pushing.stop()
        let store = try StateStore(path: directory.store)
        #expect(try store.journal.connection.integer("SELECT count(*) FROM pushes") == 0)
        try store.journal.close()
    }

    @Test func `a wake goes its way, and is worth a minute`() throws {
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(directory, sink, policy: patient)
        pushing.report(["a", "b"], ago: 120_000)
        pushing.tell(
            """
            [{"responder_id":"a","circles":["alpha"],"nudge_sound":"silent"},
            {"responder_id":"b","circles":["alpha"]}]
            """)
        let viewer = Array("b".utf8)
        let receipt = pushing.write(.wake(.circle(Array("alpha".utf8), viewer: viewer), source: []))
        #expect(receipt?.wakes.map(\.reason) == [nil])
        #expect(isTrueSoon { pushing.ended(.wake, .delivered) == 1 })
        let payload = try #require(sink.payloads.first)
        #expect(sink.log == ["wake a"])
        #expect(payload.timeToLive <= .seconds(60) && payload.isSilent)
        #expect(payload.circles == [Array("alpha".utf8)])
        pushing.stop()
    }

    @Test func `expo's receipts say what became of it, and a dead token is not used again`() throws
    {
        let sink = ScriptedSink(.expo, deadTickets: ["t-1"]) {
            .ticketed(Array("t-\($0.number)".utf8))
        }
        let pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        pushing.tell(
            """
            [{"responder_id":"a","push_token":"ExponentPushToken[a]"},
            {"responder_id":"b","push_token":"ExponentPushToken[b]"}]
            """)
        pushing.report(["a", "b"])
        #expect(isTrueSoon { pushing.ended(.nudge, .unregistered) == 1 })
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 1 })
        #expect(Set(sink.questions.flatMap { $0 }) == ["t-1", "t-2"])
        #expect(sink.payloads.compactMap(\.token).count == 2)
        #expect(pushing.view?.engine.pushToken(1) == nil)
        #expect(pushing.view?.engine.pushToken(2) != nil)
        pushing.stop()
        #expect(pushing.log.lines.allSatisfy { !$0.contains("Exponent") })
        let store = try StateStore(path: directory.store)
        let tokens = try store.journal.connection.integer(
            "SELECT count(*) FROM pushes WHERE ticket != x'' OR token = 0")
        #expect(tokens == 0)
        try store.journal.close()
    }

    @Test func `what waited for its commit for longer than it is worth is not sent`() throws {
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(directory, sink, policy: patient)
        pushing.report(["a", "z"])
        let outsider = try SQLiteConnection(path: directory.store, access: .readWrite)
        try outsider.run("BEGIN IMMEDIATE")
        var policy = PushingStateWriter.policy(.webhook)
        policy.nudges.timeToLive = Milliseconds(300)
        // Decided and claimed in one turn, which cannot be committed.
        #expect(pushing.write(.policy(policy)) == nil)
        usleep(600_000)
        try outsider.run("ROLLBACK")
        try outsider.close()
        #expect(isTrueSoon { pushing.ended(.nudge, .expired) == 2 })
        #expect(sink.log == [])
        pushing.stop()
    }

    /// Nobody's location is old under it.
    private var patient: Policy {
        var policy = PushingStateWriter.policy(.webhook)
        policy.nudges.staleAfter.standard = .seconds(14_400)
        return policy
    }

    @Test func `what waited for its commit for a while only is sent`() throws {
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(directory, sink, policy: patient)
        pushing.report(["a", "z"])
        let outsider = try SQLiteConnection(path: directory.store, access: .readWrite)
        try outsider.run("BEGIN IMMEDIATE")
        #expect(pushing.write(.policy(PushingStateWriter.policy(.webhook))) == nil)
        #expect(sink.log == [])
        try outsider.run("ROLLBACK")
        try outsider.close()
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 2 })
        #expect(sink.log.sorted() == ["nudge a", "nudge z"])
        pushing.stop()
    }

    // MARK: - The epoch

    @Test func `while the epoch file cannot be written nothing is sent`() throws {
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        mkdir(directory.store + ".epoch.new", 0o700)
        pushing.report(["a"])
        #expect(isTrueSoon { pushing.log.lines.contains { $0.hasPrefix("error the epoch file") } })
        usleep(100_000)
        #expect(sink.log == [])
        #expect(pushing.log.lines.count { $0.hasPrefix("error the epoch file") } == 1)
        rmdir(directory.store + ".epoch.new")
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 1 })
        #expect(sink.log == ["nudge a"])
        pushing.stop()
    }

    /// A store of which a copy was made before anybody was nudged, and its epoch file of after.
    private func restored(isFileKept: Bool = true) throws -> TemporaryDirectory {
        let sink = ScriptedSink()
        let copy = TemporaryDirectory()
        var pushing = try PushingStateWriter(directory, sink)
        pushing.report(["z"], isLocated: false)
        pushing.stop()
        directory.copy("rollcall.db", to: copy)
        pushing = try PushingStateWriter(directory, sink)
        pushing.report(["a"])
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 1 })
        pushing.stop()
        if isFileKept {
            directory.copy("rollcall.db.epoch", to: copy)
        } else {
            directory.copy("rollcall.db", to: copy)
        }
        return copy
    }

    private static let frozen = "warning the store may be older than what was sent"

    @Test func `in a store that was restored nobody is nudged for an interval`() throws {
        let copy = try restored()
        let sink = ScriptedSink()
        var pushing = try PushingStateWriter(copy, sink)
        pushing.report(["a"])
        let now = ClockReading.now().wall
        let until = try #require(pushing.view?.engine.nudges.frozenUntil)
        #expect((until - now).count > 6 * 3_600_000 - 60_000)
        #expect(pushing.log.lines.contains { $0.hasPrefix(Self.frozen) && $0.contains(" until=") })
        pushing.stop()
        // It is said once, and holds on.
        pushing = try PushingStateWriter(copy, sink)
        #expect(pushing.view?.engine.nudges.frozenUntil == until)
        #expect(!pushing.log.lines.contains { $0.hasPrefix(Self.frozen) })
        pushing.stop()
        #expect(sink.log == [])
        // The newer one knows less than its copy by now.
        copy.copy("rollcall.db.epoch", to: directory)
        pushing = try PushingStateWriter(directory, sink)
        #expect(pushing.log.lines.contains { $0.hasPrefix(Self.frozen) })
        pushing.stop()
    }

    @Test func `a store without its epoch file may be a copy`() throws {
        let copy = try restored(isFileKept: false)
        let sink = ScriptedSink()
        let pushing = try PushingStateWriter(copy, sink)
        #expect(pushing.log.lines.contains { $0.hasPrefix(Self.frozen) })
        pushing.stop()
    }

    @Test func `N2: a backup knows that it is one, once, unless an epoch file knows better`() throws
    {
        try StoreWithoutPushes.make(directory)
        let copy = directory.path + "/copy.db"
        _ = try StoreBackup(storePath: directory.store, to: copy).run()
        for (hasEpoch, isRestored) in [(false, true), (true, false)] {
            let place = TemporaryDirectory()
            place.write("rollcall.db", directory.bytes("copy.db"))
            if hasEpoch { directory.copy("rollcall.db.epoch", to: place) }
            let log = LogCapture()
            for start in 0..<2 {
                let writer = try StateWriter(
                    path: place.store, policy: Policy(), log: log.logger, edge: EdgeStats(),
                    refusals: { 0 }, onFatal: { _ in })
                let isFrozen = writer.engine.nudges.frozenUntil > writer.engine.clock.wallNow
                #expect(isFrozen == isRestored, "epoch \(hasEpoch), start \(start)")
                #expect(try writer.store.journal.copiedAt() == nil)
                #expect(writer.loss == nil)
                writer.close()
            }
            let told = log.lines.filter { $0.contains("may be older than what was sent") }
            #expect(told.count == (isRestored ? 1 : 0), "\(told)")
        }
        // Where it came from knows nothing of it.
        let original = try StateStore(path: directory.store)
        #expect(try original.journal.copiedAt() == nil)
        try original.journal.close()
    }

    /// What an orderly stop leaves of a store from which nobody was ever nudged.
    private enum StoreWithoutPushes {
        static func make(_ directory: TemporaryDirectory) throws {
            let writer = try StateWriter(
                path: directory.store, policy: Policy(), log: LogCapture().logger,
                edge: EdgeStats(), refusals: { 0 }, onFatal: { _ in })
            writer.close()
        }
    }

    @Test func `a wall that was put forward while we were down lets nobody be nudged early`() throws
    {
        let sink = ScriptedSink()
        var pushing = try PushingStateWriter(directory, sink)
        pushing.report(["a", "z"])
        #expect(isTrueSoon { pushing.ended(.nudge, .delivered) == 2 })
        let before = try #require(pushing.view?.engine.clock.now)
        pushing.stop()
        // As if the store and its file had been left 8 h of wall, and no other time, ago.
        let away: Int64 = 8 * 3_600_000
        let store = try StateStore(path: directory.store)
        var engine = try store.recover().engine
        let turn = try #require(try store.journal.lastTurn())
        var pending = PendingTurn()
        let back = Event.clock(step: Milliseconds(-away))
        _ = pending.fold(back, into: &engine, at: engine.openInstant)
        engine.advance(to: engine.clock.now)
        pending.take(from: &engine)
        pending.close(number: turn.number + 1, engine)
        try store.commit([pending])
        try store.journal.close()
        let file = EpochFile(storePath: directory.store)
        var page = try #require(file.page())
        page.reading.wall = page.reading.wall - Milliseconds(away)
        try file.write(page)
        pushing = try PushingStateWriter(directory, sink)
        let view = try #require(pushing.view)
        #expect((view.engine.clock.now - before).count < 60_000)
        #expect((view.engine.clock.wallNow - ClockReading.now().wall).count < 60_000)
        let frozen = view.engine.nudges.frozenUntil - ClockReading.now().wall
        #expect(frozen.count > 6 * 3_600_000 - 60_000)
        let words = "warning the wall clock was put forward"
        #expect(pushing.log.lines.contains { $0.hasPrefix(words) })
        pushing.report(["a", "z"], sequence: 2)
        pushing.stop()
        #expect(sink.log.count == 2)
    }
}
