import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// Pushes the page of metrics to an OpenTelemetry collector, again and again. Source: V21.
///
/// It has a thread of its own, because a call may take as long as `otlp.timeout`: a collector that is slow
/// holds up nobody, and a stop does not wait for it. It holds one page, as requests, and what the last
/// one that was acknowledged said.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
package final class OTLPExporter: @unchecked Sendable {
    /// Asks for the page of metrics in OpenMetrics, as it is now if the state writer has one within that
    /// time; it is answered on any thread.
    package typealias PageSource =
        @Sendable (_ patience: Duration, @escaping @Sendable ([UInt8]) -> Void) -> Void

    private enum Message: Sendable {
        case follow(OTLPSettings)
        case page([UInt8], number: Int)
        case close
    }

    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 3_600_000
    /// Milliseconds after the first failure until the same is sent again; it doubles with each.
    private static let retryFirst: Int64 = 1000
    private static let retryMost: Int64 = 30_000

    /// A page that is late by more says of the watch that it stands still, and then it does.
    private static let pageWaitMost = Duration.seconds(5)

    /// Set before the thread begins.
    private var page: PageSource = { _, _ in }
    private let edge: EdgeStats
    private let instance: String
    private let log: Logger
    private let clock: @Sendable () -> ClockReading
    private let mailbox = Mailbox<Message>()

    private var settings = OTLPSettings()
    private var streams = MetricStreams()
    /// Requests of the newest page that nobody has taken yet.
    private var waiting: [OTLPMetrics.Request] = []
    /// The number of the page that was asked for last, and whether it came.
    private var asked = (number: 0, isThere: true)
    private var nextAt = Int64.max
    private var retryAt = Int64.max
    private var failures = 0
    private var trouble = TroubleLog()
    private var rejections = TroubleLog()
    private let caller = OTLPCaller()

    /// An exporter to be started. `instance` tells this server from others; `clock` is the machine's.
    package init(
        edge: EdgeStats, instance: String, log: Logger,
        clock: @escaping @Sendable () -> ClockReading = { .now() }
    ) {
        self.edge = edge
        self.instance = instance
        self.log = log
        self.clock = clock
    }

    /// Starts the thread, which pushes what `page` answers; false if the system has none left.
    @discardableResult
    package func start(page: @escaping PageSource) -> Bool {
        self.page = page
        return DetachedThread.start(stackBytes: 8 << 20) { [self] in run() }
    }

    // MARK: - From other threads

    /// Takes the settings: who is told, if anybody, and how. The first push comes at once.
    package func follow(_ settings: OTLPSettings) { mailbox.put(.follow(settings)) }

    /// Ends the thread after what it is at, and does not wait for that.
    package func close() { mailbox.put(.close) }

    // MARK: - The thread

    private func run() {
        while true {
            let next = min(nextAt, retryAt)
            let wait = next == Int64.max ? Self.idleWait : next - clock().elapsed
            for message in mailbox.takeAll(waiting: wait) {
                switch message {
                case .follow(let new): take(new)
                case .page(let page, let number): take(page, number)
                case .close: return
                }
            }
            let now = clock().elapsed
            if now >= nextAt {
                askForPage(now)
            } else if now >= retryAt {
                send()
            }
        }
    }

    private func take(_ new: OTLPSettings) {
        if new == settings { return }
        if new.isAnotherStream(than: settings) { streams = MetricStreams() }
        settings = new
        drop()
        nextAt = new.endpoint == nil ? Int64.max : clock().elapsed
    }

    /// Forgets a page that nobody took, or that is still to come: the next one says what it did.
    private func drop() {
        waiting = []
        retryAt = Int64.max
        failures = 0
        asked = (asked.number + 1, true)
    }

    private func askForPage(_ now: Int64) {
        nextAt = now + settings.interval.count
        if !asked.isThere { fail("the server does not write a page of metrics") }
        drop()
        let number = asked.number
        asked.isThere = false
        let patience = min(Self.pageWaitMost, .milliseconds(settings.interval.count / 2))
        page(patience) { [mailbox] in mailbox.put(.page($0, number: number)) }
    }

    private func take(_ page: [UInt8], _ number: Int) {
        guard number == asked.number, settings.endpoint != nil else { return }
        asked.isThere = true
        guard let families = MetricsPage.families(page) else {
            return fail("a line of the page of metrics cannot be read")
        }
        let version = BuildInformation.version
        waiting = OTLPMetrics.requests(
            families, at: clock().wall, settings.temporality, of: streams,
            resource: settings.attributes(instance: instance, version: version),
            version: Array(version.utf8))
        send()
    }

    // MARK: - Requests

    /// Sends what waits, until all of it is taken or it has to wait.
    private func send() {
        retryAt = Int64.max
        while let request = waiting.first {
            let wall = clock().wall
            switch caller.send(request.body, to: settings, now: wall) {
            case .delivered(let claimed, let words):
                take(request)
                failures = 0
                let rejected = min(claimed, Int64(request.points))
                edge.exported(rejected > 0 ? .partial : .delivered, rejected: rejected, at: wall)
                noteDelivery(rejected, words)
            case .refused(let why):
                waiting.removeFirst()
                fail(why, .refused)
            case .unknown(let why):
                fail(why)
                // What was added must not be added twice; a sum may come again.
                guard settings.temporality == .delta else { return wait(nil) }
                take(request)
            case .failed(let why, let retryAfter):
                fail(why)
                return wait(retryAfter?.count)
            }
        }
    }

    /// Counts the first request of those that wait as taken.
    private func take(_ request: OTLPMetrics.Request) {
        for report in request.reports { streams.acknowledge(report) }
        waiting.removeFirst()
    }

    /// Tries again before the next page is due; if that would be later, that page goes out instead, and
    /// not before the collector wants it.
    private func wait(_ retryAfter: Int64?) {
        failures += 1
        let now = clock().elapsed
        let at = now + (retryAfter ?? pause)
        if at < nextAt {
            retryAt = at
        } else if retryAfter != nil {
            nextAt = at
        }
    }

    /// Longer after each failure, and not the same for all who failed at once.
    private var pause: Int64 {
        let most = min(Self.retryFirst << min(failures - 1, 10), Self.retryMost)
        let seed = Array("\(instance) \(asked.number) \(failures)".utf8)
        let hash = StableHash.of(seed.span, 0..<seed.count)
        return most / 2 + Int64(hash % UInt64(most / 2 + 1))
    }

    // MARK: - What is told of it

    private func fail(_ why: String, _ outcome: OTLPStats.Outcome = .failed) {
        edge.exported(outcome, rejected: 0, at: clock().wall)
        trouble.note(why) {
            log.warning("metrics were not pushed", metadata: ["error": "\(why)"])
        }
    }

    private func noteDelivery(_ rejected: Int64, _ words: String) {
        trouble.end { log.info("metrics are pushed again") }
        if rejected == 0, words.isEmpty { return rejections.end {} }
        rejections.note("\(rejected) \(words)") {
            log.warning(
                "the collector took metrics, and says something about them",
                metadata: ["rejected_points": "\(rejected)", "error": "\(words)"])
        }
    }
}
