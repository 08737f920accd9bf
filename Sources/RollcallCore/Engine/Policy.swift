/// The settings that decide. Source: V8.
package struct Policy: Equatable, Sendable {
    /// The thresholds of one duty state.
    package struct Profile: Equatable, Sendable {
        /// The interval at which a phone is to report.
        package var expected: Milliseconds
        /// Age beyond which a responder is DEGRADED.
        package var degradedAfter: Milliseconds
        /// Age beyond which a responder is OFFLINE.
        package var offlineAfter: Milliseconds

        /// Thresholds in seconds.
        package init(expected: Int64, degradedAfter: Int64, offlineAfter: Int64) {
            self.expected = .seconds(expected)
            self.degradedAfter = .seconds(degradedAfter)
            self.offlineAfter = .seconds(offlineAfter)
        }
    }

    /// The weight of the server's transitions.
    package enum ServerTransitions: UInt8, Equatable, Sendable {
        case adopt = 0
        case observe = 1
    }

    package var onDuty = Profile(expected: 60, degradedAfter: 90, offlineAfter: 180)
    package var onMission = Profile(expected: 15, degradedAfter: 30, offlineAfter: 60)
    /// Multiplies the thresholds of phones that save power.
    package var lowPowerFactor = 1.0
    package var iosFactor = 1.0
    package var androidFactor = 1.0
    package var serverTransitions = ServerTransitions.adopt
    /// The time that somebody is OFFLINE before being forgotten (L10).
    package var forgetAfter = Milliseconds.seconds(7 * 86_400)
    /// The time for which an erased id is remembered and refused (F17): as long as the journal is
    /// kept.
    package var retention = Milliseconds.seconds(30 * 86_400)
    /// Responders ONLINE from which on a stalled feed is suspected (B3).
    package var feedMinActive = 20
    package var feedStallAfter = Milliseconds.seconds(45)
    /// People held at most; who comes later is refused.
    package var respondersMax = 5_000_000
    /// Circles and sets of circles known at once; who tells a further one keeps theirs.
    package var circleNamesMax = 2_000_000
    /// Regions known at once; who tells a further one stays where they are.
    package var regionNamesMax = 100_000
    /// Versions of apps and of systems known at once, at most 65 535.
    package var versionNamesMax = 10_000
    /// Regions with labels of their own; metrics only (F30).
    package var regionLabelsMax = 256
    /// Regions that must always be staffed.
    package var coverageRegions: [[UInt8]] = []

    package var alerts = AlertRules()
    /// The receivers of alerts; their names are unique.
    package var receivers: [Receiver] = []

    package var nudges = NudgeRules()

    package init() {}

    /// The profile of a duty state; ON_DUTY's for those who are not on. Inlined like what follows: a
    /// call copies all of the settings, with every batch.
    @inline(__always)
    package func profile(_ duty: DutyState) -> Profile { duty == .onMission ? onMission : onDuty }

    /// The thresholds of a person by their duty state and the factor in force (L4, F4, F19).
    @inline(__always)
    package func thresholds(
        _ person: Responder
    ) -> (degraded: Milliseconds, offline: Milliseconds) {
        let profile = profile(person.duty)
        if person.factor == 1.0 { return (profile.degradedAfter, profile.offlineAfter) }
        return (
            profile.degradedAfter.scaled(by: person.factor),
            profile.offlineAfter.scaled(by: person.factor)
        )
    }

    /// The product of the factors that fit what a phone last said of itself (L4).
    @inline(__always)
    func factor(_ person: Responder) -> Double {
        let factor = person.telemetry.isLowPower ? lowPowerFactor : 1.0
        switch person.platform {
        case .ios: return factor * iosFactor
        case .android: return factor * androidFactor
        case .unknown, .other: return factor
        }
    }
}
