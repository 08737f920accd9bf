import Foundation
import RollcallBasis
import RollcallCore
import RollcallSupport

/// A refusal as a page, for somebody with a browser: what is missing, and what to do.
enum StatusPageRefusal {
    /// The refusal for who asks: a page where a browser asked for one, else as it is.
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
            (
                "Content-Security-Policy",
                "default-src 'none'; style-src 'sha256-\(styleHash)'; frame-ancestors 'none'"
            ),
            ("Referrer-Policy", "no-referrer"),
        ]
        // Relative, as all of the page is: it may stand below a path of a proxy.
        let depth = request.path.utf8.count { $0 == UInt8(ascii: "/") } - 1
        let root = depth > 0 ? String(repeating: "../", count: depth) : "./"
        let text = words.text.replacing("href=\"/\"", with: "href=\"\(root)\"")
        shown.body = Array(document(words.title, text).utf8)
        return shown
    }

    private static let words: [Int: (title: String, text: String)] = [
        401: (
            "A token is needed",
            """
            Load this page again to log in: leave the name as you like, and give a token with the \
            scope <code>read</code> as the password. Who runs this Rollcall has listed the tokens \
            under <code>web.tokens</code>.
            """
        ),
        403: (
            "This is not open to you",
            """
            Either this token does not have the scope <code>read</code>, which the page needs, or \
            this name is not one that Rollcall knows itself by (<code>web.external_url</code>, \
            <code>web.trusted_hosts</code>). To log in with another token, close all windows of the browser first, or use a private one.
            """
        ),
        404: (
            "There is no such page",
            "The fleet is at <a href=\"/\">the beginning</a>; a person is at <code>/people/ID</code>."
        ),
    ]

    private static let style = """
        :root { color-scheme: light dark; }
        body { font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1rem; }
        """

    private static let styleHash = Data(SHA256.digest(of: Array(style.utf8)))
        .base64EncodedString()

    private static func document(_ title: String, _ text: String) -> String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(title) · Rollcall</title>
        <style>\(style)</style></head>
        <body><main><h1>\(title)</h1><p>\(text)</p></main></body></html>

        """
    }
}
