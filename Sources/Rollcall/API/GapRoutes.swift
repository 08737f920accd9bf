import RollcallCore
import RollcallStore
import RollcallSupport

/// The gaps that a question is about.
struct GapQuery: Sendable {
    /// A `State` says whether a gap is over. A person may be back while the verdict is still to
    /// come.
    enum State: String, CaseIterable, Sendable {
        case open, closed

        /// The word of a query.
        var word: StaticString { self == .open ? "open" : "closed" }
    }

    /// The keys by which gaps may be counted.
    enum Key: Equatable, Sendable {
        case cause, verdict, region, platform
        case phone(PhoneName)

        static let all: [Key] =
            [.cause, .verdict, .region, .platform] + PhoneName.allCases.map { .phone($0) }

        /// The word of a query, and of a member.
        var word: StaticString {
            switch self {
            case .cause: "cause"
            case .verdict: "verdict"
            case .region: "region"
            case .platform: "platform"
            case .phone(let name): name.word
            }
        }
    }

    var state: State?
    var cause: GapCause?
    var verdict: GapVerdict?
    var region: [UInt8]?
    var platform: Platform?
    var responder: [UInt8]?
    var since: Timestamp?
    var until: Timestamp?
    /// The instant at which these people were silent.
    var at: Timestamp?
    /// The place at which a page begins: a time of opening or a decision, and a gap's number.
    var after: (place: Int64, number: Int64)?
    var limit = Router.limitStandard
    /// The keys to count by; empty for a list.
    var by: [Key] = []

    static let parameters = Parameters(
        GapQuery(),
        [
            .word("state", "Whether it is over.", State.allCases, \.word, into: \.state),
            .word(
                "cause", "Suspected of this.", GapCause.allCases, \.word, schema: "GapCause",
                into: \.cause),
            .word(
                "verdict", "Found to be this.", GapVerdict.allCases, \.word, schema: "GapVerdict",
                into: \.verdict),
            .word(
                "platform", "Of this platform.", Platform.allCases, \.word, schema: "Platform",
                into: \.platform),
            .text("region", "Of this region.", into: \.region),
            .text("responder", "Of this person.", OpenAPI.schema("Name"), into: \.responder),
            .time(
                "since", "From then on: RFC 3339, or milliseconds since 1970.", into: \.since),
            .time("until", "Before then, likewise.", into: \.until),
            .time(
                "at",
                "Of who was OFFLINE at this instant, not in the future, back by now or not; likewise.",
                into: \.at),
            .words(
                "by", "What to count by", Key.all, \.word, max: Key.all.count, into: \.by),
            .cursor(count: 2) { $0.after = ($1[0], $1[1]) },
            .limit(
                "Gaps in the answer at most; \(Router.limitStandard) without it.",
                into: \.limit),
        ]
    ) { (query, names) throws(ParameterError) in
        if !query.by.isEmpty, names.contains("after") || names.contains("limit") {
            throw ParameterError(detail: "by: goes without after and limit")
        }
    }

    /// The instant before which they opened; nil for now. Whose opened after `at` was not silent then.
    var end: Timestamp? {
        guard let at else { return until }
        return min(until ?? .distantFuture, at + Milliseconds(1))
    }

    /// True for a gap that is asked for, whoever's it is.
    func matches(_ row: GapRow, _ aggregates: GapAggregates) -> Bool {
        if let state, row.isOpen != (state == .open) { return false }
        if let cause, aggregates.cause != cause { return false }
        if let verdict, aggregates.verdict != verdict { return false }
        if let platform, aggregates.platform != platform { return false }
        if let region, !row.region.elementsEqual(region) { return false }
        if let since, row.openedAt < since { return false }
        if let until, row.openedAt >= until { return false }
        guard let at else { return true }
        guard row.openedAt <= at, row.closedAt.map({ at < $0 }) ?? true, let report = row.report
        else { return false }
        return report.offlineAt <= at
    }
}

/// The routes about gaps and dark time, from the store's history (Contract/Gaps, V5).
extension Router {
    /// Answers `GET /v1/gaps`, as a list or as a table.
    func showGaps(_ query: GapQuery, _ answer: @escaping Answer) {
        look(for: query.responder, answer) { (present, person) throws(ParameterError) in
            if let at = query.at {
                try ParameterError.checkPast(at, "at", newest: present.clock.wallNow)
            }
            return { (work) throws(StoreError) in
                query.by.isEmpty
                    ? try GapList.answer(query, person, present, work)
                    : try GapTable.answer(query, person, present, work)
            }
        }
    }

    /// Answers `GET /v1/dark`.
    func showDark(_ query: DarkQuery, _ answer: @escaping Answer) {
        look(for: query.responder, answer) { present, person in
            { (work) throws(StoreError) in
                try DarkTable.answer(query, person, present, work)
            }
        }
    }

    /// Answers `GET /v1/responders/{id}/timeline`.
    func showTimeline(_ id: [UInt8], _ query: TimelineQuery, _ answer: @escaping Answer) {
        look(for: id, answer) { present, person in
            { (work) throws(StoreError) in
                guard let person else { return Self.nobody }
                return try Timeline.answer(query, id, person, present, work)
            }
        }
    }

    /// Asks the state writer for the present and, by id, for a person; then history. With an id
    /// that nobody has the answer is 404, and 400 if the question makes no sense.
    private func look(
        for id: [UInt8]?, _ answer: @escaping Answer,
        _ question:
            @escaping @Sendable (
                HistoryPresent, HistoryPerson?
            ) throws(ParameterError) -> HistoryService.Question
    ) {
        writer.ask { [self] view in
            let person = id.flatMap { HistoryPerson($0, view.engine.roster) }
            guard id == nil || person != nil else { return answer(Self.nobody, InputStats()) }
            let present = HistoryPresent(view)
            askHistory(answer) { () throws(ParameterError) in try question(present, person) }
        }
    }

    /// Asks the state writer for the present, then history; answers 400 if the question makes no sense.
    func look(
        _ answer: @escaping Answer,
        _ question:
            @escaping @Sendable (
                Engine, HistoryPresent
            ) throws(ParameterError) -> HistoryService.Question
    ) {
        writer.ask { [self] view in
            askHistory(answer) { () throws(ParameterError) in
                try question(view.engine, HistoryPresent(view))
            }
        }
    }

    private func askHistory(
        _ answer: @escaping Answer,
        _ question: () throws(ParameterError) -> HistoryService.Question
    ) {
        do throws(ParameterError) {
            history.ask({ answer($0, InputStats()) }, try question())
        } catch {
            answer(.refusal(error), InputStats())
        }
    }

    /// The answer about an id that nobody has.
    static var nobody: HTTPResponse {
        .problem(404, "Not Found", detail: "nobody has this id")
    }
}

/// The place at which a person's history begins, going back.
struct HistoryPerson: Sendable {
    /// Their number + 1.
    let responder: Int64
    let lastRow: Int64
    let lastDecision: Int64

    /// Nil if nobody has the id.
    init?(_ id: [UInt8], _ roster: Roster) {
        guard let number = roster.number(of: id) else { return nil }
        responder = Int64(number + 1)
        lastRow = roster[number].lastRow
        lastDecision = roster[number].lastDecision
    }
}
