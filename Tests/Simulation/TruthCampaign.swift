import RollcallCore

/// Fleets from which the engine learns what follows a suspicion, before those that are asked about.
private let fleetsLearned: UInt64 = 6
/// How far their seeds are from the first that is asked about: none is among those.
private let seedsApart: UInt64 = 1_000_000

/// Lets the engine explain the silences of fleets whose truth is known, on both processors, and says
/// how well it did; the exit code.
func seekTruth(_ options: Options, _ seeds: UInt64) async -> CInt {
    var teachers = TruthAggregates()
    let past = teachers.learn((0..<fleetsLearned).map { options.first &+ seedsApart &+ $0 })
    let aggregates = await withTaskGroup(of: TruthAggregates.self) { group in
        for worker in 0..<2 as Range<UInt64> {
            group.addTask {
                var part = TruthAggregates()
                let last = options.first + seeds
                for seed in stride(from: options.first + worker, to: last, by: 2) {
                    part.run(seed, past)
                }
                return part
            }
        }
        var whole = teachers
        for await part in group { whole.add(part) }
        return whole
    }
    let report = TruthReport(aggregates: aggregates, fleetsLearned: Int(fleetsLearned))
    print(report.text(), terminator: "")
    return report.isGood ? 0 : 1
}

extension TruthAggregates {
    /// Returns what became of the gaps of the fleets of `seeds`, of which nothing is counted.
    fileprivate mutating func learn(_ seeds: [UInt64]) -> PastGaps {
        var past = PastGaps()
        for seed in seeds {
            var fleet = TruthFleet(seed: seed)
            do throws(ReplayError) {
                past = try fleet.decide(Policy(), past: past).past
            } catch {
                fail("seed \(seed): line \(error.line): \(error.message)")
            }
        }
        return past
    }

    /// Draws the fleet of `seed`, lets the engine evaluate it and counts what came of it; and once
    /// more by what it learned of the gaps `past`.
    fileprivate mutating func run(_ seed: UInt64, _ past: PastGaps) {
        var fleet = TruthFleet(seed: seed)
        do throws(ReplayError) {
            let gaps = try read(fleet.decide(Policy(), past: PastGaps()).lines, seed)
            take(fleet, gaps, past)
            var policy = Policy()
            policy.learnsGaps = true
            var other = TruthAggregates()
            other.take(fleet, try read(fleet.decide(policy, past: past).lines, seed), past)
            learned.add(other.suspicions.all)
            learnedAtOffline.add(other.atOffline)
        } catch {
            fail("seed \(seed): line \(error.line): \(error.message)")
        }
    }

    private mutating func read(_ lines: [Substring], _ seed: UInt64) -> [TruthGap] {
        var fault: String?
        let gaps = TruthGap.read(lines, fault: &fault)
        if let fault { fail("seed \(seed): out of place: \(fault)") }
        return gaps
    }
}
