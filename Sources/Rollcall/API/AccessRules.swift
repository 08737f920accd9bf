import RollcallBasis
import RollcallCore
import RollcallSupport

/// The rules for who is let in, judged by the head of a request. Source: V9.
extension Router {
    /// The paths of the listener of its own, and what needs no token on any.
    private static let probes: Set<String> = [
        Resource.metrics.path, Resource.healthy.path, Resource.ready.path,
        Resource.leader.path,
    ]

    /// Refuses who must not even learn what there is: a page that got here by a changed name, and
    /// who has no token.
    func unauthenticated(
        _ request: HTTPRequest, _ scope: Access.Scope?, _ token: Access.Token?,
        _ accessPoint: AccessPoint,
        _ rules: AccessPolicy.Rules
    ) -> HTTPResponse? {
        if accessPoint.isLoopback, let host = request.host, !Self.isOwn(host, accessPoint, rules) {
            accessPolicy.count(.host)
            return Self.wrongHost
        }
        if accessPoint.isForProbes {
            return Self.probes.contains(request.path) ? nil : Self.notFound
        }
        if rules.access.isOpen || scope == nil || token != nil { return nil }
        accessPolicy.count(.token)
        return Self.noToken
    }

    /// Refuses who is known, or need not be, but may not do this.
    func forbidden(
        _ request: HTTPRequest, _ scope: Access.Scope?, _ token: Access.Token?,
        _ accessPoint: AccessPoint,
        _ rules: AccessPolicy.Rules
    ) -> HTTPResponse? {
        if !accessPoint.isForProbes, !rules.access.isOpen, let scope,
            token?.opens(scope) != true
        {
            accessPolicy.count(.scope)
            return .problem(
                403, "Forbidden", detail: "this token lacks the scope \(scope.rawValue)")
        }
        // A page of anybody's could make a browser send it (R7).
        if scope == .act, !rules.access.isOpen, Access.isPassword(request.authorization) {
            accessPolicy.count(.scope)
            return .problem(
                403, "Forbidden",
                detail: "to act, show the token as Authorization: Bearer TOKEN, not as a password")
        }
        if request.method != "GET", let origin = request.origin,
            !Self.isOwn(origin: origin, request, rules)
        {
            accessPolicy.count(.origin)
            return .problem(
                403, "Forbidden",
                detail: "pages of another origin may not write; a proxy's is web.external_url")
        }
        return nil
    }

    /// The source of a write that names none: whose token it came with, else `default` (F10).
    func holder(_ request: HTTPRequest) -> [UInt8] {
        let access = accessPolicy.rules.access
        guard !access.isOpen, let token = access.holder(request.authorization) else {
            return EventSource.standard
        }
        return Array(token.name.utf8)
    }

    /// Says that whoever sends this did something: under the name `author` that they gave, else their
    /// token's.
    func action(
        _ kind: ActionReport.Kind, _ request: HTTPRequest, author: [UInt8] = []
    ) -> ActionReport {
        let token = accessPolicy.rules.access.holder(request.authorization).map(\.name) ?? ""
        let name = Array(token.utf8)
        return ActionReport(kind, author: author.isEmpty ? name : author, token: name)
    }

    /// True if whoever sends this may also do what needs `scope`: without tokens, everybody.
    func opens(_ scope: Access.Scope, _ request: HTTPRequest) -> Bool {
        let access = accessPolicy.rules.access
        return access.isOpen || access.holder(request.authorization)?.opens(scope) == true
    }

    /// True if `host` can only have been meant for us. A page whose name was made to point at this
    /// machine ("DNS rebinding") still sends its own name.
    private static func isOwn(
        _ host: String, _ accessPoint: AccessPoint, _ rules: AccessPolicy.Rules
    ) -> Bool {
        if accessPoint.usualHosts.contains(host) { return true }
        guard let name = HostName(host) else { return false }
        return name.isLoopback || name.host == rules.externalURL?.host
            || rules.trustedHosts.contains(name.host)
    }

    /// True if a page of this origin is ours.
    static func isOwn(
        origin: String, _ request: HTTPRequest, _ rules: AccessPolicy.Rules
    ) -> Bool {
        let origin = origin.lowercased()
        if let external = rules.externalURL, origin == external.origin { return true }
        // A trusted name belongs to what is mirrored, whose pages are not ours.
        guard let name = request.host.flatMap({ HostName($0) }),
            !rules.trustedHosts.contains(name.host)
        else { return false }
        return origin == HostName.origin(scheme: "http", name)
    }

    private static var wrongHost: HTTPResponse {
        .problem(
            403, "Forbidden",
            detail: "Host is not this machine's; the name that a proxy passes on is "
                + "web.external_url, or one of web.trusted_hosts")
    }

    /// The answer to everybody who shows no token that is known, with both challenges: a browser
    /// asks for a password by the second.
    static var noToken: HTTPResponse {
        .problem(
            401, "Unauthorized",
            detail: "a token is needed: Authorization: Bearer TOKEN, or Basic with the token as "
                + "password",
            headers: [
                ("WWW-Authenticate", "Bearer realm=\"rollcall\""),
                ("WWW-Authenticate", "Basic realm=\"rollcall\", charset=\"UTF-8\""),
            ])
    }

    /// The answer to a path that there is not.
    static var notFound: HTTPResponse {
        .problem(404, "Not Found", detail: "there is no such path")
    }
}
