/// Judges the alerts. Source: design §6, fine print F27 to F29.
extension Engine {
    // MARK: - Once an instant

    /// Judges what may have changed, once an instant (L12); while blind only the feed's own alert
    /// (B4, F9).
    mutating func settleAlerts() {
        var reports: [AlertReport] = []
        alerts.beginJudging()
        if !watch.isBlind {
            settleFlapping()
            judgePeople(&reports)
        }
        // Last by name as well.
        judgeFeed(&reports)
        for report in reports { decisions.append(.alert(at: watch.wallNow, report)) }
    }

    /// When time alone next changes an alert; the second is only for when we can see.
    var nextFeedAlert: RunningTime { alerts.nextFeedTimer(policy.alerts.telemetryFeedDown) }

    private mutating func judge(
        _ key: AlertKey, _ isTrue: Bool, _ figures: AlertFigures, now: Int64,
        _ reports: inout [AlertReport]
    ) {
        let rule = policy.alerts[key.name]
        guard
            let alert = alerts.judge(
                key, isTrue, figures, rule, now: now, wall: watch.wallNow)
        else { return }
        let isOfOneSource = if case .source = key.subject { true } else { false }
        reports.append(
            AlertReport(
                key: key, state: alert.state, severity: isOfOneSource ? .warning : rule.severity,
                activeAt: alert.activeAt, startsAt: alert.startsAt, figures: alert.figures))
    }

    // MARK: - The feed

    /// One alert a missing source, one if all are, one if a feed without sources is suspected
    /// (F11).
    private mutating func judgeFeed(_ reports: inout [AlertReport]) {
        let name = AlertName.telemetryFeedDown
        let now = watch.now.milliseconds
        let missing = feed.sources.filter { $0.downSince != nil }
        let figures = AlertFigures(count: missing.count, total: feed.sources.count)
        var subjects: [AlertSubject: Bool] = [:]
        for (key, _) in alerts.all where key.name == name { subjects[key.subject] = false }
        for source in missing { subjects[.source(source.name)] = true }
        if feed.isAllMissing { subjects[.all] = true }
        if stall.isSuspected { subjects[.suspected] = true }
        let keys = subjects.keys.map { AlertKey(name: name, subject: $0) }
        for key in keys.sorted(by: AlertKey.areInOrder) {
            judge(key, subjects[key.subject] ?? false, figures, now: now, &reports)
        }
    }

    // MARK: - People

    private mutating func judgePeople(_ reports: inout [AlertReport]) {
        let dirty = alerts.takeDirty()
        let expired = alerts.takeExpired(watch.watchedNow)
        guard dirty.isAll || !dirty.regions.isEmpty || !expired.isEmpty else { return }
        var keys = Set(expired)
        keys.insert(.init(name: .highOfflineRate, subject: .all))
        for region in dirty.isAll ? Set(0..<UInt32(regions.names.count)) : dirty.regions {
            keys.formUnion(regionAlerts(regions[region]))
        }
        if dirty.isAll {
            for (key, _) in alerts.all where key.name != .telemetryFeedDown { keys.insert(key) }
            for region in policy.coverageRegions { keys.formUnion(regionAlerts(region)) }
        }
        for key in keys.sorted(by: AlertKey.areInOrder) { judgePeople(key, &reports) }
    }

    private func regionAlerts(_ region: [UInt8]) -> [AlertKey] {
        guard !region.isEmpty else { return [] }
        return [.highOfflineRate, .noOnlineResponders, .responderFlapping].map {
            AlertKey(name: $0, subject: .region(region))
        }
    }

    private mutating func judgePeople(_ key: AlertKey, _ reports: inout [AlertReport]) {
        let now = watch.watchedNow.milliseconds
        let (isTrue, figures) = condition(key)
        judge(key, isTrue, figures, now: now, &reports)
    }

    private func condition(_ key: AlertKey) -> (Bool, AlertFigures) {
        let rules = policy.alerts
        let counts = counts(key.subject)
        let active = counts.reduce(0, +)
        let offline = counts[Int(Status.offline.rawValue)]
        switch key.name {
        case .highOfflineRate:
            let isRegion = if case .region = key.subject { true } else { false }
            let isHigh = Int64(offline) * 10_000 > rules.offlineAbove * Int64(active)
            let isEnough = active >= rules.offlineMinActive && offline >= rules.offlineMin
            return (
                isRegion == rules.isOfflineByRegion && isHigh && isEnough,
                AlertFigures(count: offline, total: active)
            )
        case .noOnlineResponders: return noOnline(key.subject, counts)
        case .responderFlapping:
            let flapping = number(of: key.subject).map { tally.flapping(in: $0) } ?? 0
            return (flapping > 0, AlertFigures(count: flapping, total: active))
        case .telemetryFeedDown: return (false, AlertFigures())
        }
    }

    /// Unreachable, or unstaffed where somebody always must be (A4, F29).
    private func noOnline(_ subject: AlertSubject, _ counts: [Int]) -> (Bool, AlertFigures) {
        let active = counts.reduce(0, +)
        guard active > 0 else {
            let isCovered = policy.coverageRegions.contains(subject.name)
            return (isCovered && alerts.hasInput, AlertFigures())
        }
        let unheard = number(of: subject).map { tally.unheard(in: $0) } ?? 0
        let silent =
            counts[Int(Status.degraded.rawValue)] + counts[Int(Status.offline.rawValue)] + unheard
        let isUnreachable = counts[Int(Status.online.rawValue)] == 0 && silent > 0
        return (isUnreachable, AlertFigures(count: silent, total: active))
    }

    private func number(of subject: AlertSubject) -> UInt32? {
        if case .region(let name) = subject { regions.known(name) } else { nil }
    }

    /// Active people by status.
    private func counts(_ subject: AlertSubject) -> [Int] {
        guard case .region = subject else { return tally.byStatus }
        return number(of: subject).map { tally.counts(in: $0) } ?? [0, 0, 0, 0]
    }

    // MARK: - Flapping

    /// Counts a change between ONLINE and OFFLINE, whatever was in between (A3, F28).
    mutating func followPole(
        _ person: inout Responder, _ number: Int, from: Status, _ origin: Origin
    ) {
        guard person.status == .online || person.status == .offline else { return }
        let isChange = person.pole.map { $0 != person.status } ?? false
        person.pole = person.status
        guard isChange, origin == .contact || origin == .deadline,
            !(from == .unknown && person.status == .offline)
        else { return }
        var flapping = flaps[number] ?? Flapping()
        flapping.change(at: watch.watchedNow, policy.alerts)
        keepFlapping(flapping, &person, number)
    }

    /// Whoever is no longer expected flaps no longer (F22).
    mutating func clearFlapping(_ person: inout Responder, _ number: Int) {
        person.pole = nil
        person.isFlapping = false
        flaps[number] = nil
    }

    private mutating func keepFlapping(
        _ flapping: Flapping, _ person: inout Responder, _ number: Int
    ) {
        var flapping = flapping
        person.isFlapping = flapping.isFlapping
        guard !flapping.changes.isEmpty else { return flaps[number] = nil }
        armFlapping(&flapping, number, at: flapping.due(policy.alerts))
        flaps[number] = flapping
    }

    private mutating func armFlapping(
        _ flapping: inout Flapping, _ number: Int, at due: WatchedTime
    ) {
        guard flapping.armed != due else { return }
        flapping.armed = due
        flapTimers.push(.init(at: due, number: UInt32(number)))
    }

    /// The rules changed, or watched time was set back (B1): everybody who changed lately is judged
    /// when the instant closes, or when we can see again (L12, F8).
    mutating func judgeFlappingAnew() {
        let now = watch.watchedNow
        var numbers: [Int] = []
        flaps.forEach { number, _ in numbers.append(number) }
        for number in numbers {
            guard var flapping = flaps[number] else { continue }
            flapping.clampInstants(to: now)
            armFlapping(&flapping, number, at: now)
            flaps[number] = flapping
        }
    }

    /// Lets changes go that are older than the window.
    private mutating func settleFlapping() {
        let now = watch.watchedNow
        while let first = flapTimers.first, first.at <= now {
            _ = flapTimers.popFirst()
            let number = Int(first.number)
            guard var flapping = flaps[number], flapping.armed == first.at else { continue }
            flapping.judge(now, policy.alerts)
            edit(number) { engine, person in engine.keepFlapping(flapping, &person, number) }
        }
    }

    /// Other rules hold from now on.
    mutating func changeAlertRules() {
        judgeFlappingAnew()
        alerts.armAgain(policy.alerts)
        alerts.isAllDirty = true
    }
}
