import RollcallTools

/// Which words are right for a true cause.
struct TruthWords {
    /// They name the cause.
    var right: Set<String>
    /// Nothing that was sent could tell the cause, and these claim no more than was seen: neither
    /// right nor wrong. Anything else is wrong.
    var unknowable: Set<String> = []

    /// What comes of `word`.
    func grade(_ word: String) -> TruthGrade {
        if right.contains(word) { return .right }
        return unknowable.contains(word) ? .unknowable : .wrong
    }
}

/// What a guess or a verdict was worth.
enum TruthGrade: Sendable { case right, unknowable, wrong }

extension FleetEpisode {
    /// What remains to be said if a phone falls silent without a sign: what its app did last.
    private static let signless: Set<String> = ["app_suspended", "app_terminated", "unexplained"]

    /// The suspicions that are right. Source: C1.
    ///
    /// `isBeforeMass` is true where an outage cannot be known yet: too few fell silent so far.
    func suspicions(isBeforeMass: Bool) -> TruthWords {
        let silent = isReported ? [] : Self.signless
        return switch cause {
        // Told before the app had to stop; Android often kills it without a word.
        case .permissionRevoked:
            // With no network either, the permission alone would have silenced it.
            TruthWords(right: ["permission_denied"], unknowable: silent)
        case .locationServicesOff:
            TruthWords(right: ["location_services_off"], unknowable: silent)
        // Where the network fades, the queue grows or the listener says so; a door that falls shut
        // says nothing.
        case .tunnel, .deadZone: TruthWords(right: ["no_network"], unknowable: silent)
        // A Wi-Fi that takes nothing looks like any other; a queue may be seen rising.
        case .captivePortal: TruthWords(right: ["no_network"], unknowable: silent)
        // A level that is not sent, or was still high, leaves low power, if that was told.
        case .batteryDied:
            TruthWords(
                right: ["battery_empty"],
                unknowable: isReported ? [] : Self.signless.union(["low_power"]))
        case .lowPower: TruthWords(right: ["low_power"], unknowable: silent)
        // Without the app's state nothing is known of it.
        case .suspended, .stationary, .throttled, .doze:
            TruthWords(right: ["app_suspended"], unknowable: silent)
        case .killedInForeground: TruthWords(right: ["app_terminated"], unknowable: silent)
        // Nobody can tell a killed app from a suspended one where it is not seen (the memo: "not
        // detectable on device"), so both are right. So for an app that crashed or was removed.
        case .killedInBackground, .crash, .reinstall:
            TruthWords(right: ["app_terminated", "app_suspended"], unknowable: silent)
        // An outage is one of the network, so that is right too if the phone could say it. The first
        // of them, and those of a cell that is too small, cannot be known for one.
        case .massOutage:
            TruthWords(
                right: ["mass_gap", "no_network"], unknowable: isBeforeMass ? Self.signless : [])
        case .neverStarted: TruthWords(right: ["never_heard"])
        // There is no word for what the office does not know yet.
        case .offDutyReportedLate: TruthWords(right: [], unknowable: Self.signless)
        // A told absence is no gap: whatever is suspected is wrong.
        case .offDutyReported, .pausedReported: TruthWords(right: [])
        }
    }

    /// The verdicts that are right for a gap; `isByDuty` if it ended by going off duty. Source:
    /// C2.
    func verdicts(isByDuty: Bool) -> TruthWords {
        // Who goes off duty in silence never returns from it.
        if isByDuty { return TruthWords(right: ["duty_ended"]) }
        // The queue went with the old install.
        if twist == .reinstalled { return TruthWords(right: ["reinstalled"]) }
        return switch cause {
        case .permissionRevoked, .locationServicesOff:
            repairable(cause == .permissionRevoked ? "permission_denied" : "location_services_off")
        // Both are true of a permission that was revoked in a tunnel.
        case .tunnel where twist == .permissionLost:
            TruthWords(right: ["network", "permission_denied"])
        case .tunnel, .deadZone, .captivePortal, .massOutage: TruthWords(right: ["network"])
        // The phone collected, and the system kept it.
        case .throttled where twist == .inBursts, .doze where twist == .inBursts:
            TruthWords(right: ["network", "app_stopped"])
        // The system or the user stopped the app; there is no finer word for how.
        case .suspended, .stationary, .throttled, .doze, .killedInBackground, .killedInForeground,
            .crash, .batteryDied, .lowPower:
            TruthWords(right: ["app_stopped"])
        case .reinstall: TruthWords(right: ["reinstalled"])
        // An app that begins at its first sequence has stopped nothing; there is no word for it.
        case .neverStarted:
            TruthWords(right: [twist == .heardBefore ? "app_stopped" : "unexplained"])
        case .offDutyReportedLate, .offDutyReported, .pausedReported:
            TruthWords(right: ["duty_ended"])
        }
    }

    /// What was given back before the app spoke cannot be known on return: the app was stopped, and
    /// that is all that the phone shows. So for an app too old to tell.
    private func repairable(_ word: String) -> TruthWords {
        let isSeen = sendsTelemetry && twist != .repaired
        return TruthWords(right: [word], unknowable: isSeen ? [] : ["app_stopped"])
    }
}
