/// A member of a cluster begins to lead. Source: S4, S9.
package struct Reign: Equatable, Sendable {
    /// Counts from 1 in each log.
    package var number: Int64
    /// The member's name.
    package var member: [UInt8]
    /// For how long nobody watched before: since the last beat of the leader before.
    package var unobserved: Milliseconds

    /// The reign of a member.
    package init(number: Int64, member: [UInt8], unobserved: Milliseconds) {
        self.number = number
        self.member = member
        self.unobserved = unobserved
    }

    /// Returns since when nobody watched, of a reign that begins at `instant` after a turn at
    /// `previous`. A leader that beat and made no turn for longer than `turnMax` watched nothing
    /// (B1): the log took none.
    func onset(
        at instant: RunningTime, after previous: RunningTime, turnMax: Milliseconds
    ) -> RunningTime {
        let onset = max(previous, instant - unobserved)
        return onset - previous > turnMax ? previous : onset
    }
}

/// The reigns of late, for which deadlines wait: what phones sent to a leader that is gone, they send
/// again, and nobody goes OFFLINE for that (S9).
struct Reigns: Equatable, Sendable {
    /// Deadlines wait for so long after a reign began.
    static let wait = Milliseconds.seconds(5)
    /// Reigns within `span` for which they wait: a cluster that has no peace must not hide a death.
    static let waitsMax = 3
    static let span = Milliseconds.seconds(5 * 60)

    /// The instants at which reigns began within `span`.
    private(set) var begins: [RunningTime] = []
    /// The instant until which deadlines wait.
    private(set) var waitsUntil = ObservedTime.distantPast

    /// A reign begins at `clock`'s now. After a stretch that earns a grace nobody is late anyway.
    mutating func begin(_ reign: Reign, _ clock: ObservationClock) {
        begins.removeAll { clock.now - $0 >= Self.span }
        begins.append(clock.now)
        guard begins.count <= Self.waitsMax, reign.unobserved < ObservationClock.graceFrom else {
            return
        }
        waitsUntil = clock.observedNow + Self.wait
    }

    /// Observed time was set back to `now`.
    mutating func clampInstants(to now: ObservedTime) {
        waitsUntil = min(waitsUntil, now + Self.wait)
    }

    /// Returns when reigns will not follow each other too fast any more; nil if they do not (S9).
    func steadyFrom(_ now: RunningTime) -> RunningTime? {
        guard begins.count > Self.waitsMax else { return nil }
        let end = begins[begins.count - Self.waitsMax - 1] + Self.span
        return end > now ? end : nil
    }

    /// True if there never was a cluster.
    var isEmpty: Bool { begins.isEmpty }

    mutating func code(_ archive: inout Archive) {
        archive.code(&begins, empty: .distantPast) { $0.code(&$1) }
        archive.code(&waitsUntil)
    }
}
