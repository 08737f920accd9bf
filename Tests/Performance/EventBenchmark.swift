import Glibc

/// What those who read events cost those who write: a reader who is far behind, and a thousand open
/// streams.
struct EventBenchmark {
    /// The load with or without a reader beside it, in one run.
    struct Turn {
        /// Batches that were acknowledged in a second.
        let batchesPerSecond: Double
        /// Latencies of single batches, milliseconds.
        let latency50, latency99: Double
        /// Events that the reader read in a second.
        let eventsPerSecond: Double
    }

    /// All turns of a kind of reader; none reads where there is no kind.
    struct Reading {
        let kind: EventReader.Kind?
        /// In the order of the runs.
        var turns: [Turn] = []
        /// Events a second while nobody posts.
        var alone: Double?
    }

    /// A server on which so many connections or streams are open and nothing else happens.
    struct Standing {
        let text: String
        let key: String
        let count: Int
        let residentBytes: Int
        /// Processor time a second, milliseconds.
        let processor: Double
    }

    /// What one event with all streams open took, milliseconds from the question on.
    struct Telling {
        let streams: Int
        let events: Int
        /// Until the answer, and until the last stream has it.
        let answered, last, longest: Double
    }

    /// How much is measured.
    struct Scale {
        /// People, of whom each is enrolled by three events.
        let people: Int
        let runs: Int
        let warmUp: Nanoseconds
        let measured: Nanoseconds
        let streams: Int
        /// Fewer than `limits.connections` may be: when all are in use, idle ones end.
        let connections: Int
        let standing: Nanoseconds
        let events: Int

        static let full = Scale(
            people: 34_000, runs: 5, warmUp: .milliseconds(500), measured: .milliseconds(3000),
            streams: 1000, connections: 880, standing: .milliseconds(30_000), events: 50)
        /// Proves that everything runs.
        static let short = Scale(
            people: 1600, runs: 1, warmUp: .milliseconds(50), measured: .milliseconds(200),
            streams: 50, connections: 50, standing: .milliseconds(200), events: 3)
    }

    private static let patience = Nanoseconds.milliseconds(600_000)
    private static let settings = """
        liveness: {on_duty: {expected: 60s, degraded_after: 30m, offline_after: 60m}}
        limits: {connections: 900, streams: 1000}

        """

    let scale: Scale
    /// Only parts whose name contains this: behind, streams.
    let only: String
    /// Gives the folder of a store of some name, made anew.
    let makeFolder: (String) throws(BenchmarkError) -> String
    let product: String

    /// Measures.
    func run() throws(BenchmarkError) -> (
        all: Int, readings: [Reading], standings: [Standing], telling: Telling?
    ) {
        var (all, readings): (Int, [Reading]) = (0, [])
        if isWanted("behind") { (all, readings) = try measureReaders() }
        guard isWanted("streams") else { return (all, readings, [], nil) }
        let (standings, telling) = try measureStreams()
        return (all, readings, standings, telling)
    }

    private func isWanted(_ part: String) -> Bool { only.isEmpty || part.contains(only) }

    // MARK: - A reader who is far behind

    private func measureReaders() throws(BenchmarkError) -> (Int, [Reading]) {
        let server = try start("events-behind", people: scale.people)
        let end = try EventPlace(now: try Caller(port: server.port))
        let all = try EventReader.count(before: end, port: server.port)
        var readings = [Reading(kind: nil)]
        for kind in EventReader.Kind.allCases {
            var reading = Reading(kind: kind)
            reading.alone = try read(kind, end, all, server) { _ in }.perSecond
            readings.append(reading)
        }
        let load = ChoreLoad(people: scale.people, firstRound: 1, to: server.port)
        let threads = try load.start()
        for run in 1...scale.runs {
            for index in readings.indices {
                readings[index].turns.append(
                    try turn(readings[index].kind, end, all, server, load))
            }
            let rates = readings.compactMap { reading in
                reading.turns.last.map { turn in
                    "\(reading.kind?.rawValue ?? "nobody") \(grouped(turn.batchesPerSecond))"
                }
            }
            tell(
                "a reader beside, run \(run) of \(scale.runs), batches/s: "
                    + rates.joined(separator: ", "))
        }
        load.stop()
        for thread in threads { try thread.join() }
        try server.stop()
        return (all, readings)
    }

    /// Lets a reader read for a while; `meanwhile` is given how long.
    private func read(
        _ kind: EventReader.Kind, _ end: EventPlace, _ all: Int, _ server: ServerProcess,
        meanwhile: (Nanoseconds) -> Void
    ) throws(BenchmarkError) -> (perSecond: Double, span: Nanoseconds) {
        let reader = EventReader(kind, port: server.port, until: end, all: all)
        let thread = try reader.start()
        sleep(until: .now() + scale.warmUp)
        let (begun, before) = (Nanoseconds.now(), reader.events)
        meanwhile(scale.measured)
        sleep(until: begun + scale.measured)
        let (span, events) = (Nanoseconds.now() - begun, reader.events - before)
        reader.stop()
        try thread.join()
        guard reader.events > 0 else { throw .answer("\(kind.text): no event was read") }
        return (Double(events) / span.seconds, span)
    }

    private func turn(
        _ kind: EventReader.Kind?, _ end: EventPlace, _ all: Int, _ server: ServerProcess,
        _ load: ChoreLoad
    ) throws(BenchmarkError) -> Turn {
        var stats: (batches: Int, latencies: LatencyHistogram, span: Nanoseconds)?
        func look(_ span: Nanoseconds) {
            _ = load.take()
            let begun = Nanoseconds.now()
            sleep(until: begun + span)
            let (batches, latencies) = load.take()
            stats = (batches, latencies, .now() - begun)
        }
        var eventsPerSecond = 0.0
        if let kind {
            eventsPerSecond = try read(kind, end, all, server, meanwhile: look).perSecond
        } else {
            sleep(until: .now() + scale.warmUp)
            look(scale.measured)
        }
        guard let stats, let latency50 = stats.latencies.quantile(0.5),
            let latency99 = stats.latencies.quantile(0.99)
        else { throw .answer("no batch was answered in a turn") }
        return Turn(
            batchesPerSecond: Double(stats.batches) / stats.span.seconds,
            latency50: latency50.milliseconds, latency99: latency99.milliseconds,
            eventsPerSecond: eventsPerSecond)
    }

    // MARK: - Open streams

    private func measureStreams() throws(BenchmarkError) -> ([Standing], Telling) {
        let nothing = try stand("nothing", "nothing", 0) { _ throws(BenchmarkError) in [] }.0
        let idle = try stand("idle keep-alive connections", "connections", scale.connections) {
            (server) throws(BenchmarkError) in
            var callers: [Caller] = []
            for _ in 0..<scale.connections {
                let caller = try Caller(port: server.port)
                _ = try caller.ask("GET", "/-/healthy")
                callers.append(caller)
            }
            return callers
        }.0
        var streams: [EventStream] = []
        let (open, server) = try stand("open streams", "streams", scale.streams) {
            (server) throws(BenchmarkError) in
            let end = try EventPlace(now: try Caller(port: server.port))
            for _ in 0..<scale.streams {
                let stream = try EventStream(port: server.port, behind: end)
                try stream.begin()
                streams.append(stream)
            }
            return []
        }
        let telling = try tellAll(streams, server)
        server.crash()
        return ([nothing, idle, open], telling)
    }

    /// Looks at a server while what `connect` opens stands open, and leaves it running.
    private func stand(
        _ text: String, _ key: String, _ count: Int,
        _ connect: (ServerProcess) throws(BenchmarkError) -> [Caller]
    ) throws(BenchmarkError) -> (Standing, ServerProcess) {
        let server = try start("events-\(key)", people: 1000)
        let callers = try connect(server)
        usleep(1_000_000)
        let (begun, before) = (Nanoseconds.now(), server.processorTime)
        sleep(until: begun + scale.standing)
        let used = server.processorTime - before
        let span = Nanoseconds.now() - begun
        let resident = server.residentBytes ?? 0
        // Whoever was closed meanwhile would flatter.
        for caller in callers { _ = try caller.ask("GET", "/-/healthy") }
        let processor = used.milliseconds / span.seconds
        tell(
            "\(grouped(Double(count))) \(text): \(megabytes(resident)) MB, "
                + "\(decimal(processor, 2)) ms of CPU a second")
        let standing = Standing(
            text: text, key: key, count: count, residentBytes: resident, processor: processor)
        return (standing, server)
    }

    /// Begins one silence after the other: each is one event.
    private func tellAll(
        _ streams: [EventStream], _ server: ServerProcess
    ) throws(BenchmarkError) -> Telling {
        let caller = try Caller(port: server.port)
        var (answered, last): ([Double], [Double]) = ([], [])
        for number in 1...scale.events {
            for stream in streams { try stream.take() }
            guard streams.allSatisfy({ $0.events == number - 1 }) else {
                throw .answer("a stream had an event that nobody made, or one twice")
            }
            let begun = Nanoseconds.now()
            try silence(number, caller)
            answered.append((Nanoseconds.now() - begun).milliseconds)
            var waiting = streams
            while !waiting.isEmpty {
                var polled = waiting.map {
                    pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0)
                }
                guard poll(&polled, nfds_t(polled.count), 20_000) > 0 else {
                    throw .answer("\(waiting.count) streams did not have event \(number)")
                }
                for (place, entry) in polled.enumerated() where entry.revents != 0 {
                    try waiting[place].take()
                }
                waiting.removeAll { $0.events >= number }
            }
            last.append((Nanoseconds.now() - begun).milliseconds)
            guard Set(streams.map(\.last)).count == 1 else {
                throw .answer("streams had different events")
            }
            usleep(20_000)
        }
        return Telling(
            streams: streams.count, events: last.count, answered: median(answered) ?? 0,
            last: median(last) ?? 0, longest: last.max() ?? 0)
    }

    private func silence(_ number: Int, _ caller: Caller) throws(BenchmarkError) {
        let body =
            #"{"matchers":["region=nowhere-\#(number)"],"duration":"1h","author":"bench","#
            + #""comment":"one event"}"#
        let answer = try caller.ask(
            Array(
                """
                POST /v1/silences HTTP/1.1\r\nHost: 127.0.0.1\r\n\
                Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)
                """.utf8))
        guard answer.status == 200 else { throw .answer("\(answer.status): \(answer.text)") }
    }

    // MARK: - The server

    /// A server in a new folder, on which so many people have been heard once.
    private func start(_ name: String, people: Int) throws(BenchmarkError) -> ServerProcess {
        let folder = try makeFolder(name)
        try writeFile(Self.settings, to: "\(folder)/settings.yml")
        let server = try ServerProcess(rollcall: product, in: folder, patience: Self.patience)
        let heard = wallNow()
        _ = try FleetBulk.post(0..<people, .onDuty, round: 0, at: server) { _ in heard }
        return server
    }
}
