import RollcallSupport
import Yams

/// The rules for who may come in, and where: the settings under `web` beside the address. Source:
/// V8, V8.
package struct AccessSettings: Sendable, Equatable {
    /// The listener for `/metrics` and health alone, `host:port`; empty for none.
    package var metricsListenAddress = ""
    /// The URL at which people reach us from outside, if that was set.
    package var externalURL: ExternalURL?
    /// The names that a proxy's requests may have in `Host` on loopback, as `HostName` has them.
    package var trustedHosts: [String] = []
    /// The URL of a person in the users' own system, with `{id}` for the id; empty for none.
    package var personURL = ""
    /// The tokens.
    package var access = Access()
    /// The TLS, the users and the fields of the web configuration.
    package var web = WebSettings()
    /// Listen beyond loopback without tokens. A flag only: a file would be copied.
    package var isInsecure = false

    package init() {}

    /// All who are let in: those with tokens and those with passwords.
    package var letIn: Access {
        do throws(AccessError) {
            return try web.access(beside: access)
        } catch {
            preconditionFailure("users were checked against tokens when they were read")
        }
    }

    /// True if nobody reaches this server without a certificate that was verified.
    package var asksForCertificates: Bool { web.tls?.clientAuth == .requireAndVerify }

    /// The rules that may change while the server runs.
    package var rules: AccessPolicy.Rules {
        AccessPolicy.Rules(
            access: letIn, externalURL: externalURL, trustedHosts: trustedHosts,
            personURL: personURL)
    }

    /// Refuses to open to everybody by mistake. The listener of its own may be open: it has
    /// numbers only.
    /// - Throws: `ConfigurationError` if neither token, nor user, nor client certificates are set beyond
    ///   loopback, unless `isInsecure`.
    package func check(listenAddress: String) throws(ConfigurationError) {
        // What is no address is refused with its reason when it is to be listened at.
        guard letIn.isOpen, !asksForCertificates, !isInsecure,
            HTTPListener.isLoopback(listenAddress) == false
        else { return }
        throw ConfigurationError(
            line: 0,
            message: "web.listen_address \(listenAddress): beyond loopback everybody who reaches "
                + "it could read and write all: set web.tokens, or users or client certificates in "
                + "web.config_file, or say --insecure if a proxy or a firewall keeps them away")
    }

    /// Refuses a reload after which a verified certificate is all that a client needs: connections that
    /// stand have shown none, since each of their requests had to show a token or a password.
    /// - Throws: `ConfigurationError` if beyond loopback nobody would need either any more, unless that is
    ///   so already, or `isInsecure`.
    package func checkCertificates(
        inForce: AccessSettings, listenAddress: String
    ) throws(ConfigurationError) {
        guard letIn.isOpen, asksForCertificates, !isInsecure,
            !(inForce.letIn.isOpen && inForce.asksForCertificates),
            HTTPListener.isLoopback(listenAddress) == false
        else { return }
        throw ConfigurationError(
            line: 0,
            message:
                "web.config_file: client certificates alone, without tokens and users, are enough "
                + "after a restart alone: connections that stand have shown none")
    }

    /// Refuses to switch TLS on or off while a server runs: whoever wants it now must not go on without by
    /// a word about a restart.
    /// - Throws: `ConfigurationError` if only one of both speaks it.
    package func checkTLS(sinceStart started: AccessSettings) throws(ConfigurationError) {
        guard (started.web.tls == nil) != (web.tls == nil) else { return }
        let (was, wanted) = web.tls == nil ? ("on", "off") : ("off", "on")
        throw ConfigurationError(
            line: 0,
            message: "web.config_file: TLS is \(was) since the start, and switched \(wanted) by a "
                + "restart alone")
    }
}

// MARK: - The file

extension SettingKind where Value == String {
    private static var addressRule: String { "must be like 127.0.0.1:8080 or [::1]:8080" }

    /// An address to listen at.
    static var listener: SettingKind {
        SettingKind(shown: { .word($0) }) { (tree, key, value) throws(ConfigurationError) in
            try tree.read(key, .text, &value)
            if HTTPListener.isLoopback(value) == nil { throw tree.fault(key, addressRule, value) }
        }
    }

    /// An address to listen at; empty for none.
    static var listenerOrNone: SettingKind {
        SettingKind(shown: { .word($0) }) { (tree, key, value) throws(ConfigurationError) in
            guard let node = tree.take(key) else { return }
            let address = node.null == nil ? node.string : ""
            guard let address, address.isEmpty || HTTPListener.isLoopback(address) != nil else {
                throw tree.fault(key, addressRule, node.string ?? "")
            }
            value = address
        }
    }
}

extension SettingKind where Value == ExternalURL? {
    /// A URL at which people reach us.
    static var externalURL: SettingKind {
        SettingKind(shown: { .word($0?.text ?? "") }) {
            (tree, key, value) throws(ConfigurationError) in
            guard let node = tree.take(key), node.null == nil, node.string != "" else { return }
            value = ExternalURL(node.string ?? "")
            // Not shown: a password may stand in it.
            if value == nil {
                throw tree.fault(
                    key,
                    "must be like https://watch.example.org or http://host:8080/path, without "
                        + "user, query or fragment", "")
            }
        }
    }
}

extension SettingKind where Value == String {
    /// A URL of a person; empty for none. An id stands behind the host alone: it must not choose whose
    /// page is opened.
    static var personURL: SettingKind {
        SettingKind(shown: { .word($0) }) { (tree, key, value) throws(ConfigurationError) in
            guard let node = tree.take(key) else { return }
            let text = node.null == nil ? node.string : ""
            guard let text, text.isEmpty || ExternalURL.isOfPerson(text) else {
                // Not shown: a password may stand in it.
                throw tree.fault(
                    key,
                    "must be like https://example.org/people/{id}, with http or https and {id} behind "
                        + "the host", "")
            }
            value = text
        }
    }
}

extension SettingKind where Value == [String] {
    /// A list of names of hosts, each exact; only the file can give it.
    static var hosts: SettingKind {
        SettingKind(shown: { .list($0.map { .text(Array($0.utf8)) }) }) {
            (tree, key, value) throws(ConfigurationError) in
            tree.sources.askedForList(tree.full(key))
            guard let node = tree.takeFromFile(key) else { return }
            let rule = "must be a list of at most \(trustedHostsMax) names"
            guard case .sequence(let names) = node else { throw tree.fault(key, rule, "") }
            guard names.count <= trustedHostsMax else { throw tree.fault(key, rule, "") }
            value = []
            for element in names {
                // What is no name here, such as `*.example.org`, would match nothing for ever.
                guard let name = element.text.flatMap({ HostName($0) }), name.port == nil else {
                    throw tree.fault(
                        key, "must hold names as Host has them, each exact and without a port",
                        element.string ?? "")
                }
                if !value.contains(name.host) { value.append(name.host) }
            }
        }
    }
}

/// Names in `web.trusted_hosts` at most: a request's Host is compared with each.
private let trustedHostsMax = 16

extension SettingKind where Value == Access {
    /// The list of tokens.
    static var tokens: SettingKind {
        SettingKind(shown: { .list($0.tokens.map(\.shown)) }) {
            (tree, key, value) throws(ConfigurationError) in
            var tokens: [Access.Token] = []
            try tree.sections(key) { (tree) throws(ConfigurationError) in
                if let token = try Access.Token.read(&tree) { tokens.append(token) }
            }
            do throws(AccessError) {
                value = try Access(tokens: tokens)
            } catch {
                throw ConfigurationError(
                    origin: tree.origin(of: key), message: "\(tree.full(key)): \(error)",
                    key: tree.full(key))
            }
        }
    }
}

extension Access.Token {
    fileprivate var shown: SettingValue {
        .mapping([
            ("name", .text(Array(name.utf8))),
            ("scopes", .list(words.map { .word($0) })),
        ])
    }

    /// Returns what the token opens, as the settings write it.
    var words: [String] {
        scopes.map(\.rawValue).sorted() + inputs.sorted().map { Self.inputPrefix + $0 }
    }

    /// The beginning of a scope that opens one input.
    private static let inputPrefix = "input:"

    /// Reads one token; nil where secrets are not opened, as in a replay.
    /// - Throws: `ConfigurationError` if its name, its scopes or its text is wrong, or the text is
    ///   missing.
    fileprivate static func read(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> Access.Token? {
        tree.sources.tokens += 1
        var name = ""
        try tree.read("name", .text, &name)
        let (scopes, inputs) = try scopes(&tree)
        var secret: Secret?
        try tree.secret("token", &secret)
        guard let secret else {
            guard tree.sources.opensSecrets, !tree.isWrong("token") else { return nil }
            throw tree.fault("token", "or token_file must be given", "")
        }
        do throws(AccessError) {
            return try Access.Token(
                name: name, scopes: scopes, inputs: inputs, bytes: secret.bytes)
        } catch {
            throw ConfigurationError(
                origin: tree.origin(of: "name"), message: "\(tree.path): \(error)", key: tree.path)
        }
    }

    private static func scopes(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> (Set<Access.Scope>, inputs: Set<String>) {
        let known =
            Access.Scope.allCases.map(\.rawValue).joined(separator: ", ") + ", input:NAME"
        guard let node = tree.take("scopes") else { return ([], []) }
        guard case .sequence(let words) = node else {
            throw tree.fault("scopes", "must be a list of \(known)", "")
        }
        var scopes: Set<Access.Scope> = []
        var inputs: Set<String> = []
        for word in words {
            if let name = word.string, name.hasPrefix(inputPrefix), name != inputPrefix {
                inputs.insert(String(name.dropFirst(inputPrefix.count)))
                continue
            }
            guard let scope = word.string.flatMap({ Access.Scope(rawValue: $0) }) else {
                throw tree.fault("scopes", "must be some of \(known)", word.string ?? "")
            }
            scopes.insert(scope)
        }
        return (scopes, inputs)
    }
}
