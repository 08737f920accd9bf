import CCurl
import Glibc
import RollcallCore
import RollcallSupport

/// Hands mails to mail servers, one at a time, each on a connection of its own.
///
/// A call blocks its thread until the mail is taken or its time is over, so a caller belongs to one
/// thread at a time and is not Sendable. As `HTTPCaller` it uses no proxy, and calls only addresses
/// that `ConnectedAddress` lets pass.
final class MailCaller {
    private let library: CurlLibrary
    private let authorities: Authorities
    /// A CURL *, freed by `deinit`.
    private let handle: UnsafeMutableRawPointer

    /// A caller without connections. Throws `HTTPCallError`, only of `noLibrary` and, without
    /// memory, `other`.
    init(
        library: Result<CurlLibrary, CurlMissing>, authorities: Authorities
    ) throws(HTTPCallError) {
        switch library {
        case .success(let loaded): self.library = loaded
        case .failure(let missing):
            throw HTTPCallError(
                cause: .noLibrary(missing), destination: "", mayHaveArrived: false)
        }
        self.authorities = authorities
        guard let opened = self.library.withFunctions({ rollcall_curl_open($0) }) else {
            throw HTTPCallError(cause: .noMemory, destination: "", mayHaveArrived: false)
        }
        handle = opened
    }

    deinit { library.withFunctions { rollcall_curl_close($0, handle) } }

    /// Sends the mail, and returns the reply that decided about it, whatever it says.
    /// - Throws: `MailCallError` if none did.
    func reply(to call: MailCall) throws(MailCallError) -> MailReply {
        let place = Destination(url: call.url, schemes: Destination.mailSchemes)?.text ?? ""
        let traffic = MailTraffic(content: call.content, permit: call.permit)
        let sockets = TransferSockets()
        var words = [CChar](repeating: 0, count: Int(ROLLCALL_CURL_ERROR_SIZE))
        let outcome = withRecipients(of: call) { recipients in
            words.withUnsafeMutableBufferPointer { words in
                perform(call, recipients, traffic, sockets, words)
            }
        }
        let said = words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let text = String(decoding: said, as: UTF8.self)
        let last = outcome.flatMap { traffic.lastReply($0.replyCode) }
        if let outcome, let reply = decisive(outcome, last, traffic) { return reply }
        let why =
            outcome.map { cause(of: $0, last, call, traffic, sockets, text) }
            ?? HTTPCallError.Cause.noMemory
        throw MailCallError(
            error: HTTPCallError(
                cause: why, destination: place, mayHaveArrived: traffic.isRead),
            lastReply: last)
    }

    // MARK: - One transfer

    /// The outcome of a call, by libcurl's words.
    private struct Outcome {
        var code: CInt
        /// Of the last reply but that to QUIT; 0 without one.
        var replyCode = 0
        var systemNumber: CInt = 0
        var unusablePath: String?
    }

    /// Calls `body` with a curl_slist of the recipients; nil without memory.
    private func withRecipients(
        of call: MailCall, _ body: (UnsafeMutableRawPointer?) -> Outcome
    ) -> Outcome? {
        var list: UnsafeMutableRawPointer?
        defer { library.withFunctions { rollcall_curl_free_list($0, list) } }
        for recipient in call.recipients {
            guard let longer = library.withFunctions({ rollcall_curl_append($0, list, recipient) })
            else { return nil }
            list = longer
        }
        return body(list)
    }

    /// Sets all options and runs the transfer. Everything that is lent to libcurl lives until its
    /// end, and is forgotten by the reset.
    private func perform(
        _ call: MailCall, _ recipients: UnsafeMutableRawPointer?, _ traffic: MailTraffic,
        _ sockets: TransferSockets, _ words: UnsafeMutableBufferPointer<CChar>
    ) -> Outcome {
        library.withFunctions { curl in
            rollcall_curl_reset(curl, handle)
            defer { rollcall_curl_reset(curl, handle) }
            var options = CurlOptions(curl: curl, handle: handle)
            options.pointer(ROLLCALL_CURLOPT_ERRORBUFFER, words.baseAddress)
            // A server may take its time for the first word: whoever sends junk does not wait.
            options.connection(connect: call.timeout, whole: call.timeout, sockets)
            if let path = options.authorities(authorities) {
                return Outcome(code: 0, unusablePath: path)
            }
            setMail(call, recipients, &options)
            let context = Unmanaged.passUnretained(traffic).toOpaque()
            options.sink(ROLLCALL_CURLOPT_HEADERFUNCTION, takeReply)
            options.pointer(ROLLCALL_CURLOPT_HEADERDATA, context)
            options.sink(ROLLCALL_CURLOPT_READFUNCTION, readMail)
            options.pointer(ROLLCALL_CURLOPT_READDATA, context)
            if call.permit != nil { options.permit(mailMayGoOut, context) }
            if options.failure != 0 { return Outcome(code: options.failure) }
            let code = withoutBrokenPipes { rollcall_curl_perform(curl, handle) }
            return withExtendedLifetime((traffic, sockets)) {
                Outcome(
                    code: code,
                    replyCode: rollcall_curl_fact(curl, handle, ROLLCALL_CURLINFO_RESPONSE_CODE),
                    systemNumber: CInt(
                        truncatingIfNeeded: rollcall_curl_fact(
                            curl, handle, ROLLCALL_CURLINFO_OS_ERRNO)))
            }
        }
    }

    private func setMail(
        _ call: MailCall, _ recipients: UnsafeMutableRawPointer?, _ options: inout CurlOptions
    ) {
        options.number(ROLLCALL_CURLOPT_PROTOCOLS, Int(ROLLCALL_CURLPROTO_MAIL))
        options.text(ROLLCALL_CURLOPT_URL, call.url)
        options.number(
            ROLLCALL_CURLOPT_USE_SSL, call.needsTLS ? Int(ROLLCALL_CURL_USE_SSL_ALL) : 0)
        if !call.username.isEmpty {
            options.text(ROLLCALL_CURLOPT_USERNAME, call.username)
            options.bytes(ROLLCALL_CURLOPT_PASSWORD, call.password)
        }
        options.text(ROLLCALL_CURLOPT_MAIL_FROM, call.from)
        options.pointer(ROLLCALL_CURLOPT_MAIL_RCPT, recipients)
        options.number(ROLLCALL_CURLOPT_UPLOAD, 1)
        options.size(ROLLCALL_CURLOPT_INFILESIZE_LARGE, Int64(call.content.count))
        // A mail must not go out twice, and a QUIT that nobody answers is waited for only while the
        // transfer has its limits.
        options.number(ROLLCALL_CURLOPT_FRESH_CONNECT, 1)
        options.number(ROLLCALL_CURLOPT_FORBID_REUSE, 1)
        options.number(
            ROLLCALL_CURLOPT_SERVER_RESPONSE_TIMEOUT, Int(call.timeout.count + 999) / 1000)
    }

    // MARK: - What came of it

    /// The reply that decided; nil if none did: a connection that ends behind a 250 says nothing.
    private func decisive(
        _ outcome: Outcome, _ last: MailReply?, _ traffic: MailTraffic
    ) -> MailReply? {
        let code = rollcall_curl_code(UInt32(bitPattern: outcome.code))
        guard outcome.unusablePath == nil, !traffic.isTooMuch, !traffic.isNotPermitted,
            code != ROLLCALL_CURLE_USE_SSL_FAILED, var reply = last,
            code == ROLLCALL_CURLE_OK || reply.code >= 400
        else { return nil }
        reply.mayHaveArrived = traffic.isRead
        reply.isOfEnvelope = code == ROLLCALL_CURLE_SEND_ERROR && !traffic.isRead
        return reply
    }

    private func cause(
        of outcome: Outcome, _ last: MailReply?, _ call: MailCall, _ traffic: MailTraffic,
        _ sockets: TransferSockets, _ words: String
    ) -> HTTPCallError.Cause {
        if let path = outcome.unusablePath { return .unusableAuthorities(path: path) }
        if traffic.isNotPermitted { return .notPermitted }
        if traffic.isTooMuch { return .answerTooLarge(bytesMax: MailTraffic.repliesBytesMax) }
        let code = rollcall_curl_code(UInt32(bitPattern: outcome.code))
        let plain = library.withFunctions { String(cString: rollcall_curl_words($0, outcome.code)) }
        let unconnected = HTTPCallError.Cause(
            unconnected: code, errno: outcome.systemNumber, sockets, authorities,
            words: words.isEmpty ? plain : words)
        if let unconnected { return unconnected }
        switch code {
        case ROLLCALL_CURLE_OPERATION_TIMEDOUT: return .timedOut(after: call.timeout)
        case ROLLCALL_CURLE_USE_SSL_FAILED: return .noSTARTTLS
        case ROLLCALL_CURLE_WEIRD_SERVER_REPLY where last == nil: return .notSMTP
        case ROLLCALL_CURLE_GOT_NOTHING, ROLLCALL_CURLE_SEND_ERROR, ROLLCALL_CURLE_RECV_ERROR,
            ROLLCALL_CURLE_PARTIAL_FILE, ROLLCALL_CURLE_WEIRD_SERVER_REPLY:
            return .cutOff
        default: return .other(code: outcome.code, plain)
        }
    }
}
