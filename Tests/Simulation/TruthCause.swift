/// Why a phone is silent, in truth. The engine never sees it.
enum TruthCause: String, CaseIterable, Sendable {
    case suspended, tunnel
    case deadZone = "dead zone, announced"
    case lowPower = "low power"
    case killedInBackground = "killed in background"
    case killedInForeground = "killed in foreground"
    case crash
    case batteryDied = "battery died"
    case permissionRevoked = "permission revoked"
    case locationServicesOff = "location services off"
    case reinstall
    case massOutage = "mass outage"
    case neverStarted = "never started"
    case offDutyToldLate = "off duty, told late"
    case offDutyTold = "off duty, told"

    /// Of 1000 silences of a phone in its shift, how many have which cause, and why we believe so.
    ///
    /// Nobody publishes such figures; these are estimates. Outages and apps never started are drawn
    /// by the day and by the shift (`TruthPlan`), since they are no accident of one phone.
    static let drawn: [(cause: TruthCause, perMille: Int64, why: String)] = [
        (.suspended, 290, "background limits of both systems are what the memo is about"),
        (.tunnel, 230, "cellars, lifts, car parks: several a shift, most of them short"),
        (.killedInBackground, 90, "swiped away, and vendors' task killers"),
        (.lowPower, 80, "the profile of low power reports rarely, by design"),
        (.deadZone, 60, "the network listener speaks before the last request is out"),
        (.crash, 50, "the usual rate of crashing sessions times the sessions of a shift"),
        (.killedInForeground, 40, "swiped away while it was looked at: rarer"),
        (.batteryDied, 40, "a long shift without a charger"),
        (.offDutyTold, 40, "breaks, told by the app"),
        (.permissionRevoked, 30, "seldom, but it lasts until somebody acts"),
        (.locationServicesOff, 20, "a switch, touched less often than permissions"),
        (.reinstall, 15, "updates keep the install; removing the app is rare"),
        (.offDutyToldLate, 15, "the person stops the app, the office knows later"),
    ]

    /// One of the drawn causes.
    static func draw(_ dice: inout Dice) -> TruthCause {
        var rest = dice.number(0...999)
        for (cause, perMille, _) in drawn {
            if rest < perMille { return cause }
            rest -= perMille
        }
        return .suspended
    }

    /// How long such a silence lasts, milliseconds.
    func duration(_ dice: inout Dice) -> Int64 {
        let minutes: ClosedRange<Int64> =
            switch self {
            case .tunnel, .deadZone: dice.pick([0...1, 0...1, 1...10, 1...10, 10...40])
            case .suspended: dice.pick([2...10, 5...40])
            case .lowPower: 12...60
            case .killedInBackground, .killedInForeground: 3...60
            case .crash: 1...10
            case .batteryDied: 15...120
            case .permissionRevoked: 10...90
            case .locationServicesOff: 5...60
            case .reinstall: 4...20
            case .massOutage: 5...30
            case .neverStarted: 4...60
            case .offDutyToldLate: 5...15
            case .offDutyTold: 10...40
            }
        return dice.number(minutes.lowerBound * 60_000 + 20_000...(minutes.upperBound + 1) * 60_000)
    }

    /// True if the phone's app does not run, or runs without being allowed to take a location.
    var stopsTheApp: Bool {
        switch self {
        case .tunnel, .deadZone, .massOutage, .lowPower, .offDutyTold: false
        default: true
        }
    }

    /// True if the app lives and only the network is gone.
    var isOfNetwork: Bool { self == .tunnel || self == .deadZone || self == .massOutage }
}

/// What else is true of a silence: what makes it easy to take for another one.
enum TruthTwist: String, Sendable {
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
    /// What was revoked or switched off was given back before the app spoke again.
    case repaired = "repaired before the return"
    /// An update was taken and not yet sent when the app was stopped.
    case updateWaiting = "an update was waiting"
    /// The system suspended the app, and then it was killed.
    case killedToo = "then killed"
    /// The app was heard in an earlier shift of the day.
    case heardBefore = "heard in an earlier shift"
    /// The battery died far above the level at which batteries die.
    case diedEarly = "died early"
}

/// A silence of one phone, drawn before anything is told to anybody.
struct TruthEpisode: Sendable {
    var cause: TruthCause
    var twist = TruthTwist.plain
    /// The last instant at which the phone could have been heard before.
    var begin: Int64
    /// The first at which it is heard again, or the person goes off duty.
    var end: Int64
    /// True if the person goes off duty in silence.
    var endsByDuty = false
    /// True if the signs of the cause were in what the phone sent before: not so if it had no time
    /// or if its app is too old to tell them.
    var isTold = true
    /// False for an app that never tells anything of its phone.
    var sendsTelemetry = true
    /// The outage, by its number.
    var outage: Int?
}
