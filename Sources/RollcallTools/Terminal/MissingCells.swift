import RollcallBasis
import RollcallCore
import RollcallSupport

/// The cells of a fleet that a gateway left out of its answers, since they did not answer. Source: K5.
package struct MissingCells: Equatable, Sendable {
    /// Their names, in the order in which they were left out.
    package private(set) var names: [String] = []

    package init() {}

    /// Takes up those that an answer to a question names.
    mutating func note(_ answer: JSONTree) {
        for name in (answer[Self.member]?.elements ?? []).compactMap(\.shown)
        where !names.contains(name) { names.append(name) }
    }

    /// The member of an answer that names them.
    static let member = "unavailable"

    /// A sentence that says whose part is missing; nil if nobody's is.
    package var sentence: String? {
        if names.isEmpty { return nil }
        return names.count == 1
            ? "\(subject) does not answer: what it has is missing here"
            : "\(subject) do not answer: what they have is missing here"
    }

    /// `cell c1`, `cells c1 and c2`; the fleet cell has no name.
    private var subject: String {
        let cells = names.filter { $0 != Self.fleetCell }
        let all = (names.count > cells.count ? ["the fleet cell"] : []) + Self.words(cells)
        return all.joined(separator: " and ")
    }

    private static func words(_ cells: [String]) -> [String] {
        switch cells.count {
        case 0: []
        case 1: ["cell \(cells[0])"]
        default: ["cells \(cells.dropLast().joined(separator: ", ")) and \(cells[cells.count - 1])"]
        }
    }

    /// The name of the fleet cell where a gateway leaves it out.
    private static let fleetCell = "fleet cell"

    /// The members of the last page of a list, which name all that were missing on any.
    func named(in rest: [JSONTree.Member]) -> [JSONTree.Member] {
        rest.map { $0.name == Self.member ? member : $0 }
    }

    /// All of them as a member of an answer.
    var member: JSONTree.Member {
        JSONTree.Member(name: Self.member, value: .list(names.map { .text($0) }))
    }
}

extension Printout {
    /// A page for people that was made of what `server` answered: cells that are missing stand at its end.
    static func page(
        _ text: String, of server: ServerQuestions, _ style: ConsoleStyle
    ) -> Printout {
        guard let sentence = server.missing.sentence else { return Printout(text) }
        let lines = ConsoleText.wrapped(Self.capital(sentence) + ".", style.columns)
        return Printout(text + "\n" + lines.map { style.loud($0) + "\n" }.joined())
    }

    /// A page for people that is one sentence.
    static func sentence(_ text: String, _ style: ConsoleStyle) -> Printout {
        let lines = ConsoleText.wrapped(capital(text) + ".", style.columns)
        return Printout(lines.map { $0 + "\n" }.joined())
    }

    /// A table of counts without rows, for the reason `why`.
    static func withoutRows(
        _ why: String, _ counts: JSONTree, _ form: OutputForm, _ style: ConsoleStyle
    ) -> Printout {
        switch form {
        case .table: sentence(why, style)
        case .json: Printout(counts.printed, lack: why)
        case .csv, .ids: Printout("", lack: why)
        }
    }

    /// A sentence that begins with a capital.
    static func capital(_ sentence: String) -> String {
        sentence.prefix(1).uppercased() + sentence.dropFirst()
    }
}
