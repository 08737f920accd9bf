import RollcallCore
import RollcallSupport

/// One list made of several that each have an order, and how far it came in each. Source: K5.
struct ListMerge {
    /// A list of one cell.
    struct Source {
        let rows: [JSONTree]
        /// True if nothing comes behind its rows: others need not wait for it.
        let isEnd: Bool
    }

    /// A row of the whole: whose it is, and its place there.
    struct Row: Equatable {
        let source: Int
        let place: Int
    }

    private(set) var rows: [Row] = []
    /// Rows that were taken of each source, from its first on.
    private(set) var counts: [Int]

    /// The first `limit` rows of all, in the order that `precedes` says; of equals the first source's come
    /// first. It ends where a source that has more behind its rows is used up, but for rows that stand
    /// before what comes there, as `isBefore` says of a row and the source.
    init(
        _ sources: [Source], limit: Int, precedes: (Row, Row) -> Bool,
        isBefore: (Row, Int) -> Bool = { _, _ in false }
    ) {
        counts = [Int](repeating: 0, count: sources.count)
        while rows.count < limit {
            var best: Row?
            var usedUp: [Int] = []
            for (number, source) in sources.enumerated() {
                guard counts[number] < source.rows.count else {
                    if !source.isEnd { usedUp.append(number) }
                    continue
                }
                let row = Row(source: number, place: counts[number])
                if best.map({ precedes(row, $0) }) ?? true { best = row }
            }
            guard let best, usedUp.allSatisfy({ isBefore(best, $0) }) else { return }
            rows.append(best)
            counts[best.source] += 1
        }
    }
}

/// A place in the lists of several cells: behind what was told of each. Nobody reads it but gateways.
/// Source: K5.
struct VectorCursor: Equatable {
    /// A place in one list.
    enum Place: Equatable {
        case start, end
        /// A cell that did not answer on an earlier page, and is named on each that follows.
        case leftOut
        case behind(String)
    }

    /// In the order of those who are asked.
    var places: [Place]

    private static let separator: Character = "~"
    private static let start = "-"
    private static let end = "."
    private static let leftOut = "!"

    /// The beginning of `count` lists.
    init(count: Int) { places = [Place](repeating: .start, count: count) }

    /// Reads what `text` says of `count` lists; nil if it is no such place.
    init?(_ text: String, count: Int) {
        let parts = text.split(separator: Self.separator, omittingEmptySubsequences: false)
        guard parts.count == count, !parts.contains("") else { return nil }
        places = parts.map { part in
            switch part {
            case Self.start[...]: .start
            case Self.end[...]: .end
            case Self.leftOut[...]: .leftOut
            default: .behind(String(part))
            }
        }
    }

    /// True of a text that is a place in some other number of lists.
    static func isOfOthers(_ text: String, than count: Int) -> Bool {
        let parts = text.split(separator: separator, omittingEmptySubsequences: false).count
        return parts != count && Self(text, count: parts) != nil && parts > 1
    }

    /// True if nothing comes behind it.
    var isEnd: Bool { places.allSatisfy { $0 == .end || $0 == .leftOut } }

    /// It as the text of `next`.
    var text: String {
        places.map { place in
            switch place {
            case .start: Self.start
            case .end: Self.end
            case .leftOut: Self.leftOut
            case .behind(let text): text
            }
        }.joined(separator: String(Self.separator))
    }
}
