import RollcallCore
import RollcallSupport
import Yams

/// The receivers that are told, and how they are reached: the list `receivers`. Source: A8, §11.
package struct ReceiverSettings {
    /// Letters of a name at most.
    package static let nameMax = 64
    /// The receivers, as far as they decide, in the order of the file.
    private(set) var receivers: [Receiver] = []
    /// The ways to them; none where secrets decide nothing.
    private(set) var addresses: [ReceiverAddress] = []

    /// Reads the list at the top of a file; without one there is the log. Throws
    /// `ConfigurationError` if one is wrong, or there are too many.
    init(_ top: inout ConfigurationTree) throws(ConfigurationError) {
        var receivers: [Receiver] = []
        var addresses: [ReceiverAddress] = []
        let fallback = ReceiverField.fallback
        var fallbacks: [[UInt8]: (key: String, origin: SettingOrigin)] = [:]
        try top.sections("receivers") { (tree) throws(ConfigurationError) in
            let (receiver, address) = try Self.one(&tree)
            if receivers.contains(where: { $0.name == receiver.name }) {
                throw tree.fault("name", "is another receiver's already", address.name)
            }
            if receivers.count == Receiver.countMax {
                throw tree.fault(
                    "name", "is one too many: there may be \(Receiver.countMax) receivers",
                    address.name)
            }
            receivers.append(receiver)
            if !receiver.fallback.isEmpty {
                fallbacks[receiver.name] = (tree.full(fallback), tree.origin(of: fallback))
            }
            if tree.sources.opensSecrets { addresses.append(address) }
        }
        // Names of those that were passed over are not known.
        let areAllKnown = !top.sources.skipped.contains { Self.isReceiver($0) }
        for receiver in receivers {
            guard let place = fallbacks[receiver.name],
                let rule = Self.fault(of: receiver, receivers, areAllKnown: areAllKnown)
            else { continue }
            let name = String(decoding: receiver.fallback, as: UTF8.self)
            throw ConfigurationError(
                origin: place.origin, message: "\(place.key) \(rule) (\(name))", key: place.key)
        }
        if receivers.isEmpty {
            receivers = [.standard]
            addresses = [.standard]
        }
        self.receivers = receivers
        self.addresses = addresses
    }

    private static func one(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> (Receiver, ReceiverAddress) {
        let name = try tree.name(atMost: nameMax)
        let kind = try kind(&tree)
        var address = ReceiverAddress(name: name, kind: kind)
        let word = "\(kind.word)"
        if kind != .log, tree.sources.opensSecrets, let missing = tree.sources.missingCurl() {
            throw ConfigurationError(
                origin: tree.origin(of: word), message: "\(tree.full(word)): \(missing)",
                key: tree.full(word))
        }
        var targets = 1
        try tree.section(word) { (place) throws(ConfigurationError) in
            targets = try address.read(&place)
        }
        var receiver = Receiver(name: Array(name.utf8), kind: kind)
        receiver.targets = targets
        try ReceiverField.read(&receiver, &tree)
        address.resolveTimeout = receiver.resolveTimeout
        return (receiver, address)
    }

    private static func kind(
        _ tree: inout ConfigurationTree
    ) throws(ConfigurationError) -> ReceiverKind {
        let kinds = ReceiverKind.allCases.filter { tree.has("\($0.word)") }
        if let kind = kinds.first, kinds.count == 1 { return kind }
        let words = ReceiverKind.allCases.map { "\($0.word)" }
        if kinds.isEmpty {
            // What was probably meant is a better answer.
            for key in words + ReceiverField.all.map(\.key) { _ = tree.takeFromFile(key) }
            try tree.finish()
        }
        throw ConfigurationError(
            origin: tree.origin(of: "name"),
            message: "\(tree.path): exactly one of \(words.joined(separator: ", ")) must be given",
            key: tree.path)
    }

    /// True for the key of a whole receiver, or of its name.
    private static func isReceiver(_ key: String) -> Bool {
        guard key.hasPrefix("receivers["), let end = key.firstIndex(of: "]") else { return false }
        let rest = key[key.index(after: end)...]
        return rest.isEmpty || rest == ".name"
    }

    /// Returns what is wrong with who is to take what `receiver` does not; nil if nothing is.
    private static func fault(
        of receiver: Receiver, _ receivers: [Receiver], areAllKnown: Bool
    ) -> String? {
        if receiver.fallback == receiver.name { return "must be another receiver" }
        var names = [receiver.name]
        var next = receiver
        while !next.fallback.isEmpty {
            guard let found = receivers.first(where: { $0.name == next.fallback }) else {
                guard next == receiver, areAllKnown else { return nil }
                let name = String(decoding: next.fallback, as: UTF8.self)
                let all = receivers.map { String(decoding: $0.name, as: UTF8.self) }
                return "must be the name of a receiver" + Spelling.hint(for: name, among: all)
            }
            if found.name == receiver.name {
                let words = (names + [found.name]).map { String(decoding: $0, as: UTF8.self) }
                return "must not lead back: \(words.joined(separator: " → "))"
            }
            // It leads back to another one, which says so itself.
            if names.contains(found.name) { return nil }
            names.append(found.name)
            next = found
        }
        return nil
    }
}

extension Receiver {
    /// The receiver that is told where nobody else is.
    static let standard = Receiver(name: Array("log".utf8), kind: .log)
}

extension ReceiverAddress {
    /// The log.
    static let standard = ReceiverAddress(name: "log", kind: .log)
    /// The URL at which PagerDuty takes events, outside of the EU.
    static let pagerDuty = "https://events.pagerduty.com/v2/enqueue"
    /// The URL of Opsgenie's API, outside of the EU.
    static let opsgenie = "https://api.opsgenie.com"
    /// Secrets of one webhook at most, while one is replaced by another.
    static let signingKeysMax = 4

    /// Reads the settings that its kind needs; returns how many addresses that are. Throws
    /// `ConfigurationError` if one is wrong or missing.
    fileprivate mutating func read(
        _ place: inout ConfigurationTree
    ) throws(ConfigurationError) -> Int {
        if kind == .log { return 1 }
        var targets = 1
        switch kind {
        case .alertmanager:
            urls = try place.urls("urls")
            targets = max(1, urls.count)
            bearer = try place.visibleSecret("bearer_token")
        case .webhook:
            urls = try place.url("url").map { [$0] } ?? []
            bearer = try place.visibleSecret("bearer_token")
            signingKeys = try place.signingKeys()
        case .pagerduty:
            urls = [try place.url("url", isNeeded: false) ?? Self.pagerDuty]
            routingKey = try place.visibleSecret("routing_key")
            if routingKey == nil, place.sources.opensSecrets, !place.isWrong("routing_key") {
                throw place.fault("routing_key", "or routing_key_file must be given", "")
            }
        case .opsgenie:
            urls = [try place.url("api_url", isNeeded: false) ?? Self.opsgenie]
            apiKey = try place.visibleSecret("api_key")
            if apiKey == nil, place.sources.opensSecrets, !place.isWrong("api_key") {
                throw place.fault("api_key", "or api_key_file must be given", "")
            }
        // Whoever knows it may write there.
        case .slack: urls = try place.url("url", isHidden: true).map { [$0] } ?? []
        case .ntfy:
            // Whoever knows the topic may read it and write there.
            if let url = try place.url("url", isHidden: true) {
                guard NtfyTopic(url: url) != nil else {
                    throw place.fault(
                        "url",
                        "must end with a topic, 1 to 64 letters, digits, - and _: "
                            + "https://host/topic", "")
                }
                urls = [url]
            }
            bearer = try place.visibleSecret("bearer_token")
            try readUser(&place)
            if bearer != nil, !username.isEmpty {
                throw place.fault("username", "and bearer_token must not both be given", "")
            }
        case .email:
            urls = try place.mailServer("url").map { [$0] } ?? []
            mail = try place.mailRoute(url: urls.first)
            try readUser(&place)
        case .log: break
        }
        if let path = try place.authorities("ca_file") { authorities = Authorities(extra: path) }
        return targets
    }
}

extension ReceiverAddress {
    /// Reads the user and the password: both, or neither. Throws `ConfigurationError` if one is
    /// missing, or is none.
    fileprivate mutating func readUser(
        _ place: inout ConfigurationTree
    ) throws(ConfigurationError) {
        try place.read("username", .text, &username)
        // "A user-id containing a colon character is invalid" (RFC 7617 §2).
        guard username.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") })
        else { throw place.fault("username", "must have no colon and no control characters", "") }
        try place.secret("password", &password)
        guard place.sources.opensSecrets else { return }
        if password != nil, username.isEmpty, !place.isWrong("username") {
            throw place.fault("username", "must be given beside password", "", or: ["password"])
        }
        if password == nil, !username.isEmpty, !place.isWrong("password") {
            throw place.fault(
                "password", "or password_file must be given beside username", "", or: ["username"])
        }
    }
}

extension ConfigurationTree {
    /// Bytes of a URL at most.
    private static let urlBytesMax = 2048

    /// Reads a URL that may hold secrets, or the file that holds it. Nil where secrets decide
    /// nothing, and where it is not needed. Throws `ConfigurationError` if it is missing, or no
    /// URL.
    mutating func url(
        _ key: String, isNeeded: Bool = true, isHidden: Bool = false
    ) throws(ConfigurationError) -> String? {
        var secret: Secret?
        try self.secret(key, &secret, isHidden: isHidden)
        guard let secret else {
            if isNeeded, sources.opensSecrets, !isWrong(key) {
                throw fault(key, "or \(key)_file must be given", "")
            }
            return nil
        }
        return try checked(String(decoding: secret.bytes, as: UTF8.self), key)
    }

    /// Reads a list of URLs. Throws `ConfigurationError` if it is missing, or one is wrong or there
    /// twice.
    fileprivate mutating func urls(_ key: String) throws(ConfigurationError) -> [String] {
        guard let node = takeFromFile(key) else {
            if sources.opensSecrets, !isWrong(key) { throw fault(key, "must be given", "") }
            return []
        }
        guard case .sequence(let sequence) = node,
            (1...Receiver.targetsMax).contains(sequence.count)
        else { throw fault(key, "must be a list of 1 to \(Receiver.targetsMax) URLs", "") }
        var urls: [String] = []
        for element in sequence {
            let url = try checked(element.string ?? "", key)
            if urls.contains(url) { throw fault(key, "must not hold the same URL twice", "") }
            urls.append(url)
        }
        return urls
    }

    private func checked(_ url: String, _ key: String) throws(ConfigurationError) -> String {
        guard url.utf8.count <= Self.urlBytesMax, let destination = Destination(url: url) else {
            // Not shown: most of such URLs are secrets.
            throw fault(key, "must be like https://host/path or http://host:port", "")
        }
        if destination.hasUser {
            throw fault(key, "must not hold a user or a password: readers of URLs show them", "")
        }
        return url
    }

    /// Reads a secret that is sent in a header field or beside other values. Throws
    /// `ConfigurationError` if it is none, or other than visible characters are in it.
    mutating func visibleSecret(
        _ key: String
    ) throws(ConfigurationError) -> Secret? {
        var secret: Secret?
        try self.secret(key, &secret)
        guard secret?.bytes.allSatisfy({ (0x21...0x7E) ~= $0 }) ?? true else {
            throw fault(key, "must have visible characters only", "")
        }
        return secret
    }

    /// Reads `secret`, or several under `secrets` while one is replaced by another. Throws
    /// `ConfigurationError` if one is wrong, or there are too many.
    mutating func signingKeys() throws(ConfigurationError) -> [SigningKey] {
        var keys: [SigningKey] = []
        if let key = try signingKey() { keys.append(key) }
        let hasOne = !keys.isEmpty
        try sections("secrets") { (tree) throws(ConfigurationError) in
            if let key = try tree.signingKey() {
                keys.append(key)
            } else if tree.sources.opensSecrets, !tree.isWrong("secret") {
                throw tree.fault("secret", "or secret_file must be given", "")
            }
        }
        if hasOne, keys.count > 1 {
            throw fault("secrets", "and secret must not both be given", "")
        }
        if keys.count > ReceiverAddress.signingKeysMax {
            throw fault(
                "secrets", "must hold at most \(ReceiverAddress.signingKeysMax)", "\(keys.count)")
        }
        return keys
    }

    private mutating func signingKey() throws(ConfigurationError) -> SigningKey? {
        var secret: Secret?
        try self.secret("secret", &secret)
        guard let secret else { return nil }
        guard let key = SigningKey(secret) else {
            throw fault(
                "secret",
                "must be \(SigningKey.prefix) and the base64 of \(SigningKey.bytesMin) to "
                    + "\(SigningKey.bytesMax) bytes; openssl rand -base64 32 makes such bytes", "")
        }
        return key
    }

    /// Reads the name of a file of certificate authorities. Throws `ConfigurationError` if it
    /// cannot be read, or holds none.
    mutating func authorities(_ key: String) throws(ConfigurationError) -> String? {
        guard let node = take(key), node.null == nil else { return nil }
        guard let name = node.string, !name.isEmpty else {
            throw fault(key, "must name a file", "")
        }
        if origin(of: key).rank == 0 { sources.foundFile(name) }
        guard sources.opensSecrets else { return nil }
        let path = path(name, of: key)
        do throws(Authorities.Unreadable) {
            _ = try Authorities().bundle(with: path)
        } catch {
            throw fault(key, "must name a file of certificates in PEM that can be read", error.path)
        }
        return path
    }
}
