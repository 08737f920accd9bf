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
        /// The thresholds while the app is not before the person (P5).
        package var background = Background()

        /// Thresholds in seconds.
        package init(expected: Int64, degradedAfter: Int64, offlineAfter: Int64) {
            self.expected = .seconds(expected)
            self.degradedAfter = .seconds(degradedAfter)
            self.offlineAfter = .seconds(offlineAfter)
        }
    }

    /// The thresholds of a duty state for phones whose app is in the background; all 0 if they are the
    /// same there. Never stricter than the profile's own. Source: P5.
    package struct Background: Equatable, Sendable {
        package var expected = Milliseconds(0)
        package var degradedAfter = Milliseconds(0)
        package var offlineAfter = Milliseconds(0)

        /// Makes thresholds that are the same as in front.
        package init() {}

        /// Thresholds in seconds.
        package init(expected: Int64, degradedAfter: Int64, offlineAfter: Int64) {
            self.expected = .seconds(expected)
            self.degradedAfter = .seconds(degradedAfter)
            self.offlineAfter = .seconds(offlineAfter)
        }

        /// True if there are any.
        @inline(__always)
        package var isSet: Bool { offlineAfter.count > 0 }
    }

    /// The weight of the server's transitions.
    package enum ServerTransitions: UInt8, Equatable, Sendable {
        case adopt = 0
        case observe = 1
    }

    package var onDuty = Profile(expected: 60, degradedAfter: 90, offlineAfter: 180)
    package var onMission = Profile(expected: 15, degradedAfter: 30, offlineAfter: 60)
    /// The longest that somebody is not OFFLINE on their phone's word, and the same ON_MISSION, where
    /// 0 means that no promise counts (P5).
    package var promiseMax = Milliseconds.seconds(3 * 3600)
    package var missionPromiseMax = Milliseconds(0)
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
    /// The part of a fleet's watch that this is (K2).
    package var role = FleetRole.whole
    /// The name of this cell; empty of what is none.
    package var cell: [UInt8] = []
    /// Regions that must always be staffed.
    package var coverageRegions: [[UInt8]] = []

    /// True if the cause is suspected that is likelier by the verdicts so far (P7).
    package var learnsGaps = false

    package var alerts = AlertRules()
    /// The receivers of alerts; their names are unique.
    package var receivers: [Receiver] = []

    package var nudges = NudgeRules()

    package init() {}
}
