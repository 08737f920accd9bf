import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// A fleet's history as a store that `rollcall serve` opens: what a state writer would have written
/// that watched the fleet, made in virtual time.
package struct FleetStore {
    /// Lines between two looks at how far it is.
    private static let glance = 4096
    /// A fleet of so many is watched line by line, as a state writer does that has little to do; a
    /// greater one in turns of a second.
    private static let smallFleet = 500

    private let settings: FleetSettings
    private let store: StateStore
    private var engine = Engine()
    private var turn: Int64 = 0
    private var lastTurn: RunningTime
    private var checkpoints = CheckpointWriter(last: nil)
    private var checkpointDay: Int64 = 0
    private var bytesSinceTended = 0
    private var sampler = FleetSampler()
    /// The time for which a turn collects.
    private let patience: Milliseconds

    private init(_ settings: FleetSettings, path: String) throws(StoreError) {
        self.settings = settings
        store = try StateStore(path: path)
        // It is nobody's only copy yet: what is lost in a power cut is made again.
        try store.journal.connection.run("PRAGMA synchronous = OFF")
        lastTurn = RunningTime(milliseconds: settings.start.milliseconds)
        patience = settings.responders > Self.smallFleet ? .seconds(1) : Milliseconds(0)
    }

    /// Writes the history of `settings` to a new store at `path`, decided by `policy`, and its truth.
    /// - Throws: `FleetError` if a file is there, or one cannot be written.
    package static func write(
        _ settings: FleetSettings, to path: String, policy: Policy, truth: String?,
        progress: inout ProgressLine
    ) throws(FleetError) -> FleetHistory {
        guard access(path, F_OK) != 0 else { throw .exists(path: path) }
        // Under another name while it is being made: half a history is none.
        let part = path + ".part"
        for ending in ["", "-wal", "-shm", ".lock"] { unlink(part + ending) }
        defer { for ending in ["", "-wal", "-shm", ".lock"] { unlink(part + ending) } }
        var reported = try FleetTruth(path: truth)
        var history: FleetHistory
        do throws(StoreError) {
            var store = try FleetStore(settings, path: part)
            history = try store.fill(policy, &reported, &progress)
        } catch {
            throw .store(path: path, error)
        }
        try reported.finish()
        guard rename(part, path) == 0 else { throw .cannotWrite(path: path, errno: errno) }
        progress.finish()
        history.gaps = reported.count
        history.causes = reported.causes
        return history
    }

    private mutating func fill(
        _ policy: Policy, _ truth: inout FleetTruth, _ progress: inout ProgressLine
    ) throws(StoreError) -> FleetHistory {
        var stream = FleetStream(settings)
        var writer = FleetWriter(stream)
        var history = FleetHistory()
        var first = PendingTurn()
        _ = first.fold(.start(), into: &engine, at: lastTurn)
        _ = first.fold(.policy(policy), into: &engine, at: lastTurn)
        try commit(&first, at: lastTurn)
        var body: [UInt8] = []
        var line = stream.line()
        while let next = line {
            let arrival = RunningTime(milliseconds: next.at.milliseconds)
            let instant = max(try idle(until: arrival), arrival) + patience
            var pending = PendingTurn()
            while let taken = line, taken.at.milliseconds <= instant.milliseconds {
                fold(taken, &writer, &body, at: max(instant, engine.openInstant), &pending)
                history.lines += 1
                history.batches += taken.batchCount
                if history.lines % Self.glance == 0 {
                    try emit(&truth, &stream)
                    progress.update(
                        done: (taken.at - settings.start).count / FleetPlan.minute,
                        note: "\(history.lines) lines")
                }
                line = stream.line()
            }
            try commit(&pending, at: max(instant, engine.openInstant))
        }
        try emit(&truth, &stream)
        try finish()
        return history
    }

    private func emit(
        _ truth: inout FleetTruth, _ stream: inout FleetStream
    ) throws(StoreError) {
        do throws(FleetError) {
            try truth.take(from: &stream)
        } catch {
            guard case .cannotWrite(let path, let code) = error else { return }
            throw .file(call: "write", path: path, errno: code)
        }
    }

    /// Does what a state writer does while nobody writes: it acts when something falls due, and
    /// gives a sign of life every five seconds. Returns the instant that it came to.
    /// - Throws: `StoreError` if the store cannot be written.
    private mutating func idle(until arrival: RunningTime) throws(StoreError) -> RunningTime {
        while true {
            let sign = lastTurn + Engine.turnEvery
            let due = max(engine.nextInstant(), engine.openInstant, engine.clock.now + patience)
            let next = min(sign, due)
            guard next < arrival else { return engine.openInstant }
            var pending = PendingTurn()
            engine.advance(to: next)
            pending.take(from: &engine)
            if next < sign, pending.decisions.isEmpty, pending.dark.isEmpty { continue }
            try commit(&pending, at: next)
        }
    }

    private mutating func fold(
        _ line: FleetLine, _ writer: inout FleetWriter, _ body: inout [UInt8],
        at instant: RunningTime, _ pending: inout PendingTurn
    ) {
        let source = line.backend.name.map { Array("\($0)".utf8) } ?? EventSource.standard
        guard let kind = line.itemKind else {
            _ = pending.fold(
                .heartbeat(source: source, every: Milliseconds(FleetBackend.beatEvery)),
                into: &engine, at: instant)
            return
        }
        body.removeAll(keepingCapacity: true)
        writer.appendBody(line, to: &body)
        guard let scanned = try? ItemScanner.scan(body.span, kind: kind) else {
            preconditionFailure("a fleet writes what can be read")
        }
        _ = pending.fold(.items(scanned.items, source: source), into: &engine, at: instant)
    }

    /// Ends a turn as the state writer does, and cuts a checkpoint on each new day.
    /// - Throws: `StoreError` if the store cannot be written.
    private mutating func commit(
        _ pending: inout PendingTurn, at instant: RunningTime
    ) throws(StoreError) {
        engine.advance(to: instant)
        pending.take(from: &engine)
        turn += 1
        pending.close(number: turn, engine)
        pending.sample = sampler.sample(engine)
        try store.commit([pending])
        lastTurn = instant
        bytesSinceTended += pending.storedBytes + 200
        if bytesSinceTended > 4 << 20 {
            bytesSinceTended = 0
            _ = try store.journal.checkpointWAL(.passive)
        }
        let day = (instant.milliseconds - settings.start.milliseconds) / FleetPlan.day
        if day > checkpointDay {
            checkpointDay = day
            try cutCheckpoint()
        }
    }

    /// Writes the whole state at the last turn, so that a restart has little to fold again (J5).
    /// - Throws: `StoreError` if the store cannot be written.
    private mutating func cutCheckpoint() throws(StoreError) {
        let clock = ClockReading(
            elapsed: lastTurn.milliseconds, wall: engine.clock.wall(lastTurn))
        checkpoints.begin(turn: turn, engine, clock)
        while checkpoints.isWriting {
            try store.journal.begin()
            try checkpoints.write(to: store.journal, isWaitedFor: false)
            try store.journal.commit()
            checkpoints.wrote()
        }
    }

    /// Makes an orderly stop at the end of the history.
    /// - Throws: `StoreError` if the store cannot be written or closed.
    private mutating func finish() throws(StoreError) {
        let end = RunningTime(milliseconds: settings.end.milliseconds)
        let instant = max(try idle(until: end), end)
        var last = PendingTurn()
        _ = last.fold(.stop, into: &engine, at: instant)
        try commit(&last, at: instant)
        try cutCheckpoint()
        try store.journal.connection.run("PRAGMA synchronous = FULL")
        try store.journal.close()
    }
}
