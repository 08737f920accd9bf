import Glibc

/// A library that is preloaded into a process and makes its disk slower.
struct SlowDisk {
    /// Milliseconds that a commit takes more, as disks do that are not a virtual machine's cache.
    static let delays = [2, 8]

    /// Where its source lies in the repository; the acceptance tests make disks fail with it.
    private static let source = "Tests/Acceptance/failing_disk.c"

    /// The library.
    let path: String

    /// Compiles it into `folder`. Errors: it does not compile.
    static func make(in folder: String, near program: Program) throws(BenchmarkError) -> Made {
        guard let compiler = Program(named: "clang") ?? Program(named: "cc") else {
            return .missing("no clang and no cc in PATH: apt-get install clang")
        }
        guard let source = find(from: program.folder) ?? find(from: currentFolder) else {
            return .missing("no \(source) above this program or the current folder")
        }
        let path = "\(folder)/slow_disk.so"
        _ = try compiler.run(
            ["-shared", "-fPIC", "-O2", "-o", path, source, "-ldl"],
            errorsPath: "\(folder)/compiler-errors")
        return .made(SlowDisk(path: path))
    }

    /// What came of making it.
    enum Made {
        /// It can be preloaded.
        case made(SlowDisk)
        /// It cannot be made here, and why.
        case missing(String)
    }

    /// What a process needs in its environment so that its commits take so much longer.
    func environment(milliseconds: Int) -> [String] {
        ["LD_PRELOAD=\(path)", "DISK_SLOW_MS=\(milliseconds)"]
    }

    private static func find(from folder: String) -> String? {
        var folder = folder[...]
        while true {
            let path = "\(folder)/\(source)"
            if access(path, R_OK) == 0 { return path }
            guard let slash = folder.lastIndex(of: "/") else { return nil }
            folder = folder[..<slash]
        }
    }

    private static var currentFolder: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        guard getcwd(&path, path.count) != nil else { return "" }
        return String(
            decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// `RowInsertion` in a process of its own, the benchmark started again with `argument`, so that it
/// can have a disk of its own too.
struct RowProcess {
    /// The hidden argument that makes the benchmark one of these.
    static let argument = "--reference-rows"

    /// What is inserted.
    let rows: RowInsertion
    /// The benchmark.
    let program: Program
    /// What its disk is made slow by.
    let environment: [String]

    /// Starts it and waits for its figures.
    func run(
        in folder: String, warmUp: Nanoseconds, measured: Nanoseconds
    ) throws(BenchmarkError) -> LoadStats {
        let text = try program.run(
            [
                Self.argument, "\(rows.rowsPerTransaction)", folder, "\(warmUp.count)",
                "\(measured.count)",
            ],
            environment: environment, errorsPath: "\(folder)/rows-errors")
        let fields = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard fields.count == 4 else { throw .sqlite("no figures: \(text)") }
        return LoadStats(
            batchesPerSecond: fields[0],
            serverTimePerBatch: Nanoseconds(count: Int64(fields[1])), generatorShare: 0,
            latency50: Nanoseconds(count: Int64(fields[2])),
            latency99: Nanoseconds(count: Int64(fields[3])))
    }

    /// The other end: inserts as the arguments say, and prints the figures.
    static func serve(_ arguments: [String]) throws(BenchmarkError) {
        let numbers = arguments.compactMap { Int64($0) }
        guard arguments.count == 5, numbers.count == 3 else {
            throw .usage("\(argument): rows, a folder, and two spans")
        }
        let stats = try RowInsertion(rowsPerTransaction: Int(numbers[0])).run(
            in: arguments[2], warmUp: Nanoseconds(count: numbers[1]),
            measured: Nanoseconds(count: numbers[2]))
        print(
            stats.batchesPerSecond, stats.serverTimePerBatch.count, stats.latency50.count,
            stats.latency99.count)
    }
}

extension Benchmark {
    /// All loads at all slow disks that are wanted.
    func measureSlowDisks(_ report: inout BenchmarkReport) throws(BenchmarkError) {
        guard SlowDisk.delays.contains(where: { !slowLoads(milliseconds: $0).isEmpty }) else {
            return
        }
        switch try SlowDisk.make(in: folder, near: ourselves) {
        case .missing(let reason): report.omissions.append("slow disks: \(reason)")
        case .made(let disk):
            for delay in SlowDisk.delays {
                for workload in slowLoads(milliseconds: delay) {
                    report.results.append(try measure(workload, on: disk, milliseconds: delay))
                }
            }
        }
    }

    /// The loads at a disk that takes so many milliseconds longer.
    private func slowLoads(milliseconds: Int) -> [Workload] {
        let name = "disk-\(milliseconds)ms"
        return [
            .single(64, name: "\(name)-64"), .single(256, name: "\(name)-256"),
            .bulk(1000, name: "\(name)-bulk"),
        ].filter { options.isWanted($0.name) }
    }

    /// The product and bare SQLite, both with the same slow disk.
    ///
    /// In a closed loop over N connections half of them wait for the next commit, so the reference,
    /// which commits N / 2 rows at once, is N / (2 × commit): all that the disk allows.
    private func measure(
        _ workload: Workload, on disk: SlowDisk, milliseconds: Int
    ) throws(BenchmarkError) -> WorkloadResult {
        let environment = disk.environment(milliseconds: milliseconds)
        let server = try startProduct(store: workload.name, environment: environment)
        defer { removeStore(workload.name) }
        var source = BatchSource()
        try enrol(&source, at: server)
        var contestants = [
            Contestant("rollcall") { () throws(BenchmarkError) in
                try load(workload, &source, server)
            }
        ]
        if !options.isProductOnly {
            let rows = RowProcess(
                rows: RowInsertion(rowsPerTransaction: workload.batchesPerCommit),
                program: ourselves, environment: environment)
            contestants.append(
                Contestant(rows.rows.title) { () throws(BenchmarkError) in
                    try rows.run(in: folder, warmUp: options.warmUp, measured: options.measured)
                })
        }
        var result = try inTurns(workload, contestants)
        result.product.residentBytes = server.residentBytes
        try server.stop()
        return result
    }
}
