/// One HTTP request as the routes see it.
///
/// Only the header fields that Rollcall uses are read, since every one copied is paid for on each
/// request. Nothing here has been evaluated beyond its framing: strings are as the client sent
/// them.
package struct HTTPRequest: Sendable {
    /// The method as sent, in the client's case; `HEAD` is given as `GET`, see `isHead`.
    package var method: String
    /// True if the client asked for the head only. The edge leaves the body out by itself.
    package var isHead: Bool
    /// The target without its query, *as sent*: percent-decoding belongs to the router.
    package var path: String
    /// The query's arguments in their order, decoded; one without `=` has an empty value.
    package var query: [(name: String, value: String)]
    /// `Content-Type`, if sent.
    package var contentType: String?
    /// `Host`, if sent; always there in HTTP/1.1.
    package var host: String?
    /// True if it came over TLS that ends here.
    package var isSecure = false
    /// All fields of the head but those that hold secrets, of requests to inputs alone: which of them
    /// names a phone, the settings say.
    package var fields: [(name: String, value: String)] = []
    /// The fields that most requests have none of; a copy of a request counts them once instead of each.
    var rare: RareBox?
    /// The whole body; empty while the request is judged by its head, and where nobody reads it.
    package var body: [UInt8]

    /// The beginning of the paths of inputs.
    package static let inputsPath = "/v1/in/"
    /// The path where somebody signs in, who is not known yet.
    package static let sessionPath = "/v1/session"
    private static let sessionBytesMax = 4 << 10

    /// Returns how many bytes of a body are read at most, of `most` that are anywhere: a stranger's are
    /// kept for as long as they come.
    func bodyBytesMax(of most: Int) -> Int {
        path == Self.sessionPath ? min(most, Self.sessionBytesMax) : most
    }

    /// True if somebody reads its body: "Content received in a GET request has no generally defined
    /// semantics", nor in a DELETE. Source: RFC 9110 §9.3.1, §9.3.5.
    var takesBody: Bool { method != "GET" && method != "DELETE" }

    /// A request that holds what is given and nothing else.
    package init(method: String, path: String, body: [UInt8] = []) {
        self.method = method
        self.isHead = false
        self.path = path
        self.query = []
        self.body = body
    }
}

/// One HTTP answer.
///
/// `Content-Length`, `Date` and `X-Content-Type-Options: nosniff` are added by the edge and must not
/// be among `headers`; so is `Cache-Control: no-store`, unless `headers` say something else. A field whose name or value libmicrohttpd
/// refuses (a line break, an empty value) is left out.
package struct HTTPResponse: Sendable {
    /// The status, 200 to 599.
    package var status: Int
    /// Header fields in their order.
    package var headers: [(String, String)]
    /// The body; not sent to `HEAD`.
    package var body: [UInt8]
    /// Takes the stream that is the body instead; nil of an answer with an end.
    package var stream: (@Sendable (HTTPStream) -> Void)?

    /// An answer with the given parts.
    package init(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A problem document. `detail` must not repeat what the client sent.
    ///
    /// Source: RFC 9457.
    package static func problem(
        _ status: Int, _ title: String, detail: String, headers: [(String, String)] = []
    ) -> HTTPResponse {
        var body = Array("{\"type\":\"about:blank\",\"title\":\"".utf8)
        appendEscaped(title, to: &body)
        body += "\",\"status\":\(status),\"detail\":\"".utf8
        appendEscaped(detail, to: &body)
        body += "\"}\n".utf8
        let type = ("Content-Type", "application/problem+json")
        return HTTPResponse(status: status, headers: [type] + headers, body: body)
    }

    private static func appendEscaped(_ text: String, to body: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                body.append(UInt8(ascii: "\\"))
                body.append(byte)
            case 0..<0x20:
                body.append(UInt8(ascii: " "))
            default:
                body.append(byte)
            }
        }
    }
}

/// The right to answer one request, once.
///
/// It may be kept and used on any thread. The first answer wins; later ones, and those that come
/// after the watchdog's 503 or after the connection is gone, change nothing.
package struct HTTPReply: Sendable {
    private let connection: HTTPConnection
    private let number: UInt64

    /// The right to answer the request with this number on this connection.
    init(connection: HTTPConnection, number: UInt64) {
        self.connection = connection
        self.number = number
    }

    /// Lets the request wait for its answer for `span`, which may be longer than others may wait.
    package func wait(for span: Duration) { connection.wait(for: span, number) }

    /// False once the request has been answered, by the watchdog for one.
    package var isOpen: Bool { connection.isOpen(number) }

    /// Goes on with a request that waited at its head.
    func goOn() { connection.goOn(number) }

    /// Answers the request. Never blocks on the network.
    package func answer(_ response: HTTPResponse) {
        connection.answer(response, to: number)
    }
}
