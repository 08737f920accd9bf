import RollcallBasis
import RollcallCore
import RollcallSupport

/// The document that every view of the page begins as: what it needs, and how the fleet stood when
/// it was asked for, which is all that a browser without JavaScript shows.
struct StatusPageShell {
    /// The rights of the page in a browser: to run and draw its own files, to ask its own server,
    /// and nothing else. There are no inline scripts or styles, and no text may become markup.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    /// The way to the page: "" or "../", so that it also works below a path of a proxy.
    let root: String

    /// The document. Names of regions stand in its sentence, and nothing else that anybody sent.
    func bytes(_ view: StateView) -> [UInt8] {
        let engine = view.engine
        let clock = engine.clock
        let assets = root + Resource.asset.path(StatusPageAsset.version, "").dropFirst()
        // The common one comes first: the others add to it.
        let styles = [.style] + StatusPageAsset.allCases.filter { !$0.isScript && $0 != .style }
        let sheets = styles.map { "<link rel=\"stylesheet\" href=\"\(assets)\($0.rawValue)\">" }
        let preloads = StatusPageAsset.allCases.filter {
            $0.isScript && ![.main, .enter].contains($0)
        }.map {
            "<link rel=\"modulepreload\" href=\"\(assets)\($0.rawValue)\">"
        }
        let sight =
            clock.onset.map {
                "Not watching since \(RFC3339.string(clock.wall($0))). "
                    + "Statuses are the last known ones."
            } ?? "Watching."
        let sentence = Sentence(view, isolatesNames: true)
        let unreached = view.store.unreached.sentence.map { "<p><strong>\($0)</strong></p>" } ?? ""
        // The fleet cell hears of those who are waited for alone (K2).
        let notExpected = row("not expected", engine.aggregates.notExpected.reduce(0, +))
        let rows =
            Status.allCases.map {
                row("\($0.word)", engine.aggregates.byStatus[Int($0.rawValue)])
            } + (engine.policy.role == .fleet ? [] : [notExpected])
        return filled([
            "part": Self.part(engine.policy), "root": root.isEmpty ? "./" : root, "assets": assets,
            "title": Self.escaped(sentence.headline), "headline": Self.markup(sentence.headline),
            "rest": Self.markup("\(sentence.rest) \(sentence.detail)"),
            "styles": sheets.joined(separator: "\n"), "preloads": preloads.joined(separator: "\n"),
            "unreached": unreached, "sight": "<p>\(sight)</p>",
            "rows": rows.joined(separator: "\n"), "as_of": RFC3339.string(clock.wallNow),
            "version": BuildInformation.version,
        ])
    }

    /// Returns the attributes that the page's scripts read before they ask anything: which cell's page it
    /// is, or that it is the fleet cell's, which knows nobody; without cells none. Source: K2, K7.
    private static func part(_ policy: Policy) -> String {
        switch policy.role {
        case .whole: ""
        case .cell:
            " data-cell=\"\(escaped(String(decoding: policy.cell, as: UTF8.self)))\""
        case .fleet: " data-fleet-cell"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }

    /// A text whose isolates are elements; a title, in which there are none, keeps them as they are.
    private static func markup(_ text: String) -> String {
        escaped(text).replacing("\u{2068}", with: "<bdi>").replacing("\u{2069}", with: "</bdi>")
    }

    private func row(_ word: String, _ count: Int) -> String {
        "<tr><th scope=\"row\">\(word)</th><td>\(count.grouped)</td></tr>"
    }

    private func filled(_ values: [String: String]) -> [UInt8] {
        var text = ""
        for (place, part) in Self.parts.enumerated() {
            // Every second one is a name in braces.
            text += place % 2 == 0 ? part : values[part] ?? ""
        }
        return Array(text.utf8)
    }

    /// The template's text and names, in turns.
    private static let parts: [String] = {
        let template = String(decoding: PackageResources.shell_html, as: UTF8.self)
        return template.split(separator: "{{", omittingEmptySubsequences: false).enumerated()
            .flatMap { place, part -> [String] in
                guard place > 0, let end = part.firstRange(of: "}}") else { return [String(part)] }
                return [String(part[..<end.lowerBound]), String(part[end.upperBound...])]
            }
    }()
}
