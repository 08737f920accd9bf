extension Oracle {
    /// What is known of telling one firing alert. Source: A6, A7.
    struct Telling {
        /// The number of the firing.
        let incident: Int64
        /// When it fired.
        let firedAt: Instant
        /// All labels that it fired with.
        let labels: [String: String]
        /// When each receiver was told last.
        var notifiedAt: [String: Instant] = [:]
        /// Why each receiver was not, as last said.
        var reasons: [String: String] = [:]
        /// Since when each receiver could have taken it. Source: D3.
        var openSince: [String: Instant] = [:]
        /// For whom each fallback was told.
        var fallbackOf: [String: String] = [:]
        /// How many left and came back since it fires, and how many each receiver knows of. Source: R1.
        var changes = 0
        var changesKnown: [String: Int] = [:]

        /// How long after it was told a receiver is told again.
        func interval(of receiver: StoryReceiver) -> Span {
            changes == changesKnown[receiver.name]
                ? receiver.repeatInterval : min(receiver.repeatInterval, 30_000)
        }
    }

    /// A silence in force. Source: A7.
    struct ActiveSilence {
        let number: Int64
        let matchers: [StoryMatcher]
        /// In running time: a step of the wall does not move it. Source: F9.
        let ends: Instant
    }

    /// What receivers are to be told at one instant. Source: A8.
    private struct Group {
        let name: String
        /// The kind's place in the order of telling.
        let rank: Int
        let receiver: StoryReceiver
        var told: [StoryTold]
    }

    private static let kinds = ["resolved", "repeated", "fired"]
    private static let membersMax = 64

    // MARK: - What changes

    /// An alert fires: its labels stay from now on. Source: A1, F11.
    mutating func beginTelling(_ id: AlertID) {
        var labels = ["alertname": id.name, "severity": "warning"]
        if id.name == "NoOnlineResponders" || id.name == "TelemetryFeedDown" {
            labels["severity"] = "critical"
        }
        if id.name == "RollcallOverloaded" { labels["severity"] = "critical" }
        if id.name == "ResponderOffline" { labels["severity"] = "info" }
        // One source is missed less than all of them.
        if id.label == "source" { labels["severity"] = "warning" }
        if let label = id.label { labels[label] = id.value.text }
        incidentsBegun += 1
        tellings[id] = Telling(incident: incidentsBegun, firedAt: now, labels: labels)
    }

    /// Takes a silence, if its end lies ahead.
    mutating func begin(_ silence: StorySilence) {
        guard silence.endsAt > wall else { return }
        silencesBegun += 1
        silences.append(
            ActiveSilence(
                number: silencesBegun, matchers: silence.matchers,
                ends: now + silence.endsAt - wall))
    }

    /// When time alone makes somebody be told.
    func noticeInstants() -> [Instant] {
        let repeats = tellings.values.flatMap { telling in
            policy.receivers.compactMap { receiver in
                telling.notifiedAt[receiver.name].map { $0 + telling.interval(of: receiver) }
            }
        }
        let fallbacks = tellings.values.flatMap { telling in
            policy.receivers.compactMap { receiver in
                telling.openSince[receiver.name].map { $0 + receiver.fallbackAfter }
            }
        }
        return repeats + fallbacks + silences.map(\.ends) + takeInstants()
    }

    /// We come back: nobody could take anything meanwhile. Source: D3.
    mutating func restartFallbacks() {
        let instant = now
        tellings = tellings.mapValues { telling in
            var telling = telling
            telling.openSince = telling.openSince.mapValues { _ in instant }
            return telling
        }
    }

    // MARK: - Telling

    /// Tells everybody who must be told now, whatever changed: what is over, then what fires.
    /// Source: A6 to A8.
    mutating func evaluateNotices() {
        silences.removeAll { $0.ends <= now }
        endTakes()
        var groups: [Group] = []
        for (id, telling) in alertsOver.sorted(by: { $0.key < $1.key }) where id.isPrinted {
            for receiver in policy.receivers
            where telling.notifiedAt[receiver.name] != nil
                && (receiver.sendsResolved
                    || receiver.isPager && telling.fallbackOf[receiver.name] != nil)
            {
                add(id, telling.incident, "resolved", receiver, &groups)
            }
        }
        alertsOver = [:]
        let repeats = groupsToRepeat()
        let names = policy.receivers.map(\.name)
        for id in tellings.keys.sorted() where id.isPrinted {
            let reasons = tellings[id]?.reasons ?? [:]
            tellings[id]?.reasons = reasons.filter { names.contains($0.key) }
            for receiver in policy.receivers { tell(id, receiver, repeats, &groups) }
            for receiver in policy.receivers { giveAway(id, to: receiver, &groups) }
        }
        let ordered = groups.indices.sorted {
            let (a, b) = (groups[$0], groups[$1])
            return (a.name, a.rank, $0) < (b.name, b.rank, $1)
        }
        for place in ordered { tell(groups[place]) }
    }

    /// The names that each receiver of whole groups is to be told again. Source: A8.
    private mutating func groupsToRepeat() -> [String: Set<String>] {
        var repeats: [String: Set<String>] = [:]
        for receiver in policy.receivers where !receiver.isPager {
            for (id, telling) in tellings where id.isPrinted && !isTaken(telling) {
                guard let notifiedAt = telling.notifiedAt[receiver.name],
                    now - notifiedAt >= telling.interval(of: receiver),
                    receiver.matchers.allSatisfy({ $0.fits(telling.labels) }),
                    muteReason(id, telling) == nil
                else { continue }
                repeats[receiver.name, default: []].insert(id.name)
            }
        }
        return repeats
    }

    private mutating func tell(
        _ id: AlertID, _ receiver: StoryReceiver, _ repeats: [String: Set<String>],
        _ groups: inout [Group]
    ) {
        guard var telling = tellings[id],
            receiver.matchers.allSatisfy({ $0.fits(telling.labels) })
        else { return }
        let notifiedAt = telling.notifiedAt[receiver.name]
        let isWithOthers = repeats[receiver.name]?.contains(id.name) ?? false
        if let notifiedAt, now - notifiedAt < telling.interval(of: receiver), !isWithOthers {
            return
        }
        guard !isHeld(telling, receiver, isTold: notifiedAt != nil) else {
            if notifiedAt == nil { tellings[id]?.reasons[receiver.name] = nil }
            return
        }
        let reason = muteReason(id, telling)
        if let reason, notifiedAt == nil {
            guard telling.reasons[receiver.name] != reason else { return }
            telling.reasons[receiver.name] = reason
            decisions.append(
                .mute(at: wall, receiver: receiver.name, alert: id.text, reason: reason))
            marks.insert("not told because \(reason.prefix { $0 != " " })")
        } else {
            telling.notifiedAt[receiver.name] = now
            telling.reasons[receiver.name] = nil
            if reason == nil {
                if let known = telling.changesKnown[receiver.name], known != telling.changes {
                    marks.insert("told who left and who is back")
                }
                telling.changesKnown[receiver.name] = telling.changes
                add(
                    id, telling.incident, notifiedAt == nil ? "fired" : "repeated", receiver,
                    &groups)
                if notifiedAt == nil {
                    telling.openSince[receiver.name] = now
                    if receiver.escalateAfter > 0 { marks.insert("told who escalates") }
                }
            }
        }
        tellings[id] = telling
    }

    /// Tells a fallback what another receiver has not taken for long enough: of several the one whose
    /// time is up first. Source: D3.
    private mutating func giveAway(
        _ id: AlertID, to fallback: StoryReceiver, _ groups: inout [Group]
    ) {
        guard var telling = tellings[id],
            !fallback.matchers.allSatisfy({ $0.fits(telling.labels) }),
            telling.notifiedAt[fallback.name] == nil
        else { return }
        let waiting = policy.receivers.filter {
            $0.fallback == fallback.name && waits($0, telling)
        }
        let instants = waiting.compactMap { receiver in
            telling.openSince[receiver.name].map { $0 + receiver.fallbackAfter }
        }
        defer { tellings[id] = telling }
        guard let due = instants.min(), let first = instants.firstIndex(of: due), now >= due,
            !isTaken(telling)
        else {
            if let due = instants.min(), now >= due { marks.insert("a take holds a fallback") }
            telling.reasons[fallback.name] = nil
            return
        }
        if let reason = muteReason(id, telling), reason != "blind" {
            guard telling.reasons[fallback.name] != reason else { return }
            telling.reasons[fallback.name] = reason
            decisions.append(
                .mute(at: wall, receiver: fallback.name, alert: id.text, reason: reason))
            return
        }
        telling.reasons[fallback.name] = nil
        telling.notifiedAt[fallback.name] = now
        telling.fallbackOf[fallback.name] = waiting[first].name
        telling.changesKnown[fallback.name] = telling.changes
        add(id, telling.incident, "fired", fallback, &groups)
        marks.insert("told a fallback")
    }

    /// True if a receiver was told and has neither taken it nor given it away, as far as the settings
    /// still know to whom. Source: D3.
    private func waits(_ receiver: StoryReceiver, _ telling: Telling) -> Bool {
        guard telling.openSince[receiver.name] != nil,
            telling.fallbackOf[receiver.name] == nil,
            receiver.matchers.allSatisfy({ $0.fits(telling.labels) })
        else { return false }
        return !telling.fallbackOf.contains { entry in
            entry.value == receiver.name
                && policy.receivers.contains { $0.name == entry.key }
        }
    }

    /// Why nobody is told of an alert now: one that says more about the very same, a silence,
    /// blindness. Source: A6, A7, B4, F11.
    private mutating func muteReason(_ id: AlertID, _ telling: Telling) -> String? {
        var by: AlertID?
        if ["HighOfflineRate", "ResponderOffline"].contains(id.name), id.label == "region" {
            by = AlertID(name: "NoOnlineResponders", label: "region", value: id.value)
            let others = tellings.keys.contains {
                $0.name == "NoOnlineResponders" && $0.value != id.value
            }
            if others, let by, tellings[by] == nil { marks.insert("another region says more") }
        } else if id.isOfFeed, id.label == "source" {
            by = AlertID(name: id.name)
        }
        if let by, tellings[by] != nil { return "inhibited by \(by.text)" }
        let silence = silences.first { silence in
            silence.matchers.allSatisfy { $0.fits(telling.labels) }
        }
        if let silence { return "silence \(silence.number)" }
        return isBlind && !id.isOfFeed ? "blind" : nil
    }

    private func add(
        _ id: AlertID, _ incident: Int64, _ kind: String, _ receiver: StoryReceiver,
        _ groups: inout [Group]
    ) {
        let rank = Self.kinds.firstIndex(of: kind) ?? 0
        let place = groups.firstIndex {
            $0.name == id.name && $0.rank == rank && $0.receiver.name == receiver.name
        }
        let told = StoryTold(incident: incident, alert: id.text)
        if let place { return groups[place].told.append(told) }
        groups.append(Group(name: id.name, rank: rank, receiver: receiver, told: [told]))
    }

    private mutating func tell(_ group: Group) {
        let size = group.receiver.isPager ? 1 : Self.membersMax
        var rest = group.told[...]
        while !rest.isEmpty {
            let alerts = rest.prefix(size)
            rest = rest.dropFirst(size)
            decisions.append(
                .notice(
                    at: wall, receiver: group.receiver.name, kind: Self.kinds[group.rank],
                    alerts: Array(alerts)))
            marks.insert("told \(Self.kinds[group.rank])")
            if alerts.count > 1 { marks.insert("told of several at once") }
        }
    }
}

extension Oracle.AlertID {
    /// The name and the labels of the identity.
    var text: String { name + labels }
}
