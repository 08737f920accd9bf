import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// Sends one subscriber what is decided, in order and at least once, on a thread of its own. How far they
/// have come is an event of the watch, committed after their 2xx: a kill in between sends the same again,
/// under the same ids. Source: E2.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; the
/// mailbox is what other threads see.
final class SubscriptionSender: @unchecked Sendable {
    /// Milliseconds within which what is decided is one batch.
    private static let gather: Int64 = 1000
    /// Milliseconds between two attempts, growing; with ±20 % by chance.
    private static let pauses: [Int64] = [1000, 2000, 4000, 8000, 15_000, 30_000, 60_000]
    /// Milliseconds between two looks at whether we lead by now, or the store can be read again.
    private static let lookEvery: Int64 = 1000
    /// Milliseconds between two looks at a store that cannot be read.
    private static let unreadableWait: Int64 = 10_000
    /// Milliseconds of sleep without anything to do.
    private static let idleWait: Int64 = 60_000
    /// Events for others behind which the place is kept all the same.
    private static let markEvery: Int64 = 10_000
    /// Milliseconds for which the state writer is waited for.
    private static let writerPatience: Int64 = 10_000
    /// Pages looked through for one batch at most.
    private static let pagesMax = 20

    private enum Message: Sendable {
        case follow(SubscriptionSettings)
        case decided
        case close
    }

    /// The state of the watch as the sender needs it.
    private struct Present: Sendable {
        let mark: Int64?
        let epoch: UInt64
        let isFollowing: Bool
        let now: Timestamp
    }

    private let writer: StateWriter
    private let book: SubscriptionBook
    private let erasedIDs: ErasedIDs
    private let mailbox = Mailbox<Message>()
    private let name: String

    private var settings: SubscriptionSettings
    private let caller: SubscriptionCaller
    private var store: HistoryReader?
    /// The number behind which the next batch begins; nil before the watch was asked.
    private var place: Int64?
    private var epoch: UInt64 = 0
    /// The newest decision when the settings named the subscriber, before a reload was answered; -1 if
    /// that is not known, or of the past: another member led since.
    private let head = Atomic<Int64>(-1)
    /// The place that the watch keeps.
    private var kept: Int64 = 0
    /// True after a place that could not be kept: it is kept before anything else is sent.
    private var owesPlace = false
    private var isStopped = false
    /// True while the store cannot be read.
    private var isUnreadable = false
    /// True from `close` on.
    private let isOver = Atomic(false)
    private var failures = 0
    /// The instant of the machine's clock before which nothing is tried.
    private var notBefore: Int64 = 0
    private var listener = 0

    /// A sender of `writer`'s events to whom `settings` name, to be started; how it stands is told to
    /// `book`.
    init(
        _ settings: SubscriptionSettings, writer: StateWriter, book: SubscriptionBook,
        erasedIDs: ErasedIDs
    ) {
        self.erasedIDs = erasedIDs
        self.settings = settings
        name = settings.name
        self.writer = writer
        self.book = book
        caller = SubscriptionCaller(permit: writer.endpoints.permit)
        writer.ask { [self] view in
            head.store(view.engine.newestDecision, ordering: .releasing)
        }
    }

    /// Starts the thread; false if the system has none left.
    func start() -> Bool { DetachedThread.start(stackBytes: 8 << 20) { [self] in run() } }

    /// Takes other settings of the same name.
    func follow(_ settings: SubscriptionSettings) { mailbox.put(.follow(settings)) }

    /// Ends the thread after what it is at, and does not wait for that.
    func close() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        mailbox.put(.close)
    }

    // MARK: - The thread

    private func run() {
        listener = writer.decided.follow { [mailbox] in mailbox.put(.decided) }
        defer { writer.decided.leave(listener) }
        var wait: Int64 = 0
        while true {
            for message in mailbox.takeAll(waiting: wait) {
                switch message {
                case .follow(let new): take(new)
                case .decided: break
                case .close: return
                }
            }
            let now = ClockReading.now().elapsed
            wait = isStopped ? Self.idleWait : now < notBefore ? notBefore - now : step()
        }
    }

    private func take(_ new: SubscriptionSettings) {
        // Whoever reloads has mended something, or wants to know whether the subscriber has.
        if isStopped || new.isElsewhere(than: settings) { notBefore = 0 }
        isStopped = false
        settings = new
    }

    /// Sends a batch if there is one; returns how long to sleep if nothing happens.
    private func step() -> Int64 {
        guard let present = present() else { return Self.lookEvery }
        guard !present.isFollowing else {
            // Whoever leads goes on; we begin where they are, once we do.
            place = nil
            owesPlace = false
            head.store(-1, ordering: .relaxed)
            book.change(name) { $0.state = .following }
            return Self.lookEvery
        }
        do throws(StoreError) {
            let reader = try writer.history(&store)
            let kept = try reader.decisionsKept()
            if present.epoch != epoch { place = nil }
            epoch = present.epoch
            guard let begin = place ?? present.mark else {
                // From the head on, also where all of it is cut.
                let named = head.load(ordering: .acquiring)
                let begin = named >= 0 ? named : max(kept.newest, writer.decided.newest)
                return keep(begin) ? 0 : Self.lookEvery
            }
            if place == nil { self.kept = present.mark ?? begin }
            place = begin
            // What was taken is not sent again because the store did not take the place.
            if owesPlace, !keep(begin) { return Self.lookEvery }
            return try step(from: begin, kept, present, reader)
        } catch {
            store = nil
            let text = "events cannot be read: \(error)"
            book.change(name) { standing in
                standing.state = .trying
                standing.error = text
                standing.waitingSince = standing.waitingSince ?? present.now
            }
            if !isUnreadable {
                writer.log.error(
                    "events cannot be read for a subscription",
                    metadata: ["subscription": "\(name)", "error": "\(error)"])
            }
            isUnreadable = true
            return Self.unreadableWait
        }
    }

    private func step(
        from begin: Int64, _ stored: DecisionsKept, _ present: Present, _ reader: HistoryReader
    ) throws(StoreError) -> Int64 {
        var batch = SubscriptionBatch(behind: begin, epoch: epoch)
        if stored.isCut(behind: begin) { batch.jump(to: stored.start) }
        let oldest = present.now - settings.lagMax
        var isEnd = false
        for _ in 0..<Self.pagesMax where !isEnd && !batch.isFull {
            let work = HistoryWork(reader, writer: writer)
            guard
                let page = try EventPage(
                    behind: batch.through, epoch: epoch, work, erased: erasedIDs)
            else { return Self.lookEvery }
            batch.take(page, for: settings, from: oldest)
            isEnd = page.isEnd
        }
        isUnreadable = false
        guard let body = batch.body(now: present.now) else {
            place = batch.through
            book.change(name) { standing in
                standing.error = nil
                standing.state = .idle
                standing.waitingSince = nil
            }
            if batch.through - kept > Self.markEvery { _ = keep(batch.through) }
            return isEnd ? Self.idleWait : 0
        }
        book.change(name) { standing in
            standing.waitingSince = batch.firstAt ?? present.now
            if case .idle = standing.state { standing.state = .sending }
        }
        let age = batch.firstAt.map { (present.now - $0).count } ?? Self.gather
        // The wall may have been set back since.
        if !batch.isFull, isEnd, (0..<Self.gather).contains(age) {
            return max(10, Self.gather - age)
        }
        return send(batch, body, at: present.now)
    }

    private func send(_ batch: SubscriptionBatch, _ body: [UInt8], at now: Timestamp) -> Int64 {
        let result = caller.send(body, id: batch.id(of: body), to: settings, now: now)
        switch result.kind {
        case .delivered:
            owesPlace = !keep(batch.through)
            place = batch.through
            if failures > 0 {
                writer.log.info(
                    "a subscriber takes events again", metadata: ["subscription": "\(name)"])
            }
            failures = 0
            book.change(name) { standing in
                standing.sent += batch.count
                standing.skipped += batch.skipped
                standing.waitingSince = nil
                standing.error = nil
                standing.state = .idle
            }
            return 0
        case .refused: stop(result.error ?? "it refuses")
        default: retry(result)
        }
        return Self.lookEvery
    }

    private func stop(_ error: String) {
        isStopped = true
        failures += 1
        book.change(name) { standing in
            standing.failed += 1
            standing.error = error
            standing.state = .stopped
        }
        writer.log.error(
            "a subscriber refuses events for good: nothing is sent to it before a reload",
            metadata: ["subscription": "\(name)", "error": "\(error)"])
    }

    private func retry(_ result: AttemptResult) {
        let pause = Self.pauses[min(failures, Self.pauses.count - 1)]
        let spread = Int64.random(in: -pause / 5...pause / 5)
        let asked = result.retryAfter?.count ?? 0
        notBefore = ClockReading.now().elapsed + max(pause + spread, asked)
        failures += 1
        let error = result.error ?? "no answer"
        book.change(name) { standing in
            standing.failed += 1
            standing.error = error
            standing.state = .trying
        }
        guard failures == 1 else { return }
        writer.log.warning(
            "a subscriber does not take events: they are kept and tried again",
            metadata: ["subscription": "\(name)", "error": "\(error)"])
    }

    // MARK: - The watch

    private func present() -> Present? {
        let bytes = Array(name.utf8)
        return writer.answer(within: Self.writerPatience) { view in
            Present(
                mark: view.engine.subscriptions.number(of: bytes), epoch: view.eventEpoch,
                isFollowing: view.isFollowing, now: view.engine.clock.wallNow)
        }
    }

    /// Keeps a place in the watch; false if that is not known to be committed.
    private func keep(_ number: Int64) -> Bool {
        let answers = Mailbox<Bool>()
        let mark = SubscriptionMark(name: Array(name.utf8), number: number)
        // Whom the settings do not name any more is forgotten, and stays so.
        if isOver.load(ordering: .sequentiallyConsistent) { return false }
        writer.write(.subscription(mark)) { outcome in
            if case .committed(let receipt) = outcome {
                answers.put(receipt.accepted > 0)
            } else {
                answers.put(false)
            }
        }
        guard answers.takeAll(waiting: Self.writerPatience).first == true else { return false }
        (place, kept) = (number, number)
        owesPlace = false
        return true
    }
}

/// Those to whom events are sent: a sender for each, as the settings have them. Source: E2.
package final class SubscriptionSenders: Sendable {
    /// Seconds between two tries to forget who is not named any more.
    private static let forgetEvery: UInt32 = 5

    private struct State {
        var senders: [(name: String, sender: SubscriptionSender)] = []
        var isClosed = false
    }

    private let writer: StateWriter
    private let book: SubscriptionBook
    private let erasedIDs: ErasedIDs
    private let state = Mutex(State())

    /// No subscriptions yet.
    package init(writer: StateWriter, edge: EdgeStats, erasedIDs: ErasedIDs) {
        self.writer = writer
        self.erasedIDs = erasedIDs
        book = edge.subscriptions
    }

    /// Has the subscriptions that the settings name. Of one that they do not name any more the place is
    /// forgotten: if it comes back it begins anew.
    package func follow(_ configuration: Configuration) {
        let wanted = configuration.subscriptions
        state.withLock { state in
            if state.isClosed { return }
            book.follow(wanted.map(\.name))
            for (name, sender) in state.senders where !wanted.contains(where: { $0.name == name }) {
                sender.close()
            }
            state.senders = wanted.compactMap { settings in
                if let known = state.senders.first(where: { $0.name == settings.name }) {
                    known.sender.follow(settings)
                    return known
                }
                return start(settings).map { (settings.name, $0) }
            }
        }
        forget()
    }

    private func start(_ settings: SubscriptionSettings) -> SubscriptionSender? {
        let sender = SubscriptionSender(
            settings, writer: writer, book: book, erasedIDs: erasedIDs)
        if sender.start() { return sender }
        writer.log.error(
            "the system has no thread left: nothing is sent to a subscription",
            metadata: ["subscription": "\(settings.name)"])
        return nil
    }

    /// Forgets the places of whom the settings do not name. A member that follows tries again: it may
    /// lead by then.
    private func forget() {
        writer.ask { [self] view in
            let names = state.withLock { $0.senders.map { Array($0.name.utf8) } }
            for name in view.engine.subscriptions.names where !names.contains(name) {
                writer.write(.subscription(SubscriptionMark(name: name, number: -1))) {
                    [self] outcome in
                    if case .unavailable = outcome { forgetLater() }
                }
            }
        }
    }

    private func forgetLater() {
        _ = DetachedThread.start { [self] in
            sleep(Self.forgetEvery)
            if !state.withLock({ $0.isClosed }) { forget() }
        }
    }

    /// Ends all, and does not wait for that.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            for (_, sender) in state.senders { sender.close() }
            state.senders = []
        }
    }
}
