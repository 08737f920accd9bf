import RollcallCore
import RollcallSupport

/// Tables of several cells as one: what counts is added up, and what no sum says is null. Source: K5.
enum TableMerge {
    /// Members that cannot be said of several from what each says.
    private static let unknown: Set<String> = ["median", "share"]
    /// Members of which the greatest counts.
    private static let greatest: Set<String> = ["longest"]

    /// Tables of gaps, or of nudges, by what they are counted by.
    static func gaps(_ trees: [JSONTree]) -> JSONTree {
        guard let first = trees.first else { return [:] }
        let keys = (first["by"]?.elements ?? []).compactMap(\.text)
        var rows: [JSONTree] = []
        var places: [[String]: Int] = [:]
        for row in trees.flatMap({ $0["rows"]?.elements ?? [] }) {
            let key = keys.map { row[$0]?.printed ?? "" }
            if let place = places[key] {
                rows[place] = sum(rows[place], row, except: Set(keys))
            } else {
                places[key] = rows.count
                // Of one among several only a part of the whole is known.
                rows.append(trees.count > 1 ? withoutShares(row) : row)
            }
        }
        let count = rows.first?.names.first { !keys.contains($0) } ?? ""
        rows.sort { ($0[count]?.whole ?? 0) > ($1[count]?.whole ?? 0) }
        let whole = trees.dropFirst().reduce(first) { sum($0, $1, except: ["by", "rows"]) }
        return .object(
            whole.members.map { $0.name == "rows" ? .init(name: "rows", value: .list(rows)) : $0 })
    }

    private static func withoutShares(_ row: JSONTree) -> JSONTree {
        .object(row.members.map { $0.name == "share" ? .init(name: "share", value: .null) : $0 })
    }

    /// The counts of what came by each input, by its name.
    static func inputs(_ trees: [JSONTree]) -> JSONTree {
        var list: [JSONTree] = []
        for input in trees.flatMap({ $0["inputs"]?.elements ?? [] }) {
            if let place = list.firstIndex(where: { $0["name"] == input["name"] }) {
                list[place] = sum(list[place], input, except: ["name", "last_problem"])
            } else {
                list.append(input)
            }
        }
        return ["inputs": .list(list)]
    }

    /// Two values as one: numbers are added, objects by their members, of instants the later counts, and of
    /// anything else the first.
    private static func sum(_ a: JSONTree, _ b: JSONTree, except: Set<String>) -> JSONTree {
        switch (a, b) {
        case (.null, _): return b
        case (_, .null): return a
        case (.integer(let one), .integer(let other)):
            return .integer(Gateway.sum([one, other]))
        case (.number, _), (_, .number):
            guard let one = a.number, let other = b.number else { return a }
            return .number(one + other)
        case (.boolean(let one), .boolean(let other)): return .boolean(one || other)
        case (.text, .text):
            guard let one = a.instant, let other = b.instant else { return a }
            return one < other ? b : a
        case (.object(let members), .object(let others)):
            let names = members.map(\.name)
            let common = members.map { member -> JSONTree.Member in
                let other = b.value(of: member.name)
                return .init(
                    name: member.name, value: value(member.name, member.value, other, except))
            }
            return .object(common + others.filter { !names.contains($0.name) })
        default: return a
        }
    }

    private static func value(
        _ name: String, _ a: JSONTree, _ b: JSONTree, _ except: Set<String>
    ) -> JSONTree {
        if except.contains(name) { return a }
        if unknown.contains(name) { return .null }
        if name == "as_of", let one = a.instant, let other = b.instant {
            return one < other ? a : b
        }
        if greatest.contains(name) {
            return a.number ?? 0 < b.number ?? 0 ? b : a
        }
        return sum(a, b, except: except)
    }
}

extension JSONTree {
    /// A member of an object, null without one.
    fileprivate func value(of name: String) -> JSONTree { self[name] ?? .null }
}
