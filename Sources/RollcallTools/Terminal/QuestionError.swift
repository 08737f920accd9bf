import Glibc
import RollcallBasis
import RollcallSupport

/// The reason why a question has no answer. Nothing in it can be obeyed by a terminal.
package enum QuestionError: Error, Equatable, CustomStringConvertible {
    /// A flag or a variable is wrong.
    case wrongOption(String)
    /// Nothing came back, or libcurl is not there.
    case noAnswer(HTTPCallError)
    /// It wants a token, and none was shown.
    case noToken(server: String, scope: Access.Scope)
    /// It does not know the token that was shown.
    case unknownToken(server: String, scope: Access.Scope)
    /// It does not know the user or the password that was shown.
    case unknownPassword(server: String, user: String)
    /// It knows the token, which opens other things.
    case tooNarrow(server: String, scope: Access.Scope)
    /// The server answered an error; with what it said.
    case refused(server: String, status: Int, detail: String, scope: Access.Scope = .read)
    /// It has no such route.
    case tooOld(server: String, path: String)
    /// Something else than Rollcall answers there, or in its place: with this status and type.
    case notRollcall(server: String, status: Int, type: String)
    /// It answered something that Rollcall does not.
    case strange(server: String, String)
    /// There is no such person.
    case nobody(server: String, id: String)
    /// Standard output does not take the answer, by the system's error number.
    case notPrinted(CInt)

    /// The exit code: 64 wrong options, 69 no answer (sysexits.h EX_UNAVAILABLE), 74 not printed
    /// (EX_IOERR), 1 another answer than hoped for. Where nobody reads any more it is that of a
    /// shell for SIGPIPE, which ends most programs then.
    package var exitCode: CInt {
        switch self {
        case .wrongOption: 64
        case .noAnswer: 69
        case .notPrinted(let failure): failure == EPIPE ? 128 + SIGPIPE : 74
        case .noToken, .unknownToken, .unknownPassword, .tooNarrow, .refused, .tooOld,
            .notRollcall, .strange, .nobody:
            1
        }
    }

    package var description: String {
        switch self {
        case .wrongOption(let text): text
        case .noAnswer(let error): "\(error)" + Self.advice(error)
        case .noToken(let server, let scope):
            "\(server) wants a token, and none was given: name a file that holds one with the scope "
                + "\(scope.rawValue) by --token-file or ROLLCALL_TOKEN_FILE"
        case .unknownToken(let server, let scope):
            "\(server) does not know the token that was given: it was replaced, or is another "
                + "server's. Take one of its settings with the scope \(scope.rawValue)"
        case .unknownPassword(let server, let user):
            "\(server) does not know the user \(ConsoleText.safe(user)), or not by this password: "
                + "--token-file names a file that holds it"
        case .tooNarrow(let server, let scope):
            "\(server) knows this token, and it does not open this: it lacks the scope "
                + "\(scope.rawValue). Name one that has it by --token-file or ROLLCALL_TOKEN_FILE"
        case .refused(let server, let status, let detail, _):
            "\(server) answers \(status)\(detail.isEmpty ? "" : " (\(detail))")"
                + Self.advice(status)
        case .tooOld(let server, let path):
            "\(server) has no \(path): it is older than this rollcall "
                + "(\(BuildInformation.version)), or no Rollcall"
        case .notRollcall(let server, let status, let type):
            "what answers at \(server) is no Rollcall: status \(status), \(type). "
                + ((502...504).contains(status)
                    ? "A proxy in front of it does not reach it"
                    : "--server names another place, with the path that a proxy has it below")
        case .strange(let server, let reason):
            "\(server) does not answer like Rollcall: \(reason)"
        case .nobody(let server, let id):
            "\(server) knows nobody with the id \(ConsoleText.safe(id))"
        case .notPrinted(let failure): "standard output: \(String(cString: strerror(failure)))"
        }
    }

    private static func advice(_ error: HTTPCallError) -> String {
        let isPlain = error.destination.hasPrefix("http://")
        switch error.cause {
        case .notConnected, .unknownHost:
            return ". Is rollcall serve running there? --server names another place"
        case .insecure(let words) where words.lowercased().contains("certificate required"):
            return Self.certificateAdvice
        case .insecure(let words) where words.contains("certificate"):
            return
                ". This machine does not trust it: SSL_CERT_FILE names the authorities that it should"
        case .insecure:
            return ". If nothing speaks TLS there, --server begins with http://"
        case .cutOff where isPlain:
            return ". If TLS is spoken there, --server begins with https://"
        // The refusal of a certificate comes behind the handshake in TLS 1.3, in place of an answer.
        case .cutOff: return Self.certificateAdvice
        case .notHTTP: return ". --server names another port"
        default: return ""
        }
    }

    private static let certificateAdvice =
        ". If it asks for certificates of clients, --cert-file and --key-file name one that it takes"

    private static func advice(_ status: Int) -> String {
        switch status {
        case 300..<400: ": redirects are not followed; name the server itself by --server"
        case 429, 503: ": try again"
        case 421: ": ask a gateway, or that cell by --server"
        default: ""
        }
    }
}
