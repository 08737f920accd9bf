/// Decides who is told of which alert. Source: A6 to A9, A11, D11.
extension Alerting {
    /// An alert that ended at this instant, as it was, and what holds now.
    typealias EndedAlert = (key: AlertKey, alert: Alert, stats: AlertStats)

    /// Returns the instant at which time alone next makes somebody be notified.
    mutating func nextNotice(_ receivers: [Receiver]) -> RunningTime {
        min(notifications.nextEnd, board.nextRepeat(), nextStorm(receivers))
    }

    /// Tells whoever must be told, once an instant, after the alerts were evaluated; `fired` and
    /// `ended` did so at this instant.
    mutating func settleNotices(
        fired: [AlertKey], _ ended: [EndedAlert], _ context: AlertContext,
        _ counters: inout NotificationCounters, _ decisions: inout [Decision]
    ) {
        notifications.expire(context.clock)
        var sorted = keysToNotify(fired, ended, context.clock.now)
        let repeats = groupsToRepeat(&sorted, context)
        let isStormDue =
            notifications.storms.isDirty || nextStorm(context.receivers) <= context.clock.now
        guard !sorted.isEmpty || !ended.isEmpty || isStormDue else { return }
        let keys = sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }
            .map { sorted[$0] }
        var builder = NoticeBuilder(receivers: context.receivers.count)
        for ended in ended {
            resolve(ended, context, &builder)
            notifications.takes.end(ended.alert.incident)
        }
        beginStorms(keys, context, &builder.mutes)
        for key in keys {
            guard let alert = board[key], alert.state == .firing else { continue }
            notify(key, alert, repeats, context, &counters, &builder)
        }
        for stormNotification in stormsToNotify(context, &builder.mutes) {
            builder.add(stormNotification)
        }
        emit(builder, context, &decisions)
        for (key, storm) in builder.joined { noteTrigger(of: key, in: storm, context.receivers) }
    }

    /// The alerts of which somebody may have to be told, in order: those that fire now, those that are
    /// due again, and those that were muted if what mutes them may be another thing.
    private mutating func keysToNotify(
        _ fired: [AlertKey], _ ended: [EndedAlert], _ now: RunningTime
    ) -> [AlertKey] {
        defer { (notifications.isDirty, notifications.isAllDirty) = (false, false) }
        if notifications.isAllDirty { return board.firing.sorted(by: AlertKey.areInOrder) }
        var keys = fired + board.takeRepeats(now)
        if notifications.isDirty {
            keys += board.muted
        } else if !board.muted.isEmpty {
            for key in fired { keys += inhibited(by: key) }
            for ended in ended { keys += inhibited(by: ended.key) }
        }
        return keys.sorted(by: AlertKey.areInOrder)
    }

    /// The receivers, by their places, that are to be told again of all that fires of a name, because
    /// that is due of one of `keys`: the others of the group join these, and are due again with it (A8).
    private func groupsToRepeat(
        _ keys: inout [AlertKey], _ context: AlertContext
    ) -> [AlertName: Set<Int>] {
        var groups: [AlertName: Set<Int>] = [:]
        for key in keys {
            guard let alert = board[key], alert.state == .firing else { continue }
            for (place, receiver) in context.receivers.enumerated()
            where receiver.kind.isNotifiedOfWholeGroups && receiver.wants(alert.labels) {
                guard let notified = alert.notified(receiver.name), notified.storm == 0,
                    alert.repetition(of: notified, to: receiver) <= context.clock.now,
                    muteReason(key, alert.labels, context.clock) == nil
                else { continue }
                groups[key.name, default: []].insert(place)
            }
        }
        guard !groups.isEmpty else { return [:] }
        keys += board.firing.filter { groups[$0.name] != nil }
        keys.sort(by: AlertKey.areInOrder)
        return groups
    }

    /// The muted alerts of which this one says more, if it fires (A6, F11).
    private func inhibited(by key: AlertKey) -> [AlertKey] {
        switch key.name {
        case .noOnlineResponders:
            let names: [AlertName] = [.highOfflineRate, .responderOffline]
            return names.map { AlertKey(name: $0, subject: key.subject) }
                .filter { board.muted.contains($0) }
        case .telemetryFeedDown:
            // There are as many as sources.
            return key.subject == .all
                ? board.aboutRollcall.filter { board.muted.contains($0) } : []
        case .cellDark, .fleetDark, .highOfflineRate, .responderFlapping, .responderOffline,
            .rollcallDrill,
            .rollcallOverloaded, .rollcallStateLost, .rollcallStoreFailing, .rollcallUnsteady,
            .watchdog:
            return []
        }
    }

    /// Notifies whoever was notified of an alert that it is over, muted or not (A7).
    private mutating func resolve(
        _ ended: EndedAlert, _ context: AlertContext, _ builder: inout NoticeBuilder
    ) {
        let (key, alert, stats) = ended
        var notified = alert.notified
        if !notifications.storms.isEmpty {
            // A storm tells its own end only.
            notified.removeAll {
                let queue = StormState.Queue(receiver: $0.receiver, name: key.name)
                return !notifications.storms.leave(alert.incident, queue, storm: $0.storm)
            }
        }
        for (place, receiver) in context.receivers.enumerated()
        where notified.contains(where: { $0.receiver == receiver.name }) {
            var member = ending(key, alert, stats, at: context.clock.wallNow)
            member.facts.turnover = alert.news(for: alert.notified(receiver.name))
            member.fallback = alert.fallback(of: receiver.name)
            // Nobody watches the incidents of a pager that is only given some (D3).
            let isGiven = member.fallback != nil && receiver.kind.keepsIncidents
            guard receiver.sendsResolved || isGiven else { continue }
            builder.add(member, of: key, .resolved, receiver, place)
        }
    }

    /// Tells the receivers of one alert that fires; those of `repeats` again, with all of its name.
    private mutating func notify(
        _ key: AlertKey, _ alert: Alert, _ repeats: [AlertName: Set<Int>],
        _ context: AlertContext, _ counters: inout NotificationCounters,
        _ builder: inout NoticeBuilder
    ) {
        var alert = alert
        let groups = repeats[key.name] ?? []
        var next = RunningTime.distantFuture
        let heldUntil = alert.heldUntil
        for (place, receiver) in context.receivers.enumerated()
        where receiver.wants(alert.labels) {
            let notified = alert.notified(receiver.name)
            // The storm is told again.
            if let notified, notified.storm != 0 {
                unmute(key, &alert, notified, context, &builder.mutes)
                continue
            }
            if let notified {
                let due = alert.repetition(of: notified, to: receiver)
                let isInGroup = groups.contains(place) && alert.heldUntil <= context.clock.now
                if due > context.clock.now, !isInGroup {
                    next = min(next, due)
                    continue
                }
            } else if alert.escalation(to: receiver) > context.clock.now {
                next = min(next, alert.escalation(to: receiver))
                continue
            }
            if let reason = muteReason(key, alert.labels, context.clock) {
                // Nothing is re-sent at a silence's end for a state already told (A7).
                if notified != nil {
                    alert.notify(receiver.name, at: context.clock.now)
                    next = min(next, alert.repetition(to: receiver))
                } else if alert.mute(receiver.name, reason) {
                    builder.mutes.append(
                        Mute(
                            key: key, incident: alert.incident, receiver: receiver.name,
                            reason: reason))
                }
                continue
            }
            if notified == nil, join(key, &alert, receiver, nil, context, &builder) { continue }
            var member = member(key, alert, endsAt: .distantPast)
            member.facts.turnover = alert.news(for: notified)
            alert.notify(receiver.name, at: context.clock.now)
            alert.settleTurnover(of: receiver.name)
            next = min(next, alert.repetition(to: receiver))
            member.fallback = alert.fallback(of: receiver.name)
            builder.add(member, of: key, notified == nil ? .fired : .repeated, receiver, place)
        }
        giveAway(key, &alert, &next, context, &counters, &builder)
        // A storm that it joined may be held.
        if alert.heldUntil != heldUntil { next = alert.nextNotification(context.receivers) }
        board.note(key, alert, repeatAt: next)
    }

    /// Gives what was not taken to the fallbacks, and says when it is time for the others (D3).
    /// Blindness mutes what is decided; this was.
    private mutating func giveAway(
        _ key: AlertKey, _ alert: inout Alert, _ next: inout RunningTime,
        _ context: AlertContext, _ counters: inout NotificationCounters,
        _ builder: inout NoticeBuilder
    ) {
        alert.dropStaleMutes(context.receivers, now: context.clock.now)
        for trigger in alert.openTriggers(context.receivers) {
            let name = trigger.fallback.name
            let due = max(trigger.due, alert.heldUntil)
            guard due <= context.clock.now else {
                next = min(next, due)
                continue
            }
            if let reason = muteReason(key, alert.labels, context.clock), reason != .blind {
                guard alert.mute(name, reason) else { continue }
                builder.mutes.append(
                    Mute(key: key, incident: alert.incident, receiver: name, reason: reason))
                continue
            }
            let fallback = Fallback(
                receiver: trigger.receiver.name, after: context.clock.now - trigger.since)
            counters.noteGiven(from: trigger.receiver.name, to: name)
            if join(key, &alert, trigger.fallback, fallback, context, &builder) { continue }
            alert.notify(name, at: context.clock.now, fallback)
            var member = member(key, alert, endsAt: .distantPast)
            member.fallback = fallback
            builder.add(member, of: key, .fired, trigger.fallback, trigger.place)
        }
    }

    /// Lets an alert that a receiver does not know yet join a storm there; if there is none, it waits
    /// to be taken (D11).
    private mutating func join(
        _ key: AlertKey, _ alert: inout Alert, _ receiver: Receiver, _ fallback: Fallback?,
        _ context: AlertContext, _ builder: inout NoticeBuilder
    ) -> Bool {
        guard receiver.kind.isForPeople else { return false }
        let queue = StormState.Queue(receiver: receiver.name, name: key.name)
        guard context.rules.storm > 0, let storm = notifications.storms.joinable(queue) else {
            notifications.storms.wait(queue, alert.incident, key)
            return false
        }
        notifications.storms.join(storm, alert.incident, key, now: context.clock.now)
        alert.notify(receiver.name, at: context.clock.now, fallback, storm: storm)
        _ = alert.mute(receiver.name, .storm(storm))
        alert.heldUntil = heldUntil(alert)
        builder.joined.append((key, storm))
        builder.mutes.append(
            Mute(
                key: key, incident: alert.incident, receiver: receiver.name, reason: .storm(storm)))
        return true
    }

    /// Returns why nobody is notified of an alert now: an alert that says more, a silence,
    /// blindness; nil without a reason.
    func muteReason(
        _ key: AlertKey, _ labels: [Label], _ clock: ObservationClock
    ) -> MuteReason? {
        if let by = inhibitor(of: key) { return .inhibited(by: by) }
        if let silence = notifications.silence(of: labels) { return .silence(silence.number) }
        return clock.isBlind && !key.name.isAboutRollcall ? .blind : nil
    }

    /// True if nobody is to be told of an alert that fires, by whoever silenced it or because
    /// another one says more; blindness is no wish of anybody's.
    func isMuted(_ key: AlertKey, _ alert: borrowing Alert) -> Bool {
        inhibitor(of: key) != nil || notifications.silence(of: alert.labels) != nil
    }

    /// The alert that says more than this one (A6, F11).
    private func inhibitor(of key: AlertKey) -> AlertKey? {
        let by: AlertKey
        switch key.name {
        case .highOfflineRate, .responderOffline:
            by = .init(name: .noOnlineResponders, subject: key.subject)
        case .telemetryFeedDown:
            // That of no source is suspected where none is declared: it says something else.
            guard case .source = key.subject else { return nil }
            by = .init(name: .telemetryFeedDown, subject: .all)
        case .cellDark, .fleetDark, .noOnlineResponders, .responderFlapping, .rollcallDrill,
            .rollcallOverloaded, .rollcallStateLost, .rollcallStoreFailing, .rollcallUnsteady,
            .watchdog:
            return nil
        }
        return board[by]?.state == .firing ? by : nil
    }

    func member(_ key: AlertKey, _ alert: Alert, endsAt: Timestamp) -> NoticeMember {
        var member = NoticeMember()
        member.name = key.name
        member.incident = alert.incident
        member.labels = alert.labels
        member.annotations = alert.annotations
        member.startsAt = alert.startsAt
        member.endsAt = endsAt
        member.facts = alert.presentFacts
        let stats = key.name == .responderOffline ? alert.turnover.stats : alert.stats
        if member.facts.stats != stats {
            // The numbers and the causes in one sentence are of one instant (D7).
            member.facts.stats = stats
            member.facts.dropPeople()
        }
        return member
    }

    /// One that is over, with what holds at its end (D7).
    private func ending(
        _ key: AlertKey, _ alert: Alert, _ stats: AlertStats, at wall: Timestamp
    ) -> NoticeMember {
        var member = member(key, alert, endsAt: wall)
        guard !key.name.isAboutRollcall else { return member }
        member.facts.stats = stats
        member.facts.dropPeople()
        return member
    }

    /// Decides the notices of a builder: what is over before what begins, by name (A8).
    private mutating func emit(
        _ builder: NoticeBuilder, _ context: AlertContext, _ decisions: inout [Decision]
    ) {
        for mute in builder.mutes { decisions.append(.mute(at: context.clock.wallNow, mute)) }
        let fired = builder.groups.contains { $0.kind == .fired }
        let absence = fired ? notifications.takeAbsence() : nil
        for group in builder.groups.sorted(by: NoticeBuilder.Group.areInOrder) {
            let size = group.receiver.kind.keepsIncidents ? 1 : Notice.membersMax
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
                decisions.append(.notice(at: context.clock.wallNow, notice))
                follow(notice, group, context)
                guard group.kind == .fired, group.storm == nil else { continue }
                for key in group.keys[start..<start + members.count] {
                    board.noteTrigger(
                        notice.number, of: key, to: group.receiver.name, context.receivers)
                }
            }
        }
    }

    /// Follows what becomes of a notice about something that fires, where people read it (D11).
    private mutating func follow(
        _ notice: Notice, _ group: NoticeBuilder.Group, _ context: AlertContext
    ) {
        guard notice.kind != .resolved, group.receiver.kind.isForPeople else { return }
        let addresses = group.receiver.addresses
        if let storm = group.storm {
            notifications.storms.notify(
                storm.episode, by: notice.number, storm.severity, addresses: addresses,
                now: context.clock.now)
            noteTriggers(of: storm.episode, context.receivers)
        } else {
            let queue = StormState.Queue(receiver: group.receiver.name, name: group.name)
            notifications.storms.send(
                notice.number, queue, notice.members.map(\.incident), addresses: addresses)
        }
    }

    /// Nobody is known to have taken the first message of a storm: it is the trigger of every member that
    /// has it (D3, D11).
    mutating func noteTrigger(
        of key: AlertKey, in storm: Int64, _ receivers: [Receiver]
    ) {
        guard let storm = notifications.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        board.noteTrigger(storm.trigger, of: key, to: storm.queue.receiver, receivers)
    }

    /// Notes a storm's trigger for all alerts that are in it when it begins, if nobody is known to
    /// have taken its first message.
    mutating func noteTriggers(of storm: Int64, _ receivers: [Receiver]) {
        guard let storm = notifications.storms.storms.first(where: { $0.episode == storm }),
            storm.trigger != 0
        else { return }
        for key in storm.members.values.map(\.key).sorted(by: AlertKey.areInOrder) {
            board.noteTrigger(storm.trigger, of: key, to: storm.queue.receiver, receivers)
        }
    }
}
