/// Makes one message of many alerts that wait for one of people's receivers. Source: D11.
extension Engine {
    /// The earliest instant at which time alone makes a storm be told again.
    var nextStorm: RunningTime {
        var next = RunningTime.distantFuture
        for storm in desk.storms.storms where storm.notices.isEmpty && storm.toldCount > 0 {
            guard let receiver = receiver(of: storm.lane)?.receiver else { continue }
            next = min(next, storm.toldAt + receiver.repeatInterval)
        }
        return next
    }

    /// The numbers of the storms that are not over.
    package var storms: Set<Int64> { Set(desk.storms.storms.map(\.episode)) }

    /// A lane's receiver and its place in the settings; nil if they do not know it.
    private func receiver(of lane: StormDesk.Lane) -> (receiver: Receiver, place: Int)? {
        policy.receivers.firstIndex { $0.name == lane.receiver }
            .map { (policy.receivers[$0], $0) }
    }

    // MARK: - Beginning

    /// Begins the storms that `keys`, in their order, make with what waits already. Which of them
    /// join is seen when they are told.
    mutating func beginStorms(_ keys: [AlertKey], _ mutes: inout [Mute]) {
        let limit = policy.alerts.storm
        desk.storms.close(now: watch.now, limit: limit)
        guard limit > 0 else { return }
        var counts = [Int](repeating: 0, count: AlertName.allCases.count)
        for key in keys { counts[Int(key.name.rawValue)] += 1 }
        for receiver in policy.receivers where receiver.kind.isForPeople {
            for name in AlertName.allCases {
                let lane = StormDesk.Lane(receiver: receiver.name, name: name)
                var count = desk.storms.waiting(lane)
                guard count + counts[Int(name.rawValue)] > limit,
                    desk.storms.joinable(lane) == nil
                else { continue }
                for key in keys where key.name == name && count <= limit {
                    if isNews(key, to: receiver) { count += 1 }
                }
                if count > limit { begin(lane, &mutes) }
            }
        }
    }

    /// True if a receiver is to be told of an alert for the first time.
    private func isNews(_ key: AlertKey, to receiver: Receiver) -> Bool {
        guard let alert = alerts[key], alert.state == .firing, alert.told(receiver.name) == nil
        else {
            return false
        }
        let reason = muteReason(key, alert.labels)
        if receiver.wants(alert.labels) { return reason == nil }
        // Blindness mutes no fallback (D3).
        return (reason == nil || reason == .blind)
            && alert.openTriggers(policy.receivers).contains {
                $0.fallback.name == receiver.name && $0.due <= watch.now
            }
    }

    /// Begins a storm, which tells of what waits from now on.
    private mutating func begin(_ lane: StormDesk.Lane, _ mutes: inout [Mute]) {
        let episode = desk.takeIncident()
        let waiting = desk.storms.begin(episode, lane, now: watch.now, wall: watch.wallNow)
        for (incident, key) in waiting {
            guard var alert = alerts[key] else { continue }
            alert.move(lane.receiver, toStorm: episode)
            alerts.note(key, alert, repeatAt: alert.nextTelling(policy.receivers))
            mutes.append(
                Mute(
                    key: key, incident: incident, receiver: lane.receiver, reason: .storm(episode)))
        }
    }

    // MARK: - Telling

    /// Returns what there is to be told of storms at this instant.
    mutating func stormsToTell() -> [StormTelling] {
        guard desk.storms.isDirty || nextStorm <= watch.now else { return [] }
        defer { desk.storms.isDirty = false }
        var tellings: [StormTelling] = []
        for storm in desk.storms.storms {
            guard let (receiver, place) = receiver(of: storm.lane) else {
                if storm.members.isEmpty { desk.storms.remove(storm.episode) }
                continue
            }
            if storm.members.isEmpty {
                desk.storms.remove(storm.episode)
                guard storm.toldCount > 0, receiver.sendsResolved || isGivenSome(receiver) else {
                    continue
                }
                tellings.append(ending(storm, receiver, place))
                continue
            }
            let isFirst = storm.toldCount == 0
            let isAgain = storm.isDoubled || storm.toldAt + receiver.repeatInterval <= watch.now
            guard isFirst || storm.notices.isEmpty && isAgain else { continue }
            if let telling = telling(storm, receiver, place, isFirst ? .fired : .repeated) {
                tellings.append(telling)
            } else {
                // Nothing is sent again of a state already told (A7).
                desk.storms.tell(
                    storm.episode, by: nil, storm.severity, addresses: 0, now: watch.now)
            }
        }
        return tellings
    }

    /// A storm as it stands; nil if all of it is muted.
    private func telling(
        _ storm: StormDesk.Storm, _ receiver: Receiver, _ place: Int, _ kind: Notice.Kind
    ) -> StormTelling? {
        var facts = StormFacts()
        facts.at = watch.wallNow
        var figures = AlertFigures()
        var severity = Severity.none
        var top: [(key: AlertKey, count: Int)] = []
        func isBefore(_ a: (key: AlertKey, count: Int), _ b: (key: AlertKey, count: Int)) -> Bool {
            a.count != b.count ? a.count > b.count : AlertKey.areInOrder(a.key, b.key)
        }
        // Whoever has none of it yet is told all: what was decided is not taken back (A7, D3).
        let isNews = storm.toldCount == 0 || storm.trigger != 0 && storm.toldAt == .distantPast
        for single in storm.members.values {
            guard let alert = alerts[single.key] else { continue }
            let reason = muteReason(single.key, alert.labels)
            // Blindness mutes nothing that was given to a fallback (D3).
            let isGiven = reason == .blind && alert.fallback(of: receiver.name) != nil
            guard reason == nil || isNews || isGiven else { continue }
            facts.count += 1
            figures.count += alert.figures.count
            figures.total += alert.figures.total
            if alert.severity.rawValue < severity.rawValue { severity = alert.severity }
            let entry = (key: single.key, count: alert.figures.count)
            if top.count == StormFacts.topMax, let last = top.last, isBefore(last, entry) {
                continue
            }
            top.insert(entry, at: top.firstIndex { isBefore(entry, $0) } ?? top.count)
            if top.count > StormFacts.topMax { top.removeLast() }
        }
        guard facts.count > 0 else { return nil }
        facts.top = top.compactMap { entry in
            guard let alert = alerts[entry.key] else { return nil }
            var member = member(entry.key, alert, endsAt: .distantPast)
            // One line each: numbers and causes.
            (member.annotations, member.facts.people) = ([], [])
            return member
        }
        var told = storm
        told.severity = severity
        var whole = member(told, figures)
        // A fallback has all of them for want of somebody else.
        whole.fallback = top.first.flatMap { alerts[$0.key]?.fallback(of: receiver.name) }
        return StormTelling(
            episode: storm.episode, severity: severity, member: whole,
            facts: facts, kind: kind, receiver: receiver, place: place)
    }

    private func ending(
        _ storm: StormDesk.Storm, _ receiver: Receiver, _ place: Int
    ) -> StormTelling {
        var facts = StormFacts()
        (facts.count, facts.at) = (storm.joined, watch.wallNow)
        var member = member(storm, AlertFigures())
        member.endsAt = watch.wallNow
        return StormTelling(
            episode: storm.episode, severity: storm.severity, member: member, facts: facts,
            kind: .resolved, receiver: receiver, place: place)
    }

    /// True of a pager that is a fallback: nobody watches the incidents that it is given (D3).
    private func isGivenSome(_ receiver: Receiver) -> Bool {
        receiver.kind == .pagerduty
            && policy.receivers.contains { $0.fallback == receiver.name }
    }

    /// Returns the member that stands for all members.
    private func member(_ storm: StormDesk.Storm, _ figures: AlertFigures) -> NoticeMember {
        let rule = policy.alerts[storm.lane.name]
        var member = NoticeMember()
        member.name = storm.lane.name
        member.incident = storm.episode
        let number = Label("storm", Array("\(storm.episode)".utf8))
        let all = AlertKey(name: storm.lane.name, subject: .all)
        member.labels = ([number] + labels(all, rule, storm.severity)).ordered()
        // Their texts are about one alert.
        member.annotations = rule.annotations.filter {
            $0.name != Label.summary && $0.name != Label.description
        }
        member.startsAt = storm.startsAt
        member.facts.figures = figures
        return member
    }

    // MARK: - Settings

    /// Receivers that people read no longer are told of each alert; what they were told is over.
    mutating func followStorms() {
        guard !desk.storms.isEmpty else { return }
        let others = Set(policy.receivers.filter { !$0.kind.isForPeople }.map(\.name))
        desk.storms.dropSingles(of: others)
        for storm in desk.storms.storms where others.contains(storm.lane.receiver) {
            for single in storm.members.values {
                guard var alert = alerts[single.key] else { continue }
                for told in alert.told where told.receiver == storm.lane.receiver {
                    alerts.dropTrigger(told.trigger, of: single.key)
                }
                alert.told.removeAll { $0.receiver == storm.lane.receiver }
                alerts.note(single.key, alert, repeatAt: alert.nextTelling(policy.receivers))
            }
            desk.storms.empty(storm.episode)
        }
    }

    // MARK: - Coming back

    /// After a checkpoint was read, alerts and storms know each other again.
    mutating func restoreStorms() {
        guard !desk.storms.isEmpty else { return }
        var keys: [Int64: AlertKey] = [:]
        alerts.forEach { key, alert in
            if alert.state == .firing { keys[alert.incident] = key }
        }
        desk.storms.find(keys)
        for storm in desk.storms.storms {
            for single in storm.members.values {
                alerts.move(storm.lane.receiver, of: single.key, toStorm: storm.episode)
            }
        }
    }

    /// Returns, in words, what does not hold of storms.
    func brokenStorms() -> [String] {
        var fires: [Int64: [Alert.Told]] = [:]
        alerts.forEach { _, alert in
            if alert.state == .firing { fires[alert.incident] = alert.told }
        }
        return desk.storms.brokenInvariants(fires)
    }
}

/// The news of a storm for one receiver. Source: D11.
struct StormTelling {
    let episode: Int64
    let severity: Severity
    var member: NoticeMember
    let facts: StormFacts
    let kind: Notice.Kind
    let receiver: Receiver
    /// The receiver's place in the settings.
    let place: Int
}

extension Label {
    static let summary = Array("summary".utf8)
    static let description = Array("description".utf8)
}
