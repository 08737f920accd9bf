import CMicroHTTPD
import Glibc
import Synchronization

/// One client connection: where its current request stands, since when, and the answer on its way.
///
/// `@unchecked Sendable` is true because everything that other threads touch (the watchdog, those
/// who answer) is in `shared`, a lock, or constant; the rest is touched by libmicrohttpd's one
/// thread only. The C handle is libmicrohttpd's: valid from STARTED to CLOSED, and used off its
/// thread only while the connection is suspended, when libmicrohttpd leaves it alone.
final class HTTPConnection: @unchecked Sendable {
    /// The socket, open until this connection has left the registry.
    let descriptor: Int32
    /// The network of the client: its IPv4 address, or the first 64 bits of an IPv6 one, which is
    /// what one customer has at least (RFC 6177).
    let network: UInt64
    /// The head of the current request; libmicrohttpd's thread only.
    var head: HTTPHead?
    /// The course of the rest of the current request; libmicrohttpd's thread only.
    var course = Course.reading
    /// The room that the body of the current request takes; libmicrohttpd's thread only.
    var held = BodyRoom.Held()
    /// True if nothing behind the current request is read; libmicrohttpd's thread only.
    var isLast = false
    /// True if the current request is counted in `traffic.pending`; libmicrohttpd's thread only.
    var isPending = false

    /// The way to the client past libmicrohttpd.
    let wire: HTTPWire
    /// The TLS that its handshake began with; nil where none is spoken. Written before anybody else has it.
    var tls: ServerTLS?

    /// libmicrohttpd's own; see above for when it may be used.
    let handle: OpaquePointer
    /// The traffic that it belongs to.
    let traffic: HTTPTraffic
    /// The part of it that several threads touch.
    let shared: Mutex<Shared>
    /// True from the connection's start until our part of its TLS handshake is sent; whoever has the session
    /// touches it.
    var isGreeting = false
    /// True once the first byte of TLS was seen; of the thread of handshakes.
    var hasHello = false

    /// The course of the rest of a request.
    enum Course {
        /// Its body is kept for the handler.
        case reading
        /// Its password is looked at; nothing of its body is read meanwhile.
        case checking
        /// It was refused; its short body is thrown away, then this is the answer.
        case discarding(HTTPResponse)
        /// It was handed over by its head, and is answered past libmicrohttpd; then `lingering`.
        case ahead
        /// It is answered; what still comes is thrown away until the client closes.
        case lingering
        /// The handler has it.
        case handed
    }

    /// The phase of a connection. The watchdog's deadlines hang on it.
    ///
    ///     header ─► body ─► handling ─► parked ─► responding ─► idle ─► header …
    ///        ├────────┴──► lingering ─► (closed)     └► streaming ─► lingering
    ///        └► discarding ─► responding …
    ///
    /// Without a body, or with the whole of it at hand, `body` is passed over; without need to
    /// wait, `parked` is. A refusal goes from `header` or `discarding` to `responding`. Whose body
    /// nobody reads goes from `header` to `parked`, and from `responding` to `lingering`.
    enum Phase {
        /// The head is awaited: since the connection began or, later, since its first byte was
        /// noticed. Cut after `headerDeadline`.
        case header
        /// The body is awaited. Cut after `bodyDeadline`, or while others wait for a connection once
        /// it comes too slowly.
        case body
        /// The short body of a refused request is awaited and thrown away. Cut after
        /// `lingerDeadline`.
        case discarding
        /// The handler is running on libmicrohttpd's thread and may be answered meanwhile.
        case handling
        /// Suspended until somebody answers. 503 after `parkedDeadline`.
        case parked
        /// An answer without an end is sent over TLS by whoever holds it.
        case streaming
        /// The answer is being sent. Cut after `responseDeadline`.
        case responding
        /// The answer went out before the body was read, and our direction is closed: the client
        /// gets time to read it, since closing with bytes unread resets the connection and
        /// destroys the answer. Cut after `lingerDeadline`.
        case lingering
        /// Kept alive between requests; libmicrohttpd closes it after `idleDeadline`. Cut after
        /// `headerDeadline` while all connections are in use, or `atCapacityDeadline` while others wait.
        case idle
    }

    /// The state that several threads touch.
    struct Shared {
        var phase = Phase.header
        var since = HTTPInstant.now
        /// The instant at which our part of its TLS handshake was done: who waits for us is not silent.
        var greetedAt: HTTPInstant?
        /// Bytes of body that came since.
        var received = 0
        /// True if the body is a stranger's.
        var isUnauthenticated = false
        /// Counts requests, so that a late answer cannot reach the next one.
        var number: UInt64 = 0
        var answer: HTTPResponse?
        /// The time for which the current request may wait for its answer, if that is longer than
        /// `parkedDeadline`.
        var patience = Duration.zero
        /// True if the current request wants to change something.
        var isWrite = false
        /// True if its answer is to have no body.
        var isHead = false
        /// True if the answer is to be sent past libmicrohttpd, since the body is still coming.
        var isAhead = false
        /// True if the answer was sent past libmicrohttpd.
        var isAnsweredPast = false
        /// True if the watchdog has shut the socket down; once is enough, and counted once.
        var isCut = false

        /// True if nothing but a part of a first head can have come.
        var isNewcomer: Bool {
            if case .header = phase { number == 0 && !isCut } else { false }
        }
    }

    /// A connection that has just been accepted.
    init(descriptor: Int32, handle: OpaquePointer, traffic: HTTPTraffic) {
        self.descriptor = descriptor
        wire = HTTPWire(of: traffic.web == nil ? nil : handle, descriptor: descriptor)
        self.handle = handle
        self.traffic = traffic
        network = Self.network(ofPeer: descriptor)
        self.shared = Mutex(Shared())
    }

    // MARK: libmicrohttpd's thread

    /// Enters a phase, now.
    func enter(_ phase: Phase) {
        shared.withLock {
            $0.phase = phase
            $0.since = HTTPInstant.now
            $0.received = 0
        }
    }

    /// Notes that so much of a body has come.
    func note(received count: Int) { shared.withLock { $0.received += count } }

    /// Gives out the right to answer the request that has just been read whole.
    func reply(isWrite: Bool, isHead: Bool = false) -> HTTPReply {
        let number = shared.withLock {
            $0.phase = .handling
            $0.isWrite = isWrite
            $0.isHead = isHead
            $0.since = HTTPInstant.now
            return $0.number
        }
        return HTTPReply(connection: self, number: number)
    }

    /// Gives out the right to answer a request of which only the head has come, and suspends the
    /// connection until that is done. Only inside the access handler.
    func replyAhead(isWrite: Bool, isHead: Bool) -> HTTPReply {
        let reply = reply(isWrite: isWrite, isHead: isHead)
        shared.withLock {
            $0.isAhead = true
            MHD_suspend_connection(handle)
            $0.phase = .parked
        }
        return reply
    }

    /// The answer, if there is one; otherwise suspends the connection. Only inside the access
    /// handler.
    ///
    /// Both under one lock: an answer either is seen here or finds a connection that is suspended
    /// already, so that no resume comes before its suspend.
    func takeAnswerOrPark() -> HTTPResponse? {
        shared.withLock {
            if let answer = $0.answer {
                $0.answer = nil
                $0.phase = .responding
                $0.since = HTTPInstant.now
                return answer
            }
            MHD_suspend_connection(handle)
            $0.phase = .parked
            return nil
        }
    }

    /// The current request is over; the connection may carry another.
    func finishRequest() {
        head = nil
        course = .reading
        isLast = false
        shared.withLock {
            $0.phase = .idle
            $0.since = HTTPInstant.now
            $0.number += 1
            $0.answer = nil
            $0.patience = .zero
            $0.isAhead = false
            $0.isAnsweredPast = false
        }
    }

    // MARK: Any thread

    /// Lets request `number` wait for its answer for `span`.
    func wait(for span: Duration, _ number: UInt64) {
        shared.withLock { if $0.number == number { $0.patience = span } }
    }

    /// Returns true if request `number` still waits for its answer.
    func isOpen(_ number: UInt64) -> Bool {
        shared.withLock {
            guard $0.number == number, $0.answer == nil else { return false }
            switch $0.phase {
            case .handling, .parked: return true
            case .header, .body, .discarding, .streaming, .responding, .lingering, .idle:
                return false
            }
        }
    }

    /// Answers request `number`, unless it has been answered or is over.
    func answer(_ response: HTTPResponse, to number: UInt64) {
        let (isParked, isAhead) = shared.withLock {
            guard $0.number == number, $0.answer == nil else { return (false, false) }
            switch $0.phase {
            case .handling:
                $0.answer = response
                return (false, false)
            case .parked:
                $0.answer = response
                return (true, $0.isAhead)
            case .header, .body, .discarding, .streaming, .responding, .lingering, .idle:
                return (false, false)
            }
        }
        guard isParked else { return }
        // The request may be over, and `stop` be waiting for the last one, before
        // MHD_resume_connection has returned: it must not free the daemon under this call.
        traffic.pending.add(1, ordering: .sequentiallyConsistent)
        if !isAhead, traffic.answers.keep(self) { return }
        finish(response, isAhead: isAhead)
    }

    /// Goes on with a connection whose answer was kept for a while; `mayBeEnd` is false if its client is known
    /// to have their direction open.
    func goOnAnswered(mayBeEnd: Bool) {
        // It stays until libmicrohttpd goes on.
        guard mayBeEnd, let response = shared.withLock({ $0.answer }) else { return resume() }
        finish(response, isAhead: false)
    }

    private func finish(_ response: HTTPResponse, isAhead: Bool) {
        if isAhead || wire.isEnd {
            // Who has closed their direction, or sends a body with it, gets no stream.
            return answerPast(response.stream == nil ? response : HTTPTraffic.noStream)
        }
        resume()
    }

    /// Lets libmicrohttpd go on with a connection that is suspended. `pending` is one more.
    func resume() {
        MHD_resume_connection(handle)
        traffic.pending.subtract(1, ordering: .sequentiallyConsistent)
    }

    /// Answers a client whose body is still coming, or who has closed their direction: "shutdown" after the
    /// last byte is how some say that the request is whole. libmicrohttpd 0.9.75 reads again before it looks
    /// for an answer, takes the end of the stream for the client's leaving, and drops the answer.
    private func answerPast(_ response: HTTPResponse) {
        let isHead = shared.withLock {
            $0.isAnsweredPast = true
            $0.phase = .responding
            $0.since = HTTPInstant.now
            return $0.isHead
        }
        HalfClosed.send(traffic.dressed(response).rawBytes(isHead: isHead), to: wire) {
            // Closing with bytes unread would destroy the answer.
            self.shared.withLock {
                guard $0.isAhead else { return }
                $0.phase = .lingering
                $0.since = HTTPInstant.now
            }
            self.resume()
        }
    }

    /// True if the current request was answered past libmicrohttpd.
    var isAnsweredPast: Bool { shared.withLock { $0.isAnsweredPast } }

    // MARK: The watchdog's thread

    /// The work that the watchdog has to do about this connection.
    enum Overdue {
        /// Nothing.
        case nothing
        /// Shut the socket down because of the phase it is in.
        case cut(Phase)
        /// Answer 503.
        case expired(HTTPReply, isWrite: Bool)
    }

    /// Evaluates the deadlines. `isFull` says that all connections are in use, `isAwaited` that
    /// somebody has been waiting for one.
    func overdue(
        at now: HTTPInstant, limits: HTTPLimits, isFull: Bool, isAwaited: Bool
    ) -> Overdue {
        shared.withLock {
            let age = $0.since.duration(to: now)
            let deadline: Duration
            switch $0.phase {
            case .header:
                deadline = isAwaited ? limits.atCapacityDeadline : limits.headerDeadline
            case .body:
                let isSlow = $0.received < limits.bodyPaceMin * Int(age.components.seconds)
                let isCut = isAwaited && isSlow || $0.isUnauthenticated && traffic.room.isTight
                deadline = isCut ? limits.atCapacityDeadline : limits.bodyDeadline
            case .responding: deadline = limits.responseDeadline
            case .discarding, .lingering: deadline = limits.lingerDeadline
            case .handling, .streaming: return .nothing
            case .parked:
                guard age >= max(limits.parkedDeadline, $0.patience), $0.answer == nil else {
                    return .nothing
                }
                let reply = HTTPReply(connection: self, number: $0.number)
                return .expired(reply, isWrite: $0.isWrite)
            case .idle where hasReceived(after: $0.since, now: now):
                $0.phase = .header
                $0.since = now
                return .nothing
            case .idle:
                guard isFull else { return .nothing }
                let waited = isAwaited ? limits.atCapacityDeadline : limits.headerDeadline
                deadline = min(waited, limits.headerDeadline)
            }
            guard age >= deadline, !$0.isCut else { return .nothing }
            $0.isCut = true
            return .cut($0.phase)
        }
    }

    /// Returns how long the first head has been awaited; nil once it came, and for who is cut
    /// already.
    func newcomerAge(at now: HTTPInstant) -> Duration? {
        shared.withLock { $0.isNewcomer ? ($0.greetedAt ?? $0.since).duration(to: now) : nil }
    }

    /// Notes that this connection gives way; false if its first head has come meanwhile.
    func makeRoom() -> Bool {
        shared.withLock {
            guard $0.isNewcomer else { return false }
            $0.isCut = true
            return true
        }
    }

    /// Returns true if a head is awaited that has not come for a moment: its deadline will end it. Who is
    /// between two requests may go on for ever.
    func isSilent(at now: HTTPInstant) -> Bool {
        shared.withLock {
            switch $0.phase {
            case .header: $0.since.duration(to: now) >= .milliseconds(100)
            case .body, .discarding, .handling, .parked, .streaming, .responding, .lingering, .idle:
                false
            }
        }
    }

    /// Returns true if bytes have come since the last request ended. libmicrohttpd reads them at
    /// once and tells nobody before the head is whole, but the kernel knows when the last ones
    /// came. Those within `pipeliningMargin` of the request's end count as part of it: the kernel's
    /// stamp is as coarse as its tick.
    private func hasReceived(after instant: HTTPInstant, now: HTTPInstant) -> Bool {
        guard let info = tcpInfo(descriptor) else { return false }
        let silence = Duration.milliseconds(Int64(info.tcpi_last_data_recv))
        return silence + pipeliningMargin < instant.duration(to: now)
    }
}

/// Returns what the kernel knows of a socket; nil if it does not tell.
func tcpInfo(_ descriptor: Int32) -> tcp_info? {
    var info = tcp_info()
    var size = socklen_t(MemoryLayout<tcp_info>.size)
    let result = getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &size)
    return result == 0 ? info : nil
}

/// The margin after a request's end within which bytes count as part of it; see
/// `HTTPConnection.hasReceived`.
private let pipeliningMargin = Duration.milliseconds(50)
