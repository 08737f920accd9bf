/// Who may come in, and where: the settings under `web` beside the address. Source: design §9, §11.
package struct DoorSettings: Sendable, Equatable {
    /// The listener for `/metrics` and health alone, `host:port`; empty for none.
    package var metricsListenAddress = ""
    /// Where people reach us from outside, if that was set.
    package var externalURL: ExternalURL?
    /// The tokens.
    package var access = Access()
    /// Listen beyond loopback without tokens. A flag only: a file would be copied.
    package var isInsecure = false

    package init() {}

    /// What may change while the server runs.
    package var rules: Doors.Rules { Doors.Rules(access: access, externalURL: externalURL) }

    /// Refuses to open to everybody by mistake. The listener of its own may be open: it has
    /// numbers only.
    package func check(listenAddress: String) throws(ConfigurationError) {
        // What is no address is refused with its reason when it is to be listened at.
        guard access.isOpen, !isInsecure, HTTPListener.isLoopback(listenAddress) == false else {
            return
        }
        throw ConfigurationError(
            line: 0,
            message: "web.listen_address \(listenAddress): beyond loopback everybody who reaches "
                + "it could read and write all: set web.tokens, or say --insecure if a proxy or "
                + "a firewall keeps them away")
    }
}
