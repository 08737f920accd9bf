import RollcallCore

/// Whom we tell that the watch works, for those who notice if we do not. Source: V8.
package struct AlivePingSettings: Equatable, Sendable {
    /// How often one may ask for it.
    static let everyRange = Milliseconds.seconds(10)...Milliseconds.seconds(3600)

    /// The URL that is asked for; nil for nobody. Any part of it may be secret.
    package var url: String?
    package var every = Milliseconds.seconds(60)

    /// Nobody.
    package init() {}

    /// Reads what is under `alive_ping`.
    mutating func read(_ ping: inout ConfigurationTree) throws(ConfigurationError) {
        ping.dropEmpty("url")
        ping.dropEmpty("url_file")
        url = try ping.url("url", isNeeded: false)
        try ping.duration("every", in: Self.everyRange, &every)
        guard url != nil, let missing = ping.sources.missingCurl() else { return }
        throw ConfigurationError(
            origin: ping.origin(of: "url"), message: "\(ping.full("url")): \(missing)",
            key: ping.full("url"))
    }
}

extension AlivePingSettings: CustomStringConvertible, CustomReflectable {
    package var description: String { "alive_ping" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
