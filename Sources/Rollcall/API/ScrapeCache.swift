import RollcallCore
import RollcallSupport
import Synchronization

/// Answers scrapes in time, whatever the state writer is at.
///
/// The state writer renders the page after the turn that a scrape arrived in. If that takes longer
/// than 200 ms, the scraper gets the last copy, which is renewed every second while anybody scrapes
/// and tells its age. Source: J8, §13 D1.
final class ScrapeCache: Sendable {
    /// The time that the state writer may take.
    private static let patience = Duration.milliseconds(200)
    /// The interval at which the copy is renewed.
    private static let renewEvery = Duration.seconds(1)
    /// The time after the last scrape for which that goes on.
    private static let renewFor = Duration.seconds(120)
    /// The time for which the thread sleeps while nobody scrapes.
    private static let idleFor = Duration.seconds(3600)

    private struct Waiting: Sendable {
        var format: Exposition.Format
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
        var nextID: UInt64 = 0
        var lastScrape: ContinuousClock.Instant?
        var lastRenewal = ContinuousClock.now
        var isRenewing = false
        var isClosed = false

        /// The instant at which a scrape is late or the copies are to be renewed; far away while
        /// nobody scrapes.
        var nextWork: ContinuousClock.Instant {
            let now = ContinuousClock.now
            guard let lastScrape, now - lastScrape < renewFor else { return now + idleFor }
            let late = waiting.values.filter { copies[$0.format] != nil }.map(\.until)
            // One that the state writer does not answer ends by itself: nothing is to be done until
            // then.
            let renewal = isRenewing ? now + renewEvery : lastRenewal + renewEvery
            return min(late.min() ?? renewal, renewal)
        }
    }

    private let writer: StateWriter
    private let edge: EdgeStats
    private let listener: @Sendable () -> HTTPStats
    private let state = Mutex(State())
    /// Puts an end to the thread's sleep: there is a scrape, or it is to end.
    private let wakes = Mailbox<Void>()

    /// A cache that asks `writer`, and `listener` for what it counted; its thread runs until
    /// `close`.
    init(
        writer: StateWriter, edge: EdgeStats, listener: @escaping @Sendable () -> HTTPStats
    ) {
        self.writer = writer
        self.edge = edge
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
    func scrape(_ format: Exposition.Format, _ answer: @escaping @Sendable (HTTPResponse) -> Void) {
        let now = ContinuousClock.now
        let id = state.withLock { state in
            state.lastScrape = now
            state.nextID += 1
            state.waiting[state.nextID] = Waiting(
                format: format, until: now + Self.patience, answer: answer)
            return state.nextID
        }
        wakes.put(())
        writer.ask { [self] view in
            let page = render(view, format)
            let waiting = state.withLock { state in
                state.copies[format] = Copy(page: page, writtenAt: .now)
                return state.waiting.removeValue(forKey: id)
            }
            waiting?.answer(Self.response(page, format))
        }
    }

    private func render(_ view: StateView, _ format: Exposition.Format) -> [UInt8] {
        MetricsExposition.bytes(
            engine: view.engine, edge: edge, store: view.store, listener: listener(),
            member: writer.memberStats, process: .read(), format: format)
    }

    private static func response(_ page: [UInt8], _ format: Exposition.Format) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", "\(format.contentType)"), ("Vary", MetricsNegotiation.vary),
            ], body: page)
    }

    // MARK: - The thread

    private func run() {
        while let next = state.withLock({ $0.isClosed ? nil : $0.nextWork }) {
            _ = wakes.takeAll(waiting: max(0, Int64((next - .now) / .milliseconds(1)) + 1))
            let now = ContinuousClock.now
            for (answer, page, format) in overdue(now) { answer(Self.response(page, format)) }
            renew(now)
        }
    }

    /// Scrapes that waited too long and for which there is a copy.
    private func overdue(
        _ now: ContinuousClock.Instant
    ) -> [(@Sendable (HTTPResponse) -> Void, [UInt8], Exposition.Format)] {
        state.withLock { state in
            let late = state.waiting.filter { $0.value.until <= now }
            return late.compactMap { id, waiting in
                guard let copy = state.copies[waiting.format] else { return nil }
                state.waiting[id] = nil
                let age = Milliseconds(Int64((now - copy.writtenAt) / .milliseconds(1)))
                return (waiting.answer, MetricsExposition.aged(copy.page, by: age), waiting.format)
            }
        }
    }

    private func renew(_ now: ContinuousClock.Instant) {
        let formats: [Exposition.Format] = state.withLock { state in
            guard let last = state.lastScrape, now - last < Self.renewFor, !state.isRenewing,
                now - state.lastRenewal >= Self.renewEvery
            else { return [] }
            state.isRenewing = true
            state.lastRenewal = now
            return Array(state.copies.keys)
        }
        guard !formats.isEmpty else { return state.withLock { $0.isRenewing = false } }
        writer.ask { [self] view in
            let pages = formats.map { ($0, render(view, $0)) }
            state.withLock { state in
                for (format, page) in pages {
                    state.copies[format] = Copy(page: page, writtenAt: .now)
                }
                state.isRenewing = false
            }
        }
    }
}
