import RollcallCore
import RollcallSupport
import Synchronization

/// Answers scrapes in time, whatever the state writer is at.
///
/// The state writer writes its part of the page after the turn that a scrape arrived in, one for all
/// that wait; the compressor's thread writes the rest, and answers. If that takes longer than 200 ms,
/// the scraper gets the last copy, which is renewed every second while anybody scrapes and tells its
/// age. Source: J8, V16, §13 D1.
final class ScrapeCache: Sendable {
    /// The time that the state writer may take.
    private static let patience = Duration.milliseconds(200)
    /// The interval at which the copy is renewed.
    private static let renewEvery = Duration.seconds(1)
    /// The time after the last scrape for which that goes on.
    private static let renewFor = Duration.seconds(120)
    /// The time for which the thread sleeps while nobody scrapes.
    private static let idleFor = Duration.seconds(3600)

    /// A scrape that waits for its answer.
    private struct Waiting: Sendable {
        var format: Exposition.Format
        var coding: AnswerCoding
        var until: ContinuousClock.Instant
        var answer: @Sendable (HTTPResponse) -> Void
    }

    private struct Copy: Sendable {
        var page: [UInt8]
        var writtenAt: ContinuousClock.Instant
    }

    private struct State: Sendable {
        var waiting: [UInt64: Waiting] = [:]
        var copies: [Exposition.Format: Copy] = [:]
        /// The instants at which pages were asked for that are on their way, one of each format.
        var asked: [Exposition.Format: ContinuousClock.Instant] = [:]
        var lastID: UInt64 = 0
        var lastScrape: ContinuousClock.Instant?
        var isClosed = false

        /// Notes that a page is asked for; false if one is on its way, behind which it is asked for if
        /// somebody still waits. One that does not come is asked for again.
        mutating func ask(_ format: Exposition.Format, _ now: ContinuousClock.Instant) -> Bool {
            if let before = asked[format], now - before < renewEvery { return false }
            asked[format] = now
            return true
        }

        /// The formats of which there are copies to be renewed.
        mutating func oldFormats(_ now: ContinuousClock.Instant) -> [Exposition.Format] {
            guard let lastScrape, now - lastScrape < renewFor else { return [] }
            return copies.filter { now - $0.value.writtenAt >= renewEvery }.keys
                .filter { ask($0, now) }
        }

        /// The instant at which a scrape is late or the copies are to be renewed; far away while
        /// nobody scrapes.
        var nextWork: ContinuousClock.Instant {
            let now = ContinuousClock.now
            guard let lastScrape, now - lastScrape < renewFor else { return now + idleFor }
            let late = waiting.values.filter { copies[$0.format] != nil }.map(\.until)
            let old = copies.map { format, copy in
                max(copy.writtenAt, asked[format] ?? copy.writtenAt) + renewEvery
            }
            return (late + old).min() ?? now + renewEvery
        }
    }

    private let writer: StateWriter
    private let edge: EdgeStats
    private let compressor: AnswerCompressor
    private let listener: @Sendable () -> HTTPStats
    private let state = Mutex(State())
    /// Puts an end to the thread's sleep: there is a scrape, or it is to end.
    private let wakes = Mailbox<Void>()

    /// A cache that asks `writer`, and `listener` for what it counted, and answers from the thread of
    /// `compressor`; its own runs until `close`.
    init(
        writer: StateWriter, edge: EdgeStats, compressor: AnswerCompressor,
        listener: @escaping @Sendable () -> HTTPStats
    ) {
        self.writer = writer
        self.edge = edge
        self.compressor = compressor
        self.listener = listener
        // Without the thread scrapes wait for the state writer, as all other questions do.
        _ = DetachedThread.start { [self] in run() }
    }

    /// Ends the thread.
    func close() {
        state.withLock { $0.isClosed = true }
        wakes.put(())
    }

    /// Answers a scrape once, from the state writer or from the copy.
    func scrape(
        _ format: Exposition.Format, _ coding: AnswerCoding,
        _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let now = ContinuousClock.now
        let isNew = state.withLock { state in
            state.lastScrape = now
            state.lastID += 1
            state.waiting[state.lastID] = Waiting(
                format: format, coding: coding, until: now + Self.patience, answer: answer)
            return state.ask(format, now)
        }
        wakes.put(())
        if isNew { ask(format) }
    }

    /// Asks the state writer for a page, which answers whoever waits by then.
    private func ask(_ format: Exposition.Format) {
        writer.ask { [self] view in
            let writtenAt = ContinuousClock.now
            let (lastID, room) = state.withLock { ($0.lastID, $0.copies[format]?.page.count) }
            let part = StateMetrics(
                engine: view.engine, store: view.store, format: format, room: room)
            compressor.take { [self] gzip in
                let page = part.page(
                    edge: edge, listener: listener(), member: writer.memberStats, process: .read())
                answer(page, format, to: lastID, writtenAt, gzip)
            }
        }
    }

    /// Answers those who asked before a page was begun; those who came since wait for the next one. So no
    /// more pages are written than are answered, however many scrape.
    private func answer(
        _ page: [UInt8], _ format: Exposition.Format, to lastID: UInt64,
        _ writtenAt: ContinuousClock.Instant, _ gzip: GzipWriter?
    ) {
        let (answered, isMore): ([Waiting], Bool) = state.withLock { state in
            state.copies[format] = Copy(page: page, writtenAt: writtenAt)
            state.asked[format] = nil
            let ids = state.waiting.filter { $0.key <= lastID && $0.value.format == format }.keys
            let answered = ids.compactMap { state.waiting.removeValue(forKey: $0) }
            let isMore = state.waiting.values.contains { $0.format == format }
            return (answered, isMore && state.ask(format, .now))
        }
        if isMore { ask(format) }
        Self.answer(answered, page, format, gzip)
    }

    /// Answers all with a page, compressed once for those who want it so.
    private static func answer(
        _ all: [Waiting], _ page: [UInt8], _ format: Exposition.Format, _ gzip: GzipWriter?
    ) {
        let plain = HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", "\(format.contentType)"), ("Vary", MetricsNegotiation.vary),
            ], body: page)
        let isPacked = all.contains { $0.coding == .gzip }
        let packed = isPacked ? plain.compressed(by: gzip) : plain
        for waiting in all { waiting.answer(waiting.coding == .gzip ? packed : plain) }
    }

    // MARK: - The thread

    private func run() {
        while let next = state.withLock({ $0.isClosed ? nil : $0.nextWork }) {
            _ = wakes.takeAll(waiting: max(0, Int64((next - .now) / .milliseconds(1)) + 1))
            let now = ContinuousClock.now
            answerOverdue(now)
            for format in state.withLock({ $0.oldFormats(now) }) { ask(format) }
        }
    }

    /// Answers scrapes that waited too long and for which there is a copy.
    private func answerOverdue(_ now: ContinuousClock.Instant) {
        for format in Exposition.Format.allCases {
            let (late, copy): ([Waiting], Copy?) = state.withLock { state in
                guard let copy = state.copies[format] else { return ([], nil) }
                let ids = state.waiting.filter { $0.value.until <= now }
                    .filter { $0.value.format == format }.keys
                return (ids.compactMap { state.waiting.removeValue(forKey: $0) }, copy)
            }
            guard let copy, !late.isEmpty else { continue }
            let age = Milliseconds(Int64((now - copy.writtenAt) / .milliseconds(1)))
            compressor.take { gzip in
                Self.answer(late, MetricsExposition.aged(copy.page, by: age), format, gzip)
            }
        }
    }
}
