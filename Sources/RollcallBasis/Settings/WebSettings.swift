import RollcallSupport
import Yams

/// The web configuration: the file that `web.config_file` names, in the format of Prometheus's
/// exporter-toolkit. What of it cannot be done here is refused, and nothing is passed over. Source: V18.
package struct WebSettings: Sendable, Equatable {
    /// A user with a password.
    package struct User: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        package let name: String
        /// By bcrypt; as secret as what it is of.
        let hash: String

        package var description: String { "<user>" }
        package var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// A field that stands in every answer.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String
    }

    /// The file as the settings name it; empty for none.
    package var name = ""
    /// The file as it is read; empty if it was not.
    package private(set) var path = ""
    /// The TLS that is spoken; nil for none.
    package private(set) var tls: TLSServerSettings?
    /// Those who may do everything once they show their password.
    package private(set) var users: [User] = []
    package private(set) var fields: [Field] = []
    /// The files of certificates and keys, by the fields that they stand for; they are read again when
    /// they change.
    private var pemFiles: [String: String] = [:]
    /// The warnings about what is legal and still not as it should be.
    private(set) var warnings: [String] = []

    package init() {}

    /// Reads the file at `path`, which the settings call `name`, and the files that it names.
    /// - Throws: `InputFileError`, which holds no secret, if one cannot be read or is wrong.
    package init(name: String, path: String) throws(InputFileError) {
        self.name = name
        self.path = path
        let text = try InputFile.text(path, isAgain: true)
        do throws(ConfigurationError) {
            try read(text)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
        if !users.isEmpty, InputFile.isOpenToAll(path) { warnOpen(path) }
    }

    /// Reads what the file at `path`, which the settings call `name`, says, and opens none of the files that it
    /// names; `files` are as the settings would name them.
    /// - Throws: `InputFileError`, which holds no secret, if it cannot be read or is wrong.
    package init(outline name: String, at path: String) throws(InputFileError) {
        self.name = name
        // Where relative names begin.
        self.path = name
        let text = try InputFile.text(path, isAgain: true)
        do throws(ConfigurationError) {
            try read(text, opensFiles: false)
        } catch {
            throw .wrongConfiguration(path: path, error)
        }
    }

    /// The files of certificates and keys.
    package var files: [String] { pemFiles.values.sorted() }

    /// Returns the TLS with its files as they are now; nil if none is spoken.
    /// - Throws: `InputFileError` if one cannot be read.
    package func tlsAgain() throws(InputFileError) -> TLSServerSettings? {
        guard var tls else { return nil }
        for (field, path) in pemFiles {
            let bytes = Array(try InputFile.text(path, isAgain: true).utf8)
            switch field {
            case "cert": tls.certificate = bytes
            case "key": tls.key = bytes
            default: tls.clientAuthorities = bytes
            }
        }
        return tls
    }

    private mutating func warnOpen(_ path: String) {
        warnings.append("\(path): every user of this machine can read it: chmod o-r")
    }

    private mutating func read(
        _ text: String, opensFiles: Bool = true
    ) throws(ConfigurationError) {
        var sources = SettingSources()
        sources.opensSecrets = opensFiles
        sources.directory = Self.directory(of: path)
        var top = try ConfigurationTree(yaml: text, sources: sources)
        for key in ["tls_server_config", "http_server_config", "basic_auth_users"] {
            try top.checkMapping(key)
        }
        // An empty one means none, as in exporter-toolkit.
        if top.isMapping("tls_server_config") {
            try top.part("tls_server_config") { (part) throws(ConfigurationError) in
                try readTLS(&part)
            }
        } else {
            top.drop("tls_server_config")
        }
        try top.part("http_server_config") { (part) throws(ConfigurationError) in
            try readHTTP(&part)
        }
        try readUsers(&top)
        if top.has("rate_limit") {
            _ = top.take("rate_limit")
            throw top.fault(
                "rate_limit",
                "is not done here: Rollcall has limits of its own, under limits: leave "
                    + "it out", "")
        }
        try top.finish()
    }

    private static func directory(of path: String) -> String {
        guard let end = path.lastIndex(of: "/") else { return "" }
        return end == path.startIndex ? "/." : String(path[..<end])
    }

    // MARK: - TLS

    private mutating func readTLS(_ part: inout ConfigurationTree) throws(ConfigurationError) {
        var tls = TLSServerSettings()
        let certificate = try pem("cert", &part)
        let key = try pem("key", &part)
        tls.clientAuthorities = try pem("client_ca", &part) ?? []
        tls.clientAuth = try word("client_auth_type", &part, Self.clientAuth) ?? .none
        tls.clientNames = try texts("client_allowed_sans", &part)
        tls.oldest = try word("min_version", &part, Self.version) ?? .tls12
        tls.newest = try word("max_version", &part, Self.version) ?? max(.tls13, tls.oldest)
        tls.suites = try texts("cipher_suites", &part)
        try part.read("prefer_server_cipher_suites", .flag, &tls.prefersOwnOrder)
        tls.curves = try texts("curve_preferences", &part)
        guard let certificate else {
            throw part.fault("cert_file", "or cert must be given where TLS is spoken", "")
        }
        guard let key else {
            throw part.fault("key_file", "or key must be given where TLS is spoken", "")
        }
        if tls.clientAuth == .none, !tls.clientAuthorities.isEmpty {
            throw part.fault("client_ca_file", "says nothing without client_auth_type", "")
        }
        if !tls.clientAuth.isRequired, !tls.clientNames.isEmpty {
            throw part.fault(
                "client_allowed_sans",
                "requires client_auth_type to be RequireAnyClientCert or "
                    + "RequireAndVerifyClientCert", "")
        }
        tls.certificate = certificate
        tls.key = key
        do throws(TLSServerFault) {
            if part.sources.opensSecrets { _ = try ServerTLS(tls) }
        } catch {
            throw part.fault(error.field, error.reason, "")
        }
        self.tls = tls
    }

    /// Reads a text of PEM: the field itself, or the file that the field with `_file` names.
    private mutating func pem(
        _ key: String, _ part: inout ConfigurationTree
    ) throws(ConfigurationError) -> [UInt8]? {
        let fileKey = key + "_file"
        let inline = try text(key, &part)
        let file = try text(fileKey, &part)
        if inline != nil, file != nil {
            throw part.fault(key, "and \(fileKey) must not both be given", "")
        }
        guard let file else { return inline.map { Array($0.utf8) } }
        let path = part.path(file, of: fileKey)
        pemFiles[key] = path
        guard part.sources.opensSecrets else { return [] }
        do throws(InputFileError) {
            let bytes = Array(try InputFile.text(path, isAgain: true).utf8)
            if key == "key", InputFile.isOpenToAll(path) { warnOpen(path) }
            return bytes
        } catch {
            throw part.fault(fileKey, "must name a file that can be read", error.sentence)
        }
    }

    /// A text; nil if nothing is given, or what is empty.
    private func text(
        _ key: String, _ part: inout ConfigurationTree
    ) throws(ConfigurationError) -> String? {
        guard let node = part.take(key), node.null == nil else { return nil }
        guard let text = node.string else { throw part.fault(key, "must be a text", "") }
        return text.isEmpty ? nil : text
    }

    private func word<Value>(
        _ key: String, _ part: inout ConfigurationTree, _ words: [(String, Value)]
    ) throws(ConfigurationError) -> Value? {
        guard let text = try text(key, &part) else { return nil }
        guard let found = words.first(where: { $0.0 == text }) else {
            throw part.fault(
                key, "must be one of \(words.map(\.0).joined(separator: ", "))", text)
        }
        return found.1
    }

    private func texts(
        _ key: String, _ part: inout ConfigurationTree
    ) throws(ConfigurationError) -> [String] {
        guard let node = part.takeFromFile(key), node.null == nil else { return [] }
        let texts = node.sequence.map { $0.map { $0.string ?? "" } }
        guard let texts, texts.count <= 256, !texts.contains("") else {
            throw part.fault(key, "must be a list of texts", "")
        }
        return texts
    }

    private static let version = TLSServerSettings.Version.allCases.map { ($0.rawValue, $0) }
    private static let clientAuth =
        TLSServerSettings.ClientAuth.allCases.map { ($0.rawValue, $0) }
        // The toolkit's own old name.
        + [("RequireClientCert", .requireAny)]

    // MARK: - Fields

    /// The fields that may be set, with the values that they may have; none for any.
    private static let headers: [(name: String, values: [String])] = [
        ("Content-Security-Policy", []), ("X-Frame-Options", ["deny", "sameorigin"]),
        ("X-Content-Type-Options", ["nosniff"]), ("X-XSS-Protection", []),
        ("Strict-Transport-Security", []),
    ]

    private mutating func readHTTP(_ part: inout ConfigurationTree) throws(ConfigurationError) {
        var isHTTP2 = false
        try part.read("http2", .flag, &isHTTP2)
        if isHTTP2 {
            throw part.fault(
                "http2",
                "cannot be had: HTTP/1.1 is spoken here, to whoever speaks HTTP/2 too: "
                    + "leave it out, or say false", "")
        }
        var fields: [Field] = []
        try part.checkMapping("headers")
        try part.part("headers") { (headers) throws(ConfigurationError) in
            for (name, values) in Self.headers {
                guard let value = try text(name, &headers) else { continue }
                if !values.isEmpty, !values.contains(value) {
                    throw headers.fault(
                        name, "must be \(values.joined(separator: " or "))", value)
                }
                guard value.utf8.allSatisfy({ (0x20...0x7E) ~= $0 }), value.utf8.count <= 4096
                else { throw headers.fault(name, "must be one line of ASCII", "") }
                fields.append(Field(name: name, value: value))
            }
        }
        self.fields = fields
    }

    // MARK: - Users

    private mutating func readUsers(_ top: inout ConfigurationTree) throws(ConfigurationError) {
        let key = "basic_auth_users"
        guard let node = top.takeFromFile(key), node.null == nil else { return }
        guard case .mapping(let mapping) = node else { return }
        for (name, hash) in mapping {
            users.append(User(name: name.string ?? "", hash: hash.string ?? ""))
        }
        do throws(AccessError) {
            _ = try Access().with(users: shown)
        } catch {
            throw top.fault(key, "\(error)", "")
        }
        guard users.isEmpty || !top.sources.opensSecrets || CryptLibrary.shared != nil else {
            throw top.fault(
                key,
                "need libcrypt.so.1, which cannot be loaded or does not know bcrypt: install it "
                    + "(on Debian, package libcrypt1)", "")
        }
    }

    /// The users as they are let in.
    private var shown: [(name: String, hash: String)] { users.map { ($0.name, $0.hash) } }

    /// Returns what is let in by `access`, and these users.
    /// - Throws: `AccessError` if a user has the name of a token.
    func access(beside access: Access) throws(AccessError) -> Access {
        users.isEmpty ? access : try access.with(users: shown)
    }
}

extension SettingKind where Value == WebSettings {
    /// The file of the web configuration; empty for none.
    static var webConfiguration: SettingKind {
        SettingKind(shown: { .word($0.name) }) { (tree, key, value) throws(ConfigurationError) in
            guard let node = tree.take(key) else { return }
            value = WebSettings()
            guard let name = node.null == nil ? node.string : "" else {
                throw tree.fault(key, "must name a file", "")
            }
            value.name = name
            if name.isEmpty { return }
            if tree.origin(of: key).rank == 0 { tree.sources.foundFile(name) }
            guard tree.sources.opensSecrets else { return }
            do throws(InputFileError) {
                value = try WebSettings(name: name, path: tree.path(name, of: key))
            } catch {
                throw tree.fault(key, "cannot be used: \(error.sentence)", "")
            }
            for warning in value.warnings { tree.sources.warn(warning) }
        }
    }
}
