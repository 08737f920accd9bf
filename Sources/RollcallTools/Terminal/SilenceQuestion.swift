import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question that `rollcall silence` asks of a server. Source: A7.
package struct SilenceQuestion: Sendable {
    private enum Kind: Sendable {
        case begin(JSONTree)
        case list
        case end(SilenceName)
    }

    private let kind: Kind
    private let form: OutputForm

    private init(_ kind: Kind, _ form: OutputForm) {
        self.kind = kind
        self.form = form
    }

    /// Begins a silence of alerts that fit all `matchers`, for a span such as `2h`.
    /// - Throws: `QuestionError` if a matcher or the span is none, or `author` or `comment` is
    ///   empty.
    package init(
        matchers: [String], span: String, author: String, comment: String, id: String? = nil,
        isJSON: Bool
    ) throws(QuestionError) {
        for matcher in matchers {
            do throws(MatcherText.Fault) {
                _ = try MatcherText.matcher(matcher)
            } catch {
                throw .wrongOption("\(ConsoleText.safe(matcher)): \(error.reason)")
            }
        }
        guard SettingText.duration(span)?.count ?? 0 > 0 else {
            throw .wrongOption("--for: a span like 90m or 2h expected (\(ConsoleText.safe(span)))")
        }
        for (flag, text) in [("--author", author), ("--comment", comment)] where text.isEmpty {
            throw .wrongOption("\(flag): a text expected")
        }
        let body: JSONTree = [
            "matchers": .list(matchers.map { .text($0) }), "duration": .text(span),
            "author": .text(author), "comment": .text(comment),
        ]
        self.init(.begin(id.map { body.with(["id": .text($0)]) } ?? body), isJSON ? .json : .table)
    }

    /// Lists those in force, and those that were until lately.
    package static func list(_ form: OutputForm) -> SilenceQuestion {
        SilenceQuestion(.list, form)
    }

    /// Ends one now: by its number, or as `CELL/NUMBER`, or in the cell of that name.
    /// - Throws: `QuestionError` if it is neither.
    package static func end(
        _ name: String, cell: String? = nil, isJSON: Bool
    ) throws(QuestionError) -> SilenceQuestion {
        SilenceQuestion(.end(try SilenceName(name, cell: cell)), isJSON ? .json : .table)
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> Printout {
        let isJSON = form == .json
        switch kind {
        case .begin(let body):
            let answer = try server.send(.post, Resource.silences.path, body).body
            return Printout(isJSON ? answer.printed : Self.described(answer, style))
        case .list:
            let answer = try server.ask(Resource.silences.path)
            guard let silences = answer["silences"]?.elements else {
                throw .strange(
                    server: server.server, "\(Resource.silences.path) without silences")
            }
            switch form {
            case .table: return .page(Self.table(silences, style), of: server, style)
            case .json: return Printout(answer.printed)
            case .csv, .ids:
                return RecordColumns.silences.printout(silences, form, style, lack: nil)
            }
        case .end(let name):
            let query = name.cell.map { "?cell=\(ServerQuestions.escaped($0))" } ?? ""
            let path = Resource.silence.path("\(name.number)") + query
            let answer = try server.send(.delete, path).body
            return Printout(
                isJSON ? answer.printed : "Silence \(ConsoleText.safe(name.text)) is over.\n")
        }
    }

    private static func described(_ answer: JSONTree, _ style: ConsoleStyle) -> String {
        let silence = answer["silence"]
        let number = silence?["id"]?.whole.map { "\($0)" } ?? GapListing.missing
        let matchers = Self.matchers(silence).joined(separator: " and ")
        let verb = silence?["state"]?.text == "over" ? "is over: it muted" : "mutes"
        var text = "Silence \(number) \(verb) alerts with \(matchers) until "
        text += (silence.flatMap { until($0, style) } ?? GapListing.missing) + ".\n"
        let muting = (silence?["muting"]?.elements ?? []).compactMap(\.shown)
        if !muting.isEmpty { text += "It mutes now: \(muting.joined(separator: ", ")).\n" }
        for warning in (answer["warnings"]?.elements ?? []).compactMap(\.shown) {
            text += style.bold("warning") + ": \(warning)\n"
        }
        return text
    }

    private static func until(_ silence: JSONTree, _ style: ConsoleStyle) -> String? {
        silence["ends_at"]?.instant.map { "\(style.moment($0)) \(style.zone($0))" }
    }

    private static func matchers(_ silence: JSONTree?) -> [String] {
        (silence?["matchers"]?.elements ?? []).compactMap(\.shown)
    }

    private static func table(_ silences: [JSONTree], _ style: ConsoleStyle) -> String {
        if silences.isEmpty { return "Nothing is muted.\n" }
        let columns = [
            ConsoleTable.Column("id"), .init("state"), .init("until"),
            .init("matchers", least: 12), .init("author", least: 6), .init("comment", least: 8),
        ]
        var rows: [[String]] = []
        for silence in silences {
            rows.append([
                SilenceName(silence).map { ConsoleText.safe($0.text) } ?? GapListing.missing,
                silence["state"]?.shown ?? GapListing.missing,
                until(silence, style) ?? GapListing.missing,
                matchers(silence).joined(separator: " and "),
                silence["author"]?.shown ?? GapListing.missing,
                silence["comment"]?.shown ?? GapListing.missing,
            ])
        }
        let table = ConsoleTable(columns, rows, style)
        let lines = [style.bold(table.head)] + rows.map { table.line($0) }
        return lines.joined(separator: "\n") + "\n"
    }
}
