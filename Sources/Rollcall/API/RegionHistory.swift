import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

extension Router {
    /// Answers `GET /v1/regions/history`.
    func showRegionHistory(_ asked: RegionHistoryQuery.Asked, _ answer: @escaping Answer) {
        look(answer) { (engine, present) throws(ParameterError) in
            let query = try RegionHistoryQuery(asked, now: present.clock.wallNow)
            let now = RegionNow.all(of: engine, lookedAtMax: Resource.regionsLookedAtMax)
            let firing = RegionAlerts.Firing.all(of: engine)
            return { (work) throws(StoreError) in
                try RegionHistory.answer(query, now, firing, present, work)
            }
        }
    }
}

/// `GET /v1/regions/history`: how each region stood, step by step, and what fired there (J11).
///
/// A cell is the worst sample of its step, so that a short outage is seen however long the step is.
/// What was counted inside a blind window that was noticed later was not seen (B1).
struct RegionHistory {
    private struct Row {
        let name: [UInt8]
        /// Nil of a region in which nobody is any more.
        let now: RegionNow?
        /// The store's number; nil if it was not counted in these days.
        let number: Int64?
        /// The worst counts of each step; nil where nobody knows.
        var cells: [RegionCounts?]
        /// The minute of each step that its cell is of.
        var minutes: [Int]

        /// True if there is anything to tell of it.
        var isAnything: Bool {
            now != nil || cells.contains { $0.map { $0 != RegionCounts() } ?? false }
        }
    }

    private let query: RegionHistoryQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    private var rows: [Row] = []
    /// Samples by step.
    private var samples: [Int]
    /// The instant of the newest sample.
    private var sampledAt = Timestamp.distantPast
    /// The regions passed by and told; nil if there are no more.
    private var next: Int?
    private var blind: BlindWindows
    private var alerts: RegionAlerts
    private var isTruncated = false

    /// Answers a query from the store; `now` are the regions of the present, `firing` what fires.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: RegionHistoryQuery, _ now: [RegionNow], _ firing: [RegionAlerts.Firing],
        _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var history = try RegionHistory(query, now, firing, present, work)
        try history.blind.read(work)
        try history.readSamples()
        try history.alerts.read(work)
        return .json(history.body())
    }

    private init(
        _ query: RegionHistoryQuery, _ now: [RegionNow], _ firing: [RegionAlerts.Firing],
        _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) {
        self.query = query
        self.present = present
        self.work = work
        samples = [Int](repeating: 0, count: query.count)
        blind = BlindWindows(since: query.since, until: query.until, present.clock)
        let known = try work.reader.regions.regions(since: query.since, limit: work.limits.groups)
        isTruncated = known.count == work.limits.groups
        var numbers: [[UInt8]: Int64] = [:]
        for region in known { numbers[region.name] = region.number }
        let present = Set(now.map(\.name))
        let past = known.filter { !present.contains($0.name) }.map(\.name)
            .sorted { $0.lexicographicallyPrecedes($1) }
        let all =
            RegionNow.worstFirst(now).map { ($0.name, RegionNow?.some($0)) }
            + past.map { ($0, nil) }
        let end = min(all.count, query.after + query.limit)
        if query.after < end {
            rows = all[query.after..<end].map { name, now in
                Row(
                    name: name, now: now, number: numbers[name],
                    cells: [RegionCounts?](repeating: nil, count: query.count),
                    minutes: [Int](repeating: 0, count: query.count))
            }
        }
        next = end < all.count ? end : nil
        alerts = RegionAlerts(
            since: query.since, until: query.until, regions: Set(rows.map(\.name)), firing: firing)
    }

    // MARK: - Reading

    private mutating func readSamples() throws(StoreError) {
        // What a wall said that was set back since lies in the future.
        let end = min(query.until, present.clock.wallNow + Milliseconds(1))
        var looked = 0
        try work.reader.regions.samples(since: query.since, until: end) { sample in
            looked += 1
            guard looked <= work.limits.samplesLookedAt, !work.isOver else {
                isTruncated = true
                return false
            }
            if !blind.contains(sample.at) { take(sample) }
            return true
        }
    }

    private mutating func take(_ sample: RegionSample) {
        let step = query.step(of: sample.at)
        guard samples.indices.contains(step) else { return }
        samples[step] += 1
        sampledAt = max(sampledAt, sample.at)
        let begin = query.firstStep + Milliseconds(Int64(step) * query.step.count)
        let minute = Int((sample.at - begin).count / 60_000)
        if sample.hasRest { isTruncated = true }
        for place in rows.indices {
            guard let counts = sample.counts(of: rows[place].number) else { continue }
            if let before = rows[place].cells[step], Self.isWorse(before, counts) { continue }
            rows[place].cells[step] = counts
            rows[place].minutes[step] = minute
        }
    }

    /// True if in `a` fewer of those who were expected could be reached than in `b`, or as many and
    /// more were OFFLINE.
    static func isWorse(_ a: RegionCounts, _ b: RegionCounts) -> Bool {
        let (first, second) = (reached(a), reached(b))
        let left = first.online * second.of
        let right = second.online * first.of
        return left == right ? a.count(.offline) > b.count(.offline) : left < right
    }

    /// The share that can be reached: all of nobody, none where nobody is who must be.
    private static func reached(_ counts: RegionCounts) -> (online: Int, of: Int) {
        if counts.active > 0 { return (counts.count(.online), counts.active) }
        return (counts.isUnstaffed ? 0 : 1, 1)
    }

    // MARK: - The answer

    private func body() -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"as_of\":\"", to: &body)
        RFC3339.append(present.clock.wallNow, to: &body)
        JSONWriter.raw("\"", to: &body)
        ResponderJSON.time("since", query.since, to: &body)
        ResponderJSON.time("until", query.until, to: &body)
        ResponderJSON.time("first_step_at", query.firstStep, to: &body)
        StatusJSON.count("step_seconds", Int(query.step.count / 1000), to: &body)
        ResponderJSON.time("sampled_at", sampledAt, to: &body)
        JSONWriter.raw(",\"samples\":", to: &body)
        Self.append(samples, to: &body)
        JSONWriter.raw(",\"regions\":[", to: &body)
        var isFirst = true
        for row in rows where row.isAnything {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            append(row, to: &body)
        }
        JSONWriter.raw("],\"alerts\":", to: &body)
        alerts.tree(about: nil).append(to: &body)
        JSONWriter.raw(",", to: &body)
        blind.append(to: &body)
        JSONWriter.raw(",\"next\":", to: &body)
        if let next {
            JSONWriter.string("\(next)".utf8, to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        let isWhole = !isTruncated && !blind.isTruncated && !alerts.isTruncated
        JSONWriter.raw(
            isWhole ? ",\"truncated\":false}\n" : ",\"truncated\":true}\n", to: &body)
        return body
    }

    private func append(_ row: Row, to body: inout [UInt8]) {
        JSONWriter.raw("{\"region\":", to: &body)
        JSONWriter.string(row.name, to: &body)
        JSONWriter.raw(
            row.now?.isCovered ?? false
                ? ",\"must_be_staffed\":true,\"now\":" : ",\"must_be_staffed\":false,\"now\":",
            to: &body)
        if let counts = row.now?.counts {
            JSONWriter.raw("{\"responders\":{", to: &body)
            for status in Status.allCases {
                if status != Status.allCases.first { body.append(UInt8(ascii: ",")) }
                JSONWriter.word(status.word, to: &body)
                body.append(UInt8(ascii: ":"))
                JSONWriter.integer(Int64(counts.count(status)), to: &body)
            }
            JSONWriter.raw("}", to: &body)
            StatusJSON.count("active", counts.active, to: &body)
            StatusJSON.count("not_expected", counts.notExpected, to: &body)
            JSONWriter.raw("}", to: &body)
        } else {
            JSONWriter.raw("null", to: &body)
        }
        JSONWriter.raw(",\"responders\":{", to: &body)
        var isFirst = true
        for status in Status.allCases {
            let counts = row.cells.map { $0?.count(status) }
            guard counts.contains(where: { $0 ?? 0 > 0 }) else { continue }
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            JSONWriter.word(status.word, to: &body)
            body.append(UInt8(ascii: ":"))
            Self.append(counts, to: &body)
        }
        JSONWriter.raw("}", to: &body)
        Self.append("not_expected", row.cells.map { $0?.notExpected }, to: &body)
        Self.append("unstaffed", row.cells.map { $0.map { $0.isUnstaffed ? 1 : 0 } }, to: &body)
        Self.append("minute", row.minutes, to: &body)
        JSONWriter.raw(",\"alerts\":", to: &body)
        alerts.tree(about: row.name).append(to: &body)
        JSONWriter.raw("}", to: &body)
    }

    /// Appends a member unless nothing in it is more than 0.
    private static func append(
        _ name: StaticString, _ numbers: [Int?], to body: inout [UInt8]
    ) {
        guard numbers.contains(where: { $0 ?? 0 > 0 }) else { return }
        body.append(UInt8(ascii: ","))
        JSONWriter.word(name, to: &body)
        body.append(UInt8(ascii: ":"))
        append(numbers, to: &body)
    }

    private static func append(_ numbers: [Int?], to body: inout [UInt8]) {
        JSONWriter.list(numbers, to: &body) { number, body in
            if let number {
                JSONWriter.integer(Int64(number), to: &body)
            } else {
                JSONWriter.raw("null", to: &body)
            }
        }
    }
}
