import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of the page for people. Source: V4.
extension Router {
    /// The rights of the page in a browser: to run and draw its own files, to ask its own server,
    /// and nothing else. There are no inline scripts or styles, and no text may become markup.
    static let pagePolicy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// Answers any address of the page; `root` leads from there to `/`.
    func showPage(below root: String, _ answer: @escaping Answer) {
        writer.ask { view in
            answer(
                HTTPResponse(
                    status: 200,
                    headers: [
                        ("Content-Type", "text/html; charset=utf-8"),
                        ("Content-Security-Policy", Self.pagePolicy),
                        ("Referrer-Policy", "no-referrer"),
                        ("Cross-Origin-Opener-Policy", "same-origin"),
                    ], body: StatusPageShell(root: root).bytes(view)), InputStats())
        }
    }

    /// Answers a file of the page.
    func showAsset(_ target: Target.Asset, _ answer: Answer) {
        // Of another version it would not fit the others.
        guard target.version == StatusPageAsset.version,
            let asset = StatusPageAsset(rawValue: String(target.name))
        else { return answer(Self.notFound, InputStats()) }
        answer(
            HTTPResponse(
                status: 200,
                headers: [
                    ("Content-Type", asset.contentType),
                    ("Cache-Control", "private, max-age=31536000, immutable"),
                    ("Referrer-Policy", "no-referrer"),
                    ("Cross-Origin-Resource-Policy", "same-origin"),
                ], body: asset.bytes), InputStats())
    }
}
