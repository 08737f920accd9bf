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
        } else if query.since == nil && query.until == nil && query.state != .open {
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
        var place = GapPlace(until: query.until)
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
        guard query.matches(row, aggregates),
            present.erased.isEmpty || !present.erased.contains(row.responder)
        else { return true }
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
        guard let place = place(of: key) else { return hasMoreRows = true }
        let isOpen = aggregates.verdict == nil && row.isOpen
        let passed = isOpen ? present.clock.passed(since: row.openedAt) : nil
        if isLeftOut(row, aggregates, passed) { return rows[place].blind += 1 }
        rows[place].add(passed?.observed ?? aggregates.length, isOpen: isOpen, aggregates.verdict)
    }

    /// Whether too much of it was blind (D5). The mark of an older version means any blindness at all,
    /// so the report decides about what is marked.
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
        JSONWriter.raw("{\"by\":[", to: &body)
        for (place, word) in query.by.enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            JSONWriter.word(word.word, to: &body)
        }
        JSONWriter.raw("]", to: &body)
        ResponderJSON.time("since", query.since ?? .distantPast, to: &body)
        ResponderJSON.time("until", query.until ?? .distantPast, to: &body)
        JSONWriter.raw(",\"rows\":[", to: &body)
        let order = rows.indices.sorted { (rows[$0].gaps, $1) > (rows[$1].gaps, $0) }
        for (place, index) in order.enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            append(&rows[index], to: &body)
        }
        JSONWriter.raw("],\"gaps\":", to: &body)
        JSONWriter.integer(Int64(rows.map(\.gaps).reduce(0, +)), to: &body)
        JSONWriter.raw(",\"blind\":", to: &body)
        JSONWriter.integer(Int64(rows.map(\.blind).reduce(0, +)), to: &body)
        let isTruncated = hasMoreRows || hasStopped
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        ResponderJSON.time("as_of", present.clock.wallNow, to: &body)
        JSONWriter.raw("}\n", to: &body)
        return body
    }

    private func append(_ row: inout Row, to body: inout [UInt8]) {
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
            JSONWriter.raw("}", to: &body)
        } else {
            JSONWriter.raw(",\"seconds\":null", to: &body)
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
        case .region: JSONWriter.string(regions.names[key.region], to: &body)
        }
    }
}

/// Regions by number, in the order in which they were met.
struct RegionNames {
    /// Regions at most: rows of a table are not more.
    static let countMax = HistoryLimits().groups

    private(set) var names: [[UInt8]] = []
    /// Open addressing, at most half full: a name's number + 1, 0 free.
    private var slots = [Int32](repeating: 0, count: 64)

    /// The region's number; nil if there are too many.
    mutating func number(of name: UnsafeRawBufferPointer) -> Int? {
        var slot = Self.hash(name) & (slots.count - 1)
        while slots[slot] > 0 {
            let number = Int(slots[slot]) - 1
            if name.elementsEqual(names[number]) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        guard names.count < Self.countMax else { return nil }
        names.append(Array(name))
        if names.count * 2 > slots.count { grow() } else { slots[slot] = Int32(names.count) }
        return names.count - 1
    }

    private mutating func grow() {
        slots = [Int32](repeating: 0, count: slots.count * 2)
        for (number, name) in names.enumerated() {
            var slot = name.withUnsafeBytes { Self.hash($0) } & (slots.count - 1)
            while slots[slot] > 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = Int32(number + 1)
        }
    }

    /// The standard library's keyed hash: strangers choose the names, so it must not be foreseeable.
    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize()
    }
}

/// Lengths of gaps, of which the middle one is asked for.
struct Lengths {
    /// Milliseconds, as much as fits: seven weeks.
    private var all: [UInt32] = []
    private(set) var longest = Milliseconds(0)

    mutating func add(_ length: Milliseconds) {
        all.append(UInt32(clamping: length.count))
        longest = max(longest, length)
    }

    /// The middle one, the mean of the two in the middle if there are two; nil without any.
    var median: Milliseconds? {
        guard !all.isEmpty else { return nil }
        let (low, high) = (ranked((all.count - 1) / 2), ranked(all.count / 2))
        return Milliseconds((Int64(low) + Int64(high)) / 2)
    }

    /// The length with so many shorter ones, by counting: sorting two million would take longer.
    private func ranked(_ rank: Int) -> UInt32 {
        var rank = rank
        var found: UInt32 = 0
        for shift: UInt32 in [16, 0] {
            var counts = [Int](repeating: 0, count: 1 << 16)
            for length in all where shift == 16 || length >> 16 == found >> 16 {
                counts[Int(length >> shift & 0xFFFF)] += 1
            }
            var digit = 0
            while rank >= counts[digit] {
                rank -= counts[digit]
                digit += 1
            }
            found |= UInt32(digit) << shift
        }
        return found
    }
}
