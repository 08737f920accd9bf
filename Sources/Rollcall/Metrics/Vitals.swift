import RollcallCore
import Synchronization

/// How the watch does, as the keeper saw it after its last turn: for those who must not ask the
/// keeper (J8). Instants are the machine's clock, which also runs while it is suspended.
package struct Vitals: Equatable, Sendable {
    /// Why nobody may be told that the watch works. The words are told in the log.
    package enum Fault: String, CaseIterable, Sendable {
        case storeFailing = "the store does not take commits"
        case blind = "the watch is blind"
        case noCommit = "nothing was committed for 15 s"
        case noJudging = "nothing was judged for 15 s"
        case pageWaits = "a critical message has waited for 2 min"
    }

    /// The greatest age of the last commit and of the last judging: an idle keeper commits each 5 s
    /// (J2).
    package static let ageMax = Milliseconds(15_000)
    /// The greatest age of a critical message that no receiver has taken.
    package static let pageAgeMax = Milliseconds.seconds(120)

    /// When a commit was seen to work last.
    package var committedAt: Int64
    /// When everything that was due had been judged last.
    package var judgedAt: Int64
    /// When the oldest critical message that still waits was decided; nil if none does.
    package var pageWaitsSince: Int64?
    package var isBlind: Bool
    package var isStoreFailing: Bool

    /// What is wrong at `elapsed`; nil if the watch works. An age that is exactly the greatest is
    /// one too great: "younger than".
    package func fault(at elapsed: Int64) -> Fault? {
        func age(_ instant: Int64) -> Int64 { elapsed.subtractingReportingOverflow(instant).0 }
        if isStoreFailing { return .storeFailing }
        if isBlind { return .blind }
        if age(committedAt) >= Self.ageMax.count { return .noCommit }
        if age(judgedAt) >= Self.ageMax.count { return .noJudging }
        if let pageWaitsSince, age(pageWaitsSince) >= Self.pageAgeMax.count { return .pageWaits }
        return nil
    }
}

/// Where the keeper leaves its vitals, and others find them.
package final class VitalsBoard: Sendable {
    private let last = Mutex<Vitals?>(nil)

    /// A board with nothing on it.
    package init() {}

    /// What the keeper left last; nil before its first turn.
    package var vitals: Vitals? { last.withLock { $0 } }

    /// Leaves what is true now.
    package func publish(_ vitals: Vitals) { last.withLock { $0 = vitals } }
}
