/// Makes one message of many alerts that wait for one of people's receivers. Source: D11.
extension Alerting {
    /// The earliest instant at which time alone makes a storm be told again.
    func nextStorm(_ receivers: [Receiver]) -> RunningTime {
        var next = RunningTime.distantFuture
        for storm in notifications.storms.storms
        where storm.notices.isEmpty && storm.notifiedCount > 0 {
            guard let receiver = receivers.first(where: { $0.name == storm.queue.receiver }) else {
                continue
            }
            next = min(
                next,
                max(storm.notifiedAt + receiver.repeatInterval, storm.heldUntil))
        }
        return next
    }

    /// A queue's receiver and its place in the settings; nil if they do not know it.
    private func receiver(
        of queue: StormState.Queue, _ receivers: [Receiver]
    ) -> (receiver: Receiver, place: Int)? {
        receivers.firstIndex { $0.name == queue.receiver }.map { (receivers[$0], $0) }
    }

    // MARK: - Beginning

    /// Begins the storms that `keys`, in their order, make with what waits already. Which of them
    /// join is seen when they are told.
    mutating func beginStorms(
        _ keys: [AlertKey], _ context: AlertContext, _ mutes: inout [Mute]
    ) {
        let limit = context.rules.storm
        notifications.storms.close(now: context.clock.now, limit: limit)
        guard limit > 0 else { return }
        var counts = [Int](repeating: 0, count: AlertName.allCases.count)
        for key in keys { counts[Int(key.name.rawValue)] += 1 }
        for receiver in context.receivers where receiver.kind.isForPeople {
            for name in AlertName.allCases {
                let queue = StormState.Queue(receiver: receiver.name, name: name)
                var count = notifications.storms.waiting(queue)
                guard count + counts[Int(name.rawValue)] > limit,
                    notifications.storms.joinable(queue) == nil
                else { continue }
                for key in keys where key.name == name && count <= limit {
                    if isNews(key, to: receiver, context) { count += 1 }
                }
                if count > limit { begin(queue, context, &mutes) }
            }
        }
    }

    /// True if a receiver is to be told of an alert for the first time.
    private func isNews(
        _ key: AlertKey, to receiver: Receiver, _ context: AlertContext
    ) -> Bool {
        guard let alert = board[key], alert.state == .firing, alert.notified(receiver.name) == nil
        else {
            return false
        }
        let reason = muteReason(key, alert.labels, context.clock)
        if receiver.wants(alert.labels) {
            return reason == nil && alert.escalation(to: receiver) <= context.clock.now
        }
        // Blindness mutes no fallback (D3).
        return (reason == nil || reason == .blind)
            && alert.openTriggers(context.receivers).contains {
                $0.fallback.name == receiver.name
                    && max($0.due, alert.heldUntil) <= context.clock.now
            }
    }

    /// Begins a storm, which tells of what waits from now on.
    private mutating func begin(
        _ queue: StormState.Queue, _ context: AlertContext, _ mutes: inout [Mute]
    ) {
        let episode = notifications.takeIncident()
        let waiting = notifications.storms.begin(
            episode, queue, now: context.clock.now, wall: context.clock.wallNow)
        for (incident, key) in waiting {
            guard var alert = board[key] else { continue }
            alert.move(queue.receiver, toStorm: episode)
            board.note(key, alert, repeatAt: alert.nextNotification(context.receivers))
            mutes.append(
                Mute(
                    key: key, incident: incident, receiver: queue.receiver, reason: .storm(episode))
            )
        }
    }

    // MARK: - Telling

    /// Returns what there is to be told of storms at this instant.
    mutating func stormsToNotify(
        _ context: AlertContext, _ mutes: inout [Mute]
    ) -> [StormNotification] {
        guard notifications.storms.isDirty || nextStorm(context.receivers) <= context.clock.now
        else { return [] }
        defer { notifications.storms.isDirty = false }
        // Some may have joined or left.
        if !notifications.takes.isEmpty { holdStorms() }
        var stormNotifications: [StormNotification] = []
        for storm in notifications.storms.storms {
            guard let (receiver, place) = receiver(of: storm.queue, context.receivers) else {
                if storm.members.isEmpty {
                    notifications.storms.remove(storm.episode)
                    notifications.takes.end(storm.episode)
                }
                continue
            }
            if storm.members.isEmpty {
                notifications.storms.remove(storm.episode)
                notifications.takes.end(storm.episode)
                guard storm.notifiedCount > 0,
                    receiver.sendsResolved || isGivenSome(receiver, context.receivers)
                else {
                    continue
                }
                stormNotifications.append(ending(storm, receiver, place, context))
                continue
            }
            let isFirst = storm.notifiedCount == 0
            let isAgain =
                storm.heldUntil <= context.clock.now
                && (storm.isDoubled
                    || storm.notifiedAt + receiver.repeatInterval <= context.clock.now)
            guard isFirst || storm.notices.isEmpty && isAgain else { continue }
            noteMembers(of: storm, receiver, context, &mutes)
            if let stormNotification = stormNotification(
                storm, receiver, place, isFirst ? .fired : .repeated, context)
            {
                stormNotifications.append(stormNotification)
            } else {
                // Nothing is sent again of a state already told (A7).
                notifications.storms.notify(
                    storm.episode, by: nil, storm.severity, addresses: 0, now: context.clock.now)
            }
        }
        return stormNotifications
    }

    /// A storm as it stands; nil if all of it is muted.
    private func stormNotification(
        _ storm: StormState.Storm, _ receiver: Receiver, _ place: Int, _ kind: Notice.Kind,
        _ context: AlertContext
    ) -> StormNotification? {
        var facts = StormFacts()
        facts.at = context.clock.wallNow
        var stats = AlertStats()
        var severity = Severity.none
        var top: [(key: AlertKey, count: Int)] = []
        func isBefore(_ a: (key: AlertKey, count: Int), _ b: (key: AlertKey, count: Int)) -> Bool {
            a.count != b.count ? a.count > b.count : AlertKey.areInOrder(a.key, b.key)
        }
        for single in storm.members.values {
            guard let alert = board[single.key],
                muteReason(single.key, alert, in: storm, receiver, context) == nil
            else { continue }
            facts.count += 1
            stats.count += alert.stats.count
            stats.total += alert.stats.total
            if alert.severity.rawValue < severity.rawValue { severity = alert.severity }
            let entry = (key: single.key, count: alert.stats.count)
            if top.count == StormFacts.topMax, let last = top.last, isBefore(last, entry) {
                continue
            }
            top.insert(entry, at: top.firstIndex { isBefore(entry, $0) } ?? top.count)
            if top.count > StormFacts.topMax { top.removeLast() }
        }
        guard facts.count > 0 else { return nil }
        facts.top = top.compactMap { entry in
            guard let alert = board[entry.key] else { return nil }
            var member = member(entry.key, alert, endsAt: .distantPast)
            // One line each: numbers and causes.
            (member.annotations, member.facts.people, member.facts.memberCauses) = ([], [], [])
            return member
        }
        var notified = storm
        notified.severity = severity
        var whole = member(notified, stats, context.rules)
        // A fallback has all of them for want of somebody else.
        whole.fallback = top.first.flatMap { board[$0.key]?.fallback(of: receiver.name) }
        return StormNotification(
            episode: storm.episode, severity: severity, member: whole,
            facts: facts, kind: kind, receiver: receiver, place: place)
    }

    /// The reason why a storm's message leaves out a member; nil if it tells of it.
    private func muteReason(
        _ key: AlertKey, _ alert: borrowing Alert, in storm: StormState.Storm, _ receiver: Receiver,
        _ context: AlertContext
    ) -> MuteReason? {
        // Whoever has none of it yet is told all: what was decided is not taken back (A7, D3).
        let isNews =
            storm.notifiedCount == 0 || storm.trigger != 0 && storm.notifiedAt == .distantPast
        if isNews { return nil }
        let reason = muteReason(key, alert.labels, context.clock)
        // Blindness mutes nothing that was given to a fallback (D3).
        return reason == .blind && alert.fallback(of: receiver.name) != nil ? nil : reason
    }

    /// Notes of the members that no message has told of yet whether this one does, and else why not: what
    /// is shown as told is what was told (D1).
    private mutating func noteMembers(
        of storm: StormState.Storm, _ receiver: Receiver, _ context: AlertContext,
        _ mutes: inout [Mute]
    ) {
        for (incident, single) in storm.members.sorted(by: { $0.key < $1.key }) {
            let key = single.key
            guard var alert = board[key], alert.isAwaited(by: receiver.name) else { continue }
            let own = MuteReason.storm(storm.episode)
            let mute: MuteReason?
            if let reason = muteReason(key, alert, in: storm, receiver, context) {
                mute = alert.mute(receiver.name, reason) ? reason : nil
            } else {
                // From now on the storm tells of it, which was said when it joined.
                mute = alert.stormNotified(receiver.name, at: context.clock.now) == own ? nil : own
            }
            if let mute {
                mutes.append(
                    Mute(key: key, incident: incident, receiver: receiver.name, reason: mute))
            }
            board.note(key, alert, repeatAt: alert.nextNotification(context.receivers))
        }
    }

    /// Notes that what made a storm leave out an alert is over: from now on the storm is to tell of
    /// it.
    func unmute(
        _ key: AlertKey, _ alert: inout Alert, _ notified: Alert.NotifiedReceiver,
        _ context: AlertContext, _ mutes: inout [Mute]
    ) {
        guard alert.isAwaited(by: notified.receiver),
            muteReason(key, alert.labels, context.clock) == nil,
            alert.mute(notified.receiver, .storm(notified.storm))
        else { return }
        mutes.append(
            Mute(
                key: key, incident: alert.incident, receiver: notified.receiver,
                reason: .storm(notified.storm)))
    }

    private func ending(
        _ storm: StormState.Storm, _ receiver: Receiver, _ place: Int, _ context: AlertContext
    ) -> StormNotification {
        var facts = StormFacts()
        (facts.count, facts.at) = (storm.joined, context.clock.wallNow)
        var member = member(storm, AlertStats(), context.rules)
        member.endsAt = context.clock.wallNow
        return StormNotification(
            episode: storm.episode, severity: storm.severity, member: member, facts: facts,
            kind: .resolved, receiver: receiver, place: place)
    }

    /// True of a pager that is a fallback: nobody watches the incidents that it is given (D3).
    private func isGivenSome(_ receiver: Receiver, _ receivers: [Receiver]) -> Bool {
        receiver.kind.keepsIncidents
            && receivers.contains { $0.fallback == receiver.name }
    }

    /// Returns the member that stands for all members.
    private func member(
        _ storm: StormState.Storm, _ stats: AlertStats, _ rules: AlertRules
    ) -> NoticeMember {
        let rule = rules[storm.queue.name]
        var member = NoticeMember()
        member.name = storm.queue.name
        member.incident = storm.episode
        let number = Label("storm", Array("\(storm.episode)".utf8))
        let all = AlertKey(name: storm.queue.name, subject: .all)
        member.labels = ([number] + all.labels(rule, storm.severity, of: cell)).ordered()
        // Their texts are about one alert.
        member.annotations = rule.annotations.filter {
            $0.name != Label.summary && $0.name != Label.description
        }
        member.startsAt = storm.startsAt
        member.facts.stats = stats
        return member
    }

    // MARK: - Settings

    /// Receivers that people read no longer are told of each alert; what they were told is over.
    mutating func followStorms(_ receivers: [Receiver]) {
        guard !notifications.storms.isEmpty else { return }
        let others = Set(receivers.filter { !$0.kind.isForPeople }.map(\.name))
        notifications.storms.dropSingles(of: others)
        for storm in notifications.storms.storms where others.contains(storm.queue.receiver) {
            for single in storm.members.values {
                guard var alert = board[single.key] else { continue }
                for notified in alert.notified where notified.receiver == storm.queue.receiver {
                    board.dropTrigger(notified.trigger, of: single.key)
                }
                alert.notified.removeAll { $0.receiver == storm.queue.receiver }
                alert.heldUntil = heldUntil(alert)
                board.note(single.key, alert, repeatAt: alert.nextNotification(receivers))
            }
            notifications.storms.empty(storm.episode)
        }
    }

    // MARK: - Coming back

    /// After a checkpoint was read, alerts and storms know each other again.
    mutating func restoreStorms() {
        guard !notifications.storms.isEmpty else { return }
        var keys: [Int64: AlertKey] = [:]
        board.forEach { key, alert in
            if alert.state == .firing { keys[alert.incident] = key }
        }
        notifications.storms.find(keys)
        for storm in notifications.storms.storms {
            for single in storm.members.values {
                board.move(storm.queue.receiver, of: single.key, toStorm: storm.episode)
            }
        }
    }

    /// A stored message of a storm told of all members that it did not leave out (J4).
    mutating func noteStored(_ notice: Notice, of storm: Int64, at instant: RunningTime) {
        guard notice.kind != .resolved,
            let storm = notifications.storms.storms.first(where: { $0.episode == storm })
        else { return }
        for single in storm.members.values {
            board.stormNotified(notice.receiver, of: single.key, at: instant)
        }
    }

    /// Returns, in words, what does not hold of storms.
    func brokenStorms() -> [String] {
        var fires: [Int64: [Alert.NotifiedReceiver]] = [:]
        board.forEach { _, alert in
            if alert.state == .firing { fires[alert.incident] = alert.notified }
        }
        return notifications.storms.brokenInvariants(fires)
    }
}

/// The news of a storm for one receiver. Source: D11.
struct StormNotification {
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
