/// A piece of advice to whoever holds a phone: what they should put right on it. The raw values are in
/// the order of importance, which is that of causes (C1). Source: R4.
package enum Advice: UInt8, CaseIterable, Sendable {
    /// The app may not see the location.
    case permissionDenied = 0
    /// No app on the phone may.
    case locationServicesOff = 1
    /// The phone has no network, or its updates do not get through.
    case noNetwork = 2
    /// The phone will be off soon.
    case batteryEmpty = 3
    /// The phone saves power, and the app's reports first.
    case lowPower = 4
    /// The system had stopped the app for a while.
    case appSuspended = 5
    /// The app was gone, and something of it woke up to report.
    case appTerminated = 6

    /// The cause that a gap would be put down to if the phone fell silent now.
    package var cause: GapCause {
        switch self {
        case .permissionDenied: .permissionDenied
        case .locationServicesOff: .locationServicesOff
        case .noNetwork: .noNetwork
        case .batteryEmpty: .batteryEmpty
        case .lowPower: .lowPower
        case .appSuspended: .appSuspended
        case .appTerminated: .appTerminated
        }
    }

    /// The key in JSON, which is the cause's word.
    package var word: StaticString { cause.word }

    /// The sentence for the person, as a phone may show it. It needs no escapes in JSON.
    package var text: StaticString {
        switch self {
        case .permissionDenied: "Allow the app to see where you are, always."
        case .locationServicesOff: "Switch on location services."
        case .noNetwork: "Go where you have a network."
        case .batteryEmpty: "Charge your phone."
        case .lowPower: "Switch off low power mode if you can."
        case .appSuspended: "Open the app: the phone put it to sleep."
        case .appTerminated: "Open the app, and do not close it."
        }
    }
}

/// The advice for one phone, on what it said of itself with its newest batch. Source: R4.
package struct PhoneAdvice: Equatable, Sendable {
    private var bits: UInt8 = 0

    /// Nothing is wrong.
    package init() {}

    /// Takes what a phone said of itself. Its `battery` is told in ten-thousandths, below 0 if it did
    /// not say, and `depths` are those of its queue in the last batches that told one (F25).
    package init(_ telemetry: Telemetry, battery: Int16, depths: [UInt32]) {
        if telemetry.isPermissionDenied { insert(.permissionDenied) }
        if telemetry.areServicesOff { insert(.locationServicesOff) }
        let hasDepth = telemetry.queueDepth != Telemetry.queueDepthUnknown
        if telemetry.hasNoNetwork || hasDepth && QueueDepths.areRising(depths) {
            insert(.noNetwork)
        }
        if battery >= 0, battery <= GapFacts.batteryEmpty { insert(.batteryEmpty) }
        if telemetry.isLowPower { insert(.lowPower) }
        // Behind others is where such an app belongs; that it was stopped there is another matter.
        if telemetry.isSuspended { insert(.appSuspended) }
        if telemetry.isTerminated { insert(.appTerminated) }
    }

    /// True if nothing is wrong.
    package var isEmpty: Bool { bits == 0 }

    /// True if it holds a piece.
    package func contains(_ advice: Advice) -> Bool { bits >> advice.rawValue & 1 == 1 }

    private mutating func insert(_ advice: Advice) { bits |= 1 << advice.rawValue }
}
