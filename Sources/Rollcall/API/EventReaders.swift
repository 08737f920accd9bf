import Glibc
import Logging
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// Those who read events: who asks for a page, who waits for one, who follows a stream. On a thread of
/// its own, by a read-only connection: neither the listener nor the state writer waits for any of
/// them, and what is sent to many is read once. Source: E1, E3.
///
/// `@unchecked Sendable` is true because everything mutable is touched by its own thread alone; what
/// other threads see are mailbox, lock and atomics.
final class EventReaders: @unchecked Sendable {
    /// Bytes that may wait for one reader: what comes after is read once they are sent.
    static let unsentMax = 64 << 10
    /// A stream that takes nothing of what waits for it for so long is cut.
    static let takesWithin = Milliseconds.seconds(30)
    /// A stream whose client has not left meanwhile begins sooner.
    private static let beginsWithin = Milliseconds(2000)
    /// A stream hears something at least so often.
    static let commentEvery = Milliseconds.seconds(15)
    /// Pages read for one page's answer at most, if a filter leaves nothing of them.
    private static let pagesMax = 20
    /// Pages read between two looks at the sockets.
    private static let pagesARound = 8
    /// Milliseconds after which the connection to the store is given back, without a reader.
    private static let idleMax: Int64 = 60_000

    typealias Answer = @Sendable (HTTPResponse) -> Void

    /// A question as it comes in.
    struct Question: Sendable {
        let query: EventQuery
        let epoch: UInt64
        /// True at a member that follows: a cursor from another may be ahead of what is known here.
        let isFollowing: Bool
        /// True of a stream.
        let isStream: Bool
        let caller: Caller?
        let answer: Answer
    }

    private enum Message: Sendable {
        case question(Question)
        case stream(HTTPStream, key: UInt64)
        /// The answer of `GET /v1/status`.
        case watch([UInt8])
        case close
    }

    private let writer: StateWriter
    private let accessPolicy: AccessPolicy
    private let edge: EdgeStats
    private var stats: EventStreamStats { edge.eventStreams }
    private let streamsMax: Int
    private let messages = Mailbox<Message>()
    private let poller: SocketPoller?
    /// True while somebody reads: else nobody is woken for what is decided.
    private let hasReaders = Atomic(false)
    /// As the state writer knows us; set before any other thread does.
    private var listener = 0
    private let erasedIDs: ErasedIDs
    /// True while there is a thread that takes messages.
    private let isRunning: Mutex<Bool>
    private var readers: [UInt64: EventFollower] = [:]
    private var nextKey: UInt64 = 1
    private var store: HistoryReader?
    private var newest: Int64 = 0
    private var lastUse: Int64 = 0
    private var access: Access
    private var isClosed = false
    private var report: WatchReport?
    /// The instant at which the watch was asked how it stands.
    private var reportAskedAt = -WatchReport.every.count
    private var isReportAsked = false

    /// Readers of `writer`'s events, counted in `edge`, at most `streamsMax` of whom follow a stream, for as long as
    /// `accessPolicy` lets them in. Its thread runs until `close`.
    init(
        writer: StateWriter, accessPolicy: AccessPolicy, edge: EdgeStats, streamsMax: Int,
        erasedIDs: ErasedIDs
    ) {
        self.erasedIDs = erasedIDs
        self.writer = writer
        self.edge = edge
        self.accessPolicy = accessPolicy
        self.streamsMax = streamsMax
        access = accessPolicy.rules.access
        poller = SocketPoller()
        isRunning = Mutex(poller != nil)
        guard poller != nil, DetachedThread.start(stackBytes: 8 << 20, { [self] in run() }) else {
            isRunning.withLock { $0 = false }
            return
        }
        listener = writer.decided.follow { [weak self] in
            guard let self, hasReaders.load(ordering: .sequentiallyConsistent) else { return }
            poller?.wake()
        }
    }

    /// Ends all streams, answers who waits, and ends the thread.
    func close() {
        writer.decided.leave(listener)
        isRunning.withLock { isRunning in
            if isRunning { put(.close) }
            isRunning = false
        }
    }

    /// Takes a question; it is answered once, on another thread.
    func ask(_ question: Question) {
        let isTaken = isRunning.withLock { isRunning in
            if isRunning { put(.question(question)) }
            return isRunning
        }
        if !isTaken { question.answer(Router.unavailable("no events are read here any more")) }
    }

    /// Takes a stream's wire; it is let go, and ends, once nobody reads any more.
    private func begin(_ stream: HTTPStream, of key: UInt64) {
        isRunning.withLock { if $0 { put(.stream(stream, key: key)) } }
    }

    private func put(_ message: Message) {
        messages.put(message)
        poller?.wake()
    }

    // MARK: - The thread

    private func run() {
        guard let poller else { return }
        var hasMore = false
        while !isClosed {
            for event in poller.wait(for: sockets, milliseconds: hasMore ? 0 : pause) {
                guard let reader = readers[event.key] else { continue }
                if event.isClosed { end(reader) } else if event.isWritable { flush(reader) }
            }
            let now = ClockReading.now().elapsed
            for message in messages.takeAll(waiting: 0) { take(message, now) }
            newest = max(newest, writer.decided.newest)
            hasMore = serve(now)
            tend(now)
            hasReaders.store(!readers.isEmpty, ordering: .sequentiallyConsistent)
        }
        for key in readers.keys.sorted() { readers[key].map { end($0) } }
    }

    private var sockets: [SocketPoller.Socket] {
        readers.values.compactMap { reader in
            reader.stream.map {
                SocketPoller.Socket($0.descriptor, key: reader.key, wantsRoom: reader.isBlocked)
            }
        }
    }

    /// Milliseconds to sleep if nothing happens: who waits and who follows is looked at each second.
    private var pause: Int32 { readers.isEmpty && store == nil ? -1 : 1000 }

    private func take(_ message: Message, _ now: Int64) {
        switch message {
        case .question(let question): take(question, now)
        case .stream(let stream, let key):
            // Without a reader it closes here.
            guard let reader = readers[key] else { return }
            reader.begin(stream, now)
            flush(reader)
            // They wait for it.
            if reader.wantsWatch { askWatch(now) }
        case .watch(let body):
            isReportAsked = false
            report(body, now)
        case .close: isClosed = true
        }
    }

    private func take(_ question: Question, _ now: Int64) {
        if question.isStream, stats.open.load(ordering: .relaxed) >= streamsMax {
            return question.answer(
                Router.unavailable("\(streamsMax) streams of events are open already"))
        }
        let kept: DecisionsKept
        do throws(StoreError) {
            kept = try opened(now).decisionsKept()
        } catch {
            return question.answer(failed(error))
        }
        newest = max(newest, kept.newest)
        let start: Int64
        switch question.query.start {
        case .now: start = newest
        case .usual: start = question.isStream ? newest : kept.start
        case .behind(let cursor):
            let isAhead = cursor.number > newest && !question.isFollowing
            guard cursor.epoch == question.epoch, !kept.isCut(behind: cursor.number), !isAhead
            else { return question.answer(Self.gone(question, kept)) }
            start = cursor.number
        }
        // Settings may have changed since it was let in.
        guard isLetIn(question.caller, accessPolicy.rules.access) else {
            return question.answer(Self.unknownToken)
        }
        let key = nextKey
        nextKey += 1
        readers[key] = EventFollower(
            question, key: key, after: start,
            until: question.isStream ? now : now + Int64(question.query.wait) * 1000)
        hasReaders.store(true, ordering: .sequentiallyConsistent)
        guard question.isStream else { return }
        stats.open.add(1, ordering: .relaxed)
        var response = HTTPResponse(
            status: 200,
            headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")])
        response.stream = { [weak self] in self?.begin($0, of: key) }
        question.answer(response)
    }

    private static func gone(_ question: Question, _ kept: DecisionsKept) -> HTTPResponse {
        let oldest = EventCursor(epoch: question.epoch, number: kept.start)
        return .problem(
            410, "Gone",
            detail: "what was behind this cursor is gone, or was never here; "
                + "the oldest that is kept is behind \(oldest.text)")
    }

    private static var unknownToken: HTTPResponse {
        .problem(401, "Unauthorized", detail: "the token is not known any more")
    }

    private func failed(_ error: StoreError) -> HTTPResponse {
        store = nil
        writer.log.warning("events cannot be read", metadata: ["error": "\(error)"])
        return Router.unavailable("events cannot be read")
    }

    private func opened(_ now: Int64) throws(StoreError) -> HistoryReader {
        lastUse = now
        return try writer.history(&store)
    }

    // MARK: - Pages

    /// Gives readers what there is for them; true if there is more.
    private func serve(_ now: Int64) -> Bool {
        var pages: [Int64: EventPage] = [:]
        // Those who are the least behind first: who lags far behind holds none of them up.
        let order = readers.values.filter { $0.wants(newest) }.sorted {
            ($1.after, $0.key) < ($0.after, $1.key)
        }
        for reader in order {
            let page: EventPage
            if let known = pages[reader.after] {
                page = known
            } else {
                guard pages.count < Self.pagesARound else { return true }
                do throws(StoreError) {
                    let store = try opened(now)
                    let kept = try store.decisionsKept()
                    guard !kept.isCut(behind: reader.after) else {
                        // What it has not read is cut meanwhile: it is not to miss that.
                        end(reader, Self.gone(reader.question, kept))
                        continue
                    }
                    let work = HistoryWork(store, writer: writer)
                    guard
                        let read = try EventPage(
                            behind: reader.after, epoch: reader.question.epoch, work,
                            erased: erasedIDs)
                    else {
                        // The state writer is busy: nobody is to make it busier.
                        unavailable("the watch is busy")
                        return false
                    }
                    page = read
                    pages[reader.after] = read
                } catch {
                    // It is theirs: what others read may be whole. A stream's client comes back, and
                    // hears of it.
                    end(reader, failed(error))
                    return true
                }
            }
            reader.take(page, newest: newest)
            if reader.question.isStream { flush(reader) } else { settle(reader, page, now) }
        }
        return readers.values.contains { $0.wants(newest) }
    }

    private func unavailable(_ reason: String) {
        for reader in readers.values where !reader.question.isStream {
            end(reader, Router.unavailable(reason))
        }
    }

    /// Answers who asked for a page, once there is something to be said.
    private func settle(_ reader: EventFollower, _ page: EventPage?, _ now: Int64) {
        let isRead = page.map { $0.isEnd } ?? true
        let isOver = reader.until <= now && (isRead || reader.pages >= Self.pagesMax)
        guard reader.count > 0 || isOver else { return }
        // Settings, or a sign-in, may have come to their end while it waited.
        guard isLetIn(reader.question.caller, accessPolicy.rules.access) else {
            return end(reader, Self.unknownToken)
        }
        reader.answerPage()
        readers[reader.key] = nil
    }

    // MARK: - How the watch stands

    /// Asks the state writer once for all who want to know.
    private func askWatch(_ now: Int64) {
        guard !isReportAsked else { return }
        (isReportAsked, reportAskedAt) = (true, now)
        writer.ask { [edge, weak self] view in
            var body: [UInt8] = []
            StatusJSON.append(view, edge, to: &body)
            self?.put(.watch(body))
        }
    }

    private func report(_ body: [UInt8], _ now: Int64) {
        guard let next = WatchReport(body, after: report, now: now) else { return }
        report = next
        for reader in readers.values where reader.wantsWatch {
            reader.append(next)
            flush(reader)
        }
    }

    // MARK: - Streams

    private func flush(_ reader: EventFollower) {
        if reader.stream != nil, !reader.send() { end(reader) }
    }

    /// Ends a stream, or answers who asked for a page with `answer`.
    private func end(
        _ reader: EventFollower, _ answer: HTTPResponse = Router.unavailable("stopping")
    ) {
        guard readers.removeValue(forKey: reader.key) != nil else { return }
        if reader.question.isStream {
            stats.open.subtract(1, ordering: .relaxed)
        } else {
            reader.question.answer(answer)
        }
    }

    /// Looks at the clock: who has waited long enough, who takes nothing, who must hear something, whose
    /// token is gone.
    private func tend(_ now: Int64) {
        let rules = accessPolicy.rules
        let isOther = rules.access != access
        access = rules.access
        for reader in readers.values.sorted(by: { $0.key < $1.key }) {
            guard reader.question.isStream else {
                // There may be something for them that nobody has read yet.
                if reader.until <= now, !reader.wants(newest) { settle(reader, nil, now) }
                continue
            }
            if !access.isOpen,
                isOver(reader.question.caller)
                    || isOther && !isLetIn(reader.question.caller, access)
            {
                end(reader)
            } else if reader.stream == nil {
                // Whoever left before it began is never heard of again.
                if reader.until + Self.beginsWithin.count <= now { end(reader) }
            } else if reader.isStuck(at: now) {
                stats.cut.add(1, ordering: .relaxed)
                end(reader)
            } else if reader.comment(at: now) {
                flush(reader)
            }
        }
        if readers.values.contains(where: \.wantsWatch) {
            if now - reportAskedAt >= WatchReport.every.count { askWatch(now) }
        } else {
            report = nil
        }
        if readers.isEmpty, store != nil, now - lastUse > Self.idleMax { store = nil }
    }

    private func isLetIn(_ caller: Caller?, _ access: Access) -> Bool {
        if access.isOpen { return true }
        guard let caller, let known = access.named(caller.token.name) else { return false }
        return known == caller.token && known.scopes.contains(.read) && !isOver(caller)
    }

    /// True of a sign-in that is over.
    private func isOver(_ caller: Caller?) -> Bool {
        guard let session = caller?.session else { return false }
        return accessPolicy.isOver(session, at: ClockReading.now().wall)
    }
}
