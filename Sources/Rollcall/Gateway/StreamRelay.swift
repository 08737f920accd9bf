import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// Passes streams of events on from one cell, or from the fleet cell, each by a thread of its own. No cell takes
/// them all, and one that does not begin soon is let go. Source: K5.
final class StreamRelay: Sendable {
    /// Streams at once at most, whatever the settings say: each has a thread.
    static let streamsMax = 256
    /// Streams that are asked for and have not begun, of one cell at most.
    static let beginningMax = 64
    /// Milliseconds until a stream begins.
    static let beginsWithin: Int64 = 2000
    /// Seconds without a byte after which a stream is over: a cell says something every fifteen.
    private static let silenceMax = 60
    /// The longest that one stream lasts; who follows comes back by itself.
    private static let longest = Milliseconds.seconds(24 * 3600)
    /// Milliseconds for which somebody who takes nothing is waited for.
    private static let takesWithin: Int64 = 30_000
    /// Milliseconds between two looks while somebody takes nothing.
    private static let lookEvery: Int32 = 500
    /// Milliseconds until the listener has handed over the connection.
    private static let handedOverWithin: Int64 = 2000

    /// The streams of one cell.
    private struct Share: Sendable {
        var count = 0
        var beginning = 0
    }

    /// A stream on its way.
    private final class Passage: Sendable {
        let cell: [UInt8]
        /// The instant at which it is given up if it has not begun, by the machine's clock.
        let until = ClockReading.now().elapsed + beginsWithin
        /// The way to the client, once it has begun.
        let stream = Mutex<HTTPStream?>(nil)
        let hasBegun = Atomic(false)

        init(of cell: [UInt8]) { self.cell = cell }
    }

    private let pool: CallPool
    /// Streams of one cell at most: half of all, so that others have some whatever becomes of it.
    private let ofCellMax: Int
    private let shares = Mutex<[[UInt8]: Share]>([:])
    private let isClosing = Atomic(false)

    /// A relay for so many streams at once at most.
    init(streamsMax: Int) {
        let most = min(streamsMax, Self.streamsMax)
        pool = CallPool(threadsMax: most)
        ofCellMax = max(1, most / 2)
    }

    /// Ends the streams, within about a second.
    func close() {
        isClosing.store(true, ordering: .relaxed)
        pool.close()
    }

    /// Passes on the stream of a cell that `call` asks for; `answer` is called once, with it or with what the
    /// cell says instead. `failed` is told why there is none.
    func pass(
        _ call: HTTPCall, of cell: CellMap.Cell,
        failed: @escaping @Sendable (HTTPCallError) -> Void,
        answer: @escaping @Sendable (HTTPResponse) -> Void
    ) {
        let passage = Passage(of: cell.name)
        guard enter(passage) else {
            return answer(Self.full(", of \(Gateway.words(cell))"))
        }
        var call = call
        call.timeout = Self.longest
        call.idleSecondsMax = Self.silenceMax
        call.isAwaited = { [self] in isAwaited(passage) }
        let isTaken = pool.take { [self, call] caller in
            defer { leave(passage) }
            guard let caller else { return answer(Router.unavailable(CellCalls.noLibrary)) }
            do throws(HTTPCallError) {
                let other = try run(call, caller, passage, answer)
                if let other { answer(Gateway.response(.answered(other), of: cell)) }
            } catch {
                guard !passage.hasBegun.load(ordering: .relaxed) else { return }
                failed(error)
                answer(Router.unavailable("\(Gateway.words(cell)) \(CellCalls.reason(of: error))"))
            }
        }
        guard !isTaken else { return }
        leave(passage)
        answer(Self.full(""))
    }

    private static func full(_ whose: String) -> HTTPResponse {
        Router.unavailable("as many streams of events\(whose) as there may be are open already")
    }

    // MARK: - Shares

    private func enter(_ passage: Passage) -> Bool {
        shares.withLock { shares in
            let share = shares[passage.cell] ?? Share()
            guard share.count < ofCellMax, share.beginning < Self.beginningMax else { return false }
            shares[passage.cell] = Share(count: share.count + 1, beginning: share.beginning + 1)
            return true
        }
    }

    private func begin(_ passage: Passage) {
        passage.hasBegun.store(true, ordering: .relaxed)
        shares.withLock { $0[passage.cell]?.beginning -= 1 }
    }

    private func leave(_ passage: Passage) {
        let hasBegun = passage.hasBegun.load(ordering: .relaxed)
        shares.withLock { shares in
            shares[passage.cell]?.count -= 1
            if !hasBegun { shares[passage.cell]?.beginning -= 1 }
        }
    }

    /// True while there is somebody who wants the stream, and it begins in time.
    private func isAwaited(_ passage: Passage) -> Bool {
        if isClosing.load(ordering: .relaxed) { return false }
        if !passage.hasBegun.load(ordering: .relaxed) {
            return ClockReading.now().elapsed < passage.until
        }
        return passage.stream.withLock { stream in stream.map { !Self.isLeft($0) } ?? true }
    }

    /// True if the client has closed, or is gone.
    private static func isLeft(_ stream: HTTPStream) -> Bool {
        var polled = pollfd(fd: stream.descriptor, events: rdHup, revents: 0)
        guard poll(&polled, 1, 0) > 0 else { return false }
        return polled.revents & (rdHup | Int16(POLLHUP) | Int16(POLLERR)) != 0
    }

    /// POLLRDHUP, "stream socket peer closed connection", which is Linux's alone. Source: poll(2).
    private static let rdHup: Int16 = 0x2000

    // MARK: - One stream

    /// Runs a stream to its end; returns what the cell says instead of one.
    private func run(
        _ call: HTTPCall, _ caller: HTTPCaller, _ passage: Passage,
        _ answer: @escaping @Sendable (HTTPResponse) -> Void
    ) throws(HTTPCallError) -> HTTPCallAnswer? {
        let other = try caller.answer(to: call) { [self] bytes in
            if !passage.hasBegun.load(ordering: .relaxed) {
                begin(passage)
                let stream = Self.handedOver(answer)
                passage.stream.withLock { $0 = stream }
            }
            guard let stream = passage.stream.withLock({ $0 }) else { return false }
            return send(Array(bytes), over: stream)
        }
        return passage.hasBegun.load(ordering: .relaxed) ? nil : other
    }

    /// Answers by a stream, and waits for it; nil if the client is gone.
    private static func handedOver(
        _ answer: @Sendable (HTTPResponse) -> Void
    ) -> HTTPStream? {
        let handed = Mailbox<HTTPStream>()
        var response = HTTPResponse(
            status: 200,
            headers: [("Content-Type", "text/event-stream"), ("X-Accel-Buffering", "no")])
        response.stream = { handed.put($0) }
        answer(response)
        guard let stream = handed.takeAll(waiting: handedOverWithin).first else { return nil }
        return stream.send(stream.head[...]) == stream.head.count ? stream : nil
    }

    /// Sends all of some bytes; false if the client is gone, or takes nothing, or all is over.
    private func send(_ bytes: [UInt8], over stream: HTTPStream) -> Bool {
        var rest = bytes[...]
        let until = ClockReading.now().elapsed + Self.takesWithin
        while !isClosing.load(ordering: .relaxed) {
            guard let count = stream.send(rest) else { return false }
            rest = rest.dropFirst(count)
            if rest.isEmpty { return true }
            guard ClockReading.now().elapsed < until, !Self.isLeft(stream) else { return false }
            var polled = pollfd(fd: stream.descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&polled, 1, Self.lookEvery)
        }
        return false
    }
}
