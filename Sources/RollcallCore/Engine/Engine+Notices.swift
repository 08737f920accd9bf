/// Decides who is told of which alert. Source: A6 to A9, A11, D11.
extension Engine {
    /// An alert that ended at this instant, as it was.
    typealias EndedAlert = (key: AlertKey, alert: Alert)

    /// When time alone next makes somebody be told.
    var nextNotice: RunningTime {
        mutating get { min(notifications.nextEnd, alerts.nextRepeat(), nextStorm) }
    }

    /// Tells whoever must be told, once an instant, after the alerts were evaluated; `fired` and
    /// `ended` did so at this instant.
    mutating func settleNotices(fired: [AlertKey], _ ended: [EndedAlert]) {
        notifications.expire(clock)
        var sorted = keysToNotify(fired, ended)
        let repeats = groupsToRepeat(&sorted)
        let isStormDue = notifications.storms.isDirty || nextStorm <= clock.now
        guard !sorted.isEmpty || !ended.isEmpty || isStormDue else { return }
        let keys = sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }
            .map { sorted[$0] }
        var builder = NoticeBuilder(receivers: policy.receivers.count)
        for (key, alert) in ended { resolve(key, alert, &builder) }
        beginStorms(keys, &builder.mutes)
        for key in keys {
            guard let alert = alerts[key], alert.state == .firing else { continue }
            notify(key, alert, repeats, &builder)
        }
        for stormNotification in stormsToNotify() { builder.add(stormNotification) }
        emit(builder)
        for (key, storm) in builder.joined { noteTrigger(of: key, in: storm) }
    }

    /// The alerts of which somebody may have to be told, in order: those that fire now, those that are
    /// due again, and those that were muted if what mutes them may be another thing.
    private mutating func keysToNotify(_ fired: [AlertKey], _ ended: [EndedAlert]) -> [AlertKey] {
        defer { (notifications.isDirty, notifications.isAllDirty) = (false, false) }
        if notifications.isAllDirty { return alerts.firing.sorted(by: AlertKey.areInOrder) }
        var keys = fired + alerts.takeRepeats(clock.now)
        if notifications.isDirty {
            keys += alerts.muted
        } else if !alerts.muted.isEmpty {
            for key in fired { keys += inhibited(by: key) }
            for (key, _) in ended { keys += inhibited(by: key) }
        }
        return keys.sorted(by: AlertKey.areInOrder)
    }

    /// The receivers, by their places, that are to be told again of all that fires of a name, because
    /// that is due of one of `keys`: the others of the group join these, and are due again with it (A8).
    private func groupsToRepeat(_ keys: inout [AlertKey]) -> [AlertName: Set<Int>] {
        var groups: [AlertName: Set<Int>] = [:]
        for key in keys {
            guard let alert = alerts[key], alert.state == .firing else { continue }
            for (place, receiver) in policy.receivers.enumerated()
            where receiver.kind.isNotifiedOfWholeGroups && receiver.wants(alert.labels) {
                guard let notified = alert.notified(receiver.name), notified.storm == 0,
                    clock.now - notified.at >= receiver.repeatInterval,
                    muteReason(key, alert.labels) == nil
                else { continue }
                groups[key.name, default: []].insert(place)
            }
        }
        guard !groups.isEmpty else { return [:] }
        keys += alerts.firing.filter { groups[$0.name] != nil }
        keys.sort(by: AlertKey.areInOrder)
        return groups
    }

    /// The muted alerts of which this one says more, if it fires (A6, F11).
    private func inhibited(by key: AlertKey) -> [AlertKey] {
        switch (key.name, key.subject) {
        case (.noOnlineResponders, .region):
            let rate = AlertKey(name: .highOfflineRate, subject: key.subject)
            return alerts.muted.contains(rate) ? [rate] : []
        case (.telemetryFeedDown, .all):
            // There are as many as sources.
            return alerts.aboutRollcall.filter { alerts.muted.contains($0) }
        default: return []
        }
    }

    /// What had been told and is over is told to be over, muted or not (A7).
    private mutating func resolve(
        _ key: AlertKey, _ alert: Alert, _ builder: inout NoticeBuilder
    ) {
        var notified = alert.notified
        if !notifications.storms.isEmpty {
            // A storm tells its own end only.
            notified.removeAll {
                let queue = StormState.Queue(receiver: $0.receiver, name: key.name)
                return !notifications.storms.leave(alert.incident, queue, storm: $0.storm)
            }
        }
        for (place, receiver) in policy.receivers.enumerated()
        where notified.contains(where: { $0.receiver == receiver.name }) {
            var member = ending(key, alert)
            member.fallback = alert.fallback(of: receiver.name)
            // Nobody watches the incidents of a pager that is only given some (D3).
            let isGiven = member.fallback != nil && receiver.kind == .pagerduty
            guard receiver.sendsResolved || isGiven else { continue }
            builder.add(member, of: key, .resolved, receiver, place)
        }
    }

    /// Tells the receivers of one alert that fires; those of `repeats` again, with all of its name.
    private mutating func notify(
        _ key: AlertKey, _ alert: Alert, _ repeats: [AlertName: Set<Int>],
        _ builder: inout NoticeBuilder
    ) {
        var alert = alert
        let groups = repeats[key.name] ?? []
        var next = RunningTime.distantFuture
        for (place, receiver) in policy.receivers.enumerated()
        where receiver.wants(alert.labels) {
            let notified = alert.notified(receiver.name)
            let notifiedAt = notified?.at
            // The storm is told again.
            if let notified, notified.storm != 0 { continue }
            if let notifiedAt, clock.now - notifiedAt < receiver.repeatInterval,
                !groups.contains(place)
            {
                next = min(next, notifiedAt + receiver.repeatInterval)
                continue
            }
            if let reason = muteReason(key, alert.labels) {
                // Nothing is re-sent at a silence's end for a state already told (A7).
                if notifiedAt != nil {
                    alert.notify(receiver.name, at: clock.now)
                    next = min(next, clock.now + receiver.repeatInterval)
                } else if alert.mute(receiver.name, reason) {
                    builder.mutes.append(
                        Mute(
                            key: key, incident: alert.incident, receiver: receiver.name,
                            reason: reason))
                }
                continue
            }
            if notifiedAt == nil, join(key, &alert, receiver, nil, &builder) { continue }
            alert.notify(receiver.name, at: clock.now)
            next = min(next, clock.now + receiver.repeatInterval)
            var member = member(key, alert, endsAt: .distantPast)
            member.fallback = alert.fallback(of: receiver.name)
            builder.add(member, of: key, notifiedAt == nil ? .fired : .repeated, receiver, place)
        }
        giveAway(key, &alert, &next, &builder)
        alerts.note(key, alert, repeatAt: next)
    }

    /// Gives what was not taken to the fallbacks, and says when it is time for the others (D3).
    /// Blindness mutes what is decided; this was.
    private mutating func giveAway(
        _ key: AlertKey, _ alert: inout Alert, _ next: inout RunningTime,
        _ builder: inout NoticeBuilder
    ) {
        alert.dropStaleMutes(policy.receivers, now: clock.now)
        for trigger in alert.openTriggers(policy.receivers) {
            let name = trigger.fallback.name
            guard trigger.due <= clock.now else {
                next = min(next, trigger.due)
                continue
            }
            if let reason = muteReason(key, alert.labels), reason != .blind {
                guard alert.mute(name, reason) else { continue }
                builder.mutes.append(
                    Mute(key: key, incident: alert.incident, receiver: name, reason: reason))
                continue
            }
            let fallback = Fallback(
                receiver: trigger.receiver.name, after: clock.now - trigger.since)
            counters.notifications.noteGiven(from: trigger.receiver.name, to: name)
            if join(key, &alert, trigger.fallback, fallback, &builder) { continue }
            alert.notify(name, at: clock.now, fallback)
            var member = member(key, alert, endsAt: .distantPast)
            member.fallback = fallback
            builder.add(member, of: key, .fired, trigger.fallback, trigger.place)
        }
    }

    /// Lets an alert that a receiver does not know yet join a storm there; if there is none, it waits
    /// to be taken (D11).
    private mutating func join(
        _ key: AlertKey, _ alert: inout Alert, _ receiver: Receiver, _ fallback: Fallback?,
        _ builder: inout NoticeBuilder
    ) -> Bool {
        guard receiver.kind.isForPeople else { return false }
        let queue = StormState.Queue(receiver: receiver.name, name: key.name)
        guard policy.alerts.storm > 0, let storm = notifications.storms.joinable(queue) else {
            notifications.storms.wait(queue, alert.incident, key)
            return false
        }
        notifications.storms.join(storm, alert.incident, key, now: clock.now)
        alert.notify(receiver.name, at: clock.now, fallback, storm: storm)
        builder.joined.append((key, storm))
        builder.mutes.append(
            Mute(
                key: key, incident: alert.incident, receiver: receiver.name, reason: .storm(storm)))
        return true
    }

    /// Why nobody is told of an alert now: an alert that says more, a silence, blindness.
    func muteReason(_ key: AlertKey, _ labels: [Label]) -> MuteReason? {
        if let by = inhibitor(of: key) { return .inhibited(by: by) }
        if let silence = notifications.silence(of: labels) { return .silence(silence.number) }
        return clock.isBlind && !key.name.isAboutRollcall ? .blind : nil
    }

    /// True if nobody is to be told of an alert that fires, by whoever silenced it or because
    /// another one says more; blindness is no wish of anybody's.
    package func isMuted(_ key: AlertKey, _ alert: borrowing Alert) -> Bool {
        inhibitor(of: key) != nil || notifications.silence(of: alert.labels) != nil
    }

    /// The alert that says more than this one (A6, F11).
    private func inhibitor(of key: AlertKey) -> AlertKey? {
        let by: AlertKey
        switch (key.name, key.subject) {
        case (.highOfflineRate, .region):
            by = .init(name: .noOnlineResponders, subject: key.subject)
        case (.telemetryFeedDown, .source): by = .init(name: .telemetryFeedDown, subject: .all)
        default: return nil
        }
        return alerts[by]?.state == .firing ? by : nil
    }

    func member(_ key: AlertKey, _ alert: Alert, endsAt: Timestamp) -> NoticeMember {
        var member = NoticeMember()
        member.name = key.name
        member.incident = alert.incident
        member.labels = alert.labels
        member.annotations = alert.annotations
        member.startsAt = alert.startsAt
        member.endsAt = endsAt
        member.facts = alert.facts
        if member.facts.stats != alert.stats {
            // The numbers and the causes in one sentence are of one instant (D7).
            member.facts.stats = alert.stats
            member.facts.causes = []
            member.facts.people = []
        }
        return member
    }

    /// One that is over, with what holds at its end (D7).
    private func ending(_ key: AlertKey, _ alert: Alert) -> NoticeMember {
        var member = member(key, alert, endsAt: clock.wallNow)
        guard !key.name.isAboutRollcall else { return member }
        member.facts.stats = condition(key).1
        member.facts.causes = []
        member.facts.people = []
        return member
    }

    /// Decides the notices of a builder: what is over before what begins, by name (A8).
    private mutating func emit(_ builder: NoticeBuilder) {
        for mute in builder.mutes { decisions.append(.mute(at: clock.wallNow, mute)) }
        let fired = builder.groups.contains { $0.kind == .fired }
        let absence = fired ? notifications.takeAbsence() : nil
        for group in builder.groups.sorted(by: NoticeBuilder.Group.areInOrder) {
            let size = group.receiver.kind == .pagerduty ? 1 : Notice.membersMax
            for start in stride(from: 0, to: group.members.count, by: size) {
                var members = Array(
                    group.members[start..<min(start + size, group.members.count)])
                if group.kind == .fired {
                    for index in members.indices {
                        members[index].facts.absentFrom = absence?.from
                        members[index].facts.absentTo = absence?.to
                    }
                }
                var notice = Notice(
                    number: notifications.takeNotice(), receiver: group.receiver.name,
                    kind: group.kind,
                    members: members)
                notice.storm = group.storm?.facts
                decisions.append(.notice(at: clock.wallNow, notice))
                follow(notice, group)
                guard group.kind == .fired, group.storm == nil else { continue }
                for key in group.keys[start..<start + members.count] {
                    alerts.noteTrigger(
                        notice.number, of: key, to: group.receiver.name, policy.receivers)
                }
            }
        }
    }

    /// What becomes of a notice about something that fires is followed where people read it (D11).
    private mutating func follow(_ notice: Notice, _ group: NoticeBuilder.Group) {
        guard notice.kind != .resolved, group.receiver.kind.isForPeople else { return }
        let addresses = group.receiver.addresses
        if let storm = group.storm {
            notifications.storms.notify(
                storm.episode, by: notice.number, storm.severity, addresses: addresses,
                now: clock.now)
            noteTriggers(of: storm.episode)
        } else {
            let queue = StormState.Queue(receiver: group.receiver.name, name: group.name)
            notifications.storms.send(
                notice.number, queue, notice.members.map(\.incident), addresses: addresses)
        }
    }

    /// Nobody is known to have taken the first message of a storm: it is the trigger of every member that
    /// has it (D3, D11).
    mutating func noteTrigger(of key: AlertKey, in storm: Int64) {
        guard let storm = notifications.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        alerts.noteTrigger(storm.trigger, of: key, to: storm.queue.receiver, policy.receivers)
    }

    /// The same of all that are in it when it begins.
    mutating func noteTriggers(of storm: Int64) {
        guard let storm = notifications.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        for key in storm.members.values.map(\.key).sorted(by: AlertKey.areInOrder) {
            alerts.noteTrigger(storm.trigger, of: key, to: storm.queue.receiver, policy.receivers)
        }
    }

    // MARK: - What is told to us

    mutating func change(_ change: SilenceChange, _ receipt: inout Receipt) {
        switch change {
        case .begin(let silence):
            (receipt.silence, receipt.silenceFault) = notifications.begin(silence, clock)
        case .end(let number):
            let isKnown = notifications.end(number, clock)
            receipt.silence = isKnown ? number : nil
            receipt.silenceFault = isKnown ? nil : .unknown
        }
        if receipt.silence != nil { receipt.accepted = 1 }
    }

    /// A test alert to one receiver, whatever its matchers say (A11).
    mutating func drill(_ receiver: [UInt8], _ receipt: inout Receipt) {
        guard policy.receivers.contains(where: { $0.name == receiver }) else { return }
        let number = notifications.takeNotice()
        var member = NoticeMember()
        member.name = .rollcallDrill
        // Firings count upwards from 1: no drill has the key of one.
        member.incident = -number
        member.labels = labels(
            AlertKey(name: .rollcallDrill, subject: .all), policy.alerts[.rollcallDrill], .info)
        member.startsAt = clock.wallNow
        notifications.drill(member, number, receiver)
        let notice = Notice(number: number, receiver: receiver, kind: .fired, members: [member])
        decisions.append(.notice(at: clock.wallNow, notice))
        receipt.drill = number
        receipt.accepted = 1
    }

    /// A message came to its end: it is counted, and a drill that arrived ends itself.
    mutating func end(_ end: NoticeEnd) {
        counters.notifications.note(end)
        // One address is enough: its receiver knows.
        if end.outcome == .delivered { alerts.take(end.notice, policy.receivers, now: clock.now) }
        for key in notifications.storms.end(end, now: clock.now) {
            // It had left before the storm began: it keeps its own key, repeats and end (D11).
            guard var alert = alerts[key] else { continue }
            alert.move(end.receiver, toStorm: 0)
            // It is taken, whatever becomes of the storm's own message (D3).
            if let place = alert.placeNotified(end.receiver) {
                alerts.dropTrigger(alert.notified[place].trigger, of: key)
                alert.notified[place].trigger = 0
            }
            alert.dropStaleMutes(policy.receivers, now: clock.now)
            alerts.note(key, alert, repeatAt: alert.nextNotification(policy.receivers))
        }
        if end.outcome == .removed { untell(end) }
        guard let drill = notifications.takeDrill(end.notice), end.outcome == .delivered,
            let receiver = policy.receivers.first(where: { $0.name == drill.receiver }),
            receiver.sendsResolved || receiver.kind == .pagerduty
        else { return }
        var member = drill.member
        member.endsAt = clock.wallNow
        let notice = Notice(
            number: notifications.takeNotice(), receiver: drill.receiver, kind: .resolved,
            members: [member])
        decisions.append(.notice(at: clock.wallNow, notice))
    }

    /// A receiver left the settings before it took a trigger: if it comes back it is told anew.
    private mutating func untell(_ end: NoticeEnd) {
        let receiver = policy.receivers.first { $0.name == end.receiver }
        // Another of its addresses has it still.
        if let receiver, end.target >= receiver.addresses { return }
        for (key, incident) in alerts.untell(end.notice, policy.receivers) {
            let queue = StormState.Queue(receiver: end.receiver, name: key.name)
            _ = notifications.storms.leave(incident, queue, storm: 0)
        }
        if receiver != nil { notifications.isAllDirty = true }
    }
}
