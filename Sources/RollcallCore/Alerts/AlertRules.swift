/// The rules for when each alert fires. Source: Contract/Alerts, V8.
package struct AlertRules: Equatable, Sendable {
    /// The settings that every alert has.
    package struct Rule: Equatable, Sendable {
        package var isEnabled = true
        /// The time that it must be true before it fires.
        package var pendingFor: Milliseconds
        /// The time that it must be false before it ends.
        package var keepFiringFor: Milliseconds
        package var severity: Severity
        /// Labels beside those of the identity; they are fixed when an alert fires.
        package var labels: [Label] = []
        package var annotations: [Label] = []

        /// Durations in seconds.
        package init(pendingFor: Int64, keepFiringFor: Int64, severity: Severity) {
            self.pendingFor = .seconds(pendingFor)
            self.keepFiringFor = .seconds(keepFiringFor)
            self.severity = severity
        }

        /// The rule of one that fires without pending.
        fileprivate var atOnce: Rule {
            var rule = self
            rule.pendingFor = Milliseconds(0)
            return rule
        }
    }

    package var highOfflineRate = Rule(pendingFor: 60, keepFiringFor: 0, severity: .warning)
    /// More than this share of the active, in ten-thousandths.
    package var offlineAbove: Int64 = 1000
    /// True to evaluate each region by itself.
    package var isOfflineByRegion = false
    /// Fewer active, or fewer OFFLINE, are no rate.
    package var offlineMinActive = 1
    package var offlineMin = 1

    package var responderFlapping = Rule(pendingFor: 0, keepFiringFor: 0, severity: .warning)
    /// Changes within the window from which on somebody flaps.
    package var flappingChanges = 4
    package var flappingWindow = Milliseconds.seconds(15 * 60)
    /// Changes below which they cease to.
    package var flappingClearBelow = 2

    package var noOnlineResponders = Rule(pendingFor: 60, keepFiringFor: 120, severity: .critical)
    package var telemetryFeedDown = Rule(pendingFor: 0, keepFiringFor: 0, severity: .critical)

    /// `pendingFor` is the time that a person must be OFFLINE before they are counted (R1).
    package var responderOffline: Rule = {
        var rule = Rule(pendingFor: 0, keepFiringFor: 0, severity: .info)
        rule.isEnabled = false
        return rule
    }()
    /// The duty states of those who are counted.
    package var offlineDuties: [DutyState] = [.onDuty, .onMission]
    /// The regions in which they are; empty for all.
    package var offlineRegions: [[UInt8]] {
        get { offlineRegionList }
        // An observer would not see what an initializer sets.
        set { (offlineRegionList, offlineRegionNames) = (newValue, Set(newValue)) }
    }
    private var offlineRegionList: [[UInt8]] = []
    /// The set of these regions, to be looked up.
    private(set) var offlineRegionNames: Set<[UInt8]> = []

    /// People named in an alert's text at most.
    package var namesMax = 10
    /// More alerts of one name that wait for one of people's receivers become one message; 0: never
    /// (D11).
    package var storm = 50

    /// The rules of what cannot be set.
    private static let overloaded = Rule(pendingFor: 0, keepFiringFor: 0, severity: .critical)
    private static let watchdog = Rule(pendingFor: 0, keepFiringFor: 0, severity: .none)
    private static let drill = Rule(pendingFor: 0, keepFiringFor: 0, severity: .info)

    package init() {}

    /// The rule of an alert.
    package subscript(name: AlertName) -> Rule {
        switch name {
        case .highOfflineRate: highOfflineRate
        case .noOnlineResponders: noOnlineResponders
        case .responderFlapping: responderFlapping
        // Its people have waited each by themselves (R1).
        case .responderOffline: responderOffline.atOnce
        case .telemetryFeedDown: telemetryFeedDown
        case .cellDark, .fleetDark, .rollcallOverloaded, .rollcallStateLost, .rollcallStoreFailing,
            .rollcallUnsteady:
            Self.overloaded
        case .rollcallDrill: Self.drill
        case .watchdog: Self.watchdog
        }
    }
}
