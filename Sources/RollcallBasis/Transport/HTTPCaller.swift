import CCurl
import Glibc
import RollcallCore
import RollcallSupport

/// Calls other servers, one request at a time, and keeps their connections for the next.
///
/// A call blocks its thread until the answer is whole or its time is over. So a caller belongs to
/// one thread at a time, never to the state writer's nor to libmicrohttpd's, and is not Sendable.
/// It follows no redirect and uses no proxy, also none of the environment's: who answers is who was
/// asked, at an address that `ConnectedAddress` lets pass.
package final class HTTPCaller {
    /// Bytes of an answer's head at most.
    package static let headBytesMax = 64 << 10

    private let library: CurlLibrary
    private let authorities: Authorities
    /// A CURL *, freed with its connections by `deinit`.
    private let handle: UnsafeMutableRawPointer

    /// A caller without connections. Throws `HTTPCallError`, only of `noLibrary` and, without
    /// memory, `other`.
    package init(
        library: Result<CurlLibrary, CurlMissing> = CurlLibrary.shared,
        authorities: Authorities = Authorities()
    ) throws(HTTPCallError) {
        switch library {
        case .success(let loaded): self.library = loaded
        case .failure(let missing):
            throw HTTPCallError(
                cause: .noLibrary(missing), destination: "", mayHaveArrived: false)
        }
        self.authorities = authorities
        guard let opened = self.library.withFunctions({ rollcall_curl_open($0) }) else {
            throw Self.noMemory
        }
        handle = opened
    }

    deinit { library.withFunctions { rollcall_curl_close($0, handle) } }

    /// Sends the request and waits for its answer, whatever its status. If `part` is given it gets the
    /// body of an answer 200 as it comes, which then is not in what is returned; false ends the
    /// transfer.
    /// - Throws: `HTTPCallError` if the request cannot be sent, or no whole answer comes.
    package func answer(
        to call: HTTPCall, part: ((UnsafeRawBufferPointer) -> Bool)? = nil
    ) throws(HTTPCallError) -> HTTPCallAnswer {
        guard let destination = Destination(url: call.url) else {
            throw HTTPCallError(cause: .wrongURL, destination: "", mayHaveArrived: false)
        }
        let incoming = IncomingAnswer(
            bodyBytesMax: call.answerBytesMax, fieldsKept: call.fieldsKept, permit: call.permit,
            isAwaited: call.isAwaited, part: part)
        let sockets = TransferSockets()
        var words = [CChar](repeating: 0, count: Int(ROLLCALL_CURL_ERROR_SIZE))
        let outcome = try withFields(of: call, destination) { fields in
            words.withUnsafeMutableBufferPointer { words in
                perform(call, fields, incoming, sockets, words)
            }
        }
        let said = words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let text = String(decoding: said, as: UTF8.self)
        if let cause = cause(of: outcome, call, incoming, sockets, text) {
            let sent = outcome.isSent && !outcome.isRefused
            throw HTTPCallError(
                cause: cause, destination: destination.text, mayHaveArrived: sent,
                status: incoming.finalStatus)
        }
        return incoming.answer(isNewConnection: outcome.isNewConnection)
    }

    // MARK: - One transfer

    /// The outcome of a call, by libcurl's words.
    private struct Outcome {
        var code: CInt
        /// Not even begun: an option was refused.
        var isRefused = false
        var isSent = false
        var isNewConnection = true
        var systemNumber: CInt = 0
        var unusablePath: String?
    }

    /// Calls `body` with a curl_slist of the header fields.
    /// - Throws: `HTTPCallError` of `wrongField` if one is none, or of `other` without memory.
    private func withFields<Value>(
        of call: HTTPCall, _ destination: Destination,
        _ body: (UnsafeMutableRawPointer?) -> Value
    ) throws(HTTPCallError) -> Value {
        var list: UnsafeMutableRawPointer?
        defer { library.withFunctions { rollcall_curl_free_list($0, list) } }
        // libcurl would wait a second for "100 Continue" before a large body.
        for (name, value) in call.headers + [(name: "Expect", value: "")] {
            guard !name.isEmpty, Self.isPlain(name), Self.canSend(value) else {
                throw HTTPCallError(
                    cause: .wrongField(name: name.filter { Self.isPlain(String($0)) }),
                    destination: destination.text, mayHaveArrived: false)
            }
            // "If you provide a header without content (no data on the right side of the colon),
            // the internally used header is removed".
            let line = "\(name):\(value.isEmpty ? "" : " \(value)")"
            guard let longer = library.withFunctions({ rollcall_curl_append($0, list, line) })
            else { throw Self.noMemory }
            list = longer
        }
        return body(list)
    }

    private static var noMemory: HTTPCallError {
        HTTPCallError(cause: .noMemory, destination: "", mayHaveArrived: false)
    }

    /// True of what may be the value of a field: "field-content" holds tabs, too. Source: RFC 9110 §5.5.
    package static func canSend(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Sets all options and runs the transfer. Everything that is lent to libcurl lives until its
    /// end, and is forgotten by the reset that the next one begins with.
    private func perform(
        _ call: HTTPCall, _ fields: UnsafeMutableRawPointer?, _ incoming: IncomingAnswer,
        _ sockets: TransferSockets, _ words: UnsafeMutableBufferPointer<CChar>
    ) -> Outcome {
        library.withFunctions { curl in
            rollcall_curl_reset(curl, handle)
            defer { rollcall_curl_reset(curl, handle) }
            var options = CurlOptions(curl: curl, handle: handle)
            options.pointer(ROLLCALL_CURLOPT_ERRORBUFFER, words.baseAddress)
            options.connection(
                connect: call.connectTimeout, whole: call.timeout, sockets)
            setLimits(call, &options)
            options.text(ROLLCALL_CURLOPT_URL, call.url)
            options.pointer(ROLLCALL_CURLOPT_HTTPHEADER, fields)
            if let path = options.authorities(authorities) {
                return Outcome(code: 0, isRefused: true, unusablePath: path)
            }
            let context = Unmanaged.passUnretained(incoming).toOpaque()
            options.sink(ROLLCALL_CURLOPT_HEADERFUNCTION, takeField)
            options.pointer(ROLLCALL_CURLOPT_HEADERDATA, context)
            options.sink(ROLLCALL_CURLOPT_WRITEFUNCTION, takeBody)
            options.pointer(ROLLCALL_CURLOPT_WRITEDATA, context)
            if call.permit != nil { options.permit(mayGoOut, context) }
            if call.isAwaited != nil { options.look(isStillAwaited, context) }
            return call.body.withUnsafeBytes { body in
                setMethod(call.method, body, &options)
                if options.failure != 0 {
                    return Outcome(code: options.failure, isRefused: true)
                }
                let code = withoutBrokenPipes { rollcall_curl_perform(curl, handle) }
                return withExtendedLifetime((incoming, sockets)) {
                    Outcome(
                        code: code,
                        isSent: rollcall_curl_fact(curl, handle, ROLLCALL_CURLINFO_REQUEST_SIZE)
                            > 0,
                        isNewConnection: rollcall_curl_fact(
                            curl, handle, ROLLCALL_CURLINFO_NUM_CONNECTS) > 0,
                        systemNumber: CInt(
                            truncatingIfNeeded: rollcall_curl_fact(
                                curl, handle, ROLLCALL_CURLINFO_OS_ERRNO)))
                }
            }
        }
    }

    private func setLimits(_ call: HTTPCall, _ options: inout CurlOptions) {
        options.number(ROLLCALL_CURLOPT_FOLLOWLOCATION, 0)
        // A person may be called "..": no segment of a path is taken for a folder.
        options.number(ROLLCALL_CURLOPT_PATH_AS_IS, 1)
        options.number(ROLLCALL_CURLOPT_PROTOCOLS, Int(ROLLCALL_CURLPROTO_WEB))
        options.number(ROLLCALL_CURLOPT_FRESH_CONNECT, call.mayBeSentTwice ? 0 : 1)
        // What takes a new connection each time would leave the last five open behind it.
        options.number(ROLLCALL_CURLOPT_FORBID_REUSE, call.mayBeSentTwice ? 0 : 1)
        if let idle = call.idleSecondsMax {
            options.number(ROLLCALL_CURLOPT_LOW_SPEED_LIMIT, 1)
            options.number(ROLLCALL_CURLOPT_LOW_SPEED_TIME, idle)
        }
        if let own = call.clientCertificate {
            options.text(ROLLCALL_CURLOPT_SSLCERT, own.certificate)
            options.text(ROLLCALL_CURLOPT_SSLKEY, own.key)
        }
        options.text(ROLLCALL_CURLOPT_USERAGENT, "rollcall/\(BuildInformation.version)")
    }

    private func setMethod(
        _ method: HTTPCall.Method, _ body: UnsafeRawBufferPointer, _ options: inout CurlOptions
    ) {
        if method == .get {
            options.number(ROLLCALL_CURLOPT_HTTPGET, 1)
            return
        }
        options.number(ROLLCALL_CURLOPT_POST, 1)
        options.size(ROLLCALL_CURLOPT_POSTFIELDSIZE_LARGE, Int64(body.count))
        // Nil would let it read the body from standard input.
        let empty: StaticString = ""
        options.pointer(
            ROLLCALL_CURLOPT_POSTFIELDS, body.baseAddress ?? UnsafeRawPointer(empty.utf8Start))
        if method != .post { options.text(ROLLCALL_CURLOPT_CUSTOMREQUEST, method.rawValue) }
    }

    // MARK: - What went wrong

    private func cause(
        of outcome: Outcome, _ call: HTTPCall, _ incoming: IncomingAnswer,
        _ sockets: TransferSockets, _ words: String
    ) -> HTTPCallError.Cause? {
        if let path = outcome.unusablePath { return .unusableAuthorities(path: path) }
        if incoming.isNotPermitted { return .notPermitted }
        let code = rollcall_curl_code(UInt32(bitPattern: outcome.code))
        let plain = library.withFunctions { String(cString: rollcall_curl_words($0, outcome.code)) }
        let unconnected = HTTPCallError.Cause(
            unconnected: code, errno: outcome.systemNumber, sockets, authorities,
            words: words.isEmpty ? plain : words)
        if let unconnected { return unconnected }
        switch code {
        case ROLLCALL_CURLE_ABORTED_BY_CALLBACK where call.isAwaited != nil: return .givenUp
        case ROLLCALL_CURLE_OK where incoming.status == 0: return .notHTTP
        // libcurl takes an end in the middle of a field for the end of the head.
        case ROLLCALL_CURLE_OK: return incoming.isHeadWhole ? nil : .cutOff
        case ROLLCALL_CURLE_OPERATION_TIMEDOUT:
            let isConnecting = !outcome.isSent && call.connectTimeout < call.timeout
            return .timedOut(after: isConnecting ? call.connectTimeout : call.timeout)
        case ROLLCALL_CURLE_WRITE_ERROR where incoming.isBodyTooLarge:
            return .answerTooLarge(bytesMax: call.answerBytesMax)
        case ROLLCALL_CURLE_WRITE_ERROR where incoming.isHeadTooLarge:
            return .headTooLarge(bytesMax: Self.headBytesMax)
        // A line of the head that has no end: libcurl itself holds 100 KB of it, and before 8.6.0 it
        // calls more than that a lack of memory.
        case ROLLCALL_CURLE_OUT_OF_MEMORY where outcome.isSent && !incoming.isHeadWhole,
            ROLLCALL_CURLE_TOO_LARGE:
            return .headTooLarge(bytesMax: Self.headBytesMax)
        case ROLLCALL_CURLE_PARTIAL_FILE, ROLLCALL_CURLE_GOT_NOTHING, ROLLCALL_CURLE_SEND_ERROR,
            ROLLCALL_CURLE_RECV_ERROR:
            return .cutOff
        case ROLLCALL_CURLE_WEIRD_SERVER_REPLY, rollcall_curl_code(1): return .notHTTP
        default: return .other(code: outcome.code, plain)
        }
    }
}
