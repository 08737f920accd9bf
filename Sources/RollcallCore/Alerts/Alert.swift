/// The identity of an alert over time: its name and its subject. Source: A1.
package struct AlertKey: Hashable, Sendable {
    package var name: AlertName
    package var subject: AlertSubject

    /// The alert `name` about `subject`.
    package init(name: AlertName, subject: AlertSubject) {
        self.name = name
        self.subject = subject
    }
}

/// An alert that is pending or firing. Source: A1.
package struct Alert: Equatable, Sendable {
    /// A receiver that was told of it.
    package struct NotifiedReceiver: Equatable, Sendable {
        package var receiver: [UInt8] = []
        /// The instant at which the receiver was last told of it.
        package internal(set) var at = RunningTime.distantPast
        /// The notice by which it was told first, as long as it is not known to have taken that; else
        /// 0 (D3).
        var trigger: Int64 = 0
        /// Since when it could have taken that: its decision, or a start.
        var openSince = RunningTime.distantPast
        /// The reason why the receiver was told if no matcher names it.
        package internal(set) var fallback: Fallback?
        /// The storm that tells of it there; 0 if it is told singly. It follows from the storms.
        package internal(set) var storm: Int64 = 0
        /// The changes among its people that the last message told of (R1).
        var turnover = Turnover.Mark()
    }

    /// A receiver that was not told of it, and why.
    package struct Muted: Equatable, Sendable {
        package var receiver: [UInt8] = []
        package internal(set) var reason = MuteReason.blind
    }

    /// `pending` or `firing`.
    package internal(set) var state = AlertState.pending
    /// Since when it is true without a break, by the clock that it is evaluated in.
    var since: Int64 = 0
    /// Since when a firing one is false; nil while it is true.
    var falseSince: Int64?
    /// Wall time at which it became true.
    package internal(set) var activeAt = Timestamp.distantPast
    /// Wall time at which it fired.
    package internal(set) var startsAt = Timestamp.distantPast
    /// The numbers of the last time that it was true.
    package internal(set) var stats = AlertStats()

    // MARK: Once it fires

    /// The firing, rising from 1 on in a store; 0 before.
    package internal(set) var incident: Int64 = 0
    package internal(set) var severity = Severity.warning
    /// As they were when it fired, by name.
    package internal(set) var labels: [Label] = []
    package internal(set) var annotations: [Label] = []
    /// The facts that its text states.
    package internal(set) var facts = AlertFacts()
    package internal(set) var notified: [NotifiedReceiver] = []
    package internal(set) var muted: [Muted] = []
    /// The instant at which it fired, in running time: what escalates counts from there (R2).
    var firedAt = RunningTime.distantPast
    /// The instant until which somebody sees to it, or to a storm that tells of it. It follows from the
    /// takes (R2).
    package internal(set) var heldUntil = RunningTime.distantPast
    /// The people who left and came back since it fires; only of ResponderOffline (R1).
    var turnover = Turnover()

    /// Returns how a receiver was told last; nil if it was not.
    func notified(_ receiver: [UInt8]) -> NotifiedReceiver? {
        notified.first { $0.receiver == receiver }
    }

    /// Notes that a receiver is told now, singly or by a storm; as `fallback` says if it was not before
    /// and no matcher names it.
    mutating func notify(
        _ receiver: [UInt8], at now: RunningTime, _ fallback: Fallback? = nil, storm: Int64 = 0
    ) {
        muted.removeAll { $0.receiver == receiver }
        if let place = notified.firstIndex(where: { $0.receiver == receiver }) {
            (notified[place].at, notified[place].storm) = (now, storm)
        } else {
            notified.append(
                NotifiedReceiver(
                    receiver: receiver, at: now, openSince: now, fallback: fallback, storm: storm,
                    turnover: turnover.mark))
        }
    }

    /// Notes that a receiver is told by a storm, or by 0 singly, without being told anything now.
    mutating func move(_ receiver: [UInt8], toStorm storm: Int64) {
        guard let place = notified.firstIndex(where: { $0.receiver == receiver }) else { return }
        notified[place].storm = storm
    }

    /// True if the storm by which a receiver is told of it has left it out of every message so far, or has
    /// sent none since it joined: what mutes it there says so, or the storm itself (D11).
    package func isAwaited(by receiver: [UInt8]) -> Bool {
        muted.contains { $0.receiver == receiver } && (notified(receiver)?.storm ?? 0) != 0
    }

    /// Notes that a message of its storm tells a receiver of it, at an instant; what was said of why it
    /// is not told there is over. Returns that reason; nil if an earlier message told of it.
    mutating func stormNotified(_ receiver: [UInt8], at now: RunningTime) -> MuteReason? {
        guard isAwaited(by: receiver),
            let muted = muted.firstIndex(where: { $0.receiver == receiver }),
            let notified = notified.firstIndex(where: { $0.receiver == receiver })
        else { return nil }
        self.notified[notified].at = now
        return self.muted.remove(at: muted).reason
    }

    /// Notes why a receiver is not told; false if that was so before.
    mutating func mute(_ receiver: [UInt8], _ reason: MuteReason) -> Bool {
        guard let place = muted.firstIndex(where: { $0.receiver == receiver }) else {
            muted.append(Muted(receiver: receiver, reason: reason))
            return true
        }
        defer { muted[place].reason = reason }
        return muted[place].reason != reason
    }
}

/// The numbers behind an alert. Source: A2 to A4.
package struct AlertStats: Equatable, Sendable {
    /// OFFLINE people, flapping people, people without contact, or missing sources.
    package var count = 0
    /// Of so many: active people, or declared sources.
    package var total = 0

    /// `count` of `total`.
    package init(count: Int = 0, total: Int = 0) {
        self.count = count
        self.total = total
    }
}

/// A change of an alert, as it is told. Source: Contract/Alerts, F5.
package struct AlertReport: Equatable, Sendable {
    package var key: AlertKey
    package var state: AlertState
    package var severity: Severity
    package var activeAt: Timestamp
    /// `distantPast` if it never fired.
    package var startsAt: Timestamp
    /// The numbers of the last time that it was true.
    package var stats: AlertStats
    /// The firing; 0 if it never fired.
    package var incident: Int64
    /// Of one that fires.
    package var labels: [Label]
    package var annotations: [Label]
    package var facts: AlertFacts

    init(_ key: AlertKey, _ alert: Alert) {
        self.key = key
        state = alert.state
        severity = alert.severity
        activeAt = alert.activeAt
        startsAt = alert.startsAt
        stats = alert.stats
        incident = alert.incident
        let fires = alert.state == .firing
        labels = fires ? alert.labels : []
        annotations = fires ? alert.annotations : []
        facts = fires ? alert.facts : AlertFacts()
    }

    /// The report as the store keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The report that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        let key = AlertKey(name: .highOfflineRate, subject: .all)
        self.init(key, Alert())
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        key.code(&archive)
        archive.code(&state)
        archive.code(&severity)
        archive.code(&activeAt)
        archive.code(&startsAt)
        stats.code(&archive)
        archive.code(&incident)
        archive.code(&labels, empty: Label([], [])) { $1.code(&$0) }
        archive.code(&annotations, empty: Label([], [])) { $1.code(&$0) }
        facts.code(&archive)
        // Behind the others: most end here, as those of older versions do.
        guard archive.isReading || !facts.memberCauses.isEmpty else { return }
        archive.code(&facts.memberCauses, empty: .unexplained) { $0.code(&$1) }
    }
}

extension AlertStats {
    mutating func code(_ archive: inout Archive) {
        archive.code(&count)
        archive.code(&total)
    }
}

extension Alert {
    mutating func code(_ archive: inout Archive) {
        archive.code(&state)
        archive.code(&since)
        archive.code(&falseSince, empty: 0) { $0.code(&$1) }
        archive.code(&activeAt)
        archive.code(&startsAt)
        stats.code(&archive)
        archive.code(&incident)
        archive.code(&severity)
        archive.code(&labels, empty: Label([], [])) { $1.code(&$0) }
        archive.code(&annotations, empty: Label([], [])) { $1.code(&$0) }
        facts.code(&archive)
        archive.code(&notified, empty: NotifiedReceiver()) { archive, notified in
            archive.code(&notified.receiver)
            archive.code(&notified.at)
        }
        archive.code(&muted, empty: Muted()) { archive, muted in
            archive.code(&muted.receiver)
            muted.reason.code(&archive)
        }
    }
}
