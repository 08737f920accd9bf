import RollcallCore

/// The settings that a simulated fleet is drawn from: the same ones give the same bytes.
package struct FleetSettings: Sendable, Equatable {
    /// People of a fleet at most.
    package static let respondersMax = 1_000_000
    /// Regions at most: more would be folded in metrics.
    package static let regionsMax = 250
    /// Days of a history at most.
    package static let daysMax: Int64 = 366
    /// The beginning of a file's history if nothing else is said, so that it is the same bytes
    /// tomorrow: 2026-11-21T00:00:00Z.
    package static let startStandard = Timestamp(milliseconds: 1_795_219_200_000)

    /// The number of people.
    package var responders: Int
    /// In so many regions.
    package var regions: Int
    /// The seed that decides everything that is drawn.
    package var seed: UInt64
    /// The instant at which it begins, as the first day's midnight.
    package var start: Timestamp
    /// The time that it lasts.
    package var span: Milliseconds
    /// In how many days shifts begin.
    package var days: Int64
    /// The factor by which silences are rare: 1 is a fleet for graders, where a quarter is silent
    /// at any time; 4 one that somebody would go on paying for.
    package var idle: Int64 = 4

    /// A fleet of so many people for so long.
    package init(
        responders: Int = 1000, regions: Int = 4, seed: UInt64 = 1,
        start: Timestamp = FleetSettings.startStandard, span: Milliseconds
    ) {
        self.responders = responders
        self.regions = regions
        self.seed = seed
        self.start = start
        self.span = span
        if span.count < FleetPlan.day { idle = 1 }
        days = max(1, (span.count + FleetPlan.day - 1) / FleetPlan.day)
    }

    /// Everybody comes on duty at the beginning: what is shorter than a day would else be over
    /// before most shifts begin.
    package var beginsAtOnce: Bool { span.count < FleetPlan.day }

    /// The first instant that is not told any more.
    package var end: Timestamp { start + span }
}
