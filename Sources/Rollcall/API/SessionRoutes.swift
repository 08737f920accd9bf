import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of who is signed in. Source: R7.
extension HTTPEdge {
    private static var fields: [String] { ["token"] }

    /// Answers `GET /v1/session`: who one is; of a session, prolongs it.
    func showSession(_ request: HTTPRequest, _ answer: Router.Answer) {
        let rules = accessPolicy.rules
        let now = ClockReading.now().wall
        let caller = accessPolicy.caller(request, rules)
        guard let caller, let session = caller.session?.prolonged(at: now) else {
            return answer(Self.session(caller, rules), InputStats())
        }
        let renewed = Caller(token: caller.token, proof: .session(session))
        answer(Self.signedIn(renewed, session, request, rules, now), InputStats())
    }

    /// Answers `POST /v1/session`: signs in whoever shows a token that reads.
    func signIn(_ request: HTTPRequest, _ answer: @escaping Router.Answer) {
        guard let answer = noting(Self.fields, request, answer) else { return }
        let shown = document(request, answer) { (body) throws(RequestFault) in
            guard let text = body["token"]?.text else {
                throw RequestFault(pointer: "/token", detail: "the text of a token expected")
            }
            return Array(text.utf8)
        }
        guard let shown else { return }
        let rules = accessPolicy.rules
        if rules.access.isOpen { return answer(Self.session(nil, rules), InputStats()) }
        let found: Access.Token?
        do throws(TooManyAttempts) {
            found = try accessPolicy.signIn(shown, rules)
        } catch {
            accessPolicy.count(.token)
            return answer(Self.tooManyAttempts(error), InputStats())
        }
        guard let token = found else {
            accessPolicy.count(.token)
            return answer(Self.unknownToken, InputStats())
        }
        guard token.opens(.read) else {
            accessPolicy.count(.scope)
            return answer(Self.blindToken, InputStats())
        }
        let now = ClockReading.now().wall
        // Whoever signs in anew has done with the sign-in before.
        for old in accessPolicy.sessions(of: request, rules) { accessPolicy.end(old.session) }
        let session = Session(
            of: token.name, number: UInt64.random(in: .min ... .max), now: now)
        log.info("signed in", metadata: ["token": "\(token.name)"])
        let caller = Caller(token: token, proof: .session(session))
        answer(Self.signedIn(caller, session, request, rules, now), InputStats())
    }

    /// Answers `DELETE /v1/session`: ends it, and says who one is without.
    func signOut(_ request: HTTPRequest, _ answer: Router.Answer) {
        let rules = accessPolicy.rules
        for (session, token) in accessPolicy.sessions(of: request, rules) {
            accessPolicy.end(session)
            log.info("signed out", metadata: ["token": "\(token.name)"])
        }
        var rest = request
        rest.cookie = nil
        var response = Self.session(accessPolicy.caller(rest, rules), rules)
        response.headers += SessionCookie.endings(rules, isSecure: request.isSecure)
        answer(response, InputStats())
    }

    // MARK: - Answers

    private static func signedIn(
        _ caller: Caller, _ session: Session, _ request: HTTPRequest, _ rules: AccessPolicy.Rules,
        _ now: Timestamp
    ) -> HTTPResponse {
        var response = Self.session(caller, rules)
        let text = session.text(signedBy: caller.token.sessionKey)
        response.headers.append(
            SessionCookie.of(request, rules).field(text, of: session, at: now))
        return response
    }

    private static func session(_ caller: Caller?, _ rules: AccessPolicy.Rules) -> HTTPResponse {
        let isOpen = rules.access.isOpen
        let scopes = Access.Scope.allCases.filter { isOpen || caller?.opens($0) == true }
        let isShown = scopes.contains(.read) && !rules.personURL.isEmpty
        let tree: JSONTree = [
            "proof": isOpen ? "open" : caller.map { AlertJSON.word($0.proof.word) } ?? "none",
            "token": isOpen ? nil : caller.map { .text($0.token.name) } ?? nil,
            "scopes": .list(scopes.map { .text($0.rawValue) }),
            "until": caller?.session.map { AlertJSON.time($0.until) } ?? nil,
            "person_url": isShown ? .text(rules.personURL) : nil,
        ]
        return .json(AlertJSON.bytes(tree))
    }

    private static var unknownToken: HTTPResponse {
        .problem(
            401, "Unauthorized", detail: "this token is not known here", headers: [bearerChallenge])
    }

    private static var blindToken: HTTPResponse {
        .problem(
            403, "Forbidden",
            detail: "this token lacks the scope read: there is nothing to sign in for")
    }

    private static func tooManyAttempts(_ refusal: TooManyAttempts) -> HTTPResponse {
        .problem(
            429, "Too Many Requests",
            detail: "too many tokens that are not known were tried: try again in "
                + "\(refusal.retryAfter) s",
            headers: [("Retry-After", "\(refusal.retryAfter)")])
    }
}
