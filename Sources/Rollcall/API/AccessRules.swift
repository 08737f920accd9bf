import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The edge of a server: it lets in whom its policy lets in.
protocol HTTPEdge: Sendable {
    var accessPolicy: AccessPolicy { get }
    var log: Logger { get }

    /// Refuses by its head what need not be read.
    func authorise(_ request: HTTPRequest, at accessPoint: AccessPoint) -> HTTPResponse?

    /// True of a request that is let pass though it is not known here whose it is.
    func isUnauthenticated(_ request: HTTPRequest) -> Bool

    /// Counts what the listener answered without asking here.
    func count(_ request: HTTPRequest, refusedWith status: Int)

    /// Answers a whole request, at once or later.
    func handle(_ request: HTTPRequest, _ reply: HTTPReply)
}

/// The paths of the listener of its own, and what needs no token on any.
private let probes: Set<String> = [
    Resource.metrics.path, Resource.healthy.path, Resource.ready.path, Resource.leader.path,
]

/// The rules for who is let in, judged by the head of a request. Source: V9.
extension HTTPEdge {
    /// Refuses by its head who may not do what they ask for, and what there is not. `routes` are those of
    /// `resource`, which is no input.
    func refusal(
        of request: HTTPRequest, to resource: Resource?, _ routes: [Route],
        at accessPoint: AccessPoint
    ) -> HTTPResponse? {
        let rules = accessPolicy.rules
        let caller = accessPolicy.caller(request, rules)
        let scope = Route.scope(request.method, among: routes)
        if let refusal = unauthenticated(request, scope, caller, accessPoint, rules) {
            // Who has a password has no token to sign in with.
            if refusal.status == 401, rules.access.tokens.isEmpty { return refusal }
            return StatusPageRefusal.shown(refusal, to: request, resource)
        }
        if routes.isEmpty { return StatusPageRefusal.shown(Self.notFound, to: request, nil) }
        guard let route = routes.first(where: { $0.method.rawValue == request.method }) else {
            let methods = routes.map(\.method.rawValue)
            let allowed = routes.first?.method == .get ? methods + ["HEAD"] : methods
            return .problem(
                405, "Method Not Allowed", detail: "see the Allow header",
                headers: [("Allow", allowed.joined(separator: ", "))])
        }
        let needed = route.scope(of: request, by: caller?.token)
        if let refusal = forbidden(
            request, needed, caller, accessPoint, rules, needsOrigin: route.needsOrigin)
        {
            return StatusPageRefusal.shown(refusal, to: request, resource)
        }
        guard route.method.hasBody else { return nil }
        if case .refused(let refusal) = BodyCoding.choice(request.contentEncoding) {
            return refusal
        }
        guard Router.format(request.contentType) != nil else {
            return .problem(
                415, "Unsupported Media Type",
                detail: "application/json or application/x-ndjson expected",
                headers: [("Accept", "application/json, application/x-ndjson")])
        }
        return nil
    }

    /// Refuses what a page of somebody else's made a browser send, whatever the method.
    func foreign(_ request: HTTPRequest, _ rules: AccessPolicy.Rules) -> HTTPResponse? {
        let isForeign = request.origin.map { !Self.isOwn(origin: $0, request, rules) } ?? false
        guard isForeign || request.field("sec-fetch-site") == "cross-site" else { return nil }
        accessPolicy.count(.origin)
        return .problem(
            403, "Forbidden", detail: "pages of another origin may not write here")
    }

    /// Refuses who must not even learn what there is: a page that got here by a changed name, and
    /// who has no token.
    func unauthenticated(
        _ request: HTTPRequest, _ scope: Access.Scope?, _ caller: Caller?,
        _ accessPoint: AccessPoint,
        _ rules: AccessPolicy.Rules
    ) -> HTTPResponse? {
        if Self.isMisdirected(request, accessPoint, rules) {
            accessPolicy.count(.host)
            return Self.wrongHost
        }
        if accessPoint.isForProbes {
            return probes.contains(request.path) ? nil : Self.notFound
        }
        if rules.access.isOpen || caller != nil { return nil }
        // A browser shows a password there only if it is asked for it, and there is nobody to sign in.
        let isAsked = rules.access.tokens.isEmpty && request.path == HTTPRequest.sessionPath
        if scope == nil, !isAsked { return nil }
        accessPolicy.count(.token)
        return rules.access.tokens.isEmpty ? Self.noPassword : Self.noToken(request)
    }

    /// Returns true of a request that names another machine: no password of it is looked at.
    func isMisdirected(_ request: HTTPRequest, at accessPoint: AccessPoint) -> Bool {
        Self.isMisdirected(request, accessPoint, accessPolicy.rules)
    }

    private static func isMisdirected(
        _ request: HTTPRequest, _ accessPoint: AccessPoint, _ rules: AccessPolicy.Rules
    ) -> Bool {
        guard accessPoint.isLoopback, let host = request.host else { return false }
        return !isOwn(host, accessPoint, rules)
    }

    /// Refuses who is known, or need not be, but may not do this.
    func forbidden(
        _ request: HTTPRequest, _ scope: Access.Scope?, _ caller: Caller?,
        _ accessPoint: AccessPoint, _ rules: AccessPolicy.Rules, needsOrigin: Bool
    ) -> HTTPResponse? {
        if !accessPoint.isForProbes, !rules.access.isOpen, let scope,
            let fault = Self.fault(scope, caller)
        {
            accessPolicy.count(.scope)
            return .problem(403, "Forbidden", detail: fault)
        }
        guard request.method != "GET" else { return nil }
        guard let origin = request.origin else {
            // No page of another origin may send the field that members mark their requests with: its
            // browser would ask us first, and is refused.
            guard needsOrigin || caller?.session != nil, request.passedOn == nil else { return nil }
            accessPolicy.count(.origin)
            return .problem(
                403, "Forbidden",
                detail: "what a session does must say by Origin that our own page sent it")
        }
        if Self.isOwn(origin: origin, request, rules) { return nil }
        accessPolicy.count(.origin)
        return .problem(
            403, "Forbidden",
            detail: "pages of another origin may not write; a proxy's is web.external_url")
    }

    /// Returns why whoever asks may not do what needs `scope`; nil if they may.
    private static func fault(_ scope: Access.Scope, _ caller: Caller?) -> String? {
        guard caller?.opens(scope) != true else { return nil }
        guard let caller, caller.token.opens(scope) else {
            return "this token lacks the scope \(scope.rawValue)"
        }
        guard caller.session == nil else {
            let scopes = Session.scopes.map(\.rawValue).joined(separator: " and ")
            return "a session opens \(scopes) alone: show the token as Authorization: Bearer TOKEN"
        }
        // A page of anybody's could make a browser send it (R7).
        return "to act, show the token as Authorization: Bearer TOKEN, not as a password; "
            + "in a browser, sign in"
    }

    /// Nobody is let pass before it is known whose a request is.
    func isUnauthenticated(_ request: HTTPRequest) -> Bool { false }

    /// Returns who sends a request; nil if it is nobody who is known.
    func caller(_ request: HTTPRequest) -> Caller? {
        accessPolicy.caller(request, accessPolicy.rules)
    }

    /// The source of a write that names none: whose token it came with, else `default` (F10).
    func holder(_ request: HTTPRequest) -> [UInt8] {
        // Who shows nothing is nobody by any rules.
        guard request.authorization != nil || request.cookie != nil || request.knownUser != nil,
            let caller = caller(request)
        else { return EventSource.standard }
        return Array(caller.token.name.utf8)
    }

    /// Says that whoever sends this did something: under the name `author` that they gave, else their
    /// token's.
    func action(
        _ kind: ActionReport.Kind, _ request: HTTPRequest, author: [UInt8] = []
    ) -> ActionReport {
        let token = caller(request)?.token.name ?? ""
        let name = Array(token.utf8)
        return ActionReport(kind, author: author.isEmpty ? name : author, token: name)
    }

    /// True if whoever sends this may also do what needs `scope`: without tokens, everybody.
    func opens(_ scope: Access.Scope, _ request: HTTPRequest) -> Bool {
        accessPolicy.rules.access.isOpen || caller(request)?.opens(scope) == true
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
        return origin == HostName.origin(scheme: request.isSecure ? "https" : "http", name)
    }

    private static var wrongHost: HTTPResponse {
        .problem(
            403, "Forbidden",
            detail: "Host is not this machine's; the name that a proxy passes on is "
                + "web.external_url, or one of web.trusted_hosts")
    }

    /// The answer to everybody who shows no password, where there are users and no tokens: a browser asks.
    private static var noPassword: HTTPResponse {
        .problem(
            401, "Unauthorized", detail: "a user and a password are needed: Authorization: Basic",
            headers: [("WWW-Authenticate", "Basic realm=\"rollcall\", charset=\"UTF-8\"")])
    }

    /// The answer to everybody who shows no token that is known.
    ///
    /// By the second challenge a browser asks for a password, also where a script of a page has asked:
    /// it is left out for pages, which sign in, unless `?login=basic` wants it.
    static func noToken(_ request: HTTPRequest) -> HTTPResponse {
        let accept = request.accept ?? ""
        let isOfPage = ["text/html", "application/json", "text/event-stream"].contains {
            accept.hasPrefix($0)
        }
        let isWanted = request.query.contains { $0.name == "login" && $0.value == "basic" }
        let basic = ("WWW-Authenticate", "Basic realm=\"rollcall\", charset=\"UTF-8\"")
        return .problem(
            401, "Unauthorized",
            detail: "a token is needed: Authorization: Bearer TOKEN, or Basic with the token as "
                + "password",
            headers: [bearerChallenge] + (isOfPage && !isWanted ? [] : [basic]))
    }

    /// The challenge of who wants a token, at which no browser asks for a password.
    static var bearerChallenge: (String, String) {
        ("WWW-Authenticate", "Bearer realm=\"rollcall\"")
    }

    /// The answer to a path that there is not.
    static var notFound: HTTPResponse {
        .problem(404, "Not Found", detail: "there is no such path")
    }
}
