import Glibc

/// What the command line asks for.
struct Options {
    static let usage = """
        rollcall-simulation: hours of fleet life in seconds, judged by an oracle and by invariants.

          --seeds N      how many stories (2000)
          --first N      the first seed (1)
          --seed N       this one only, and say what it contains
          --truth N      instead: N fleets whose silences have known causes; how often the engine's
                         suspicions and verdicts are right. --first tells where to begin
          --cluster N    instead: N stories of three members that are one watch on a log
          --cells N      instead: N stories told to one engine, and to 2, 5 and 16 cells
          --planted      with --cluster: plants every fault in turn until a story finds it
          --stores N     every N-th story also through the real journal, 0 for none (20)
          --quick        end at the first failure and do not shrink it
          --folder PATH  where failing stories go, and stores if there is no /dev/shm (TMPDIR or
                         /tmp)
          --help

        A failing story is shrunk and written as a file for `rollcall replay`. The exit code is 0 when
        every story held; with --truth, when enough suspicions and verdicts were right.

        """

    var seeds: UInt64 = 2000
    var first: UInt64 = 1
    var isSingle = false
    var storesEvery: UInt64 = 20
    var folder: String
    var isQuick = false
    var asksForHelp = false
    /// True for stories of a cluster, and to plant faults into them.
    var isCluster = false
    var plants = false
    /// True to compare one engine with cells.
    var isInCells = false
    /// How many fleets with known truth; nil for stories.
    var truths: UInt64?

    /// Where stores go: memory if there is some, since nothing here depends on a disk.
    var storeFolder: String { access("/dev/shm", W_OK) == 0 ? "/dev/shm" : folder }

    /// Reads `arguments`, without the command's name; nil if they make no sense.
    init?(_ arguments: [String], folder: String) {
        self.folder = folder
        var rest = arguments[...]
        while let name = rest.popFirst() {
            switch name {
            case "--help": asksForHelp = true
            case "--quick": isQuick = true
            case "--planted": plants = true
            default: break
            }
            if ["--help", "--quick", "--planted"].contains(name) { continue }
            guard let value = rest.popFirst() else { return nil }
            if name == "--folder" {
                self.folder = value
                continue
            }
            guard let number = UInt64(value) else { return nil }
            switch name {
            case "--seeds": seeds = number
            case "--first": first = number
            case "--seed": (first, seeds, isSingle) = (number, 1, true)
            case "--truth": truths = number
            case "--cluster": (isCluster, seeds) = (true, number)
            case "--cells": (isInCells, seeds) = (true, number)
            case "--stores": storesEvery = number
            default: return nil
            }
        }
    }
}
