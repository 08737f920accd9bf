import RollcallCore
import RollcallSupport

/// A subscription at a broker, by which an input gets what phones publish there. Source: M6.
package struct MQTTSettings: Equatable, Sendable {
    /// Bytes of a client id at most. Brokers need not allow more than 23 (MQTT 3.1.1 §3.1.3.1); all
    /// that are in use do.
    package static let clientIDMax = 128

    /// The address of the broker.
    package var address: MQTTAddress
    /// The filter of the topics that are read.
    package var topic: String
    /// The name under which the broker keeps the session: the same after every start.
    package var clientID: String
    /// The user whom the broker asks for; empty for none.
    package var user = ""
    package var password: Secret?
    /// A file of the authorities that may vouch for the broker, beside the system's; nil for none.
    package var authorityFile: String?
    /// True if the broker's being there is a heartbeat of the input (B2).
    package var beats = true

    /// A subscription without a user.
    package init(address: MQTTAddress, topic: String, clientID: String) {
        self.address = address
        self.topic = topic
        self.clientID = clientID
    }

    /// Returns the settings of a connection's session.
    var session: MQTTSession.Settings {
        var settings = MQTTSession.Settings(
            clientID: Array(clientID.utf8), filter: Array(topic.utf8))
        if !user.isEmpty { settings.user = Array(user.utf8) }
        settings.password = password?.bytes
        return settings
    }

    /// The topics that a preset's phones publish on; nil where nobody knows.
    private static func topic(of preset: InputPreset?) -> String? {
        preset == .owntracks ? "owntracks/#" : nil
    }

    /// As a file has it, without secrets.
    var shown: SettingValue {
        var members: [(String, SettingValue)] = [
            ("url", .word(address.text)), ("topic", .word(topic)), ("client_id", .word(clientID)),
        ]
        if !user.isEmpty { members.append(("user", .word(user))) }
        if !beats { members.append(("heartbeat", .plain("false"))) }
        return .mapping(members)
    }

    /// Says in words what the subscription does.
    var words: String {
        let who = user.isEmpty ? "" : ", as user \(user)"
        return
            "It subscribes to \(topic) at \(address.text)\(who), as client \(clientID): the broker "
            + "keeps what comes while Rollcall is away, and each message is acknowledged after its "
            + "commit."
    }
}

/// An `MQTTAddress` says where a broker is: `mqtt://host[:port]` or, over TLS,
/// `mqtts://host[:port]`.
package struct MQTTAddress: Equatable, Sendable {
    /// As it may be shown: there is nothing secret in it.
    package let text: String
    /// A name or an address, without the brackets of an IPv6 one.
    package let host: String
    package let port: UInt16
    /// True for one over TLS.
    package let isEncrypted: Bool
    /// True if only this machine can be meant.
    package let isLoopback: Bool

    /// Reads a URL; nil if it is no such one, or has more than a host and a port.
    package init?(_ url: String) {
        guard let colon = url.firstRange(of: "://") else { return nil }
        let scheme = url[..<colon.lowerBound].lowercased()
        guard scheme == "mqtt" || scheme == "mqtts" else { return nil }
        var authority = url[colon.upperBound...]
        if authority.last == "/" { authority.removeLast() }
        guard let name = HostName(String(authority)), !name.host.isEmpty, name.port != 0 else {
            return nil
        }
        isEncrypted = scheme == "mqtts"
        // The ports that IANA has registered for the two.
        port = name.port ?? (isEncrypted ? 8883 : 1883)
        host = name.host.hasPrefix("[") ? String(name.host.dropFirst().dropLast()) : name.host
        isLoopback = name.isLoopback
        text = "\(scheme)://\(name.host):\(port)"
    }
}

extension MQTTSettings {
    /// Reads the mapping `mqtt` of the input `name`, if there is one.
    /// - Throws: `ConfigurationError` if something in it is wrong or missing.
    static func read(
        _ tree: inout ConfigurationTree, input name: String, preset: InputPreset?
    ) throws(ConfigurationError) -> MQTTSettings? {
        guard tree.has("mqtt") else { return nil }
        var read: MQTTSettings?
        try tree.part("mqtt") { (part) throws(ConfigurationError) in
            read = try Self.read(&part, name, preset)
        }
        return read
    }

    private static func read(
        _ part: inout ConfigurationTree, _ name: String, _ preset: InputPreset?
    ) throws(ConfigurationError) -> MQTTSettings {
        var url = ""
        try part.read("url", .text, &url)
        if url.contains("@") {
            // Not shown: a password may stand in it.
            throw part.fault("url", "must not hold a user: user and password_file do", "")
        }
        guard let address = MQTTAddress(url) else {
            throw part.fault("url", "must be like mqtt://host:1883 or mqtts://host:8883", url)
        }
        var settings = MQTTSettings(
            address: address, topic: topic(of: preset) ?? "", clientID: "rollcall-\(name)")
        try part.read("topic", .text, &settings.topic)
        guard MQTTTopic.isFilter(Array(settings.topic.utf8)) else {
            throw part.fault(
                "topic", "must be a topic or a filter such as phones/+/location", settings.topic)
        }
        try part.read("client_id", .text, &settings.clientID)
        guard (1...clientIDMax).contains(settings.clientID.utf8.count),
            settings.clientID.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw part.fault(
                "client_id", "must be 1 to \(clientIDMax) visible characters", settings.clientID)
        }
        try part.read("user", .text, &settings.user)
        guard settings.user.utf8.count <= 1024, !settings.user.utf8.contains(where: { $0 < 0x20 })
        else { throw part.fault("user", "must have at most 1024 bytes", "") }
        try part.secret("password", &settings.password)
        if settings.password != nil, settings.user.isEmpty {
            throw part.fault("user", "must be given beside a password", "")
        }
        settings.authorityFile = try part.authorities("ca_file")
        if settings.authorityFile != nil, !address.isEncrypted {
            throw part.fault("ca_file", "is of no use without mqtts://", "")
        }
        try part.read("heartbeat", .flag, &settings.beats)
        return settings
    }

    /// Returns a warning of what is legal and will probably be regretted; nil if nothing is.
    func warning(_ key: String) -> ConfigurationWarning? {
        if !address.isEncrypted, !address.isLoopback {
            let secrets = password == nil ? "who is where and when" : "the password"
            return ConfigurationWarning(
                key: "\(key).url",
                reason: "\(address.text) is not encrypted: everybody on the way reads \(secrets)")
        }
        return nil
    }
}
