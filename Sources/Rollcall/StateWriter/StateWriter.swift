import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// The outcome of a write.
package enum WriteOutcome: Sendable {
    /// It is committed; what the engine made of it.
    case committed(Receipt)
    /// It is not known to be committed: to be sent again.
    case unavailable(String)
}

/// Everything the state writer may be told.
enum StateWriterMessage: Sendable {
    case write(
        Event, once: RequestKey?, by: ActionReport?, asksStandings: Bool,
        reply: @Sendable (WriteOutcome) -> Void)
    case question(@Sendable (StateView) -> Void)
    /// A report says what came of something that was sent in a reign; 0 on one machine.
    case report(DeliveryReport, reign: Int64)
    case pushReport(PushReport, reign: Int64)
    case endpoints(EndpointChanges, reply: @Sendable () -> Void)
    case noticeWait(NoticeWait)
    case positionWait(PositionWait)
    /// News of the member with that number; nil of whichever there is.
    case member(MemberNews, seat: Int?)
    case summary(Summary)
    case summaryWait(SummaryWait)
    case stop(@Sendable () -> Void)
}

/// The one loop: takes what waits, folds it, commits, answers. Source: J9.
///
/// Nothing outside can hold it up: it never waits for anything but its mailbox and the disk.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox and the atomics are what other threads see.
package final class StateWriter: @unchecked Sendable {
    /// The longest sleep between looks at the clock.
    static let sleepMax: Int64 = 1000
    /// Between tries to commit a turn that was kept (J6).
    static let retryEvery: Int64 = 500
    /// Bytes of the thread's stack.
    private static let stackBytes = 4 << 20
    /// Between tries to cut the write-ahead log while a reader holds it.
    static let logCutEvery: Int64 = 50

    var store: StateStore
    let log: Logger
    var decisionLog: DecisionLog
    let edge: EdgeStats
    let refusals: @Sendable () -> Int
    let onFatal: @Sendable (StoreError) -> Void
    let loopHealth: LoopHealth
    let endpoints: DeliveryEndpoints
    let workload: Workload
    /// For those who must not ask.
    package let health = HealthBoard()
    let mailbox = Mailbox<StateWriterMessage>()
    let takesWrites = Atomic(true)
    /// The answers of a turn go out together.
    let answers = AnswerBatch()

    var engine: Engine
    var stats: StoreStats
    var chores: StoreChores
    var sampler = FleetSampler()
    var outbox: Outbox
    /// The alarm that tells of the store's failing.
    var alarm: StoreAlarm
    /// The loss with a store, as it is told.
    var loss: StateLoss?
    var lossAlarm: StoreAlarm?
    /// True if this start lost it.
    var isLossNew = false
    /// True once that changed and no turn has kept it.
    var isLossChanged = false
    /// Since when the fleet is watched again.
    var lossSince = RunningTime(milliseconds: 0)
    /// The delivery workers on their way, by address.
    var workers = DeliveryWorkers<QueueKey, (payload: NotificationPayload, attempt: Int)>()
    /// The reports that delivery workers brought and no turn has taken yet.
    var reports: [DeliveryReport] = []
    var noticeWaits: [NoticeWait] = []
    var positionWaits: [PositionWait] = []
    var said = SummaryOutbox()
    var heard = SummaryInbox()
    /// The news that nobody has taken, as of an instant of the machine's clock.
    var unreachedKnown = (at: Int64.min / 4, what: Unreached())
    /// True if the turn before left the log as long as it is.
    private var leavesLog = false
    /// The callers who wait for the turn that keeps what a reload has retried soon.
    private var retriedSoon: [@Sendable () -> Void] = []
    var pushes: PushBox
    var pushWorkers = DeliveryWorkers<PushQueue, PushLoad>()
    var pushReports: [PushReport] = []
    /// Attempts to send a push that the store ever claimed.
    var pushClaims: Int64 = 0
    let epoch: EpochFile
    /// The instant at which the store was last found to be an older copy; nil if it never was.
    var restoredAt: Timestamp?
    /// Says that something was decided and is committed.
    package let decided = DecisionSignal()
    var hasEpochFailed = false
    var hasWallStepped = false
    /// Once it is to stop: whom to tell, and how long what is being sent is waited for.
    var stopping: (done: [@Sendable () -> Void], until: Int64)?
    /// Turns whose commit failed, kept whole (J6).
    var uncommitted: [PendingTurn] = []
    /// The last committed state, which answers while turns are kept (J6).
    var published: Engine?
    var turnNumber: Int64
    /// The last one that is committed.
    var turnCommitted: Int64 = 0
    /// The instant at which running time and the machine's clock meet.
    var origin: (running: Int64, elapsed: Int64) = (0, 0)
    var lastTurnElapsed: Int64 = 0
    let startedElapsed = ClockReading.now().elapsed
    var committedElapsed: Int64 = 0
    var evaluatedElapsed: Int64 = 0
    var publishedElapsed: Int64 = 0
    var walBytes = 0
    /// Bytes of the write-ahead log when it was last tried to move it into the file.
    var logBytesTried = 0
    /// True while the store's log is longer than it should ever be.
    var isLogLong = false
    /// The instant at which the store's size was looked at last; never before the first commit.
    var sizedElapsed: Int64?
    var refusalsSeen = 0
    /// The instant at which the store's files were looked at last.
    var witnessedElapsed: Int64 = 0
    /// The member that it is, of a watch on several machines; nil on one (S16).
    var seat: MemberSeat?
    /// Members that this one was, one after the other: two of a cell that was split from another one.
    var seats = 0
    /// The board on which the member leaves how it stands, for those who must not ask; nil on one
    /// machine.
    package let board: MemberBoard?
    /// The turn that is on its way to the log, and what came since.
    var proposal = Proposal()
    /// The state that the member keeps of its watch beside its turns.
    var upkeep = WatchUpkeep()

    /// A state writer of the store at `path` that decides by `policy`, ready to be started.
    ///
    /// `endpoints` is how receivers are reached; `refusals` counts the writes that the edge
    /// answered 503 by itself; `onTurn` is called when the loop has gone round, each second at
    /// least, also while the store fails; `onFatal` must end the process: a failed fsync is not
    /// retried (J6). `member` makes it one of several machines; `upgrade` hears what becomes of a store of an
    /// older version. `aroundCommit` is for tests. Throws `StoreError` if the store cannot be opened, read
    /// or restored.
    package init(
        path: String, policy: Policy, storeBytesMax: Int64 = 4 << 30, log: Logger,
        edge: EdgeStats, endpoints: DeliveryEndpoints = DeliveryEndpoints(),
        workload: Workload = Workload(),
        member: MemberSeat.Parts? = nil, upgrade: StoreUpgrade.Watch = StoreUpgrade.Watch(),
        aroundCommit: StateStore.AroundCommit? = nil,
        refusals: @escaping @Sendable () -> Int, onTurn: @escaping @Sendable () -> Void = {},
        onFatal: @escaping @Sendable (StoreError) -> Void
    ) throws(StoreError) {
        self.log = log
        decisionLog = DecisionLog(log)
        self.endpoints = endpoints
        self.workload = workload
        self.edge = edge
        self.refusals = refusals
        loopHealth = LoopHealth(onTurn)
        self.onFatal = onFatal
        board = member.map { MemberBoard(member: $0.settings.name, silence: $0.settings.silence) }
        var opening = try StoreOpening(path: path, upgrade: upgrade, aroundCommit: aroundCommit)
        store = opening.store
        loss = opening.loss
        engine = opening.recovered.takeEngine()
        let recovered = opening.recovered
        turnNumber = recovered.lastTurn?.number ?? 0
        outbox = Outbox(
            store: store.number, messages: opening.messages, now: engine.clock.now,
            times: endpoints.times)
        pushes = PushBox(store: store.number)
        epoch = EpochFile(storePath: store.journal.connection.path)
        alarm = StoreAlarm(now: engine.clock.now, wall: ClockReading.now().wall)
        stats = StoreStats(version: BuildInformation.version)
        stats.refoldDifferences = recovered.differences
        stats.bytesMax = storeBytesMax
        chores = StoreChores(
            checkpoints: CheckpointWriter(last: recovered.checkpoint, rows: recovered.rows),
            erasures: ErasureWriter(try store.journal.erasures()),
            retention: RetentionWriter(bytesMax: storeBytesMax, log: log),
            packing: PackingWriter())
        if recovered.differences > 0 {
            log.error(
                "refolding differs from the store",
                metadata: ["differences": "\(recovered.differences)"])
        }
        logSegmentDamage()
        log.info(
            "store opened",
            metadata: [
                "responders": "\(engine.roster.count)", "turn": "\(turnNumber)",
                "refolded_rows": "\(recovered.rows)",
            ])
        MountTable.warn(of: storePath, log)
        followCells()
        if let member, let board {
            try begin(
                member, board, policy, last: recovered.lastTurn,
                checkpointsDamaged: recovered.checkpointsDamaged)
        } else {
            try begin(
                policy: policy, isNew: recovered.lastTurn == nil, pushes: opening.pushes,
                checkpointsDamaged: recovered.checkpointsDamaged)
        }
    }

    /// Starts the thread; false if the system has none left.
    @discardableResult
    package func start() -> Bool {
        DetachedThread.start(stackBytes: Self.stackBytes) { [self] in run() }
    }

    // MARK: - From other threads

    /// Hands over a write; `reply` is called once, on the state writer's thread, after its commit. With
    /// a key nothing is done that was done under it before (S19); `action` says who does it. Who
    /// `asksStandings` finds in the receipt how the people of its rows stand (R4).
    package func write(
        _ event: Event, once key: RequestKey? = nil, by action: ActionReport? = nil,
        asksStandings: Bool = false, reply: @escaping @Sendable (WriteOutcome) -> Void
    ) {
        guard takesWrites.load(ordering: .relaxed) else {
            return reply(.unavailable(reasonToRefuse))
        }
        mailbox.put(
            .write(event, once: key, by: action, asksStandings: asksStandings, reply: reply))
    }

    /// Hands over a question, answered from memory after the commit of the turn it arrives in (J8).
    package func ask(_ question: @escaping @Sendable (StateView) -> Void) {
        mailbox.put(.question(question))
    }

    /// Hands over what a reload says of the ways to receivers: what was refused is tried sooner
    /// (A9). `reply` is called once, on the state writer's thread, when that is stored, or cannot
    /// be.
    package func retrySoon(_ endpoints: EndpointChanges, reply: @escaping @Sendable () -> Void) {
        mailbox.put(.endpoints(endpoints, reply: reply))
    }

    /// True while writes are taken.
    package var isTakingWrites: Bool { takesWrites.load(ordering: .relaxed) }

    /// Folds what waits, stops the watch, writes a checkpoint, closes the store; then calls `done`.
    package func stop(_ done: @escaping @Sendable () -> Void) { mailbox.put(.stop(done)) }

    // MARK: - The loop

    private func run() {
        var isRunning = true
        var messages: [StateWriterMessage] = []
        while isRunning {
            let plan = nextWake()
            mailbox.takeAll(into: &messages, waiting: plan - ClockReading.now().elapsed)
            let clock = present()
            take(messages, clock)
            let isLast =
                stopping.map {
                    !uncommitted.isEmpty || !isSending && !isHandingOver(at: clock.elapsed)
                        || $0.until <= clock.elapsed
                }
                ?? false
            if seat != nil {
                turnOfMember(messages, clock, isLast: isLast)
            } else if uncommitted.isEmpty {
                turn(messages, clock, lateBy: clock.elapsed - plan, isLast: isLast)
            } else {
                recoverStore(messages, clock)
            }
            mailbox.empty(&messages)
            watchFiles(clock)
            if stopping == nil {
                tendAlarm()
                tendLoss()
            }
            answerNoticeWaits()
            answerPositionWaits(isLast: isLast)
            if seat == nil || isLast { answerSummaryWaits(isLast: isLast) }
            for reply in retriedSoon { reply() }
            retriedSoon = []
            publishHealth()
            decisionLog.pass(at: clock.elapsed)
            if isLast {
                close()
                isRunning = false
                for done in stopping?.done ?? [] { done() }
            }
            loopHealth.turned()
        }
    }

    /// Takes what is neither a write nor a question.
    private func take(_ messages: [StateWriterMessage], _ clock: ClockReading) {
        for message in messages {
            switch message {
            case .report(let report, _) where report.notice < 0: takeAlarm(report)
            // What an earlier reign sent is over for this one: its boxes hold other attempts (S7).
            case .report(let report, let reign): if reign == self.reign { reports.append(report) }
            case .pushReport(let report, let reign):
                if reign == self.reign { pushReports.append(report) }
            case .noticeWait(let new): wait(new)
            case .positionWait(let new): wait(new)
            case .summary(let new): hear(new, at: clock)
            case .summaryWait(let new): said.waits.append(new)
            case .member(let news, let number): if number ?? seats == seats { take(news) }
            case .endpoints(let endpoints, let reply):
                retrySoon(endpoints, at: running(clock))
                retriedSoon.append(reply)
            case .stop(let done):
                let until = clock.elapsed + endpoints.sendingLeaveMax.count
                stopping = ((stopping?.done ?? []) + [done], stopping?.until ?? until)
            case .write, .question: break
            }
        }
    }

    var isSending: Bool { outbox.isSending || pushes.isSending }

    /// One turn: folds what waits, passes what is due, commits, sends, answers.
    private func turn(
        _ messages: [StateWriterMessage], _ clock: ClockReading, lateBy: Int64, isLast: Bool
    ) {
        var folded = FoldedTurn(at: max(running(clock), openInstant), clock)
        fold(messages, into: &folded, lateBy: lateBy, isLast: isLast)
        if folded.isDue {
            guard commit(folded.pending, begunBy: folded.writer, clock) else {
                for (reply, _) in folded.replies {
                    reply(.unavailable("the commit failed: not known to be stored"))
                }
                return answer(folded.questions, at: folded.now)
            }
            tendEpoch()
            edge.turned(after: ContinuousClock.now - folded.began)
        }
        finish(folded)
        // Of a mass the log is long: whoever came meanwhile is answered first, once.
        leavesLog = folded.writer != nil && !leavesLog
        if !leavesLog { tendLog() }
    }

    /// Folds what waits and, if there is anything to be kept, evaluates it.
    func fold(
        _ messages: [StateWriterMessage], into folded: inout FoldedTurn, lateBy: Int64, isLast: Bool
    ) {
        let (now, clock) = (folded.now, folded.clock)
        engine.turn = turnNumber + 1
        observe(clock, now, lateBy: lateBy, &folded.pending)
        foldSummaries(into: &folded)
        passEarlier(&folded)
        takeReports(at: now, &folded.pending)
        takePushes(at: now, &folded.pending)
        for message in messages {
            switch message {
            case .write(let event, let key, let action, let asksStandings, let reply):
                let receipt =
                    key.map { folded.pending.fold(event, once: $0, into: &engine, at: now) }
                    ?? folded.pending.fold(event, into: &engine, at: now)
                if let action {
                    folded.pending.fold(action, of: event, receipt, into: &engine, at: now)
                }
                folded.add(reply, receipt, asksStandings: asksStandings)
            case .question(let question): folded.questions.append(question)
            case .report, .pushReport, .endpoints, .noticeWait, .positionWait, .member, .summary,
                .summaryWait, .stop:
                break
            }
        }
        if isLast { _ = folded.pending.fold(.stop, into: &engine, at: now) }
        let isSignOfLife = clock.elapsed - lastTurnElapsed >= Engine.turnEvery.count
        let hasChores = seat == nil && chores.isBusy
        folded.isDue =
            folded.isDue || !folded.pending.isEmpty || isSignOfLife || hasChores
            || pushes.hasChanges || outbox.hasChanges
            || min(engine.nextInstant(), outbox.due(), pushes.due()) <= now
        if folded.isDue {
            advance(&folded)
            evaluateMessages(&folded.pending, at: now, sends: stopping == nil)
            takeLoss(&folded.pending)
        }
        if folded.asksStandings { folded.noteStandings(engine) }
    }
}
