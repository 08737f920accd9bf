/// The counts of nudges and wakes; they go on over restarts (V2).
package struct NudgeCounters: Equatable, Sendable {
    /// Decided to be sent, and in dry runs.
    package private(set) var sent = 0
    package private(set) var dryRuns = 0
    private var holds = [Int](repeating: 0, count: NudgeReason.allCases.count)
    /// By outcome × platform.
    private var outcomes = [Int](
        repeating: 0, count: NudgeOutcome.allCases.count * Platform.allCases.count)
    package private(set) var wakes = 0
    private var notWoken = [Int](repeating: 0, count: WakeReason.allCases.count)
    /// By kind × outcome.
    private var pushes = [Int](
        repeating: 0, count: PushKind.allCases.count * PushOutcome.allCases.count)

    package init() {}

    /// Returns how often somebody was not nudged for `reason`, as far as it is written.
    package func held(_ reason: NudgeReason) -> Int { holds[Int(reason.rawValue)] }

    /// Returns how often nudges on a platform had an outcome.
    package func followed(_ outcome: NudgeOutcome, _ platform: Platform) -> Int {
        outcomes[Self.place(outcome, platform)]
    }

    /// Returns how often somebody was not woken for `reason`.
    package func notWoken(_ reason: WakeReason) -> Int { notWoken[Int(reason.rawValue)] }

    /// Returns how many pushes came to an end.
    package func pushed(_ kind: PushKind, _ outcome: PushOutcome) -> Int {
        pushes[Self.place(kind, outcome)]
    }

    mutating func note(_ report: NudgeReport) {
        switch report.kind {
        case .send: if report.isDryRun { dryRuns += 1 } else { sent += 1 }
        case .hold: if let reason = report.reason { holds[Int(reason.rawValue)] += 1 }
        case .followed:
            if let outcome = report.outcome {
                outcomes[Self.place(outcome, report.facts.platform)] += 1
            }
        }
    }

    mutating func note(wake reason: WakeReason?) {
        if let reason { notWoken[Int(reason.rawValue)] += 1 } else { wakes += 1 }
    }

    mutating func note(_ end: PushEnd) { pushes[Self.place(end.kind, end.outcome)] += 1 }

    /// Goes on from other counters in what is decided; what was told to us stays (J4).
    mutating func goOn(from other: NudgeCounters) {
        (sent, dryRuns) = (other.sent, other.dryRuns)
        (holds, outcomes) = (other.holds, other.outcomes)
    }

    private static func place(_ outcome: NudgeOutcome, _ platform: Platform) -> Int {
        Int(outcome.rawValue) * Platform.allCases.count + Int(platform.rawValue)
    }

    private static func place(_ kind: PushKind, _ outcome: PushOutcome) -> Int {
        Int(kind.rawValue) * PushOutcome.allCases.count + Int(outcome.rawValue)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&sent)
        archive.code(&dryRuns)
        Self.code(&holds, &archive)
        Self.code(&outcomes, &archive)
        archive.code(&wakes)
        Self.code(&notWoken, &archive)
        Self.code(&pushes, &archive)
    }

    private static func code(_ counts: inout [Int], _ archive: inout Archive) {
        let expected = counts.count
        archive.code(&counts)
        guard counts.count != expected else { return }
        archive.refuse()
        counts = [Int](repeating: 0, count: expected)
    }
}
