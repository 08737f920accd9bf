import RollcallBasis
import RollcallCore
import RollcallSupport

/// A page for somebody with a browser, while nobody answers who could show them one. It asks again by itself.
/// All of it is here: whoever has its files does not answer either. Source: K5.
enum GatewayAwayPage {
    /// Seconds until the browser asks again.
    private static let again = 5
    private static let policy = [
        "default-src 'none'", "img-src data:", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// Returns the refusal for who asks: a page where a browser asked for one, else as it is.
    static func shown(_ refusal: HTTPResponse, to call: Gateway.Call) -> HTTPResponse {
        guard call.route.resource.isPage, call.route.method == .get,
            AcceptedType.names("text/html", in: call.request.accept)
        else { return refusal }
        let isNamed = call.request.query.contains { $0.name == Gateway.cellParameter }
        var shown = refusal
        shown.headers.removeAll { $0.0 == "Content-Type" }
        shown.headers += [
            ("Content-Type", "text/html; charset=utf-8"), ("Content-Security-Policy", policy),
            ("Referrer-Policy", "no-referrer"),
        ]
        shown.body = Array(document(isNamed ? cell : fleetCell).utf8)
        return shown
    }

    private static let fleetCell = (
        title: "The fleet cell does not answer",
        text: """
        Nobody decides about many until it is back: not whether a region has nobody online, nor how many \
        are offline. Each cell decides about its own people, and tells who is responsible for them.
        """
    )
    private static let cell = (
        title: "This cell does not answer",
        text:
            "Nothing is known of its people until it is back. Those of other cells are as they were."
    )

    private static func document(_ words: (title: String, text: String)) -> String {
        """
        <!DOCTYPE html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta http-equiv="refresh" content="\(again)">
        <title>\(words.title) · Rollcall</title>
        <link rel="icon" href="data:,"></head>
        <body><main><h1>\(words.title).</h1>
        <p>\(words.text)</p>
        <p>This page asks again every \(again) seconds.</p></main></body></html>

        """
    }
}
