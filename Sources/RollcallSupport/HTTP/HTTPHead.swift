import CMicroHTTPD
import Glibc

/// The head of a request: what the routes need, and a judgement of its framing.
///
/// libmicrohttpd 0.9.75 takes what a stricter server or proxy reads differently: both lengths,
/// two lengths, folded lines, spaces before the colon, bare CR and LF, NUL. Each is a way to
/// smuggle a request past a proxy, so each is a `Fault` here. Source: RFC 9112 §6.3, §11.2.
struct HTTPHead {
    /// The request without its body.
    var request: HTTPRequest
    /// `Content-Length`, if it is plain digits; `UInt64.max` if it is larger than that.
    private(set) var contentLength: UInt64?
    /// True if the body comes in chunks.
    private(set) var isChunked = false
    /// True if the client waits for our consent before it sends the body.
    private(set) var expectsContinue = false
    /// The first thing found wrong with the head.
    private(set) var fault: Fault?
    /// The bytes that the head takes of the connection's buffer: its text, and what libmicrohttpd
    /// notes of each field and each argument.
    private(set) var roomBytes = 0

    private var hasTransferEncoding = false
    /// True for a request to an input, of which all fields may be asked for.
    private var takesAllFields = false
    /// The bytes that the query takes of the target, with the question mark.
    private var queryBytes = 0
    private var lastEnd: UnsafePointer<CChar>?

    /// The reason why a head is refused.
    enum Fault {
        /// A line does not end in CR LF, is folded, or holds a NUL or a CR of its own.
        case line
        /// A field name with a character that is not a token's.
        case name
        /// A field that may stand once stands twice.
        case repeated
        /// HTTP/1.1 without `Host`.
        case noHost
        /// `Host` holds a character that no host has.
        case host
        /// `Content-Length` is not plain digits.
        case length
        /// `Transfer-Encoding` is not `chunked`, or comes in HTTP/1.0.
        case coding
        /// `Transfer-Encoding` and `Content-Length` both.
        case twoFramings
        /// The method is not a token with one space behind it, or the target holds a space or a
        /// control character, or begins with neither a slash nor `http://host`.
        case target
        /// `CONNECT`: whoever asks for a tunnel may have sent into it already what is no request.
        case tunnel
        /// `Expect` is not `100-continue`.
        case expectation

        /// The answer, after which the connection is closed: where this request ends and the
        /// next begins is not certain.
        var response: HTTPResponse {
            let close = [("Connection", "close")]
            if case .expectation = self {
                return .problem(
                    417, "Expectation Failed", detail: "Expect must be 100-continue.",
                    headers: close)
            }
            return .problem(400, "Bad Request", detail: detail, headers: close)
        }

        private var detail: String {
            switch self {
            case .line: "Every line of the head must end in CR LF, unfolded and without NUL."
            case .name: "A header field name holds a character that is not allowed."
            case .repeated: "A header field that may stand once stands twice."
            case .noHost: "HTTP/1.1 requires Host."
            case .host: "Host holds a character that is not allowed."
            case .length: "Content-Length must be plain digits."
            case .coding: "Transfer-Encoding must be chunked, in HTTP/1.1."
            case .twoFramings: "Transfer-Encoding and Content-Length exclude each other."
            case .target: "Method or target hold a character that is not allowed."
            case .tunnel: "There is no tunnel through here."
            case .expectation: "Expect must be 100-continue."
            }
        }
    }

    /// Reads and evaluates the head of the request that is arriving on the connection. To be called
    /// in the first call of the access handler, when the head stands in the read buffer.
    init(
        of connection: OpaquePointer, url: UnsafePointer<CChar>, method: UnsafePointer<CChar>,
        version: UnsafePointer<CChar>, isSecure: Bool
    ) {
        let isHead = strcmp(method, "HEAD") == 0
        request = HTTPRequest(
            method: isHead ? "GET" : String(cString: method), path: String(cString: url))
        request.isHead = isHead
        request.isSecure = isSecure
        takesAllFields = request.path.hasPrefix(HTTPRequest.inputsPath)
        withUnsafeMutablePointer(to: &self) { rollcall_each_field(connection, readField, $0) }
        authorise(url: url, method: method, version: version)
        takeAuthority()
        // A bare CR or LF among the last two line ends leaves the head a byte short, and the
        // bytes behind it may be NULs by chance.
        let size = rollcall_head_size(connection)
        roomBytes += size
        let end = method + size
        if (lastEnd ?? version + strlen(version)) + 4 != end { found(.line) }
    }

    /// True if bytes follow the head.
    var hasBody: Bool { hasTransferEncoding || (contentLength ?? 0) > 0 }

    private mutating func authorise(
        url: UnsafePointer<CChar>, method: UnsafePointer<CChar>, version: UnsafePointer<CChar>
    ) {
        // "A recipient that receives a message with a major version number that it implements and
        // a minor version number higher than what it implements SHOULD process the message as if
        // it had been labeled with the highest minor version". Source: RFC 9110 §2.5.
        let isCurrent = strcmp(version, "HTTP/1.0") != 0
        if !endsInLineBreak(version + strlen(version)) { found(.line) }
        if !isToken(method, url - method - 1) { found(.target) }
        var byte = url
        while byte.pointee != 0 {
            if UInt8(bitPattern: byte.pointee) <= 0x20 || byte.pointee == 0x7f { found(.target) }
            byte += 1
        }
        // A NUL ends what libmicrohttpd takes for path or query. One at the very end looks like the
        // mark of an empty query, or of an empty last argument.
        if !(0...1).contains(version - 1 - byte - queryBytes) { found(.target) }
        if strcmp(method, "CONNECT") == 0 { found(.tunnel) }
        if isCurrent, request.host == nil { found(.noHost) }
        if hasTransferEncoding, !isChunked || !isCurrent { found(.coding) }
        if hasTransferEncoding, contentLength != nil { found(.twoFramings) }
    }

    /// Takes the host out of a target that names one, "GET http://host/path", and refuses what is
    /// neither that nor a path nor `*`.
    ///
    /// A server "MUST ignore the received Host header field (if any) and instead replace it with
    /// the host information of the request-target". Source: RFC 9112 §3.2.2.
    private mutating func takeAuthority() {
        if request.path.utf8.first == UInt8(ascii: "/") || request.path == "*" { return }
        let scheme = request.isSecure ? "https://" : "http://"
        guard request.path.prefix(scheme.count).lowercased() == scheme else {
            return found(.target)
        }
        let rest = request.path.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" }
        if authority.isEmpty || !authority.utf8.allSatisfy(isHostByte) { found(.target) }
        request.host = String(authority)
        request.path = authority.count == rest.count ? "/" : String(rest.dropFirst(authority.count))
    }

    private mutating func found(_ fault: Fault) {
        if self.fault == nil { self.fault = fault }
    }

    /// Takes one header field. Pointers lead into libmicrohttpd's read buffer.
    fileprivate mutating func take(
        name: UnsafePointer<CChar>, nameSize: Int, value: UnsafePointer<CChar>, valueSize: Int
    ) {
        roomBytes += noteBytes
        if !isToken(name, nameSize) { found(.name) }
        if !isOneLine(name + nameSize, value) || !endsInLineBreak(value + valueSize)
            || memchr(value, carriageReturn, valueSize) != nil
        {
            found(.line)
        }
        lastEnd = value + valueSize
        if takesAllFields, !isName(name, "authorization", nameSize),
            !isName(name, "cookie", nameSize)
        {
            request.fields.append((text(name, nameSize), text(value, valueSize)))
        }
        // The length tells most names apart without reading them.
        switch nameSize {
        case 4 where isName(name, "host"):
            request.host = single(request.host, text(value, valueSize))
            if request.host?.utf8.allSatisfy(isHostByte) != true { found(.host) }
        case 6 where isName(name, "accept"):
            request.accept = joined(request.accept, text(value, valueSize))
        case 3 where isName(name, "via"):
            request.via = joined(request.via, text(value, valueSize))
        case 6 where isName(name, "origin"):
            request.origin = single(request.origin, text(value, valueSize))
        case 6 where isName(name, "cookie"):
            request.cookie = joined(request.cookie, text(value, valueSize), by: "; ")
        case 6 where isName(name, "expect"):
            if strcasecmp(value, "100-continue") != 0 { found(.expectation) }
            expectsContinue = true
        case 12 where isName(name, "content-type"):
            request.contentType = single(request.contentType, text(value, valueSize))
        case 13 where isName(name, "authorization"):
            request.authorization = single(request.authorization, text(value, valueSize))
        case 13 where isName(name, "last-event-id"):
            request.lastEventID = single(request.lastEventID, text(value, valueSize))
        case 14 where isName(name, "content-length"):
            takeLength(value, valueSize)
        case 15 where isName(name, "accept-encoding"):
            request.acceptEncoding = joined(request.acceptEncoding, text(value, valueSize))
        case 15 where isName(name, "idempotency-key"):
            request.idempotencyKey = single(request.idempotencyKey, text(value, valueSize))
        case 16 where isName(name, "content-encoding"):
            request.contentEncoding = joined(request.contentEncoding, text(value, valueSize))
        case 16 where isName(name, "rollcall-sent-at"):
            request.sentAt = single(request.sentAt, text(value, valueSize))
        case 18 where isName(name, "rollcall-passed-on"):
            request.passedOn = single(request.passedOn, text(value, valueSize))
        case 17 where isName(name, "transfer-encoding"):
            if hasTransferEncoding { found(.repeated) }
            hasTransferEncoding = true
            isChunked = strcasecmp(value, "chunked") == 0
        default: break
        }
    }

    /// Takes one argument of the query. libmicrohttpd has turned `+` into a space, and leaves the
    /// percent signs to us since it was told so.
    fileprivate mutating func takeArgument(
        name: UnsafePointer<CChar>, nameSize: Int, value: UnsafePointer<CChar>?, valueSize: Int
    ) {
        roomBytes += noteBytes
        queryBytes += 1 + nameSize + (value == nil ? 0 : 1 + valueSize)
        // Nothing between two `&`: "If bytes is the empty byte sequence, then continue". Source: the URL
        // standard, "application/x-www-form-urlencoded parsing".
        if nameSize == 0, value == nil { return }
        let decodedName = percentDecoded(name, nameSize)
        let decoded = value.map { percentDecoded($0, valueSize) } ?? (text: "", isWhole: true)
        request.query.append((decodedName.text, decoded.text))
        if request.argumentUnread == nil, !decodedName.isWhole || !decoded.isWhole {
            request.argumentUnread = decodedName.text
        }
    }

    private mutating func takeLength(_ value: UnsafePointer<CChar>, _ size: Int) {
        if contentLength != nil { found(.repeated) }
        var length: UInt64 = 0
        var isTooLarge = false
        for digit in UnsafeBufferPointer(start: value, count: size) {
            let number = UInt64(truncatingIfNeeded: UInt8(bitPattern: digit)) &- 48
            guard number < 10 else { return found(.length) }
            let (tens, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(number)
            isTooLarge = isTooLarge || overflow || carry
            length = sum
        }
        if size == 0 { found(.length) }
        contentLength = isTooLarge ? .max : length
    }

    private mutating func single(_ earlier: String?, _ value: String) -> String {
        if earlier != nil { found(.repeated) }
        return value
    }
}

/// The bytes that 0.9.75 allocates for a field, rounded up as its pool does.
private let noteBytes = 64

/// RFC 9110 §5.3: several fields of one name mean the same as one with their values in a list.
private func joined(_ earlier: String?, _ value: String, by separator: String = ", ") -> String {
    guard let earlier else { return value }
    return earlier + separator + value
}

/// Called for each header field and each argument of the query; must not be a closure, which
/// could be bound to the main actor.
private func readField(
    context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?,
    nameSize: Int, value: UnsafePointer<CChar>?, valueSize: Int
) -> MHD_Result {
    guard let context, let name else { return .YES }
    let head = context.assumingMemoryBound(to: HTTPHead.self)
    if kind == .HEADER_KIND {
        guard let value else { return .YES }
        head.pointee.take(name: name, nameSize: nameSize, value: value, valueSize: valueSize)
    } else {
        head.pointee.takeArgument(
            name: name, nameSize: nameSize, value: value, valueSize: valueSize)
    }
    return .YES
}

/// Returns true if the line that ends here ended in CR LF. libmicrohttpd overwrites the line's end
/// with NULs in its buffer: two for CR LF, one for a bare LF; a NUL within a value has none behind
/// it.
private func endsInLineBreak(_ end: UnsafePointer<CChar>) -> Bool {
    end[0] == 0 && end[1] == 0
}

/// The byte that some take for the end of a line, and 0.9.75 for part of the value.
private let carriageReturn: Int32 = 0x0d

/// Returns true if only the colon and white space stand between the name's end and the value. Not
/// so when the field was folded: 0.9.75 then appends the second line to the *name*, elsewhere.
private func isOneLine(_ nameEnd: UnsafePointer<CChar>, _ value: UnsafePointer<CChar>) -> Bool {
    var byte = nameEnd + 1
    guard value >= byte else { return false }
    while byte < value {
        guard byte.pointee == 0x20 || byte.pointee == 0x09 else { return false }
        byte += 1
    }
    return true
}

private func isName(
    _ name: UnsafePointer<CChar>, _ expected: StaticString, _ size: Int
) -> Bool {
    size == expected.utf8CodeUnitCount && isName(name, expected)
}

private func isName(_ name: UnsafePointer<CChar>, _ expected: StaticString) -> Bool {
    expected.withUTF8Buffer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { letters in
            guard let start = letters.baseAddress else { return false }
            return strncasecmp(name, start, letters.count) == 0
        }
    }
}

/// RFC 9110 §5.6.2: `!#$%&'*+-.^_`|~`, digits and letters, one bit each.
private let tokenBits: (low: UInt64, high: UInt64) = (0x03ff_6cfa_0000_0000, 0x57ff_ffff_c7ff_fffe)

/// Returns true for a byte that a host with its port may hold: from `0` on, the colon is the next
/// one. Source: RFC 3986 §3.2.2.
private func isHostByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"):
        true
    default: "_~%[]!$&'()*+,;=".utf8.contains(byte)
    }
}

private func isToken(_ name: UnsafePointer<CChar>, _ size: Int) -> Bool {
    guard size > 0 else { return false }
    for letter in UnsafeBufferPointer(start: name, count: size) {
        let byte = UInt8(bitPattern: letter)
        let bits = byte < 64 ? tokenBits.low : tokenBits.high
        guard byte < 128, bits >> UInt64(byte & 63) & 1 == 1 else { return false }
    }
    return true
}

private func text(_ value: UnsafePointer<CChar>, _ size: Int) -> String {
    var count = size
    while count > 0, value[count - 1] == 0x20 || value[count - 1] == 0x09 { count -= 1 }
    return string(UnsafeBufferPointer(start: value, count: count))
}

private func string(_ letters: UnsafeBufferPointer<CChar>) -> String {
    letters.withMemoryRebound(to: UInt8.self) { String(decoding: $0, as: UTF8.self) }
}

/// A percent sign without two hexadecimal digits behind it stands for itself. `isWhole` is false if a
/// part of the text is no UTF-8.
private func percentDecoded(
    _ value: UnsafePointer<CChar>, _ size: Int
) -> (text: String, isWhole: Bool) {
    let letters = UnsafeBufferPointer(start: value, count: size)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(size)
    var index = 0
    while index < size {
        let byte = UInt8(bitPattern: letters[index])
        if byte == UInt8(ascii: "%"), index + 2 < size,
            let high = hexadecimal(letters[index + 1]), let low = hexadecimal(letters[index + 2])
        {
            bytes.append(high << 4 | low)
            index += 3
        } else {
            bytes.append(byte)
            index += 1
        }
    }
    if let text = String(validating: bytes, as: UTF8.self) { return (text, true) }
    return (String(decoding: bytes, as: UTF8.self), false)
}

private func hexadecimal(_ letter: CChar) -> UInt8? {
    let byte = UInt8(bitPattern: letter)
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): return byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): return byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): return byte - UInt8(ascii: "A") + 10
    default: return nil
    }
}
