/// What the command line asks for.
struct BenchmarkOptions {
    /// One run of a fraction of a second each: proves that everything runs, measures nothing.
    var isShort = false
    /// Prints one JSON document instead of the table.
    var isJSON = false
    /// Runs of each workload against each server; figures are their medians.
    var runs = 3
    /// Length of one run, without its warm-up.
    var measured = Nanoseconds.milliseconds(2000)
    /// The beginning of each run, which is not counted.
    var warmUp = Nanoseconds.milliseconds(300)
    /// Only workloads whose name contains this.
    var only = ""
    /// Leaves the references out: for profiling.
    var isProductOnly = false
    /// Measures the same fleets in Rollcall and in its peers, instead of the loads.
    var isPeers = false
    /// Sizes of the fleets that are compared with the peers.
    var peopleOfPeers = [10_000, 100_000]
    /// Sizes of the fleets to measure instead of the loads.
    var fleets: [Int] = []
    /// Measures what things cost as one of them grows, instead of the loads.
    var isCurves = false
    /// Measures a load beside what the store has to do meanwhile, instead of the loads.
    var isChores = false
    /// Measures what telling of alerts by the thousand costs, instead of the loads.
    var isStorm = false
    /// Measures what those who read events cost, instead of the loads.
    var isEvents = false
    /// Measures three members beside a single node, instead of the loads.
    var isCluster = false
    /// Measures what a batch costs at a gateway as cells become more, instead of the loads.
    var isCells = false
    /// People of the fleet in eight cells to measure instead of the loads.
    var cellFleet: Int?
    /// Measures what reading the bodies of inputs costs, instead of the loads.
    var isInputs = false
    /// What history takes on the disk is measured instead.
    var isHistory = false
    /// Members of the etcd that they share.
    var etcds = 1
    /// Measures `rollcall tune` instead of the loads.
    var isTune = false
    /// Where the stores are made: the disk that is measured.
    var storage = "/tmp"

    /// What `--help` prints.
    static let help = """
        rollcall-bench: measures Rollcall beside the bare parts it is made of (Contract/Promises).

        It starts the `rollcall` that lies beside it, loads it over loopback, does the same to a \
        bare libmicrohttpd handler, to one that also suspends and resumes, and to SQLite, in turns, \
        and prints medians and ratios. Then the same while others scrape and ask (mixed), on a disk \
        that is slower (disk), and offered twice what it can do (overload). The exit code is 0 when \
        everything ran and every answer was right, however slow.

          --short             one run of 0.2 s each; only proves that everything runs
          --json              one JSON document instead of the table
          --runs N            runs of each kind, 1 to 99 (3)
          --seconds N         length of one run, 1 to 60 (2)
          --only TEXT         only what has TEXT in its name, such as single-64, bulk, disk, idle
          --peers             instead of the loads: fleets of 10 000 and 100 000 people who report
                              once a minute, in Rollcall, in a table of PostgreSQL, in Pushgateway
                              and Prometheus, of those that are installed; --people N for one of
                              N, --only loads without Prometheus
          --product-only      without the references, for profiling
          --fleet N           instead of the loads: a fleet of N people, 1000 to 5000000
          --fleets            fleets of 10000, 100000 and 1000000 people, one after the other,
                              and of 5000000 where there are 10 GB of memory
          --curves            instead of the loads: what a batch, a scrape, a turn and a person cost
                              as people, regions, connections, gaps and the journal grow; 4 GB of
                              disk
          --chores            instead of the loads: batches/s and latency while a checkpoint is
                              written and while old days are cut, beside without
          --tune              instead of the loads: a day of 10 000 people and the usual sweep of
                              settings, beside reading it only and one setting; 3 GB of disk
          --storm             instead of the loads: CPU a page and a start while thousands of alerts
                              fire, pages after an outage of 8 s, a checkpoint under overload
          --events            instead of the loads: batches beside a reader who is 100 000 events
                              behind, 1000 open streams, an event that all of them get
          --cluster           instead of the loads: three members on a real etcd, beside a single
                              node: loads, take-over, hand-over, catch-up; --etcds 3 for three of it
          --cells             instead of the loads: CPU a batch at a gateway and in 1, 2, 4 and 8
                              cells, on the same work, beside one watch
          --cell-fleet N      instead of the loads: a fleet of N people, 100000 to 20000000, in eight cells
                              behind a gateway; ten million take 8 GB of memory and 10 GB of disk
          --inputs            instead of the loads: what reading the bodies of phones' apps costs,
                              beside native ones of the same size, as a ratio
          --history           instead of the loads: bytes of a batch on the disk before it is packed and
                              after, and what packing, an export and a person's walk cost
          --storage FOLDER    where the stores are made: the disk that is measured (TMPDIR or /tmp)
          --help
        """

    /// Reads the arguments after the program's name. Errors: `BenchmarkError.usage`.
    init(_ arguments: [String]) throws(BenchmarkError) {
        if let folder = environmentVariable("TMPDIR"), !folder.isEmpty { storage = folder }
        var isFleets = false
        var rest = arguments[...]
        while let name = rest.popFirst() {
            switch name {
            case "--short":
                isShort = true
                runs = 1
                measured = .milliseconds(200)
                peopleOfPeers = [10_000]
                warmUp = .milliseconds(100)
            case "--json": isJSON = true
            case "--product-only": isProductOnly = true
            case "--peers": isPeers = true
            case "--people":
                peopleOfPeers = [try Self.number(of: name, in: 10_000...100_000, &rest)]
            case "--only": only = try Self.value(of: name, &rest)
            case "--storage": storage = try Self.value(of: name, &rest)
            case "--runs": runs = try Self.number(of: name, in: 1...99, &rest)
            case "--fleet": fleets = [try Self.number(of: name, in: 1000...5_000_000, &rest)]
            case "--tune": isTune = true
            case "--fleets": isFleets = true
            case "--curves": isCurves = true
            case "--chores": isChores = true
            case "--storm": isStorm = true
            case "--events": isEvents = true
            case "--cluster": isCluster = true
            case "--cells": isCells = true
            case "--cell-fleet":
                cellFleet = try Self.number(of: name, in: 100_000...20_000_000, &rest)
            case "--inputs": isInputs = true
            case "--history": isHistory = true
            case "--etcds": etcds = try Self.number(of: name, in: 1...3, &rest)
            case "--seconds":
                let seconds = try Self.number(of: name, in: 1...60, &rest)
                measured = .milliseconds(Int64(seconds) * 1000)
            default: throw .usage("\(name): not an option; see --help")
            }
        }
        if isFleets { fleets = FleetBenchmark.sizes(isShort: isShort) }
    }

    /// Whether something of this name is to be measured.
    func isWanted(_ name: String) -> Bool { only.isEmpty || name.contains(only) }

    /// The name of the stores of what is compared with the peers.
    static let peers = "peers"

    private static func value(
        of name: String, _ rest: inout ArraySlice<String>
    ) throws(BenchmarkError) -> String {
        guard let value = rest.popFirst() else { throw .usage("\(name): its value is missing") }
        return value
    }

    private static func number(
        of name: String, in range: ClosedRange<Int>, _ rest: inout ArraySlice<String>
    ) throws(BenchmarkError) -> Int {
        let text = try value(of: name, &rest)
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "\(name) \(text): must be from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// Why the benchmark could not run. A slow figure is no reason.
enum BenchmarkError: Error, CustomStringConvertible {
    /// The command line.
    case usage(String)
    /// A system call failed.
    case system(call: String, errno: Int32)
    /// A server did not start, died or did not stop.
    case server(String)
    /// An answer was not what it has to be.
    case answer(String)
    /// SQLite refused a call of the reference.
    case sqlite(String)

    var description: String {
        switch self {
        case .usage(let text), .server(let text), .answer(let text): text
        case .system(let call, let errno): "\(call): \(errorText(errno))"
        case .sqlite(let text): "SQLite reference: \(text)"
        }
    }
}
