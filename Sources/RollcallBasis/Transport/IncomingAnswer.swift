import CCurl
import Glibc

/// The answer as it comes in, and libcurl's callbacks that fill it.
final class IncomingAnswer {
    private let bodyBytesMax: Int
    private var headBytes = 0
    private var body: [UInt8] = []
    private var contentType: String?
    private var retryAfter: String?
    /// The names of fields that are wanted, too.
    private let fieldsKept: [String]
    private var fields: [HTTPCallAnswer.Field] = []
    /// The last status line's number; 0 before one.
    private(set) var status = 0
    /// The empty line behind the last status line came.
    private(set) var isHeadWhole = false
    /// The body was larger than allowed, so the transfer was ended.
    private(set) var isBodyTooLarge = false
    /// The head was larger than allowed, so the transfer was ended.
    private(set) var isHeadTooLarge = false

    /// Takes the body of an answer 200 as it comes; nil if it is kept.
    private let part: ((UnsafeRawBufferPointer) -> Bool)?

    /// Asked once the connection stands; nil if the request may go out in any case.
    private let permit: SendingPermit?
    /// Asked while the transfer runs; nil if it is awaited to its end.
    private let isAwaited: (@Sendable () -> Bool)?
    /// The permit did not hold, so the request did not go out.
    private(set) var isNotPermitted = false

    init(
        bodyBytesMax: Int, fieldsKept: [String] = [], permit: SendingPermit? = nil,
        isAwaited: (@Sendable () -> Bool)? = nil, part: ((UnsafeRawBufferPointer) -> Bool)? = nil
    ) {
        self.bodyBytesMax = bodyBytesMax
        self.fieldsKept = fieldsKept
        self.permit = permit
        self.isAwaited = isAwaited
        self.part = part
    }

    /// True if the request may go out.
    fileprivate func mayGoOut() -> Bool {
        isNotPermitted = permit.map { !$0.holds } ?? false
        return !isNotPermitted
    }

    /// True while somebody waits for it.
    fileprivate var isStillAwaited: Bool { isAwaited?() ?? true }

    /// The status if the head is whole; an interim answer's (1xx) is none.
    var finalStatus: Int? { isHeadWhole && status >= 200 ? status : nil }

    /// Returns what came, once it is whole.
    func answer(isNewConnection: Bool) -> HTTPCallAnswer {
        HTTPCallAnswer(
            status: status, contentType: contentType, retryAfter: retryAfter, fields: fields,
            body: body,
            isNewConnection: isNewConnection)
    }

    /// Takes one line of the head; false ends the transfer.
    ///
    /// libcurl calls for the heads of interim answers too, and for trailers.
    fileprivate func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        headBytes += line.count
        isHeadTooLarge = headBytes > HTTPCaller.headBytesMax
        if isHeadTooLarge { return false }
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            (contentType, retryAfter, fields) = (nil, nil, [])
            isHeadWhole = false
            return true
        }
        if text == "\r\n" || text == "\n" { isHeadWhole = true }
        guard let colon = text.firstIndex(of: ":") else { return true }
        let value = String(text[text.index(after: colon)...].filter { !$0.isNewline })
        let bare = String(value.drop { $0 == " " || $0 == "\t" })
        let name = text[..<colon].lowercased()
        if let kept = fieldsKept.first(where: { $0.lowercased() == name }) {
            fields.append(HTTPCallAnswer.Field(name: kept, value: bare))
        }
        switch name {
        case "content-type": contentType = bare
        case "retry-after": retryAfter = bare
        default: break
        }
        return true
    }

    /// Takes a part of the body; false ends the transfer.
    fileprivate func takePart(_ part: UnsafeRawBufferPointer) -> Bool {
        if status == 200, let take = self.part { return take(part) }
        isBodyTooLarge = body.count + part.count > bodyBytesMax
        if isBodyTooLarge { return false }
        body.append(contentsOf: part)
        return true
    }
}

/// CURLOPT_HEADERFUNCTION: called once for each line of the head.
func takeField(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let bytes, let context else { return 0 }
    let incoming = Unmanaged<IncomingAnswer>.fromOpaque(context).takeUnretainedValue()
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    // Any number but the given one is an error, also for a line of no bytes.
    return incoming.takeLine(line) ? line.count : line.count + 1
}

/// CURLOPT_WRITEFUNCTION: called for each part of the body.
func takeBody(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard let context else { return 0 }
    let incoming = Unmanaged<IncomingAnswer>.fromOpaque(context).takeUnretainedValue()
    let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return incoming.takePart(part) ? part.count : part.count + 1
}

/// CURLOPT_PREREQFUNCTION: called before the request goes out.
func mayGoOut(
    context: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CChar>?,
    _: UnsafeMutablePointer<CChar>?, _: CInt, _: CInt
) -> CInt {
    guard let context else { return 0 }
    return Unmanaged<IncomingAnswer>.fromOpaque(context).takeUnretainedValue().mayGoOut() ? 0 : 1
}

/// CURLOPT_XFERINFOFUNCTION: called about once a second, and as bytes come.
func isStillAwaited(context: UnsafeMutableRawPointer?, _: Int64, _: Int64, _: Int64, _: Int64)
    -> CInt
{
    guard let context else { return 0 }
    return Unmanaged<IncomingAnswer>.fromOpaque(context).takeUnretainedValue().isStillAwaited
        ? 0 : 1
}

/// Options of one transfer, and the first that was refused. libcurl copies texts, not contexts.
struct CurlOptions {
    let curl: OpaquePointer
    let handle: UnsafeMutableRawPointer
    /// The CURLcode of the first refusal; 0 without one.
    private(set) var failure: CInt = 0

    init(curl: OpaquePointer, handle: UnsafeMutableRawPointer) {
        self.curl = curl
        self.handle = handle
    }

    mutating func number(_ option: rollcall_curl_option, _ value: Int) {
        note(rollcall_curl_set_long(curl, handle, option, value))
    }

    /// Sets what older ones do not have, and do without.
    func newer(_ option: rollcall_curl_option, _ value: Int) {
        _ = rollcall_curl_set_long(curl, handle, option, value)
    }

    mutating func size(_ option: rollcall_curl_option, _ value: Int64) {
        note(rollcall_curl_set_size(curl, handle, option, value))
    }

    mutating func text(_ option: rollcall_curl_option, _ value: String) {
        note(rollcall_curl_set_pointer(curl, handle, option, value))
    }

    /// Sets a text that is not known to be UTF-8.
    mutating func bytes(_ option: rollcall_curl_option, _ value: [UInt8]) {
        note(rollcall_curl_set_pointer(curl, handle, option, value + [0]))
    }

    mutating func pointer(_ option: rollcall_curl_option, _ value: UnsafeRawPointer?) {
        note(rollcall_curl_set_pointer(curl, handle, option, value))
    }

    mutating func sink(_ option: rollcall_curl_option, _ value: @escaping rollcall_curl_sink) {
        note(rollcall_curl_set_sink(curl, handle, option, value))
    }

    /// Sets what an older one does not have: there it is asked before the connection, and no more.
    func permit(_ value: @escaping rollcall_curl_permit, _ context: UnsafeRawPointer) {
        _ = rollcall_curl_set_permit(curl, handle, value)
        _ = rollcall_curl_set_pointer(curl, handle, ROLLCALL_CURLOPT_PREREQDATA, context)
    }

    mutating func look(_ value: @escaping rollcall_curl_look, _ context: UnsafeRawPointer) {
        note(rollcall_curl_set_look(curl, handle, value))
        pointer(ROLLCALL_CURLOPT_XFERINFODATA, context)
        number(ROLLCALL_CURLOPT_NOPROGRESS, 0)
    }

    mutating func opener(_ value: @escaping rollcall_curl_opener) {
        note(rollcall_curl_set_opener(curl, handle, value))
    }

    /// False if this libcurl does not take such.
    func blob(_ option: rollcall_curl_option, _ value: [UInt8]) -> Bool {
        value.withUnsafeBytes {
            rollcall_curl_set_blob(curl, handle, option, $0.baseAddress, $0.count) == 0
        }
    }

    private mutating func note(_ code: CInt) {
        if failure == 0 { failure = code }
    }
}

/// Runs `body` so that no broken pipe of its sockets ends the process: with CURLOPT_NOSIGNAL
/// libcurl does not keep SIGPIPE away, and not every TLS library writes with MSG_NOSIGNAL.
func withoutBrokenPipes<Value>(_ body: () -> Value) -> Value {
    var pipes = sigset_t()
    sigemptyset(&pipes)
    sigaddset(&pipes, SIGPIPE)
    var before = sigset_t()
    pthread_sigmask(SIG_BLOCK, &pipes, &before)
    let value = body()
    // One that came meanwhile waits for this thread, and would be delivered now.
    var atOnce = timespec()
    if sigismember(&before, SIGPIPE) == 0 {
        while sigtimedwait(&pipes, nil, &atOnce) > 0 {}
    }
    pthread_sigmask(SIG_SETMASK, &before, nil)
    return value
}
