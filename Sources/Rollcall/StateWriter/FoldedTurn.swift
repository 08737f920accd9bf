import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// A turn that is folded, and whoever waits for it.
struct FoldedTurn {
    /// Whoever waits for a write, and what the engine made of it.
    typealias Reply = (reply: @Sendable (WriteOutcome) -> Void, receipt: Receipt)

    var pending = PendingTurn()
    var replies: [Reply] = []
    var questions: [@Sendable (StateView) -> Void] = []
    /// True if one of them asks how people stand at its end.
    private(set) var asksStandings = false
    /// True if there is anything to be kept of it.
    var isDue = false
    /// It writes what is decided meanwhile, once that is a mass; its transaction is open from then on.
    var writer: DecisionWriter?
    let began = ContinuousClock.now
    let now: RunningTime
    let clock: ClockReading

    /// Nothing is folded yet, at an instant.
    init(at now: RunningTime, _ clock: ClockReading) {
        self.now = now
        self.clock = clock
    }

    /// Adds a write that is folded; who `asksStandings` hears how people stand at the turn's end.
    mutating func add(
        _ reply: @escaping @Sendable (WriteOutcome) -> Void, _ receipt: Receipt,
        asksStandings: Bool
    ) {
        replies.append((reply, receipt))
        guard asksStandings else { return }
        self.asksStandings = true
        replies[replies.count - 1].receipt.standings = []
    }

    /// Notes how people stand for those writes that ask for it: the turn is folded and evaluated, and
    /// `engine` is at its instant (R4, D7).
    mutating func noteStandings(_ engine: Engine) {
        for place in replies.indices where replies[place].receipt.standings != nil {
            let rows = replies[place].receipt.rows
            replies[place].receipt.standings = rows.map { engine.standing(of: $0.responder) }
        }
    }
}

/// A turn on its way to the log, and what came since: nothing is folded meanwhile (S3).
struct Proposal {
    var turn: FoldedTurn?
    /// Writes and questions, in their order.
    var held: [StateWriterMessage] = []
    /// The settings of this member's file: a new watch takes them, no reign does (S4).
    var policy = Policy()
    /// For how long nothing was watched while the last turn was on its way; nil if not for long.
    var unobserved: Milliseconds?
    /// The number of times that this member has not stood though it might have (S14).
    var abstentions = 0
    /// True once the store did not take what had landed, until it is known to take something.
    var hasStoreFailed = false
    /// Until when the word that this member leads no more may take to reach the log, once it was given.
    var handsOverUntil: Int64?
    /// The present outage of the log; nil without one.
    var outage: LogOutage?
    /// The instant from which the engine may be built anew; nil if that is not asked for.
    var rebuildsFrom: Int64?
}

/// A time in which this member does not reach the log. Instants are the machine's clock. Source: S18.
struct LogOutage {
    /// Between two questions to the other members.
    static let askEvery: Int64 = 3000
    /// After so long the last leader says that nothing can be stored, and the others later: an alarm
    /// fires `StoreAlarm.firesAfter` after it began.
    private static let leaderAfter = 15_000 - StoreAlarm.firesAfter.count
    private static let othersAfter = leaderAfter + 30_000

    let since: Int64
    var askedAt = Int64.min / 4
    /// True if another member holds all of the log: it is not the log that is away.
    var isSeenElsewhere = false

    init(since: Int64) { self.since = since }

    /// True once it is to be an alarm.
    func isDue(at elapsed: Int64, isLeader: Bool) -> Bool {
        elapsed - since >= (isLeader ? Self.leaderAfter : Self.othersAfter)
    }
}
