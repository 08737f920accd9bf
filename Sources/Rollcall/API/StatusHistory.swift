import RollcallCore
import RollcallStore
import RollcallSupport

/// The stretch of the fleet's past that a question is about, and how closely.
struct StatusHistoryQuery: Sendable {
    /// Steps of one answer at most.
    static let samplesMax: Int64 = 1500
    /// Steps of one answer at most without a `step`.
    static let samplesStandard: Int64 = 288
    /// The shortest and the longest step.
    static let stepRange: ClosedRange<Int64> = 60_000...86_400_000
    /// The stretch without a `since`.
    static let spanStandard = Milliseconds.seconds(12 * 3600)
    /// The steps chosen from without a `step`, in minutes: whole parts of an hour or a day.
    private static let steps: [Int64] = [1, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440]

    /// The query as it is sent.
    struct Asked: Sendable {
        var since: Timestamp?
        var until: Timestamp?
        var step: Int64?
    }

    let since: Timestamp
    let until: Timestamp
    let step: Milliseconds

    static let parameters = Parameters(
        Asked(),
        [
            .time(
                "since", "From then on: RFC 3339, or milliseconds since 1970.", into: \.since),
            .time("until", "Before then, likewise.", into: \.until),
            Parameter(
                "step", "The distance of two counts, such as `5m`.",
                ["type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$"]
            ) { (query, value) throws(ParameterError) in query.step = try step(value) },
        ])

    /// The stretch that is `asked` for `now`: of `standard` without a `since`, and without a `step` of the
    /// shortest that gives `most` steps.
    /// - Throws: `ParameterError` if it is empty, or has too many steps.
    init(
        _ asked: Asked, now: Timestamp, span standard: Milliseconds = spanStandard,
        samples most: Int64 = samplesStandard
    ) throws(ParameterError) {
        let since = asked.since ?? max(Timestamp(milliseconds: 0), (asked.until ?? now) - standard)
        try ParameterError.checkPast(since, "since", newest: now)
        self.since = since
        until = asked.until ?? (since > now ? since + Milliseconds(1) : now)
        guard since < until else {
            throw ParameterError(detail: "until: must be later than since")
        }
        let span = (until - since).count
        let chosen = Self.steps.first { Self.count(span, $0 * 60_000) <= most }
        step = Milliseconds(asked.step ?? (chosen ?? 1440) * 60_000)
        let count = Self.count(span, step.count)
        guard count <= Self.samplesMax else {
            throw ParameterError(
                detail: "step: \(count) steps are too many, at most \(Self.samplesMax); "
                    + "a longer step or a shorter span expected")
        }
    }

    /// Reads the distance of two counts.
    /// - Throws: `ParameterError` if it is none, or out of range.
    static func step(_ value: String) throws(ParameterError) -> Int64 {
        guard let step = SettingText.duration(value)?.count, stepRange.contains(step)
        else { throw ParameterError(detail: "step: a span from 1m to 1d expected, such as 5m") }
        return step
    }

    private static func count(_ span: Int64, _ step: Int64) -> Int64 { (span + step - 1) / step }

    /// The number of steps of the stretch.
    var count: Int64 { Self.count((until - since).count, step.count) }
}

extension Router {
    /// Answers `GET /v1/status/history`.
    func showStatusHistory(_ asked: StatusHistoryQuery.Asked, _ answer: @escaping Answer) {
        look(answer) { (_, present) throws(ParameterError) in
            let query = try StatusHistoryQuery(asked, now: present.clock.wallNow)
            return { (work) throws(StoreError) in try StatusHistory.answer(query, present, work) }
        }
    }
}

/// `GET /v1/status/history`: how many stood how, step by step, and when nobody was watching.
///
/// Of each step its last sample; a step without one is left out, and so is what was counted inside
/// a blind window that was noticed later: it was not seen (B1).
struct StatusHistory {
    private let query: StatusHistoryQuery
    private let present: HistoryPresent
    private let work: HistoryWork
    /// Newest first.
    private var samples: [FleetSample] = []
    private var blind: BlindWindows
    private var isTruncated = false

    /// Answers a query from the store.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: StatusHistoryQuery, _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var history = StatusHistory(query: query, present: present, work: work)
        try history.blind.read(work)
        try history.readSamples()
        return .json(history.body())
    }

    private init(query: StatusHistoryQuery, present: HistoryPresent, work: HistoryWork) {
        self.query = query
        self.present = present
        self.work = work
        blind = BlindWindows(since: query.since, until: query.until, present.clock)
    }

    // MARK: - Reading

    private mutating func readSamples() throws(StoreError) {
        // What a wall said that was set back since lies in the future.
        let end = min(query.until, present.clock.wallNow + Milliseconds(1))
        let step = query.step.count
        var until = end
        var looked = 0
        for _ in 0..<query.count where until > query.since {
            guard !work.isOver, looked < work.limits.samplesLookedAt else {
                return isTruncated = true
            }
            let aligned = Timestamp(milliseconds: (until.milliseconds - 1) / step * step)
            let since = max(query.since, aligned)
            try work.reader.samples.samples(since: since, until: until) { sample in
                looked += 1
                guard !blind.contains(sample.at) else {
                    return looked < work.limits.samplesLookedAt
                }
                samples.append(sample)
                return false
            }
            until = since
        }
    }

    // MARK: - The answer

    private func body() -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"as_of\":\"", to: &body)
        RFC3339.append(present.clock.wallNow, to: &body)
        JSONWriter.raw("\"", to: &body)
        ResponderJSON.time("since", query.since, to: &body)
        ResponderJSON.time("until", query.until, to: &body)
        StatusJSON.count("step_seconds", Int(query.step.count / 1000), to: &body)
        JSONWriter.raw(",\"samples\":", to: &body)
        JSONWriter.list(samples.reversed(), to: &body) { sample, body in
            JSONWriter.raw("{\"at\":\"", to: &body)
            RFC3339.append(sample.at, to: &body)
            JSONWriter.raw("\"", to: &body)
            for status in Status.allCases {
                StatusJSON.count(status.word, sample.byStatus[Int(status.rawValue)], to: &body)
            }
            StatusJSON.count("not_expected", sample.notExpected, to: &body)
            JSONWriter.raw("}", to: &body)
        }
        JSONWriter.raw(",", to: &body)
        blind.append(to: &body)
        JSONWriter.raw(
            isTruncated || blind.isTruncated ? ",\"truncated\":true}\n" : ",\"truncated\":false}\n",
            to: &body)
        return body
    }
}
