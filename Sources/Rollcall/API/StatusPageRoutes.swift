import RollcallBasis
import RollcallCore
import RollcallSupport

/// The routes of the page for people. Source: V4.
extension Router {
    /// Answers any address of the page; `root` leads from there to `/`.
    func showPage(below root: String, _ answer: @escaping Answer) {
        writer.ask { view in
            answer(
                HTTPResponse(
                    status: 200,
                    headers: [
                        ("Content-Type", "text/html; charset=utf-8"),
                        ("Content-Security-Policy", StatusPageShell.policy),
                        ("Referrer-Policy", "no-referrer"),
                        ("Cross-Origin-Opener-Policy", "same-origin"),
                    ], body: StatusPageShell(root: root).bytes(view)), InputStats())
        }
    }

    /// Answers a file of the page.
    func showAsset(_ target: Target.Asset, _ request: HTTPRequest, _ answer: @escaping Answer) {
        // Of another version it would not fit the others.
        guard target.version == StatusPageAsset.version,
            let asset = StatusPageAsset(rawValue: String(target.name))
        else { return answer(Self.notFound, InputStats()) }
        let plain = HTTPResponse(
            status: 200,
            headers: [
                ("Content-Type", asset.contentType),
                ("Cache-Control", "private, max-age=31536000, immutable"),
                ("Vary", "Accept-Encoding"), ("Referrer-Policy", "no-referrer"),
                ("Cross-Origin-Resource-Policy", "same-origin"),
            ], body: asset.bytes)
        switch AnswerCoding.choice(request.acceptEncoding) {
        case .plain: answer(plain, InputStats())
        case .gzip: packedAssets.pack(plain, of: asset) { answer($0, InputStats()) }
        }
    }
}
