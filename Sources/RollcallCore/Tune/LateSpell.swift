/// A stretch in which somebody was shown as late: DEGRADED or OFFLINE without a break.
///
/// Times are the wall's. A spell of the present settings is also called a gap: it is the
/// yardstick that other settings are held against.
package struct LateSpell: Equatable, Sendable {
    /// The event that ended a spell.
    package enum Ending: UInt8, Equatable, Sendable {
        /// They were heard again, by us or by the server.
        case contact
        /// They were no longer expected: off duty, paused, retired, erased or forgotten.
        case duty
        /// Other settings.
        case policy
        /// The history ends.
        case data
    }

    /// The person's number.
    package var number: Int
    /// The instant at which they were heard last, or became expected if that is later; nil if
    /// nobody knows.
    package var gapFrom: Timestamp?
    /// The instant at which they were first shown as late.
    package var lateAt: Timestamp
    /// The instant at which they were first shown as OFFLINE; nil if they were not.
    package var offlineAt: Timestamp?
    package var end = Timestamp.distantFuture
    package var ending = Ending.data
    /// True if we could not see for too large a part of it: it says nothing about settings (D5).
    package var isBlind = false
    /// Their duty state when it ended, ON_DUTY or ON_MISSION.
    package var duty = DutyState.onDuty
    package var platform = Platform.unknown
    /// The name of their phone by which it is counted; empty if the phone did not tell it (P6).
    package var phone: [UInt8] = []

    /// From the last contact to the next one; nil if one of them is not known.
    package var awayFor: Milliseconds? {
        guard let gapFrom, ending == .contact else { return nil }
        return max(Milliseconds(0), end - gapFrom)
    }

    /// From the last contact to OFFLINE; nil if one of them is not known.
    package var delay: Milliseconds? {
        guard let gapFrom, let offlineAt else { return nil }
        return max(Milliseconds(0), offlineAt - gapFrom)
    }

    /// Returns how much of `other` it covers.
    func overlap(_ other: LateSpell) -> Milliseconds {
        max(Milliseconds(0), min(end, other.end) - max(lateAt, other.lateAt))
    }
}

/// An `OfflineOutcome` says what a time that somebody was OFFLINE turned out to be.
package enum OfflineOutcome: Equatable, Sendable {
    /// They were heard again soon: a false alarm.
    case healed
    /// They were not, or went off duty first.
    case real
    /// The history ends too early to tell.
    case censored
    /// We could not see for a part of it.
    case unseen
    /// Other settings ended it, which says nothing.
    case changed
}

extension LateSpell {
    /// Returns what its OFFLINE turned out to be; nil if it had none.
    package func outcome(healsWithin span: Milliseconds) -> OfflineOutcome? {
        guard let offlineAt else { return nil }
        if isBlind { return .unseen }
        let isShort = end - offlineAt <= span
        switch ending {
        case .contact: return isShort ? .healed : .real
        case .duty: return .real
        case .policy: return .changed
        case .data: return isShort ? .censored : .real
        }
    }

    /// True if it is long enough to be no false alarm: what must not be missed.
    package func isLong(healsWithin span: Milliseconds) -> Bool {
        guard let gapFrom, !isBlind, ending != .policy else { return false }
        return end - gapFrom > span
    }
}
