/// The counts of nudges and wakes; they go on over restarts (V2).
package struct NudgeCounters: Equatable, Sendable {
    /// Decided to be sent, and in dry runs.
    package private(set) var sent = 0
    package private(set) var dryRuns = 0
    /// By what the ledger has, but for what only cells have: `fresh` is only answered.
    private var holds = [Int](repeating: 0, count: Int(NudgeReason.fresh.rawValue))
    /// By outcome × platform.
    private var outcomes = [Int](
        repeating: 0, count: NudgeOutcome.allCases.count * Platform.allCases.count)
    package private(set) var wakes = 0
    private var notWoken = [Int](repeating: 0, count: WakeReason.allCases.count)
    /// By kind × outcome.
    private var pushes = [Int](
        repeating: 0, count: PushKind.allCases.count * PushOutcome.allCases.count)
    /// By what came of it: sent, in a dry run, of an outsider, disabled, then by the reason.
    private var asks = [Int](repeating: 0, count: 5 + Int(NudgeReason.fresh.rawValue))
    /// Of a cell: held, and not asked, because company was not known yet (K3).
    private var holdsOfPendingPeers = 0
    private var asksOfPendingPeers = 0

    package init() {}

    /// Returns how many asks came to something (R3).
    package func asked(_ result: AskResult) -> Int {
        result == .hold(.pendingPeers) ? asksOfPendingPeers : asks[Self.place(result)]
    }

    /// Returns how often somebody was not nudged for `reason`, as far as it is written.
    package func held(_ reason: NudgeReason) -> Int {
        reason == .pendingPeers ? holdsOfPendingPeers : holds[Int(reason.rawValue)]
    }

    /// True if nothing is counted that only cells have.
    var isWithoutCells: Bool { holdsOfPendingPeers == 0 && asksOfPendingPeers == 0 }

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
        // It is counted as an ask.
        case .send where report.facts.isAsked: break
        case .send: if report.isDryRun { dryRuns += 1 } else { sent += 1 }
        case .hold where report.reason == .pendingPeers: holdsOfPendingPeers += 1
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

    mutating func note(_ result: AskResult) {
        if result == .hold(.pendingPeers) {
            asksOfPendingPeers += 1
        } else {
            asks[Self.place(result)] += 1
        }
    }

    mutating func note(_ end: PushEnd) { pushes[Self.place(end.kind, end.outcome)] += 1 }

    /// Goes on from other counters in what is decided; what was told to us stays (J4).
    mutating func goOn(from other: NudgeCounters) {
        (sent, dryRuns) = (other.sent, other.dryRuns)
        (holds, outcomes) = (other.holds, other.outcomes)
        holdsOfPendingPeers = other.holdsOfPendingPeers
    }

    private static func place(_ result: AskResult) -> Int {
        switch result {
        case .send: 0
        case .dryRun: 1
        case .outsider: 2
        case .disabled: 3
        case .hold(let reason): 4 + Int(reason.rawValue)
        }
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

    /// Codes what version 8 added, at the end of all counts.
    mutating func codeAsks(_ archive: inout Archive) { Self.code(&asks, &archive) }

    /// Codes what only cells have.
    mutating func codePendingPeers(_ archive: inout Archive) {
        archive.code(&holdsOfPendingPeers)
        archive.code(&asksOfPendingPeers)
    }

    private static func code(_ counts: inout [Int], _ archive: inout Archive) {
        let expected = counts.count
        archive.code(&counts)
        guard counts.count != expected else { return }
        archive.refuse()
        counts = [Int](repeating: 0, count: expected)
    }
}
