import RollcallCore

/// The place that we tell that the watch works, for those who notice if we do not. Source: V8.
package struct AlivePingSettings: Equatable, Sendable {
    /// The intervals at which one may ask for it.
    static let everyRange = Milliseconds.seconds(10)...Milliseconds.seconds(3600)

    /// The URL that is asked for; nil for nobody. Any part of it may be secret.
    package var url: String?
    package var every = Milliseconds.seconds(60)

    /// Nobody.
    package init() {}

    /// Reads the settings under `alive_ping`.
    /// - Throws: `ConfigurationError` if one is wrong, or a URL is given and libcurl is missing.
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
