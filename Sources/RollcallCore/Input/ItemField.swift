/// The members of an item's object that mean something to us. Source: design §3.
enum ItemField: UInt8 {
    case responderID = 0
    case toldAt
    case dutyState
    case region
    case circles
    case sharing
    case pausedUntil
    case platform
    case osVersion
    case appVersion
    case installID
    case batteryLevel
    case telemetry
    case updates
    case pushToken
    case nudgeSound
    case from
    case to
    case transitionID
    /// A place on earth under any usual name: dropped unread, and counted.
    case privateField

    /// The field's bit in a set.
    var bit: UInt64 { 1 << UInt64(rawValue) }

    /// The member's name in an item of `kind`.
    func name(_ kind: ItemKind) -> String {
        switch self {
        case .responderID: "responder_id"
        case .toldAt: kind == .batch ? "received_at" : "at"
        case .dutyState: "duty_state"
        case .region: "region"
        case .circles: "circles"
        case .sharing: "sharing"
        case .pausedUntil: "paused_until"
        case .platform: "platform"
        case .osVersion: "os_version"
        case .appVersion: "app_version"
        case .installID: "install_id"
        case .batteryLevel: "battery_level"
        case .telemetry: "telemetry"
        case .updates: "updates"
        case .pushToken: "push_token"
        case .nudgeSound: "nudge_sound"
        case .from: "from"
        case .to: "to"
        case .transitionID: "id"
        case .privateField: ""
        }
    }

    /// What an item of `kind` cannot do without.
    static func required(_ kind: ItemKind) -> [ItemField] {
        kind == .transition ? [.responderID, .from, .to] : [.responderID]
    }

    /// True if an item of `kind` falls when this field cannot be read.
    func isVital(_ kind: ItemKind) -> Bool {
        switch self {
        case .responderID: true
        case .toldAt: kind == .batch
        case .from, .to: kind == .transition
        default: false
        }
    }

    /// The field that `token` names in an item of `kind`; nil if it means nothing there.
    static func of(
        _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>, _ kind: ItemKind
    ) -> ItemField? {
        let name = Name(token, bytes)
        if name.is("responder_id", bytes) { return .responderID }
        let field: ItemField? =
            switch kind {
            case .batch: batch(name, bytes)
            case .transition: transition(name, bytes)
            case .responder, .rosterEntry: fact(name, bytes)
            }
        if let field { return field }
        return isPrivate(name, bytes) ? .privateField : nil
    }

    /// True if `token` names a place on earth. Source: design §3.
    static func isPrivate(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) -> Bool {
        isPrivate(Name(token, bytes), bytes)
    }

    private static func batch(_ name: Name, _ bytes: Span<UInt8>) -> ItemField? {
        switch name.count {
        case 6: name.is("region", bytes) ? .region : nil
        case 7:
            if name.is("updates", bytes) {
                .updates
            } else if name.is("circles", bytes) {
                .circles
            } else {
                name.is("sharing", bytes) ? .sharing : nil
            }
        case 8: name.is("platform", bytes) ? .platform : nil
        case 9: name.is("telemetry", bytes) ? .telemetry : nil
        case 10:
            if name.is("duty_state", bytes) {
                .dutyState
            } else if name.is("install_id", bytes) {
                .installID
            } else {
                name.is("os_version", bytes) ? .osVersion : nil
            }
        case 11:
            if name.is("received_at", bytes) {
                .toldAt
            } else {
                name.is("app_version", bytes) ? .appVersion : nil
            }
        case 13: name.is("battery_level", bytes) ? .batteryLevel : nil
        default: nil
        }
    }

    private static func transition(_ name: Name, _ bytes: Span<UInt8>) -> ItemField? {
        if name.is("from", bytes) { return .from }
        if name.is("to", bytes) { return .to }
        if name.is("at", bytes) { return .toldAt }
        return name.is("id", bytes) ? .transitionID : nil
    }

    private static func fact(_ name: Name, _ bytes: Span<UInt8>) -> ItemField? {
        if name.is("duty_state", bytes) { return .dutyState }
        if name.is("region", bytes) { return .region }
        if name.is("circles", bytes) { return .circles }
        if name.is("sharing", bytes) { return .sharing }
        if name.is("paused_until", bytes) { return .pausedUntil }
        if name.is("platform", bytes) { return .platform }
        if name.is("push_token", bytes) { return .pushToken }
        if name.is("nudge_sound", bytes) { return .nudgeSound }
        return name.is("at", bytes) ? .toldAt : nil
    }

    private static func isPrivate(_ name: Name, _ bytes: Span<UInt8>) -> Bool {
        switch name.count {
        case 3:
            name.is("lat", bytes) || name.is("lng", bytes) || name.is("lon", bytes)
                || name.is("geo", bytes)
        case 5: name.is("speed", bytes)
        case 6: name.is("coords", bytes)
        case 7: name.is("heading", bytes)
        case 8:
            name.is("latitude", bytes) || name.is("location", bytes) || name.is("altitude", bytes)
        case 9: name.is("longitude", bytes)
        case 11: name.is("coordinates", bytes)
        default: false
        }
    }

    /// A member's name, compared without a copy unless it is escaped.
    private struct Name {
        let count: Int
        private let range: Range<Int>
        private let decoded: [UInt8]?

        init(_ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) {
            range = token.range
            decoded = token.isEscaped ? JSONText.decoded(token, bytes) : nil
            count = decoded?.count ?? token.range.count
        }

        func `is`(_ word: StaticString, _ bytes: Span<UInt8>) -> Bool {
            guard count == word.utf8CodeUnitCount else { return false }
            if let decoded {
                return decoded.elementsEqual(
                    UnsafeBufferPointer(start: word.utf8Start, count: count))
            }
            for index in 0..<count
            where bytes[range.lowerBound + index] != word.utf8Start[index] {
                return false
            }
            return true
        }
    }
}
