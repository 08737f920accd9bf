/// The reason why a phone is not woken. When several reasons hold, the first in this order is told.
/// The raw values are stored. Source: N9.
package enum WakeReason: UInt8, CaseIterable, Sendable {
    /// Not expected to share.
    case offDuty = 0
    case paused = 1
    /// Located within the last minute.
    case fresh = 2
    /// Woken within the last five minutes.
    case woken = 3
    /// The phone saves power.
    case lowPower = 4
    /// Nobody told where a push would reach them; only where the sink needs to know.
    case noToken = 5

    /// The word in answers and labels.
    package var word: StaticString {
        switch self {
        case .offDuty: "off_duty"
        case .paused: "paused"
        case .fresh: "fresh"
        case .woken: "woken"
        case .lowPower: "low_power"
        case .noToken: "no_token"
        }
    }
}

/// Somebody opened the map and looks at a circle (N9).
package enum WakeCall: Equatable, Sendable {
    /// The circle and the viewer's id, as they came.
    case circle([UInt8], viewer: [UInt8])
    /// The members as people's numbers, as the journal keeps them: no name is in it.
    case members([Int])

    /// Members looked at, at most, by their ids; the rest of a larger circle is left alone.
    package static let membersMax = 256

    /// The numbers as the journal keeps them.
    package static func journalBytes(_ members: [Int]) -> [UInt8] {
        var copy = members
        return Archive.bytes { $0.code(&copy) }
    }

    /// The call that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        var members: [Int] = []
        if !Archive.reads(part: journalBytes, { $0.code(&members) }) { return nil }
        self = .members(members)
    }
}

/// The decision about one member of a circle that somebody looks at.
package struct WakeAnswer: Equatable, Sendable {
    /// The member's number.
    package var person: Int
    /// Nil if they are woken.
    package var reason: WakeReason?
}
