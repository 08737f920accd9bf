import RollcallBasis
import RollcallCore
import RollcallSupport

/// The question of which cells a fleet is divided into, as `rollcall cluster cells` asks one of them, or
/// the fleet cell. Source: K1.
package struct CellsQuestion: Sendable {
    private let form: OutputForm

    /// A question whose answer is printed in a form; as CSV and as ids its cells are.
    package init(_ form: OutputForm) { self.form = form }

    /// Asks, and returns what is to be printed, and whether there is a map, and every cell that the fleet
    /// cell tells of is known to have it, and is heard.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle, now: Timestamp
    ) throws(QuestionError) -> (printout: Printout, isWell: Bool) {
        let answer = try server.ask(Resource.cells.path)
        guard let role = answer["role"]?.shown, let version = answer["version"]?.whole else {
            throw .strange(
                server: server.server, "\(Resource.cells.path) without role or version")
        }
        let cells = answer["cells"]?.elements ?? []
        let standing = answer["standing"]?.elements ?? []
        let isWell =
            version > 0
            && standing.allSatisfy {
                $0["version"]?.whole == version && $0["problem"]?.shown == nil
                    && !($0["dark"]?.isTrue ?? false)
            }
        switch form {
        case .table: break
        case .json: return (Printout(answer.printed), isWell)
        case .csv, .ids:
            return (RecordColumns.cells.printout(cells, form, style, lack: nil), isWell)
        }
        let name = answer["cell"]?.shown
        let who = role == "fleet" ? "The fleet cell" : "Cell \(name ?? GapListing.missing)"
        let place =
            role == "fleet" && server.isGateway(answer)
            ? "through the gateway at \(server.server)" : "at \(server.server)"
        guard version > 0 else {
            let words = "\(who), \(place), has no map yet: nobody is taken there."
            return (Printout(style.loud(words) + "\n"), isWell)
        }
        var lines = ["\(who), \(place). Version \(version) of the map."]
        for other in standing where !(other["has_slots"]?.isTrue ?? true) {
            let words = Self.words(other, now)
            let cell = other["cell"]?.shown ?? GapListing.missing
            lines.append(
                style.loud(
                    "Without slots, and so without people: \(cell)"
                        + (words.isEmpty ? "." : ", since \(words).")))
        }
        let table = cells.map { cell in
            let known = standing.first { $0["cell"]?.shown == cell["name"]?.shown }
            return Self.row(of: cell, known, isOwn: cell["name"]?.shown == name, now)
        }
        let console = ConsoleTable(
            [
                .init("CELL", least: 6), .init(""), .init("SHARE", isRight: true),
                .init("SLOTS", least: 9), .init("HAS", isRight: true), .init("", least: 10),
                .init("ADDRESS", least: 10),
            ], table, style)
        lines += ["", style.bold(console.head)] + table.map { console.line($0) }
        let unreached = standing.filter { $0["unreached_since"]?.instant != nil }.compactMap {
            one in
            one["problem"]?.shown.map {
                "\(one["cell"]?.shown ?? GapListing.missing) is not reached: \($0)"
            }
        }
        if !unreached.isEmpty { lines.append("") }
        lines += unreached.flatMap { ConsoleText.wrapped("\($0).", style.columns) }
        return (Printout(lines.joined(separator: "\n") + "\n"), isWell)
    }

    private static func row(
        of cell: JSONTree, _ standing: JSONTree?, isOwn: Bool, _ now: Timestamp
    ) -> [String] {
        let thousandths = cell["share"]?.number.flatMap { Int64(exactly: ($0 * 1000).rounded()) }
        let share = thousandths.map { "\($0 / 10).\(abs($0 % 10)) %" } ?? GapListing.missing
        let slots = (cell["slots"]?.elements ?? []).compactMap(\.shown).joined(separator: ", ")
        let urls = (cell["urls"]?.elements ?? []).compactMap(\.shown).joined(separator: ", ")
        return [
            cell["name"]?.shown ?? GapListing.missing, isOwn ? "this one" : "", share, slots,
            standing?["version"]?.whole.map { "\($0)" } ?? "", words(standing, now), urls,
        ]
    }

    /// Says what is the matter with a cell; nothing if all is well.
    private static func words(_ standing: JSONTree?, _ now: Timestamp) -> String {
        if let since = standing?["unreached_since"]?.instant {
            return "not reached for \(max(0, (now - since).count / 1000)) s"
        }
        if let problem = standing?["problem"]?.shown { return problem }
        if standing?["dark"]?.isTrue ?? false { return "dark: it says nothing of its people" }
        return standing?["blind"]?.isTrue ?? false ? "it cannot see its people" : ""
    }
}
