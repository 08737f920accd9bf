/// The cause that is thought to have silenced a phone, on what it last said. The raw values are in
/// the order in which they are tried: the first that holds is the suspicion. Source: C1.
package enum GapCause: UInt8, CaseIterable, Sendable {
    /// The person, or a policy of the phone, took the location permission away.
    case permissionDenied = 0
    /// Location services are off for the whole phone.
    case locationServicesOff = 1
    /// No network, or a queue that grew over the last three batches that told one (F25).
    case noNetwork = 2
    /// The battery was at 5 % or below.
    case batteryEmpty = 3
    /// The phone saves power.
    case lowPower = 4
    /// Many of the region fell out of contact together, or the feed is suspected (B3).
    case massGap = 5
    /// The app was in the background: the system suspends such.
    case appSuspended = 6
    /// The app was in the foreground: only an end of it explains silence.
    case appTerminated = 7
    /// Nothing came since the person became active (L5).
    case neverHeard = 8
    /// Nothing that the phone said explains it.
    case unexplained = 9

    /// The word in JSON and labels.
    package var word: StaticString {
        switch self {
        case .permissionDenied: "permission_denied"
        case .locationServicesOff: "location_services_off"
        case .noNetwork: "no_network"
        case .batteryEmpty: "battery_empty"
        case .lowPower: "low_power"
        case .massGap: "mass_gap"
        case .appSuspended: "app_suspended"
        case .appTerminated: "app_terminated"
        case .neverHeard: "never_heard"
        case .unexplained: "unexplained"
        }
    }
}

/// The verdict on what a gap turned out to be. The raw values are in the order in which they are
/// tried; each says what it proves and what it does not. Source: C2, F24, F26.
package enum GapVerdict: UInt8, CaseIterable, Sendable {
    /// A new install began between the gap's opening and the verdict. Proves that the app's data
    /// were gone; not when, nor that the install before had stopped by itself.
    case reinstalled = 0
    /// The returning phone said so. Proves that it is denied now; that it was for the whole gap is
    /// likely, not proved.
    case permissionDenied = 1
    /// As before, for the phone's location services.
    case locationServicesOff = 2
    /// Fresh locations were captured after the last contact and before the return: the app ran and
    /// could not deliver. Proves that by the phone's own clock: one that is slow by more than an
    /// expected interval looks the same. It does not say whose network failed, nor that the app ran
    /// all the time.
    case network = 3
    /// It is the same install, which went on with its sequence and captured nothing in between: the
    /// system or the user stopped the app, or the phone was off. Which of them, it cannot say; a
    /// backlog that is delivered later than two minutes after the return makes it wrong.
    case appStopped = 4
    /// The person was no longer expected before they returned. Says nothing about the phone.
    case dutyEnded = 5
    /// Contact without a single new update, or one without a clock to evaluate by.
    case unexplained = 6

    /// The word in JSON and labels.
    package var word: StaticString {
        switch self {
        case .reinstalled: "reinstalled"
        case .permissionDenied: "permission_denied"
        case .locationServicesOff: "location_services_off"
        case .network: "network"
        case .appStopped: "app_stopped"
        case .dutyEnded: "duty_ended"
        case .unexplained: "unexplained"
        }
    }
}

/// The news that is told of a gap.
///
///     open ──OFFLINE──► evaluated ──contact──► closed ──two minutes──► verdict
///       │                  └──not expected──► closed, verdict at once
///       └──contact before OFFLINE──► closed: mere lateness
///
/// Source: C1, C2, F5, F24, F25.
package enum GapState: UInt8, CaseIterable, Sendable {
    /// The responder fell out of contact.
    case open = 0
    /// The suspicion was looked at again: at OFFLINE, or because others fell silent too.
    case evaluated = 1
    /// The responder is back, or no longer expected.
    case closed = 2
    /// The verdict on the gap is there.
    case verdict = 3

    /// The word in JSON.
    package var word: StaticString {
        switch self {
        case .open: "open"
        case .evaluated: "judged"
        case .closed: "closed"
        case .verdict: "verdict"
        }
    }
}
