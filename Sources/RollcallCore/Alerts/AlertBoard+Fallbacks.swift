/// The board keeps which triggers nobody is known to have taken, and says when they are given to a
/// fallback. Source: rule D3.
extension AlertBoard {
    /// Notes the notice by which one of `receivers` is told first of one that fires.
    mutating func noteTrigger(
        _ notice: Int64, of key: AlertKey, to receiver: [UInt8], _ receivers: [Receiver]
    ) {
        // The watchdog goes only to those who name it (A5).
        guard key.name != .watchdog, var alert = entries[key]?.alert,
            let notified = alert.placeNotified(receiver)
        else { return }
        dropTrigger(alert.notified[notified].trigger, of: key)
        alert.notified[notified].trigger = notice
        untaken[notice, default: []].insert(key)
        let hasFallback = receivers.contains { $0.name == receiver && !$0.fallback.isEmpty }
        guard hasFallback else { return note(key, alert) }
        note(key, alert, repeatAt: alert.nextNotification(receivers))
    }

    /// The message of a notice was taken: nobody else need be given what it told of.
    mutating func take(_ notice: Int64, _ receivers: [Receiver], now: RunningTime) {
        for key in untaken.removeValue(forKey: notice) ?? [] {
            guard var alert = entries[key]?.alert,
                let notified = alert.notified.firstIndex(where: { $0.trigger == notice })
            else { continue }
            alert.notified[notified].trigger = 0
            let hasFallback = receivers.contains {
                $0.name == alert.notified[notified].receiver && !$0.fallback.isEmpty
            }
            guard hasFallback else {
                note(key, alert)
                continue
            }
            alert.dropStaleMutes(receivers, now: now)
            note(key, alert, repeatAt: alert.nextNotification(receivers))
        }
    }

    /// Nobody takes the message of a notice any more, because its receiver is gone: what it would have
    /// told singly is not told there. Returns which those are.
    mutating func untell(
        _ notice: Int64, _ receivers: [Receiver]
    ) -> [(key: AlertKey, incident: Int64)] {
        let keys = (untaken[notice] ?? []).sorted(by: AlertKey.areInOrder)
        return keys.compactMap { key in
            guard var alert = entries[key]?.alert,
                let notified = alert.notified.firstIndex(where: {
                    $0.trigger == notice && $0.storm == 0
                })
            else { return nil }
            dropTrigger(notice, of: key)
            alert.notified.remove(at: notified)
            note(key, alert, repeatAt: alert.nextNotification(receivers))
            return (key, alert.incident)
        }
    }

    /// We come back: what was not taken has its time anew.
    mutating func restartTriggers(_ now: RunningTime, _ receivers: [Receiver]) {
        guard !untaken.isEmpty else { return }
        for key in Set(untaken.values.joined()) {
            guard var alert = entries[key]?.alert else { continue }
            for notified in alert.notified.indices where alert.notified[notified].trigger != 0 {
                alert.notified[notified].openSince = now
            }
            alert.dropStaleMutes(receivers, now: now)
            note(key, alert, repeatAt: alert.nextNotification(receivers))
        }
    }

    /// An alert is over: nobody takes its triggers any more.
    mutating func dropTriggers(of key: AlertKey, _ alert: Alert) {
        for notified in alert.notified { dropTrigger(notified.trigger, of: key) }
    }

    /// The alert is told to nobody by this notice any more.
    mutating func dropTrigger(_ notice: Int64, of key: AlertKey) {
        guard notice != 0 else { return }
        untaken[notice]?.remove(key)
        if untaken[notice]?.isEmpty == true { untaken[notice] = nil }
    }

    /// Returns what the index must hold, by the alerts themselves.
    var triggersFound: [Int64: Set<AlertKey>] {
        var found: [Int64: Set<AlertKey>] = [:]
        for (key, entry) in entries {
            for notified in entry.alert.notified where notified.trigger != 0 {
                found[notified.trigger, default: []].insert(key)
            }
        }
        return found
    }
}

extension Alert {
    /// A trigger that a receiver has not taken, and the fallback that it is given to.
    struct OpenTrigger {
        let receiver: Receiver
        let fallback: Receiver
        /// The fallback's place in the settings.
        let place: Int
        let since: RunningTime
        /// Returns the instant at which the trigger is given away.
        var due: RunningTime { since + receiver.fallbackAfter }
    }

    func placeNotified(_ receiver: [UInt8]) -> Int? {
        notified.firstIndex { $0.receiver == receiver }
    }

    /// Returns why a receiver was notified whom no matcher names; nil if one does.
    package func fallback(of receiver: [UInt8]) -> Fallback? {
        placeNotified(receiver).flatMap { notified[$0].fallback }
    }

    /// The triggers that are to be given away if they are not taken: to each fallback, in the order of the
    /// settings, the one that is due first; none to somebody who is told already or has it by matchers.
    func openTriggers(_ receivers: [Receiver]) -> [OpenTrigger] {
        let waiting = receivers.filter { !$0.fallback.isEmpty && isOpen($0, receivers) }
        guard !waiting.isEmpty else { return [] }
        return receivers.enumerated().compactMap { place, fallback in
            guard !fallback.wants(labels), placeNotified(fallback.name) == nil else { return nil }
            return waiting.filter { $0.fallback == fallback.name }
                .compactMap { receiver in
                    notified(receiver.name).map {
                        OpenTrigger(
                            receiver: receiver, fallback: fallback, place: place,
                            since: $0.openSince)
                    }
                }
                .min { $0.due < $1.due }
        }
    }

    /// Forgets why receivers are not told who would not be told now anyway: neither do they ask for it nor
    /// is it time to give it to them. Why a storm has left it out stays.
    mutating func dropStaleMutes(_ receivers: [Receiver], now: RunningTime) {
        guard !muted.isEmpty else { return }
        let due = openTriggers(receivers).filter { max($0.due, heldUntil) <= now }
            .map(\.fallback.name)
        let awaited = muted.map(\.receiver).filter { isAwaited(by: $0) }
        let ahead = receivers.filter { escalation(to: $0) > now }.map(\.name)
        muted.removeAll { muted in
            let asks =
                !ahead.contains(muted.receiver)
                && receivers.contains { $0.name == muted.receiver && $0.wants(labels) }
            return !asks && !due.contains(muted.receiver) && !awaited.contains(muted.receiver)
        }
    }

    /// True if a receiver has neither taken what it was told first nor given it away, and was not told in
    /// another's place: there is no way from one fallback to the next.
    private func isOpen(_ receiver: Receiver, _ receivers: [Receiver]) -> Bool {
        guard receiver.wants(labels), let notified = notified(receiver.name) else { return false }
        return notified.trigger != 0 && notified.fallback == nil
            && !hasGiven(receiver.name, receivers)
    }

    /// True if somebody has it from `receiver` already whom the settings still know.
    private func hasGiven(_ receiver: [UInt8], _ receivers: [Receiver]) -> Bool {
        notified.contains { notified in
            notified.fallback?.receiver == receiver
                && receivers.contains { $0.name == notified.receiver }
        }
    }

    /// Returns the instant from which a receiver is told that was not: at once, unless it is told only of
    /// what nobody has taken by then (R2).
    func escalation(to receiver: Receiver) -> RunningTime {
        receiver.escalateAfter.count > 0
            ? max(firedAt + receiver.escalateAfter, heldUntil) : .distantPast
    }

    /// Returns who is told of one that fires once nobody has taken it until an instant that is still ahead.
    package func escalations(
        _ receivers: [Receiver], after now: RunningTime
    ) -> [(receiver: [UInt8], at: RunningTime)] {
        guard state == .firing else { return [] }
        return receivers.compactMap { receiver in
            let at = escalation(to: receiver)
            guard at > now, receiver.wants(labels), placeNotified(receiver.name) == nil else {
                return nil
            }
            return (receiver.name, at)
        }
    }

    /// Returns the instant at which a receiver is told again; not while somebody sees to it (R2).
    func repetition(of notified: NotifiedReceiver, to receiver: Receiver) -> RunningTime {
        // Of who left and who is back it is told sooner (R1).
        let interval =
            hasNews(for: notified)
            ? min(receiver.repeatInterval, Turnover.every) : receiver.repeatInterval
        return max(notified.at + interval, heldUntil)
    }

    /// Returns the instant at which a receiver that was told is told again; never if it was not.
    func repetition(to receiver: Receiver) -> RunningTime {
        notified(receiver.name).map { repetition(of: $0, to: receiver) } ?? .distantFuture
    }

    /// Returns the instant at which time alone makes somebody be notified of an alert that fires:
    /// again, because nobody has taken it, or in the place of another.
    func nextNotification(_ receivers: [Receiver]) -> RunningTime {
        var next = RunningTime.distantFuture
        for receiver in receivers where receiver.wants(labels) {
            guard let notified = notified(receiver.name) else {
                let isMuted = muted.contains { $0.receiver == receiver.name }
                if receiver.escalateAfter.count > 0, !isMuted {
                    next = min(next, escalation(to: receiver))
                }
                continue
            }
            // A storm repeats itself.
            guard notified.storm == 0 else { continue }
            next = min(next, repetition(of: notified, to: receiver))
        }
        for trigger in openTriggers(receivers)
        where !muted.contains(where: { $0.receiver == trigger.fallback.name }) {
            next = min(next, max(trigger.due, heldUntil))
        }
        return next
    }
}

/// A `TriggerMark` holds what is known of a trigger, behind the alerts of a checkpoint.
struct TriggerMark {
    /// Of the alert, by its key, and of the receiver in what it was told.
    var alert = 0
    var notified = 0
    var trigger: Int64 = 0
    var openSince = RunningTime.distantPast
    var fallback: Fallback?

    /// Returns the marks that are to be kept of all of `alerts`.
    static func all(_ alerts: [(key: AlertKey, alert: Alert)]) -> [TriggerMark] {
        var marks: [TriggerMark] = []
        for (place, entry) in alerts.enumerated() {
            for (number, notified) in entry.alert.notified.enumerated()
            where notified.trigger != 0 || notified.fallback != nil {
                marks.append(
                    TriggerMark(
                        alert: place, notified: number, trigger: notified.trigger,
                        openSince: notified.openSince, fallback: notified.fallback))
            }
        }
        return marks
    }

    /// Takes it over into `alerts`; false if there is no such alert, or receiver.
    func put(into alerts: inout [(key: AlertKey, alert: Alert)]) -> Bool {
        guard alerts.indices.contains(alert),
            alerts[alert].alert.notified.indices.contains(notified)
        else {
            return false
        }
        alerts[alert].alert.notified[notified].trigger = trigger
        alerts[alert].alert.notified[notified].openSince = openSince
        alerts[alert].alert.notified[notified].fallback = fallback
        return true
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&alert)
        archive.code(&notified)
        archive.code(&trigger)
        archive.code(&openSince)
        archive.code(&fallback, empty: Fallback()) { $1.code(&$0) }
    }
}
