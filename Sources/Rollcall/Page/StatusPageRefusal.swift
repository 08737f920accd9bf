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
        guard resource?.isPage ?? true, request.accept?.contains("text/html") == true,
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
        shown.body = Array(document(words.title, text, assets, isEntrance).utf8)
        return shown
    }

    private static let words: [Int: (title: String, text: String)] = [
        401: (
            "A token is needed",
            """
            Sign in with a token that has the scope <code>read</code>, and <code>act</code> to take \
            incidents, silence and ask. Who runs this Rollcall has listed the tokens under \
            <code>web.tokens</code>.
            """
        ),
        403: (
            "This is not open to you",
            """
            Either this token does not have the scope <code>read</code>, which the page needs: sign in \
            with another. Or this name is not one that Rollcall knows itself by \
            (<code>web.external_url</code>, <code>web.trusted_hosts</code>).
            """
        ),
        404: (
            "There is no such page",
            "The fleet is at <a href=\"/\">the beginning</a>; a person is at <code>/people/ID</code>."
        ),
    ]

    /// The words for a browser that runs no scripts: it can still be asked for a password.
    private static let entrance = """
        <div id="enter"></div>
        <noscript><p>To sign in needs JavaScript. Without it <a href="?login=basic">show the token as a
        password</a>: any name will do. So one can read, and not act.</p></noscript>
        """

    private static func document(
        _ title: String, _ text: String, _ assets: String, _ isEntrance: Bool
    ) -> String {
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
            \(isEntrance ? entrance : "")</main></body></html>

            """
    }
}
