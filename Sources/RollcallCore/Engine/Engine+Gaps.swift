/// The reasons why the silent are silent: gaps, suspicions, verdicts. Source: Contract/Gaps, F24 to
/// F26.
extension Engine {
    /// At 5 % or below a battery is empty (C1).
    private static let batteryEmpty: Int16 = 500
    /// From the return to the verdict, by running time (F26).
    private static let verdictAfter = Milliseconds.seconds(120)

    /// A status changed, and was told: opens a gap or evaluates the one that is open (F24, F25).
    mutating func followGap(
        _ person: inout Responder, _ number: Int, from: Status, _ origin: Origin
    ) {
        let status = person.status
        if person.hasGap, let gap = gaps[number], gap.due == nil {
            if status == .offline { evaluateOffline(gap, person, number) }
            return
        }
        let isLate = from == .online && status != .online
        guard origin == .deadline || origin == .server,
            isLate || from == .unknown && status == .offline
        else { return }
        openGap(&person, number)
    }

    private mutating func openGap(_ person: inout Responder, _ number: Int) {
        // A new gap first delivers the old one's verdict (F26).
        if person.hasGap { deliverVerdict(number) }
        person.hasGap = true
        let now = clock.observedNow
        var gap = Gap()
        gap.openedAt = now
        gap.gapSince =
            person.isHeard ? person.contactFolded : clock.wasRunning(at: person.activeSince)
        gap.region = person.region
        holdForGaps(person.region)
        gap.openings = massGaps.open(number, in: person.region, now: now)
        gap.serial = massGaps.openings
        gap.report.openedAt = clock.wallNow
        gap.report.facts.region = regions[person.region]
        var peers = peers(of: gap, person)
        let isMass = MassGaps.isMass(gap.openings, of: peers.active)
        let isNew = massGaps.isNew(gap.region, now: now)
        evaluate(&gap, person, number, isMass: isMass, peers)
        gap.report.firstSuspected = gap.report.suspected
        if person.status == .offline { count(&gap) }
        keep(gap, of: number)
        emit(gap, number, .open)
        guard isMass else { return }
        let alone = massGaps.takeAlone(gap.region).filter { other in
            // Whoever opened another gap since then, elsewhere, fell silent there.
            other != number && gaps[other]?.region == gap.region
        }
        // Whoever forms a group counts those before them.
        peers.areCounted = isNew
        for other in Set(alone).sorted(by: roster.precedes) { evaluateAgain(other, peers) }
    }

    /// Among whom somebody fell silent.
    private struct Peers {
        /// The region's active people.
        var active: Int
        /// The fleet's.
        var fleet: Int
        /// True if the group's members are counted already.
        var areCounted = false
    }

    /// Among whom an active person fell silent who is not counted while they change.
    private func peers(of gap: Gap, _ person: Responder) -> Peers {
        let region = people.region(of: gap)
        let own = person.region == region ? 1 : 0
        let others = region.map { aggregates.active(in: $0) } ?? 0
        return Peers(active: others + own, fleet: aggregates.active + 1)
    }

    /// The suspicion is looked at again at OFFLINE; from then on the gap counts (C1).
    private mutating func evaluateOffline(_ gap: Gap, _ person: Responder, _ number: Int) {
        var gap = gap
        let peers = peers(of: gap, person)
        let isMass = MassGaps.isMass(gap.openings, of: peers.active)
        evaluate(&gap, person, number, isMass: isMass, peers)
        count(&gap)
        keep(gap, of: number)
        emit(gap, number, .evaluated)
    }

    /// Somebody who fell silent before: a mass makes them its own (F25).
    private mutating func evaluateAgain(_ number: Int, _ peers: Peers) {
        guard let gap = gaps[number], gap.due == nil, gap.report.facts.group == nil else { return }
        var evaluated = gap
        evaluate(&evaluated, roster[number], number, isMass: true, peers)
        if evaluated.report.suspected == .massGap {
            keep(evaluated, of: number)
            if gap.report.suspected != .massGap { emit(evaluated, number, .evaluated) }
        } else {
            // An earlier cause stays: only what changes the suspicion is looked at here (F25).
            var gap = gap
            gap.report.facts.group = evaluated.report.facts.group
            gaps[number] = gap
        }
    }

    /// The feed is suspected: what opened since its last batch is put down to it (B3, F25).
    mutating func settleStall() {
        guard nextStall <= clock.now else { return }
        stall.begin(group: massGaps.takeGroup())
        var silent: [Int] = []
        gaps.forEach { number, gap in
            if gap.due == nil, gap.serial > stall.openings { silent.append(number) }
        }
        let peers = Peers(active: aggregates.active, fleet: aggregates.active)
        for number in silent.sorted(by: roster.precedes) { evaluateAgain(number, peers) }
    }

    /// The instant at which the feed is to be suspected if no batch comes (B3).
    var nextStall: RunningTime {
        guard sight.feed.sources.isEmpty, let lastBatch = stall.awaited(from: policy.feedMinActive)
        else { return .distantFuture }
        let spacing = stall.spacing(
            onDuty: policy.onDuty.expected, onMission: policy.onMission.expected,
            most: policy.onDuty.offlineAfter)
        return lastBatch + max(policy.feedStallAfter, spacing)
    }

    /// Returns the last report of the gap of person `number` that is open or waits for its verdict;
    /// nil without one.
    package func followedGap(of number: Int) -> GapReport? { gaps[number]?.report }

    /// Keeps what somebody's gap is now, and counts it if it is open; nil is none.
    mutating func keep(_ gap: Gap?, of number: Int) {
        aggregates.openGaps.change(from: gaps[number], to: gap)
        gaps[number] = gap
    }

    // MARK: - Suspicion

    /// Takes the facts as they are and suspects the first cause that holds on them (C1).
    private mutating func evaluate(
        _ gap: inout Gap, _ person: Responder, _ number: Int, isMass: Bool, _ peers: Peers
    ) {
        var facts = GapFacts()
        facts.lastContactAt = person.lastContactAt
        facts.isHeard = person.isHeard
        facts.telemetry = person.telemetry
        facts.battery = person.battery
        facts.queueDepths = queueDepths[number]?.depths ?? []
        facts.platform = person.platform
        facts.region = gap.report.facts.region
        facts.group = gap.report.facts.group
        if facts.group == nil, isMass || stall.isSuspected {
            facts.group = joinGroup(gap, peers)
        }
        gap.report.facts = facts
        gap.report.suspected = Self.cause(facts)
    }

    private mutating func joinGroup(_ gap: Gap, _ peers: Peers) -> GapGroup {
        var group = GapGroup()
        if stall.isSuspected {
            group.isFeed = true
            group.id = stall.group
            group.members = stall.join()
            group.active = peers.fleet
        } else {
            let region = people.region(of: gap) ?? .max
            holdForGaps(region)
            (group.id, group.members) = massGaps.join(
                region, openings: gap.openings, isCounted: peers.areCounted,
                now: clock.observedNow)
            group.active = peers.active
        }
        return group
    }

    private static func cause(_ facts: GapFacts) -> GapCause {
        let telemetry = facts.telemetry
        if telemetry.isPermissionDenied { return .permissionDenied }
        if telemetry.areServicesOff { return .locationServicesOff }
        if telemetry.hasNoNetwork || QueueDepths.areRising(facts.queueDepths) { return .noNetwork }
        if facts.battery >= 0, facts.battery <= batteryEmpty { return .batteryEmpty }
        if telemetry.isLowPower { return .lowPower }
        if facts.group != nil { return .massGap }
        if telemetry.isInBackground { return .appSuspended }
        if telemetry.isInForeground { return .appTerminated }
        return facts.isHeard ? .unexplained : .neverHeard
    }

    /// From OFFLINE on a gap counts. One of which too much was blind is held against nobody: it is
    /// counted apart (D5).
    private mutating func count(_ gap: inout Gap) {
        guard !gap.isCounted else { return }
        gap.report.number = nextGap
        nextGap += 1
        gap.report.offlineAt = clock.wallNow
        gap.report.blind = clock.blind(since: gap.gapSince)
        gap.report.silent = clock.now - gap.gapSince
        counters.gaps.count(gap.report)
    }

    // MARK: - Return

    /// A contact left the person ONLINE: the gap is over, and what comes within two minutes tells
    /// what it was (F24, F26). `previous` is the last contact before, `taken` what each install had
    /// taken before; nil if this contact brought no updates.
    mutating func closeGap(
        _ person: inout Responder, _ number: Int, previous: ObservedTime, at instant: ObservedTime,
        taken: [Int64]?
    ) {
        guard var gap = gaps[number], gap.due == nil else { return }
        gap.insideFrom = previous
        gap.returnedAt = instant
        gap.expected = policy.profile(person.duty).expected.scaled(by: person.factor)
        gap.due = clock.now + Self.verdictAfter
        gap.heights = taken ?? heights(person, number)
        end(&gap)
        gap.report.seen.at = clock.wallNow
        emit(gap, number, .closed)
        if gap.isCounted, let due = gap.due {
            keep(gap, of: number)
            verdicts.push(.init(at: due, number: UInt32(number)))
        } else {
            keep(nil, of: number)
            person.hasGap = false
            dark.release(number, now: clock.now)
        }
    }

    /// The person is no longer expected (F24).
    mutating func abandonGap(_ person: inout Responder, _ number: Int) {
        guard var gap = gaps[number], gap.due == nil else { return }
        end(&gap)
        keep(nil, of: number)
        person.hasGap = false
        emit(gap, number, .closed)
        if gap.isCounted { emit(gap, number, .verdict, .dutyEnded) }
        dark.release(number, now: clock.now)
    }

    private mutating func end(_ gap: inout Gap) {
        gap.report.closedAt = clock.wallNow
        gap.report.length = clock.observedNow - gap.openedAt
        gap.report.blind = clock.blind(since: gap.gapSince)
        gap.report.silent = clock.now - gap.gapSince
    }

    /// The news of a batch that bear on a verdict.
    struct GapNews {
        /// Locations, fresh and by a believable clock.
        var captured: [(instant: ObservedTime, wall: Timestamp)] = []
        /// Sequences that were taken, each with its install's place among the person's.
        var taken: [(sequence: Int64, install: Int)] = []
        var isReinstalled = false
        var telemetry: Telemetry?
    }

    /// Takes in what a batch brought, after its contact (F26).
    mutating func learn(_ news: GapNews, _ number: Int) {
        guard var gap = gaps[number] else { return }
        gap.report.seen.isReinstalled = gap.report.seen.isReinstalled || news.isReinstalled
        if gap.due != nil { gap.learn(news) }
        gaps[number] = gap
    }

    // MARK: - Verdicts

    /// The earliest instant at which a verdict falls due.
    var nextVerdict: RunningTime { verdicts.first?.at ?? .distantFuture }

    /// Delivers the verdicts that are due, by responder id (F5).
    mutating func settleVerdicts() {
        var due: [Int] = []
        while let first = verdicts.first, first.at <= clock.now {
            _ = verdicts.popFirst()
            if gaps[Int(first.number)]?.due == first.at { due.append(Int(first.number)) }
        }
        guard !due.isEmpty else { return }
        for number in due.sorted(by: roster.precedes) {
            deliverVerdict(number)
            roster[number].hasGap = false
        }
    }

    private mutating func deliverVerdict(_ number: Int) {
        guard let gap = gaps[number] else { return }
        keep(nil, of: number)
        emit(gap, number, .verdict, gap.verdict)
        bookHoles(number)
    }

    private mutating func emit(
        _ gap: Gap, _ number: Int, _ state: GapState, _ verdict: GapVerdict? = nil
    ) {
        var report = gap.report
        report.state = state
        report.verdict = verdict
        if verdict != nil { counters.gaps.evaluate(report) }
        decisions.append(.gap(at: clock.wallNow, number: number, report))
    }
}

extension Gap {
    /// Takes in what a batch brought since the return.
    fileprivate mutating func learn(_ news: Engine.GapNews) {
        for (instant, wall) in news.captured where isInside(instant) {
            let isFirst = report.seen.capturedInside == 0
            report.seen.capturedInside += 1
            report.seen.firstInsideAt = isFirst ? wall : min(report.seen.firstInsideAt, wall)
            report.seen.lastInsideAt = max(report.seen.lastInsideAt, wall)
        }
        for (sequence, install) in news.taken where isContinued(by: sequence, install) {
            report.seen.updates += 1
        }
        if let telemetry = news.telemetry {
            report.seen.isPermissionDenied =
                report.seen.isPermissionDenied || telemetry.isPermissionDenied
            report.seen.areServicesOff = report.seen.areServicesOff || telemetry.areServicesOff
        }
    }
}
