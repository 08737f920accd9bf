import Glibc
import RollcallCore
import RollcallSupport

/// One request to somebody else's server.
package struct HTTPCall: Sendable {
    /// The methods that may be asked for.
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    /// Bytes of an answer's body at most, if nothing else is said.
    package static let answerBytesMaxStandard = 1 << 20

    package var method: Method
    /// `http://…` or `https://…`. It may hold secrets, in its path too: it is never shown.
    package var url: String
    /// Header fields in their order; `Host` and `Content-Length` come by themselves.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// Until the connection stands, its TLS too.
    package var connectTimeout = Milliseconds(3000)
    /// Until the answer is whole, however steadily it drips.
    package var timeout = Milliseconds(10_000)
    /// The fields of the answer's head that are wanted, beside the usual ones.
    package var fieldsKept: [String] = []
    /// An answer's body beyond so many bytes is an error.
    package var answerBytesMax = answerBytesMaxStandard
    /// False for what must not reach the receiver twice: it gets a connection of its own.
    ///
    /// libcurl sends a request again, whatever its method, if a connection that it kept from
    /// before turns out to be closed before a byte of the answer came. Nobody can know whether the
    /// receiver had read it by then.
    package var mayBeSentTwice = true
    /// The certificate by which we are known to the other side; nil for none.
    package var clientCertificate: ClientCertificate?
    /// Asked once the connection stands; nil if the request may go out in any case (S6).
    package var permit: SendingPermit?
    /// Asked about once a second; false gives the call up, whatever has come of it. Nil if nobody asks.
    package var isAwaited: (@Sendable () -> Bool)?
    /// Seconds without a byte after which an answer that comes in parts is given up; nil if only
    /// `timeout` holds.
    package var idleSecondsMax: Int?

    /// A request for `url`, without fields or body.
    package init(_ method: Method, _ url: String) {
        self.method = method
        self.url = url
    }
}

/// A certificate by which a client is known, and its key: paths of PEM files.
package struct ClientCertificate: Equatable, Sendable {
    package var certificate: String
    package var key: String

    /// The certificate in a file, with its key in another.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The answer of the other server, whatever its status.
package struct HTTPCallAnswer: Sendable, Equatable {
    /// A field of its head.
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    package var status: Int
    /// `Content-Type`, if sent.
    package var contentType: String?
    /// `Retry-After`, if sent: seconds or a date.
    package var retryAfter: String?
    /// Those that were wanted and sent, in their order.
    package var fields: [Field] = []
    package var body: [UInt8] = []
    /// False if a connection from before was used.
    package var isNewConnection = true
}

/// The reason why there is no answer, of a mail server either. It holds nothing of a URL but scheme, host and port.
package struct HTTPCallError: Error, Equatable, CustomStringConvertible {
    /// The cause of the failure.
    package enum Cause: Equatable, Sendable {
        case noLibrary(CurlMissing)
        /// Neither `http://` nor `https://` with a host, or with control characters.
        case wrongURL
        /// A field that would end its line or the head.
        case wrongField(name: String)
        case unknownHost
        /// The name leads to an address where nobody is called, and why that is.
        case banned(address: String, String)
        /// `errno` is 0 if the system gave none.
        case notConnected(errno: CInt)
        case timedOut(after: Milliseconds)
        /// TLS: the other side cannot be trusted, or none could be agreed on. libcurl's words.
        case insecure(String)
        /// The file of certificate authorities, by its path.
        case unusableAuthorities(path: String)
        case answerTooLarge(bytesMax: Int)
        /// The head of an answer is beyond all measure.
        case headTooLarge(bytesMax: Int)
        /// Closed or reset before the answer was whole.
        case cutOff
        /// The answer is no HTTP.
        case notHTTP
        /// The answer is no SMTP.
        case notSMTP
        /// A mail server does not speak TLS where it must.
        case noSTARTTLS
        /// The permit did not hold once the connection stood: nothing went out (S6).
        case notPermitted
        /// Whoever asked waits for it no more.
        case givenUp
        /// Anything else that libcurl says, with its number.
        case other(code: CInt, String)
    }

    package let cause: Cause
    /// `https://host:port`; empty if the URL makes no sense.
    package let destination: String
    /// False if nothing can have reached the receiver. True says only that it may have.
    package let mayHaveArrived: Bool
    /// The answer's status if its head came, and the rest did not, or was too much.
    package var status: Int?

    package var description: String {
        destination.isEmpty ? reason : "\(destination): \(reason)"
    }

    private var reason: String {
        switch cause {
        case .noLibrary(let missing): "\(missing)"
        case .wrongURL: "the URL must begin with http:// or https:// and name a host"
        case .wrongField(let name): "header field \(name): control characters are not allowed"
        case .unknownHost: "no such host"
        case .banned(let address, let why): "not called, because its address \(address) \(why)"
        case .notConnected(let number) where number == 0: "cannot be connected to"
        case .notConnected(let number):
            "cannot be connected to: \(String(cString: strerror(number)))"
        case .timedOut(let span): "no whole answer within \(SettingText.of(span, between: " "))"
        case .insecure(let words): "TLS: \(words)"
        case .unusableAuthorities(let path): "\(path): no certificates can be read from it"
        case .answerTooLarge(let bytesMax):
            "the answer is larger than \(SettingText.of(bytes: bytesMax, between: " "))"
        case .headTooLarge(let bytesMax):
            "the answer's head is larger than \(SettingText.of(bytes: bytesMax, between: " "))"
        case .cutOff: "the connection was closed before the answer was whole"
        case .notHTTP: "what answers there does not speak HTTP"
        case .notSMTP: "what answers there does not speak SMTP"
        case .noSTARTTLS: "it does not offer STARTTLS, and nothing is sent without"
        case .notPermitted: SendingPermit.words
        case .givenUp: "nobody waits for the answer any more"
        case .other(let code, let words): "\(words) (libcurl \(code))"
        }
    }
}
