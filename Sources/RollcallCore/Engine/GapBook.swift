/// The book of gaps: the reasons why the silent are silent, suspicions, verdicts. Source:
/// Contract/Gaps, F24 to F26.
///
/// It is told who fell silent and who is back, among whom, and by which settings and clock; what it
/// decides it counts, and writes among the decisions. It changes no person but the one it is given.
package struct GapBook: Sendable {
    /// The gaps that are open or wait for their verdict.
    private(set) var gaps = SideTable<Gap>()
    /// The instants at which verdicts fall due.
    private var verdicts = DeadlineQueue<RunningTime>()
    var queueDepths = SideTable<QueueDepths>()
    var mass = MassGaps()
    var dark = DarkBook()
    /// The outcomes of the gaps before (P7).
    package internal(set) var past = PastGaps()
    package internal(set) var stall = Stall()
    /// The number that the next gap that counts gets.
    var nextNumber: Int64 = 1
    /// True of a cell: to note of whom something else is suspected than before, and who falls silent.
    var isOfCell = false { didSet { mass.notesSilent = isOfCell } }
    /// Those people, with what was suspected before, since somebody asked.
    private var suspicions: [(number: Int, before: GapCause)] = []

    init() {}

    /// The gap of person `number` that is open or waits for its verdict.
    @inline(__always)
    subscript(number: Int) -> Gap? { gaps[number] }

    /// Returns what is suspected of person `number`; nil without a gap.
    @inline(__always)
    func cause(of number: Int) -> GapCause? { gaps.read(number) { $0.kept.report.suspected } }

    /// Takes those of whom something else is suspected since the last time.
    mutating func takeSuspicions() -> [(number: Int, before: GapCause)] {
        if suspicions.isEmpty { return [] }
        defer { suspicions = [] }
        return suspicions
    }

    /// All of them, as they are now.
    var byNumber: SideTable<Gap> { gaps }

    /// From the return to the verdict, by running time (F26).
    private static let verdictAfter = Milliseconds.seconds(120)

    /// A status changed, and was told: opens a gap or evaluates the one that is open (F24, F25).
    mutating func follow(
        _ person: inout Responder, _ number: Int, from: Status, _ origin: Origin,
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        let status = person.status
        if person.hasGap, gaps.read(number, { $0.due == nil }) == true {
            if status == .offline, let gap = gaps[number] {
                evaluateOffline(
                    gap, person, number, &people, policy, clock, &counters, &decisions)
            }
            return
        }
        let isLate = from == .online && status != .online
        guard origin == .deadline || origin == .server,
            isLate || from == .unknown && status == .offline
        else { return }
        open(&person, number, &people, policy, clock, &counters, &decisions)
    }

    private mutating func open(
        _ person: inout Responder, _ number: Int,
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        // A new gap first delivers the old one's verdict (F26).
        if person.hasGap { deliverVerdict(number, &people, policy, clock, &counters, &decisions) }
        person.hasGap = true
        let now = clock.observedNow
        var gap = Gap()
        gap.openedAt = now
        gap.gapSince =
            person.isHeard ? person.contactFolded : clock.wasRunning(at: person.activeSince)
        gap.region = person.region
        hold(person.region, &people.regions, now: now)
        var report = GapReport()
        report.openedAt = clock.wallNow
        (gap.openings, report.facts.region) = mass.open(
            number, in: person.region, people.regions, now: now)
        gap.serial = mass.openings
        var peers = Self.peers(of: gap, report, person, people)
        let isMass = isMass(gap, of: peers, policy)
        let isNew = mass.isNew(gap.region, now: now)
        report.take(
            suspicion(
                of: gap, report, person, number, isMass: isMass, peers, &people, policy, now: now))
        report.firstSuspected = report.suspected
        if person.status == .offline { count(&report, of: gap, clock, &counters.gaps) }
        gap.report = report
        Self.emit(gap, number, .open, clock, &decisions)
        let region = gap.region
        keep(gap, of: number, &people)
        guard isMass else { return }
        let alone = mass.takeAlone(region).filter { other in
            // Whoever opened another gap since then, elsewhere, fell silent there.
            other != number && gaps.read(other) { $0.region } == region
        }
        // Whoever forms a group counts those before them.
        peers.areCounted = isNew
        for other in people.roster.inOrder(Set(alone)) {
            evaluateAgain(other, peers, &people, policy, clock, &decisions)
        }
    }

    /// The suspicion is looked at again at OFFLINE; from then on the gap counts (C1).
    private mutating func evaluateOffline(
        _ gap: Gap, _ person: Responder, _ number: Int,
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        var gap = gap
        var report = gap.report
        let peers = Self.peers(of: gap, report, person, people)
        let isMass = isMass(gap, of: peers, policy)
        report.take(
            suspicion(
                of: gap, report, person, number, isMass: isMass, peers, &people, policy,
                now: clock.observedNow))
        count(&report, of: gap, clock, &counters.gaps)
        gap.report = report
        Self.emit(gap, number, .evaluated, clock, &decisions)
        keep(gap, of: number, &people)
    }

    /// Somebody who fell silent before: a mass makes them its own (F25).
    mutating func evaluateAgain(
        _ number: Int, _ peers: Peers, _ people: inout People, _ policy: Policy,
        _ clock: ObservationClock, _ decisions: inout [Decision]
    ) {
        let isAlone = gaps.read(number) { $0.due == nil && $0.kept.report.facts.group == nil }
        guard isAlone == true else { return }
        // It is moved and not copied: there may be a hundred thousand.
        var gap = Gap()
        _ = gaps.change(number) { swap(&$0, &gap) }
        var report = gap.report
        let suspicion = suspicion(
            of: gap, report, people.roster[number], number, isMass: true, peers, &people, policy,
            now: clock.observedNow)
        if suspicion.suspected == .massGap {
            let (before, suspected) = (gap.openCause, report.suspected)
            report.take(suspicion)
            gap.report = report
            people.aggregates.openGaps.change(from: before, to: gap.openCause)
            if suspected != .massGap {
                if isOfCell { suspicions.append((number, suspected)) }
                Self.emit(gap, number, .evaluated, clock, &decisions)
            }
        } else {
            // An earlier cause stays: only what changes the suspicion is looked at here (F25).
            report.facts.group = suspicion.facts.group
            gap.report = report
        }
        _ = gaps.change(number) { swap(&$0, &gap) }
    }

    /// The feed is suspected: what opened since its last batch is put down to it (B3, F25).
    mutating func suspectFeed(
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ decisions: inout [Decision]
    ) {
        stall.begin(group: mass.takeGroup())
        var silent: [Int] = []
        gaps.forEach { number, gap in
            if gap.due == nil, gap.serial > stall.openings { silent.append(number) }
        }
        let active = people.aggregates.active
        let peers = Peers(active: active, fleet: active)
        for number in people.roster.inOrder(silent) {
            evaluateAgain(number, peers, &people, policy, clock, &decisions)
        }
    }

    /// The instant at which a feed without sources is to be suspected if no batch comes (B3).
    @inline(__always)
    func nextStall(_ policy: Policy) -> RunningTime {
        guard let lastBatch = stall.awaited(from: policy.feedMinActive) else {
            return .distantFuture
        }
        return lastBatch + max(policy.feedStallAfter, stall.spacing(policy))
    }

    /// A batch came, whatever became of it.
    @inline(__always)
    mutating func noteBatch(_ aggregates: Aggregates, _ clock: ObservationClock) {
        stall.batch(aggregates, clock, openings: mass.openings)
    }

    /// Keeps what somebody's gap is now, and counts it if it is open; nil is none.
    mutating func keep(_ gap: consuming Gap?, of number: Int, _ people: inout People) {
        let before = gaps.read(number) { $0.openCause } ?? nil
        people.aggregates.openGaps.change(from: before, to: gap?.openCause)
        gaps[number] = consume gap
    }

    // MARK: - Counting

    /// From OFFLINE on a gap counts. One of which too much was blind is held against nobody: it is
    /// counted apart (D5).
    private mutating func count(
        _ report: inout GapReport, of gap: Gap, _ clock: ObservationClock,
        _ counters: inout GapCounters
    ) {
        guard report.number == 0 else { return }
        report.number = nextNumber
        nextNumber += 1
        report.offlineAt = clock.wallNow
        report.blind = clock.blind(since: gap.gapSince)
        report.silent = clock.now - gap.gapSince
        counters.count(report)
    }

    // MARK: - Return

    /// A contact left the person ONLINE: the gap is over, and what comes within two minutes tells
    /// what it was (F24, F26). `previous` is the last contact before, `heights` the newest that was
    /// taken before it.
    mutating func close(
        _ person: inout Responder, _ number: Int, previous: ObservedTime, at instant: ObservedTime,
        heights: Heights, _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        guard var gap = gaps[number], gap.due == nil else { return }
        gap.insideFrom = previous
        gap.returnedAt = instant
        gap.expected = policy.profile(person).expected.scaled(by: person.factor)
        gap.due = clock.now + Self.verdictAfter
        gap.heights = heights
        var report = Self.ended(gap, clock)
        report.seen.at = clock.wallNow
        gap.report = report
        Self.emit(gap, number, .closed, clock, &decisions)
        if gap.isCounted, let due = gap.due {
            keep(gap, of: number, &people)
            verdicts.push(.init(at: due, number: UInt32(number)))
        } else {
            keep(nil, of: number, &people)
            person.hasGap = false
            dark.release(number, now: clock.now)
        }
    }

    /// The person is no longer expected (F24).
    mutating func abandon(
        _ person: inout Responder, _ number: Int, _ people: inout People,
        _ clock: ObservationClock, _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        guard var gap = gaps[number], gap.due == nil else { return }
        gap.report = Self.ended(gap, clock)
        keep(nil, of: number, &people)
        person.hasGap = false
        Self.emit(gap, number, .closed, clock, &decisions)
        if gap.isCounted {
            emitVerdict(.dutyEnded, of: gap, number, clock, &counters.gaps, &decisions)
        }
        dark.release(number, now: clock.now)
    }

    private static func ended(_ gap: Gap, _ clock: ObservationClock) -> GapReport {
        var report = gap.report
        report.closedAt = clock.wallNow
        report.length = clock.observedNow - gap.openedAt
        report.blind = clock.blind(since: gap.gapSince)
        report.silent = clock.now - gap.gapSince
        return report
    }

    /// Takes in what a batch brought, after its contact (F26).
    mutating func learn(_ news: News, _ number: Int) {
        guard var gap = gaps[number] else { return }
        if news.isReinstalled { gap.report.seen.isReinstalled = true }
        if gap.due != nil { gap.learn(news) }
        gaps[number] = gap
    }

    // MARK: - Verdicts

    /// The earliest instant at which a verdict falls due.
    var nextVerdict: RunningTime { verdicts.first?.at ?? .distantFuture }

    /// Delivers the verdicts that are due, by responder id (F5); returns those whose gap is over with
    /// it.
    mutating func deliverVerdicts(
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) -> [Int] {
        var due: [Int] = []
        while let first = verdicts.first, first.at <= clock.now {
            _ = verdicts.popFirst()
            if gaps[Int(first.number)]?.due == first.at { due.append(Int(first.number)) }
        }
        guard !due.isEmpty else { return [] }
        due.sort(by: people.roster.precedes)
        for number in due { deliverVerdict(number, &people, policy, clock, &counters, &decisions) }
        return due
    }

    private mutating func deliverVerdict(
        _ number: Int,
        _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ counters: inout Counters, _ decisions: inout [Decision]
    ) {
        guard let gap = gaps[number] else { return }
        keep(nil, of: number, &people)
        emitVerdict(gap.verdict, of: gap, number, clock, &counters.gaps, &decisions)
        bookHoles(number, people, policy, clock, &counters.dark)
    }

    private static func emit(
        _ gap: Gap, _ number: Int, _ state: GapState, _ clock: ObservationClock,
        _ decisions: inout [Decision]
    ) {
        decisions.append(
            .gap(at: clock.wallNow, number: number, GapDecision(gap.kept, state)))
    }

    private mutating func emitVerdict(
        _ verdict: GapVerdict, of gap: Gap, _ number: Int, _ clock: ObservationClock,
        _ counters: inout GapCounters, _ decisions: inout [Decision]
    ) {
        var report = gap.report
        report.state = .verdict
        report.verdict = verdict
        counters.evaluate(report)
        past.note(report, now: clock.now)
        decisions.append(.gap(at: clock.wallNow, number: number, GapDecision(report)))
    }

    // MARK: - Beside the gaps

    /// A region in which people fall silent keeps its number as long as that is remembered (C1).
    mutating func hold(_ region: UInt32, _ regions: inout NameTable, now: ObservedTime) {
        for gone in mass.clean(now) where gone != .max { regions.leave(gone) }
        if region != .max, !mass.knows(region) { regions.use(region) }
    }

    /// Everybody is back from a checkpoint: the regions that are remembered are in use.
    mutating func restoreRegions(_ regions: inout NameTable) {
        for region in mass.regionsHeld {
            if Int(region) < regions.names.count {
                regions.use(region)
            } else if region != .max {
                mass.drop(region)
            }
        }
    }

    /// Puts back somebody's gap.
    mutating func restore(_ gap: Gap, _ number: Int, _ people: inout People) {
        keep(gap, of: number, &people)
        if let due = gap.due { verdicts.push(.init(at: due, number: UInt32(number))) }
    }

    /// A person is erased.
    mutating func forget(_ number: Int, _ people: inout People) {
        keep(nil, of: number, &people)
        queueDepths[number] = nil
        dark.forget(number)
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        queueDepths.changeAll { $0.clampInstants(to: now) }
        gaps.changeAll { $0.clampInstants(to: now) }
        dark.clampInstants(to: now)
        mass.clampInstants(to: now)
    }
}
