import Glibc

/// Runs what `options` ask for on both processors and says what came of it; the exit code.
func simulate(_ options: Options) async -> CInt {
    let began = ContinuousClock.now
    let workers: UInt64 = options.isSingle ? 1 : 2
    let campaign = await withTaskGroup(of: Campaign.self) { group in
        for worker in 0..<workers {
            group.addTask {
                var part = Campaign()
                let first = options.first + worker
                part.run(
                    stride(from: first, to: options.first + options.seeds, by: Int(workers)),
                    options)
                return part
            }
        }
        var whole = Campaign()
        for await part in group { whole.add(part) }
        return whole
    }
    report(campaign, options, ContinuousClock.now - began)
    let missing = Coverage.missing(campaign, options)
    if !missing.isEmpty { print("never met: \(missing.joined(separator: ", "))") }
    return campaign.failed.isEmpty && missing.isEmpty ? 0 : 1
}

private func report(_ campaign: Campaign, _ options: Options, _ duration: Duration) {
    for failed in campaign.failed.sorted(by: { $0.seed < $1.seed }) {
        print("seed \(failed.seed) FAILED \(failed.failure)")
        print("  shrunk to \(failed.lines) lines: \(failed.path)")
    }
    if options.isSingle {
        print("contains: \(campaign.marks.keys.sorted().joined(separator: ", "))")
    }
    let seconds =
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    let rate = Int(Double(campaign.stories) / seconds * 60)
    print(
        "\(campaign.stories) stories, \(campaign.lines) lines, \(campaign.decisions) decisions, "
            + "\(campaign.stores) through a store")
    print(
        "\(campaign.fleetMilliseconds / 3_600_000) responder-hours in \(Int(seconds)) s, "
            + "\(rate) stories a minute")
    if !options.isSingle {
        for (mark, count) in campaign.marks.sorted(by: { $0.key < $1.key }) {
            print("  \(mark): \(count)")
        }
    }
    print("\(campaign.stories - campaign.failed.count) held, \(campaign.failed.count) failed")
}
