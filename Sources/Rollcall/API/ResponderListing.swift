import RollcallCore
import RollcallSupport

/// A page of people in an order, for which everybody is looked at. Source: V12.
///
/// Of those who fit only the best are held. What was looked at in earlier turns is looked at once more
/// for the answer, which so tells of one instant; `total` is counted on the way.
struct ResponderListing: PeopleScan {
    private struct Row: Sendable {
        let key: ResponderKey
        let id: [UInt8]
        let number: Int
    }

    private let order: ResponderOrder
    private let after: ResponderCursor?
    private let limit: Int
    private let hasCursors: Bool
    private var filter: ResponderFilter
    private var found: [Row] = []
    /// The last of those who are held; whoever comes behind it is passed by.
    private var end: Row?
    private var total = 0

    /// The page that `query` asks for in an order, of those behind `after`.
    init(_ query: ResponderQuery, _ order: ResponderOrder, after: ResponderCursor?) {
        self.order = order
        self.after = after
        limit = query.limit
        hasCursors = query.hasCursors
        filter = ResponderFilter(query)
    }

    /// One more than the page, which says whether there are more.
    private var most: Int { limit + 1 }

    var isFull: Bool { false }

    mutating func begin(_ engine: Engine) { filter.begin(engine) }

    mutating func end(_: Engine) {}

    mutating func look(at number: Int, _ engine: Engine) {
        guard let place = filter.match(number, engine) else { return }
        total += 1
        let key = order.key(number, foundAt: place, engine)
        let id = engine.roster.id(number)
        if let after, !order.precedes(after.key, after.id, key, id) { return }
        if let end, !order.precedes(key, id, end.key, end.id) { return }
        found.append(Row(key: key, id: Array(id), number: number))
        // Sorting all of them for each person would take longer than looking at them.
        if found.count >= 2 * most { cut() }
    }

    private mutating func cut() {
        found.sort { order.precedes($0.key, $0.id, $1.key, $1.id) }
        found.removeLast(max(0, found.count - most))
        if found.count == most { end = found.last }
    }

    mutating func answer(_ engine: Engine) -> HTTPResponse {
        cut()
        let last = found.count > limit ? found[limit - 1] : nil
        filter.begin(engine)
        var page: [Row] = []
        for row in found.prefix(limit) {
            // Who changed meanwhile stands where they are now, on the next page if that is behind this one.
            guard let place = filter.match(row.number, engine) else { continue }
            let key = order.key(row.number, foundAt: place, engine)
            if let last, order.precedes(last.key, last.id, key, row.id) { continue }
            page.append(Row(key: key, id: row.id, number: row.number))
        }
        page.sort { order.precedes($0.key, $0.id, $1.key, $1.id) }
        var body: [UInt8] = []
        JSONWriter.raw("{\"responders\":", to: &body)
        JSONWriter.list(page, to: &body) { ResponderJSON.append($0.number, engine, to: &$1) }
        JSONWriter.raw(",\"next\":", to: &body)
        if let last {
            JSONWriter.string(cursor(behind: last), to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        if hasCursors {
            JSONWriter.raw(",\"cursors\":", to: &body)
            JSONWriter.list(page, to: &body) { JSONWriter.string(cursor(behind: $0), to: &$1) }
        }
        JSONWriter.raw(",\"total\":", to: &body)
        JSONWriter.integer(Int64(total), to: &body)
        ResponderJSON.time("as_of", engine.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return .json(body)
    }

    private func cursor(behind row: Row) -> [UInt8] {
        ResponderCursor(order: order, key: row.key, id: row.id).text
    }
}
