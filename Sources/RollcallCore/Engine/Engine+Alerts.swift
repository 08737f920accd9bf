/// Evaluates the alerting.board. Source: Contract/Alerts, F27 to F29.
extension Engine {
    // MARK: - Once an instant

    /// Evaluates what may have changed, once an instant (L12), then tells whoever must be told;
    /// while blind only what is about the watch itself (B4, F9).
    mutating func settleAlerts() {
        alerting.board.beginEvaluation()
        if !clock.isBlind {
            settleFlapping()
            settleMissed()
        }
        if policy.role == .cell {
            report.note(
                isBlind: clock.isBlind, hasInput: alerting.board.hasInput, at: clock.wallNow)
        }
        let evaluatesPeople = !clock.isBlind && alerting.board.isDue(clock.observedNow)
        // Most instants change nothing that somebody is told of.
        guard
            evaluatesPeople || evaluatesRollcall || alerting.notifications.isDue
                || alerting.board.nextRepeat() <= clock.now
                || alerting.nextStorm(policy.receivers) <= clock.now
        else { return }
        var changes = AlertChanges()
        if evaluatesPeople { evaluatePeople(&changes) }
        // Last by name as well.
        if evaluatesRollcall { evaluateRollcall(&changes) }
        describe(&changes)
        if evaluatesPeople { alerting.firstMissed = [:] }
        for report in changes.reports { decisions.append(.alert(at: clock.wallNow, report)) }
        alerting.settleNotices(
            fired: changes.fired.map { changes.reports[$0].key }, changes.ended,
            AlertContext(policy, clock), &counters.notifications, &decisions)
    }

    /// The earliest instant at which time alone changes an alert that is evaluated in running time.
    var nextRunningAlert: RunningTime {
        alerting.board.aboutRollcall.isEmpty
            ? .distantFuture : alerting.board.nextRunningTimer(policy.alerts)
    }

    /// The changes of one evaluation.
    private struct AlertChanges {
        var reports: [AlertReport] = []
        /// Places of those that fire now.
        var fired: [Int] = []
        var ended: [Alerting.EndedAlert] = []
    }

    private mutating func evaluate(
        _ key: AlertKey, _ isTrue: Bool, _ stats: AlertStats, now: Int64,
        _ changes: inout AlertChanges
    ) {
        let rule = policy.alerts[key.name]
        alerting.board.note(stats, of: key)
        guard
            var alert = alerting.board.evaluate(
                key, isTrue, stats, rule, now: now, wall: clock.wallNow)
        else { return }
        switch alert.state {
        case .firing:
            // From now on they stay as they are, whatever the settings say (A1).
            alert.incident = alerting.notifications.takeIncident()
            alert.firedAt = clock.now
            alert.turnover.stats = stats
            alert.severity = key.severity(rule)
            alert.labels = key.labels(rule, alert.severity, of: alerting.cell)
            alert.annotations = rule.annotations
            alerting.board.note(key, alert)
            changes.fired.append(changes.reports.count)
        case .resolved: changes.ended.append((key, alert, stats))
        case .pending, .inactive: alert.severity = key.severity(rule)
        }
        changes.reports.append(AlertReport(key, alert))
    }

    /// Gives those that fire now their facts.
    private mutating func describe(_ changes: inout AlertChanges) {
        guard !changes.fired.isEmpty else { return }
        let facts = facts(of: changes.fired.map { changes.reports[$0].key })
        for (place, facts) in zip(changes.fired, facts) {
            let key = changes.reports[place].key
            guard var alert = alerting.board[key] else { continue }
            alert.facts = facts
            alerting.board.note(key, alert)
            changes.reports[place].facts = facts
        }
    }

    /// The severity that an alert has, or would have if it fired now.
    package func severity(_ key: AlertKey, _ alert: borrowing Alert) -> Severity {
        alert.state == .firing ? alert.severity : key.severity(policy.alerts[key.name])
    }

    /// The labels that an alert has, or would have if it fired now.
    package func labels(_ key: AlertKey, _ alert: Alert) -> [Label] {
        if alert.state == .firing { return alert.labels }
        let rule = policy.alerts[key.name]
        return key.labels(rule, key.severity(rule), of: alerting.cell)
    }

    // MARK: - The watch itself

    /// True if there is something to be said of the watch itself, or was.
    private var evaluatesRollcall: Bool {
        sight.feed.isAnyMissing || clock.open[Int(BlindReason.overload.rawValue)] != nil
            || gaps.stall.isSuspected || alerting.notifications.wantsWatchdog
            || liveness.reigns.steadyFrom(clock.now) != nil || cells.isAnyDark
            || isFleetCellDark
            || !alerting.board.aboutRollcall.isEmpty
    }

    /// One alert a missing source, one if all are, one if a feed without sources is suspected
    /// (F11); one if writes are refused (B1); and the watchdog, if somebody asked for it (A5).
    private mutating func evaluateRollcall(_ changes: inout AlertChanges) {
        let isOverloaded = clock.open[Int(BlindReason.overload.rawValue)] != nil
        let now = clock.now.milliseconds
        let missing = sight.feed.sources.filter { $0.downSince != nil }
        let stats = AlertStats(count: missing.count, total: sight.feed.sources.count)
        var keys: [AlertKey: Bool] = [:]
        for key in alerting.board.aboutRollcall { keys[key] = false }
        func isTrue(_ name: AlertName, _ subject: AlertSubject) {
            keys[AlertKey(name: name, subject: subject)] = true
        }
        for source in missing { isTrue(.telemetryFeedDown, .source(source.name)) }
        if sight.feed.isAllMissing { isTrue(.telemetryFeedDown, .all) }
        if gaps.stall.isSuspected { isTrue(.telemetryFeedDown, .suspected) }
        for cell in cells.cells where cell.isDark { isTrue(.cellDark, .cell(cell.name)) }
        if isFleetCellDark { isTrue(.fleetDark, .all) }
        if isOverloaded { isTrue(.rollcallOverloaded, .all) }
        if liveness.reigns.steadyFrom(clock.now) != nil { isTrue(.rollcallUnsteady, .all) }
        if alerting.notifications.wantsWatchdog { isTrue(.watchdog, .all) }
        for key in keys.keys.sorted(by: AlertKey.areInOrder)
        where key.name.isEvaluated(by: policy.role) || alerting.board[key] != nil {
            let isOfFeed = key.name == .telemetryFeedDown
            evaluate(
                key, keys[key] ?? false && key.name.isEvaluated(by: policy.role),
                isOfFeed ? stats : AlertStats(count: 1, total: 1),
                now: now, &changes)
        }
    }

    /// True if nobody is to be told of an alert that fires, by whoever silenced it or because
    /// another one says more; blindness is no wish of anybody's.
    package func isMuted(_ key: AlertKey, _ alert: borrowing Alert) -> Bool {
        alerting.isMuted(key, alert)
    }

    /// The numbers of the storms that are not over.
    package var storms: Set<Int64> {
        Set(alerting.notifications.storms.storms.map(\.episode))
    }

    // MARK: - People

    private mutating func evaluatePeople(_ changes: inout AlertChanges) {
        let dirty = alerting.board.takeDirty()
        if policy.role == .cell { note(dirty: dirty.regions, isAll: dirty.isAll) }
        var keys = alerting.board.takeExpired(clock.observedNow) + dirty.keys
        let fleet = AlertKey(name: .highOfflineRate, subject: .all)
        let offline = Int(Status.offline.rawValue)
        if alerting.board[fleet] != nil
            || isHighOffline(aggregates.byStatus[offline], active: aggregates.active)
        {
            keys.append(fleet)
        }
        for region in dirty.isAll ? Array(0..<UInt32(regions.names.count)) : dirty.regions {
            appendAlerts(of: region, to: &keys)
        }
        if dirty.isAll {
            keys += cells.undecided
            alerting.board.forEach { key, _ in
                if !key.name.isAboutRollcall { keys.append(key) }
            }
            for region in policy.coverageRegions where !region.isEmpty {
                keys += AlertName.ofRegions.filter { $0.isEvaluated(by: policy.role) }
                    .map { AlertKey(name: $0, subject: .region(region)) }
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
                case .responderFlapping: aggregates.flapping(in: region) > 0
                case .responderOffline: aggregates.missed(in: region) > 0
                case .cellDark, .fleetDark, .rollcallDrill, .rollcallOverloaded, .rollcallStateLost,
                    .rollcallStoreFailing, .rollcallUnsteady, .telemetryFeedDown, .watchdog:
                    false
                }
            let key = AlertKey(name: alert, subject: .region(name))
            if mayBegin || alerting.board[key] != nil { keys.append(key) }
        }
    }

    private mutating func evaluatePeople(_ key: AlertKey, _ changes: inout AlertChanges) {
        let now = clock.observedNow.milliseconds
        let (isTrue, stats) = knownCondition(key)
        guard let isTrue else {
            cells.undecided.insert(key)
            return
        }
        // Of what was not known it is not known either since when it is true.
        if cells.undecided.remove(key) != nil {
            alerting.board.startAnew(key, policy.alerts[key.name], now: now)
        }
        evaluate(key, isTrue, stats, now: now, &changes)
    }

    /// True if too many of these are OFFLINE.
    private func isHighOffline(_ offline: Int, active: Int) -> Bool {
        Int64(offline) * 10_000 > policy.alerts.offlineAbove * Int64(active)
            && active >= policy.alerts.offlineMinActive && offline >= policy.alerts.offlineMin
    }

    /// Returns whether an alert about people is true now, and its numbers.
    func condition(_ key: AlertKey) -> (isTrue: Bool, stats: AlertStats) {
        condition(key, on: counted(key.subject))
    }

    /// The numbers that alerts about a subject are judged by.
    func counted(_ subject: AlertSubject) -> RegionSummary {
        let region = number(of: subject)
        var summary = RegionSummary()
        summary.byStatus = counts(subject)
        summary.flapping = region.map { aggregates.flapping(in: $0) } ?? 0
        summary.unheard = region.map { aggregates.unheard(in: $0) } ?? 0
        return summary
    }

    /// Returns the same on numbers that may be.
    func condition(_ key: AlertKey, on summary: RegionSummary) -> (isTrue: Bool, stats: AlertStats)
    {
        let counts = summary.byStatus
        let active = counts.reduce(0, +)
        guard key.name.isEvaluated(by: policy.role) else { return (false, AlertStats()) }
        let offline = counts[Int(Status.offline.rawValue)]
        switch key.name {
        case .highOfflineRate:
            let isRegion = if case .region = key.subject { true } else { false }
            return (
                isRegion == policy.alerts.isOfflineByRegion
                    && isHighOffline(offline, active: active),
                AlertStats(count: offline, total: active)
            )
        case .noOnlineResponders: return noOnline(key.subject, summary)
        case .responderFlapping:
            return (summary.flapping > 0, AlertStats(count: summary.flapping, total: active))
        case .responderOffline:
            let missed = number(of: key.subject).map { aggregates.missed(in: $0) } ?? 0
            return (missed > 0, AlertStats(count: missed, total: active))
        case .cellDark, .fleetDark, .rollcallDrill, .rollcallOverloaded, .rollcallStateLost,
            .rollcallStoreFailing, .rollcallUnsteady, .telemetryFeedDown, .watchdog:
            return (false, AlertStats())
        }
    }

    /// Unreachable, or unstaffed where somebody always must be (A4, F29).
    private func noOnline(
        _ subject: AlertSubject, _ summary: RegionSummary
    ) -> (isTrue: Bool, stats: AlertStats) {
        let counts = summary.byStatus
        let active = counts.reduce(0, +)
        guard active > 0 else {
            let isCovered = policy.coverageRegions.contains(subject.name)
            return (isCovered && alerting.board.hasInput, AlertStats())
        }
        let silent =
            counts[Int(Status.degraded.rawValue)] + counts[Int(Status.offline.rawValue)]
            + summary.unheard
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

    /// Lets changes go that are older than the window.
    private mutating func settleFlapping() {
        guard alerting.nextTimer <= clock.observedNow else { return }
        let now = clock.observedNow
        while let (number, flapping) = alerting.takeDueFlapping(now, policy.alerts) {
            edit(number) { engine, person in
                engine.alerting.keep(flapping, &person, number, engine.policy.alerts)
            }
        }
    }
}
