import Glibc
import RollcallCore
import RollcallSupport
import Synchronization

/// A fleet that reports to a running server.
///
/// The fleet's time may run faster than the server's clock. Then everything shrinks with it, the
/// intervals and the silences, and all times that are told: honest for a server whose thresholds are
/// as many times shorter, and an alarm for any other.
package struct FleetTarget: Sendable {
    /// The fastest fleet: an interval of a mission is then 150 ms.
    package static let speedMax: Int64 = 100
    /// Between two looks at what is due.
    private static let tick: UInt32 = 20_000
    /// The time for which what waits is still sent after the end, or after an interrupt, in
    /// milliseconds.
    private static let leaveMax = (end: Int64(30_000), interrupt: Int64(3000))

    private let settings: FleetSettings
    private let address: ServerAddress
    private let speed: Int64

    /// A fleet that lives `speed` times faster than the server.
    /// - Throws: `FleetError.wrongOption` if the speed is beyond its range.
    package init(
        _ settings: FleetSettings, to address: ServerAddress, speed: Int64
    ) throws(FleetError) {
        guard (1...Self.speedMax).contains(speed) else {
            throw .wrongOption("--speed: 1x to \(Self.speedMax)x expected")
        }
        self.settings = settings
        self.address = address
        self.speed = speed
    }

    /// Reads `60x`, or `60`. Throws `FleetError.wrongOption` if it is neither, or beyond its range.
    package static func speed(_ text: String) throws(FleetError) -> Int64 {
        let digits = text.hasSuffix("x") ? text.dropLast() : text[...]
        guard let speed = Int64(digits), (1...speedMax).contains(speed) else {
            throw .wrongOption("--speed: 1x to \(speedMax)x expected (\(ConsoleText.safe(text)))")
        }
        return speed
    }

    /// Lets the fleet live until its time is over or `isInterrupted`, and returns what came of it.
    ///
    /// Throws `FleetError.target` for a server that refuses what it is told, and other cases for
    /// files that cannot be written.
    package func run(
        truth: String?, isInterrupted: @Sendable () -> Bool
    ) throws(FleetError) -> FleetSummary {
        let base = ClockReading.now()
        let clock = FleetClock(origin: settings.start, base: base.wall, speed: speed)
        var stream = FleetStream(settings)
        var writer = FleetWriter(stream, clock: clock)
        var reported = try FleetTruth(path: truth, clock: clock)
        let queues = FleetBackend.allCases.map { backend in
            FleetQueue(address, source: backend.name.map { "\($0)" })
        }
        for queue in queues where !queue.start() {
            throw .target("the system has no thread left")
        }
        defer { for queue in queues { queue.cut() } }
        var progress = ProgressLine(total: settings.span.count / 1000, unit: "seconds")
        var line = stream.line()
        while line != nil, !isInterrupted() {
            let states = queues.map(\.state)
            if let fault = states.compactMap(\.fault).first { throw .target(fault) }
            let passed = (ClockReading.now().elapsed - base.elapsed) * speed
            let now = settings.start + Milliseconds(passed)
            // If the server cannot keep up, or is gone, the backends keep what they heard, and when.
            if !states.contains(where: { $0.waiting > FleetQueue.waitingMax }) {
                hand(&line, until: now, &stream, &writer, queues)
            }
            try reported.take(from: &stream, before: now)
            let trouble = states.compactMap(\.trouble).first ?? ""
            progress.update(done: min(passed, settings.span.count) / 1000, note: trouble)
            usleep(Self.tick)
        }
        let wasInterrupted = line != nil
        leave(queues, wasInterrupted ? Self.leaveMax.interrupt : Self.leaveMax.end)
        progress.finish()
        if let fault = queues.compactMap(\.state.fault).first { throw .target(fault) }
        let passed = (ClockReading.now().elapsed - base.elapsed) * speed
        let end = min(settings.end, settings.start + Milliseconds(passed))
        try reported.take(from: &stream, before: end, isLast: true)
        try reported.finish()
        var aggregates = FleetAggregates()
        for queue in queues { aggregates.add(queue.state.aggregates) }
        return FleetSummary(
            aggregates: aggregates, causes: reported.causes,
            silent: reported.silent(at: end).map { (stream.person($0.person).id, $0.cause) },
            wasInterrupted: wasInterrupted)
    }

    /// Hands over everything that is due.
    private func hand(
        _ line: inout FleetLine?, until now: Timestamp, _ stream: inout FleetStream,
        _ writer: inout FleetWriter, _ queues: [FleetQueue]
    ) {
        var parcels = queues.map { FleetParcel($0) }
        while let next = line, next.at <= now {
            parcels[Int(next.backend.rawValue)].add(next, &writer)
            line = stream.line()
        }
        for place in parcels.indices { parcels[place].send() }
    }

    /// Sends what waits, for a while.
    private func leave(_ queues: [FleetQueue], _ patience: Int64) {
        for queue in queues { queue.close() }
        let end = ClockReading.now().elapsed + patience
        while ClockReading.now().elapsed < end, queues.contains(where: { !$0.state.isDone }) {
            usleep(Self.tick)
        }
        for queue in queues { queue.cut() }
        while queues.contains(where: { !$0.state.isDone }) { usleep(Self.tick) }
    }
}
