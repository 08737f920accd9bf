/// Evaluates the alerts. Source: Contract/Alerts, F27 to F29.
extension Engine {
    // MARK: - Once an instant

    /// Evaluates what may have changed, once an instant (L12), then tells whoever must be told;
    /// while blind only what is about the watch itself (B4, F9).
    mutating func settleAlerts() {
        alerts.beginEvaluation()
        if !clock.isBlind { settleFlapping() }
        let evaluatesPeople = !clock.isBlind && alerts.isDue(clock.observedNow)
        // Most instants change nothing that somebody is told of.
        guard
            evaluatesPeople || evaluatesRollcall || notifications.isDue
                || alerts.nextRepeat() <= clock.now
                || nextStorm <= clock.now
        else { return }
        var changes = AlertChanges()
        if evaluatesPeople { evaluatePeople(&changes) }
        // Last by name as well.
        if evaluatesRollcall { evaluateRollcall(&changes) }
        describe(&changes)
        for report in changes.reports { decisions.append(.alert(at: clock.wallNow, report)) }
        settleNotices(fired: changes.fired.map { changes.reports[$0].key }, changes.ended)
    }

    /// The earliest instant at which time alone changes an alert that is evaluated in running time.
    var nextRunningAlert: RunningTime {
        alerts.aboutRollcall.isEmpty ? .distantFuture : alerts.nextRunningTimer(policy.alerts)
    }

    /// The changes of one evaluation.
    private struct AlertChanges {
        var reports: [AlertReport] = []
        /// Places of those that fire now.
        var fired: [Int] = []
        var ended: [EndedAlert] = []
    }

    private mutating func evaluate(
        _ key: AlertKey, _ isTrue: Bool, _ stats: AlertStats, now: Int64,
        _ changes: inout AlertChanges
    ) {
        let rule = policy.alerts[key.name]
        guard
            var alert = alerts.evaluate(
                key, isTrue, stats, rule, now: now, wall: clock.wallNow)
        else { return }
        switch alert.state {
        case .firing:
            // From now on they stay as they are, whatever the settings say (A1).
            alert.incident = notifications.takeIncident()
            alert.severity = severity(key, rule)
            alert.labels = labels(key, rule, alert.severity)
            alert.annotations = rule.annotations
            alerts.note(key, alert)
            changes.fired.append(changes.reports.count)
        case .resolved: changes.ended.append((key, alert))
        case .pending, .inactive: alert.severity = severity(key, rule)
        }
        changes.reports.append(AlertReport(key, alert))
    }

    /// Gives those that fire now their facts.
    private mutating func describe(_ changes: inout AlertChanges) {
        guard !changes.fired.isEmpty else { return }
        let facts = facts(of: changes.fired.map { changes.reports[$0].key })
        for (place, facts) in zip(changes.fired, facts) {
            let key = changes.reports[place].key
            guard var alert = alerts[key] else { continue }
            alert.facts = facts
            alerts.note(key, alert)
            changes.reports[place].facts = facts
        }
    }

    /// One source is missed less than all of them (F11).
    private func severity(_ key: AlertKey, _ rule: AlertRules.Rule) -> Severity {
        if case .source = key.subject { .warning } else { rule.severity }
    }

    /// The severity that an alert has, or would have if it fired now.
    package func severity(_ key: AlertKey, _ alert: borrowing Alert) -> Severity {
        alert.state == .firing ? alert.severity : severity(key, policy.alerts[key.name])
    }

    /// All labels of an alert, by name: those of the identity win.
    func labels(_ key: AlertKey, _ rule: AlertRules.Rule, _ severity: Severity) -> [Label] {
        var labels = [
            Label("alertname", key.name.word.bytes), Label("severity", severity.word.bytes),
        ]
        if let name = key.subject.labelName { labels.append(Label(name, key.subject.name)) }
        if key.name == .rollcallDrill { labels.append(Label("drill", Array("true".utf8))) }
        return (labels + rule.labels).ordered()
    }

    /// The labels that an alert has, or would have if it fired now.
    package func labels(_ key: AlertKey, _ alert: Alert) -> [Label] {
        if alert.state == .firing { return alert.labels }
        let rule = policy.alerts[key.name]
        return labels(key, rule, severity(key, rule))
    }

    // MARK: - The watch itself

    /// True if there is something to be said of the watch itself, or was.
    private var evaluatesRollcall: Bool {
        sight.feed.isAnyMissing || clock.open[Int(BlindReason.overload.rawValue)] != nil
            || stall.isSuspected || notifications.wantsWatchdog || !alerts.aboutRollcall.isEmpty
    }

    /// One alert a missing source, one if all are, one if a feed without sources is suspected
    /// (F11); one if writes are refused (B1); and the watchdog, if somebody asked for it (A5).
    private mutating func evaluateRollcall(_ changes: inout AlertChanges) {
        let isOverloaded = clock.open[Int(BlindReason.overload.rawValue)] != nil
        let now = clock.now.milliseconds
        let missing = sight.feed.sources.filter { $0.downSince != nil }
        let stats = AlertStats(count: missing.count, total: sight.feed.sources.count)
        var keys: [AlertKey: Bool] = [:]
        for key in alerts.aboutRollcall { keys[key] = false }
        func isTrue(_ name: AlertName, _ subject: AlertSubject) {
            keys[AlertKey(name: name, subject: subject)] = true
        }
        for source in missing { isTrue(.telemetryFeedDown, .source(source.name)) }
        if sight.feed.isAllMissing { isTrue(.telemetryFeedDown, .all) }
        if stall.isSuspected { isTrue(.telemetryFeedDown, .suspected) }
        if isOverloaded { isTrue(.rollcallOverloaded, .all) }
        if notifications.wantsWatchdog { isTrue(.watchdog, .all) }
        for key in keys.keys.sorted(by: AlertKey.areInOrder) {
            let isOfFeed = key.name == .telemetryFeedDown
            evaluate(
                key, keys[key] ?? false, isOfFeed ? stats : AlertStats(count: 1, total: 1),
                now: now, &changes)
        }
    }

    /// Other receivers: somebody may ask for the watchdog now, or nobody any more.
    mutating func followReceivers() {
        let labels = labels(
            AlertKey(name: .watchdog, subject: .all), policy.alerts[.watchdog], .none)
        notifications.wantsWatchdog = policy.receivers.contains { $0.wants(labels) }
        notifications.isAllDirty = true
    }

    // MARK: - People

    private mutating func evaluatePeople(_ changes: inout AlertChanges) {
        let dirty = alerts.takeDirty()
        var keys = alerts.takeExpired(clock.observedNow) + dirty.keys
        let fleet = AlertKey(name: .highOfflineRate, subject: .all)
        let offline = Int(Status.offline.rawValue)
        if alerts[fleet] != nil
            || isHighOffline(aggregates.byStatus[offline], active: aggregates.active)
        {
            keys.append(fleet)
        }
        for region in dirty.isAll ? Array(0..<UInt32(regions.names.count)) : dirty.regions {
            appendAlerts(of: region, to: &keys)
        }
        if dirty.isAll {
            alerts.forEach { key, _ in
                if !key.name.isAboutRollcall { keys.append(key) }
            }
            for region in policy.coverageRegions where !region.isEmpty {
                keys += AlertName.ofRegions.map { AlertKey(name: $0, subject: .region(region)) }
            }
        }
        keys.sort(by: AlertKey.areInOrder)
        for (place, key) in keys.enumerated() where place == 0 || key != keys[place - 1] {
            evaluatePeople(key, &changes)
        }
    }

    /// The alerts of a region that are there, and those that may begin: mostly none.
    private func appendAlerts(of region: UInt32, to keys: inout [AlertKey]) {
        let name = regions[region]
        guard !name.isEmpty else { return }
        for alert in AlertName.ofRegions {
            let mayBegin =
                switch alert {
                case .highOfflineRate:
                    isHighOffline(
                        aggregates.count(.offline, in: region),
                        active: aggregates.active(in: region))
                case .noOnlineResponders: aggregates.count(.online, in: region) == 0
                default: aggregates.flapping(in: region) > 0
                }
            let key = AlertKey(name: alert, subject: .region(name))
            if mayBegin || alerts[key] != nil { keys.append(key) }
        }
    }

    private mutating func evaluatePeople(_ key: AlertKey, _ changes: inout AlertChanges) {
        let now = clock.observedNow.milliseconds
        let (isTrue, stats) = condition(key)
        evaluate(key, isTrue, stats, now: now, &changes)
    }

    /// True if too many of these are OFFLINE.
    private func isHighOffline(_ offline: Int, active: Int) -> Bool {
        Int64(offline) * 10_000 > policy.alerts.offlineAbove * Int64(active)
            && active >= policy.alerts.offlineMinActive && offline >= policy.alerts.offlineMin
    }

    /// Whether an alert about people is true now, and its numbers.
    func condition(_ key: AlertKey) -> (Bool, AlertStats) {
        let counts = counts(key.subject)
        let active = counts.reduce(0, +)
        let offline = counts[Int(Status.offline.rawValue)]
        switch key.name {
        case .highOfflineRate:
            let isRegion = if case .region = key.subject { true } else { false }
            return (
                isRegion == policy.alerts.isOfflineByRegion
                    && isHighOffline(offline, active: active),
                AlertStats(count: offline, total: active)
            )
        case .noOnlineResponders: return noOnline(key.subject, counts)
        case .responderFlapping:
            let flapping = number(of: key.subject).map { aggregates.flapping(in: $0) } ?? 0
            return (flapping > 0, AlertStats(count: flapping, total: active))
        default: return (false, AlertStats())
        }
    }

    /// Unreachable, or unstaffed where somebody always must be (A4, F29).
    private func noOnline(_ subject: AlertSubject, _ counts: [Int]) -> (Bool, AlertStats) {
        let active = counts.reduce(0, +)
        guard active > 0 else {
            let isCovered = policy.coverageRegions.contains(subject.name)
            return (isCovered && alerts.hasInput, AlertStats())
        }
        let unheard = number(of: subject).map { aggregates.unheard(in: $0) } ?? 0
        let silent =
            counts[Int(Status.degraded.rawValue)] + counts[Int(Status.offline.rawValue)] + unheard
        let isUnreachable = counts[Int(Status.online.rawValue)] == 0 && silent > 0
        return (isUnreachable, AlertStats(count: silent, total: active))
    }

    private func number(of subject: AlertSubject) -> UInt32? {
        if case .region(let name) = subject { regions.known(name) } else { nil }
    }

    /// Active people by status.
    private func counts(_ subject: AlertSubject) -> [Int] {
        guard case .region = subject else { return aggregates.byStatus }
        return number(of: subject).map { aggregates.counts(in: $0) } ?? [0, 0, 0, 0]
    }

    // MARK: - Flapping

    /// Counts a change between ONLINE and OFFLINE, whatever was in between (A3, F28).
    mutating func followLastExtreme(
        _ person: inout Responder, _ number: Int, from: Status, _ origin: Origin
    ) {
        guard person.status == .online || person.status == .offline else { return }
        let isChange = person.lastExtreme.map { $0 != person.status } ?? false
        person.lastExtreme = person.status
        guard isChange, origin == .contact || origin == .deadline,
            !(from == .unknown && person.status == .offline)
        else { return }
        var flapping = flaps[number] ?? Flapping()
        flapping.change(at: clock.observedNow, policy.alerts)
        keepFlapping(flapping, &person, number)
    }

    /// Whoever is no longer expected flaps no longer (F22).
    mutating func clearFlapping(_ person: inout Responder, _ number: Int) {
        person.lastExtreme = nil
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
        _ flapping: inout Flapping, _ number: Int, at due: ObservedTime
    ) {
        guard flapping.armed != due else { return }
        flapping.armed = due
        flapTimers.push(.init(at: due, number: UInt32(number)))
    }

    /// The rules changed, or observed time was set back (B1): everybody who changed lately is
    /// evaluated when the instant closes, or when we can see again (L12, F8).
    mutating func evaluateFlappingAnew() {
        let now = clock.observedNow
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
        let now = clock.observedNow
        while let first = flapTimers.first, first.at <= now {
            _ = flapTimers.popFirst()
            let number = Int(first.number)
            guard var flapping = flaps[number], flapping.armed == first.at else { continue }
            flapping.evaluate(now, policy.alerts)
            edit(number) { engine, person in engine.keepFlapping(flapping, &person, number) }
        }
    }

    /// Other rules hold from now on.
    mutating func changeAlertRules() {
        evaluateFlappingAnew()
        alerts.armAgain(policy.alerts)
        alerts.isAllDirty = true
    }
}
