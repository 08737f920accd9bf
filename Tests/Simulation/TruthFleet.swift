import RollcallCore
import RollcallTools

/// A seeded day of a fleet: its truth, and what Rollcall hears of it. The fleet is the one of
/// `rollcall simulate`.
struct TruthFleet: Sendable {
    private static let size = 160

    let seed: UInt64
    let people: [FleetPerson]
    /// What was drawn for each of them.
    let episodes: [[FleetEpisode]]
    /// The outages of the day, each with the gaps that must have opened before it can be known
    /// (C1).
    let outages: [(outage: FleetOutage, enough: Int)]
    /// How many lines Rollcall hears.
    private(set) var lineCount = 0

    /// Draws the truth of `seed`.
    init(seed: UInt64) {
        self.seed = seed
        let plan = FleetPlan(Self.settings(seed))
        people = (0..<Self.size).map { plan.person($0) }
        let days = people.map { plan.day(0, of: $0) }
        episodes = days.map(\.episodes)
        outages = plan.outages.map { [people] outage in
            let active = days.indices.count { number in
                people[number].region == outage.region
                    && days[number].shifts.contains { $0.contains(outage.begin) }
            }
            return (outage, max(5, (active * 3 + 9) / 10))
        }
    }

    /// One day of shifts, and the time that the last of them take to end.
    private static func settings(_ seed: UInt64) -> FleetSettings {
        var settings = FleetSettings(
            responders: size, seed: seed, span: Milliseconds(27 * 3_600_000))
        settings.days = 1
        settings.idle = 1
        return settings
    }

    /// Lets the phones live the day and folds it by the engine, as `rollcall replay` would, under
    /// `policy` and after what became of the gaps `past`; what it printed, and what became of all of
    /// them. Errors: the line that it cannot read.
    mutating func decide(
        _ policy: Policy, past: PastGaps
    ) throws(ReplayError) -> (lines: [Substring], past: PastGaps) {
        lineCount = 0
        var stream = FleetStream(Self.settings(seed))
        var writer = FleetWriter(stream)
        var replay = Replay(policy: policy, past: past)
        var output: [UInt8] = []
        var text: [UInt8] = []
        while let line = stream.line() {
            text.removeAll(keepingCapacity: true)
            writer.append(line, to: &text)
            try replay.fold(text, to: &output)
            lineCount += 1
        }
        replay.finish(to: &output)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        return (lines, replay.engine.pastGaps)
    }
}
