/// Plays stories of a cluster, and with `--planted` every planted fault until a story finds it; the exit
/// code.
func simulateCluster(_ options: Options) -> CInt {
    if options.plants { return findPlanted(options) }
    var marks: [String: Int] = [:]
    var failed = 0
    for seed in options.first..<(options.first + options.seeds) {
        let (failure, met) = ClusterStory.run(seed: seed)
        marks.merge(met, uniquingKeysWith: +)
        guard let failure else { continue }
        failed += 1
        print("seed \(seed) FAILED \(failure)")
        if options.isQuick { break }
    }
    for (mark, count) in marks.sorted(by: { $0.key < $1.key }) { print("  \(mark): \(count)") }
    print("\(options.seeds) stories of a cluster, \(failed) failed")
    return failed == 0 ? 0 : 1
}

/// Every planted fault must be found by a story.
private func findPlanted(_ options: Options) -> CInt {
    var survived = 0
    for fault in ClusterFault.allCases {
        var found: String?
        for seed in options.first..<(options.first + options.seeds) {
            guard let failure = ClusterStory.run(seed: seed, fault: fault).failure else { continue }
            found = "seed \(seed): \(failure)"
            break
        }
        if found == nil { survived += 1 }
        print("\(fault): \(found ?? "SURVIVED")")
    }
    print("\(ClusterFault.allCases.count) planted faults, \(survived) survived")
    return survived == 0 ? 0 : 1
}
