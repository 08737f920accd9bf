import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The server that a command asks, and what lets it in.
package struct ServerAddress: Sendable {
    /// The URL at which a server listens that was told nothing else.
    package static let standard = "http://127.0.0.1:10112"

    /// Without a slash at its end.
    let url: String
    let token: Secret?

    /// The server at `url`, else at `ROLLCALL_SERVER`; the token in the file at `tokenPath`, else
    /// that of `ROLLCALL_TOKEN` or in the file that `ROLLCALL_TOKEN_FILE` names.
    /// `flag` is what a wrong `url` is blamed on.
    /// - Throws: `QuestionError` if the URL is none, or a token cannot be read or is given twice.
    package init(
        url: String?, flag: String = "--server", tokenPath: String?, environment: [String: String]
    ) throws(QuestionError) {
        func variable(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        let name = url != nil ? flag : "ROLLCALL_SERVER"
        let text = url ?? variable("ROLLCALL_SERVER") ?? Self.standard
        guard let address = ExternalURL(text) else {
            throw .wrongOption("\(name): http://HOST:PORT or https://HOST expected")
        }
        self.url = address.text
        do throws(SecretFault) {
            if let tokenPath {
                token = try Self.read(tokenPath, "--token-file")
            } else if let path = variable("ROLLCALL_TOKEN_FILE") {
                guard variable("ROLLCALL_TOKEN") == nil else {
                    throw SecretFault(
                        reason: "ROLLCALL_TOKEN and ROLLCALL_TOKEN_FILE must not both be given")
                }
                token = try Self.read(path, "ROLLCALL_TOKEN_FILE")
            } else {
                token = try variable("ROLLCALL_TOKEN").map { (text) throws(SecretFault) in
                    do throws(SecretFault) {
                        return try Secret(Array(text.utf8))
                    } catch {
                        throw SecretFault(reason: "ROLLCALL_TOKEN: \(error.reason)")
                    }
                }
            }
        } catch {
            throw .wrongOption(error.reason)
        }
    }

    private static func read(_ path: String, _ name: String) throws(SecretFault) -> Secret {
        do throws(SecretFault) {
            return try SecretFile.read(path).secret
        } catch {
            throw SecretFault(reason: "\(name): \(ConsoleText.safe(path)): \(error.reason)")
        }
    }
}

/// The reason why a question has no answer. Nothing in it can be obeyed by a terminal.
package enum QuestionError: Error, Equatable, CustomStringConvertible {
    /// A flag or a variable is wrong.
    case wrongOption(String)
    /// Nothing came back, or libcurl is not there.
    case noAnswer(HTTPCallError)
    /// The server answered an error; with what it said.
    case refused(server: String, status: Int, detail: String, scope: Access.Scope = .read)
    /// It has no such route.
    case tooOld(server: String, path: String)
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
        case .refused, .tooOld, .strange, .nobody: 1
        }
    }

    package var description: String {
        switch self {
        case .wrongOption(let text): text
        case .noAnswer(let error):
            switch error.cause {
            case .notConnected, .unknownHost:
                "\(error). Is rollcall serve running there? --server names another place"
            default: "\(error)"
            }
        case .refused(let server, let status, let detail, let scope):
            "\(server) answers \(status)\(detail.isEmpty ? "" : " (\(detail))")"
                + Self.advice(status, scope)
        case .tooOld(let server, let path):
            "\(server) has no \(path): it is older than this rollcall "
                + "(\(BuildInformation.version)), or no Rollcall"
        case .strange(let server, let reason):
            "\(server) does not answer like Rollcall: \(reason)"
        case .nobody(let server, let id):
            "\(server) knows nobody with the id \(ConsoleText.safe(id))"
        case .notPrinted(let failure): "standard output: \(String(cString: strerror(failure)))"
        }
    }

    private static func advice(_ status: Int, _ scope: Access.Scope) -> String {
        switch status {
        case 401:
            ": name a token with the scope \(scope.rawValue) by --token-file or "
                + "ROLLCALL_TOKEN_FILE"
        case 403: ": this needs a token with the scope \(scope.rawValue)"
        case 300..<400: ": redirects are not followed; name the server itself by --server"
        case 429, 503: ": try again"
        default: ""
        }
    }
}
