import RollcallCore

/// The counts of metrics that were pushed.
package struct OTLPStats: Equatable, Sendable {
    /// The outcome of a request.
    package enum Outcome: Int, CaseIterable, Sendable {
        /// The collector took all of it.
        case delivered
        /// It took some of it.
        case partial
        /// It could not take it now, or was not reached.
        case failed
        /// It will not take it.
        case refused

        /// The label's value.
        var word: StaticString {
            switch self {
            case .delivered: "delivered"
            case .partial: "partial"
            case .failed: "failed"
            case .refused: "refused"
            }
        }
    }

    private var exports = [Int](repeating: 0, count: Outcome.allCases.count)
    /// Points that the collector rejected.
    private(set) var rejected = 0
    /// The instant at which it last took something.
    private(set) var deliveredAt: Timestamp?

    /// Returns how many requests came to `outcome`.
    package func count(of outcome: Outcome) -> Int { exports[outcome.rawValue] }

    /// Counts a request.
    mutating func count(_ outcome: Outcome, rejected: Int, at now: Timestamp) {
        exports[outcome.rawValue] += 1
        self.rejected &+= rejected
        if outcome == .delivered || outcome == .partial { deliveredAt = now }
    }

    /// Appends its families.
    func append(to page: inout Exposition) {
        page.family("rollcall_otlp_exports", .counter, "Requests that pushed metrics by OTLP.")
        for outcome in Outcome.allCases {
            page.sample(["outcome": .word(outcome.word)], Quantity(exports[outcome.rawValue]))
        }
        page.family(
            "rollcall_otlp_rejected_points", .counter,
            "Points of metrics that the collector did not take of a request that it took.")
        page.sample(Quantity(rejected))
        page.family(
            "rollcall_otlp_last_success_timestamp_seconds", .gauge,
            "When the collector last took metrics, or 0.")
        page.sample(deliveredAt.map { Quantity($0) } ?? 0)
    }
}
