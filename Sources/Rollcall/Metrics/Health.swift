import RollcallCore
import Synchronization

/// The health of the watch, as the state writer saw it after its last turn: for those who must not
/// ask the state writer (J8). Instants are the machine's clock, which also runs while it is
/// suspended.
package struct Health: Equatable, Sendable {
    /// The reason why nobody may be told that the watch works. The words are told in the log.
    package enum Fault: String, CaseIterable, Sendable {
        case storeFailing = "the store does not take commits"
        case blind = "the watch is blind"
        case noCommit = "nothing was committed for 15 s"
        case noEvaluation = "nothing was judged for 15 s"
        case messageWaits = "a critical message has waited for 2 min"
    }

    /// The greatest age of the last commit and of the last evaluation: an idle state writer commits
    /// each 5 s (J2).
    package static let ageMax = Milliseconds(15_000)
    /// The greatest age of a critical message that no receiver has taken.
    package static let messageAgeMax = Milliseconds.seconds(120)

    /// The instant at which a commit was last seen to work.
    package var committedAt: Int64
    /// The instant at which everything that was due had last been evaluated.
    package var evaluatedAt: Int64
    /// The instant at which the oldest critical message that still waits was decided; nil if none
    /// does.
    package var messageWaitsSince: Int64?
    package var isBlind: Bool
    package var isStoreFailing: Bool

    /// Returns the fault at `elapsed`; nil if the watch works. An age that is exactly the greatest
    /// is one too great: "younger than".
    package func fault(at elapsed: Int64) -> Fault? {
        func age(_ instant: Int64) -> Int64 { elapsed.subtractingReportingOverflow(instant).0 }
        if isStoreFailing { return .storeFailing }
        if isBlind { return .blind }
        if age(committedAt) >= Self.ageMax.count { return .noCommit }
        if age(evaluatedAt) >= Self.ageMax.count { return .noEvaluation }
        if let messageWaitsSince, age(messageWaitsSince) >= Self.messageAgeMax.count {
            return .messageWaits
        }
        return nil
    }
}

/// The board on which the state writer leaves its health, and others find them.
package final class HealthBoard: Sendable {
    private let last = Mutex<Health?>(nil)

    /// A board with nothing on it.
    package init() {}

    /// The health that the state writer left last; nil before its first turn.
    package var health: Health? { last.withLock { $0 } }

    /// Leaves what is true now.
    package func publish(_ health: Health) { last.withLock { $0 = health } }
}
