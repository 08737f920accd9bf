/// The facts that an alert which fires states: numbers, limits, causes, people. Source: A2 to A5.
extension Engine {
    /// The facts found out about the people of one alert.
    private struct GroupCount {
        var causes = [Int](repeating: 0, count: GapCause.allCases.count)
        /// Numbers by the people's ids, so many at most.
        var people: [Int] = []
    }

    /// Describes alerts that fire now: everybody is looked at once, however many fire.
    ///
    /// In the order of `keys`.
    func facts(of keys: [AlertKey]) -> [AlertFacts] {
        var groups = keys.map { _ in GroupCount() }
        if policy.role == .fleet { return keys.map { facts($0, GroupCount()) } }
        let known = keys.map(firstMissed)
        if zip(keys, known).contains(where: { !$0.name.isAboutRollcall && $1 == nil }) {
            gather(keys, &groups)
        }
        for (place, people) in known.enumerated() {
            if let people { groups[place].people = people }
        }
        return zip(keys, groups).map { facts($0, $1) }
    }

    private func gather(_ keys: [AlertKey], _ groups: inout [GroupCount]) {
        // By region, so that a million people do not look up names: the place of the first alert of a
        // region, and behind each the place of the next one; -1 where there is none.
        var first = [Int32](repeating: -1, count: regions.names.count)
        var next = [Int32](repeating: -1, count: keys.count)
        var ofAll: [Int] = []
        for (place, key) in keys.enumerated() where !key.name.isAboutRollcall {
            guard case .region(let name) = key.subject else {
                ofAll.append(place)
                continue
            }
            guard let number = regions.known(name) else { continue }
            next[place] = first[Int(number)]
            first[Int(number)] = Int32(place)
        }
        for number in 0..<roster.count {
            let person = roster[number]
            guard person.isActive, person.status != .online || person.isFlapping else { continue }
            for place in ofAll { note(number, person, keys[place], &groups[place]) }
            var place = Int(first[Int(person.region)])
            while place >= 0 {
                note(number, person, keys[place], &groups[place])
                place = Int(next[place])
            }
        }
    }

    private func note(
        _ number: Int, _ person: Responder, _ key: AlertKey, _ group: inout GroupCount
    ) {
        let isMeant: Bool
        switch key.name {
        case .responderFlapping: isMeant = person.isFlapping
        case .highOfflineRate: isMeant = person.status == .offline
        case .noOnlineResponders: isMeant = person.status != .online
        case .responderOffline: isMeant = person.isMissed
        case .cellDark, .fleetDark, .rollcallDrill, .rollcallOverloaded, .rollcallStateLost,
            .rollcallStoreFailing, .rollcallUnsteady, .telemetryFeedDown, .watchdog:
            isMeant = false
        }
        guard isMeant else { return }
        // Of ResponderOffline each person has their own.
        if key.name != .responderOffline, let gap = gaps[number], person.hasGap {
            group.causes[Int(gap.report.suspected.rawValue)] += 1
        }
        let most = policy.alerts.namesMax
        guard most > 0 else { return }
        let place = group.people.firstIndex { roster.precedes(number, $0) } ?? group.people.count
        guard place < most else { return }
        group.people.insert(number, at: place)
        if group.people.count > most { group.people.removeLast() }
    }

    private func facts(_ key: AlertKey, _ group: GroupCount) -> AlertFacts {
        let rules = policy.alerts
        var facts = AlertFacts()
        facts.stats = alerting.board[key]?.stats ?? AlertStats()
        facts.span = rules[key.name].pendingFor
        facts.people = group.people
        if key.name == .responderOffline {
            facts.memberCauses = group.people.map { gaps[$0]?.report.suspected ?? .unexplained }
        }
        let causes =
            policy.role == .fleet
            ? causesOfCells(key)
            : GapCause.allCases.map {
                AlertFacts.Cause(cause: $0, count: group.causes[Int($0.rawValue)])
            }
        facts.causes = causes.filter { $0.count > 0 }
        // Stable: ties stay in the order in which causes are tried.
        facts.causes.sort { $0.count > $1.count }
        facts.causes.removeLast(max(0, facts.causes.count - AlertFacts.causesMax))
        switch key.name {
        case .highOfflineRate: facts.limit = rules.offlineAbove
        case .responderFlapping:
            facts.limit = Int64(rules.flappingChanges)
            facts.span = rules.flappingWindow
        case .noOnlineResponders: facts.isUnstaffed = facts.stats.total == 0
        case .responderOffline: facts.span = rules.responderOffline.pendingFor
        case .telemetryFeedDown:
            facts.sources = sight.feed.sources.filter { $0.downSince != nil }.map(\.name)
        default: break
        }
        if !key.name.isAboutRollcall || key.name == .telemetryFeedDown {
            facts.lastBatchAt = lastBatchIfLongAgo
        }
        return facts
    }

    /// Since when nobody sent a batch, if that is long for a fleet like this (F12).
    private var lastBatchIfLongAgo: Timestamp? {
        guard let last = counters.lastBatchAt, clock.wallNow - last >= policy.onDuty.offlineAfter
        else { return nil }
        return last
    }
}
