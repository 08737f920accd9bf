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
