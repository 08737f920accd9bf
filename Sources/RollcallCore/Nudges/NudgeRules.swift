/// The rules for when people are asked to open their app. Source: Contract/Nudges, V8; F31 to F34.
package struct NudgeRules: Equatable, Sendable {
    /// A `Mode` says whether nudges are decided, and sent. The raw values are stored.
    package enum Mode: UInt8, CaseIterable, Sendable {
        /// Nothing is decided.
        case disabled = 0
        /// Decided and not sent, with a throttle of its own.
        case dryRun = 1
        /// Decided and sent.
        case live = 2

        /// The word in settings and answers.
        package var word: StaticString {
            switch self {
            case .disabled: "disabled"
            case .dryRun: "dry_run"
            case .live: "live"
            }
        }
    }

    /// The sink that carries a push to the phone. The raw values are stored.
    package enum Sink: UInt8, CaseIterable, Sendable {
        case none = 0
        /// A backend of one's own, which knows the phones' tokens.
        case webhook = 1
        /// Expo's push service, which is told the token.
        case expo = 2

        /// The word in settings and answers.
        package var word: StaticString {
            switch self {
            case .none: "none"
            case .webhook: "webhook"
            case .expo: "expo"
            }
        }
    }

    /// The people who count as active peers (N3). The raw values are stored.
    package enum Peers: UInt8, CaseIterable, Sendable {
        /// A circle; for those without circles everybody active in their region.
        case circleOrRegion = 0
        /// A circle; those without circles have none.
        case circle = 1

        /// The word in settings.
        package var word: StaticString {
            switch self {
            case .circleOrRegion: "circle_or_region"
            case .circle: "circle"
            }
        }
    }

    /// The age of a location from which on its owner is nudged. The smallest that applies holds
    /// (F34).
    package struct Staleness: Equatable, Sendable {
        /// For everybody.
        package var standard = Milliseconds.seconds(4 * 3600)
        package var onDuty: Milliseconds?
        package var onMission: Milliseconds?
        package var ios: Milliseconds?
        package var android: Milliseconds?

        /// Four hours for everybody.
        package init() {}

        /// The smallest that applies to a person.
        @inline(__always)
        func limit(_ person: Responder) -> Milliseconds {
            var limit = standard
            let duty = person.duty == .onMission ? onMission : onDuty
            if let duty { limit = min(limit, duty) }
            switch person.platform {
            case .ios: if let ios { limit = min(limit, ios) }
            case .android: if let android { limit = min(limit, android) }
            case .unknown, .other: break
            }
            return limit
        }

        mutating func code(_ archive: inout Archive) {
            archive.code(&standard)
            archive.code(&onDuty, empty: Milliseconds(0)) { $0.code(&$1) }
            archive.code(&onMission, empty: Milliseconds(0)) { $0.code(&$1) }
            archive.code(&ios, empty: Milliseconds(0)) { $0.code(&$1) }
            archive.code(&android, empty: Milliseconds(0)) { $0.code(&$1) }
        }
    }

    /// As it holds: without a written value `live` where there is a sink, else a dry run (N10).
    package var mode = Mode.dryRun
    package var sink = Sink.none
    package var staleAfter = Staleness()
    /// Between two nudges of one person at least, by the wall (N2).
    package var minInterval = Milliseconds.seconds(6 * 3600)
    /// The time for which a push is worth being delivered, from its decision on.
    package var timeToLive = Milliseconds.seconds(3600)
    /// Nudges within any 1000 ms at most (N10).
    package var ratePerSecond = 5
    package var peers = Peers.circleOrRegion

    package init() {}

    /// The instant from which a person's location is too old (F31); `distantFuture` for those who
    /// are no candidates (N1).
    @inline(__always)
    func staleFrom(_ person: Responder) -> ObservedTime {
        guard person.isActive, person.lastLocation > .distantPast, mode != .disabled else {
            return .distantFuture
        }
        return max(person.lastLocation, person.activeSince) + staleAfter.limit(person)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&mode)
        archive.code(&sink)
        staleAfter.code(&archive)
        archive.code(&minInterval)
        archive.code(&timeToLive)
        archive.code(&ratePerSecond)
        archive.code(&peers)
    }
}
