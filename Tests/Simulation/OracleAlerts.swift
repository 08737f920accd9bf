extension Oracle {
    /// What makes an alert the same one over time. Source: A1.
    struct AlertID: Hashable, Comparable {
        /// As printed.
        let name: String
        /// `region`, `source`, `suspected`; nil if it is about everything.
        var label: String?
        /// The label's value.
        var value = Name("")

        /// Evaluated in running time, also while blind. Source: F9.
        var isOfFeed: Bool { name == "TelemetryFeedDown" || !isPrinted }

        /// False for what is about Rollcall itself: it has a number as any firing, and is not told here.
        var isPrinted: Bool { name != "RollcallOverloaded" && name != "Watchdog" }

        /// The labels as printed.
        var labels: String { JSON.object(label.map { [JSON.member($0, value.text)] } ?? []) }

        /// By name, then by label set. Source: F1.
        static func < (left: AlertID, right: AlertID) -> Bool {
            if left.name != right.name { return left.name < right.name }
            if left.label != right.label { return (left.label ?? "") < (right.label ?? "") }
            return left.value < right.value
        }
    }

    /// An alert that is pending or firing. Source: A1, F27.
    struct Alert {
        /// Since when it is true; B5 lets that begin anew.
        var trueSince: Instant
        var isFiring = false
        /// Since when a firing one is false; nil while it is true.
        var falseSince: Instant?
        /// What it was judged by when it last was true.
        var value: String
    }

    // MARK: - Evaluation

    /// Evaluates all alerts once: those about people if we can see, the feed's in any case.
    /// Source: F1, F9, L12, B4.
    mutating func evaluateAlerts() {
        if !isBlind {
            for index in everybody.indices {
                evaluateFlapping(of: index)
                followMissed(index)
            }
        }
        let trueOnes = isBlind ? feedAlerts() : feedAlerts().merging(peopleAlerts()) { $1 }
        for id in Set(alerts.keys).union(trueOnes.keys).sorted() where id.isOfFeed || !isBlind {
            judge(id, value: trueOnes[id])
        }
    }

    /// After blindness of 15 s the timers of pending alerts start anew. Source: B5.
    mutating func startPendingAlertsAnew() {
        for (id, alert) in alerts where !alert.isFiring && !id.isOfFeed {
            alerts[id]?.trueSince = now
        }
    }

    /// `value` is nil if it is not true. Source: A1, F27.
    private mutating func judge(_ id: AlertID, value: String?) {
        let rule = policy.alerts.rule(of: id.name)
        guard rule.isEnabled else {
            // A disabled alert ends at once.
            if alerts[id] != nil { end(id) }
            return
        }
        if let value {
            let isNew = alerts[id] == nil
            var alert = alerts[id] ?? Alert(trueSince: now, value: value)
            alert.value = value
            alert.falseSince = nil
            let fires = !alert.isFiring && age(of: alert.trueSince, for: id) >= rule.pendingFor
            if fires {
                alert.isFiring = true
                beginTelling(id)
            }
            alerts[id] = alert
            if fires { tell(id, "firing", value) } else if isNew { tell(id, "pending", value) }
        } else if let alert = alerts[id] {
            let since = alert.falseSince ?? now
            alerts[id]?.falseSince = since
            if !alert.isFiring || age(of: since, for: id) >= rule.keepFiringFor { end(id) }
        }
    }

    private mutating func end(_ id: AlertID) {
        guard let alert = alerts[id] else { return }
        alerts[id] = nil
        alertsOver[id] = tellings.removeValue(forKey: id)
        tell(id, alert.isFiring ? "resolved" : "inactive", alert.value)
    }

    private mutating func tell(_ id: AlertID, _ state: String, _ value: String) {
        guard id.isPrinted else { return }
        decisions.append(
            .alert(at: wall, name: id.name, state: state, labels: id.labels, value: value))
    }

    /// How long ago something was, by the clock of an alert. Source: F9.
    private func age(of instant: Instant, for id: AlertID) -> Span {
        id.isOfFeed ? now - instant : observed(now) - observed(instant)
    }

    /// When time alone changes an alert, as far as that can be at present; some may be in the past.
    /// Source: A1.
    func alertInstants() -> [Instant] {
        var instants: [Instant] = []
        let offset = now - observed(now)
        for (id, alert) in alerts where id.isOfFeed || !isBlind {
            let rule = policy.alerts.rule(of: id.name)
            let since = alert.falseSince ?? alert.trueSince
            let length = alert.falseSince == nil ? rule.pendingFor : rule.keepFiringFor
            instants.append((id.isOfFeed ? since : observed(since) + offset) + length)
        }
        if isBlind { return instants }
        for index in everybody.indices where everybody[index].status != nil {
            for change in everybody[index].changes {
                instants.append(observed(change) + policy.alerts.window + offset)
            }
            if let since = unheardSince(index) { instants.append(since + offset) }
            if let from = missedFrom(index) { instants.append(from + offset) }
        }
        return instants
    }

    // MARK: - What is true

    /// A value for each alert about the feed that is true now. Source: A5, B2, B3, F11.
    private func feedAlerts() -> [AlertID: String] {
        let name = "TelemetryFeedDown"
        let missing = sources.filter(\.isMissing)
        var trueOnes: [AlertID: String] = [:]
        for source in missing {
            trueOnes[AlertID(name: name, label: "source", value: source.name)] = "\(missing.count)"
        }
        if !sources.isEmpty, missing.count == sources.count {
            trueOnes[AlertID(name: name)] = "\(missing.count)"
        }
        let isOverloaded = windows.contains { $0.reason == .overload && $0.until == nil }
        if isOverloaded { trueOnes[AlertID(name: "RollcallOverloaded")] = "1" }
        if policy.receivers.contains(where: \.listensForWatchdog) {
            trueOnes[AlertID(name: "Watchdog")] = "1"
        }
        if isFeedStalled {
            trueOnes[AlertID(name: name, label: "suspected", value: Name("true"))] = "0"
        }
        return trueOnes
    }

    /// A value for each alert about people that is true now. Source: A2 to A4.
    private func peopleAlerts() -> [AlertID: String] {
        var trueOnes: [AlertID: String] = [:]
        let active = everybody.indices.filter { everybody[$0].status != nil }
        if !policy.alerts.isByRegion {
            trueOnes[AlertID(name: "HighOfflineRate")] = offlineRate(active)
        }
        var regions = Set(active.map { everybody[$0].region })
        // Nobody can be missed before anybody was heard of.
        if hasInput { regions.formUnion(policy.coverage) }
        for region in regions {
            let there = active.filter { everybody[$0].region == region }
            func id(_ name: String) -> AlertID {
                AlertID(name: name, label: "region", value: Name(region))
            }
            if policy.alerts.isByRegion { trueOnes[id("HighOfflineRate")] = offlineRate(there) }
            let flapping = there.count { everybody[$0].isFlapping }
            if flapping > 0 { trueOnes[id("ResponderFlapping")] = "\(flapping)" }
            let missed = there.count { everybody[$0].missedIn == region }
            if missed > 0 { trueOnes[id("ResponderOffline")] = "\(missed)" }
            trueOnes[id("NoOnlineResponders")] = silence(there)
        }
        return trueOnes
    }

    /// The share of those OFFLINE if it is too high, else nil. Source: A2.
    private func offlineRate(_ active: [Int]) -> String? {
        let offline = active.count { everybody[$0].status == .offline }
        guard active.count >= policy.alerts.minActive, offline >= policy.alerts.minOffline,
            Int64(offline) * 10_000 > policy.alerts.above * Int64(active.count)
        else { return nil }
        return JSON.share(offline, of: active.count)
    }

    /// How many of a region are silent if nobody is ONLINE, else nil; none if nobody is there.
    /// Source: A4, F29.
    private func silence(_ active: [Int]) -> String? {
        if active.isEmpty { return "0" }
        var silent = 0
        for index in active {
            switch everybody[index].status {
            case .online: return nil
            case .degraded, .offline: silent += 1
            case .unknown:
                if let since = unheardSince(index), since <= observed(now) { silent += 1 }
            case nil: break
            }
        }
        return silent > 0 ? "\(silent)" : nil
    }

    /// The observed time from which on somebody UNKNOWN is so for longer than the degraded
    /// threshold, by their age. Source: F29, L4.
    private func unheardSince(_ index: Int) -> Span? {
        let person = everybody[index]
        guard person.status == .unknown, let thresholds = thresholdsInForce(index) else {
            return nil
        }
        let since = max(observed(person.activeSince), person.lastContact.map(observed) ?? .min)
        return since + thresholds.degraded
    }

    // MARK: - Flapping

    /// Notes a change between ONLINE and OFFLINE, whatever was between them. Source: A3, F28.
    mutating func noteChange(_ index: Int, from before: Status?, _ origin: Origin) {
        guard let status = everybody[index].status, status == .online || status == .offline else {
            return
        }
        let lastExtreme = everybody[index].lastExtreme
        everybody[index].lastExtreme = status
        guard let lastExtreme, lastExtreme != status, origin == .contact || origin == .deadline,
            !(before == .unknown && status == .offline)
        else { return }
        everybody[index].changes.append(now)
        evaluateFlapping(of: index)
    }

    /// Who becomes active or is not expected any more has not changed yet. Source: F22.
    mutating func clearFlapping(_ index: Int) {
        everybody[index].lastExtreme = nil
        everybody[index].changes = []
        everybody[index].isFlapping = false
    }

    /// Counts the changes that are not too old; who was once found too old stays so when observed
    /// time is set back: what was decided stands (B1). Source: F28.
    private mutating func evaluateFlapping(of index: Int) {
        let reached = observed(now)
        let young = everybody[index].changes.filter {
            reached - observed($0) < policy.alerts.window
        }
        everybody[index].changes = young
        let count = young.count
        everybody[index].isFlapping =
            count >= policy.alerts.changes
            || everybody[index].isFlapping && count >= policy.alerts.clearBelow
    }
}
