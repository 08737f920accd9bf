/// The members of an item's object that mean something to us. Source: I9.
enum ItemField: UInt8 {
    case responderID = 0
    case reportedAt
    case dutyState
    case region
    case circles
    case sharing
    case pausedUntil
    case platform
    case osVersion
    case appVersion
    case manufacturer
    case model
    case installID
    case batteryLevel
    case telemetry
    case updates
    case pushToken
    case nudgeSound
    case from
    case to
    case transitionID
    /// The reason why the server changed a status: known, and not read.
    case reason
    /// The phone's own promise until its next contact (P5).
    case nextExpectedIn
    // What the phone says of itself, beside `telemetry` instead of inside it (P3).
    case permissionStatus
    case locationServices
    case powerMode
    case appState
    case queueDepth
    case networkType
    /// A place on earth under any usual name: dropped unread, and counted.
    case privateField

    /// The field's bit in a set.
    var bit: UInt64 { 1 << UInt64(rawValue) }

    /// The member's name in an item of `kind`.
    func name(_ kind: ItemKind) -> String {
        switch self {
        case .responderID: "responder_id"
        case .reportedAt: kind == .batch ? "received_at" : "at"
        case .dutyState: "duty_state"
        case .region: "region"
        case .circles: "circles"
        case .sharing: "sharing"
        case .pausedUntil: "paused_until"
        case .platform: "platform"
        case .osVersion: "os_version"
        case .appVersion: "app_version"
        case .manufacturer: "manufacturer"
        case .model: "model"
        case .installID: "install_id"
        case .batteryLevel: "battery_level"
        case .telemetry: "telemetry"
        case .updates: "updates"
        case .pushToken: "push_token"
        case .nudgeSound: "nudge_sound"
        case .from: "from"
        case .to: "to"
        case .transitionID: "id"
        case .reason: "reason"
        case .nextExpectedIn: "next_expected_in"
        case .permissionStatus: "permission_status"
        case .locationServices: "location_services"
        case .powerMode: "power_mode"
        case .appState: "app_state"
        case .queueDepth: "queue_depth"
        case .networkType: "network_type"
        case .privateField: ""
        }
    }

    /// Returns the fields that an item of `kind` cannot do without.
    static func required(_ kind: ItemKind) -> [ItemField] {
        kind == .transition ? [.responderID, .from, .to] : [.responderID]
    }

    /// True if an item of `kind` falls when this field cannot be read.
    func isVital(_ kind: ItemKind) -> Bool {
        switch self {
        case .responderID: true
        case .reportedAt: kind == .batch
        case .from, .to: kind == .transition
        default: false
        }
    }

    /// The field that `token` names in an item of `kind`; nil if it means nothing there.
    static func of(
        _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>, _ kind: ItemKind
    ) -> ItemField? {
        let name = ShortWord(token, bytes)
        if name == "responder_id" { return .responderID }
        let field: ItemField? =
            switch kind {
            case .batch: batch(name)
            case .transition: transition(name)
            case .responder, .rosterEntry: fact(name)
            case .nobody: nil
            }
        if let field { return field }
        return isPrivate(name) ? .privateField : nil
    }

    /// True for a name of free choice that many have, which somebody might fill with coordinates (I8).
    var mayNamePlace: Bool {
        switch self {
        case .region, .osVersion, .appVersion, .manufacturer, .model: true
        default: false
        }
    }

    /// True if `name` is that of a place on earth. Source: I8.
    static func isPrivate(_ name: ShortWord) -> Bool {
        switch name {
        case "lat", "lng", "lon", "geo", "latitude", "longitude", "coords", "coordinates",
            "location", "altitude", "heading", "speed":
            true
        default: false
        }
    }

    private static func batch(_ name: ShortWord) -> ItemField? {
        switch name {
        case "updates": .updates
        case "telemetry": .telemetry
        case "duty_state": .dutyState
        case "region": .region
        case "received_at": .reportedAt
        case "platform": .platform
        case "circles": .circles
        case "battery_level": .batteryLevel
        case "install_id": .installID
        case "sharing": .sharing
        case "os_version": .osVersion
        case "app_version": .appVersion
        case "next_expected_in": .nextExpectedIn
        case "manufacturer": .manufacturer
        case "model": .model
        default: telemetry(name)
        }
    }

    /// The field of a phone's telemetry that `name` names; nil if it is none of the six.
    static func telemetry(_ name: ShortWord) -> ItemField? {
        switch name {
        case "permission_status": .permissionStatus
        case "location_services": .locationServices
        case "power_mode": .powerMode
        case "app_state": .appState
        case "queue_depth": .queueDepth
        case "network_type": .networkType
        default: nil
        }
    }

    private static func transition(_ name: ShortWord) -> ItemField? {
        switch name {
        case "from": .from
        case "to": .to
        case "at": .reportedAt
        case "id": .transitionID
        case "reason": .reason
        default: nil
        }
    }

    private static func fact(_ name: ShortWord) -> ItemField? {
        switch name {
        case "duty_state": .dutyState
        case "region": .region
        case "circles": .circles
        case "sharing": .sharing
        case "paused_until": .pausedUntil
        case "platform": .platform
        case "push_token": .pushToken
        case "nudge_sound": .nudgeSound
        case "at": .reportedAt
        default: nil
        }
    }
}
