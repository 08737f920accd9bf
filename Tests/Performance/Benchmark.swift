import Glibc

/// Runs what the arguments ask for; returns the exit code.
func runBenchmark(arguments: [String]) -> Int32 {
    if arguments.contains("--help") {
        print(BenchmarkOptions.help)
        return 0
    }
    do throws(BenchmarkError) {
        if arguments.first == ReferenceServer.argument {
            guard arguments.count == 3, let server = ReferenceServer(rawValue: arguments[1]),
                let batches = Int(arguments[2])
            else { throw .usage("\(ReferenceServer.argument): its kind and the batches expected") }
            try server.run(batches: batches)
        }
        if arguments.first == RowProcess.argument {
            try RowProcess.serve(arguments)
            return 0
        }
        let options = try BenchmarkOptions(arguments)
        if options.isInputs {
            let results = try InputBenchmark(isShort: options.isShort).run()
            print(options.isJSON ? InputBenchmark.json(results) : InputBenchmark.table(results))
            return 0
        }
        Leftovers.removeOnSignals()
        let folder = try makeFolder(in: options.storage)
        defer { Leftovers.remove(folder: folder) }
        if options.isTune {
            let report = try TuneBenchmark(isShort: options.isShort, folder: folder).run()
            print(options.isJSON ? report.json.text : report.table)
            return 0
        }
        if options.isHistory {
            let results = try HistoryBenchmark(isShort: options.isShort, folder: folder).run()
            print(options.isJSON ? HistoryBenchmark.json(results) : HistoryBenchmark.table(results))
            return 0
        }
        let benchmark = try Benchmark(options: options, folder: folder)
        if options.isCurves {
            let report = try benchmark.runCurves()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isChores {
            let report = try benchmark.runChores()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isStorm {
            let report = try benchmark.runStorm()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isEvents {
            let report = try benchmark.runEvents()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isCluster {
            let report = try benchmark.runCluster()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isCells {
            let report = try benchmark.runCells()
            print(options.isJSON ? report.json.text : report.table)
        } else if let people = options.cellFleet {
            let report = try benchmark.runCellFleet(people)
            print(options.isJSON ? report.json.text : report.table)
        } else if options.isPeers {
            let report = try benchmark.runPeers()
            print(options.isJSON ? report.json.text : report.table)
        } else if options.fleets.isEmpty {
            let report = try benchmark.run()
            print(options.isJSON ? report.json.text : report.table)
        } else {
            let report = try benchmark.runFleets()
            print(options.isJSON ? report.json.text : report.table)
            // The smaller fleets' figures are told all the same.
            if let failure = report.failure { throw failure }
        }
        return 0
    } catch {
        tell("rollcall-bench: \(error)")
        if case .usage = error { return 64 }
        return 1
    }
}

/// Writes a line on standard error.
func tell(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = bytes.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}

/// Everything that is measured, in turns: product, reference, product, reference, …, so that what
/// else the machine does meets all of them alike.
struct Benchmark {
    /// What the command line asks for.
    let options: BenchmarkOptions
    /// Where everything is that is made here; gone at the end.
    let folder: String
    /// This program.
    let ourselves: Program
    private let product: String
    /// The store of the product with more threads at its connections than it has here otherwise.
    private static let manyThreads = "threads"

    /// Finds the `rollcall` that was built beside this program. Errors: there is none.
    init(options: BenchmarkOptions, folder: String) throws(BenchmarkError) {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = readlink("/proc/self/exe", &path, Int(PATH_MAX))
        guard length > 0 else { throw .system(call: "readlink /proc/self/exe", errno: errno) }
        ourselves = Program(
            path: String(
                decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self))
        product = ourselves.folder + "/rollcall"
        guard access(product, X_OK) == 0 else {
            throw .server("\(product) is not there: build the product rollcall beside this one")
        }
        self.options = options
        self.folder = folder
    }

    /// Measures.
    func run() throws(BenchmarkError) -> BenchmarkReport {
        let before = MachineTime()
        var report = BenchmarkReport(options: options, machine: Machine(storage: folder))
        for workload in Workload.all where options.isWanted(workload.name) {
            report.results.append(try measure(workload))
        }
        if options.isWanted(Self.mixed) {
            let (result, questions) = try measureMixed()
            report.results.append(result)
            report.parts.append(questions)
        }
        try measureSlowDisks(&report)
        try measureOverloads(&report)
        if options.isWanted("idle") { report.idleResidentBytes = try measureIdleMemory() }
        report.othersShare = MachineTime().shareOfOthers(since: before)
        return report
    }

    /// Measures fleets, from the smallest to the largest.
    func runFleets() throws(BenchmarkError) -> FleetReport {
        let before = MachineTime()
        var report = FleetReport(
            machine: Machine(storage: folder), isEvaluated: !options.isShort)
        for size in options.fleets {
            let path = try makeStore("fleet-\(size)")
            defer { removeStore("fleet-\(size)") }
            do throws(BenchmarkError) {
                report.results.append(
                    try FleetBenchmark(
                        size: size, folder: path, product: product,
                        pace: options.isShort ? .short : .full
                    ).run())
            } catch {
                report.failure = error
                break
            }
        }
        report.othersShare = MachineTime().shareOfOthers(since: before)
        return report
    }

    /// Measures what things cost as one of them grows.
    func runCurves() throws(BenchmarkError) -> CurveReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let path = try makeStore("curves")
        defer { removeStore("curves") }
        let bench = CurveBenchmark(
            scale: options.isShort ? .short : .full, only: options.only, folder: path,
            product: product)
        let curves = try bench.run()
        return CurveReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            curves: curves, isEvaluated: !options.isShort)
    }

    /// Measures a load beside what the store has to do.
    func runChores() throws(BenchmarkError) -> ChoreReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let path = try makeStore("chores")
        defer { removeStore("chores") }
        let people = options.isShort ? 5000 : 1_000_000
        let results = try ChoreBenchmark(
            people: people, measured: options.isShort ? options.measured : .milliseconds(5000),
            folder: path, product: product
        ).run()
        return ChoreReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            people: people, results: results)
    }

    /// Measures what telling of alerts by the thousand costs.
    func runStorm() throws(BenchmarkError) -> StormReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let bench = StormBenchmark(
            scale: options.isShort ? .short : .full, only: options.only,
            makeFolder: { (name) throws(BenchmarkError) in try makeStore(name) }, product: product)
        let (tellings, outages, overload) = try bench.run()
        return StormReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            tellings: tellings, outages: outages, overload: overload, isEvaluated: !options.isShort)
    }

    /// Measures what those who read events cost.
    func runEvents() throws(BenchmarkError) -> EventReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let bench = EventBenchmark(
            scale: options.isShort ? .short : .full, only: options.only,
            makeFolder: { (name) throws(BenchmarkError) in try makeStore(name) }, product: product)
        let (all, readings, standings, telling) = try bench.run()
        return EventReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before), all: all,
            readings: readings, standings: standings, telling: telling)
    }

    /// Measures three members beside a single node.
    func runCluster() throws(BenchmarkError) -> ClusterReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let figures = try ClusterBenchmark(self, etcds: options.etcds, product: product).run()
        return ClusterReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            etcds: options.etcds, figures: figures, isEvaluated: !options.isShort)
    }

    /// Measures what a batch costs at a gateway as cells become more.
    func runCells() throws(BenchmarkError) -> CellReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let results = try CellBenchmark(self, product: product).run()
        return CellReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            results: results, isEvaluated: !options.isShort)
    }

    /// Measures one fleet of many people in eight cells.
    func runCellFleet(_ people: Int) throws(BenchmarkError) -> CellFleetReport {
        let before = MachineTime()
        let machine = Machine(storage: folder)
        let path = try makeStore("cell-fleet")
        defer { removeStore("cell-fleet") }
        let figures = try CellFleetBenchmark(
            options.isShort ? .short : .full(people), product: product, folder: path
        ).run()
        return CellFleetReport(
            machine: machine, othersShare: MachineTime().shareOfOthers(since: before),
            figures: figures)
    }

    /// Measures the same fleets in Rollcall and in what a team would keep them in otherwise.
    func runPeers() throws(BenchmarkError) -> PeerReport {
        let before = MachineTime()
        var report = PeerReport(machine: Machine(storage: folder), options: options)
        for people in options.peopleOfPeers {
            let path = try makeStore(BenchmarkOptions.peers)
            defer { removeStore(BenchmarkOptions.peers) }
            var bench = PeerBenchmark(self, people: people)
            let figures = try bench.run(in: path)
            report.fleets.append((people, figures))
            report.omissions += bench.omissions.filter { !report.omissions.contains($0) }
        }
        report.othersShare = MachineTime().shareOfOthers(since: before)
        return report
    }

    private func measure(_ workload: Workload) throws(BenchmarkError) -> WorkloadResult {
        let server = try startProduct(store: workload.name)
        defer { removeStore(workload.name) }
        var source = BatchSource()
        try enrol(&source, at: server)
        var contestants = [
            Contestant("rollcall") { () throws(BenchmarkError) in
                try load(workload, &source, server)
            }
        ]
        var references: [ServerProcess] = []
        if workload.isOfManyThreads {
            let many = try startProduct(
                store: Self.manyThreads, environment: ["ROLLCALL_WEB_THREADS=4"])
            references.append(many)
            try enrol(&source, at: many)
            contestants.append(
                Contestant("rollcall, web.threads 4") { () throws(BenchmarkError) in
                    try load(workload, &source, many)
                })
        }
        defer { if workload.isOfManyThreads { removeStore(Self.manyThreads) } }
        if !options.isProductOnly {
            for kind in ReferenceServer.allCases {
                let reference = try startReference(kind, for: workload)
                references.append(reference)
                contestants.append(
                    Contestant(kind.title) { () throws(BenchmarkError) in
                        try load(workload, &source, reference)
                    })
            }
            let rows = RowInsertion(rowsPerTransaction: workload.batchesPerCommit)
            contestants.append(
                Contestant(rows.title) { () throws(BenchmarkError) in
                    try rows.run(in: folder, warmUp: options.warmUp, measured: options.measured)
                })
        }
        var result = try inTurns(workload, contestants)
        if workload.isOfManyThreads { result.manyThreads = result.references.removeFirst() }
        result.product.residentBytes = server.residentBytes
        for server in [server] + references { try server.stop() }
        return result
    }

    /// Who is measured in turns with others.
    struct Contestant {
        /// Its name in reports.
        let title: String
        /// One run.
        let run: () throws(BenchmarkError) -> LoadStats

        /// Somebody of this name, and what one run of theirs is.
        init(_ title: String, _ run: @escaping () throws(BenchmarkError) -> LoadStats) {
            self.title = title
            self.run = run
        }
    }

    /// Runs all of them in turns; the first is the product.
    func inTurns(
        _ workload: Workload, _ contestants: [Contestant]
    ) throws(BenchmarkError) -> WorkloadResult {
        var stats = contestants.map { Stats(title: $0.title) }
        for run in 1...options.runs {
            for index in contestants.indices {
                stats[index].runs.append(try contestants[index].run())
            }
            let rates = stats.compactMap { stats in
                stats.runs.last.map { "\(stats.title) \(grouped($0.batchesPerSecond))" }
            }
            tell(
                "\(workload.name), run \(run) of \(options.runs), \(workload.unit): "
                    + rates.joined(separator: ", "))
        }
        return WorkloadResult(
            workload: workload, product: stats[0], references: Array(stats.dropFirst()))
    }

    /// Has every responder heard once.
    func enrol(_ source: inout BatchSource, at server: ServerProcess) throws(BenchmarkError) {
        var generator = try LoadGenerator(.enrolment, to: server)
        let requests = BatchSource.responders / Workload.enrolment.batchesPerRequest
        try generator.run(&source, requests: requests)
    }

    /// One run of a load against a server.
    func load(
        _ workload: Workload, _ source: inout BatchSource, _ server: ServerProcess
    ) throws(BenchmarkError) -> LoadStats {
        var generator = try LoadGenerator(workload, to: server)
        return try generator.run(&source, warmUp: options.warmUp, measured: options.measured)
    }

    /// Memory ten seconds after the start of a server that nobody has spoken to: what it needs of
    /// its program after that is there again by then.
    private func measureIdleMemory() throws(BenchmarkError) -> Int? {
        let server = try startProduct(store: "idle")
        defer { removeStore("idle") }
        usleep(options.isShort ? 1_000_000 : 10_000_000)
        let bytes = server.residentBytes
        try server.stop()
        return bytes
    }

    /// Starts the product with a store of this name, which is made if it is not there.
    func startProduct(
        store: String, arguments: [String] = [], environment: [String] = []
    ) throws(BenchmarkError) -> ServerProcess {
        let path = try makeStore(store)
        return try ServerProcess(
            name: "rollcall", executable: product,
            arguments: [
                "serve", "--web.listen-address", "127.0.0.1:0",
                "--storage.path", "\(path)/rollcall.db",
            ] + arguments,
            environment: environment, errorsPath: "\(path)/errors")
    }

    /// The folder of a store, made if it is not there.
    func makeStore(_ store: String) throws(BenchmarkError) -> String {
        let path = "\(folder)/\(store)"
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw .system(call: "mkdir \(path)", errno: errno)
        }
        return path
    }

    /// Removes a store and what lies beside it.
    func removeStore(_ store: String) { Leftovers.remove(folder: "\(folder)/\(store)") }

    private func startReference(
        _ kind: ReferenceServer, for workload: Workload
    ) throws(BenchmarkError) -> ServerProcess {
        let batches = "\(workload.batchesPerRequest)"
        return try ServerProcess(
            name: kind.title, executable: ourselves.path,
            arguments: [ReferenceServer.argument, kind.rawValue, batches],
            errorsPath: "\(folder)/\(kind.rawValue)-errors")
    }
}
