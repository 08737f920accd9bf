import RollcallCore
import RollcallSupport
import Yams

/// The collector that metrics are pushed to, and how. Source: V21.
package struct OTLPSettings: Equatable, Sendable {
    /// A header field that is sent along: its value may be secret.
    package struct Field: Equatable, Sendable {
        package var name: String
        package var value: Secret
    }

    /// The path of metrics at a collector.
    static let path = "/v1/metrics"

    /// The URL of a collector, or of its metrics; nil for nobody. Any part of it may be secret.
    package var endpoint: String?
    package var interval = Milliseconds.seconds(60)
    /// Until an answer is whole.
    package var timeout = Milliseconds.seconds(10)
    package var temporality = MetricTemporality.cumulative
    /// True if requests go out by gzip.
    package var compresses = true
    package var bearer: Secret?
    package var fields: [Field] = []
    /// A file of authorities that may vouch for the collector, beside the system's; nil for none.
    package var authorityFile: String?
    /// The attributes of this server beside those that it knows, or instead of them.
    package var resource: [Label] = []

    /// Nobody.
    package init() {}

    /// The URL that metrics are posted to; nil for nobody.
    ///
    /// "If no path is present … the root path / MUST be used", and `v1/metrics` relative to what is:
    /// OTEL_EXPORTER_OTLP_ENDPOINT. Who names metrics already means the same.
    package var url: String? {
        guard var url = endpoint else { return nil }
        while url.last == "/" { url.removeLast() }
        return url.hasSuffix(Self.path) ? url : url + Self.path
    }

    /// True if somebody who kept what was pushed until now cannot go on with what is from now on.
    package func isAnotherStream(than other: OTLPSettings) -> Bool {
        endpoint != other.endpoint || temporality != other.temporality
            || resource != other.resource
    }

    /// Returns the attributes of a server of this name and version.
    package func attributes(instance: String, version: String) -> [Label] {
        let known = [
            ("service.name", "rollcall"), ("service.version", version),
            ("service.instance.id", instance),
        ].map { Label(Array($0.utf8), Array($1.utf8)) }
        return known.filter { label in !resource.contains { $0.name == label.name } } + resource
    }
}

extension OTLPSettings: CustomStringConvertible, CustomReflectable {
    package var description: String { "otlp" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

// MARK: - The table

extension Setting {
    /// The settings of metrics that are pushed.
    static let otlp = [
        Setting(
            "otlp.endpoint", .hiddenURL, \.otlp.endpoint,
            "a collector's URL, such as http://127.0.0.1:4318"
        ).hiding("an address") { $0.otlp.endpoint },
        Setting(
            "otlp.endpoint_file", "a file with the endpoint", shown: { _ in .word("") },
            read: { _, _ in }),
        Setting(
            "otlp.interval", .duration(from: .seconds(1), to: .seconds(3600)), \.otlp.interval,
            "between two pushes of all metrics, 1s to 1h"),
        Setting(
            "otlp.timeout", .duration(from: Milliseconds(100), to: .seconds(60)), \.otlp.timeout,
            "until an answer is whole; less than interval"),
        Setting(
            "otlp.temporality", .word(MetricTemporality.allCases.map { ("\($0.word)", $0) }),
            \.otlp.temporality, "or delta: what was added since the last push"),
        Setting(
            "otlp.compression", .word([("gzip", true), ("none", false)]), \.otlp.compresses,
            "or none"),
        Setting(
            "otlp.bearer_token", .hiddenToken, \.otlp.bearer,
            "sent as Authorization: Bearer …; or bearer_token_file"
        ).hiding("a token") { $0.otlp.bearer },
        Setting(
            "otlp.bearer_token_file", "a file with the token", shown: { _ in .word("") },
            read: { _, _ in }),
        Setting(
            "otlp.headers", .headerFields, \.otlp.fields,
            "more header fields: {name, value or value_file}"
        ).hiding("values") { $0.otlp.fields },
        Setting(
            "otlp.ca_file", .authoritiesOrNone, \.otlp.authorityFile,
            "authorities that may vouch for it, beside the system's"),
        Setting(
            "otlp.resource", .attributes, \.otlp.resource,
            "attributes of this server: {deployment.environment: live}"),
    ]
}

extension SettingKind where Value == Secret? {
    /// A secret that is sent in a header field, or the file that holds it; never shown.
    fileprivate static var hiddenToken: SettingKind {
        SettingKind(shown: { _ in .word("") }) { (tree, key, value) throws(ConfigurationError) in
            tree.dropEmpty(key)
            tree.dropEmpty(key + "_file")
            value = try tree.visibleSecret(key)
        }
    }
}

extension SettingKind where Value == String? {
    /// A file of certificate authorities.
    fileprivate static var authoritiesOrNone: SettingKind {
        SettingKind(shown: { .word($0 ?? "") }) { (tree, key, value) throws(ConfigurationError) in
            tree.dropEmpty(key)
            value = try tree.authorities(key)
        }
    }
}

extension SettingKind where Value == [OTLPSettings.Field] {
    private static var countMax: Int { 16 }
    /// The fields that a request has of itself, in lower case.
    private static var taken: [String] {
        ["content-type", "content-encoding", "content-length", "host", "expect", "user-agent"]
    }

    /// A list of header fields with values that may be secret; of those shown are the names.
    fileprivate static var headerFields: SettingKind {
        SettingKind(shown: { .list($0.map { .word($0.name) }) }) {
            (tree, key, value) throws(ConfigurationError) in
            var fields: [OTLPSettings.Field] = []
            try tree.sections(key) { (part) throws(ConfigurationError) in
                if let field = try field(&part, after: fields) { fields.append(field) }
            }
            value = fields
        }
    }

    private static func field(
        _ part: inout ConfigurationTree, after others: [OTLPSettings.Field]
    ) throws(ConfigurationError) -> OTLPSettings.Field? {
        var name = ""
        var value: Secret?
        try part.read("name", .text, &name)
        try part.secret("value", &value)
        if part.isWrong("name") || part.isWrong("value") { return nil }
        // A token, as RFC 9110 §5.6.2 has it, and no more of it than people use.
        guard (1...128).contains(name.utf8.count),
            name.utf8.allSatisfy({ byte in
                (0x30...0x39) ~= byte || (0x41...0x5A) ~= byte || (0x61...0x7A) ~= byte
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            })
        else { throw part.fault("name", "must be the name of a header field", name) }
        if taken.contains(name.lowercased()) {
            throw part.fault("name", "is set by Rollcall itself", name)
        }
        if others.contains(where: { $0.name.lowercased() == name.lowercased() }) {
            throw part.fault("name", "is another field's already", name)
        }
        if others.count == countMax {
            throw part.fault("name", "is one too many: there may be \(countMax) fields", name)
        }
        guard let value else {
            if part.sources.opensSecrets {
                throw part.fault("value", "or value_file must be given", "")
            }
            return nil
        }
        return OTLPSettings.Field(name: name, value: value)
    }
}

extension SettingKind where Value == [Label] {
    private static var countMax: Int { 32 }
    private static var bytesMax: Int { 256 }

    /// Attributes by their names; only the file can give them.
    fileprivate static var attributes: SettingKind {
        SettingKind(
            shown: { labels in
                .mapping(labels.map { (String(decoding: $0.name, as: UTF8.self), .text($0.value)) })
            },
            read: { (tree, key, value) throws(ConfigurationError) in
                tree.sources.askedForList(tree.full(key))
                guard let node = tree.takeFromFile(key), node.null == nil else { return }
                guard case .mapping(let mapping) = node else {
                    throw tree.fault(key, "must be a mapping", "")
                }
                var labels: [Label] = []
                for (name, content) in mapping {
                    guard let name = name.string, let content = content.string,
                        (1...bytesMax).contains(name.utf8.count),
                        (1...bytesMax).contains(content.utf8.count),
                        name.utf8.allSatisfy({ byte in
                            (0x30...0x39) ~= byte || (0x41...0x5A) ~= byte
                                || (0x61...0x7A) ~= byte || "._-".utf8.contains(byte)
                        })
                    else {
                        throw tree.fault(
                            key,
                            "must hold names of letters, digits, ., _ and -, and texts, of 1 to "
                                + "\(bytesMax) bytes", "")
                    }
                    labels.append(Label(Array(name.utf8), Array(content.utf8)))
                }
                guard labels.count <= countMax else {
                    throw tree.fault(key, "must hold at most \(countMax)", "\(labels.count)")
                }
                value = labels
            })
    }
}

// MARK: - What must hold

extension OTLPSettings {
    /// Refuses what cannot work.
    static func check(
        _ tree: ConfigurationTree, _ configuration: inout Configuration
    ) throws(ConfigurationError) {
        let otlp = configuration.otlp
        // Without it, one push would run into the next.
        if otlp.timeout >= otlp.interval {
            throw tree.fault(
                "timeout", "must be shorter than interval",
                "\(SettingText.of(otlp.timeout)) >= \(SettingText.of(otlp.interval))",
                or: ["interval"])
        }
        if otlp.bearer != nil,
            otlp.fields.contains(where: { $0.name.lowercased() == "authorization" })
        {
            throw tree.fault("bearer_token", "and a field Authorization must not both be given", "")
        }
        guard let endpoint = otlp.endpoint else { return }
        if endpoint.contains(where: { "?#".contains($0) }) {
            throw tree.fault("endpoint", "must have no query: \(path) is put behind it", "")
        }
        if let missing = tree.sources.missingCurl() {
            throw tree.fault("endpoint", "cannot be reached: \(missing)", "")
        }
    }
}

extension Configuration {
    /// A sentence about metrics that are pushed; none if they are not.
    var otlpWords: [String] {
        guard let url = otlp.url, let place = Destination(url: url) else { return [] }
        return [
            "It pushes its metrics to \(place.text) every \(SettingText.of(otlp.interval)), "
                + "\(otlp.temporality.word)."
        ]
    }

    var otlpWarnings: [ConfigurationWarning] {
        guard let url = otlp.url, let place = Destination(url: url),
            place.text.hasPrefix("http://"), !place.isLoopback
        else { return [] }
        let what = otlp.bearer != nil || !otlp.fields.isEmpty ? "the token" : "the metrics"
        return [
            ConfigurationWarning(
                key: "otlp.endpoint",
                reason: "\(place.text) speaks no TLS: on the way anybody can read \(what)")
        ]
    }
}
