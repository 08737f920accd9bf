/// The status of an active responder, as the watch believes it.
///
///     UNKNOWN ──contact──► ONLINE ──late──► DEGRADED ──missing──► OFFLINE
///        │                   ▲                 │                     │
///        └──never heard──► OFFLINE             └──────contact────────┴──► ONLINE
///
/// The raw values run from good to bad (F18). Source: Contract/Liveness (memo, "Liveness State
/// Machine").
package enum Status: UInt8, CaseIterable, Comparable, Sendable {
    /// Heard from within the degraded threshold.
    case online = 0
    /// Late, not yet missing.
    case degraded = 1
    /// Expected, and not heard from since.
    case unknown = 2
    /// Missing for longer than the offline threshold.
    case offline = 3

    package static func < (a: Status, b: Status) -> Bool { a.rawValue < b.rawValue }

    /// The memo's word, as in metrics, JSON and the journal.
    package var word: StaticString {
        switch self {
        case .online: "ONLINE"
        case .degraded: "DEGRADED"
        case .unknown: "UNKNOWN"
        case .offline: "OFFLINE"
        }
    }
}

/// The origin of a status change. Source: L9, F21.
package enum Origin: UInt8, CaseIterable, Sendable {
    /// A batch arrived.
    case contact = 0
    /// Time passed a threshold, or a lost phone was forgotten.
    case deadline = 1
    /// The server said so.
    case server = 2
    /// Duty, pause, expiry of one, roster, retirement, enrolment.
    case duty = 3
    /// New settings.
    case policy = 4

    /// The word in JSON.
    package var word: StaticString {
        switch self {
        case .contact: "contact"
        case .deadline: "deadline"
        case .server: "server"
        case .duty: "duty"
        case .policy: "policy"
        }
    }
}

/// The duty state of a responder, by their own or the backend's word.
package enum DutyState: UInt8, CaseIterable, Sendable {
    /// Nobody has said yet.
    case none = 0
    /// Not working: not expected to report.
    case offDuty = 1
    /// Available.
    case onDuty = 2
    /// On an incident: reports more often.
    case onMission = 3

    /// The word in input and answers; empty for `none`.
    package var word: StaticString {
        switch self {
        case .none: ""
        case .offDuty: "OFF_DUTY"
        case .onDuty: "ON_DUTY"
        case .onMission: "ON_MISSION"
        }
    }

    /// True for those who are expected to report.
    package var isOn: Bool { self == .onDuty || self == .onMission }
}

/// A `Sharing` says whether a person shares at the moment.
package enum Sharing: UInt8, CaseIterable, Sendable {
    case active = 0
    case paused = 1

    /// The word in input and answers.
    package var word: StaticString { self == .active ? "active" : "paused" }
}

/// The phone's system.
package enum Platform: UInt8, CaseIterable, Sendable {
    /// Not told.
    case unknown = 0
    case ios = 1
    case android = 2
    /// Told, and not one that we know.
    case other = 3

    /// The word in input, answers and labels.
    package var word: StaticString {
        switch self {
        case .unknown: "unknown"
        case .ios: "ios"
        case .android: "android"
        case .other: "other"
        }
    }
}

/// The reason why somebody is not expected. The first that holds, in this order, is the one that is
/// told. Source: L1, L10.
package enum NotExpected: UInt8, CaseIterable, Sendable {
    case retired = 0
    case forgotten = 1
    case noDuty = 2
    case offDuty = 3
    case paused = 4

    /// The word in labels and answers.
    package var word: StaticString {
        switch self {
        case .retired: "retired"
        case .forgotten: "forgotten"
        case .noDuty: "no_duty"
        case .offDuty: "off_duty"
        case .paused: "paused"
        }
    }
}

/// The reason why the watch is blind. Source: B1, F5.
package enum BlindReason: UInt8, CaseIterable, Sendable {
    /// All declared sources are missing (B2).
    case heartbeat = 0
    /// We refused half of the writes for our own reasons.
    case overload = 1
    /// We were not running.
    case stopped = 2
    /// The store does not take our commits.
    case store = 3
    /// A turn came more than 5 s late: a suspended machine, a stopped process.
    case suspended = 4

    /// The word in labels and JSON; the raw values follow its alphabet, the order of F1.
    package var word: StaticString {
        switch self {
        case .heartbeat: "heartbeat"
        case .overload: "overload"
        case .stopped: "stopped"
        case .store: "store"
        case .suspended: "suspended"
        }
    }
}

/// The outcome of an update. Source: I1.
package enum UpdateOutcome: UInt8, CaseIterable, Sendable {
    case accepted = 0
    case duplicate = 1
    /// Arrived in or below a hole that was closed, or for an install that was forgotten.
    case late = 2

    /// The word in JSON and labels.
    package var word: StaticString {
        switch self {
        case .accepted: "accepted"
        case .duplicate: "duplicate"
        case .late: "late"
        }
    }
}

/// One value of a closed set that a phone reports; 0 is "not told", the last is "other".
package struct TelemetryField: Sendable {
    /// The name in input and in the label `field`.
    package let name: StaticString
    /// The values by raw number; the first is `unknown`. A number, once stored, keeps its meaning.
    package let values: [StaticString]
    /// The value of a word that we do not know; 0 where there is none.
    package let other: UInt8
    /// The value of the field in `Telemetry`.
    package let value: @Sendable (Telemetry) -> UInt8
}

/// The telemetry that a phone tells of itself with a batch, taken as a whole (F15).
package struct Telemetry: Hashable, Sendable {
    /// Updates waiting in the phone's queue; `queueDepthUnknown` when not told.
    package var queueDepth: UInt32 = queueDepthUnknown
    /// The closed sets, two or three bits each, and the mark of a number that none of them has.
    private var words: UInt16 = 0

    /// 1 granted, 2 denied, 3 other.
    package var permissionStatus: UInt8 {
        get { word(at: 0, width: 2) }
        set { set(newValue, at: 0, width: 2) }
    }
    /// 1 true, 2 false.
    package var locationServices: UInt8 {
        get { word(at: 2, width: 2) }
        set { set(newValue, at: 2, width: 2) }
    }
    /// 1 normal, 2 low_power, 3 other.
    package var powerMode: UInt8 {
        get { word(at: 4, width: 2) }
        set { set(newValue, at: 4, width: 2) }
    }
    /// 1 foreground, 2 background, 3 other, 4 suspended, 5 terminated.
    package var appState: UInt8 {
        get { word(at: 6, width: 3) }
        set { set(newValue, at: 6, width: 3) }
    }
    /// 1 wifi, 2 cellular, 3 none, 4 other.
    package var networkType: UInt8 {
        get { word(at: 9, width: 3) }
        set { set(newValue, at: 9, width: 3) }
    }
    /// The value of `queueDepth` when not told.
    package static let queueDepthUnknown = UInt32.max

    /// Set by a number for which a field has no bits: those bytes no scanner wrote.
    private static let damage: UInt16 = 1 << 15

    package init() {}

    private func word(at place: UInt16, width: UInt16) -> UInt8 {
        UInt8(truncatingIfNeeded: words >> place & (1 << width - 1))
    }

    private mutating func set(_ word: UInt8, at place: UInt16, width: UInt16) {
        let mask: UInt16 = 1 << width - 1
        words = words & ~(mask << place) | (UInt16(word) & mask) << place
        if UInt16(word) > mask { words |= Self.damage }
    }

    /// Every field of a closed set, in the order of the memo.
    package static let fields: [TelemetryField] = [
        TelemetryField(
            name: "permission_status", values: ["unknown", "granted", "denied", "other"],
            other: 3, value: { $0.permissionStatus }),
        TelemetryField(
            name: "location_services", values: ["unknown", "true", "false"],
            other: 0, value: { $0.locationServices }),
        TelemetryField(
            name: "power_mode", values: ["unknown", "normal", "low_power", "other"],
            other: 3, value: { $0.powerMode }),
        TelemetryField(
            name: "app_state",
            values: [
                "unknown", "foreground", "background", "other", "suspended", "terminated",
            ],
            other: 3, value: { $0.appState }),
        TelemetryField(
            name: "network_type", values: ["unknown", "wifi", "cellular", "none", "other"],
            other: 4, value: { $0.networkType }),
    ]

    /// True if all of `fields` are the same.
    func countsAs(_ other: Telemetry) -> Bool {
        words == other.words
    }

    /// Takes over what `other` tells, field by field.
    mutating func take(_ other: Telemetry) {
        if other.queueDepth != Self.queueDepthUnknown { queueDepth = other.queueDepth }
        if other.permissionStatus > 0 { permissionStatus = other.permissionStatus }
        if other.locationServices > 0 { locationServices = other.locationServices }
        if other.powerMode > 0 { powerMode = other.powerMode }
        if other.appState > 0 { appState = other.appState }
        if other.networkType > 0 { networkType = other.networkType }
    }

    /// False for bytes that no scanner wrote.
    var isLegal: Bool {
        words & Self.damage == 0 && locationServices < 3 && appState < 6 && networkType < 5
    }

    /// True when the phone saves power.
    package var isLowPower: Bool { powerMode == 2 }
    /// True when the app may not see the location.
    package var isPermissionDenied: Bool { permissionStatus == 2 }
    /// True when nobody on the phone may.
    package var areServicesOff: Bool { locationServices == 2 }
    /// True when the phone had no network, and told so later.
    package var hasNoNetwork: Bool { networkType == 3 }
    /// True when the app was open before the person.
    package var isInForeground: Bool { appState == 1 }
    /// True when the app was behind others, or the screen off.
    package var isInBackground: Bool { appState == 2 }
    /// True when the system had stopped the app for a while.
    package var isSuspended: Bool { appState == 4 }
    /// True when the app was gone, and something of it woke up to report.
    package var isTerminated: Bool { appState == 5 }
    /// True when the app is not before the person, so that the system decides when it may report (P5).
    package var isBehind: Bool { isInBackground || isSuspended || isTerminated }
}

extension Telemetry {
    mutating func code(_ archive: inout Archive) {
        archive.code(&permissionStatus)
        archive.code(&locationServices)
        archive.code(&powerMode)
        archive.code(&appState)
        archive.code(&networkType)
        archive.code(&queueDepth)
        if archive.isReading, !isLegal { archive.refuse() }
    }
}
