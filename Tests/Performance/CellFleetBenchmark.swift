import Glibc
import RollcallCore

/// Measures one fleet of many people in eight cells, all told to one gateway: enrolled, reporting, 1 % a
/// minute silent, a region that falls silent in all cells at one instant, and a cell that is killed and comes
/// back. Source: K2, K4, K5.
struct CellFleetBenchmark {
    static let cells = 8

    /// The size of the fleet, and the length of each part of its run.
    struct Scale {
        let people: Int
        /// People of one region fall OFFLINE so long after they reported last.
        let offlineAfter: Milliseconds
        /// The others are watched for so long while they report.
        let quiet: Nanoseconds

        /// Only proves that everything runs.
        static let short = Scale(
            people: 4000, offlineAfter: .seconds(4), quiet: .milliseconds(300))

        /// So many people, that the figures mean something.
        static func full(_ people: Int) -> Scale {
            Scale(people: people, offlineAfter: .seconds(60), quiet: .milliseconds(30_000))
        }

        /// Of a hundred thousand each, as far as there are so many.
        var regions: Int { max(4, people / 100_000) }

        /// The people of the region that falls silent, all over the cells.
        var gone: [Int] { Array(stride(from: 1, to: people, by: regions)) }

        /// One of so many falls silent while it is looked at: 1 % a minute, and ten at least. It is odd, so
        /// that they are of all regions.
        var step: Int { min(Int(6000 / quiet.seconds), people / 10) - 1 | 1 }

        /// Those who fall silent one by one.
        var fading: [Int] {
            stride(from: 0, to: people, by: step).filter { $0 % regions != 1 }
        }

        /// On duty nobody is late before the end; on a mission that is waited for.
        var settings: String {
            """
            liveness:
              on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}
              on_mission: {expected: 1s, degraded_after: \(offlineAfter.count / 2)ms, \
            offline_after: \(offlineAfter.count)ms}
            alerts: {HighOfflineRate: {for: 0s, by: region, above: 0.5}, NoOnlineResponders: {enabled: false}}
            storage: {size: 64GiB}

            """
        }
    }

    private static let patience: Int64 = 300

    private let scale: Scale
    private let product: String
    private let folder: String

    /// A benchmark of `product` with stores in `folder`.
    init(_ scale: Scale, product: String, folder: String) {
        (self.scale, self.product, self.folder) = (scale, product, folder)
    }

    /// Measures.
    func run() throws(BenchmarkError) -> CellFleetReport.Figures {
        let machines = try CellMachines(
            Self.cells, product: product, folder: folder, settings: scale.settings)
        var figures = CellFleetReport.Figures(people: scale.people, cells: Self.cells)
        let idle = bytes(of: machines.cells)
        let enrolled = Nanoseconds.now()
        try enrol(machines, idle, &figures)
        // Whoever is to be silent soon was heard after that.
        sleep(until: enrolled + .milliseconds(scale.offlineAfter.count))
        let quarter = (scale.people + 3) / 4
        let background = (0..<4).map { part in
            FleetBackground(
                min(part * quarter, scale.people)..<min((part + 1) * quarter, scale.people),
                at: machines.gateway.port, regions: scale.regions,
                but: Set(scale.gone + scale.fading), demand: .some)
        }
        var threads: [LoadThread] = []
        for part in background { threads.append(try part.start(firstRound: 1)) }
        try watch(machines, background, &figures)
        try silence(machines, &figures)
        try lose(machines, &figures)
        for part in background { part.stop() }
        for thread in threads { try thread.join() }
        figures.fleetBytes = bytes(of: machines.cells)
        figures.gatewayBytes = machines.gateway.residentBytes ?? 0
        figures.fleetCellBytes = machines.fleetCell.residentBytes ?? 0
        try machines.stop()
        return figures
    }

    private func bytes(of processes: [ServerProcess]) -> Int {
        processes.reduce(0) { $0 + ($1.residentBytes ?? 0) }
    }

    private func enrol(
        _ machines: CellMachines, _ idle: Int, _ figures: inout CellFleetReport.Figures
    ) throws(BenchmarkError) {
        let before = machines.processorTimes
        let received = wallNow()
        let span = try FleetBulk.post(
            0..<scale.people, .onDuty(regions: scale.regions), round: 0, at: machines.gateway,
            demand: .allInTheEnd
        ) { _ in received }
        let after = machines.processorTimes
        figures.enrolledPerSecond = Double(scale.people) / span.seconds
        let each = { (nanoseconds: Int64) in Double(nanoseconds) / 1000 / Double(scale.people) }
        figures.gatewayMicroseconds = each((after.gateway - before.gateway).count)
        figures.cellsMicroseconds = each((after.cells - before.cells).count)
        usleep(1_000_000)
        figures.bytesPerPerson =
            Double(bytes(of: machines.cells) - idle) / Double(scale.people)
        try waitForCount("ONLINE", scale.people, machines)
        say("enrolled at \(grouped(figures.enrolledPerSecond)) people/s")
    }

    /// The others report, and 1 % a minute falls silent.
    private func watch(
        _ machines: CellMachines, _ background: [FleetBackground],
        _ figures: inout CellFleetReport.Figures
    ) throws(BenchmarkError) {
        let first = wallNow() + Milliseconds(1000) - scale.offlineAfter
        let span = Int64(scale.quiet.seconds * 1000)
        var poster = try FleetPoster(
            .onMission(regions: scale.regions), to: machines.gateway.port, demand: .allInTheEnd)
        for start in stride(from: 0, to: scale.fading.count, by: FleetBulk.batchesPerRequest) {
            let end = min(start + FleetBulk.batchesPerRequest, scale.fading.count)
            let people = scale.fading[start..<end]
            try poster.post(people, round: { _ in 1 }) { person in
                first + Milliseconds(span * Int64(person) / Int64(scale.people))
            }
        }
        let probe = FleetProbe(at: machines.gateway.port)
        let thread = try probe.start()
        let (begun, sent) = (Nanoseconds.now(), background.reduce(0) { $0 + $1.batches })
        sleep(until: begun + scale.quiet)
        let end = Nanoseconds.now()
        let batches = background.reduce(0) { $0 + $1.batches } - sent
        figures.reportedPerSecond = Double(batches) / (end - begun).seconds
        figures.reporting = probe.latencies(from: begun, to: end)
        figures.faded = scale.fading.count
        try waitForCount("OFFLINE", scale.fading.count, machines)
        probe.stop()
        try thread.join()
        say("\(grouped(figures.reportedPerSecond)) batches/s, \(scale.fading.count) fell silent")
    }

    /// A region falls silent in all cells at one instant.
    private func silence(
        _ machines: CellMachines, _ figures: inout CellFleetReport.Figures
    ) throws(BenchmarkError) {
        let heard = wallNow()
        let begun = Nanoseconds.now()
        var poster = try FleetPoster(
            .onMission(regions: scale.regions), to: machines.gateway.port, demand: .allInTheEnd)
        let gone = scale.gone
        for start in stride(from: 0, to: gone.count, by: FleetBulk.batchesPerRequest) {
            let end = min(start + FleetBulk.batchesPerRequest, gone.count)
            try poster.post(gone[start..<end], round: { _ in 2 }, receivedAt: { _ in heard })
        }
        let due = begun + .milliseconds(scale.offlineAfter.count)
        guard Nanoseconds.now() < due else {
            throw .answer("the region was told of too late: it is silent already")
        }
        let probe = FleetProbe(at: machines.gateway.port)
        let thread = try probe.start()
        sleep(until: due)
        let caller = try Caller(port: machines.fleetCell.port)
        var (firedAt, countedAt): (Nanoseconds?, Nanoseconds?)
        let wanted = scale.gone.count + scale.fading.count
        try waitUntil("the region's alert fires", seconds: Self.patience) {
            () throws(BenchmarkError) in
            if firedAt == nil,
                try caller.ask("GET", "/v1/alerts").text.contains("HighOfflineRate")
            {
                firedAt = .now()
            }
            if countedAt == nil,
                try caller.ask("GET", "/v1/status").number(after: "\"OFFLINE\":") == wanted
            {
                countedAt = .now()
            }
            return firedAt != nil && countedAt != nil
        }
        let end = Nanoseconds.now()
        probe.stop()
        try thread.join()
        figures.gone = gone.count
        figures.firedAfter = (firedAt ?? end) - due
        figures.countedAfter = (countedAt ?? end) - due
        figures.silence = probe.latencies(from: due, to: end)
        say(
            "\(gone.count) of a region fell silent: told \(decimal(figures.firedAfter.seconds, 1)) s later"
        )
    }

    /// A cell is killed, and started again.
    private func lose(
        _ machines: CellMachines, _ figures: inout CellFleetReport.Figures
    ) throws(BenchmarkError) {
        let caller = try Caller(port: machines.fleetCell.port)
        func isTold() throws(BenchmarkError) -> Bool {
            try caller.ask("GET", "/v1/alerts").text.contains("CellDark")
        }
        let killed = Nanoseconds.now()
        machines.cells[0].crash()
        try waitUntil("the cell is told to be dark", seconds: Self.patience) {
            () throws(BenchmarkError) in try isTold()
        }
        figures.darkAfter = Nanoseconds.now() - killed
        let begun = Nanoseconds.now()
        try machines.restart(0)
        figures.startedAfter = Nanoseconds.now() - begun
        try waitUntil("the cell is heard again", seconds: Self.patience) {
            () throws(BenchmarkError) in try !isTold()
        }
        figures.heardAfter = Nanoseconds.now() - begun
        let status = try caller.ask("GET", "/v1/status")
        guard status.number(after: "\"active\":") == scale.people else {
            throw .answer("\(scale.people) active people expected: \(status.text)")
        }
        say("a cell was killed: told after \(decimal(figures.darkAfter.seconds, 1)) s")
    }

    /// Until the fleet cell counts so many people.
    private func waitForCount(
        _ status: String, _ count: Int, _ machines: CellMachines
    ) throws(BenchmarkError) {
        let caller = try Caller(port: machines.fleetCell.port)
        var last = ""
        do throws(BenchmarkError) {
            try waitUntil("the fleet cell counts all", seconds: Self.patience) {
                () throws(BenchmarkError) in
                last = try caller.ask("GET", "/v1/status").text
                usleep(90_000)
                return last.contains("\"\(status)\":\(count),")
                    || last.contains("\"\(status)\":\(count)}")
            }
        } catch {
            throw .answer("\(error); \(count) \(status) expected: \(last)")
        }
    }

    private func say(_ text: String) {
        tell("\(grouped(Double(scale.people))) people in \(Self.cells) cells: \(text)")
    }
}

/// The figures of one fleet in many cells, as text.
struct CellFleetReport {
    /// Everything that is measured.
    struct Figures {
        let people, cells: Int
        var enrolledPerSecond = 0.0
        /// Processor time of a batch at enrolment.
        var gatewayMicroseconds = 0.0
        var cellsMicroseconds = 0.0
        /// Of all cells, beyond what they take idle.
        var bytesPerPerson = 0.0
        var reportedPerSecond = 0.0
        /// The waits of those who asked the gateway for the status meanwhile.
        var reporting: ProbeStats?
        /// People who fell silent one by one.
        var faded = 0
        /// People who fell silent at one instant.
        var gone = 0
        /// From that instant.
        var firedAfter = Nanoseconds(count: 0)
        var countedAfter = Nanoseconds(count: 0)
        var silence: ProbeStats?
        /// From the kill of a cell to its alert; then from its start.
        var darkAfter = Nanoseconds(count: 0)
        var startedAfter = Nanoseconds(count: 0)
        var heardAfter = Nanoseconds(count: 0)
        /// At the end.
        var fleetBytes = 0
        var gatewayBytes = 0
        var fleetCellBytes = 0

        init(people: Int, cells: Int) { (self.people, self.cells) = (people, cells) }
    }

    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    let figures: Figures

    private var rows: [(name: String, value: String)] {
        func wait(_ stats: ProbeStats?) -> String {
            guard let stats else { return "–" }
            return "\(decimal(stats.latency50.milliseconds, 1)) ms, p99 "
                + "\(decimal(stats.latency99.milliseconds, 1)) ms"
        }
        let mebibyte = Double(1 << 20)
        return [
            ("people, cells", "\(grouped(Double(figures.people))), \(figures.cells)"),
            ("enrolled through the gateway", "\(grouped(figures.enrolledPerSecond)) people/s"),
            ("CPU a batch, gateway", "\(decimal(figures.gatewayMicroseconds, 2)) µs"),
            ("CPU a batch, cells", "\(decimal(figures.cellsMicroseconds, 2)) µs"),
            ("memory a person, all cells", "\(decimal(figures.bytesPerPerson, 0)) bytes"),
            ("reported meanwhile", "\(grouped(figures.reportedPerSecond)) batches/s"),
            ("status at the gateway meanwhile", wait(figures.reporting)),
            ("fell silent one by one", grouped(Double(figures.faded))),
            ("fell silent at one instant", grouped(Double(figures.gone))),
            ("until the alert", "\(decimal(figures.firedAfter.seconds, 1)) s"),
            ("until all are counted", "\(decimal(figures.countedAfter.seconds, 1)) s"),
            ("status at the gateway at that instant", wait(figures.silence)),
            ("a cell killed: until CellDark", "\(decimal(figures.darkAfter.seconds, 1)) s"),
            ("started again: until it listens", "\(decimal(figures.startedAfter.seconds, 1)) s"),
            (
                "until it is heard, with all its people",
                "\(decimal(figures.heardAfter.seconds, 1)) s"
            ),
            ("memory of all cells", "\(decimal(Double(figures.fleetBytes) / mebibyte, 0)) MiB"),
            ("of the gateway", "\(decimal(Double(figures.gatewayBytes) / mebibyte, 0)) MiB"),
            ("of the fleet cell", "\(decimal(Double(figures.fleetCellBytes) / mebibyte, 0)) MiB"),
        ]
    }

    /// For people.
    var table: String {
        let lines = machine.lines(othersShare: othersShare)
        return (lines + [""] + aligned(rows.map { [$0.name, $0.value] }, leading: 1))
            .joined(separator: "\n")
    }

    /// For machines.
    var json: JSONText {
        .object(
            [("machine", machine.json(othersShare: othersShare))]
                + rows.map { ($0.name, .text($0.value)) })
    }
}
