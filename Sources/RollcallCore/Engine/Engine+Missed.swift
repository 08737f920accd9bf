/// The people whom ResponderOffline counts, and what changes among them. Source: R1.
extension Engine {
    /// Says whether a person is counted after a change, and who left or came back by it.
    mutating func followMissed(from before: Responder, _ person: inout Responder, _ number: Int) {
        // Mostly nobody asks for it, or nothing is the matter.
        guard before.isMissed || policy.alerts.responderOffline.isEnabled,
            before.isMissed || person.status == .offline
        else { return }
        let now = clock.observedNow
        let isMeant = isToBeMissed(person)
        person.isMissed = isMeant && (before.isMissed || missedFrom(person) <= now)
        guard person.isMissed || before.isMissed else {
            let isAwaited =
                isMeant && !(isToBeMissed(before) && missedFrom(before) == missedFrom(person))
            if isAwaited { alerting.awaitMissed(number, at: missedFrom(person)) }
            return
        }
        guard person.isMissed != before.isMissed || person.region != before.region,
            policy.alerts.responderOffline.isEnabled
        else { return }
        let cause = gaps[number]?.report.suspected ?? .unexplained
        let (most, receivers) = (policy.alerts.namesMax, policy.receivers)
        if before.isMissed {
            let absentee = Absentee(
                number: number, cause: cause, absence: now - before.offlineSince,
                isBack: person.isActive && person.status != .offline)
            alerting.board.comeBack(absentee, regions[before.region], most, receivers)
        }
        guard person.isMissed else { return }
        let absentee = Absentee(number: number, cause: cause)
        if !alerting.board.leave(absentee, regions[person.region], most, receivers) {
            noteFirstMissed(number, in: person.region)
        }
    }

    private mutating func noteFirstMissed(_ number: Int, in region: UInt32) {
        let most = policy.alerts.namesMax
        guard most > 0 else { return }
        var first = alerting.firstMissed.removeValue(forKey: region) ?? []
        let place = first.firstIndex { roster.precedes(number, $0) } ?? first.count
        if place < most { first.insert(number, at: place) }
        if first.count > most { first.removeLast() }
        alerting.firstMissed[region] = first
    }

    /// Returns whom an alert that fires now names, by their ids; nil if they are to be looked for.
    func firstMissed(_ key: AlertKey) -> [Int]? {
        guard key.name == .responderOffline, case .region(let name) = key.subject,
            let region = regions.known(name)
        else { return nil }
        let known = (alerting.firstMissed[region] ?? []).filter {
            roster[$0].isMissed && roster[$0].region == region
        }
        let isWhole = known.count >= min(policy.alerts.namesMax, aggregates.missed(in: region))
        return isWhole ? known : nil
    }

    /// True of somebody OFFLINE who is of a duty state and a region that the settings name.
    private func isToBeMissed(_ person: Responder) -> Bool {
        let rules = policy.alerts
        guard person.isActive, person.status == .offline, rules.responderOffline.isEnabled,
            rules.offlineDuties.contains(person.duty)
        else { return false }
        return rules.offlineRegionNames.isEmpty
            || rules.offlineRegionNames.contains(regions[person.region])
    }

    private func missedFrom(_ person: Responder) -> ObservedTime {
        person.offlineSince + policy.alerts.responderOffline.pendingFor
    }

    /// Counts those who were OFFLINE for long enough.
    mutating func settleMissed() {
        let due = alerting.takeMissed(until: clock.observedNow)
        guard !due.isEmpty else { return }
        for number in Set(due).sorted(by: roster.precedes) { edit(number) { _, _ in } }
    }

    /// Waits anew for those who are not counted yet: other rules hold, or observed time was set back.
    mutating func awaitMissedAnew() {
        alerting.stopAwaitingMissed()
        guard policy.alerts.responderOffline.isEnabled else { return }
        for number in 0..<roster.count { awaitMissed(roster[number], number) }
    }

    /// Waits for a person who is not counted yet and may come to be.
    mutating func awaitMissed(_ person: Responder, _ number: Int) {
        guard !person.isMissed, isToBeMissed(person) else { return }
        alerting.awaitMissed(number, at: missedFrom(person))
    }
}
