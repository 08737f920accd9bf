/// The memory of somebody who was nudged, or was not for a reason.
struct NudgeState: Equatable, Sendable {
    /// The last nudge of one mode, of each its own: a dry run throttles no real one (N10).
    struct Throttle: Equatable, Sendable {
        /// By the wall (N2); `distantPast` if never.
        var sentAt = Timestamp.distantPast
        /// True once a newer location armed the switch again (N1).
        var isArmed = true
        /// The instants at which somebody asked for them within the last day, by the wall (R3).
        private(set) var asks: [Timestamp] = []

        /// True if they were nudged and nothing armed the switch since.
        var isSpent: Bool { sentAt > .distantPast && !isArmed }

        /// They are nudged now.
        mutating func send(at wall: Timestamp, isArmed: Bool = false) {
            (sentAt, self.isArmed) = (wall, isArmed)
        }

        /// Somebody asks for them now.
        mutating func ask(at wall: Timestamp) {
            asks.removeAll { $0 + AskLimits.within <= wall }
            asks.append(wall)
        }

        mutating func code(_ archive: inout Archive) {
            archive.code(&sentAt)
            archive.code(&isArmed)
        }

        /// Codes what version 8 added.
        fileprivate mutating func codeAsks(_ archive: inout Archive) {
            archive.code(&asks, empty: .distantPast) { $0.code(&$1) }
        }
    }

    var live = Throttle()
    var dryRun = Throttle()
    /// The reason against a nudge that was written last; nil once it is over.
    var reason: NudgeReason?
    /// True while they stand in the row of those who wait for their turn.
    var isInRow = false
    /// True while they are to be evaluated again when we see again.
    var isInBlind = false
    /// The wall's time at which the throttle lets them go, if that is waited for.
    var waitsUntil: Timestamp?
    /// The nudge of which it is not known yet what followed; 0 without one.
    var followed: Int64 = 0
    /// The instant at which it was decided.
    var followedFrom = ObservedTime.distantPast
    /// Until when what follows is looked at.
    var followedUntil = RunningTime.distantPast
    /// True if there was contact since.
    var hasContact = false
    /// The platform then.
    var platform = Platform.unknown
    /// `StableHash` of a token that the sink says is dead; 0 without one.
    var deadToken: UInt64 = 0

    init() {}

    /// True if nothing is to be remembered.
    var isEmpty: Bool { self == NudgeState() }

    /// True if somebody asked for them lately.
    var isAskedFor: Bool { !live.asks.isEmpty || !dryRun.asks.isEmpty }

    /// Codes when they were asked for, behind the rest and only of those few.
    mutating func codeAsks(_ archive: inout Archive) {
        live.codeAsks(&archive)
        dryRun.codeAsks(&archive)
    }

    /// The throttle that holds in a mode.
    func throttle(in mode: NudgeRules.Mode) -> Throttle { mode == .live ? live : dryRun }

    mutating func clampInstants(to now: ObservedTime) { followedFrom = min(followedFrom, now) }

    mutating func code(_ archive: inout Archive) {
        live.code(&archive)
        dryRun.code(&archive)
        archive.code(&reason, empty: .solo) { $0.code(&$1) }
        archive.code(&isInRow)
        archive.code(&isInBlind)
        archive.code(&waitsUntil, empty: .distantPast) { $0.code(&$1) }
        archive.code(&followed)
        archive.code(&followedFrom)
        archive.code(&followedUntil)
        archive.code(&hasContact)
        archive.code(&platform)
        archive.code(&deadToken)
    }
}
