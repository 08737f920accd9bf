import RollcallCore
import RollcallSupport

/// `GET /v1/differences`: what is different about some people.
extension Router {
    func listDifferences(_ query: ResponderQuery, _ call: Route.Call) {
        look(DifferenceTable(query), call)
    }
}

/// The table of what is different about some people: those who are chosen against all others who are
/// expected. Source: V13.
struct DifferenceTable: PeopleScan {
    /// Differences without a `limit`.
    static let limitStandard = 10
    /// Values of one fact in an answer at most.
    private static let valuesShown = 3
    /// Names counted of one fact at most; further ones are not looked at.
    private static let namesMax = 10_000
    /// Names that are met in one slice at most: to count them by their bytes at its end takes time too.
    private static let namesOfSlice = 2000

    private struct Pair: Sendable {
        var chosen = 0
        var rest = 0

        mutating func add(_ isChosen: Bool) {
            if isChosen { chosen += 1 } else { rest += 1 }
        }
    }

    private struct Row {
        let fact: DifferenceFact
        let value: [UInt8]
        let share: ShareDifference
        let least: Double
    }

    /// The counts of one fact.
    private struct FactCounts: Sendable {
        let fact: DifferenceFact
        /// Of those of whom it is known.
        var all = Pair()
        /// By value, where these are few.
        var words: [Pair] = []
        /// Names by their bytes, as their numbers may be given again between two slices.
        var names: [[UInt8]: Pair] = [:]
        /// Those that were met in this slice, by number.
        var numbered: [UInt32: Pair] = [:]

        init(_ fact: DifferenceFact) {
            self.fact = fact
            words = fact.words.map { $0.map { _ in Pair() } } ?? []
        }
    }

    private var filter: ResponderFilter
    private let limit: Int
    private var counts: [FactCounts]
    private var all = Pair()
    private var namesMet = 0
    private var isTruncated = false

    /// The table of those whom `query` chooses; a fact that it asks for is left out.
    init(_ query: ResponderQuery) {
        filter = ResponderFilter(query)
        limit = query.limit
        counts = DifferenceFact.allCases.filter { !query.asksFor($0) }.map { FactCounts($0) }
    }

    // MARK: - Counting

    var isFull: Bool { namesMet >= Self.namesOfSlice }

    mutating func begin(_ engine: Engine) {
        filter.begin(engine)
        namesMet = 0
    }

    mutating func look(at number: Int, _ engine: Engine) {
        let person = engine.roster[number]
        guard person.idCount > 0, person.isActive else { return }
        let isChosen = filter.match(number, engine) != nil
        all.add(isChosen)
        for place in counts.indices {
            let value = counts[place].fact.value(of: person)
            guard value > 0 else { continue }
            counts[place].all.add(isChosen)
            if !counts[place].words.isEmpty {
                counts[place].words[value].add(isChosen)
            } else {
                let known = counts[place].numbered.count
                counts[place].numbered[UInt32(value), default: Pair()].add(isChosen)
                namesMet += counts[place].numbered.count - known
            }
        }
    }

    mutating func end(_ engine: Engine) {
        for place in counts.indices where counts[place].words.isEmpty {
            let names = counts[place].fact == .region ? engine.regions : engine.versions
            for (number, pair) in counts[place].numbered {
                let name = names[number]
                let isKnown = counts[place].names[name] != nil
                guard isKnown || counts[place].names.count < Self.namesMax else {
                    isTruncated = true
                    continue
                }
                counts[place].names[name, default: Pair()].chosen += pair.chosen
                counts[place].names[name, default: Pair()].rest += pair.rest
            }
            counts[place].numbered.removeAll(keepingCapacity: true)
        }
    }

    // MARK: - The answer

    mutating func answer(_ engine: Engine) -> HTTPResponse {
        let found = Self.inOrder(counts.flatMap { Self.rows($0) }).prefix(limit)
        var body: [UInt8] = []
        JSONWriter.raw("{\"chosen\":", to: &body)
        JSONWriter.integer(Int64(all.chosen), to: &body)
        JSONWriter.raw(",\"rest\":", to: &body)
        JSONWriter.integer(Int64(all.rest), to: &body)
        JSONWriter.raw(",\"differences\":", to: &body)
        JSONWriter.list(found, to: &body) { Self.append($0, to: &$1) }
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        ResponderJSON.time("as_of", engine.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return .json(body)
    }

    /// Returns what is different by one fact, the most telling first.
    private static func rows(_ counted: FactCounts) -> ArraySlice<Row> {
        var rows: [Row] = []
        func take(_ value: [UInt8], _ pair: Pair) {
            let share = ShareDifference(
                count: pair.chosen, of: counted.all.chosen, rest: pair.rest,
                restOf: counted.all.rest)
            guard let least = share.least() else { return }
            rows.append(Row(fact: counted.fact, value: value, share: share, least: least))
        }
        for (word, pair) in zip(counted.fact.words ?? [], counted.words) {
            take(Array("\(word)".utf8), pair)
        }
        for (name, pair) in counted.names { take(name, pair) }
        return inOrder(rows).prefix(valuesShown)
    }

    private static func inOrder(_ rows: [Row]) -> [Row] {
        rows.sorted { a, b in
            if a.least != b.least { return a.least > b.least }
            if a.fact != b.fact { return a.fact.rawValue < b.fact.rawValue }
            return a.value.lexicographicallyPrecedes(b.value)
        }
    }

    private static func append(_ row: Row, to body: inout [UInt8]) {
        JSONWriter.raw("{\"fact\":", to: &body)
        JSONWriter.word(row.fact.word, to: &body)
        JSONWriter.raw(",\"value\":", to: &body)
        JSONWriter.string(row.value, to: &body)
        for (key, number) in [
            (",\"in\":" as StaticString, row.share.count), (",\"of\":", row.share.of),
            (",\"rest\":", row.share.rest), (",\"rest_of\":", row.share.restOf),
        ] {
            JSONWriter.raw(key, to: &body)
            JSONWriter.integer(Int64(number), to: &body)
        }
        JSONWriter.raw(",\"at_least\":", to: &body)
        body.append(contentsOf: "\((row.least * 10_000).rounded() / 10_000)".utf8)
        body.append(UInt8(ascii: "}"))
    }
}

extension ResponderQuery {
    /// True if a fact is among the filters, or follows from one: then all who are chosen have it.
    fileprivate func asksFor(_ fact: DifferenceFact) -> Bool {
        switch fact {
        case .platform:
            !platforms.isEmpty || manufacturer != nil || model != nil || osVersion != nil
        case .manufacturer: manufacturer != nil || model != nil
        case .model: model != nil
        case .osVersion: osVersion != nil
        case .appVersion: appVersion != nil
        case .battery: !batteries.isEmpty
        case .duty: !duties.isEmpty
        case .region: region != nil
        case .permission, .services, .power, .appState, .network:
            fact.field.map { !telemetry[$0].isEmpty } ?? false
        }
    }
}
