import Glibc
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallTools

/// A story through the real journal, with crashes at any turn: what comes back is what was
/// committed, and what is pushed to phones is pushed once. Source: J2, J3, §7 N7.
struct StoreTrial {
    private let path: String
    private var store: StateStore
    private var engine: Engine
    /// The engine as of the last committed turn.
    private var committed: Engine
    private var turn: Int64 = 0
    private var dice: Dice
    /// True to write decisions while others are being made, each person's alone.
    private let isWritten: Bool
    private var pushes: PushBox
    private var gateway = PushGateway()
    private var reader = EventReader()
    /// Walls at which checkpoints were cut.
    private var cuts: [Timestamp] = []

    /// Runs `story` in a store of its own below `folder`. Errors: the first restart that came back
    /// to something else, or a store that failed.
    static func run(_ story: Story, folder: String) throws(Failure) {
        let path = "\(folder)/\(story.seed).db"
        // A campaign that was killed may have left one.
        remove(path)
        defer { remove(path) }
        var place = 0
        do throws(StoreError) {
            var trial = try StoreTrial(story, path: path)
            let instants = story.instants
            while place < story.lines.count {
                let first = place
                while place < story.lines.count, instants[place] == instants[first] { place += 1 }
                let now = RunningTime(milliseconds: instants[first])
                // Now and then what comes at one instant is two turns.
                let middle = trial.dice.chance(200) ? (first + place) / 2 : first
                for part in [first..<middle, middle..<place] where !part.isEmpty {
                    if let detail = try trial.play(story.lines[part], at: now) {
                        throw .damaged(detail)
                    }
                }
            }
            try trial.store.journal.close()
            if let detail = trial.verify() { throw .damaged(detail) }
        } catch {
            throw Failure(line: place, check: "J3, INV-01, INV-14", detail: "\(error)")
        }
    }

    private static func remove(_ path: String) {
        for end in ["", "-wal", "-shm", ".lock"] { unlink(path + end) }
    }

    private init(_ story: Story, path: String) throws(StoreError) {
        self.path = path
        store = try StateStore(path: path)
        engine = Engine(policy: Policy(story.policy))
        committed = engine
        dice = Dice(seed: story.seed ^ 0x570_2E)
        isWritten = dice.chance(500)
        engine.massFrom = isWritten ? 1 : engine.massFrom
        pushes = PushBox(store: store.number)
        reader = EventReader(seed: story.seed)
        // As the state writer does in a new store: settings are an event too.
        var pending = PendingTurn()
        let now = RunningTime(milliseconds: (story.instants.first ?? 1) - 1)
        _ = pending.fold(.start(), into: &engine, at: now)
        _ = pending.fold(.policy(engine.policy), into: &engine, at: now)
        _ = try commit(&pending, now)
    }

    /// Folds one instant's lines, commits or crashes before, now and then cuts a checkpoint.
    private mutating func play(
        _ lines: ArraySlice<StoryLine>, at instant: RunningTime
    ) throws(StoreError) -> String? {
        var pending = PendingTurn()
        let now = max(instant, engine.openInstant)
        // The first thing that a journal says behind a stop is the start.
        let starts = lines.prefix { if case .start = $0.event { true } else { false } }
        for line in starts { _ = pending.fold(Event(line), into: &engine, at: now) }
        for answer in gateway.takeAnswers() {
            pushes.end(answer.queue, answer.attempts, now: now)
        }
        for end in pushes.settle(now: now, wall: engine.clock.wall(now)) {
            _ = pending.fold(.pushed(end), into: &engine, at: now)
        }
        if let mark = reader.drawMark() {
            _ = pending.fold(.subscription(mark), into: &engine, at: now)
        }
        for line in lines.dropFirst(starts.count) {
            _ = pending.fold(Event(line), into: &engine, at: now)
        }
        // Whoever is killed before its start is kept starts again; a story says that once.
        if starts.isEmpty, dice.chance(15) { return try restart() }
        guard let sendings = try commit(&pending, now, mayFail: starts.isEmpty) else {
            return try restart()
        }
        if let fault = reader.commit(pending.decisions, engine.subscriptions) { return fault }
        if !sendings.isEmpty {
            // Killed with everything claimed and nothing sent.
            if dice.chance(250) { return try restart() }
            for sending in sendings {
                if let fault = gateway.take(sending, &dice) { return fault }
            }
            // Killed before any answer is stored.
            if dice.chance(250) { return try restart() }
        }
        if dice.chance(30) { try checkpoint() }
        // Behind a clean stop nothing is left that could still hear an answer.
        if case .stop = lines.last?.event { return try restart() }
        return dice.chance(30) ? try restart() : nil
    }

    /// Returns nil if it was killed while decisions were written: nothing of the turn is there then.
    private mutating func commit(
        _ pending: inout PendingTurn, _ now: RunningTime, mayFail: Bool = false
    ) throws(StoreError) -> [PushSending]? {
        var writer: DecisionWriter?
        let (store, isWritten, number) = (store, isWritten, turn + 1)
        engine.advance(to: now) { engine, _ in
            let decisions = engine.takeDecisions()
            pending.append(decisions)
            guard isWritten else { return }
            let used = writer ?? store.decisionWriter(turn: number)
            used.write(decisions)
            writer = used
        }
        pending.take(from: &engine)
        let sendings = evaluatePushes(&pending, now)
        pending.close(number: number, engine)
        if mayFail, let writer, dice.chance(30) {
            do throws(StoreError) {
                try store.commit(pending, begunBy: writer) { () throws(StoreError) in
                    throw .damaged("killed")
                }
            } catch .damaged("killed") {
                return nil
            }
        }
        turn += 1
        try store.commit(pending, begunBy: writer) {}
        committed = engine
        gateway.commit(pending.decisions)
        return sendings
    }

    /// As the state writer does: what was decided is put into the box, and what is due is claimed.
    private mutating func evaluatePushes(
        _ pending: inout PendingTurn, _ now: RunningTime
    ) -> [PushSending] {
        let rules = engine.policy.nudges
        pushes.follow(rules.sink)
        for decision in pending.decisions {
            guard let nudge = PushMessage(nudge: decision.decision, rules, now: now) else {
                continue
            }
            pushes.decide(nudge)
        }
        let sendings = pushes.begin(now: now) { [roster = engine.roster] in
            roster[$0.person].isActive
        }
        pending.pushes = pushes.takeChanges()
        return sendings
    }

    private mutating func checkpoint() throws(StoreError) {
        let cut = Checkpoint(engine)
        try store.journal.begin()
        try store.journal.beginCheckpoint(
            turn: turn, engineVersion: Engine.version,
            wallMilliseconds: engine.clock.wallNow.milliseconds)
        cuts.append(engine.clock.wallNow)
        for index in 0..<cut.sliceCount {
            let slice = cut.slice(index)
            var failure: StoreError?
            slice.withUnsafeBytes { bytes in
                do throws(StoreError) {
                    try store.journal.appendSlice(turn: turn, index: Int64(index), body: bytes)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
        try store.journal.completeCheckpoint(turn: turn, slices: Int64(cut.sliceCount))
        try store.journal.commit()
    }

    /// Comes back from the store; what differs, in words.
    private mutating func restart() throws(StoreError) -> String? {
        try store.journal.close()
        store = try StateStore(path: path)
        let recovered = try store.recover()
        if recovered.differences > 0 { return "\(recovered.differences) decisions differ" }
        if recovered.lastTurn?.number != turn { return "another turn is the last" }
        if state(recovered.engine) != state(committed) { return "another state came back" }
        engine = recovered.engine
        engine.massFrom = committed.massFrom
        if let fault = reader.restart(engine.subscriptions) { return fault }
        gateway.forgetAnswers()
        pushes = PushBox(store: store.number, messages: try store.journal.pushes())
        pushes.follow(engine.policy.nudges.sink)
        return nil
    }

    /// What an export decides in a replay is what the store says, from the beginning as from
    /// checkpoints (V7); what differs, in words.
    private func verify() -> String? {
        for since in [nil] + cuts.suffix(2).map({ Optional($0) }) {
            do throws(InputFileError) {
                let file = VerifyFile(path: path, since: since, mindsErasures: false)
                let (report, isSame) = try file.run()
                let begin = since.map { RFC3339.string($0) } ?? "ever"
                if !isSame { return "export since \(begin): \(report)" }
            } catch {
                return "export: \(error)"
            }
        }
        return nil
    }

    private func state(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }
}
