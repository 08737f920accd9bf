import RollcallCore

/// The counts of requests that came under a name of their own. Source: S19.
struct KeyedStats: Sendable {
    /// An `Outcome` says what became of a request's name.
    enum Outcome: Int, CaseIterable, Sendable {
        /// Its request was done, and it is kept.
        case kept
        /// Its request had been done before.
        case repeated
        /// Something else had been done under it.
        case otherRequest
        /// It cannot be read.
        case malformed
        /// It had to go before its time, to make room.
        case forgotten

        /// The label's value.
        var word: StaticString {
            switch self {
            case .kept: "kept"
            case .repeated: "repeated"
            case .otherRequest: "other_request"
            case .malformed: "malformed"
            case .forgotten: "forgotten"
            }
        }
    }

    private var counts = [Int](repeating: 0, count: Outcome.allCases.count)

    /// Counts so many of an outcome.
    mutating func count(_ outcome: Outcome, _ times: Int) { counts[outcome.rawValue] += times }

    /// Appends the family.
    func append(to page: inout Exposition) {
        page.family(
            "rollcall_idempotency_keys", .counter,
            "Names of requests (Idempotency-Key), by what became of them.")
        for outcome in Outcome.allCases {
            page.sample(
                ["outcome": .word(outcome.word)], Quantity(counts[outcome.rawValue]))
        }
    }
}
