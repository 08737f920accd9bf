/// Decides who is told of which alert. Source: A6 to A9, A11, D11.
extension Engine {
    /// An alert that ended at this instant, as it was.
    typealias EndedAlert = (key: AlertKey, alert: Alert)

    /// When time alone next makes somebody be told.
    var nextNotice: RunningTime {
        mutating get { min(desk.nextEnd, alerts.nextRepeat(), nextStorm) }
    }

    /// Tells whoever must be told, once an instant, after the alerts were judged; `fired` and `ended`
    /// did so at this instant.
    mutating func settleNotices(fired: [AlertKey], _ ended: [EndedAlert]) {
        desk.expire(watch)
        var sorted = keysToTell(fired, ended)
        let repeats = groupsToRepeat(&sorted)
        let isStormDue = desk.storms.isDirty || nextStorm <= watch.now
        guard !sorted.isEmpty || !ended.isEmpty || isStormDue else { return }
        let keys = sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }
            .map { sorted[$0] }
        var draft = NoticeDraft(receivers: policy.receivers.count)
        for (key, alert) in ended { resolve(key, alert, &draft) }
        beginStorms(keys, &draft.mutes)
        for key in keys {
            guard let alert = alerts[key], alert.state == .firing else { continue }
            tell(key, alert, repeats, &draft)
        }
        for telling in stormsToTell() { draft.add(telling) }
        emit(draft)
        for (key, storm) in draft.joined { noteTrigger(of: key, in: storm) }
    }

    /// The alerts of which somebody may have to be told, in order: those that fire now, those that are
    /// due again, and those that were muted if what mutes them may be another thing.
    private mutating func keysToTell(_ fired: [AlertKey], _ ended: [EndedAlert]) -> [AlertKey] {
        defer { (desk.isDirty, desk.isAllDirty) = (false, false) }
        if desk.isAllDirty { return alerts.firing.sorted(by: AlertKey.areInOrder) }
        var keys = fired + alerts.takeRepeats(watch.now)
        if desk.isDirty {
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
            where receiver.kind.isToldWholeGroups && receiver.wants(alert.labels) {
                guard let told = alert.told(receiver.name), told.storm == 0,
                    watch.now - told.at >= receiver.repeatInterval,
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
            return alerts.ofTheWatch.filter { alerts.muted.contains($0) }
        default: return []
        }
    }

    /// What had been told and is over is told to be over, muted or not (A7).
    private mutating func resolve(
        _ key: AlertKey, _ alert: Alert, _ draft: inout NoticeDraft
    ) {
        var told = alert.told
        if !desk.storms.isEmpty {
            // A storm tells its own end only.
            told.removeAll {
                let lane = StormDesk.Lane(receiver: $0.receiver, name: key.name)
                return !desk.storms.leave(alert.incident, lane, storm: $0.storm)
            }
        }
        for (place, receiver) in policy.receivers.enumerated()
        where told.contains(where: { $0.receiver == receiver.name }) {
            var member = ending(key, alert)
            member.fallback = alert.fallback(of: receiver.name)
            // Nobody watches the incidents of a pager that is only given some (D3).
            let isGiven = member.fallback != nil && receiver.kind == .pagerduty
            guard receiver.sendsResolved || isGiven else { continue }
            draft.add(member, of: key, .resolved, receiver, place)
        }
    }

    /// Tells the receivers of one alert that fires; those of `repeats` again, with all of its name.
    private mutating func tell(
        _ key: AlertKey, _ alert: Alert, _ repeats: [AlertName: Set<Int>],
        _ draft: inout NoticeDraft
    ) {
        var alert = alert
        let groups = repeats[key.name] ?? []
        var next = RunningTime.distantFuture
        for (place, receiver) in policy.receivers.enumerated()
        where receiver.wants(alert.labels) {
            let told = alert.told(receiver.name)
            let toldAt = told?.at
            // The storm is told again.
            if let told, told.storm != 0 { continue }
            if let toldAt, watch.now - toldAt < receiver.repeatInterval, !groups.contains(place) {
                next = min(next, toldAt + receiver.repeatInterval)
                continue
            }
            if let reason = muteReason(key, alert.labels) {
                // Nothing is re-sent at a silence's end for a state already told (A7).
                if toldAt != nil {
                    alert.tell(receiver.name, at: watch.now)
                    next = min(next, watch.now + receiver.repeatInterval)
                } else if alert.mute(receiver.name, reason) {
                    draft.mutes.append(
                        Mute(
                            key: key, incident: alert.incident, receiver: receiver.name,
                            reason: reason))
                }
                continue
            }
            if toldAt == nil, join(key, &alert, receiver, nil, &draft) { continue }
            alert.tell(receiver.name, at: watch.now)
            next = min(next, watch.now + receiver.repeatInterval)
            var member = member(key, alert, endsAt: .distantPast)
            member.fallback = alert.fallback(of: receiver.name)
            draft.add(member, of: key, toldAt == nil ? .fired : .repeated, receiver, place)
        }
        giveAway(key, &alert, &next, &draft)
        alerts.note(key, alert, repeatAt: next)
    }

    /// Gives what was not taken to the fallbacks, and says when it is time for the others (D3).
    /// Blindness mutes what is decided; this was.
    private mutating func giveAway(
        _ key: AlertKey, _ alert: inout Alert, _ next: inout RunningTime,
        _ draft: inout NoticeDraft
    ) {
        alert.dropStaleMutes(policy.receivers, now: watch.now)
        for trigger in alert.openTriggers(policy.receivers) {
            let name = trigger.fallback.name
            guard trigger.due <= watch.now else {
                next = min(next, trigger.due)
                continue
            }
            if let reason = muteReason(key, alert.labels), reason != .blind {
                guard alert.mute(name, reason) else { continue }
                draft.mutes.append(
                    Mute(key: key, incident: alert.incident, receiver: name, reason: reason))
                continue
            }
            let fallback = Fallback(
                receiver: trigger.receiver.name, after: watch.now - trigger.since)
            counters.notifications.noteGiven(from: trigger.receiver.name, to: name)
            if join(key, &alert, trigger.fallback, fallback, &draft) { continue }
            alert.tell(name, at: watch.now, fallback)
            var member = member(key, alert, endsAt: .distantPast)
            member.fallback = fallback
            draft.add(member, of: key, .fired, trigger.fallback, trigger.place)
        }
    }

    /// Lets an alert that a receiver does not know yet join a storm there; if there is none, it waits
    /// to be taken (D11).
    private mutating func join(
        _ key: AlertKey, _ alert: inout Alert, _ receiver: Receiver, _ fallback: Fallback?,
        _ draft: inout NoticeDraft
    ) -> Bool {
        guard receiver.kind.isForPeople else { return false }
        let lane = StormDesk.Lane(receiver: receiver.name, name: key.name)
        guard policy.alerts.storm > 0, let storm = desk.storms.joinable(lane) else {
            desk.storms.wait(lane, alert.incident, key)
            return false
        }
        desk.storms.join(storm, alert.incident, key, now: watch.now)
        alert.tell(receiver.name, at: watch.now, fallback, storm: storm)
        draft.joined.append((key, storm))
        draft.mutes.append(
            Mute(
                key: key, incident: alert.incident, receiver: receiver.name, reason: .storm(storm)))
        return true
    }

    /// Why nobody is told of an alert now: an alert that says more, a silence, blindness.
    func muteReason(_ key: AlertKey, _ labels: [Label]) -> MuteReason? {
        if let by = inhibitor(of: key) { return .inhibited(by: by) }
        if let silence = desk.silence(of: labels) { return .silence(silence.number) }
        return watch.isBlind && !key.name.isOfTheWatch ? .blind : nil
    }

    /// True if nobody is to be told of an alert that fires, by whoever silenced it or because
    /// another one says more; blindness is no wish of anybody's.
    package func isMuted(_ key: AlertKey, _ alert: borrowing Alert) -> Bool {
        inhibitor(of: key) != nil || desk.silence(of: alert.labels) != nil
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
        if member.facts.figures != alert.figures {
            // The numbers and the causes in one sentence are of one instant (D7).
            member.facts.figures = alert.figures
            member.facts.causes = []
            member.facts.people = []
        }
        return member
    }

    /// One that is over, with what holds at its end (D7).
    private func ending(_ key: AlertKey, _ alert: Alert) -> NoticeMember {
        var member = member(key, alert, endsAt: watch.wallNow)
        guard !key.name.isOfTheWatch else { return member }
        member.facts.figures = condition(key).1
        member.facts.causes = []
        member.facts.people = []
        return member
    }

    /// Decides the notices of a draft: what is over before what begins, by name (A8).
    private mutating func emit(_ draft: NoticeDraft) {
        for mute in draft.mutes { decisions.append(.mute(at: watch.wallNow, mute)) }
        let fired = draft.groups.contains { $0.kind == .fired }
        let absence = fired ? desk.takeAbsence() : nil
        for group in draft.groups.sorted(by: NoticeDraft.Group.areInOrder) {
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
                    number: desk.takeNotice(), receiver: group.receiver.name, kind: group.kind,
                    members: members)
                notice.storm = group.storm?.facts
                decisions.append(.notice(at: watch.wallNow, notice))
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
    private mutating func follow(_ notice: Notice, _ group: NoticeDraft.Group) {
        guard notice.kind != .resolved, group.receiver.kind.isForPeople else { return }
        let addresses = group.receiver.addresses
        if let storm = group.storm {
            desk.storms.tell(
                storm.episode, by: notice.number, storm.severity, addresses: addresses,
                now: watch.now)
            noteTriggers(of: storm.episode)
        } else {
            let lane = StormDesk.Lane(receiver: group.receiver.name, name: group.name)
            desk.storms.send(
                notice.number, lane, notice.members.map(\.incident), addresses: addresses)
        }
    }

    /// Nobody is known to have taken the first message of a storm: it is the trigger of every member that
    /// has it (D3, D11).
    mutating func noteTrigger(of key: AlertKey, in storm: Int64) {
        guard let storm = desk.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        alerts.noteTrigger(storm.trigger, of: key, to: storm.lane.receiver, policy.receivers)
    }

    /// The same of all that are in it when it begins.
    mutating func noteTriggers(of storm: Int64) {
        guard let storm = desk.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        for key in storm.members.values.map(\.key).sorted(by: AlertKey.areInOrder) {
            alerts.noteTrigger(storm.trigger, of: key, to: storm.lane.receiver, policy.receivers)
        }
    }

    // MARK: - What is told to us

    mutating func change(_ change: SilenceChange, _ receipt: inout Receipt) {
        switch change {
        case .begin(let silence):
            (receipt.silence, receipt.silenceFault) = desk.begin(silence, watch)
        case .end(let number):
            let isKnown = desk.end(number, watch)
            receipt.silence = isKnown ? number : nil
            receipt.silenceFault = isKnown ? nil : .unknown
        }
        if receipt.silence != nil { receipt.accepted = 1 }
    }

    /// A test alert to one receiver, whatever its matchers say (A11).
    mutating func drill(_ receiver: [UInt8], _ receipt: inout Receipt) {
        guard policy.receivers.contains(where: { $0.name == receiver }) else { return }
        let number = desk.takeNotice()
        var member = NoticeMember()
        member.name = .rollcallDrill
        // Firings count upwards from 1: no drill has the key of one.
        member.incident = -number
        member.labels = labels(
            AlertKey(name: .rollcallDrill, subject: .all), policy.alerts[.rollcallDrill], .info)
        member.startsAt = watch.wallNow
        desk.drill(member, number, receiver)
        let notice = Notice(number: number, receiver: receiver, kind: .fired, members: [member])
        decisions.append(.notice(at: watch.wallNow, notice))
        receipt.drill = number
        receipt.accepted = 1
    }

    /// A message came to its end: it is counted, and a drill that arrived ends itself.
    mutating func end(_ end: NoticeEnd) {
        counters.notifications.note(end)
        // One address is enough: its receiver knows.
        if end.outcome == .delivered { alerts.take(end.notice, policy.receivers, now: watch.now) }
        for key in desk.storms.end(end, now: watch.now) {
            // It had left before the storm began: it keeps its own key, repeats and end (D11).
            guard var alert = alerts[key] else { continue }
            alert.move(end.receiver, toStorm: 0)
            // It is taken, whatever becomes of the storm's own message (D3).
            if let place = alert.placeTold(end.receiver) {
                alerts.dropTrigger(alert.told[place].trigger, of: key)
                alert.told[place].trigger = 0
            }
            alert.dropStaleMutes(policy.receivers, now: watch.now)
            alerts.note(key, alert, repeatAt: alert.nextTelling(policy.receivers))
        }
        if end.outcome == .removed { untell(end) }
        guard let drill = desk.takeDrill(end.notice), end.outcome == .delivered,
            let receiver = policy.receivers.first(where: { $0.name == drill.receiver }),
            receiver.sendsResolved || receiver.kind == .pagerduty
        else { return }
        var member = drill.member
        member.endsAt = watch.wallNow
        let notice = Notice(
            number: desk.takeNotice(), receiver: drill.receiver, kind: .resolved,
            members: [member])
        decisions.append(.notice(at: watch.wallNow, notice))
    }

    /// A receiver left the settings before it took a trigger: if it comes back it is told anew.
    private mutating func untell(_ end: NoticeEnd) {
        let receiver = policy.receivers.first { $0.name == end.receiver }
        // Another of its addresses has it still.
        if let receiver, end.target >= receiver.addresses { return }
        for (key, incident) in alerts.untell(end.notice, policy.receivers) {
            let lane = StormDesk.Lane(receiver: end.receiver, name: key.name)
            _ = desk.storms.leave(incident, lane, storm: 0)
        }
        if receiver != nil { desk.isAllDirty = true }
    }
}
