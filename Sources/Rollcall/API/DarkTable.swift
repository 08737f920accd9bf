import RollcallCore
import RollcallStore
import RollcallSupport

/// The dark time that is asked for.
struct DarkQuery: Sendable {
    /// The keys by which dark time may be summed up.
    enum Key: CaseIterable, Sendable {
        case region, platform, responder, day

        /// The word of a query, and of a member.
        var word: StaticString {
            switch self {
            case .region: "region"
            case .platform: "platform"
            case .responder: "responder"
            case .day: "day"
            }
        }
    }

    /// Days of one answer at most.
    static let daysMax: Int64 = 366
    /// Days without `since`.
    static let daysStandard: Int64 = 30
    /// Words in `by` at most.
    static let keysMax = 2

    var by: [Key] = [.region]
    /// Days since 1970, both included; nil is chosen by the present.
    var since: Int64?
    var until: Int64?
    var region: [UInt8]?
    var platform: Platform?
    var responder: [UInt8]?
    /// The last person of the page before, as their number + 1.
    var after: Int64 = 0
    var limit = Router.limitStandard

    static let parameters = Parameters(
        DarkQuery(),
        [
            .words(
                "by", "What to sum up by, two at most", Key.allCases, \.word, max: keysMax,
                standard: .region, into: \.by),
            .day("since", "The first day, UTC.", into: \.since),
            .day("until", "The last day, else today; at most \(daysMax) days.", into: \.until),
            .text("region", "Of this region.", into: \.region),
            .word(
                "platform", "Of this platform.", Platform.allCases, \.word, schema: "Platform",
                into: \.platform),
            .text("responder", "Of this person.", OpenAPI.schema("Name"), into: \.responder),
            .cursor { $0.after = $1[0] },
            .limit(
                "People in the answer at most; \(Router.limitStandard) without it.",
                into: \.limit),
        ]
    ) { (query, names) throws(ParameterError) in
        if names.contains("after") || names.contains("limit"),
            !query.by.contains(.responder) || query.responder != nil
        {
            throw ParameterError(detail: "after, limit: only with by=responder, without responder")
        }
        if let since = query.since, let until = query.until, !holds(since, until) {
            throw tooManyDays
        }
    }
    /// The fault of a question about more days than one answer has, or none.
    static let tooManyDays = ParameterError(detail: "since, until: 1 to \(daysMax) days expected")

    /// The days asked for, of which `today` is the last unless said otherwise; nil if there are too
    /// many.
    func days(today: Int64) -> ClosedRange<Int64>? {
        let last = until ?? max(today, since ?? today)
        let first = since ?? last - Self.daysStandard + 1
        return Self.holds(first, last) ? first...last : nil
    }

    private static func holds(_ first: Int64, _ last: Int64) -> Bool {
        first <= last && last - first < daysMax
    }
}

/// `GET /v1/dark`: daily rows summed up (C4).
struct DarkTable {
    /// The key of a row; what it is not summed up by stays as it is here.
    private struct Key: Hashable {
        var day: Int64 = -1
        var responder: Int64 = 0
        var platform: UInt8 = 255
        var region: [UInt8] = []
    }

    private struct Row {
        var contact = Milliseconds(0)
        var location = Milliseconds(0)
        /// The people who had any, each once.
        var people: Set<Int64> = []

        mutating func add(_ row: DarkRow) {
            contact.count += row.contact.count
            location.count += row.location.count
            people.insert(row.responder)
        }
    }

    private let query: DarkQuery
    private let days: ClosedRange<Int64>
    private let present: HistoryPresent
    private let work: HistoryWork
    private var rows: [Key: Row] = [:]
    private var looked = 0
    private var isTruncated = false
    /// The last person of a page that is not the last one.
    private var next: Int64?

    /// Answers a query from the store; `person` is the one that it names.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: DarkQuery, _ person: HistoryPerson?, _ present: HistoryPresent,
        _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        let today = max(0, present.clock.wallNow.milliseconds) / 86_400_000
        guard let days = query.days(today: today) else {
            return .refusal(DarkQuery.tooManyDays)
        }
        var table = DarkTable(query: query, days: days, present: present, work: work)
        if let person {
            try table.sum(of: person.responder)
        } else if query.by.contains(.responder) {
            try table.sumPage()
        } else {
            try table.sumAll()
        }
        let asked = Array(Set(table.rows.keys.map(\.responder).filter { $0 > 0 }))
        guard let ids = work.ids(of: asked) else {
            return Router.unavailable("the keeper does not answer")
        }
        return .json(table.body(Dictionary(uniqueKeysWithValues: zip(asked, ids))))
    }

    private init(
        query: DarkQuery, days: ClosedRange<Int64>, present: HistoryPresent, work: HistoryWork
    ) {
        self.query = query
        self.days = days
        self.present = present
        self.work = work
    }

    // MARK: - Reading

    private mutating func sumAll() throws(StoreError) {
        var isFull = false
        for day in days {
            var person: Int64 = 0
            var isEnd = false
            while !isEnd {
                isEnd = try work.reader.dark(day: day, after: &person) { row in
                    guard looked < work.limits.darkSummed else {
                        isFull = true
                        return false
                    }
                    take(row)
                    return true
                }
                if isFull || !isEnd && work.isOver { return isTruncated = true }
            }
        }
    }

    private mutating func sum(of responder: Int64) throws(StoreError) {
        for day in days {
            if let row = try work.reader.dark(day: day, of: responder) { take(row) }
        }
    }

    /// Sums up the next people behind a number: of each day so many that the first ones are
    /// complete.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func sumPage() throws(StoreError) {
        let first = query.after
        var found: [DarkRow] = []
        var people: Set<Int64> = []
        // Up to here every day was read.
        var end = Int64.max
        for day in days {
            var person = first
            var count = 0
            var isEnd = false
            while !isEnd, count < query.limit {
                guard !work.isOver else { return isTruncated = true }
                isEnd = try work.reader.dark(day: day, after: &person) { row in
                    guard row.responder <= end else { return false }
                    found.append(row)
                    people.insert(row.responder)
                    count += 1
                    return count < query.limit
                }
                if person > end { isEnd = true }
            }
            if !isEnd { end = min(end, person) }
        }
        let page = people.sorted().filter { $0 <= end }.prefix(query.limit)
        let last = page.last ?? first
        for row in found where row.responder <= last { take(row) }
        if end < .max || page.count < people.count { next = last }
    }

    private mutating func take(_ row: DarkRow) {
        looked += 1
        if let platform = query.platform, row.platform != platform { return }
        if let region = query.region, row.region != region { return }
        guard present.isShown(row.responder) else { return }
        var key = Key()
        for word in query.by {
            switch word {
            case .region: key.region = row.region
            case .platform: key.platform = row.platform.rawValue
            case .responder: key.responder = row.responder
            case .day: key.day = row.day
            }
        }
        guard rows[key] != nil || rows.count < work.limits.groups else {
            return isTruncated = true
        }
        rows[key, default: Row()].add(row)
    }

    // MARK: - The answer

    private func body(_ ids: [Int64: [UInt8]]) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"by\":", to: &body)
        JSONWriter.list(query.by, to: &body) { JSONWriter.word($0.word, to: &$1) }
        JSONWriter.raw(",\"since\":", to: &body)
        Self.append(day: days.lowerBound, to: &body)
        JSONWriter.raw(",\"until\":", to: &body)
        Self.append(day: days.upperBound, to: &body)
        JSONWriter.raw(",\"rows\":[", to: &body)
        var isFirst = true
        for (key, row) in rows.sorted(by: { Self.precedes($0.key, $1.key) }) {
            let id = ids[key.responder] ?? []
            if key.responder > 0, id.isEmpty { continue }
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            append(key, row, id, to: &body)
        }
        JSONWriter.raw("],\"next\":", to: &body)
        if let next {
            JSONWriter.string("\(next)".utf8, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        ResponderJSON.time("as_of", present.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }

    private static func precedes(_ a: Key, _ b: Key) -> Bool {
        if a.responder != b.responder { return a.responder < b.responder }
        if a.day != b.day { return a.day < b.day }
        if a.platform != b.platform { return a.platform < b.platform }
        return a.region.lexicographicallyPrecedes(b.region)
    }

    private func append(_ key: Key, _ row: Row, _ id: [UInt8], to body: inout [UInt8]) {
        body.append(UInt8(ascii: "{"))
        for word in query.by {
            JSONWriter.word(word == .responder ? "responder_id" : word.word, to: &body)
            body.append(UInt8(ascii: ":"))
            switch word {
            case .region: JSONWriter.string(key.region, to: &body)
            case .platform:
                JSONWriter.word(Platform(rawValue: key.platform)?.word ?? "unknown", to: &body)
            case .responder: JSONWriter.string(id, to: &body)
            case .day: Self.append(day: key.day, to: &body)
            }
            body.append(UInt8(ascii: ","))
        }
        JSONWriter.raw("\"contact_seconds\":", to: &body)
        GapJSON.seconds(row.contact, to: &body)
        GapJSON.seconds("location_seconds", row.location, to: &body)
        JSONWriter.raw(",\"responders\":", to: &body)
        JSONWriter.integer(Int64(row.people.count), to: &body)
        body.append(UInt8(ascii: "}"))
    }

    /// Appends a day as `"2026-11-21"`.
    private static func append(day: Int64, to body: inout [UInt8]) {
        let text = RFC3339.string(Timestamp(milliseconds: day * 86_400_000))
        JSONWriter.string(text.utf8.prefix(10), to: &body)
    }
}
