import CMicroHTTPD

/// A connection that waits at its head for a password to be looked at, or carries an answer without an end.
extension HTTPConnection {
    // MARK: - A password

    /// Suspends the connection at the head of a request until its password was looked at. Only inside
    /// the access handler.
    func replyOnceChecked(isHead: Bool) -> HTTPReply {
        // A password that is not looked at in time says nothing of the watch (B1).
        let reply = reply(isWrite: false, isHead: isHead)
        shared.withLock {
            MHD_suspend_connection(handle)
            $0.phase = .parked
        }
        return reply
    }

    /// Goes on with request `number`, unless it has been answered or is over.
    func goOn(_ number: UInt64) {
        let isParked = shared.withLock {
            guard $0.number == number, $0.answer == nil, case .parked = $0.phase else {
                return false
            }
            $0.phase = .handling
            return true
        }
        guard isParked else { return }
        traffic.pending.add(1, ordering: .sequentiallyConsistent)
        resume()
    }

    /// Takes out the answer that was given while it waited.
    func takeAnswer() -> HTTPResponse? {
        shared.withLock {
            let answer = $0.answer
            $0.answer = nil
            return answer
        }
    }

    // MARK: - A stream

    /// The outcome of handing over a stream.
    enum Handover {
        /// Its socket is somebody else's, or was never given: libmicrohttpd closes what it has.
        case taken
        /// It is suspended until the stream is let go.
        case lent
        /// The system has no descriptor for it.
        case failed
    }

    /// Hands the connection over to whoever sends an answer without an end. Only inside the access
    /// handler.
    func begin(_ answer: HTTPResponse) -> Handover {
        let head = traffic.dressed(answer).rawStreamHead
        guard wire.tls != nil else {
            guard let stream = HTTPStream(taking: descriptor, head: head) else { return .failed }
            answer.stream?(stream)
            return .taken
        }
        shared.withLock {
            MHD_suspend_connection(handle)
            $0.phase = .streaming
        }
        course = .lingering
        // As where its socket is taken: it counts as a stream, and no more as a connection.
        leavePlace()
        answer.stream?(HTTPStream(over: wire, head: head) { [self] in endStream() })
        return .lent
    }

    private func endStream() {
        wire.end()
        traffic.pending.add(1, ordering: .sequentiallyConsistent)
        resume()
    }

    // MARK: - A handshake

    /// Suspends the connection until `greeted`; its handshake begins once fewer than `connectionsMax` are
    /// open. Only on libmicrohttpd's thread.
    ///
    /// libmicrohttpd's own limit does not do: it holds for connections and streams together.
    func awaitPlace() {
        isGreeting = true
        traffic.pending.add(1, ordering: .sequentiallyConsistent)
        MHD_suspend_connection(handle)
        if traffic.deadlines.admit(self) { traffic.handshakes.begin(self) }
    }

    /// Leaves the connection's place to who has waited for one the longest.
    func leavePlace() {
        if let next = traffic.deadlines.remove(self) { traffic.handshakes.begin(next) }
    }

    /// Takes the TLS as it is now, and the time from now on.
    func beginTLS() {
        tls = traffic.web?.tls
        enter(.header)
    }

    /// Lets libmicrohttpd go on with the handshake.
    func greeted() {
        isGreeting = false
        shared.withLock { $0.greetedAt = HTTPInstant.now }
        resume()
    }
}
