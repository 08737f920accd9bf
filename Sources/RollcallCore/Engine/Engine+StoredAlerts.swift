/// The store's knowledge of alerts, where today's rules would have decided otherwise. Source: J4.
extension Engine {
    /// Takes over a gap's number from the store (J4): the next gap comes behind number `number`.
    package mutating func note(storedGap number: Int64) {
        gaps.nextNumber = max(gaps.nextNumber, number + 1)
    }

    /// The alerts and who was told of them, at one turn.
    package struct AlertLedger: Sendable {
        fileprivate let alerting: Alerting
    }

    /// The ledger now.
    package var alertLedger: AlertLedger { AlertLedger(alerting: alerting) }

    /// Goes on from `ledger` and what was stored since, in its order, instead of what was decided
    /// again: a page that went out keeps its key and its start, and nobody is told twice.
    ///
    /// Silences, takes and drills are events, not decisions: those stand as they were folded again. `taken` are
    /// the notices that were delivered meanwhile.
    package mutating func take(
        _ ledger: AlertLedger, stored: [Decision], taken: Set<Int64> = []
    ) {
        alerting.board.takeEntries(of: ledger.alerting.board)
        alerting.notifications.goOn(from: ledger.alerting.notifications)
        var firing: [Int64: AlertKey] = [:]
        alerting.board.forEach { firing[$1.incident] = $0 }
        for decision in stored {
            switch decision {
            // Of one without its region's name nobody knows what it was about.
            case .alert(_, let report) where report.key.subject != .region([]):
                let isAboutRollcall = report.key.name.isAboutRollcall
                let now = isAboutRollcall ? clock.now.milliseconds : clock.observedNow.milliseconds
                alerting.board.put(
                    report, since: now, firedAt: clock.instant(of: report.startsAt))
                firing[report.incident] = report.state == .firing ? report.key : nil
                alerting.notifications.note(storedNotice: 0, incident: report.incident)
            case .notice(let at, let notice):
                alerting.notifications.note(storedNotice: notice.number, incident: 0)
                if notice.storm != nil, let member = notice.members.first {
                    alerting.notifications.note(storedNotice: 0, incident: member.incident)
                    alerting.notifications.storms.put(notice, member, now: clock.now)
                    alerting.noteStored(notice, of: member.incident, at: clock.instant(of: at))
                    alerting.noteTriggers(of: member.incident, policy.receivers)
                    continue
                }
                guard notice.kind != .resolved else { continue }
                for member in notice.members {
                    guard let key = firing[member.incident] else { continue }
                    alerting.board.notify(notice.receiver, of: key, at: clock.now, member.fallback)
                    guard notice.kind == .fired else { continue }
                    alerting.board.noteTrigger(
                        notice.number, of: key, to: notice.receiver, policy.receivers)
                }
            case .mute(let at, let mute):
                guard let key = firing[mute.incident] else { continue }
                guard case .storm(let storm) = mute.reason else {
                    alerting.board.awaitStorm(mute.receiver, of: key, mute.reason)
                    continue
                }
                alerting.notifications.storms.put(mute, storm, now: clock.now, wall: clock.wallNow)
                alerting.board.notify(mute.receiver, of: key, at: clock.now, storm: storm)
                alerting.board.awaitStorm(
                    mute.receiver, of: key, mute.reason, since: clock.instant(of: at))
                alerting.noteTrigger(of: key, in: storm, policy.receivers)
            default: break
            }
        }
        for notice in taken.sorted() {
            alerting.board.take(notice, policy.receivers, now: clock.now)
            alerting.notifications.storms.take(notice)
        }
        alerting.restoreStorms()
        alerting.restoreHolds(clock)
        alerting.board.armAgain(policy.alerts)
        alerting.board.isAllDirty = true
        alerting.notifications.isAllDirty = true
    }
}
