import RollcallCore

/// `GET /v1/gaps?by=…`: gaps counted by some of their words.
///
/// One that overlaps a blind window is held against nobody: it is counted apart (design §5).
struct GapTable {
    /// One row being counted.
    private struct Row {
        var key: Key
        var gaps = 0
        var open = 0
        var blind = 0
        var lengths = Lengths()
        /// By verdict.
        var verdicts = [Int](repeating: 0, count: GapVerdict.allCases.count)
    }

    /// What a row is about: a word's raw value, or −1 where it is not counted by.
    private struct Key: Hashable {
        var cause: Int16 = -1
        var verdict: Int16 = -1
        var platform: Int16 = -1
        var region: Int32 = -1
        /// A gap that has no verdict yet.
        static let undecided: Int16 = 255
    }

    private let query: GapQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    private let countsRegions: Bool
    private var rows: [Row] = []
    private var places: [Key: Int] = [:]
    private var regions = RegionNames()
    private var looked = 0
    /// There were more rows than one table has.
    private var hasMoreRows = false
    /// There was more to count over.
    private var hasStopped = false

    /// Answers a query; `person` is the one it names.
    static func answer(
        _ query: GapQuery, _ person: HistoryPerson?, _ present: HistoryPresent,
        _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var table = GapTable(query, present, work)
        if let person {
            try table.walk(person)
        } else if query.since == nil, query.until == nil, query.state != .open {
            try table.scan()
        } else {
            try table.scanOpened()
        }
        return .json(table.body())
    }

    private init(_ query: GapQuery, _ present: HistoryPresent, _ work: HistoryWork) {
        self.query = query
        self.present = present
        self.work = work
        countsRegions = query.by.contains(.region)
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

    private mutating func scanOpened() throws(StoreError) {
        var place = GapPlace(until: query.until)
        var isEnd = false
        while !isEnd, !hasStopped {
            isEnd = try work.reader.gaps(
                behind: &place, since: query.since?.milliseconds ?? .min,
                openOnly: query.state == .open
            ) { count($0) }
            hasStopped = hasStopped || !isEnd && work.isOver
        }
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
        guard query.matches(row), present.erased.isEmpty || !present.erased.contains(row.responder)
        else { return true }
        add(row)
        return true
    }

    private mutating func add(_ row: GapRow) {
        let verdict = row.verdict
        var key = Key()
        for word in query.by {
            switch word {
            case .cause: key.cause = Int16(row.cause.rawValue)
            case .verdict: key.verdict = verdict.map { Int16($0.rawValue) } ?? Key.undecided
            case .platform: key.platform = Int16(row.platform.rawValue)
            case .region: key.region = regions.number(of: row.region)
            }
        }
        guard let place = place(of: key) else { return hasMoreRows = true }
        let passed = row.isOpen ? present.watch.passed(since: row.openedAt) : nil
        guard row.blind.count == 0, passed.map({ $0.blind.count == 0 }) ?? true else {
            return rows[place].blind += 1
        }
        rows[place].gaps += 1
        if row.isOpen { rows[place].open += 1 }
        rows[place].lengths.add(passed?.watched ?? row.length)
        if let verdict { rows[place].verdicts[Int(verdict.rawValue)] += 1 }
    }

    private mutating func place(of key: Key) -> Int? {
        if let place = places[key] { return place }
        guard rows.count < work.limits.groups else { return nil }
        rows.append(Row(key: key))
        places[key] = rows.count - 1
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
        let isTruncated = hasMoreRows || hasStopped
        JSONWriter.raw(isTruncated ? ",\"truncated\":true" : ",\"truncated\":false", to: &body)
        ResponderJSON.time("as_of", present.watch.wallNow, to: &body)
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
        case .cause:
            let cause = GapCause(rawValue: UInt8(truncatingIfNeeded: key.cause))
            JSONWriter.word(cause?.word ?? "unexplained", to: &body)
        case .verdict:
            guard let verdict = GapVerdict(rawValue: UInt8(truncatingIfNeeded: key.verdict)) else {
                return JSONWriter.raw("null", to: &body)
            }
            JSONWriter.word(verdict.word, to: &body)
        case .platform:
            let platform = Platform(rawValue: UInt8(truncatingIfNeeded: key.platform))
            JSONWriter.word(platform?.word ?? "unknown", to: &body)
        case .region: JSONWriter.string(regions.name(key.region), to: &body)
        }
    }
}

/// Regions by number, in the order in which they were met.
struct RegionNames {
    private var names: [[UInt8]] = []
    private var numbers: [[UInt8]: Int32] = [:]
    private var last: Int32 = -1

    /// The region's number; rows that follow each other are often of one.
    mutating func number(of name: UnsafeRawBufferPointer) -> Int32 {
        if last >= 0, name.elementsEqual(names[Int(last)]) { return last }
        let bytes = Array(name)
        last = numbers[bytes] ?? Int32(names.count)
        if Int(last) == names.count {
            names.append(bytes)
            numbers[bytes] = last
        }
        return last
    }

    /// The name behind a number that this table gave.
    func name(_ number: Int32) -> [UInt8] { names[Int(number)] }
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
