import RollcallBasis
import RollcallCore
import RollcallSupport

/// One answer made of those of several cells. Source: K5.
extension Gateway {
    /// Returns the answer to a question for a list. `places` are those of the cells that were asked.
    static func merged(
        _ asked: ListCall, _ answers: CellAnswers, _ places: [Int]
    ) -> HTTPResponse {
        let tree: JSONTree
        if asked.call.request.query.contains(where: { $0.name == "by" }) {
            tree = TableMerge.gaps(answers.found.map(\.tree))
        } else {
            switch asked.list {
            case .responders: tree = responders(asked, answers)
            case .alerts: tree = joined(answers, "alerts")
            // What the fleet cell has given the cells is told as its own, if it says so itself.
            case .silences:
                let isThere = answers.found.contains { $0.cell.name == GatewayStats.fleetCell }
                tree = joined(answers, "silences") { row in
                    let name = row["request_id"]?.text ?? ""
                    return !isThere || !name.hasPrefix(FleetSilences.prefix)
                }
            case .inputs: tree = TableMerge.inputs(answers.found.map(\.tree))
            case .gaps, .nudges, .events, .incidents: tree = byTime(asked, answers, places)
            }
        }
        var answers = answers
        for (place, cell) in asked.cells.enumerated()
        where asked.vector?.places[place] == .leftOut { answers.leaveOut(cell) }
        return .json(AlertJSON.bytes(tree.with(answers.missing)))
    }

    // MARK: - People

    private static func responders(_ asked: ListCall, _ answers: CellAnswers) -> JSONTree {
        let trees = answers.found.map(\.tree)
        let cursors = trees.map { tree in
            (tree["cursors"]?.elements ?? []).map { ResponderCursor(Array(($0.text ?? "").utf8)) }
        }
        let sources = trees.map {
            ListMerge.Source(rows: $0["responders"]?.elements ?? [], isEnd: $0["next"] == nil)
        }
        func cursor(_ row: ListMerge.Row) -> ResponderCursor? {
            let own = cursors[row.source]
            return own.indices.contains(row.place) ? own[row.place] : nil
        }
        func precedes(_ a: ResponderCursor?, _ b: ResponderCursor?) -> Bool {
            guard let a, let b else { return false }
            return a.order.precedes(a.key, a.id, b.key, b.id)
        }
        let ends = trees.map { $0["next"]?.text.flatMap { ResponderCursor(Array($0.utf8)) } }
        let merge = ListMerge(
            sources, limit: asked.limit, precedes: { precedes(cursor($0), cursor($1)) },
            isBefore: { precedes(cursor($0), ends[$1]) })
        let isMore = zip(sources, merge.counts).contains { !$0.isEnd || $1 < $0.rows.count }
        let last = merge.rows.last.flatMap(cursor).map { String(decoding: $0.text, as: UTF8.self) }
        // A page of which all moved on meanwhile goes on where the first of them does.
        let first = ends.compactMap(\.self).min { precedes($0, $1) }
        let next = last ?? first.map { String(decoding: $0.text, as: UTF8.self) }
        return [
            "responders": .list(merge.rows.map { sources[$0.source].rows[$0.place] }),
            "next": isMore ? next.map { .text($0) } ?? nil : nil,
            "total": .integer(sum(trees.map { $0["total"]?.whole })),
            "as_of": earliest(trees),
        ]
    }

    /// The instant that all of some answers know of.
    private static func earliest(_ trees: [JSONTree]) -> JSONTree {
        trees.compactMap { $0["as_of"]?.instant }.min().map { AlertJSON.time($0) } ?? nil
    }

    // MARK: - What happened

    private static func byTime(
        _ asked: ListCall, _ answers: CellAnswers, _ places: [Int]
    ) -> JSONTree {
        let member = asked.list.member
        let isForward = asked.list == .events
        let sources = answers.found.map { found in
            let isEnd = isForward || asked.isOfEach || found.tree["next"] == nil
            return ListMerge.Source(rows: found.tree[member]?.elements ?? [], isEnd: isEnd)
        }
        let times = sources.map { $0.rows.map { asked.list.instant(of: $0) } }
        let limit = asked.isOfEach ? asked.limit * sources.count : asked.limit
        let merge = ListMerge(sources, limit: limit) { a, b in
            let (one, other) = (times[a.source][a.place], times[b.source][b.place])
            return isForward ? one < other : one > other
        }
        var vector = asked.vector ?? VectorCursor(count: asked.cells.count)
        // Of who did not answer nothing more is asked, but for events, which are followed for ever.
        for (place, old) in vector.places.enumerated()
        where !isForward && old != .end && old != .leftOut
            && !answers.found.contains(where: { places[$0.place] == place })
        {
            vector.places[place] = .leftOut
        }
        // Who has no row goes on behind what was looked at there, also for whoever goes on from a row.
        for (number, found) in answers.found.enumerated() where sources[number].rows.isEmpty {
            let next = found.tree["next"]?.text
            vector.places[places[found.place]] = next.map { .behind($0) } ?? .end
        }
        var rows: [JSONTree] = []
        for row in merge.rows {
            let found = answers.found[row.source]
            let tree = sources[row.source].rows[row.place]
            vector.places[places[found.place]] = .behind(asked.list.cursor(of: tree))
            rows.append(asked.list.named(tree, found.cell, vector))
        }
        for (number, found) in answers.found.enumerated()
        where merge.counts[number] == sources[number].rows.count {
            let next = found.tree["next"]?.text
            vector.places[places[found.place]] = next.map { .behind($0) } ?? .end
        }
        let own = [member, "next", "as_of"]
        let trees = answers.found.map(\.tree)
        let rest = trees.first?.members.filter { !own.contains($0.name) } ?? []
        let head: JSONTree = [
            "next": vector.isEnd ? nil : .text(vector.text),
            "as_of": earliest(answers.found.map(\.tree)),
        ]
        return JSONTree.object([.init(name: member, value: .list(rows))]).with(head)
            .with(.object(rest.map { .init(name: $0.name, value: flag($0.name, trees)) }))
    }

    /// The value of a member beside a list, of all: they watch if all do, something is cut if it is
    /// anywhere, and what differs is null.
    private static func flag(_ name: String, _ trees: [JSONTree]) -> JSONTree {
        let values = trees.map { $0[name] ?? .null }
        switch name {
        case "watching": return .boolean(values.allSatisfy(\.isTrue))
        case "truncated": return .boolean(values.contains(where: \.isTrue))
        default:
            return values.first.map { first in values.allSatisfy { $0 == first } ? first : nil }
                ?? nil
        }
    }

    // MARK: - What each has of its own

    /// Rows of all, each with its cell, in the order of these.
    private static func joined(
        _ answers: CellAnswers, _ member: String, _ isShown: (JSONTree) -> Bool = { _ in true }
    ) -> JSONTree {
        let trees = answers.found.map(\.tree)
        let all = answers.found.flatMap { found in
            (found.tree[member]?.elements ?? []).filter(isShown).map { $0.with(cell(found.cell)) }
        }
        let rest = (trees.first?.members ?? []).map { one -> JSONTree.Member in
            switch one.name {
            case member: .init(name: member, value: .list(all))
            case "as_of": .init(name: one.name, value: earliest(trees))
            default: .init(name: one.name, value: flag(one.name, trees))
            }
        }
        return .object(rest)
    }

    /// The member that says whose an alert is; null of the fleet cell's.
    fileprivate static func cell(_ cell: CellMap.Cell) -> JSONTree {
        let isFleet = cell.name == GatewayStats.fleetCell
        return ["cell": isFleet ? nil : .text(name(of: cell))]
    }
}

extension MergedList {
    /// The instant by which a row stands among others.
    fileprivate func instant(of row: JSONTree) -> Timestamp {
        let name =
            switch self {
            case .gaps: "opened_at"
            case .incidents: "starts_at"
            default: "at"
            }
        return row[name]?.instant ?? .distantPast
    }

    /// The cursor behind a row, in its own cell.
    fileprivate func cursor(of row: JSONTree) -> String {
        switch self {
        case .gaps: "\(instant(of: row).milliseconds).\(row["gap"]?.whole ?? 0)"
        case .nudges: "\(row["id"]?.whole ?? 0)"
        case .incidents: "\(row["incident"]?.whole ?? 0)"
        default: row["cursor"]?.text ?? ""
        }
    }

    /// A row as it stands in the list of all: an event is the place behind it in all cells, and what has a
    /// number says whose it is.
    fileprivate func named(
        _ row: JSONTree, _ cell: CellMap.Cell, _ vector: VectorCursor
    ) -> JSONTree {
        if self == .incidents { return row.with(Gateway.cell(cell)) }
        guard self == .events else { return row }
        return .object(
            row.members.map { member in
                member.name == "cursor" ? .init(name: "cursor", value: .text(vector.text)) : member
            })
    }
}
