/// The TLS that a server speaks, as its web configuration says it. It holds a key: it prints as nothing.
package struct TLSServerSettings: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The versions of the protocol, in their order.
    package enum Version: String, CaseIterable, Sendable, Comparable {
        case tls10 = "TLS10"
        case tls11 = "TLS11"
        case tls12 = "TLS12"
        case tls13 = "TLS13"

        /// GnuTLS's name.
        var priority: String {
            switch self {
            case .tls10: "VERS-TLS1.0"
            case .tls11: "VERS-TLS1.1"
            case .tls12: "VERS-TLS1.2"
            case .tls13: "VERS-TLS1.3"
            }
        }

        private var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

        package static func < (a: Version, b: Version) -> Bool { a.place < b.place }
    }

    /// The part that certificates of clients have, by the words of Go.
    package enum ClientAuth: String, CaseIterable, Sendable {
        /// Nobody is asked for one.
        case none = "NoClientCert"
        /// Whoever has one may show it; it is not verified.
        case request = "RequestClientCert"
        /// Any will do; it is not verified.
        case requireAny = "RequireAnyClientCert"
        /// Whoever shows one shows a good one.
        case verifyIfGiven = "VerifyClientCertIfGiven"
        /// Everybody shows a good one.
        case requireAndVerify = "RequireAndVerifyClientCert"

        /// True if nobody comes in without one.
        package var isRequired: Bool { self == .requireAny || self == .requireAndVerify }
        /// True if authorities decide which is a good one.
        package var isVerified: Bool { self == .verifyIfGiven || self == .requireAndVerify }
    }

    /// The chain, PEM.
    package var certificate: [UInt8] = []
    /// The key, PEM.
    package var key: [UInt8] = []
    package var clientAuth = ClientAuth.none
    /// The authorities of clients' certificates, PEM; empty for none.
    package var clientAuthorities: [UInt8] = []
    /// The names of which a client's certificate must have one; empty if any will do.
    package var clientNames: [String] = []
    package var oldest = Version.tls12
    package var newest = Version.tls13
    /// The cipher suites by their names in Go; empty for all that are good.
    package var suites: [String] = []
    /// True if our order of suites counts, and not the client's.
    package var prefersOwnOrder = true
    /// The curves by their names in Go, in their order; empty for all that are good.
    package var curves: [String] = []

    package init() {}

    package var description: String { "<tls>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a server's TLS cannot be as it is wanted. It holds nothing of a key.
package struct TLSServerFault: Error, Equatable {
    /// The field that it is about, as the web configuration calls it.
    package let field: String
    /// The rule that does not hold.
    package let reason: String
}
