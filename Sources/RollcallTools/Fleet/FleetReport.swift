import RollcallCore

/// One update as the phone keeps it.
struct FleetUpdate: Sendable {
    var sequence: Int64
    /// By the phone's own clock.
    var capturedAt: Int64
    /// A last known position sent anew.
    var isCached: Bool
}

/// The telemetry that a phone tells of itself; nil is not sent, since older apps know less.
struct FleetTelemetry: Sendable {
    enum Network: String, Sendable { case cellular, wifi, none }

    var isDenied = false
    var areServicesOff = false
    var savesPower = false
    /// The facts that only current apps tell.
    var more: More?

    struct More: Sendable {
        var isInForeground: Bool
        var queueDepth: UInt16
        var network: Network
    }
}

/// A request of a phone.
struct FleetBatch: Sendable {
    /// The duty that it is sent in, with the region; nil where the backend alone tells that.
    var duty: DutyState?
    /// The instant at which the backend heard it; nil for one that forgets to say.
    var receivedAt: Int64?
    /// The install that it comes from, counted from 1.
    var install: Int32
    /// Hundredths of a full battery; nil is not sent.
    var battery: Int8?
    var telemetry: FleetTelemetry?
    /// True if it names the versions of app and system, as an app does when it was started.
    var reportsVersions: Bool
    var updates: [FleetUpdate]
}

/// Something that reaches Rollcall, as small as it can be kept: it becomes text when it leaves.
struct FleetReport: Sendable {
    enum Content: Sendable {
        case batch(FleetBatch)
        /// The backend tells a change of duty, and who it is about.
        case duty(DutyState)
        /// Sharing is paused until then.
        case paused(until: Int64)
        case resumed
        /// The backend's own model.
        case transition(from: Status, to: Status, at: Int64)
        /// A backend is alive.
        case heartbeat(FleetBackend)
    }

    /// The instant at which it reaches Rollcall.
    var at: Int64
    /// The number of the person whom it is about.
    var person: Int32
    var content: Content
}

/// A silence as it was lived: between two times at which the phone was heard, or the duty ended.
package struct FleetGap: Sendable, Equatable {
    /// The person, by number.
    package var person: Int
    package var cause: FleetCause
    /// The last time that the phone was heard, or its duty began.
    package var from: Timestamp
    /// The instant at which it was heard again, or nobody expected it any more.
    package var to: Timestamp
    /// True if the signs of it were in the telemetry.
    package var isReported: Bool
}

/// The servers of the fleet's own backend.
package enum FleetBackend: UInt8, CaseIterable, Sendable {
    /// Forwards each batch at once, and seldom twice because an answer was lost.
    case direct = 0
    /// Collects for five seconds and sends arrays.
    case buffering = 1
    /// Has a liveness model of its own and tells its transitions; its workers overtake each other,
    /// and some of them forget `received_at`.
    case opinionated = 2

    /// Milliseconds between two arrays.
    static let bufferEvery: Int64 = 5000
    /// Between two heartbeats.
    static let beatEvery: Int64 = 30_000
    /// The time that a server is gone when a new version is rolled out.
    static let rolloutMilliseconds: Int64 = 150_000

    /// The name of it; the first says none and is `default` (F10).
    var name: StaticString? {
        switch self {
        case .direct: nil
        case .buffering: "backend-2"
        case .opinionated: "backend-3"
        }
    }

    /// Returns who stands in for it at an instant that lies so far behind a day's beginning. Once a
    /// day each is rolled out anew, and neither beats nor forwards meanwhile.
    func stand(in day: Int64) -> FleetBackend {
        isRolledOut(day) ? (self == .direct ? .opinionated : .direct) : self
    }

    /// True while it is being rolled out.
    func isRolledOut(_ day: Int64) -> Bool {
        let begin = (11 + Int64(rawValue) * 2) * FleetPlan.hour
        return (begin..<begin + Self.rolloutMilliseconds).contains(day)
    }
}
