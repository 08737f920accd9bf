/// The reason why a simulated phone is silent, in truth. The engine never sees it.
package enum FleetCause: String, CaseIterable, Sendable {
    /// The system put the app to sleep.
    case suspended
    /// iOS gives no updates of a phone that lies still.
    case stationary
    /// Android's background limit: a few updates an hour.
    case throttled
    /// Android's Doze: the app wakes in maintenance windows, ever more rarely.
    case doze
    case tunnel
    case deadZone = "dead_zone"
    /// A Wi-Fi that takes nothing before somebody signs in.
    case captivePortal = "captive_portal"
    case lowPower = "low_power"
    case killedInBackground = "killed_in_background"
    case killedInForeground = "killed_in_foreground"
    case crash
    case batteryDied = "battery_died"
    case permissionRevoked = "permission_revoked"
    case locationServicesOff = "location_services_off"
    case reinstall
    /// A cell of the network is gone, and with it many phones of a region.
    case massOutage = "mass_outage"
    /// The shift began and nobody opened the app.
    case neverStarted = "never_started"
    case offDutyReportedLate = "off_duty_told_late"
    case offDutyReported = "off_duty_told"
    /// Sharing was paused, and the backend told it.
    case pausedReported = "paused_told"

    /// Of 1000 silences of a phone in its shift, how many have which cause, and why we believe so.
    ///
    /// Nobody publishes such figures; these are estimates. Outages and apps never started are drawn
    /// by the day and by the shift (`FleetPlan`), since they are no accident of one phone.
    package static let drawn: [(cause: FleetCause, perMille: Int64, why: String)] = [
        (.tunnel, 200, "cellars, lifts, car parks: several a shift, most of them short"),
        (.suspended, 180, "background limits of both systems are what the memo is about"),
        (.killedInBackground, 90, "swiped away, and vendors' task killers"),
        (.lowPower, 60, "the profile of low power reports rarely, by design"),
        (.deadZone, 60, "the network listener speaks before the last request is out"),
        (.throttled, 50, "Android without a foreground service: a few updates an hour"),
        (.crash, 50, "the usual rate of crashing sessions times the sessions of a shift"),
        (.doze, 40, "Android phones that lie on a table for half an hour"),
        (.killedInForeground, 40, "swiped away while it was looked at: rarer"),
        (.batteryDied, 40, "a long shift without a charger"),
        (.offDutyReported, 40, "breaks, told by the app"),
        (.stationary, 30, "iOS suspends updates of a phone that does not move"),
        (.captivePortal, 30, "hotels, trains, hospitals"),
        (.permissionRevoked, 30, "seldom, but it lasts until somebody acts"),
        (.locationServicesOff, 20, "a switch, touched less often than permissions"),
        (.reinstall, 15, "updates keep the install; removing the app is rare"),
        (.offDutyReportedLate, 15, "the person stops the app, the office knows later"),
        (.pausedReported, 10, "a choice of the person, seldom made on duty"),
    ]

    /// One of the drawn causes, as far as `platform` has it.
    static func draw(_ dice: inout Dice, on platform: FleetPlatform) -> FleetCause {
        var rest = dice.number(0...999)
        var drawn = FleetCause.suspended
        for (cause, perMille, _) in Self.drawn {
            if rest < perMille {
                drawn = cause
                break
            }
            rest -= perMille
        }
        switch drawn {
        case .doze, .throttled: return platform == .android ? drawn : .suspended
        case .stationary: return platform == .ios ? drawn : .suspended
        default: return drawn
        }
    }

    /// Returns how long such a silence lasts, in milliseconds.
    func duration(_ dice: inout Dice) -> Int64 {
        let minutes: ClosedRange<Int64> =
            switch self {
            case .tunnel, .deadZone: dice.pick([0...1, 0...1, 1...10, 1...10, 10...40])
            case .suspended: dice.pick([2...10, 5...40])
            case .stationary: 8...60
            case .throttled: 25...120
            case .doze: 30...180
            case .captivePortal: 4...50
            case .lowPower: 12...60
            // Some are noticed only by a nudge, hours later.
            case .killedInBackground: dice.chance(100) ? 120...400 : 3...60
            case .killedInForeground: 3...60
            case .crash: 1...10
            case .batteryDied: 15...120
            case .permissionRevoked: dice.chance(100) ? 90...360 : 10...90
            case .locationServicesOff: 5...60
            case .reinstall: 4...20
            case .massOutage: 5...30
            case .neverStarted: 4...60
            case .offDutyReportedLate: 5...15
            case .offDutyReported: 10...40
            case .pausedReported: 10...60
            }
        return dice.number(minutes.lowerBound * 60_000 + 20_000...(minutes.upperBound + 1) * 60_000)
    }

    /// True if the phone comes back without anybody doing something.
    package var heals: Bool {
        switch self {
        case .suspended, .stationary, .throttled, .doze, .tunnel, .deadZone, .lowPower, .massOutage,
            .pausedReported, .offDutyReported:
            true
        case .captivePortal, .killedInBackground, .killedInForeground, .crash, .batteryDied,
            .permissionRevoked, .locationServicesOff, .reinstall, .neverStarted,
            .offDutyReportedLate:
            false
        }
    }

    /// True if the phone's app does not run, or runs without being allowed to take a location.
    var stopsTheApp: Bool {
        switch self {
        case .tunnel, .deadZone, .captivePortal, .massOutage, .lowPower, .throttled, .doze,
            .offDutyReported, .pausedReported:
            false
        default: true
        }
    }

    /// True if the phone is heard now and then meanwhile: each stretch is a silence of its own.
    var isHeardWithin: Bool { self == .lowPower || self == .throttled || self == .doze }

    /// True if the backend was told, so that nobody is missed.
    package var isReportedAbsence: Bool { self == .offDutyReported || self == .pausedReported }
}

/// The twist of a silence that makes it easy to take for another one.
package enum FleetTwist: String, Sendable {
    case plain = ""
    /// The battery was nearly empty as well.
    case batteryLow = "battery nearly empty"
    /// The app was removed and installed anew before the phone came back.
    case reinstalled = "reinstalled meanwhile"
    /// Deep below ground: nothing but cached fixes could be taken.
    case withoutFix = "only cached fixes"
    /// The permission was revoked while the network was gone, and is still.
    case permissionLost = "permission revoked meanwhile"
    /// There was no network either.
    case noNetworkEither = "no network either"
    /// The phone got back what was revoked or switched off before the app spoke again.
    case repaired = "repaired before the return"
    /// An update was taken and not yet sent when the app was stopped.
    case updateWaiting = "an update was waiting"
    /// The system suspended the app, and then it was killed.
    case killedToo = "then killed"
    /// The app was heard in an earlier shift of the day.
    case heardBefore = "heard in an earlier shift"
    /// The battery died far above the level at which batteries die.
    case diedEarly = "died early"
    /// The system went on taking locations and handed them over in one go.
    case inBursts = "locations in bursts"
}

/// A silence of one phone, drawn before anything is told to anybody.
package struct FleetEpisode: Sendable {
    package var cause: FleetCause
    package var twist = FleetTwist.plain
    /// The last instant at which the phone could have been heard before.
    package var begin: Int64
    /// The first at which it can be heard again, or the person goes off duty.
    package var end: Int64
    /// True if the person goes off duty in silence.
    package var endsByDuty = false
    /// True if the signs of the cause were in what the phone sent before: not so if it had no time
    /// or if its app is too old to tell them.
    package var isReported = true
    /// False for an app that never tells anything of its phone.
    package var sendsTelemetry = true
    /// The outage, by its number.
    package var outage: Int?

    /// The latest instant at which the phone is heard again: a queue without network tries again up
    /// to 30 s after there is some.
    package var returnsBefore: Int64 {
        switch cause {
        case .tunnel, .deadZone, .captivePortal, .massOutage: end + 31_000
        default: end
        }
    }
}
