/// A place among events as a server's cursor says it, for whoever looks back from there: of one watch
/// `STORE-NUMBER`, and of a gateway's one of those for each cell. Numbers grow by one with each event. What is
/// no such place is left as it is: a cursor is the server's own text. Source: E1, K5.
struct EventPlace: Equatable {
    private enum Part: Equatable {
        case number(store: Substring, Int64)
        case other(Substring)
    }

    /// The sign between the places of a gateway's cells.
    private static let separator: Character = "~"

    private var parts: [Part]

    /// The place that a cursor says.
    init(_ cursor: String) {
        parts = cursor.split(separator: Self.separator, omittingEmptySubsequences: false).map {
            part in
            guard let dash = part.lastIndex(of: "-"), dash > part.startIndex,
                let number = Int64(part[part.index(after: dash)...]), number >= 0
            else { return .other(part) }
            return .number(store: part[..<dash], number)
        }
    }

    /// True of the place of one watch.
    var isOfOne: Bool { parts.count == 1 }

    /// True if nothing can be looked back upon.
    var isBeginning: Bool {
        parts.allSatisfy { part in
            if case .number(_, let number) = part { number == 0 } else { true }
        }
    }

    /// Returns the place that lies so many events before it, in each cell.
    func back(by span: Int64) -> EventPlace {
        var earlier = self
        earlier.parts = parts.map { part in
            guard case .number(let store, let number) = part else { return part }
            return .number(store: store, max(0, number - span))
        }
        return earlier
    }

    /// It as a cursor.
    var text: String {
        parts.map { part in
            switch part {
            case .number(let store, let number): "\(store)-\(number)"
            case .other(let text): String(text)
            }
        }.joined(separator: String(Self.separator))
    }
}
