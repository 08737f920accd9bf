import Glibc
import RollcallCore

/// What a whole fleet costs: enrolled in bulk, then watched while it reports once a minute, while
/// people fall silent and while somebody is erased, then found again after a crash and a stop.
struct FleetBenchmark {
    /// The sizes of `--fleets`. The last one, the most that the settings take, needs some memory
    /// for the store's pages too.
    static func sizes(isShort: Bool) -> [Int] {
        if isShort { return [2000] }
        let largest = 5_000_000
        let isRoom = Machine.availableBytes.map { $0 > largest * 2000 } ?? false
        return [10_000, 100_000, 1_000_000] + (isRoom ? [largest] : [])
    }

    private let size: Int
    private let folder: String
    private let product: String
    private let pace: FleetPace

    /// Those who fall silent one by one: 1 % a minute, for as long as it is looked at.
    private var fading: Range<Int> { 0..<max(1, size / 600) }
    /// Those who fall silent at one instant.
    private var gone: Range<Int> { fading.upperBound..<(fading.upperBound + size / 10) }
    /// Those who go on.
    private var others: Range<Int> { gone.upperBound..<size }

    /// Later than any round of the background.
    private static let tailRound = 100_000
    private static let patience = Nanoseconds.milliseconds(600_000)

    /// A benchmark of `product` with so many people and a store in `folder`.
    init(size: Int, folder: String, product: String, pace: FleetPace) {
        self.size = size
        self.pace = pace
        self.folder = folder
        self.product = product
    }

    /// Measures.
    func run() throws(BenchmarkError) -> FleetResult {
        try writeFile(pace.settings, to: "\(folder)/settings.yml")
        var server = try start()
        var result = FleetResult(size: size)
        usleep(1_000_000)
        result.idleBytes = server.residentBytes ?? 0
        try enrol(at: server, &result)
        try measureScrapes(server, &result)
        try watch(server, &result)
        try load(server, &result)

        server.crash()
        say("killed; starting again")
        var begun = Nanoseconds.now()
        server = try start()
        result.restartAfterCrash = Nanoseconds.now() - begun
        result.tailRows = number(after: "refolded_rows=", in: server.errors)
        try checkFleet(server)
        begun = .now()
        try server.stop(patience: Self.patience)
        result.stop = Nanoseconds.now() - begun
        say("stopped; starting again")
        begun = .now()
        server = try start()
        result.restartAfterStop = Nanoseconds.now() - begun
        try checkFleet(server)
        usleep(1_000_000)
        result.restartedBytes = server.residentBytes ?? 0
        server.crash()
        result.store = try StoreSize(path: storePath)
        return result
    }

    // MARK: - Enrolment

    private func enrol(
        at server: ServerProcess, _ result: inout FleetResult
    ) throws(BenchmarkError) {
        let processor = server.processorTime
        let received = wallNow()
        let span = try FleetBulk.post(0..<size, .onDuty, round: 0, at: server) { _ in received }
        result.enrolledPerSecond = Double(size) / span.seconds
        result.processorPerPerson = Nanoseconds(
            count: (server.processorTime - processor).count / Int64(size))
        usleep(1_000_000)
        result.fleetBytes = server.residentBytes ?? 0
        result.enrolledFileBytes = fileBytes(storePath) + fileBytes(storePath + "-wal")
        var rows = RowInsertion(rowsPerTransaction: FleetBulk.batchesPerRequest)
        rows.batches = FleetBatch.onDuty.lines(
            0..<FleetBulk.batchesPerRequest, round: 0, receivedAt: received)
        result.insertedPerSecond = try rows.run(
            in: folder, warmUp: .milliseconds(100), measured: pace.insertion
        ).batchesPerSecond
        say(
            "enrolled at \(grouped(result.enrolledPerSecond)) people/s; SQLite alone inserts "
                + "\(grouped(result.insertedPerSecond)) rows/s")
    }

    private func measureScrapes(
        _ server: ServerProcess, _ result: inout FleetResult
    ) throws(BenchmarkError) {
        let caller = try Caller(port: server.port)
        var (spans, packed): ([Double], [Double]) = ([], [])
        for _ in 0..<pace.scrapes {
            let reading = try MetricsReading(caller)
            spans.append(reading.span.milliseconds)
            result.scrapeBytes = reading.byteCount
            usleep(20_000)
            let answer = try caller.askPacked("/metrics")
            packed.append(answer.span.milliseconds)
            result.packedScrapeBytes = answer.body.count
            usleep(20_000)
        }
        result.packedScrapeMilliseconds = median(packed) ?? 0
        result.scrapeMilliseconds = median(spans) ?? 0
        result.scrapeMillisecondsMax = spans.max() ?? 0
    }

    // MARK: - The watch

    /// Everything that is measured while the others go on reporting.
    private func watch(
        _ server: ServerProcess, _ result: inout FleetResult
    ) throws(BenchmarkError) {
        let background = FleetBackground(others, at: server.port)
        let probe = FleetProbe(at: server.port)
        let observer = FleetObserver(server: server, probe: probe, background: background)
        let threads = [try background.start(firstRound: 1), try probe.start()]
        let begun = Nanoseconds.now()
        usleep(1_000_000)

        let before = try observer.look()
        sleep(until: before.at + pace.quiet)
        result.quiet = try observer.phase(since: before)
        say("quiet", result.quiet)
        result.fading = try fadeOut(server, observer)
        say("1 % a minute fell silent", result.fading)
        var heard = Timestamp(milliseconds: 0)
        result.instant = try goSilent(server, observer, &heard)
        say("10 % fell silent at one instant", result.instant)
        result.offline = try goOffline(heard, observer)
        say("10 % went OFFLINE at one instant", result.offline)
        try erase(server, observer, &result)

        result.backgroundPerSecond =
            Double(background.batches) / (Nanoseconds.now() - begun).seconds
        background.stop()
        probe.stop()
        for thread in threads { try thread.join() }
    }

    /// Deadlines that pass one by one (L8).
    private func fadeOut(
        _ server: ServerProcess, _ observer: FleetObserver
    ) throws(BenchmarkError) -> FleetPhase {
        let count = Int64(fading.count)
        let first = wallNow() + pace.lead
        let posted = try FleetBulk.post(fading, .onMission, round: 1, at: server) { person in
            first + Milliseconds(pace.fadingSpan.count * Int64(person) / count) - pace.lateAfter
        }
        let due = Nanoseconds.now() + .milliseconds(pace.lead.count) - posted
        let before = try observer.look()
        guard before.at < due else { throw .answer("the first deadline passed too early") }
        sleep(until: due + .milliseconds(pace.fadingSpan.count + 500))
        return try observer.phase(
            since: before, late: fading.count, degraded: fading.count)
    }

    /// Deadlines that pass at one instant (L8).
    private func goSilent(
        _ server: ServerProcess, _ observer: FleetObserver, _ heard: inout Timestamp
    ) throws(BenchmarkError) -> FleetPhase {
        let now = wallNow()
        heard = now
        let due = Nanoseconds.now() + .milliseconds(pace.lateAfter.count)
        _ = try FleetBulk.post(gone, .onMission, round: 1, at: server) { _ in now }
        sleep(until: due - .milliseconds(1000))
        let before = try observer.look()
        guard before.at < due else { throw .answer("the one deadline passed too early") }
        sleep(until: due + .milliseconds(2000))
        return try observer.phase(
            since: before, late: gone.count, degraded: fading.count + gone.count)
    }

    /// The second instant of the same people, whose gaps begin to count (C1).
    private func goOffline(
        _ heard: Timestamp, _ observer: FleetObserver
    ) throws(BenchmarkError) -> FleetPhase {
        let due = Nanoseconds.now() + .milliseconds((heard + pace.offlineAfter - wallNow()).count)
        sleep(until: due - .milliseconds(1000))
        let before = try observer.look()
        guard before.at < due else { throw .answer("the second deadline passed too early") }
        sleep(until: due + .milliseconds(2000))
        return try observer.phase(since: before, late: gone.count, degraded: 0)
    }

    /// A checkpoint, which an erasure wants before anything of somebody can go (J5).
    private func erase(
        _ server: ServerProcess, _ observer: FleetObserver, _ result: inout FleetResult
    ) throws(BenchmarkError) {
        let calm = try observer.look()
        sleep(until: calm.at + pace.quiet)
        result.calm = try observer.phase(since: calm)
        say("quiet", result.calm)
        var before = try observer.look()
        let caller = try Caller(port: server.port)
        let accepted = try caller.ask(
            "DELETE", "/v1/responders/\(FleetBatch.id(0))", expecting: 202)
        guard let number = accepted.number(after: "\"erasure\":") else {
            throw .answer("an erasure without a number: \(accepted.text)")
        }
        let deadline = Nanoseconds.now() + Self.patience
        func wait(_ isOver: () throws(BenchmarkError) -> Bool) throws(BenchmarkError) {
            while try !isOver() {
                guard Nanoseconds.now() < deadline else {
                    throw .answer("an erasure was not done within \(Self.patience.seconds) s")
                }
                usleep(50_000)
            }
        }
        try wait { () throws(BenchmarkError) in try observer.hasCheckpoint(since: before) }
        result.checkpoint = try observer.phase(since: before, degraded: 0)
        say("a checkpoint was written", result.checkpoint)
        let path = "/v1/erasures/\(number)"
        before = try observer.look()
        try wait { () throws(BenchmarkError) in
            try caller.ask("GET", path).text.contains("\"done\"")
        }
        result.erasure = try observer.phase(since: before, degraded: 0)
        say("somebody was erased", result.erasure)
    }

    // MARK: - The end

    /// Rows for the next start to fold again, as many at every size.
    private func load(
        _ server: ServerProcess, _ result: inout FleetResult
    ) throws(BenchmarkError) {
        var left = pace.tailBatches
        var round = Self.tailRound
        var span = Nanoseconds(count: 0)
        while left > 0 {
            let people = others.prefix(left)
            let received = wallNow()
            let posted = try FleetBulk.post(people, .onDuty, round: round, at: server) { _ in
                received
            }
            span = span + posted
            left -= people.count
            round += 1
        }
        result.bulkPerSecond = Double(pace.tailBatches) / span.seconds
        result.loadedBytes = server.residentBytes ?? 0
        let reading = try MetricsReading(try Caller(port: server.port))
        result.journalRows = Int(reading.value("rollcall_journal_events_total") ?? 0)
        say("\(grouped(result.bulkPerSecond)) batches/s in bulk with the fleet there")
    }

    /// Nobody may be missing after a start, and nobody be there who was erased.
    private func checkFleet(_ server: ServerProcess) throws(BenchmarkError) {
        let status = try Caller(port: server.port).ask("GET", "/v1/status")
        guard status.number(after: "\"active\":") == size - 1 else {
            throw .answer("\(size - 1) active people expected after a start: \(status.text)")
        }
    }

    private var storePath: String { "\(folder)/rollcall.db" }

    private func start() throws(BenchmarkError) -> ServerProcess {
        try ServerProcess(rollcall: product, in: folder, patience: Self.patience)
    }

    private func say(_ text: String, _ phase: FleetPhase? = nil) {
        let probe = phase?.probe
        let found = probe.map { ": status p99 \(decimal($0.latency99.milliseconds, 1)) ms" }
        tell("\(grouped(Double(size))) people: \(text)\(found ?? "")")
    }
}

/// The digits behind the last occurrence of a mark; nil if there are none.
private func number(after mark: String, in text: String) -> Int? {
    guard let place = text.ranges(of: mark).last?.upperBound else { return nil }
    return Int(text[place...].prefix { $0.isNumber })
}
