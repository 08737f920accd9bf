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
        fileprivate(set) var tree: JSONTree
    }

    /// In the order in which they were asked.
    fileprivate(set) var found: [Found] = []
    /// Those who did not answer, or failed.
    fileprivate(set) var unavailable: [CellMap.Cell] = []
    /// The answers of these that are no documents of the kind asked for.
    fileprivate var refusals: [HTTPCallAnswer] = []

    /// A refusal that is one of the question: what is wrong with it is wrong everywhere. Who is not let in at
    /// some, or asks too often, is answered by the others, if there are any.
    var refusal: HTTPCallAnswer? {
        refusals.first { found.isEmpty || ![401, 403, 429].contains($0.status) }
    }

    /// The member of an answer that says whose people it leaves out.
    var missing: JSONTree {
        [
            "unavailable": .list(unavailable.map { .text(Gateway.name(of: $0)) })
        ]
    }

    /// Names a cell that was not asked as one that is left out.
    mutating func leaveOut(_ cell: CellMap.Cell) {
        if !unavailable.contains(cell) { unavailable.append(cell) }
    }

    /// Leaves out rows about people who are another cell's by the map, if that one has answered: of a cell that was
    /// split, a member that is behind tells of whoever has left.
    mutating func keepOwn(_ asked: Gateway.ListCall) {
        let (list, map) = (asked.list, asked.map)
        guard list.isOfPeople else { return }
        // One whose rows stood on earlier pages, all of them, has answered there.
        let ended = asked.cells.indices.filter { asked.vector?.places[$0] == .end }
        let names = Set(found.map(\.cell.name) + ended.map { asked.cells[$0].name })
        guard names.count > 1 else { return }
        for place in found.indices {
            let (cell, tree) = (found[place].cell.name, found[place].tree)
            let rows = tree[list.member]?.elements ?? []
            let own = rows.indices.filter { row in
                guard let id = rows[row]["responder_id"]?.text else { return true }
                let owner = map.cell(ofPerson: Array(id.utf8)).name
                return owner == cell || !names.contains(owner)
            }
            if own.count == rows.count { continue }
            let members = tree.members.map { member -> JSONTree.Member in
                switch member.name {
                case list.member, "cursors":
                    let all = member.value.elements
                    let kept = own.filter(all.indices.contains).map { all[$0] }
                    return .init(name: member.name, value: .list(kept))
                case "total":
                    let left = (member.value.whole ?? 0) - Int64(rows.count - own.count)
                    return .init(name: member.name, value: .integer(max(0, left)))
                default: return member
                }
            }
            found[place].tree = .object(members)
        }
    }

    /// The answer if nobody gave one.
    func failure(of cells: [CellMap.Cell]) -> HTTPResponse {
        if let refusal { return Gateway.response(refusal) }
        return Router.unavailable("none of \(cells.count) cells answers")
    }
}

extension Gateway {
    /// True of an answer that one of ours can have given: JSON, and no failure.
    static func isDocument(_ answer: HTTPCallAnswer) -> Bool {
        let isKnown = (200...202).contains(answer.status) || (400...499).contains(answer.status)
        return isKnown && answer.contentType?.contains("json") == true
    }

    /// The sum of numbers that others said, which may be any.
    static func sum(_ numbers: [Int64?]) -> Int64 {
        numbers.reduce(0) { sum, number in
            let (next, isBeyond) = sum.addingReportingOverflow(max(0, number ?? 0))
            return isBeyond ? sum : next
        }
    }

    /// Returns what came of a question to some cells.
    static func answers(_ outcomes: [CellOutcome], _ cells: [CellMap.Cell]) -> CellAnswers {
        var answers = CellAnswers()
        for (place, (cell, outcome)) in zip(cells, outcomes).enumerated() {
            guard case .answered(let answer) = outcome, isDocument(answer) else {
                answers.unavailable.append(cell)
                continue
            }
            if answer.status == 200, let tree = try? JSONTree(reading: answer.body),
                case .object = tree
            {
                answers.found.append(.init(place: place, cell: cell, tree: tree))
                continue
            }
            answers.unavailable.append(cell)
            if answer.status != 200 { answers.refusals.append(answer) }
        }
        return answers
    }
}
