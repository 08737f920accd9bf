import RollcallCore
import RollcallStore
import RollcallSupport

/// A turn that is folded, and whoever waits for it.
struct FoldedTurn {
    var pending = PendingTurn()
    var replies: [(reply: @Sendable (WriteOutcome) -> Void, receipt: Receipt)] = []
    var questions: [@Sendable (StateView) -> Void] = []
    /// True if there is anything to be kept of it.
    var isDue = false
    let began = ContinuousClock.now
    let now: RunningTime
    let clock: ClockReading

    /// Nothing is folded yet, at an instant.
    init(at now: RunningTime, _ clock: ClockReading) {
        self.now = now
        self.clock = clock
    }
}

/// A turn on its way to the log, and what came since: nothing is folded meanwhile (S3).
struct Proposal {
    var turn: FoldedTurn?
    /// Writes and questions, in their order.
    var held: [StateWriterMessage] = []
    /// The settings of this member's file: a new watch takes them, no reign does (S4).
    var policy = Policy()
    /// How often it has not stood though it might have (S14).
    var abstentions = 0
    /// True once the store did not take what had landed, until it is known to take something.
    var hasStoreFailed = false
    /// The instant from which the engine may be built anew; nil if that is not asked for.
    var rebuildsFrom: Int64?
}
