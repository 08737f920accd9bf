import RollcallCore
import RollcallSupport
import Synchronization

/// Answers scrapes in time, whatever the state writer is at.
///
/// The state writer writes its part of the page after the turn that a scrape arrived in, one for all
/// that wait; the compressor's thread writes the rest, makes messages of the page in OpenMetrics for who
/// wants those, and answers. If that takes longer than 200 ms, the scraper gets the last copy, which is
/// renewed every second while anybody scrapes and tells its age. Source: J8, V16, V22, §13 D1.
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
        var language: MetricsNegotiation.Language
        var coding: AnswerCoding
        var until: ContinuousClock.Instant
        var answer: @Sendable (HTTPResponse) -> Void

        var format: Exposition.Format { language.format }
    }

    private struct Copy: Sendable {
        var page: MetricsText
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
            let late = waiting.values.filter { copies[$0.format] != nil }.map(\.until)
            guard let lastScrape, now - lastScrape < renewFor else {
                return late.min() ?? now + idleFor
            }
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

    /// Answers once with the page that a scraper would get in OpenMetrics. The copy is not renewed for whoever
    /// asks so, and may be as old as their last question: the state writer has `patience` to write another.
    func page(within patience: Duration, _ answer: @escaping @Sendable ([UInt8]) -> Void) {
        scrape(.written(.openMetrics), .plain, isRenewing: false, within: patience) {
            answer($0.body)
        }
    }

    /// Answers a scrape once, from the state writer or from the copy.
    func scrape(
        _ language: MetricsNegotiation.Language, _ coding: AnswerCoding, isRenewing: Bool = true,
        within patience: Duration = ScrapeCache.patience,
        _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let now = ContinuousClock.now
        let format = language.format
        let isNew = state.withLock { state in
            if isRenewing { state.lastScrape = now }
            state.lastID += 1
            state.waiting[state.lastID] = Waiting(
                language: language, coding: coding, until: now + patience, answer: answer)
            return state.ask(format, now)
        }
        wakes.put(())
        if isNew { ask(format) }
    }

    /// Asks the state writer for a page, which answers whoever waits by then.
    private func ask(_ format: Exposition.Format) {
        writer.ask { [self] view in
            let writtenAt = ContinuousClock.now
            let (lastID, room) = state.withLock {
                ($0.lastID, $0.copies[format]?.page.bytes.count)
            }
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
        _ page: MetricsText, _ format: Exposition.Format, to lastID: UInt64,
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

    /// Answers all with a page, made once in each language that somebody waits for, and compressed once. Who
    /// takes it as it is written does not wait for messages.
    private static func answer(
        _ all: [Waiting], _ page: MetricsText, _ format: Exposition.Format, _ gzip: GzipWriter?
    ) {
        let groups = Dictionary(grouping: all, by: \.language)
            .sorted { $0.key != .protobuf && $1.key == .protobuf }
        for (language, waiting) in groups {
            let plain = response(page, format, language)
            let isPacked = waiting.contains { $0.coding == .gzip }
            let packed = isPacked ? plain.compressed(by: gzip) : plain
            for one in waiting { one.answer(one.coding == .gzip ? packed : plain) }
        }
    }

    private static func response(
        _ page: MetricsText, _ format: Exposition.Format, _ language: MetricsNegotiation.Language
    ) -> HTTPResponse {
        var type = "\(format.contentType)"
        var body = page.bytes
        // Who asks for messages reads text as well.
        if language == .protobuf, let messages = page.messages {
            type = MetricMessages.contentType
            body = messages
        }
        return HTTPResponse(
            status: 200,
            headers: [("Content-Type", type), ("Vary", MetricsNegotiation.vary)], body: body)
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
                var page = copy.page
                page.bytes = MetricsExposition.aged(page.bytes, by: age)
                Self.answer(late, page, format, gzip)
            }
        }
    }
}
