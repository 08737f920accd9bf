/// Compares one engine with cells in the stories of many seeds, and says what came of it; the exit code.
/// Source: K8.
func compareCells(_ options: Options) async -> CInt {
    let campaign = await withTaskGroup(of: CellCampaign.self) { group in
        for worker in 0..<UInt64(2) {
            group.addTask {
                var part = CellCampaign()
                let seeds = stride(
                    from: options.first + worker, to: options.first + options.seeds, by: 2)
                for seed in seeds { part.run(seed) }
                return part
            }
        }
        var whole = CellCampaign()
        for await part in group { whole.add(part) }
        return whole
    }
    for failure in campaign.failed.sorted().prefix(10) { print(failure) }
    for (kind, count) in campaign.differences.sorted(by: { $0.key < $1.key }) {
        print("  \(kind): \(count)")
    }
    print(
        "\(campaign.runs) fleets of \(CellCampaign.counts.map(String.init).joined(separator: ", ")) "
            + "cells, \(campaign.decisions) decisions like those of one engine, "
            + "\(campaign.failed.count) failed")
    return campaign.failed.isEmpty ? 0 : 1
}

/// What many stories told to cells had to say, summed up.
private struct CellCampaign: Sendable {
    /// So many cells have a story's people in turn.
    static let counts = [2, 5, 16]

    private(set) var runs = 0
    private(set) var decisions = 0
    private(set) var differences: [String: Int] = [:]
    private(set) var failed: [String] = []

    mutating func run(_ seed: UInt64) {
        let (story, _) = World(seed: seed).run()
        for count in Self.counts {
            runs += 1
            do throws(Failure) {
                let trial = try CellTrial.run(story, cells: count)
                decisions += trial.decisions
                differences.merge(trial.differences, uniquingKeysWith: +)
            } catch {
                failed.append("seed \(seed), \(count) cells: \(error)")
            }
        }
    }

    mutating func add(_ other: CellCampaign) {
        runs += other.runs
        decisions += other.decisions
        differences.merge(other.differences, uniquingKeysWith: +)
        failed += other.failed
    }
}
