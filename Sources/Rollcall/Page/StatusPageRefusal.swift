import RollcallBasis
import RollcallCore
import RollcallSupport

/// A refusal as a page, for somebody with a browser: what is missing, and what to do. Who is not known, or
/// whose token does not read, can sign in there.
enum StatusPageRefusal {
    /// Returns the refusal for who asks: a page where a browser asked for one, else as it is.
    static func shown(
        _ refusal: HTTPResponse, to request: HTTPRequest, _ resource: Resource?
    ) -> HTTPResponse {
        guard resource?.isPage ?? true, AcceptedType.names("text/html", in: request.accept),
            let words = words[refusal.status]
        else { return refusal }
        var shown = refusal
        shown.headers.removeAll { $0.0 == "Content-Type" }
        shown.headers += [
            ("Content-Type", "text/html; charset=utf-8"),
            ("Content-Security-Policy", StatusPageShell.policy), ("Referrer-Policy", "no-referrer"),
        ]
        // Relative, as all of the page is: it may stand below a path of a proxy.
        let depth = request.path.utf8.count { $0 == UInt8(ascii: "/") } - 1
        let root = depth > 0 ? String(repeating: "../", count: depth) : "./"
        let text = words.text.replacing("href=\"/\"", with: "href=\"\(root)\"")
        let assets = root + Resource.asset.path(StatusPageAsset.version, "").dropFirst()
        let isEntrance = refusal.status != 404
        shown.body = Array(document(words.title, text, words.detail, assets, isEntrance).utf8)
        return shown
    }

    // To whoever wants to look, and to whoever gives tokens out.
    private static let words: [Int: (title: String, text: String, detail: String)] = [
        401: (
            "Sign in",
            """
            Who can be reached, and who is silent and why, is shown to those who sign in. Use the token \
            that you were given; whoever has none gets one from those who run Rollcall here.
            """,
            """
            A token is needed, of those under <code>web.tokens</code>: with the scope <code>read</code> to \
            look, and <code>act</code> to take incidents, silence and ask.
            """
        ),
        403: (
            "This is not open to you",
            """
            You may not look at this page with what you have signed in with, or not at this address. \
            Sign in with another token, or ask those who run Rollcall here.
            """,
            """
            Either this token does not have the scope <code>read</code>, which the page needs. Or this \
            name is not one that Rollcall knows itself by (<code>web.external_url</code>, \
            <code>web.trusted_hosts</code>).
            """
        ),
        404: (
            "There is no such page",
            "The fleet is at <a href=\"/\">the beginning</a>; a person is at <code>/people/ID</code>.",
            ""
        ),
    ]

    /// The words for a browser that runs no scripts: it can still be asked for a password.
    private static let entrance = """
        <div id="enter"></div>
        <noscript><p>To sign in needs JavaScript. Without it <a href="?login=basic">show the token as a
        password</a>: any name will do. So one can read, and not act.</p></noscript>
        """

    private static func document(
        _ title: String, _ text: String, _ detail: String, _ assets: String, _ isEntrance: Bool
    ) -> String {
        let behind = """
            <details><summary>For those who run it</summary><p>\(detail)</p></details>
            """
        let enter = "<script type=\"module\" src=\"\(assets)\(StatusPageAsset.enter.rawValue)\">"
        let script = isEntrance ? "\n\(enter)</script>" : ""
        return """
            <!DOCTYPE html>
            <html lang="en"><head><meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title) · Rollcall</title>
            <link rel="icon" href="data:,">
            <link rel="stylesheet" href="\(assets)\(StatusPageAsset.style.rawValue)">
            <link rel="stylesheet" href="\(assets)\(StatusPageAsset.actStyle.rawValue)">\(script)</head>
            <body><main id="main" class="plain entrance"><h1>\(title)</h1><p>\(text)</p>
            \(isEntrance ? entrance + behind : "")</main></body></html>

            """
    }
}
