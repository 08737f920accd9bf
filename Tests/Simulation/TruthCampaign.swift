import RollcallCore

/// Lets the engine explain the silences of fleets whose truth is known, on both processors, and says
/// how well it did; the exit code.
func seekTruth(_ options: Options, _ seeds: UInt64) async -> CInt {
    let aggregates = await withTaskGroup(of: TruthAggregates.self) { group in
        for worker in 0..<2 as Range<UInt64> {
            group.addTask {
                var part = TruthAggregates()
                let last = options.first + seeds
                for seed in stride(from: options.first + worker, to: last, by: 2) {
                    part.run(seed)
                }
                return part
            }
        }
        var whole = TruthAggregates()
        for await part in group { whole.add(part) }
        return whole
    }
    let report = TruthReport(aggregates: aggregates)
    print(report.text(), terminator: "")
    return report.isGood ? 0 : 1
}

extension TruthAggregates {
    /// Draws the fleet of `seed`, lets the engine evaluate it and counts what came of it.
    fileprivate mutating func run(_ seed: UInt64) {
        var fleet = TruthFleet(seed: seed)
        do throws(ReplayError) {
            var fault: String?
            let gaps = TruthGap.read(try fleet.decide(), fault: &fault)
            if let fault { fail("seed \(seed): out of place: \(fault)") }
            take(fleet, gaps)
        } catch {
            fail("seed \(seed): line \(error.line): \(error.message)")
        }
    }
}
