import RollcallBasis
import RollcallSupport

/// The advice for whoever asks the fleet cell for people: it has none, so that nothing is found.
/// Source: K2.
extension ServerQuestions {
    /// Cells that are named at most.
    private static let cellsShownMax = 3

    /// Returns the sentence for an answer in which nobody is, if this is the fleet cell itself; nil of any
    /// other watch, and of a gateway, which names in `answer` what it leaves out.
    func advice(onNobodyIn answer: JSONTree) -> String? {
        guard answer[MissingCells.member] == nil else { return nil }
        let map: JSONTree
        do throws(QuestionError) {
            map = try ask(Resource.cells.path)
        } catch {
            // The answer itself is there.
            return nil
        }
        guard map["role"]?.text == "fleet" else { return nil }
        let cells = map["cells"]?.elements ?? []
        let places = cells.prefix(Self.cellsShownMax).compactMap { cell in
            cell["urls"]?.elements.first?.shown.map { "\(cell["name"]?.shown ?? "") at \($0)" }
        }
        let more = cells.count - places.count
        let rest = more > 0 ? " and \(more.grouped) more" : ""
        let named = places.isEmpty ? "" : ": \(places.joined(separator: ", "))\(rest)"
        return
            "this is the fleet cell, which knows nobody. Ask a gateway, or a cell by --server\(named)"
    }

    /// Returns true if the answer about the cells, which is the fleet cell's, came through a gateway: there
    /// a cell that is named answers itself, or does not.
    func isGateway(_ cells: JSONTree) -> Bool {
        let standing = cells["standing"]?.elements ?? []
        let reached = standing.first { $0["unreached_since"]?.instant == nil } ?? standing.first
        guard let name = reached?["cell"]?.text else { return false }
        do throws(QuestionError) {
            return try ask(Resource.cells.path, [("cell", name)])["role"]?.text != "fleet"
        } catch {
            if case .refused(_, 503, _, _) = error { return true }
            return false
        }
    }
}
