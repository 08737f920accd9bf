import RollcallCore
import RollcallStore
import RollcallSupport

/// `GET /v1/gaps?by=…`: gaps counted by some of their words.
///
/// One of which too much was blind is held against nobody: it is counted apart (Contract/Gaps, D5).
struct GapTable {
    /// One row being counted.
    private struct Row {
        let key: Key
        var gaps = 0
        var open = 0
        var blind = 0
        var lengths = Lengths()
        /// The numbers + 1 of the people whose they are, as often as they had one; only where they are
        /// asked for.
        var people: [UInt32] = []
        /// By verdict.
        var verdicts = [Int](repeating: 0, count: GapVerdict.allCases.count)

        mutating func add(_ length: Milliseconds, isOpen: Bool, _ verdict: GapVerdict?) {
            gaps += 1
            if isOpen { open += 1 }
            lengths.add(length)
            if let verdict { verdicts[Int(verdict.rawValue)] += 1 }
        }
    }

    /// The key of a row; what it is not counted by stays as it is here.
    private struct Key {
        var cause = GapCause.unexplained
        var verdict: GapVerdict?
        var platform = Platform.unknown
        /// The number of the region and of the phone's names together.
        var region = 0

        /// Keys of one region.
        private static let verdicts = GapVerdict.allCases.count + 1
        static let ofRegion = GapCause.allCases.count * verdicts * Platform.allCases.count

        /// A number of its own for each key, by which rows are found without a hash.
        var index: Int {
            let words =
                Int(cause.rawValue) * Self.verdicts + (verdict.map { Int($0.rawValue) + 1 } ?? 0)
            return (region * GapCause.allCases.count * Self.verdicts + words)
                * Platform.allCases.count + Int(platform.rawValue)
        }
    }

    /// Names by which gaps are counted beside their words.
    private struct PhoneNames: Hashable {
        var region = 0
        /// Empty where a phone did not tell it.
        var names: [[UInt8]] = []
    }

    /// Gaps found by their opening at most: a look into the table for each costs twice as much as
    /// all in their order.
    private static let openedMax = 100_000

    private let query: GapQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    private let countsBy: (cause: Bool, verdict: Bool, platform: Bool, region: Bool)
    private var rows: [Row] = []
    /// The place of a key's row, by the key's index; −1 for none.
    private var places: [Int32] = []
    private var regions = RegionNames()
    /// The place in `phoneList` of a region's number and a phone's names, which are in the order of
    /// `phoneKeys`.
    private var phones: [PhoneNames: Int] = [:]
    private var phoneList: [PhoneNames] = []
    private let phoneKeys: [PhoneName]
    private var looked = 0
    /// There were more rows than one table has.
    private var hasMoreRows = false
    /// There was more to count over.
    private var hasStopped = false

    /// Answers a query from the store; `person` is the one it names.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: GapQuery, _ person: HistoryPerson?, _ present: HistoryPresent,
        _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var table = GapTable(query, present, work)
        if let person {
            try table.walk(person)
        } else if query.since == nil && query.end == nil && query.state != .open {
            try table.scan()
        } else if try !table.scanOpened() {
            // So many are counted faster without the index.
            table = GapTable(query, present, work)
            try table.scan()
        }
        return .json(table.body())
    }

    private init(_ query: GapQuery, _ present: HistoryPresent, _ work: HistoryWork) {
        self.query = query
        self.present = present
        self.work = work
        let by = query.by
        phoneKeys = by.compactMap { key in
            if case .phone(let name) = key { name } else { nil }
        }
        countsBy = (
            by.contains(.cause), by.contains(.verdict), by.contains(.platform),
            by.contains(.region)
        )
    }

    // MARK: - Reading

    private mutating func scan() throws(StoreError) {
        var number: Int64 = 0
        var isEnd = false
        while !isEnd, !hasStopped {
            isEnd = try work.reader.scanGaps(after: &number) { count($0) }
            hasStopped = hasStopped || !isEnd && work.isOver
        }
    }

    /// Counts by the times of opening; false if there are too many for that.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func scanOpened() throws(StoreError) -> Bool {
        var place = GapPlace(until: query.end)
        var isEnd = false
        while !isEnd, !hasStopped {
            guard looked < Self.openedMax else { return false }
            isEnd = try work.reader.gaps(
                behind: &place, since: query.since?.milliseconds ?? .min,
                openOnly: query.state == .open
            ) { count($0) && looked < Self.openedMax }
            hasStopped = hasStopped || !isEnd && work.isOver
        }
        return true
    }

    private mutating func walk(_ person: HistoryPerson) throws(StoreError) {
        var below = Int64.max
        var decision = person.lastDecision
        while decision > 0, looked < work.limits.eventsLookedAt, !work.isOver {
            var number: Int64 = 0
            decision = try work.reader.journal.decisions(
                from: decision, atMilliseconds: .min ... .max, limit: 1
            ) { row in
                if row.responder == person.responder { number = row.gap?.number ?? 0 }
            }
            looked += 1
            guard number > 0, number < below else { continue }
            below = number
            try work.reader.gap(number) { row in
                if row.responder == person.responder { _ = count(row) }
            }
        }
        hasStopped = hasStopped || decision > 0
    }

    // MARK: - Counting

    /// Counts a gap; false once there is one too many.
    private mutating func count(_ row: GapRow) -> Bool {
        guard looked < work.limits.gapsSummed else {
            hasStopped = true
            return false
        }
        looked += 1
        let aggregates = row.aggregates
        guard query.matches(row, aggregates), present.isShown(row.responder) else { return true }
        add(row, aggregates)
        return true
    }

    private mutating func add(_ row: GapRow, _ aggregates: GapAggregates) {
        var key = Key()
        if countsBy.cause { key.cause = aggregates.cause }
        if countsBy.verdict { key.verdict = aggregates.verdict }
        if countsBy.platform { key.platform = aggregates.platform }
        if countsBy.region {
            guard let region = regions.number(of: row.region) else { return hasMoreRows = true }
            key.region = region
        }
        if !phoneKeys.isEmpty {
            guard let number = phone(row, region: key.region) else { return hasMoreRows = true }
            key.region = number
        }
        guard let place = place(of: key) else { return hasMoreRows = true }
        let isOpen = aggregates.verdict == nil && row.isOpen
        let passed = isOpen ? present.clock.passed(since: row.openedAt) : nil
        if isLeftOut(row, aggregates, passed) { return rows[place].blind += 1 }
        rows[place].add(passed?.observed ?? aggregates.length, isOpen: isOpen, aggregates.verdict)
        if !phoneKeys.isEmpty {
            rows[place].people.append(UInt32(truncatingIfNeeded: row.responder))
        }
    }

    /// Returns the number of a phone's names in a region; nil if there are too many.
    private mutating func phone(_ row: GapRow, region: Int) -> Int? {
        let facts = row.report?.facts ?? GapFacts()
        let names = PhoneNames(region: region, names: phoneKeys.map { $0.text(in: facts) })
        if let number = phones[names] { return number }
        guard phoneList.count < work.limits.groups else { return nil }
        phones[names] = phoneList.count
        phoneList.append(names)
        return phoneList.count - 1
    }

    /// Returns true if so much of a gap was blind that it is left out (D5). The mark of an older
    /// version means any blindness at all, so the report decides about what is marked.
    private func isLeftOut(
        _ row: GapRow, _ aggregates: GapAggregates,
        _ passed: (observed: Milliseconds, blind: Milliseconds)?
    ) -> Bool {
        if let passed {
            let span = Milliseconds(passed.observed.count + passed.blind.count)
            if GapReport.isLeftOut(blind: passed.blind, of: span) { return true }
        }
        return aggregates.isBlind && row.report?.isLeftOut ?? true
    }

    private mutating func place(of key: Key) -> Int? {
        let index = key.index
        while index >= places.count {
            places.append(contentsOf: repeatElement(-1, count: Key.ofRegion))
        }
        if places[index] >= 0 { return Int(places[index]) }
        guard rows.count < work.limits.groups else { return nil }
        places[index] = Int32(rows.count)
        rows.append(Row(key: key))
        return rows.count - 1
    }

    // MARK: - The answer

    private mutating func body() -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"by\":", to: &body)
        JSONWriter.list(query.by, to: &body) { JSONWriter.word($0.word, to: &$1) }
        ResponderJSON.time("since", query.since ?? .distantPast, to: &body)
        ResponderJSON.time("until", query.until ?? .distantPast, to: &body)
        JSONWriter.raw(",\"rows\":", to: &body)
        let all = rows.map(\.gaps).reduce(0, +)
        let order = rows.indices.sorted { (rows[$0].gaps, $1) > (rows[$1].gaps, $0) }
        JSONWriter.list(order, to: &body) { append(&rows[$0], of: all, to: &$1) }
        JSONWriter.raw(",\"gaps\":", to: &body)
        JSONWriter.integer(Int64(all), to: &body)
        JSONWriter.raw(",\"blind\":", to: &body)
        JSONWriter.integer(Int64(rows.map(\.blind).reduce(0, +)), to: &body)
        let isTruncated = hasMoreRows || hasStopped
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        ResponderJSON.time("as_of", present.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }

    private func append(_ row: inout Row, of all: Int, to body: inout [UInt8]) {
        body.append(UInt8(ascii: "{"))
        for word in query.by {
            JSONWriter.word(word.word, to: &body)
            body.append(UInt8(ascii: ":"))
            appendWord(word, row.key, to: &body)
            body.append(UInt8(ascii: ","))
        }
        JSONWriter.raw("\"gaps\":", to: &body)
        JSONWriter.integer(Int64(row.gaps), to: &body)
        JSONWriter.raw(",\"open\":", to: &body)
        JSONWriter.integer(Int64(row.open), to: &body)
        JSONWriter.raw(",\"blind\":", to: &body)
        JSONWriter.integer(Int64(row.blind), to: &body)
        if let median = row.lengths.median {
            JSONWriter.raw(",\"seconds\":{\"median\":", to: &body)
            GapJSON.seconds(median, to: &body)
            GapJSON.seconds("longest", row.lengths.longest, to: &body)
            GapJSON.seconds("total", row.lengths.total, to: &body)
            JSONWriter.raw("}", to: &body)
        } else {
            JSONWriter.raw(",\"seconds\":null", to: &body)
        }
        if !phoneKeys.isEmpty {
            JSONWriter.raw(",\"share\":", to: &body)
            let share = all == 0 ? 0 : Double(row.gaps) / Double(all)
            body.append(contentsOf: "\((share * 10_000).rounded() / 10_000)".utf8)
            JSONWriter.raw(",\"people\":", to: &body)
            JSONWriter.integer(Int64(Set(row.people).count), to: &body)
        }
        JSONWriter.raw(",\"verdicts\":{", to: &body)
        var isFirst = true
        for verdict in GapVerdict.allCases where row.verdicts[Int(verdict.rawValue)] > 0 {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            JSONWriter.word(verdict.word, to: &body)
            body.append(UInt8(ascii: ":"))
            JSONWriter.integer(Int64(row.verdicts[Int(verdict.rawValue)]), to: &body)
        }
        JSONWriter.raw("}}", to: &body)
    }

    private func appendWord(_ word: GapQuery.Key, _ key: Key, to body: inout [UInt8]) {
        switch word {
        case .cause: JSONWriter.word(key.cause.word, to: &body)
        case .verdict:
            guard let verdict = key.verdict else { return JSONWriter.raw("null", to: &body) }
            JSONWriter.word(verdict.word, to: &body)
        case .platform: JSONWriter.word(key.platform.word, to: &body)
        case .region:
            let region = phoneKeys.isEmpty ? key.region : phoneList[key.region].region
            JSONWriter.string(regions.names[region], to: &body)
        case .phone(let phoneName):
            guard let place = phoneKeys.firstIndex(of: phoneName),
                !phoneList[key.region].names[place].isEmpty
            else { return JSONWriter.raw("null", to: &body) }
            JSONWriter.string(phoneList[key.region].names[place], to: &body)
        }
    }
}
