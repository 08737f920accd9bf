import CMicroHTTPD
import Glibc
import Synchronization

/// The work of libmicrohttpd's callbacks on requests: evaluate the head, gather the body, hand it
/// to the handler, park it, send the answer.
///
/// Several threads of libmicrohttpd's may share it; a connection belongs to one of them.
final class HTTPTraffic: Sendable {
    /// Evaluates a request by its head; an answer refuses it.
    typealias Early = @Sendable (HTTPRequest) -> HTTPResponse?
    /// Takes a whole request; answers at once, later, or on another thread.
    typealias Handler = @Sendable (HTTPRequest, HTTPReply) -> Void
    /// Is told of a request that was answered with this status without asking anybody.
    typealias Refused = @Sendable (HTTPRequest, Int) -> Void

    /// The deadlines of all connections.
    let deadlines: HTTPDeadlines
    /// The part of TLS handshakes that costs; nothing runs where none is spoken.
    let handshakes = HTTPHandshakes()
    /// Requests that are with the handler or being answered, and calls into the daemon from other
    /// threads. `stop` waits until there are none.
    let pending = Atomic<Int>(0)
    /// True if new requests are answered 503.
    let isStopping = Atomic<Bool>(false)

    /// The answers that wait for others of their thread.
    let answers: AnswerBatch
    /// The TLS, the fields and the passwords of this server; nil for none of them.
    let web: WebFront?
    private let limits: HTTPLimits
    private let isMisdirected: @Sendable (HTTPRequest) -> Bool
    private let early: Early
    private let refused: Refused
    private let handler: Handler
    /// The room for bodies, of all requests.
    let room: BodyRoom
    private let isUnauthenticated: @Sendable (HTTPRequest) -> Bool
    private let lastAnswer = HTTPLastAnswer()

    /// Traffic within these limits.
    init(
        limits: HTTPLimits, web: WebFront?, answers: AnswerBatch = AnswerBatch(),
        isMisdirected: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false },
        isUnauthenticated: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false },
        early: @escaping Early, refused: @escaping Refused,
        full: @escaping @Sendable (Int) -> Void, handler: @escaping Handler
    ) {
        self.limits = limits
        self.web = web
        self.answers = answers
        self.isMisdirected = isMisdirected
        self.isUnauthenticated = isUnauthenticated
        room = BodyRoom(limits)
        self.early = early
        self.refused = refused
        self.handler = handler
        self.deadlines = HTTPDeadlines(limits: limits, full: full)
    }

    // MARK: Stages of a request

    /// The head has come: reads it, and refuses the request or lets its body come.
    func begin(
        _ connection: HTTPConnection, handle: OpaquePointer, head: consuming HTTPHead
    ) -> MHD_Result {
        // Moved from hand to hand: a copy costs each of its strings.
        var head = head
        if let fault = fault(of: head) {
            return refuse(connection, handle: handle, head: head, with: fault)
        }
        switch verdict(on: head.request, of: connection) {
        case .pass(let user): head.request.knownUser = user
        case .refuse(let refusal):
            let refusal = counted(refusal, head.request)
            return refuse(connection, handle: handle, head: head, with: refusal)
        case .wait(let password): return check(password, of: head, on: connection)
        }
        if let refusal = early(head.request) {
            return refuse(connection, handle: handle, head: head, with: refusal)
        }
        if head.hasBody, !head.request.takesBody {
            answerAhead(head.request, on: connection)
            return .YES
        }
        connection.isLast = head.isChunked
        if head.hasBody {
            connection.held.isUnauthenticated = isUnauthenticated(head.request)
            if connection.held.isUnauthenticated, let length = head.contentLength,
                length > UInt64(limits.unauthenticatedBodyBytesMax)
            {
                let refusal = counted(tooLarge(head.request, connection.held), head.request)
                return refuse(connection, handle: handle, head: head, with: refusal)
            }
            connection.enterBody()
            if let length = head.contentLength {
                // Not more than a usual body: the length is only a claim so far.
                let expected = Int(truncatingIfNeeded: min(length, initialBodyBytes))
                head.request.body.reserveCapacity(expected)
            }
        }
        connection.head = head
        return .YES
    }

    /// The verdict on a password; of a request that was not meant for us it is not looked at, as `early`
    /// refuses that.
    private func verdict(
        on request: HTTPRequest, of connection: HTTPConnection
    ) -> PasswordGate.Verdict {
        guard let web, !isMisdirected(request) else { return .pass(nil) }
        return web.passwords.verdict(on: request, from: connection.network)
    }

    /// Lets a request wait at its head until its password was looked at, on a thread of its own: none of
    /// a stranger's body is kept.
    private func check(
        _ password: PasswordGate.Shown, of head: HTTPHead, on connection: HTTPConnection
    ) -> MHD_Result {
        connection.head = head
        connection.course = .checking
        // In this order, against `stop`, as in `finish`.
        pending.add(1, ordering: .sequentiallyConsistent)
        connection.isPending = true
        let reply = connection.replyOnceChecked(isHead: head.request.isHead)
        if isStopping.load(ordering: .sequentiallyConsistent) {
            reply.answer(stopping)
        } else {
            web?.passwords.check(password) { refusal in
                if let refusal { reply.answer(refusal) } else { reply.goOn() }
            }
        }
        return .YES
    }

    /// Goes on with a request whose password was looked at, or not in time.
    private func goOn(_ connection: HTTPConnection, handle: OpaquePointer) -> MHD_Result {
        connection.isPending = false
        pending.subtract(1, ordering: .sequentiallyConsistent)
        guard let head = connection.head, !connection.isAnsweredPast else { return .NO }
        connection.head = nil
        connection.course = .reading
        if let answer = connection.takeAnswer() {
            let answer = counted(answer, head.request)
            return refuse(connection, handle: handle, head: head, with: answer)
        }
        return begin(connection, handle: handle, head: head)
    }

    /// A part of the body has come.
    func receive(_ bytes: UnsafeRawBufferPointer, on connection: HTTPConnection) {
        guard case .reading = connection.course else { return }
        guard let count = connection.head?.request.body.count else { return }
        // Nobody holds the request meanwhile: all of its body would be copied with each part.
        let most = room.bodyBytesMax(of: connection.head?.request, connection.held)
        if count + bytes.count > most {
            let request = connection.head?.request
            linger(connection, after: counted(tooLarge(request, connection.held), request))
        } else if !hold(bytes.count, on: connection) {
            linger(connection, after: counted(unavailable, connection.head?.request))
        } else {
            connection.head?.request.body.append(contentsOf: bytes)
            connection.note(received: bytes.count)
        }
    }

    /// Makes room for so many more bytes of bodies; false, and counted, if there is none.
    private func hold(_ count: Int, on connection: HTTPConnection) -> Bool {
        if room.take(count, for: &connection.held) { return true }
        // What a stranger brings may be nothing.
        if !connection.held.isUnauthenticated { deadlines.countRefusedWrite() }
        return false
    }

    /// Hands over a request whose body nobody reads: it is answered as if it had none, and its
    /// connection ends. Who announces a body and does not send it must not hold a place meanwhile.
    private func answerAhead(_ request: HTTPRequest, on connection: HTTPConnection) {
        // In this order, against `stop`, as in `finish`.
        pending.add(1, ordering: .sequentiallyConsistent)
        connection.isPending = true
        connection.course = .ahead
        let reply = connection.replyAhead(
            isWrite: request.method != "GET", isHead: request.isHead)
        if isStopping.load(ordering: .sequentiallyConsistent) {
            return reply.answer(counted(stopping, request))
        }
        handler(request, reply)
    }

    /// The request is whole, or its connection was resumed: hands it over once, then sends the
    /// answer or parks.
    func finish(_ connection: HTTPConnection, handle: OpaquePointer) -> MHD_Result {
        switch connection.course {
        case .checking: return goOn(connection, handle: handle)
        case .ahead:
            // libmicrohttpd calls once more with the head alone, as it was suspended then; what comes
            // from now on is thrown away.
            connection.course = .lingering
            return .YES
        case .lingering:
            // The client has sent all it wanted to, and has its answer.
            return .NO
        case .discarding(let response):
            return queue(response, on: connection, handle: handle)
        case .reading:
            guard var request = connection.head.take()?.request else { return .NO }
            connection.course = .handed
            // In this order, against `stop`: either it sees this request, or this one sees it.
            pending.add(1, ordering: .sequentiallyConsistent)
            connection.isPending = true
            if isStopping.load(ordering: .sequentiallyConsistent) {
                return queue(counted(stopping, request), on: connection, handle: handle)
            }
            if let refusal = expand(&request, on: connection) {
                return queue(counted(refusal, request), on: connection, handle: handle)
            }
            handler(
                request, connection.reply(isWrite: request.method != "GET", isHead: request.isHead))
        case .handed:
            // The client has its answer already, and its connection ends.
            if connection.isAnsweredPast { return .NO }
        }
        guard let answer = connection.takeAnswerOrPark() else { return .YES }
        guard answer.stream == nil else {
            switch connection.begin(answer) {
            case .taken: return .NO
            case .lent: return .YES
            case .failed: return queue(unavailable, on: connection, handle: handle)
            }
        }
        return queue(answer, on: connection, handle: handle)
    }

    /// Expands a compressed body, whose size counts as what comes out; returns the answer to one that
    /// is not taken. A stranger's is left as it is, to whoever knows them. Source: P8.
    private func expand(
        _ request: inout HTTPRequest, on connection: HTTPConnection
    ) -> HTTPResponse? {
        guard request.contentEncoding != nil, request.takesBody, !connection.held.isUnauthenticated,
            case .gzip = BodyCoding.choice(request.contentEncoding), let reader = GzipReader.shared
        else { return nil }
        let most = room.bodyBytesMax(of: request, connection.held)
        do throws(GzipFault) {
            let body = try reader.expanded(request.body, bytesMax: most)
            guard hold(body.count - request.body.count, on: connection) else { return unavailable }
            request.body = body
            request.contentEncoding = nil
            return nil
        } catch {
            return BodyCoding.refusal(error, bytesMax: most)
        }
    }

    /// The request is over, however it ended.
    func complete(_ connection: HTTPConnection) {
        room.give(&connection.held)
        connection.finishRequest()
        if connection.isPending {
            connection.isPending = false
            pending.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    // MARK: Refusals

    /// Returns the answer to a head that is refused without asking anybody.
    private func fault(of head: HTTPHead) -> HTTPResponse? {
        if head.roomBytes > limits.headBytesMax { return counted(tooLong, head.request) }
        if let fault = head.fault { return counted(fault.response, head.request) }
        let most = room.bodyBytesMax(of: head.request, BodyRoom.Held())
        if let length = head.contentLength, length > UInt64(most) {
            return counted(tooLarge(head.request, BodyRoom.Held()), head.request)
        }
        if isStopping.load(ordering: .relaxed) { return counted(stopping, head.request) }
        return nil
    }

    private func counted(_ response: HTTPResponse, _ request: HTTPRequest?) -> HTTPResponse {
        if let request { refused(request, response.status) }
        return response
    }

    /// Refuses a request by its head.
    ///
    /// microhttpd.h: "If response is provided before request is fully received, the rest of the
    /// request is discarded and connection is automatically closed after sending response"; 0.9.75
    /// does so even where no body was to come. That close may come with bytes unread, which makes
    /// the kernel reset the connection, and the client may lose the answer. So a short body is
    /// read first, which keeps the connection, and behind a longer one we linger.
    private func refuse(
        _ connection: HTTPConnection, handle: OpaquePointer, head: HTTPHead,
        with response: HTTPResponse
    ) -> MHD_Result {
        connection.head = head
        if head.hasBody, head.expectsContinue, head.roomBytes <= limits.headBytesMax {
            // Who waits for our consent has not sent anything yet.
            return queue(response, on: connection, handle: handle)
        }
        let isShort =
            head.request.takesBody
            && (head.contentLength ?? .max) <= UInt64(limits.discardBytesMax)
        if head.roomBytes > limits.headBytesMax {
            // There may be no room for an answer of libmicrohttpd's.
            linger(connection, after: response)
        } else if !head.hasBody || (isShort && head.fault == nil) {
            connection.course = .discarding(response)
            connection.enter(.discarding)
        } else {
            linger(connection, after: response)
        }
        return .YES
    }

    /// Answers past libmicrohttpd, which cannot answer while a body is coming ("The response
    /// cannot be queued when this callback is called to process the client upload data"), closes
    /// our direction, and goes on reading so that the client gets to see it.
    private func linger(_ connection: HTTPConnection, after response: HTTPResponse) {
        let isHead = connection.head?.request.isHead ?? false
        connection.head = nil
        // Many who come at once must not all be refused for the sake of what was thrown away.
        room.give(&connection.held)
        connection.course = .lingering
        // A refusal fits into any socket's buffer that is empty, and one that is full belongs to a client
        // who does not read.
        _ = connection.wire.send(dressed(response).rawBytes(isHead: isHead)[...])
        connection.wire.end()
        connection.enter(.lingering)
    }

    private func tooLarge(_ request: HTTPRequest?, _ held: BodyRoom.Held) -> HTTPResponse {
        let most = room.bodyBytesMax(of: request, held)
        return .problem(
            413, "Content Too Large", detail: "The limit is \(most) bytes.",
            headers: [("Connection", "close")])
    }

    private var tooLong: HTTPResponse {
        .problem(
            431, "Request Header Fields Too Large",
            detail: "The head may take \(limits.headBytesMax) bytes; each field counts 64 more.",
            headers: [("Connection", "close")])
    }

    /// The answer to whoever asks for a stream and cannot have one.
    static let noStream = HTTPResponse.problem(
        400, "Bad Request", detail: "A stream needs a connection that is open in both directions.",
        headers: [("Connection", "close")])

    private var unavailable: HTTPResponse {
        .problem(
            503, "Service Unavailable", detail: "Too much is waiting. Send it again.",
            headers: [("Retry-After", "1"), ("Connection", "close")])
    }

    private var stopping: HTTPResponse {
        .problem(
            503, "Service Unavailable", detail: "Stopping. Send it again.",
            headers: [("Retry-After", "1"), ("Connection", "close")])
    }

    // MARK: Answers

    /// The answer with the fields that the web configuration wants in all.
    func dressed(_ response: HTTPResponse) -> HTTPResponse { web?.dressed(response) ?? response }

    /// 0.9.75 takes a bare LF for a line's end among chunks and in trailers, and shows us neither:
    /// where such a body ends is open to interpretation. So nothing behind it is taken for a request.
    /// And while somebody waits for a connection, nobody keeps theirs: those who are never idle
    /// would let nobody else in.
    private func queue(
        _ response: HTTPResponse, on connection: HTTPConnection, handle: OpaquePointer
    ) -> MHD_Result {
        connection.enter(.responding)
        var response = dressed(response)
        let isLast = connection.isLast || deadlines.isAtCapacity.load(ordering: .relaxed)
        if isLast, !response.headers.contains(where: { $0.0 == "Connection" }) {
            response.headers.append(("Connection", "close"))
        }
        return lastAnswer.queue(response, on: handle)
    }
}

/// Room made for a body at its start, bytes, however long it claims to be.
private let initialBodyBytes: UInt64 = 256 << 10
