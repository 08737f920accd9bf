import RollcallBasis
import RollcallCore
import RollcallSupport

/// The documents that some cells answered, and who did not.
struct CellAnswers {
    /// The answer of one of them.
    struct Found {
        /// Its place among those who were asked.
        let place: Int
        let cell: CellMap.Cell
        let tree: JSONTree
    }

    /// In the order in which they were asked.
    fileprivate(set) var found: [Found] = []
    /// Those who did not answer, or failed.
    fileprivate(set) var unavailable: [CellMap.Cell] = []
    /// The first refusal: what is wrong with a question is wrong everywhere.
    fileprivate(set) var refusal: HTTPCallAnswer?

    /// The member of an answer that says whose people it leaves out.
    var missing: JSONTree {
        [
            "unavailable": .list(unavailable.map { .text(Gateway.name(of: $0)) })
        ]
    }

    /// The answer if nobody gave one.
    func failure(of cells: [CellMap.Cell]) -> HTTPResponse {
        if let refusal { return Gateway.response(refusal) }
        return Router.unavailable("none of \(cells.count) cells answers")
    }
}

extension Gateway {
    /// Returns what came of a question to some cells.
    static func answers(_ outcomes: [CellOutcome], _ cells: [CellMap.Cell]) -> CellAnswers {
        var answers = CellAnswers()
        for (place, (cell, outcome)) in zip(cells, outcomes).enumerated() {
            guard case .answered(let answer) = outcome, answer.status < 500 else {
                answers.unavailable.append(cell)
                continue
            }
            guard answer.status == 200, let tree = try? JSONTree(reading: answer.body) else {
                answers.refusal = answers.refusal ?? answer
                answers.unavailable.append(cell)
                continue
            }
            answers.found.append(.init(place: place, cell: cell, tree: tree))
        }
        return answers
    }
}
