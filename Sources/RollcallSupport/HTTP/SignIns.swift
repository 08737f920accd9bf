import RollcallCore

/// The memory of sign-ins: how many were tried in vain a short while ago, and which sessions have been
/// ended before their time. Source: R7.
struct SignIns: Sendable {
    /// The attempts in vain that may follow each other at once.
    static let attemptsMax = 20
    /// One more may be made after each such span.
    static let attemptEvery = Milliseconds.seconds(1)
    /// Sessions of one token that are remembered as ended at most: beyond that all that began before one
    /// of them are over, too.
    static let endedMax = 4096

    private var attempts = Self.attemptsMax
    private var filledAt: Int64?
    /// By the names of tokens and the numbers of sign-ins.
    private var ended: [String: [UInt64: Ended]] = [:]
    /// Whoever signed in by this token so early is out.
    private var overBefore: [String: Timestamp] = [:]

    private struct Ended: Sendable {
        let beganAt: Timestamp
        /// A cookie of it could be shown for so long.
        let until: Timestamp
    }

    /// Takes an attempt at `elapsed` milliseconds; false if there were too many in vain.
    mutating func takeAttempt(at elapsed: Int64) -> Bool {
        let since = elapsed - (filledAt ?? elapsed)
        let more = max(0, since / Self.attemptEvery.count)
        filledAt = (filledAt ?? elapsed) + more * Self.attemptEvery.count
        attempts = min(Self.attemptsMax, attempts + Int(clamping: min(more, 1 << 20)))
        if attempts == 0 { return false }
        attempts -= 1
        return true
    }

    /// Notes that a sign-in is over, for as long as a cookie of it could be shown.
    mutating func end(_ session: Session, at now: Timestamp) {
        var known = ended[session.name] ?? [:]
        if known.count >= Self.endedMax {
            known = known.filter { $0.value.until > now }
            // None of somebody's who signed out may come back because others do.
            let first = known.min { $0.value.beganAt < $1.value.beganAt }
            if let first, known.count >= Self.endedMax {
                known[first.key] = nil
                overBefore[session.name] = first.value.beganAt
            }
        }
        // One that was prolonged a moment ago may end later than what is shown here.
        known[session.number] = Ended(
            beganAt: session.beganAt, until: now + Session.idleMax)
        ended[session.name] = known
    }

    /// Returns true of a sign-in that was ended, or is over at `now`.
    func isOver(_ session: Session, at now: Timestamp) -> Bool {
        session.until <= now || ended[session.name]?[session.number] != nil
            || overBefore[session.name].map { session.beganAt <= $0 } ?? false
    }
}
