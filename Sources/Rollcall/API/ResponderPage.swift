import RollcallCore
import RollcallSupport

/// A page of people as they were enrolled, of those who fit. Source: V12.
///
/// Those who fit were found in one or several turns, and are looked at once more for the answer, which so
/// tells of one instant.
struct ResponderPage: PeopleScan {
    private let after: [UInt8]?
    private let limit: Int
    private var filter: ResponderFilter
    private var found: [Int] = []
    private var looked = 0
    /// The number of the next one to look at.
    private var next = 0
    /// True if nobody has the id behind which it is to begin.
    private var isLost = false

    /// The page that `query` asks for.
    init(_ query: ResponderQuery) {
        after = query.after
        limit = query.limit
        filter = ResponderFilter(query)
    }

    var isFull: Bool { false }

    var isDone: Bool { isLost || found.count >= limit || looked >= Router.lookedAtMax }

    mutating func start(_ engine: Engine) -> Int {
        if let after {
            let number = engine.roster.number(of: after)
            isLost = number == nil
            next = number.map { $0 + 1 } ?? 0
        }
        return next
    }

    mutating func begin(_ engine: Engine) { filter.begin(engine) }

    mutating func end(_: Engine) {}

    mutating func look(at number: Int, _ engine: Engine) {
        next = number + 1
        looked += 1
        if filter.match(number, engine) != nil { found.append(number) }
    }

    mutating func answer(_ engine: Engine) -> HTTPResponse {
        if isLost { return .problem(400, "Bad Request", detail: "after: nobody has this id") }
        filter.begin(engine)
        var body: [UInt8] = []
        JSONWriter.raw("{\"responders\":[", to: &body)
        var isFirst = true
        // Who does not fit any more is left out.
        for number in found where filter.match(number, engine) != nil {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            ResponderJSON.append(number, engine, to: &body)
        }
        JSONWriter.raw("],\"next\":", to: &body)
        if let last = last(engine.roster) {
            JSONWriter.string(engine.roster.id(last), to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw("}\n", to: &body)
        return .json(body)
    }

    /// Returns the number of the one behind whom the next page begins; nil if this is the last one. Somebody
    /// erased has no id: then it is who was enrolled before them, or if all are erased, after.
    private func last(_ roster: Roster) -> Int? {
        guard next < roster.count else { return nil }
        return (0..<next).last { roster[$0].idCount > 0 }
            ?? (next..<roster.count).first { roster[$0].idCount > 0 }
    }
}
