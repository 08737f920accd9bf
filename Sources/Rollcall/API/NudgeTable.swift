import RollcallCore
import RollcallStore
import RollcallSupport

/// `GET /v1/nudges?by=…`: the nudges that were sent, counted by what followed them, and by what the
/// phone is. Source: P6, N8.
///
/// A nudge does not keep what the phone was: it counts for the phone that its person has now.
struct NudgeTable {
    /// The keys by which nudges may be counted.
    enum Key: Equatable, Sendable {
        case cause, platform
        case phone(PhoneName)

        static let all: [Key] = [.cause, .platform] + PhoneName.allCases.map { .phone($0) }

        /// The word of a query, and of a member.
        var word: StaticString {
            switch self {
            case .cause: "cause"
            case .platform: "platform"
            case .phone(let name): name.word
            }
        }
    }

    private struct Nudge {
        let responder: Int64
        let cause: GapCause
        let platform: Platform
        let outcome: NudgeOutcome?
        /// From the nudge to what followed it.
        let length: Milliseconds
    }

    private struct Row {
        var nudges = 0
        var people: Set<Int64> = []
        /// By outcome.
        var followed = [Int](repeating: 0, count: NudgeOutcome.allCases.count)
        /// From a nudge to the contact that followed it.
        var lengths = Lengths()

        mutating func add(_ nudge: Nudge) {
            nudges += 1
            people.insert(nudge.responder)
            guard let outcome = nudge.outcome else { return }
            followed[Int(outcome.rawValue)] += 1
            if outcome == .located || outcome == .contact { lengths.add(nudge.length) }
        }
    }

    private let by: [Key]
    private let present: HistoryPresent
    private let work: HistoryWork
    private var nudges: [Nudge] = []
    /// There was more to count over.
    private var hasStopped = false

    /// Answers a query from the store.
    /// - Throws: `StoreError` if the store cannot be read.
    static func answer(
        _ query: NudgeQuery, _ present: HistoryPresent, _ work: HistoryWork
    ) throws(StoreError) -> HTTPResponse {
        var table = NudgeTable(by: query.by, present: present, work: work)
        try table.scan()
        guard let phones = table.phones() else {
            return Router.unavailable("the keeper does not answer")
        }
        return .json(AlertJSON.bytes(table.tree(phones)))
    }

    private init(by: [Key], present: HistoryPresent, work: HistoryWork) {
        self.by = by
        self.present = present
        self.work = work
    }

    /// Goes back through the ledger, in which what followed a nudge is met before it.
    /// - Throws: `StoreError` if the store cannot be read.
    private mutating func scan() throws(StoreError) {
        var followed: [Int64: (outcome: NudgeOutcome, at: Timestamp)] = [:]
        var id = Int64.max
        var looked = 0
        var isEnd = false
        while !isEnd, looked < work.limits.nudgesListed, !work.isOver {
            isEnd = try work.reader.nudgeDecisions(before: &id) { row in
                looked += 1
                if case .nudge(let at, _, let report) = DecisionCode.decision(row) {
                    if report.kind == .followed, let outcome = report.outcome {
                        followed[report.number] = (outcome, at)
                    }
                    if report.kind == .send, !report.isDryRun, present.isShown(row.responder) {
                        let after = followed[report.number]
                        nudges.append(
                            Nudge(
                                responder: row.responder, cause: report.facts.cause,
                                platform: report.facts.platform, outcome: after?.outcome,
                                length: max(Milliseconds(0), (after?.at ?? at) - at)))
                    }
                }
                return looked < work.limits.nudgesListed
            }
        }
        hasStopped = !isEnd
    }

    /// Returns the phones of those who were nudged, whoever was erased left out; nil if the state
    /// writer does not answer.
    private func phones() -> [Int64: GapFacts]? {
        work.phones(of: Array(Set(nudges.map(\.responder))))
    }

    // MARK: - The answer

    private func tree(_ phones: [Int64: GapFacts]) -> JSONTree {
        var rows: [[[UInt8]]: Row] = [:]
        var all = 0
        var hasMoreRows = false
        for nudge in nudges {
            guard let phone = phones[nudge.responder] else { continue }
            let key = by.map { name(of: $0, nudge, phone) }
            if rows[key] == nil, rows.count == work.limits.groups {
                hasMoreRows = true
                continue
            }
            rows[key, default: Row()].add(nudge)
            all += 1
        }
        let sorted = rows.sorted { a, b in
            a.value.nudges == b.value.nudges
                ? a.key.lexicographicallyPrecedes(b.key) { $0.lexicographicallyPrecedes($1) }
                : a.value.nudges > b.value.nudges
        }
        return [
            "by": .list(by.map { AlertJSON.word($0.word) }),
            "rows": .list(sorted.map { tree($0.key, $0.value, of: all) }),
            "nudges": .integer(Int64(all)), "truncated": .boolean(hasStopped || hasMoreRows),
            "as_of": AlertJSON.time(present.clock.wallNow),
        ]
    }

    /// Returns the text of a key; empty if the phone did not tell it.
    private func name(of key: Key, _ nudge: Nudge, _ phone: GapFacts) -> [UInt8] {
        switch key {
        case .cause: Array("\(nudge.cause.word)".utf8)
        case .platform: Array("\(nudge.platform.word)".utf8)
        case .phone(let name): name.text(in: phone)
        }
    }

    private func tree(_ key: [[UInt8]], _ row: Row, of all: Int) -> JSONTree {
        let names = zip(by, key).map { key, text in
            JSONTree.Member(
                name: "\(key.word)", value: text.isEmpty ? .null : AlertJSON.text(text))
        }
        let followed = NudgeOutcome.allCases.map { outcome in
            JSONTree.Member(
                name: "\(outcome.word)",
                value: .integer(Int64(row.followed[Int(outcome.rawValue)])))
        }
        let seconds: JSONTree? = row.lengths.median.map { median in
            ["median": Self.seconds(median), "longest": Self.seconds(row.lengths.longest)]
        }
        let share = (Double(row.nudges) / Double(max(1, all)) * 10_000).rounded() / 10_000
        let counts: JSONTree = [
            "nudges": .integer(Int64(row.nudges)), "share": .number(share),
            "people": .integer(Int64(row.people.count)), "followed": .object(followed),
            "seconds": seconds ?? .null,
        ]
        return JSONTree.object(names).with(counts)
    }

    private static func seconds(_ span: Milliseconds) -> JSONTree {
        .number(Double(span.count) / 1000)
    }
}
