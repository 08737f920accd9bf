import RollcallCore

/// The one who asks, as the head of a request shows it.
package struct Caller: Sendable, Equatable {
    /// The kinds of what can be shown.
    package enum Proof: Sendable, Equatable {
        /// The token as it is, which no browser sends by itself.
        case bearer
        /// The token as the password of Basic, which a browser sends by itself once it knows it.
        case password
        /// A password of a user of the web configuration, which a browser sends by itself too.
        case user
        /// The cookie of a sign-in with the token.
        case session(Session)

        /// The word of an answer.
        package var word: StaticString {
            switch self {
            case .bearer: "bearer"
            case .password: "password"
            case .user: "user"
            case .session: "session"
            }
        }
    }

    /// The token that was shown, or signed in with.
    package let token: Access.Token
    /// The kind of what was shown.
    package let proof: Proof

    /// The holder of a token, as they have shown it.
    package init(token: Access.Token, proof: Proof) {
        self.token = token
        self.proof = proof
    }

    /// The sign-in; nil of whoever shows the token itself.
    package var session: Session? {
        if case .session(let session) = proof { session } else { nil }
    }

    /// Returns true if this opens what needs `scope`: a session reads and acts, and a token as password does
    /// not act (R7); a user with a password does all (V18).
    package func opens(_ scope: Access.Scope) -> Bool {
        guard token.opens(scope) else { return false }
        return switch proof {
        case .bearer, .user: true
        case .password: scope != .act
        case .session: Session.scopes.contains(scope)
        }
    }
}

extension AccessPolicy {
    /// Returns who sends a request; nil if it is nobody who is known.
    ///
    /// A Bearer stands for itself. A browser that knows a password too sends it beside the cookie, which
    /// is the newer of the two.
    package func caller(_ request: HTTPRequest, _ rules: Rules) -> Caller? {
        if request.cookie != nil,
            request.authorization == nil || Access.isPassword(request.authorization),
            let found = signedIn(request, rules)
        {
            return found
        }
        if let user = request.knownUser { return Caller(token: user, proof: .user) }
        guard let shown = request.authorization, let token = rules.access.holder(shown) else {
            return nil
        }
        return Caller(token: token, proof: Credentials.isBasic(shown) ? .password : .bearer)
    }

    /// Returns the one whose sign-in a request shows; nil without one, and of two of different tokens:
    /// whoever put one there may want something to be done in the other's name.
    private func signedIn(_ request: HTTPRequest, _ rules: Rules) -> Caller? {
        let found = sessions(of: request, rules)
        guard let last = found.max(by: { $0.session.until < $1.session.until }),
            found.allSatisfy({ $0.token == last.token })
        else { return nil }
        return Caller(token: last.token, proof: .session(last.session))
    }

    /// Returns the sign-ins that a request shows and that are not over.
    package func sessions(
        of request: HTTPRequest, _ rules: Rules
    ) -> [(session: Session, token: Access.Token)] {
        let now = ClockReading.now().wall
        return SessionCookie.values(in: request, rules).compactMap {
            Session.read($0, signedBy: rules.access.tokens, at: now)
        }.filter { !isOver($0.session, at: now) }
    }
}
