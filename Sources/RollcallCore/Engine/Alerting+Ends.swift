/// Alerting takes in silences, drills, and what became of messages. Source: A7, A11, D3.
extension Alerting {
    /// Somebody mutes notifications, or ends that.
    mutating func change(
        _ change: SilenceChange, _ clock: ObservationClock, _ receipt: inout Receipt
    ) {
        switch change {
        case .begin(let silence):
            let begun = notifications.begin(silence, clock)
            (receipt.silence, receipt.silenceFault) = (begun.number, begun.fault)
            receipt.isSilenceKnown = begun.isKnown
        case .end(let number):
            let isKnown = notifications.end(number, clock)
            receipt.silence = isKnown ? number : nil
            receipt.silenceFault = isKnown ? nil : .unknown
        }
        if receipt.silence != nil { receipt.accepted = 1 }
    }

    /// A test alert to one receiver, whatever its matchers say (A11).
    mutating func drill(
        _ receiver: [UInt8], _ context: AlertContext, _ decisions: inout [Decision],
        _ receipt: inout Receipt
    ) {
        guard context.receivers.contains(where: { $0.name == receiver }) else { return }
        let number = notifications.takeNotice()
        var member = NoticeMember()
        member.name = .rollcallDrill
        // Firings count upwards from 1: no drill has the key of one.
        member.incident = -number
        member.labels = AlertKey(name: .rollcallDrill, subject: .all)
            .labels(context.rules[.rollcallDrill], .info, of: cell)
        member.startsAt = context.clock.wallNow
        notifications.drill(member, number, receiver)
        let notice = Notice(number: number, receiver: receiver, kind: .fired, members: [member])
        decisions.append(.notice(at: context.clock.wallNow, notice))
        receipt.drill = number
        receipt.accepted = 1
    }

    /// A message came to its end: it is counted, and a drill that arrived ends itself.
    mutating func end(
        _ end: NoticeEnd, _ context: AlertContext, _ counters: inout NotificationCounters,
        _ decisions: inout [Decision]
    ) {
        counters.note(end)
        // One address is enough: its receiver knows.
        if end.outcome == .delivered {
            board.take(end.notice, context.receivers, now: context.clock.now)
        }
        for key in notifications.storms.end(end, now: context.clock.now) {
            // It had left before the storm began: it keeps its own key, repeats and end (D11).
            guard var alert = board[key] else { continue }
            alert.move(end.receiver, toStorm: 0)
            alert.heldUntil = heldUntil(alert)
            // It is taken, whatever becomes of the storm's own message (D3).
            if let place = alert.placeNotified(end.receiver) {
                board.dropTrigger(alert.notified[place].trigger, of: key)
                alert.notified[place].trigger = 0
            }
            alert.dropStaleMutes(context.receivers, now: context.clock.now)
            board.note(key, alert, repeatAt: alert.nextNotification(context.receivers))
        }
        if end.outcome == .removed { untell(end, context.receivers) }
        guard let drill = notifications.takeDrill(end.notice), end.outcome == .delivered,
            let receiver = context.receivers.first(where: { $0.name == drill.receiver }),
            receiver.sendsResolved || receiver.kind.keepsIncidents
        else { return }
        var member = drill.member
        member.endsAt = context.clock.wallNow
        let notice = Notice(
            number: notifications.takeNotice(), receiver: drill.receiver, kind: .resolved,
            members: [member])
        decisions.append(.notice(at: context.clock.wallNow, notice))
    }

    /// A receiver left the settings before it took a trigger: if it comes back it is told anew.
    private mutating func untell(_ end: NoticeEnd, _ receivers: [Receiver]) {
        let receiver = receivers.first { $0.name == end.receiver }
        // Another of its addresses has it still.
        if let receiver, end.target >= receiver.addresses { return }
        for (key, incident) in board.untell(end.notice, receivers) {
            let queue = StormState.Queue(receiver: end.receiver, name: key.name)
            _ = notifications.storms.leave(incident, queue, storm: 0)
        }
        if receiver != nil { notifications.isAllDirty = true }
    }
}
