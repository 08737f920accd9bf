import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of who is signed in. Source: R7.
extension Route {
    static let sessions: [Route] = [
        Route(
            .get, .session, "getSession", .session, nil, .operation, "Who is signed in",
            """
            For everybody: `proof` says what the request shows, `none` where a token is needed and none \
            that is known was shown. A session that is asked about is prolonged, by a cookie with the \
            answer: it ends \(hours(Session.idleMax)) hours after the last time, and \
            \(hours(Session.wholeMax) / 24) days after the token was shown. Where there are users and no \
            tokens it is 401 without a password, as else no browser would show one.
            """,
            answers: [200: "SessionAnswer"], problems: [401]
        ) { $0.showSession($1.request, $1.answer) },
        Route(
            .post, .session, "signIn", .session, nil, .operation, "Signs a browser in",
            """
            For our own page: `Origin` must be ours. The cookie (`HttpOnly`, `SameSite=Strict`) opens \
            what `read` and `act` open, as far as the token does, and ends with it; what is no GET needs \
            our `Origin` beside it. After \(AccessPolicy.attemptsMax) attempts in vain, of which \
            one a second is forgotten, others in vain are 429.
            """,
            shared: [.strict], body: "SignIn", answers: [200: "SessionAnswer"],
            problems: [401, 422, 429]
        ) { $0.signIn($1.request, $1.answer) },
        Route(
            .delete, .session, "signOut", .session, nil, .operation, "Signs a browser out",
            """
            The browser forgets its cookie, and this server takes no copy of it any more while it runs. \
            Only another token ends all sessions of a token everywhere. The answer says who one is \
            without it.
            """,
            answers: [200: "SessionAnswer"], problems: [401]
        ) { $0.signOut($1.request, $1.answer) },
    ]

    private static func hours(_ span: Milliseconds) -> Int64 { span.count / 3_600_000 }

    /// True of what a browser may not do without saying which page made it, whoever asks.
    var needsOrigin: Bool { resource == .session && method == .post }
}
