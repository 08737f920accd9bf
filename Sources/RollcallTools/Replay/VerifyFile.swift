import RollcallBasis
import RollcallCore
import RollcallSupport

/// A replay that says whether what it decides is what had been decided: `rollcall replay --verify`.
package struct VerifyFile {
    /// Lines between looks at the clock.
    private static let linesALook = 1000

    private let path: String
    private let since: Timestamp?
    private let mindsErasures: Bool
    private let isJSON: Bool

    /// A check of the export, or of the store from `since` on, at `path` (`-`: standard input);
    /// `mindsErasures` is as in `StoreExport`.
    package init(
        path: String, since: Timestamp? = nil, mindsErasures: Bool = true, isJSON: Bool = false
    ) {
        self.path = path
        self.isJSON = isJSON
        self.since = since
        self.mindsErasures = mindsErasures
    }

    /// Reads, folds and compares until the file ends or something differs. Returns what is to be
    /// printed, and whether all was the same.
    ///
    /// Throws `InputFileError` for files that cannot be read, lines that are wrong, and a file that
    /// does not say what was decided.
    package func run() throws(InputFileError) -> (report: String, isSame: Bool) {
        var input = try ReplayInput(path: path, since: since, mindsErasures: mindsErasures)
        var progress = ProgressLine(total: input.byteCount, unit: "bytes")
        defer { progress.finish() }
        var check = ReplayCheck { body in
            try Configuration(yaml: String(decoding: body, as: UTF8.self)).policy
        }
        var lines = 0
        while check.difference == nil, let line = try input.next() {
            do throws(ReplayError) { try check.fold(line) } catch { throw .wrongLine(error) }
            lines += 1
            if lines % Self.linesALook == 0 { progress.update(done: input.bytesRead) }
        }
        if check.difference == nil { check.finish() }
        guard check.isExport else {
            throw .unusable(
                path: path,
                "no line says what was decided: only what `rollcall export` wrote can be verified")
        }
        return (isJSON ? Self.tree(check).printed : Self.report(check), Self.isSame(check))
    }

    private static func isSame(_ check: ReplayCheck) -> Bool { check.difference == nil }

    // MARK: - Words

    private static func report(_ check: ReplayCheck) -> String {
        var text = (check.difference ?? check.erasedDifference).map { Self.text($0) } ?? ""
        let counts = ReplayCheck.Kind.allCases.map { kind in
            "\(check.same[kind.rawValue]) \(kind.word)"
        }
        let all =
            check.difference != nil
            ? "the same before"
            : check.erasedDifference != nil ? "the same besides" : "all the same"
        text += "\(all): \(counts.joined(separator: ", "))\n"
        if let span = check.span {
            text +=
                "from \(RFC3339.string(span.first)) to \(RFC3339.string(span.last)), "
                + "\(check.turns) turns that tell what they decided\n"
        }
        if let other = check.otherRules {
            text +=
                "from turn \(other.turn) on other rules decided (engine version "
                + "\(other.engineVersion), this is \(Engine.version)): what differs may come from that\n"
        }
        if check.erasedDifferences > 0 {
            let count = check.erasedDifferences
            text +=
                "people were erased: without them \(count) "
                + (count == 1 ? "line" : "lines")
                + " of gaps of many, alerts and nudges of others "
                + (check.difference != nil
                    ? "differ too\n"
                    : count == 1 ? "differs, this one\n" : "differ, first this one\n")
        } else if check.hasErased {
            text += "people were erased: without them others may be decided otherwise\n"
        }
        return text
    }

    private static func tree(_ check: ReplayCheck) -> JSONTree {
        func text(_ bytes: [UInt8]?) -> JSONTree {
            bytes.map { .text(String(decoding: $0, as: UTF8.self)) } ?? nil
        }
        func tree(_ difference: ReplayCheck.Difference?) -> JSONTree {
            difference.map { difference in
                [
                    "turn": .integer(difference.turn), "stored": text(difference.stored),
                    "replayed": text(difference.replayed),
                ]
            } ?? nil
        }
        let counts = ReplayCheck.Kind.allCases.map { kind in
            JSONTree.Member(
                name: "\(kind.word)".replacing(" lines", with: "s"),
                value: .integer(Int64(check.same[kind.rawValue])))
        }
        return [
            "same": .boolean(isSame(check)),
            "difference": tree(check.difference),
            "decisions": .object(counts),
            "since": check.span.map { .text(RFC3339.string($0.first)) } ?? nil,
            "until": check.span.map { .text(RFC3339.string($0.last)) } ?? nil,
            "turns": .integer(Int64(check.turns)),
            "other_rules": check.otherRules.map { other in
                [
                    "turn": .integer(other.turn),
                    "engine_version": .integer(other.engineVersion),
                ]
            } ?? nil,
            "people_erased": .boolean(check.hasErased),
            "erased_differences": .integer(Int64(check.erasedDifferences)),
            "erased_difference": tree(check.erasedDifference),
        ]
    }

    private static func text(_ difference: ReplayCheck.Difference) -> String {
        func line(_ bytes: [UInt8]?) -> String {
            bytes.map { ConsoleText.safe(String(decoding: $0, as: UTF8.self)) } ?? "nothing more"
        }
        return """
            differs at turn \(difference.turn)
            stored:   \(line(difference.stored))
            replayed: \(line(difference.replayed))

            """
    }
}
