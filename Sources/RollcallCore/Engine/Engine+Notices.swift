/// Decides who is told of which alert. Source: design §6 A6 to A9, A11.
extension Engine {
    /// An alert that ended at this instant, as it was.
    typealias EndedAlert = (key: AlertKey, alert: Alert)

    /// When time alone next makes somebody be told.
    var nextNotice: RunningTime { min(desk.nextEnd, desk.nextRepeat) }

    /// Tells whoever must be told, once an instant, after the alerts were judged.
    mutating func settleNotices(_ ended: [EndedAlert]) {
        desk.expire(watch)
        guard desk.isDirty || !ended.isEmpty || desk.nextRepeat <= watch.now else { return }
        desk.isDirty = false
        var draft = NoticeDraft()
        for (key, alert) in ended { resolve(key, alert, &draft) }
        let firing = alerts.all.filter { $0.alert.state == .firing }
            .sorted { AlertKey.areInOrder($0.key, $1.key) }
        var nextRepeat = RunningTime.distantFuture
        for (key, alert) in firing {
            nextRepeat = min(nextRepeat, tell(key, alert, &draft))
        }
        desk.nextRepeat = nextRepeat
        emit(draft)
    }

    /// What had been told and is over is told to be over, muted or not (A7).
    private func resolve(_ key: AlertKey, _ alert: Alert, _ draft: inout NoticeDraft) {
        for receiver in policy.receivers
        where receiver.sendsResolved && alert.toldAt(receiver.name) != nil {
            draft.add(member(key, alert, endsAt: watch.wallNow), .resolved, receiver)
        }
    }

    /// Tells the receivers of one alert that fires; returns when the first is to be told again.
    private mutating func tell(
        _ key: AlertKey, _ alert: Alert, _ draft: inout NoticeDraft
    ) -> RunningTime {
        var alert = alert
        var next = RunningTime.distantFuture
        for receiver in policy.receivers where receiver.wants(alert.labels) {
            let toldAt = alert.toldAt(receiver.name)
            if let toldAt, watch.now - toldAt < receiver.repeatInterval {
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
            alert.tell(receiver.name, at: watch.now)
            next = min(next, watch.now + receiver.repeatInterval)
            draft.add(
                member(key, alert, endsAt: .distantPast), toldAt == nil ? .fired : .repeated,
                receiver)
        }
        alerts.note(key, alert)
        return next
    }

    /// Why nobody is told of an alert now: an alert that says more, a silence, blindness.
    private func muteReason(_ key: AlertKey, _ labels: [Label]) -> MuteReason? {
        if let by = inhibitor(of: key) { return .inhibited(by: by) }
        if let silence = desk.silence(of: labels) { return .silence(silence.number) }
        return watch.isBlind && !key.name.isOfTheWatch ? .blind : nil
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

    private func member(_ key: AlertKey, _ alert: Alert, endsAt: Timestamp) -> NoticeMember {
        var member = NoticeMember()
        member.name = key.name
        member.incident = alert.incident
        member.labels = alert.labels
        member.annotations = alert.annotations
        member.startsAt = alert.startsAt
        member.endsAt = endsAt
        member.facts = alert.facts
        member.facts.figures = alert.figures
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
                decisions.append(
                    .notice(
                        at: watch.wallNow,
                        Notice(
                            number: desk.takeNotice(), receiver: group.receiver.name,
                            kind: group.kind, members: members)))
            }
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
}

/// Notices of one instant while they are put together.
private struct NoticeDraft {
    /// What one receiver is told of alerts of one name.
    struct Group {
        var name: AlertName
        var kind: Notice.Kind
        var receiver: Receiver
        /// In the order of the settings.
        var place: Int
        var members: [NoticeMember]

        static func areInOrder(_ a: Group, _ b: Group) -> Bool {
            if a.name != b.name { return a.name.rawValue < b.name.rawValue }
            if a.kind != b.kind { return a.kind.rawValue > b.kind.rawValue }
            return a.place < b.place
        }
    }

    private(set) var groups: [Group] = []
    var mutes: [Mute] = []

    mutating func add(_ member: NoticeMember, _ kind: Notice.Kind, _ receiver: Receiver) {
        let place = groups.firstIndex {
            $0.name == member.name && $0.kind == kind && $0.receiver.name == receiver.name
        }
        if let place { return groups[place].members.append(member) }
        groups.append(
            Group(
                name: member.name, kind: kind, receiver: receiver, place: groups.count,
                members: [member]))
    }
}
