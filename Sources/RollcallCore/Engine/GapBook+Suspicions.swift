/// The book says what somebody's gap is put down to while it lasts, and notes what is learned of it
/// later. Source: C1, F25, F26.
extension GapBook {
    /// Among whom somebody fell silent.
    struct Peers {
        /// The region's active people.
        var active: Int
        /// The fleet's.
        var fleet: Int
        /// True if the group's members are counted already.
        var areCounted = false
        /// The group of a mass that the fleet cell decided; nil where this watch decides.
        var group: GapGroup?
    }

    /// Among whom an active person fell silent who is not counted while they change.
    static func peers(
        of gap: Gap, _ report: GapReport, _ person: Responder, _ people: People
    ) -> Peers {
        let region = people.region(of: gap, report)
        let own = person.region == region ? 1 : 0
        let others = region.map { people.aggregates.active(in: $0) } ?? 0
        return Peers(active: others + own, fleet: people.aggregates.active + 1)
    }

    /// The news of a batch that bear on a verdict.
    struct News {
        /// Locations, fresh and by a believable clock.
        var captured: [(instant: ObservedTime, wall: Timestamp)] = []
        /// Updates that were taken, each with its install's place among the person's.
        var taken: [(update: Update, install: Int)] = []
        var isReinstalled = false
        var telemetry: Telemetry?
    }

    // MARK: - Masses

    /// True if a gap is one of a mass, as far as this watch decides it: of a cell the fleet cell does (K2).
    func isMass(_ gap: Gap, of peers: Peers, _ policy: Policy) -> Bool {
        policy.role != .cell && MassGaps.isMass(gap.openings, of: peers.active)
    }

    /// The fleet cell says which people fell silent together, in whichever cells: those of them whose gap is
    /// open, and belongs to no group, do. Returns how many.
    mutating func take(
        _ masses: [FleetMass], _ people: inout People, _ policy: Policy, _ clock: ObservationClock,
        _ decisions: inout [Decision]
    ) -> Int {
        let byRegion = Dictionary(
            grouping: masses.map { (mass: $0, instants: $0.instants(clock)) }, by: \.mass.region)
        let all = byRegion.values.flatMap { $0.map(\.instants) }
        let first = all.map(\.lowerBound).min() ?? .distantFuture
        let end = all.map(\.upperBound).max() ?? .distantPast
        var found: [Int: FleetMass] = [:]
        gaps.forEach { number, gap in
            guard gap.due == nil, gap.openedAt >= first, gap.openedAt < end else { return }
            let report = gap.kept.report
            guard report.facts.group == nil else { return }
            found[number] =
                byRegion[report.facts.region]?.first { $0.instants.contains(gap.openedAt) }?.mass
        }
        for number in people.roster.inOrder(Set(found.keys)) {
            guard let mass = found[number] else { continue }
            self.mass.noteGroup(mass.number)
            var peers = Peers(active: mass.active, fleet: people.aggregates.active)
            peers.group = GapGroup(mass)
            evaluateAgain(number, peers, &people, policy, clock, &decisions)
        }
        return found.count
    }

    // MARK: - Evaluation

    /// The facts of a gap as they are, and what it is put down to on them.
    struct Suspicion {
        var facts: GapFacts
        var suspected: GapCause
        /// The cause by the rules, where a likelier one is suspected.
        var ruled: GapCause?
    }

    /// Returns the facts as they are and the first cause that holds on them (C1), or the one that is
    /// likelier by what followed (P7).
    mutating func suspicion(
        of gap: Gap, _ report: GapReport, _ person: Responder, _ number: Int, isMass: Bool,
        _ peers: Peers, _ people: inout People, _ policy: Policy, now: ObservedTime
    ) -> Suspicion {
        var facts = GapFacts()
        facts.lastContactAt = person.lastContactAt
        facts.isHeard = person.isHeard
        facts.telemetry = person.telemetry
        facts.battery = person.battery
        facts.queueDepths = queueDepths[number]?.depths ?? []
        facts.platform = person.platform
        people.describe(person, in: &facts)
        facts.region = report.facts.region
        facts.group = report.facts.group
        if facts.group == nil, isMass || stall.isSuspected {
            facts.group = joinGroup(gap, report, peers, &people, now: now)
        }
        let ruled = Self.cause(facts)
        let likelier = policy.learnsGaps ? past.likelier(than: ruled, facts) : nil
        return Suspicion(
            facts: facts, suspected: likelier ?? ruled, ruled: likelier.map { _ in ruled })
    }

    private mutating func joinGroup(
        _ gap: Gap, _ report: GapReport, _ peers: Peers, _ people: inout People, now: ObservedTime
    ) -> GapGroup {
        var group = GapGroup()
        if stall.isSuspected {
            group.isFeed = true
            group.id = stall.group
            group.members = stall.join()
            group.active = peers.fleet
        } else if let decided = peers.group {
            return decided
        } else {
            let region = people.region(of: gap, report) ?? .max
            hold(region, &people.regions, now: now)
            (group.id, group.members) = mass.join(
                region, openings: gap.openings, isCounted: peers.areCounted,
                now: now)
            group.active = peers.active
        }
        return group
    }

    private static func cause(_ facts: GapFacts) -> GapCause {
        let telemetry = facts.telemetry
        if telemetry.isPermissionDenied { return .permissionDenied }
        if telemetry.areServicesOff { return .locationServicesOff }
        if telemetry.hasNoNetwork || QueueDepths.areRising(facts.queueDepths) { return .noNetwork }
        if facts.battery >= 0, facts.battery <= GapFacts.batteryEmpty { return .batteryEmpty }
        if telemetry.isLowPower { return .lowPower }
        if facts.group != nil { return .massGap }
        if telemetry.isInBackground || telemetry.isSuspended { return .appSuspended }
        if telemetry.isInForeground || telemetry.isTerminated { return .appTerminated }
        return facts.isHeard ? .unexplained : .neverHeard
    }
}

extension GapReport {
    /// Takes over what the gap is put down to now.
    mutating func take(_ suspicion: consuming GapBook.Suspicion) {
        suspected = suspicion.suspected
        ruled = suspicion.ruled
        facts = suspicion.facts
    }
}

extension Gap {
    /// Takes in what a batch brought since the return.
    mutating func learn(_ news: GapBook.News) {
        var report = report
        defer { self.report = report }
        for (instant, wall) in news.captured where isInside(instant) {
            let isFirst = report.seen.capturedInside == 0
            report.seen.capturedInside += 1
            report.seen.firstInsideAt = isFirst ? wall : min(report.seen.firstInsideAt, wall)
            report.seen.lastInsideAt = max(report.seen.lastInsideAt, wall)
        }
        for (update, install) in news.taken where heights.isContinued(by: update, install) {
            report.seen.updates += 1
        }
        if let telemetry = news.telemetry {
            report.seen.isPermissionDenied =
                report.seen.isPermissionDenied || telemetry.isPermissionDenied
            report.seen.areServicesOff = report.seen.areServicesOff || telemetry.areServicesOff
        }
    }
}
