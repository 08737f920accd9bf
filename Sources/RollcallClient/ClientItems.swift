import Foundation

// What can be sent, as types. They have no place for a coordinate: Rollcall takes none.

extension RollcallClient {
    /// A `Batch` holds what a phone sent at once. A field that is nil is not sent, and keeps its
    /// last value.
    public struct Batch: Encodable, Sendable {
        /// The verified user, 1 to 128 bytes.
        public var responderID: String
        /// The instant at which the backend heard the phone; now, if it is nil.
        public var receivedAt: Date?
        /// The id of this installation of the app.
        public var installID: String?
        /// `OFF_DUTY`, `ON_DUTY` or `ON_MISSION`.
        public var dutyState: String?
        /// The region in which this person is counted.
        public var region: String?
        /// The circles that this person belongs to.
        public var circles: [String]?
        /// `active` or `paused`.
        public var sharing: String?
        /// `ios` or `android`.
        public var platform: String?
        /// The version of the system.
        public var osVersion: String?
        /// The version of the app.
        public var appVersion: String?
        /// The battery, from 0 to 1.
        public var batteryLevel: Double?
        /// The facts that the phone says of itself; they are replaced as a whole.
        public var telemetry: Telemetry?
        /// The updates; without any, the batch is contact alone.
        public var updates: [Update]?
        /// The seconds within which the phone means to report again, if that is unlike its duty's.
        public var nextExpectedIn: Double?

        /// A batch of somebody, with nothing else in it yet.
        public init(responderID: String, updates: [Update]? = nil) {
            self.responderID = responderID
            self.updates = updates
        }

        enum CodingKeys: String, CodingKey {
            case responderID = "responder_id"
            case receivedAt = "received_at"
            case installID = "install_id"
            case dutyState = "duty_state"
            case region, circles, sharing, platform, telemetry, updates
            case osVersion = "os_version"
            case appVersion = "app_version"
            case batteryLevel = "battery_level"
            case nextExpectedIn = "next_expected_in"
        }
    }

    /// One location's number and time, never its place.
    public struct Update: Encodable, Sendable {
        /// The phone's own count of updates, from 0.
        public var sequence: Int64
        /// The instant at which it was captured, by the phone's clock.
        public var capturedAt: Date?

        /// An update of this number.
        public init(sequence: Int64, capturedAt: Date?) {
            self.sequence = sequence
            self.capturedAt = capturedAt
        }

        enum CodingKeys: String, CodingKey {
            case sequence
            case capturedAt = "captured_at"
        }
    }

    /// A `Telemetry` holds what a phone says of itself.
    public struct Telemetry: Encodable, Sendable {
        /// `granted`, `denied` or what else the system calls it.
        public var permissionStatus: String?
        /// False if location services are off.
        public var locationServices: Bool?
        /// `normal` or `low_power`.
        public var powerMode: String?
        /// `foreground`, `background` or what else the system calls it.
        public var appState: String?
        /// `wifi`, `cellular` or `none`.
        public var networkType: String?
        /// The updates that the phone has not sent yet.
        public var queueDepth: Int?

        /// Telemetry that says nothing yet.
        public init() {}

        enum CodingKeys: String, CodingKey {
            case permissionStatus = "permission_status"
            case locationServices = "location_services"
            case powerMode = "power_mode"
            case appState = "app_state"
            case networkType = "network_type"
            case queueDepth = "queue_depth"
        }
    }

    /// The backend's own change of a status.
    public struct Transition: Encodable, Sendable {
        /// The person.
        public var responderID: String
        /// `ONLINE`, `DEGRADED`, `UNKNOWN` or `OFFLINE` before.
        public var from: String
        /// And after.
        public var to: String
        /// The instant of the change; now, if it is nil.
        public var at: Date?
        /// The reason, in the backend's words.
        public var reason: String?
        /// The id that tells it from all others; one is made, if it is nil.
        public var id: String?

        /// A change of somebody's status.
        public init(responderID: String, from: String, to: String) {
            self.responderID = responderID
            self.from = from
            self.to = to
        }

        enum CodingKeys: String, CodingKey {
            case responderID = "responder_id"
            case from, to, at, reason, id
        }
    }

    /// `Facts` holds what the backend knows of a person. A field that is nil is not sent, and keeps
    /// its last value.
    public struct Facts: Encodable, Sendable {
        /// The person.
        public var responderID: String
        /// Since when it is so; now, if it is nil.
        public var at: Date?
        /// `OFF_DUTY`, `ON_DUTY` or `ON_MISSION`.
        public var dutyState: String?
        /// The region in which this person is counted.
        public var region: String?
        /// The circles that this person belongs to.
        public var circles: [String]?
        /// `active` or `paused`.
        public var sharing: String?
        /// The instant at which a pause ends by itself.
        public var pausedUntil: Date?
        /// `ios` or `android`.
        public var platform: String?
        /// The token that nudges go to.
        public var pushToken: String?

        /// Facts about somebody, with nothing in them yet.
        public init(responderID: String) { self.responderID = responderID }

        enum CodingKeys: String, CodingKey {
            case responderID = "responder_id"
            case at, region, circles, sharing, platform
            case dutyState = "duty_state"
            case pausedUntil = "paused_until"
            case pushToken = "push_token"
        }
    }
}
