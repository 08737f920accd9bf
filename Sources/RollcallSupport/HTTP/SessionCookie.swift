import RollcallCore

/// The cookie in which a browser keeps a session: out of reach of scripts, and sent only by our own pages
/// to our own paths. Source: R7; draft-ietf-httpbis-rfc6265bis §4.1.
package struct SessionCookie: Sendable, Equatable {
    /// The name of the cookie where browsers are not asked to keep it to TLS.
    private static let plainName = "rollcall_session"
    /// The prefix by which a browser takes the cookie of this host alone, for all of its paths.
    private static let hostPrefix = "__Host-"
    private static let securePrefix = "__Secure-"
    private static let names = [plainName, hostPrefix + plainName, securePrefix + plainName]
    /// More cookies of one name are none: each has its code computed.
    private static let countMax = 4

    private let name: String
    private let path: String
    private let isSecure: Bool

    private init(name: String, path: String, isSecure: Bool) {
        self.name = name
        self.path = path
        self.isSecure = isSecure
    }

    /// The cookie of who reaches us by `http://` and our own name.
    private static let plain = SessionCookie(name: plainName, path: "/", isSecure: false)
    /// The cookie of who reaches us by `https://` and our own name.
    private static let secure = SessionCookie(
        name: hostPrefix + plainName, path: "/", isSecure: true)

    /// The cookie of who reaches us by the URL outside.
    private init(of url: ExternalURL) {
        let path = url.path.contains(";") || url.path.isEmpty ? "/" : url.path
        let prefix = url.isSecure ? path == "/" ? Self.hostPrefix : Self.securePrefix : ""
        self.init(name: prefix + Self.plainName, path: path, isSecure: url.isSecure)
    }

    /// Returns the cookie of who sends `request`, by its origin, or else by what it shows.
    package static func of(_ request: HTTPRequest, _ rules: AccessPolicy.Rules) -> SessionCookie {
        let plain = request.isSecure ? secure : plain
        guard let url = rules.externalURL else { return plain }
        let outside = SessionCookie(of: url)
        let shows = request.cookie.map { pairs(in: $0).contains { $0.name == outside.name } }
        let isOutside =
            request.origin.map { $0.lowercased() == url.origin }
            ?? (url.isSecure && shows == true || isNamed(request, url))
        return isOutside ? outside : plain
    }

    // MARK: - Reading

    /// Returns the values of our cookies in a request; none if there are too many.
    static func values(in request: HTTPRequest, _ rules: AccessPolicy.Rules) -> [Substring] {
        guard let cookie = request.cookie else { return [] }
        var names = names
        // Whoever may set cookies for a neighbour's name cannot set those with a prefix.
        let isOutside = rules.externalURL.map { $0.isSecure && isNamed(request, $0) } ?? false
        if isOutside || request.isSecure { names.removeFirst() }
        let values = pairs(in: cookie).filter { names.contains(String($0.name)) }.map(\.value)
        return values.count > countMax ? [] : values
    }

    /// Returns our cookies among those of a request, as they go on to another member; nil without any.
    package static func ours(in request: HTTPRequest) -> String? {
        let ours = pairs(in: request.cookie ?? "").filter { names.contains(String($0.name)) }
        return ours.isEmpty
            ? nil : ours.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    private static func pairs(in field: String) -> [(name: Substring, value: Substring)] {
        field.split(separator: ";").compactMap { pair in
            let pair = pair.drop { $0 == " " }
            guard let equals = pair.firstIndex(of: "=") else { return nil }
            return (pair[..<equals], pair[pair.index(after: equals)...])
        }
    }

    private static func isNamed(_ request: HTTPRequest, _ url: ExternalURL) -> Bool {
        request.host.flatMap { HostName($0) }?.host == url.host
    }

    // MARK: - Writing

    /// Returns the field that has a browser keep `text` for as long as the session lasts.
    package func field(_ text: String, of session: Session, at now: Timestamp) -> (String, String) {
        let seconds = max(0, (session.until - now).count / 1000)
        return field("\(text); Max-Age=\(seconds)")
    }

    /// Returns the fields that have a browser forget each of our cookies.
    package static func endings(
        _ rules: AccessPolicy.Rules, isSecure: Bool = false
    ) -> [(String, String)] {
        let outside = rules.externalURL.map { SessionCookie(of: $0) }
        let all =
            [plain] + (isSecure ? [secure] : [])
            + [outside].compactMap { $0 }.filter { $0 != plain && !(isSecure && $0 == secure) }
        return all.map { $0.field("; Max-Age=0") }
    }

    private func field(_ value: String) -> (String, String) {
        let secure = isSecure ? "; Secure" : ""
        return (
            "Set-Cookie", "\(name)=\(value); Path=\(path); HttpOnly; SameSite=Strict\(secure)"
        )
    }
}
