import Glibc
import Synchronization

/// The connections that are open, and the thread that keeps their deadlines.
///
/// libmicrohttpd's own time-out is inactivity only: a client that sends one byte every now and
/// then would hold a connection for ever. The deadlines here are absolute. Idle, it wakes once a
/// second; `sweepPeriod` follows shorter deadlines.
///
/// `@unchecked Sendable` is true because the C handles (thread, pipe) are used by `start` and
/// `stop` only, whose caller is one thread.
final class HTTPDeadlines: @unchecked Sendable {
    /// True if more wait for a connection than will get one of those who say nothing, since the
    /// sweep before the last.
    let isAtCapacity = Atomic(false)

    private let limits: HTTPLimits
    /// Is told, now and then, how many connections are all in use.
    private let full: @Sendable (Int) -> Void
    private let state = Mutex(State())
    private var thread: pthread_t?
    /// A pipe whose hang-up wakes the watchdog.
    private var readEnd: Int32 = -1
    private var writeEnd: Int32 = -1

    private struct State {
        var connections: [ObjectIdentifier: HTTPConnection] = [:]
        /// Those over TLS that were accepted and wait for a place, suspended, in the order in which they came.
        var held: [HTTPConnection] = []
        /// False once nobody is to wait any more.
        var isHolding = true
        var stats = HTTPStats()
        /// The listening socket; -1 once it is closed.
        var listener: Int32 = -1
        /// True if more waited at the last sweep than would get a connection.
        var isTight = false
        /// True if somebody waited for a connection at the last sweep.
        var isAwaited = false
        /// The instant at which it was last told that all connections are in use.
        var loggedFull: HTTPInstant?
    }

    /// Deadlines of a server with these limits; nothing runs before `start`. `full` is told how many
    /// connections are all in use while somebody waits for one.
    init(limits: HTTPLimits, full: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.limits = limits
        self.full = full
    }

    /// The counts so far.
    var stats: HTTPStats {
        state.withLock {
            var stats = $0.stats
            stats.connectionsOpen = $0.connections.count
            stats.connectionsMax = limits.connectionsMax
            return stats
        }
    }

    /// Adds a connection that has just been accepted.
    func add(_ connection: HTTPConnection) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = connection }
    }

    /// Adds a connection over TLS that has just been accepted and is suspended; false if it has to wait until
    /// `remove` returns it, since all places are taken.
    func admit(_ connection: HTTPConnection) -> Bool {
        state.withLock {
            guard $0.isHolding, $0.connections.count >= limits.connectionsMax else {
                $0.connections[ObjectIdentifier(connection)] = connection
                return true
            }
            $0.held.append(connection)
            return false
        }
    }

    /// Takes a connection out. libmicrohttpd calls this before it closes the socket, and a sweep
    /// holds the same lock, so that no sweep meets a descriptor that belongs to somebody else. Returns
    /// the one that gets its place.
    func remove(_ connection: HTTPConnection) -> HTTPConnection? {
        state.withLock {
            $0.connections[ObjectIdentifier(connection)] = nil
            guard let next = $0.held.first, $0.connections.count < limits.connectionsMax else {
                return nil
            }
            $0.held.removeFirst()
            $0.connections[ObjectIdentifier(next)] = next
            return next
        }
    }

    /// Takes out all who wait for a place, and lets nobody wait from now on.
    func letAllIn() -> [HTTPConnection] {
        state.withLock { state in
            defer { state.held = [] }
            state.isHolding = false
            return state.held
        }
    }

    /// Watches who waits for a connection at this listening socket; -1 before it is closed.
    func watch(listener: Int32) { state.withLock { $0.listener = listener } }

    /// Counts a write that found no room for its body.
    func countRefusedWrite() { state.withLock { $0.stats.writesRefused += 1 } }

    /// Starts the watchdog.
    /// - Throws: `HTTPServerError.watchdog` if the system gives no pipe or no thread.
    func start() throws(HTTPServerError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .watchdog(errno: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
        var created = pthread_t()
        let context = Unmanaged.passRetained(self)
        let failure = pthread_create(&created, nil, runWatchdog, context.toOpaque())
        guard failure == 0 else {
            context.release()
            close(readEnd)
            close(writeEnd)
            throw .watchdog(errno: failure)
        }
        thread = created
    }

    /// Ends the watchdog and waits for it.
    func stop() {
        guard let thread else { return }
        self.thread = nil
        close(writeEnd)
        pthread_join(thread, nil)
        close(readEnd)
    }

    /// A quarter of the shortest deadline, between 10 ms and 1 s.
    private var sweepPeriod: Duration {
        let deadlines = [
            limits.headerDeadline, limits.bodyDeadline, limits.responseDeadline,
            limits.parkedDeadline, limits.lingerDeadline, limits.atCapacityDeadline,
        ]
        let shortest = deadlines.min() ?? .seconds(4)
        return max(.milliseconds(10), min(.seconds(1), shortest / 4))
    }

    /// Sweeps until `stop`.
    fileprivate func run() {
        let period = sweepPeriod
        var wake = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
        var swept = HTTPInstant.now
        var pause = period
        while true {
            let (seconds, attoseconds) = pause.components
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
            let count = poll(&wake, 1, Int32(truncatingIfNeeded: milliseconds))
            if count > 0 { return }
            let now = HTTPInstant.now
            // Whoever waits for a connection need not wait for the next sweep.
            pause = letNewcomersIn(now) ? min(period, capacityPause) : period
            // The clock is coarse: a wait of one period may look a little shorter.
            guard swept.duration(to: now) + clockCoarseness >= period else { continue }
            swept = now
            sweep()
        }
    }

    /// Ends the oldest of the connections of one network that have not sent their first head, beyond
    /// what it may have; returns whether all connections are in use.
    ///
    /// Who opens hundreds and says nothing costs nothing himself, and would make everybody else
    /// wait for `headerDeadline`.
    private func letNewcomersIn(_ now: HTTPInstant) -> Bool {
        state.withLock { state in
            let count = state.connections.count
            guard count > limits.newcomersOfNetwork else { return false }
            var networks: [UInt64: [(age: Duration, connection: HTTPConnection)]] = [:]
            for connection in state.connections.values {
                guard let age = connection.newcomerAge(at: now) else { continue }
                networks[connection.network, default: []].append((age, connection))
            }
            for newcomers in networks.values where newcomers.count > limits.newcomersOfNetwork {
                // Whose bytes lie unread is not silent: our thread is behind.
                let oldest = newcomers.filter {
                    $0.age >= limits.newcomerGrace && !hasUnread($0.connection.descriptor)
                }.sorted { $0.age > $1.age }
                for (_, connection) in oldest.prefix(newcomers.count - limits.newcomersOfNetwork)
                where connection.makeRoom()
                    && shutdown(connection.descriptor, Int32(SHUT_RDWR)) == 0
                {
                    state.stats.newcomersCut += 1
                }
            }
            return count >= limits.connectionsMax
        }
    }

    private func sweep() {
        let now = HTTPInstant.now
        let (expired, isFullNews) = state.withLock { state in
            let isFull = state.connections.count >= limits.connectionsMax
            // Those whose head does not come are ended soon, and make room. Who is served keeps theirs
            // meanwhile: a flood of connections must not take it.
            let waiting = isFull ? state.held.count + waitingCount(state.listener) : 0
            let isTight =
                waiting > 0 && waiting > state.connections.values.count { $0.isSilent(at: now) }
            isAtCapacity.store(isTight && state.isTight, ordering: .relaxed)
            state.isTight = isTight
            // A crowd of one moment is none.
            let isAwaited = waiting > 0 && state.isAwaited
            state.isAwaited = waiting > 0
            let isFullNews =
                isAwaited && (state.loggedFull.map { $0.duration(to: now) >= fullEvery } ?? true)
            if isFullNews { state.loggedFull = now }
            var expired: [HTTPReply] = []
            for connection in state.connections.values {
                switch connection.overdue(
                    at: now, limits: limits, isFull: isFull, isAwaited: isAwaited)
                {
                case .nothing: break
                case .expired(let reply, let isWrite):
                    expired.append(reply)
                    if isWrite { state.stats.writesRefused += 1 }
                case .cut(let phase):
                    if case .responding = phase { forgetOutput(connection.descriptor) }
                    // shutdown, not close: libmicrohttpd owns the descriptor, sees the end of the
                    // stream and closes it.
                    if shutdown(connection.descriptor, Int32(SHUT_RDWR)) == 0 {
                        state.stats.count(cut: phase)
                    }
                }
            }
            state.stats.parkedExpired += expired.count
            return (expired, isFullNews)
        }
        if isFullNews { full(limits.connectionsMax) }
        for reply in expired { reply.answer(HTTPDeadlines.expiredResponse) }
    }

    /// RFC 9110 §15.6.4. The write may still be committed: the client must send it again, and may.
    private static let expiredResponse = HTTPResponse.problem(
        503, "Service Unavailable",
        detail: "Not confirmed in time. Whether it was taken is unknown: send it again.",
        headers: [("Retry-After", "1")])
}

extension HTTPStats {
    fileprivate mutating func count(cut phase: HTTPConnection.Phase) {
        switch phase {
        case .header: headersCut += 1
        case .body, .discarding: bodiesCut += 1
        case .responding: responsesCut += 1
        case .idle: idleCut += 1
        case .handling, .parked, .streaming, .lingering: break
        }
    }
}

/// True if bytes have come that nobody has read yet.
private func hasUnread(_ descriptor: Int32) -> Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) > 0
}

/// The span that two readings of `HTTPInstant` may be off by, and more.
private let clockCoarseness = Duration.milliseconds(10)

/// Between looks at who says nothing, while all connections are in use.
private let capacityPause = Duration.milliseconds(100)

/// Between two words about all connections being in use.
private let fullEvery = Duration.seconds(60)

/// Returns how many wait to be accepted: of a listening socket, that is `tcpi_unacked`.
private func waitingCount(_ listener: Int32) -> Int {
    guard listener >= 0, let info = tcpInfo(listener), info.tcpi_state == UInt8(TCP_LISTEN) else {
        return 0
    }
    return Int(info.tcpi_unacked)
}

/// Makes the close of a socket throw away what the other side does not take. The kernel would keep
/// it, megabytes for each, for as long as the other side says that it has no room.
private func forgetOutput(_ descriptor: Int32) {
    var hard = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
}

/// The watchdog's thread. Not a closure, which could be bound to the main actor.
private func runWatchdog(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<HTTPDeadlines>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
