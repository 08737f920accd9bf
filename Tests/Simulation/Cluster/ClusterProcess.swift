import RollcallCluster
import RollcallCore
import RollcallStore

/// A running member: the real `Member`, the real engine, outbox and pushes, and a disk that outlives
/// it. What the state writer does between them, it does here in virtual time.
final class ClusterProcess: @unchecked Sendable {
    /// A batch that a backend sent, and how it is answered: true for a 2xx.
    struct Write {
        var event: Event
        var reply: (Bool) -> Void
    }

    /// A turn that is folded and on its way.
    struct Open {
        var pending: PendingTurn
        var writes: [Write]
        var sentAt: Int64
    }

    let world: ClusterWorld
    let host: Int
    let incarnation: UInt64
    private(set) var link: ClusterLink?
    private(set) var log: RingLog?
    var member: Member
    var engine: Engine
    var outbox: Outbox
    var pushes: PushBox
    var isAlive = true
    var inbox: [Write] = []
    var reports: [(OutboxSending, OutboxVerdict)] = []
    var pushReports: [(PushQueue, [PushAttempt])] = []
    var open: Open?
    private var lastTurnAt: Int64 = 0
    /// Running time minus the time since the machine's start, as the earliest turns tell it (S14).
    private var offset: Int64?
    /// When the last append that landed was first sent, as somebody who looks on notes it.
    private(set) var provenAt: Int64?
    private var wasUnknown = false
    private var lastSentAt: Int64 = 0
    private var abstentions = 0
    /// The digest of its state, at the first turn of each quarter of a minute.
    var digest: StateDigest?
    var quarter: Int64?
    var changedAt: Int64 = 0
    /// True once its state was changed by nobody's word, to see that it is noticed (S10).
    var hasDrifted = false

    init(_ world: ClusterWorld, host: Int) {
        self.world = world
        self.host = host
        incarnation = world.dice.next()
        var settings = Member.Settings(
            name: Array("m\(host)".utf8), incarnation: incarnation)
        settings.chance = Milliseconds(max(0, world.dice.number(-150...300)))
        settings.readLimit = 8
        settings.slots = ClusterWorld.slots
        settings.slotsKept = 20
        let disk = world.disks[host]
        member = Member(settings, at: disk.place, now: world.time.now)
        engine = Engine()
        outbox = Outbox(store: 0, now: RunningTime(milliseconds: 0))
        pushes = PushBox(store: 0)
        recover()
        let link = ClusterLink(world, self)
        self.link = link
        if disk.adopting != 0 { member.willAdopt(disk.adopting) }
        var sizes = RingLog.Sizes()
        sizes.slots = ClusterWorld.slots
        sizes.partBytes = 250
        log = RingLog(link, prefix: Array("/w".utf8), sizes: sizes)
        watch()
        tick()
    }

    var time: VirtualTime { world.time }
    var fault: ClusterFault? { world.fault }
    var disk: ClusterDisk {
        get { world.disks[host] }
        set { world.disks[host] = newValue }
    }

    /// Calls `body` if this process still runs; once it is awake, if it is stopped.
    func deliver(_ body: @escaping () -> Void) {
        guard isAlive else { return }
        if let until = world.pausedUntil(host) {
            return time.after(until - time.now) { [self] in deliver(body) }
        }
        body()
        makeTurn()
    }

    /// Dies with all that it has in memory.
    func kill() {
        isAlive = false
        for write in inbox + (open?.writes ?? []) { write.reply(false) }
        inbox = []
        open = nil
    }

    private func tick() {
        deliver { [self] in
            apply(member.tick(time.now))
            time.after(member.tickEvery) { [self] in tick() }
        }
    }

    private func watch() {
        log?.watch(after: world.etcd.state.revision) { [self] news in
            apply(member.take(news: news, time.now))
            guard case .lost = news else { return }
            time.after(100) { [self] in deliver { [self] in watch() } }
        }
    }

    private func recover() {
        guard let recovered = disk.recover() else {
            return world.fail("S10: the store of m\(host) does not fold to what it says")
        }
        engine = recovered
        (hasDrifted, digest) = (false, nil)
        followMembers()
    }

    // MARK: - Effects

    func apply(_ effects: [MemberEffect]) {
        for effect in effects where isAlive { apply(effect) }
    }

    private func apply(_ effect: MemberEffect) {
        switch effect {
        case .readHead:
            log?.head { [self] outcome in apply(member.take(head: outcome, time.now)) }
        case .read(let request, let after, let limit):
            log?.read(after: after, limit: limit) { [self] outcome in
                apply(member.take(read: outcome, request: request, time.now))
            }
        case .create: create()
        case .append(let entry, let after):
            world.note(append: entry, after: after.head)
            if lastSentAt < open?.sentAt ?? 0 { lastSentAt = open?.sentAt ?? 0 }
            log?.append(entry, after: after) { [self] outcome in take(append: outcome) }
        case .beat(let head):
            let sentAt = time.now
            log?.beat(after: head) { [self] outcome in
                if case .landed = outcome, head.position == disk.place.position {
                    provenAt = max(provenAt ?? .min, sentAt)
                }
                apply(member.take(beat: outcome, time.now))
            }
        case .release(let head): log?.release(after: head) { _ in }
        case .askPeers:
            let places = fault == .askNoPeer ? [] : world.places(for: host)
            time.after(10) { [self] in
                deliver { [self] in apply(member.take(peers: places, time.now)) }
            }
        case .fold(let landed): fold(landed)
        case .reign(let number, let unobserved): reign(number, unobserved)
        case .landed(let landed): commit(landed)
        case .rebuild: rebuild()
        case .stepDown: stepDown()
        case .join: join(beginsAgain: member.isDivergent)
        case .rejoin:
            world.mark("a store gave way to an adopted log")
            join(beginsAgain: true)
        case .adopted(let place):
            disk.adopt(place)
            apply(member.didAdopt(at: place, time.now))
        case .lost(let loss): world.note(loss, of: host)
        case .note(let position):
            let ahead: Int64 = fault == .noteBeforeDurable ? 60 : 0
            var note = MemberNote(
                member: member.settings.name, position: position + ahead,
                wall: Timestamp(milliseconds: world.wall(host)))
            note.level = Member.level
            note.erased = fault == .saysErasedEarly ? .max : disk.turn
            note.digest = digest
            log?.note(note)
        case .trim(let through, let view, let isSingleCopy):
            world.trims[through] = isSingleCopy
            log?.trim(through: through, view)
        }
    }

    private func create() {
        let watch = world.dice.next()
        let body = (0..<8).map { UInt8(truncatingIfNeeded: watch >> UInt64(8 * (7 - $0))) }
        let entry = LogEntry(
            .creation, at: 1, after: 0,
            origin: LogOrigin(
                member: member.settings.name, incarnation: incarnation, reign: 0, serial: 0),
            body: body)
        log?.create(log: world.dice.next() | 1, entry) { [self] _ in member.didCreate() }
    }

    private func take(append outcome: AppendOutcome) {
        if case .unknown = outcome { wasUnknown = true }
        if case .refused = outcome { wasUnknown = true }
        if case .unknown = outcome {
            if fault == .unknownIsLanded, let open {
                return world.answer(open.writes, by: self, true)
            }
            if fault == .answerUnknown {
                open?.writes.forEach { world.answer([$0], by: self, true) }
            }
        }
        apply(member.take(append: outcome, time.now))
    }

    // MARK: - Following

    private func fold(_ landed: LandedEntry) {
        let log = member.log
        guard landed.entry.kind != .creation else {
            disk.create(landed, log: log)
            return apply(member.didFold(landed))
        }
        guard let pending = PendingTurn(logBytes: landed.entry.body) else {
            return world.fail("S2: an entry that landed is no turn")
        }
        if fault != .commitWithoutFolding || world.dice.chance(900) {
            let outcome = TurnFolder.fold(pending, into: &engine)
            if outcome != .same, hasDrifted {
                if fault != .digestIsIgnored { apply(member.diverge(time.now)) }
            } else if outcome != .same {
                return world.fail("S10: m\(host) folds turn \(pending.turn.number): \(outcome)")
            }
        }
        observe(pending)
        commit(pending, landed, log)
        apply(member.didFold(landed))
    }

    /// A turn says how running time stands; the one that came fastest tells it best (S14).
    private func observe(_ pending: PendingTurn) {
        offset = max(offset ?? .min, pending.turn.nowMilliseconds - time.now)
    }

    private func commit(_ pending: PendingTurn, _ landed: LandedEntry, _ log: UInt64) {
        world.note(commit: landed, by: self)
        disk.commit(pending, landed, log: log, engine, hasDrifted: hasDrifted)
        noteTurn(pending.turn)
    }

    private func rebuild() {
        for write in open?.writes ?? [] { world.answer([write], by: self, false) }
        open = nil
        provenAt = nil
        time.after(world.dice.number(5...300)) { [self] in
            deliver { [self] in
                if fault != .noRebuild { recover() }
                apply(member.didRebuild(at: disk.place))
            }
        }
    }

    private func stepDown() {
        provenAt = nil
        reports = []
        pushReports = []
        for write in inbox { world.answer([write], by: self, false) }
        inbox = []
    }

    private func join(beginsAgain: Bool) {
        time.after(world.dice.number(100...2000)) { [self] in
            deliver { [self] in
                guard let copy = world.copy(for: host) else { return member.didNotJoin() }
                disk = copy
                // As the server's process does, which forgets what it was told.
                if beginsAgain { return world.beginAgain(host) }
                recover()
                apply(member.didRebuild(at: disk.place))
            }
        }
    }

    /// Says that it leads no more, if it does.
    func handOver() {
        deliver { [self] in
            let effects = member.release(time.now)
            if !effects.isEmpty { world.mark("a leader handed over") }
            apply(effects)
        }
    }

    // MARK: - Leading

    /// The running time of the watch, by this member's clock.
    private var now: RunningTime {
        if fault == .reignByOwnWall { return RunningTime(milliseconds: world.wall(host)) }
        if offset == nil {
            // Nothing was observed since the start: the wall tells how long ago the last turn was.
            let wall = world.wall(host)
            let last = disk.last.map { $0.now + max(1, wall - $0.wall) } ?? wall
            offset = last - time.now
        }
        return RunningTime(milliseconds: (offset ?? 0) + time.now)
    }

    private func reign(_ number: Int64, _ unobserved: Milliseconds) {
        let step = world.wall(host) - (engine.clock.wallOffset.count + now.milliseconds)
        // One whose wall is off stands last (S14).
        if disk.last != nil, abs(step) > 500, abstentions < 3 {
            abstentions += 1
            return member.abstain(time.now)
        }
        abstentions = 0
        world.note(reignOf: self)
        let (messages, waiting) = disk.open
        outbox = Outbox(
            store: fault == .keysByMember ? UInt64(host) + 1 : disk.watch, messages: messages,
            now: engine.clock.now)
        let claimed = waiting.map { push in
            fault == .resendClaim ? Self.unclaimed(push) : push
        }
        pushes = PushBox(store: disk.watch, messages: claimed)
        var pending = PendingTurn()
        let now = max(now, engine.openInstant)
        let event: Event =
            fault == .reignIsStart
            ? .start()
            : .reign(Reign(number: number, member: member.settings.name, unobserved: unobserved))
        _ = pending.fold(event, into: &engine, at: now)
        if disk.last == nil || fault == .adoptFilePolicy {
            var policy = ClusterWorld.policy
            if fault == .adoptFilePolicy { policy.alerts.namesMax += host }
            _ = pending.fold(.policy(policy), into: &engine, at: now)
        }
        propose(&pending, at: now, [], sends: false)
    }

    private static func unclaimed(_ push: PushMessage) -> PushMessage {
        guard push.row.state == .sending else { return push }
        var row = push.row
        row.state = .waiting
        return PushMessage(push, as: row) ?? push
    }

    /// Makes a turn if there is something to be folded, or due.
    func makeTurn() {
        guard isAlive, member.mayPropose || fault == .foldWhileOpen && member.role == .leading
        else { return }
        let now = max(now, engine.openInstant)
        let isDue = min(engine.nextInstant(), outbox.due(), pushes.due()) <= now
        guard
            !inbox.isEmpty || !reports.isEmpty || !pushReports.isEmpty || isDue
                || time.now - lastTurnAt >= Engine.turnEvery.count
        else { return }
        if fault == .foldWhileOpen, !member.mayPropose {
            for write in inbox.prefix(1) {
                var lost = PendingTurn()
                _ = lost.fold(write.event, into: &engine, at: now)
            }
            return
        }
        var pending = PendingTurn()
        // While the log was away nothing was taken, and that is known by how late the turn is (B1).
        let late = Milliseconds(time.now - lastTurnAt - Engine.turnEvery.count)
        if late > Engine.turnLateAfter {
            _ = pending.fold(.turn(lateness: late), into: &engine, at: now)
        }
        takeReports(at: now, &pending)
        let writes = inbox
        inbox = []
        if let change = changeOwed() {
            _ = pending.fold(.membership(change), into: &engine, at: now)
        }
        for write in writes { _ = pending.fold(write.event, into: &engine, at: now) }
        propose(&pending, at: now, writes, sends: true)
    }

    private func takeReports(at now: RunningTime, _ pending: inout PendingTurn) {
        let wall = engine.clock.wall(now)
        for (sending, verdict) in reports {
            guard case .message(let message, _, _) = sending.content else {
                outbox.refreshed(sending.queue)
                continue
            }
            _ = outbox.end(message.number, in: sending.queue, verdict, now: now, wall: wall)
        }
        for end in outbox.settle(now: now, wall: wall) {
            _ = pending.fold(.outcome(end), into: &engine, at: now)
        }
        for (queue, attempts) in pushReports { pushes.end(queue, attempts, now: now) }
        for end in pushes.settle(now: now, wall: wall) {
            _ = pending.fold(.pushed(end), into: &engine, at: now)
        }
        reports = []
        pushReports = []
    }

    private func propose(
        _ pending: inout PendingTurn, at now: RunningTime, _ writes: [Write], sends: Bool
    ) {
        engine.advance(to: now)
        pending.take(from: &engine)
        outbox.follow(engine.policy.receivers)
        pushes.follow(engine.policy.nudges.sink)
        for decision in pending.decisions {
            switch decision.decision {
            case .notice(let at, let notice): outbox.decide(notice, at: at, now: now)
            case .alert(_, let report) where report.state == .resolved:
                outbox.end(incident: report.incident)
            default:
                PushMessage(nudge: decision.decision, engine.policy.nudges, now: now)
                    .map { pushes.decide($0) }
            }
        }
        if sends {
            pending.sendings = outbox.begin(now: now)
            pending.pushSendings = pushes.begin(now: now) { _ in true }
        }
        pending.outbox = outbox.takeChanges()
        pending.pushes = pushes.takeChanges()
        if fault == .claimOutsideOfTurn {
            pending.pushes = PushChanges(
                added: pending.pushes.added.map(Self.unclaimed),
                changed: pending.pushes.changed.map(Self.unclaimed))
        }
        pending.close(number: disk.turn + 1, engine)
        open = Open(pending: pending, writes: writes, sentAt: time.now)
        lastTurnAt = time.now
        wasUnknown = false
        if fault == .sendBeforeLanded { send(pending) }
        if fault == .answerBeforeLanded { world.answer(writes, by: self, true) }
        let effects = member.propose(pending.logBytes, time.now)
        if fault == .commitBeforeLanded, case .append(let entry, _)? = effects.first {
            commit(pending, LandedEntry(entry, revision: 0), disk.place.log)
        }
        apply(effects)
    }

    /// The turn has landed: it is committed here, then answered, then sent (S1).
    private func commit(_ landed: LandedEntry) {
        guard let open else { return world.fail("S1: something landed that m\(host) has not open") }
        self.open = nil
        provenAt = wasUnknown ? nil : open.sentAt
        commit(open.pending, landed, disk.place.log)
        world.answer(open.writes, by: self, true)
        if fault != .sendBeforeLanded { send(open.pending) }
    }

    // MARK: - Sending

    /// True if this member may reach out, as it thinks (S6).
    private var mayTouch: Bool {
        switch fault {
        case .touchWithoutPermit: return true
        case .touchAfterUnknown: return member.role == .leading
        case .permitFromLastSend:
            return member.role == .leading && time.now - lastSentAt <= 4 * ClusterLink.patience
        default: return member.mayTouch(at: time.now)
        }
    }

    private func send(_ pending: PendingTurn) {
        // The connection takes its time before the permit is looked at.
        for sending in pending.sendings {
            time.after(world.dice.number(1...3000)) { [self] in
                deliver { [self] in
                    guard mayTouch else { return reports.append((sending, .failed)) }
                    world.page(sending, key: outbox.store, by: self)
                    answer { [self] in
                        reports.append((sending, world.dice.chance(800) ? .delivered : .failed))
                    }
                }
            }
        }
        for sending in pending.pushSendings {
            time.after(world.dice.number(1...1000)) { [self] in
                deliver { [self] in
                    let mayTouch = mayTouch
                    if mayTouch { world.push(sending, by: self) }
                    let attempts = sending.messages.map {
                        PushAttempt($0.number, mayTouch ? .delivered : .unknown)
                    }
                    answer { [self] in pushReports.append((sending.queue, attempts)) }
                }
            }
        }
    }

    private func answer(_ body: @escaping () -> Void) {
        time.after(world.dice.number(5...3000)) { [self] in deliver(body) }
    }
}
