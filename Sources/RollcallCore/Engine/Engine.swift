/// The engine: folds events, advances time, decides.
///
/// Pure and deterministic: the same events at the same instants give the same decisions, live, in
/// a replay and after a restart (J0). Whoever drives it does this for each instant:
///
///     fold(event, at: instant) …   everything that arrives at the instant, in journal order
///     settle()                     closes the instant: blindness, pauses, deadlines, forgetting (F1)
///
/// `fold` first passes every earlier instant at which time alone changes something, so that
/// `advance(a)` then `advance(b)` equals `advance(b)`.
package struct Engine: Sendable {
    /// Changes whenever the same events may be decided otherwise than before (J4).
    package static var version: Int64 { Archive.newestVersion }
    /// Turns are promised at least this often (J2).
    package static let turnEvery = Milliseconds.seconds(5)
    /// A turn later than this makes the watch blind (B1).
    package static let turnLateAfter = Milliseconds.seconds(5)
    /// Decisions of an instant for which room is kept.
    private static let decisionsKept = 4096
    /// Called in the midst of an instant at which a mass is decided, to take what was decided so far
    /// (`takeDecisions`): with the number of people at least who are still to be looked at.
    package typealias Relief = (_ engine: inout Engine, _ left: Int) -> Void

    package internal(set) var policy: Policy
    package internal(set) var clock = ObservationClock()
    package internal(set) var sight = Sight()
    var people = People()
    package internal(set) var counters = Counters()
    /// The number that the next journal row gets (J7).
    package var nextRow: Int64 = 1
    /// Rows that the journal was ever given.
    package var journalRows: Int { Int(nextRow - 1) }
    /// The number that the next stored decision gets.
    var nextDecision: Int64 = 1
    /// The number of the newest stored decision; 0 before the first.
    package var newestDecision: Int64 { nextDecision - 1 }
    /// The decisions that the driver has not taken yet.
    package var decisions: [Decision] = []
    /// True to decide about updates aloud; for `replay --updates`.
    package var reportsUpdates = false
    /// False where nobody asks how late, how far apart and how old locations are, nor how long nobody
    /// was located: what is measured for that alone is left out, and nothing is decided otherwise.
    package var isMeasuring = true
    /// So many decisions in the midst of an instant are a mass: they are handed over meanwhile to whoever
    /// asks for that. It decides nothing.
    package var massFrom = decisionsKept

    /// The turn that is being folded, as its driver numbers turns; 0 where nobody asks for exemplars.
    package var turn: Int64 = 0
    /// A delay of each bucket. They decide nothing, and are in no checkpoint.
    package internal(set) var delayExemplars = Exemplars(of: Counters.delays)
    /// The delays since the process began. They decide nothing, and are in no checkpoint (V22).
    package internal(set) var nativeDelay = NativeHistogram(beside: Counters.delays)

    var namesRefused: FactSet = []

    // What few people have, by number.
    var ledgers = SideTable<SequenceLedger>()
    var captures = SideTable<CaptureLedger>()
    var factOverflows = SideTable<FactTable>()
    var erasures = Erasures()
    var rosters = RosterParts()
    package internal(set) var requestKeys = RequestKeys()
    var liveness = Liveness()
    /// The members of the cluster, as its log names them; nobody on one machine.
    package internal(set) var membership = Membership()
    /// The map of the fleet's cells; nil where there are none, or nobody brought one yet (K1).
    package internal(set) var cellMap: CellMap?
    /// The cell that it is, once it was split (K6); nil before.
    var ownCell: [UInt8]?
    var gaps = GapBook()
    /// The cells, as the fleet cell knows them.
    package internal(set) var cells = CellBook()
    /// At the fleet cell, those who fell out of contact lately, in all cells.
    package internal(set) var masses = FleetMasses()
    /// Of a cell, the changes that it has not said yet.
    var report = CellReport()
    /// Of a cell: true while it tells that nothing is heard of the fleet cell (K4).
    package internal(set) var isFleetCellDark = false
    package internal(set) var alerting = Alerting()
    package internal(set) var nudges = Nudging()
    /// The places of those who are told of events.
    package internal(set) var subscriptions = Subscriptions()

    var hasBegun = false
    /// The last instant whose close decided something.
    package private(set) var closedAt = RunningTime.distantPast
    /// True while something was folded at the present instant that is not closed yet.
    var isUnclosed = false
    /// Until when there is a calm; the distant past while there is none, or nobody asked.
    var idleUntil = RunningTime.distantPast

    /// An engine that has seen nothing, under `policy`.
    package init(policy: Policy = Policy()) {
        self.policy = policy
        people.aggregates = Aggregates(PacePolicy(policy))
        people.beginNames(policy)
        gaps.isOfCell = policy.role == .cell
        followShare()
        alerting.follow(policy.receivers, policy.alerts)
    }

    // MARK: - Time

    /// The next instant at which time alone changes something.
    package mutating func nextInstant() -> RunningTime {
        var next = sight.nextInstant(heardUntil: heardUntil)
        next = min(
            next, nextRunningAlert, alerting.nextNotice(policy.receivers),
            nudges.nextInstant(policy.nudges, clock), clock.nextReport,
            liveness.reigns.steadyFrom(clock.now) ?? .distantFuture,
            sight.isStoreFailing ? .distantFuture : cells.nextDark)
        guard !clock.isBlind else { return max(next, clock.now) }
        if let pause = liveness.nextPause {
            next = min(next, RunningTime(milliseconds: pause.milliseconds) - clock.wallOffset)
        }
        if let deadline = liveness.nextDeadline(people.roster, policy) {
            next = min(next, clock.running(deadline))
        }
        let timer = alerting.nextTimer
        if timer < .distantFuture { next = min(next, clock.running(timer)) }
        next = min(next, gaps.nextVerdict, gaps.dark.nextHoles, nextStall)
        return max(next, clock.now)
    }

    /// The earliest instant at which events may arrive. One whose close decided something takes no
    /// more: what arrives at a deadline itself is in time (F1), and would have come too late.
    package var openInstant: RunningTime { Self.openInstant(at: clock.now, closedAt: closedAt) }

    /// Returns the same by the parts that it takes: whoever keeps an engine in a class would copy all
    /// of it to ask.
    package static func openInstant(at now: RunningTime, closedAt: RunningTime) -> RunningTime {
        closedAt == now ? now + Milliseconds(1) : now
    }

    /// Passes every instant before `instant` at which something falls due. Whoever folds an event at
    /// `instant` next needs not say so before.
    package mutating func pass(before instant: RunningTime, relief: Relief = { _, _ in }) {
        idleUntil = .distantPast
        // Nothing falls due before the present one: of all that comes at one instant the first asks.
        guard clock.now < instant else { return }
        // What was folded at the present one is evaluated there, not later (L12).
        if isUnclosed { settle(relief: relief) }
        while true {
            let next = nextInstant()
            guard next < instant else { return }
            clock.now = next
            settle(relief: relief)
        }
    }

    /// Passes all instants up to `instant` and closes it.
    package mutating func advance(to instant: RunningTime, relief: Relief = { _, _ in }) {
        pass(before: instant, relief: relief)
        clock.now = max(clock.now, instant)
        settle(relief: relief)
    }

    /// True from the event that the store fails to the one that it does not (B1).
    package var isStoreFailing: Bool { sight.isStoreFailing }

    // MARK: - Folding

    /// Folds one event that arrives at `instant`, not before the last one.
    package mutating func fold(_ event: Event, at instant: RunningTime) -> Receipt {
        idleUntil = .distantPast
        let previous = clock.now
        let instant = hasBegun ? max(instant, previous) : instant
        switch event {
        case .summaries(let summaries): return hear(summaries, at: instant)
        case .start: resume(.stopped, since: previous, at: instant)
        case .reign(let reign):
            let turnMax = Milliseconds(Self.turnEvery.count + Self.turnLateAfter.count)
            let since = reign.onset(at: instant, after: previous, turnMax: turnMax)
            resume(.stopped, since: since, at: instant)
        case .turn(let lateness) where hasBegun && isLate(lateness, previous, instant):
            resume(.suspended, since: previous, at: instant)
            // As at a start, nobody could be heard meanwhile (D6).
            sight.feed.start(now: clock.now)
        default: arrive(at: instant)
        }
        hasBegun = true
        isUnclosed = true
        return apply(event)
    }

    /// Lets `instant` arrive with nothing to fold.
    package mutating func arrive(at instant: RunningTime) {
        if hasBegun { pass(before: instant) }
        clock.now = hasBegun ? max(clock.now, instant) : instant
        hasBegun = true
    }

    private func isLate(
        _ lateness: Milliseconds?, _ previous: RunningTime, _ instant: RunningTime
    ) -> Bool {
        let beyond = Milliseconds((instant - previous).count - Self.turnEvery.count)
        return (lateness ?? beyond) > Self.turnLateAfter
    }

    /// Nothing was seen and nothing decided between `since` and `instant`.
    private mutating func resume(
        _ reason: BlindReason, since: RunningTime, at instant: RunningTime
    ) {
        clock.now = instant
        guard hasBegun else { return }
        emit(sight.feed.skews.expire(now: instant))
        clock.lose(reason, since: since)
        gaps.stall.didNotRun(instant - since)
        cells.didNotListen(instant - since)
        if instant - since >= ObservationClock.graceFrom {
            alerting.notifications.wasAbsent(from: clock.wall(since), to: clock.wallNow)
        }
        // Nothing was sent meanwhile either.
        alerting.board.restartTriggers(clock.now, policy.receivers)
        sight.didNotRun(reason, since: since)
    }

    private mutating func apply(_ event: Event) -> Receipt {
        var receipt = Receipt()
        switch event {
        case .items(let list, let source):
            sight.wrote(source, now: clock.now)
            let batches = counters.batches
            foldItems(list, &receipt)
            if counters.batches > batches {
                gaps.noteBatch(aggregates, clock)
            }
        case .roster(let list, let source, let terms):
            sight.wrote(source, now: clock.now)
            foldRoster(list, terms, &receipt)
        case .erase(let person, let source):
            sight.wrote(source, now: clock.now)
            erase(person, &receipt)
        case .heartbeat(let source, let every):
            receipt.promised = sight.feed.sources.first { $0.name == source }?.every
            receipt.accepted = sight.beat(source, every: every, now: clock.now) ? 1 : 0
            if !sight.feed.sources.isEmpty { gaps.stall.end() }
        case .skew(let source, let skew):
            emit([sight.feed.skews.measure(source, skew, now: clock.now)].compactMap(\.self))
        case .clock(let step):
            clock.step(step)
            masses.step(step)
            emit(sight.feed.skews.step(step))
            if step > Nudging.stepMax { nudges.freeze(policy.nudges, wall: clock.wallNow) }
        case .store(let isFailing):
            if sight.isStoreFailing, !isFailing {
                gaps.stall.beginAnew(clock)
                cells.listenAnew(clock.now)
            }
            sight.store(isFailing: isFailing, now: clock.now)
        case .refused(let count): sight.refused(count, now: clock.now)
        case .policy(let policy): change(to: policy)
        case .start(let isRestored):
            sight.feed.start(now: clock.now)
            if isRestored { nudges.freeze(policy.nudges, wall: clock.wallNow) }
        case .reign(let reign):
            sight.feed.start(now: clock.now)
            liveness.reigns.begin(reign, clock)
        case .membership(let change): receipt.membershipFault = membership.take(change)
        case .silence(let change): alerting.change(change, clock, &receipt)
        case .take(let change):
            alerting.change(change, AlertContext(policy, clock), &receipt)
        case .drill(let receiver):
            alerting.drill(receiver, AlertContext(policy, clock), &decisions, &receipt)
        case .outcome(let end):
            decisions.append(.delivery(at: clock.wallNow, end))
            alerting.end(
                end, AlertContext(policy, clock), &counters.notifications, &decisions)
        case .pushed(let end): self.end(end)
        case .wake(let call, let source):
            sight.wrote(source, now: clock.now)
            wake(call, &receipt)
        case .ask(let call, let source):
            if !call.isOperators { sight.wrote(source, now: clock.now) }
            ask(call, &receipt)
        case .done(let request):
            receipt.isKeyKept = true
            receipt.keysForgotten = requestKeys.keep(request, at: clock.now)
        case .subscription(let mark): receipt.accepted = subscriptions.take(mark) ? 1 : 0
        case .cells(let map):
            let before = cellMap
            receipt.cellMapFault = cellMap.apply(map)
            if policy.role == .fleet { awaitCells(since: before) }
            followShare()
        case .split(let split): self.split(split, &receipt)
        case .masses(let masses):
            guard policy.role == .cell else { break }
            receipt.accepted = gaps.take(masses, &people, policy, clock, &decisions)
            followSuspicions()
        case .peersElsewhere(let call): take(call, &receipt)
        case .fleetCell(let isDark): isFleetCellDark = isDark && policy.role == .cell
        case .action(let report): decisions.append(.action(at: clock.wallNow, report))
        case .turn, .stop, .summaries: break
        }
        return receipt
    }

    /// Tells what changed about the clocks of sources.
    mutating func emit(_ skews: [SkewReport]) {
        for report in skews { decisions.append(.skew(at: clock.wallNow, report)) }
    }

    /// The number of a journal row that is not an item's.
    package mutating func takeRow() -> Int64 {
        defer { nextRow += 1 }
        return nextRow
    }

    /// Hands over what was decided, numbered for the store.
    package mutating func takeDecisions() -> [NumberedDecision] {
        // The room that a mass of them took is given back.
        defer { decisions.removeAll(keepingCapacity: decisions.count < 2 * Self.decisionsKept) }
        return decisions.map { decision in
            var previous: Int64 = 0
            switch decision {
            case .status(_, let number, _, _, _), .gap(_, let number, _),
                .nudge(_, let number, _), .wake(_, let number, _):
                previous = roster[number].lastDecision
                roster[number].lastDecision = nextDecision
            // What tells of people without a word about them outlives an erasure: it is in no chain.
            case .alert, .notice, .mute, .blind, .skew, .update, .person, .action, .delivery, .push:
                break
            }
            defer { nextDecision += 1 }
            return NumberedDecision(decision: decision, id: nextDecision, previous: previous)
        }
    }

    /// Takes over a decision's number from the store, which wins over what was decided again (J4):
    /// the next decision comes behind decision `id`, which is person `number`'s newest.
    package mutating func note(storedDecision id: Int64, of number: Int) {
        nextDecision = max(nextDecision, id + 1)
        if (0..<roster.count).contains(number) { roster[number].lastDecision = id }
    }

    // MARK: - Closing an instant

    /// Closes the present instant, in the order of F1.
    package mutating func settle(relief: Relief = { _, _ in }) {
        let count = decisions.count
        let numbered = nextDecision
        // A number that an alert was judged by is told later, so it must not be a half-way one (L12).
        var isClosed = false
        defer {
            if isClosed || decisions.count > count || nextDecision > numbered
                || alerting.board.hasChanged
            {
                closedAt = clock.now
            }
        }
        isUnclosed = false
        // Sight that was lost or came back decides what arrives later, told or not (D5).
        isClosed = settleBlindness()
        if !clock.isBlind {
            settleStall()
            settlePauses()
            settleDeadlines(relief)
            settleVerdicts()
            settleHoles()
        }
        settleDarkCells()
        settleAlerts()
        settleNudges()
        dropNames()
    }

    // MARK: - People

    /// Changes a person, and lets everybody follow who must know of it.
    mutating func edit(_ number: Int, _ body: (inout Engine, inout Responder) -> Void) {
        let part = policy.role == .cell ? reportPart(number) : nil
        recount(number) { engine, person in
            let before = person
            body(&engine, &person)
            engine.followDark(from: before, &person, number)
            engine.followNudges(from: before, &person, number)
            engine.followMissed(from: before, &person, number)
            engine.alerting.board.follow(from: before, to: person)
        }
        if policy.role == .cell { followReport(from: part, number) }
    }

    /// Counts a person out, lets `body` change them, counts them in, arms their next deadline and
    /// stores them.
    mutating func recount(_ number: Int, _ body: (inout Engine, inout Responder) -> Void) {
        var person = roster[number]
        let now = clock.observedNow
        aggregates.remove(person, now: now)
        body(&self, &person)
        aggregates.add(person, now: now)
        arm(person, number)
        roster[number] = person
    }
}
