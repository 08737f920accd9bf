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
    /// The user whose password the token is; nil of a token.
    let user: String?
    /// A file with an authority that vouches for the server, beside the system's.
    let authorityPath: String?
    /// The certificate that a server may ask for.
    let certificate: ClientCertificate?

    /// The options beside URL and token; a variable says what none says.
    package struct Options: Sendable {
        /// `--user`, `ROLLCALL_USER`.
        package var user: String?
        /// `--ca-file`, `ROLLCALL_CA_FILE`.
        package var authorityPath: String?
        /// `--cert-file`, `ROLLCALL_CERT_FILE`.
        package var certificatePath: String?
        /// `--key-file`, `ROLLCALL_KEY_FILE`.
        package var keyPath: String?

        package init() {}
    }

    /// The server at `url`, else at `ROLLCALL_SERVER`; the token in the file at `tokenPath`, else
    /// that of `ROLLCALL_TOKEN` or in the file that `ROLLCALL_TOKEN_FILE` names.
    /// `flag` is what a wrong `url` is blamed on.
    /// - Throws: `QuestionError` if the URL is none, a token cannot be read or is given twice, or a user
    ///   or a certificate is not whole.
    package init(
        url: String?, flag: String = "--server", tokenPath: String?, options: Options = Options(),
        environment: [String: String]
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
        user = options.user ?? variable("ROLLCALL_USER")
        authorityPath = options.authorityPath ?? variable("ROLLCALL_CA_FILE")
        let certificatePath = options.certificatePath ?? variable("ROLLCALL_CERT_FILE")
        let keyPath = options.keyPath ?? variable("ROLLCALL_KEY_FILE")
        guard (certificatePath == nil) == (keyPath == nil) else {
            throw .wrongOption("--cert-file and --key-file go together")
        }
        certificate = certificatePath.flatMap { path in
            keyPath.map { ClientCertificate(certificate: path, key: $0) }
        }
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
        if user != nil, token == nil {
            throw .wrongOption("--user: the password is missing: name its file by --token-file")
        }
    }

    /// The URL at which this machine reaches a server with these settings; nil if the system chooses its
    /// port.
    package static func url(of configuration: Configuration) -> String? {
        var address = configuration.listenAddress
        guard !address.hasSuffix(":0") else { return nil }
        for (everywhere, here) in [("0.0.0.0:", "127.0.0.1:"), ("[::]:", "[::1]:")]
        where address.hasPrefix(everywhere) {
            address = here + address.dropFirst(everywhere.count)
        }
        return (configuration.accessPolicy.web.tls == nil ? "http://" : "https://") + address
    }

    /// The field that lets in: a token as it is, or a user and the password.
    var authorization: String? {
        guard let token else { return nil }
        guard let user else { return "Bearer \(String(decoding: token.bytes, as: UTF8.self))" }
        var letters: [UInt8] = []
        Base64.append(Array("\(user):".utf8) + token.bytes, to: &letters)
        return "Basic \(String(decoding: letters, as: UTF8.self))"
    }

    private static func read(_ path: String, _ name: String) throws(SecretFault) -> Secret {
        do throws(SecretFault) {
            return try SecretFile.read(path).secret
        } catch {
            throw SecretFault(reason: "\(name): \(ConsoleText.safe(path)): \(error.reason)")
        }
    }
}
