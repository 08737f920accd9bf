import RollcallCore

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// A store's life on a disk whose calls are noted: turns, checkpoints of the engine and of the log,
/// erasures, days that are cut, nudges that are claimed, orderly ends and crashes. Where each
/// commit returned is noted too, so that a power cut anywhere can be evaluated.
struct PowerCutStory {
    /// A commit that returned, and how much the disk had been told by then.
    struct Mark {
        let turn: Int64
        let position: Int
    }

    /// A page that was put beside the store, and when.
    struct EpochMark {
        let page: EpochFile.Page
        let position: Int
    }

    static let began: Int64 = 1_795_230_000_000
    private static let lives = 4
    private static let turnsALife = 70
    /// Bytes after which the log is moved into the file: often, so that the log begins anew often.
    private static let logBytesMax = 60_000
    private static let day: Int64 = 86_400_000

    private(set) var calls: [DiskCall] = []
    private(set) var commits: [Mark] = []
    private(set) var epochs: [EpochMark] = []
    /// The engine as of each turn, as a checkpoint of it.
    private(set) var states: [Int64: [[UInt8]]] = [0: []]
    /// What must have happened for the story to be worth telling.
    private(set) var nudges = 0
    private(set) var checkpoints = 0
    private(set) var logsCut = 0
    private(set) var cuts = 0

    private let directory = TemporaryDirectory()
    private let isSafe: Bool
    private var dice: SeededDice
    private var opened: StateStore?
    private var engine = Engine()
    private var chores: StoreChores
    private var pushes: PushBox
    private var claims: Int64 = 0
    private var turn: Int64 = 0
    private var logBytes = 0
    private var clock: ClockReading
    private var sequence = 0
    /// In every other life nobody is erased: days are cut when there is nothing else to be done.
    private var isErasing = false
    private let vfs: String

    /// Plays one. Without `isSafe` commits are not synced (`synchronous=NORMAL`), as if somebody had
    /// taken that for good enough.
    init(seed: UInt64, isSafe: Bool = true) throws {
        self.isSafe = isSafe
        dice = SeededDice(seed: seed)
        vfs = RecordingDisk.install()
        let store = try StateStore(path: directory.store, vfs: vfs)
        RecordingDisk.noteDirectorySync()
        opened = store
        clock = ClockReading(
            elapsed: ClockReading.now().elapsed, wall: Timestamp(milliseconds: Self.began))
        chores = Self.chores(nil, [])
        pushes = PushBox(store: store.number)
        for life in 0..<Self.lives {
            if life > 0 { try openAgain() }
            isErasing = life % 2 == 0
            try live()
            // Every other life ends as a crash does: nothing is moved, nothing is closed in order.
            if life % 2 == 0 { try end() }
        }
        calls = RecordingDisk.calls
    }

    private var store: StateStore {
        guard let opened else { preconditionFailure("no store is open") }
        return opened
    }

    private static func chores(_ last: EngineCheckpoint?, _ erasures: [Erasure]) -> StoreChores {
        StoreChores(
            checkpoints: CheckpointWriter(last: last), erasures: ErasureWriter(erasures),
            retention: RetentionWriter(bytesMax: 4 << 30, log: LogCapture().logger),
            packing: PackingWriter(rowsMin: 1))
    }

    static func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    // MARK: - Lives

    private mutating func openAgain() throws {
        // Without a reference the old one is closed as a crash closes it, and gives up its lock.
        opened = nil
        opened = try StateStore(path: directory.store, vfs: vfs)
        RecordingDisk.noteDirectorySync()
        var recovered = try store.recover()
        precondition(recovered.differences == 0 && recovered.lastTurn?.number == turn)
        chores = Self.chores(recovered.checkpoint, try store.journal.erasures())
        engine = recovered.takeEngine()
        pushes = PushBox(store: store.number, messages: try store.journal.pushes())
    }

    private mutating func live() throws {
        if !isSafe { try store.journal.connection.run("PRAGMA synchronous = NORMAL") }
        for number in 0..<Self.turnsALife {
            // Nights go by, so that there are days to be cut.
            pass(number % 20 == 19 ? Self.day : 1000 + Int64(dice.roll(9000)))
            var pending = PendingTurn()
            let now = RunningTime(
                milliseconds: max(
                    clock.wall.milliseconds, engine.openInstant.milliseconds))
            if number == 0 { begin(&pending, now) }
            for end in pushes.settle(now: now, wall: engine.clock.wall(now)) {
                _ = pending.fold(.pushed(end), into: &engine, at: now)
            }
            for event in try events(now) { _ = pending.fold(event, into: &engine, at: now) }
            engine.advance(to: now)
            pending.take(from: &engine)
            let sendings = evaluate(&pending, now)
            try commit(&pending)
            try send(sendings, now)
        }
    }

    private mutating func pass(_ milliseconds: Int64) {
        clock.elapsed += milliseconds
        clock.wall = clock.wall + Milliseconds(milliseconds)
    }

    private mutating func begin(_ pending: inout PendingTurn, _ now: RunningTime) {
        _ = pending.fold(.start(), into: &engine, at: now)
        guard turn == 0 else { return }
        var policy = PushingStateWriter.policy(.webhook)
        policy.retention = Milliseconds(2 * Self.day)
        _ = pending.fold(.policy(policy), into: &engine, at: now)
    }

    private mutating func end() throws {
        try chores.checkpoints.writeWhole(turn: turn, engine, clock, to: store.journal)
        try store.journal.close()
    }

    // MARK: - Turns

    private mutating func events(_ now: RunningTime) throws -> [Event] {
        sequence += 1
        let person = "r-\(dice.roll(7))"
        let captured = clock.wall.milliseconds - 5000
        let circle = "circle-" + String(repeating: "x", count: dice.roll(100))
        let batch = """
            {"responder_id":"\(person)","region":"north","circles":["\(circle)"],
            "updates":[{"sequence":\(sequence),"captured_at":\(captured)}]}
            """
        switch dice.roll(12) {
        case 0:
            // Many pages in one commit.
            let many = (0..<60).map { "{\"responder_id\":\"m-\($0)\",\"region\":\"\(circle)\"}" }
            return [try items("[\(many.joined(separator: ","))]"), try items(batch)]
        case 1: return [.heartbeat(source: Array("backend".utf8), every: Milliseconds(60_000))]
        case 2: return [.refused(count: 3)]
        case 3 where isErasing && engine.roster.count > 20:
            return [.erase(.id(Array("m-\(dice.roll(60))".utf8)), source: [])]
        case 4: return [.drill(receiver: Array("oncall".utf8))]
        case 5: return []
        default: return [try items(batch)]
        }
    }

    private func items(_ body: String) throws -> Event {
        .items(
            try ItemScanner.scan(Array(body.utf8).span, kind: .batch).items,
            source: Array("default".utf8))
    }

    private mutating func evaluate(_ pending: inout PendingTurn, _ now: RunningTime)
        -> [PushSending]
    {
        let rules = engine.policy.nudges
        pushes.follow(rules.sink)
        for decision in pending.decisions {
            guard let nudge = PushMessage(nudge: decision.decision, rules, now: now) else {
                continue
            }
            nudges += 1
            pushes.decide(nudge)
        }
        let sendings = pushes.begin(now: now) { [roster = engine.roster] in
            roster[$0.person].isActive
        }
        let begun = sendings.reduce(0) { $0 + $1.claims }
        if begun > 0 {
            claims += Int64(begun)
            pending.pushClaims = claims
        }
        pending.pushes = pushes.takeChanges()
        return sendings
    }

    private mutating func commit(_ pending: inout PendingTurn) throws {
        turn += 1
        pending.close(number: turn, engine)
        states[turn] = Self.state(engine)
        var bytes = 0
        let journal = store.journal
        let before = chores.checkpoints.last?.turn
        let engine = engine
        var working = chores
        try store.commit([pending]) { () throws(StoreError) in
            bytes = try working.writePiece(to: journal, engine).bytes
        }
        commits.append(Mark(turn: turn, position: RecordingDisk.position))
        chores = working
        _ = try chores.committed(
            pending, store.journal, engine, age: engine.policy.retention, clock)
        if chores.checkpoints.last?.turn != before { checkpoints += 1 }
        if chores.hasCut { cuts += 1 }
        chores.hasCut = false
        logBytes += pending.storedBytes + bytes
        try tendLog()
    }

    /// As the state writer does between turns.
    private mutating func tendLog() throws {
        if chores.erasures.wantsLogCut {
            guard try !store.journal.checkpointWAL(.truncate).isBusy else { return }
            chores.erasures.logWasCut(at: clock.wall)
            logsCut += 1
        } else if logBytes > Self.logBytesMax {
            logBytes = 0
            _ = try store.journal.checkpointWAL(.passive)
        }
    }

    /// What is claimed stands beside the store before it is sent; what came of it is taken next.
    private mutating func send(_ sendings: [PushSending], _ now: RunningTime) throws {
        guard !sendings.isEmpty else { return }
        let reading = EpochFile.Reading(wall: clock.wall, elapsed: clock.elapsed, boot: "b-1")
        let page = EpochFile.Page(store: store.number, claims: claims, reading: reading)
        try EpochFile(storePath: directory.store).write(page)
        epochs.append(EpochMark(page: page, position: RecordingDisk.position))
        for sending in sendings {
            let verdicts: [PushVerdict] = [.delivered, .unknown, .refused(retryAfter: nil)]
            pushes.end(
                sending.queue,
                sending.messages.map { PushAttempt($0.number, verdicts[dice.roll(3)]) }, now: now)
        }
    }
}
