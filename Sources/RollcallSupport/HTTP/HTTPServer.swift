import CMicroHTTPD
import Glibc
import Synchronization

/// The HTTP edge: one libmicrohttpd daemon in poll mode, with one thread or several that share its
/// listening socket, and its watchdog.
///
/// A request that the handler does not answer at once is *parked*: its connection is suspended and
/// no thread waits for it. Whoever holds its `HTTPReply` answers it from any thread; the watchdog
/// does, with 503, after `HTTPLimits.parkedDeadline`.
///
/// SIGPIPE cannot reach the process from here: libmicrohttpd 0.9.75 sends with MSG_NOSIGNAL, as we
/// do, and blocks the signal in its thread.
///
/// `@unchecked Sendable` is true because the daemon's handle and the listening socket are in
/// `owned`, a lock.
package final class HTTPServer: @unchecked Sendable {
    /// The port that is listened on, useful when port 0 was asked for.
    package let port: Int

    private let traffic: HTTPTraffic
    private let stopGrace: Duration
    private let owned: Mutex<Owned>

    /// `@unchecked Sendable` is true because it leaves the lock once only, in `stop`.
    private struct Owned: @unchecked Sendable {
        var daemon: OpaquePointer?
        var isListening = true
        /// The traffic that the callbacks get; retained as long as the daemon runs.
        let context: Unmanaged<HTTPTraffic>
    }

    /// Serves from now on.
    ///
    /// - `listener`: is the server's from now on.
    /// - `web`: the TLS that it speaks, if that has one, the fields of its answers, and the passwords that
    ///   are looked at before `early`.
    /// - `answers`: gathers the answers of whoever gives many at once.
    /// - `isMisdirected`: returns true of a request that names another machine, which `early` refuses: no
    ///   password of it is looked at.
    /// - `isUnauthenticated`: returns true of a request that `early` lets pass though nobody is known by it: its
    ///   body gets a small share of the room, and is not expanded.
    /// - `early`: evaluates a request by its head, before any of its body is read.
    /// - `refused`: is told of requests that were answered without asking either.
    /// - `full`: is told on the watchdog's thread, once a minute at most, how many connections are
    ///   all
    ///   in use while somebody waits for one.
    /// - `handler`: takes whole requests, and those whose body nobody reads by their head. Like
    ///   `early`
    ///   it runs on the connection's thread of libmicrohttpd's, whose other connections wait meanwhile.
    /// - Throws: `HTTPServerError` if the watchdog or libmicrohttpd does not start; the listener is
    ///   closed then.
    package init(
        listener: HTTPListener, limits: HTTPLimits = HTTPLimits(), web: WebFront? = nil,
        answers: AnswerBatch = AnswerBatch(),
        isMisdirected: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false },
        isUnauthenticated: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false },
        early: @escaping @Sendable (HTTPRequest) -> HTTPResponse? = { _ in nil },
        refused: @escaping @Sendable (HTTPRequest, Int) -> Void = { _, _ in },
        full: @escaping @Sendable (Int) -> Void = { _ in },
        handler: @escaping @Sendable (HTTPRequest, HTTPReply) -> Void
    ) throws(HTTPServerError) {
        let traffic = HTTPTraffic(
            limits: limits, web: web, answers: answers, isMisdirected: isMisdirected,
            isUnauthenticated: isUnauthenticated, early: early, refused: refused, full: full,
            handler: handler)
        let isSecure = web?.tls != nil
        do {
            try traffic.deadlines.start()
        } catch {
            listener.close()
            throw error
        }
        if isSecure {
            do {
                try traffic.handshakes.start()
            } catch {
                traffic.deadlines.stop()
                listener.close()
                throw error
            }
        }
        // A stream over TLS stays a connection of libmicrohttpd's; `awaitPlace` keeps the others to theirs.
        let connectionsMax = limits.connectionsMax + (isSecure ? limits.streamsMax : 0)
        let settings = rollcall_daemon_settings(
            listen_descriptor: listener.descriptor,
            connections_max: UInt32(clamping: connectionsMax),
            idle_seconds: UInt32(clamping: limits.idleDeadline.components.seconds),
            connection_memory_bytes: limits.connectionMemoryBytes, is_secure: isSecure ? 1 : 0,
            threads: UInt32(clamping: min(limits.threads, connectionsMax)))
        // Released in `stop`, after the daemon's last callback.
        let context = Unmanaged.passRetained(traffic)
        guard
            let daemon = rollcall_start_daemon(
                settings, handleAccess, handleCompletion, handleConnection, leaveEscaped,
                context.toOpaque())
        else {
            let number = errno
            context.release()
            traffic.handshakes.close()
            traffic.deadlines.stop()
            listener.close()
            throw .daemon(address: listener.address, errno: number)
        }
        traffic.deadlines.watch(listener: listener.descriptor)
        self.port = listener.port
        self.traffic = traffic
        self.stopGrace = limits.parkedDeadline + limits.responseDeadline + .seconds(3)
        self.owned = Mutex(Owned(daemon: daemon, context: context))
    }

    deinit { stop() }

    /// The counts so far.
    package var stats: HTTPStats { traffic.deadlines.stats }

    /// Stops accepting; open connections are served on.
    package func quiesce() {
        owned.withLock {
            guard let daemon = $0.daemon, $0.isListening else { return }
            $0.isListening = false
            traffic.deadlines.watch(listener: -1)
            let descriptor = MHD_quiesce_daemon(daemon)
            if descriptor >= 0 { close(descriptor) }
        }
    }

    /// Stops: waits until every parked request has been answered (by its owner, or by the watchdog)
    /// and the answers are out, answers new ones 503, then closes all connections.
    ///
    /// Bodies that are still arriving are abandoned: nothing of them was taken. Must not be called
    /// from `early` or the handler. Takes at most about `parkedDeadline` + `responseDeadline`.
    package func stop() {
        quiesce()
        let owned = owned.withLock {
            let before = $0
            $0.daemon = nil
            return before
        }
        guard let daemon = owned.daemon else { return }
        traffic.isStopping.store(true, ordering: .sequentiallyConsistent)
        traffic.handshakes.close()
        for connection in traffic.deadlines.letAllIn() { connection.greeted() }
        let isIdle = waitUntilIdle()
        traffic.deadlines.stop()
        // MHD_stop_daemon aborts the process while a connection is suspended. That cannot be by
        // now; if it is, a leaked thread does less harm on the way out.
        guard isIdle else { return }
        MHD_stop_daemon(daemon)
        owned.context.release()
    }

    private func waitUntilIdle() -> Bool {
        let start = HTTPInstant.now
        while traffic.pending.load(ordering: .sequentiallyConsistent) != 0 {
            guard start.duration(to: .now) < stopGrace else { return false }
            usleep(1000)
        }
        return true
    }
}

// MARK: Callbacks

// Global functions, not closures: a closure can be bound to the main actor, and dies without a
// word when libmicrohttpd's thread calls it.

private typealias Context = UnsafeMutableRawPointer

/// Called at least twice for each request: with its head, with each part of its body, and once
/// it is whole; and again after each resume.
private func handleAccess(
    context: Context?, handle: OpaquePointer?, url: UnsafePointer<CChar>?,
    method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?,
    upload: UnsafePointer<CChar>?, uploadSize: UnsafeMutablePointer<Int>?,
    requestContext: UnsafeMutablePointer<Context?>?
) -> MHD_Result {
    guard let context, let handle, let uploadSize, let requestContext,
        let ours = rollcall_socket_context(handle)
    else { return .NO }
    return with(context, ours) { traffic, connection in
        if requestContext.pointee == nil {
            guard let url, let method, let version else { return .NO }
            requestContext.pointee = ours
            let head = HTTPHead(
                of: handle, url: url, method: method, version: version,
                isSecure: connection.tls != nil)
            return traffic.begin(connection, handle: handle, head: head)
        }
        if uploadSize.pointee > 0 {
            guard let upload else { return .NO }
            traffic.receive(
                UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee), on: connection)
            uploadSize.pointee = 0
            return .YES
        }
        return traffic.finish(connection, handle: handle)
    }
}

/// Lends a callback its traffic and its connection, which outlive it: the daemon holds the one, and
/// libmicrohttpd the other from STARTED to CLOSED. Listeners' threads share the count of who holds the
/// traffic, so that counting there five times a request makes them wait for each other.
@inline(__always)
private func with<Result>(
    _ context: Context, _ ours: Context, _ body: (HTTPTraffic, HTTPConnection) -> Result
) -> Result {
    Unmanaged<HTTPTraffic>.fromOpaque(context)._withUnsafeGuaranteedRef { traffic in
        Unmanaged<HTTPConnection>.fromOpaque(ours)._withUnsafeGuaranteedRef { body(traffic, $0) }
    }
}

/// Called once for each request that `handleAccess` has seen, before its connection's end.
private func handleCompletion(
    context: Context?, handle: OpaquePointer?, requestContext: UnsafeMutablePointer<Context?>?,
    reason: MHD_RequestTerminationCode
) {
    guard let context, let ours = requestContext?.pointee else { return }
    requestContext?.pointee = nil
    with(context, ours) { traffic, connection in traffic.complete(connection) }
}

/// Called when a connection begins and when it ends; retains its `HTTPConnection` in between.
private func handleConnection(
    context: Context?, handle: OpaquePointer?, socketContext: UnsafeMutablePointer<Context?>?,
    stage: MHD_ConnectionNotificationCode
) {
    guard let context, let handle, let socketContext else { return }
    let traffic = Unmanaged<HTTPTraffic>.fromOpaque(context).takeUnretainedValue()
    switch stage {
    case .CONNECTION_NOTIFY_STARTED:
        let connection = HTTPConnection(
            descriptor: rollcall_descriptor(handle), handle: handle, traffic: traffic)
        socketContext.pointee = Unmanaged.passRetained(connection).toOpaque()
        if connection.wire.tls == nil {
            traffic.deadlines.add(connection)
        } else {
            connection.awaitPlace()
        }
    case .CONNECTION_NOTIFY_CLOSED:
        guard let ours = socketContext.pointee else { return }
        socketContext.pointee = nil
        let connection = Unmanaged<HTTPConnection>.fromOpaque(ours).takeRetainedValue()
        connection.leavePlace()
    }
}

/// Leaves the path and the query as they were sent: `HTTPRequest.path` is undecoded, since a
/// `%2F` within a segment is not a slash.
private func leaveEscaped(
    context: Context?, handle: OpaquePointer?, text: UnsafeMutablePointer<CChar>?
) -> Int {
    guard let text else { return 0 }
    return strlen(text)
}
