import RollcallCore

/// The memory of sign-ins: how many were tried in vain a short while ago, and which sessions have been
/// ended before their time. Source: R7.
struct SignIns: Sendable {
    /// The attempts in vain that may follow each other at once.
    static let attemptsMax = 20
    /// One more may be made after each such span.
    static let attemptEvery = Milliseconds.seconds(1)
    /// Sessions that are remembered as ended at most; beyond that those that end first are let go.
    static let endedMax = 4096

    private var attempts = Self.attemptsMax
    private var filledAt: Int64?
    private var ended: [UInt64: Timestamp] = [:]

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

    /// Gives an attempt back that was not in vain.
    mutating func giveAttemptBack() { attempts = min(Self.attemptsMax, attempts + 1) }

    /// Notes that a sign-in is over, for as long as a cookie of it could be shown.
    mutating func end(_ session: Session, at now: Timestamp) {
        if ended.count >= Self.endedMax {
            ended = ended.filter { $0.value > now }
            let first = ended.min { $0.value < $1.value }
            if let first, ended.count >= Self.endedMax { ended[first.key] = nil }
        }
        // One that was prolonged a moment ago may end later than what is shown here.
        ended[session.number] = now + Session.idleMax
    }

    /// Returns true of a sign-in that was ended, or is over at `now`.
    func isOver(_ session: Session, at now: Timestamp) -> Bool {
        session.until <= now || ended[session.number] != nil
    }
}
