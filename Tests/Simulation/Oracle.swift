/// What the contract expects of a story, line by line: naive, slow, and sharing nothing with the
/// engine.
///
/// It keeps raw facts on the monotonic clock (contacts, told times, blind windows) and after every
/// step looks at everybody again: no queue of deadlines, nothing remembered that could be derived.
/// Source: Contract/Blindness–§7, F1–F34.
struct Oracle {
    /// Milliseconds on the monotonic clock, which counts on from the first line's wall. Source: T1.
    typealias Instant = Int64
    /// Milliseconds since 1970 on the host's wall clock.
    typealias Wall = Int64
    /// Milliseconds of a span, or of an age in observed time. Source: T1.
    typealias Span = Int64

    /// An instant and what the wall showed then.
    struct Moment: Equatable {
        /// On the monotonic clock.
        var instant: Instant
        /// What the wall showed; later steps do not change it.
        var wall: Wall
    }

    /// Sight lost or back, whether it is told or too short for that. Source: B1, D5.
    struct Sight {
        /// How many decisions of the step come before it.
        let place: Int
        /// What would be told of it.
        let decision: StoryDecision
    }

    /// The settings in force. Source: L6.
    var policy: StoryPolicy
    /// False until the first line, which sets the clock.
    var hasBegun = false
    /// The instant of the line folded last, or the one being closed.
    var now: Instant = 0
    /// The sum of the wall's steps so far. Source: T1.
    var steps: Span = 0
    /// The newest line: the last moment that was surely seen. Source: B1.
    var lastLine = Moment(instant: 0, wall: 0)
    /// Between `stop` and `start`, when no other line is allowed. Source: F5.
    var isStopped = false
    /// Everybody known, by id bytes. Source: F1.
    var everybody: [Person] = []
    /// Whom `erase` removed and nobody named since. Source: F17.
    var erased: Set<Name> = []
    /// Rosters of which some parts came, or that are over.
    var rosters: [PartlyRoster] = []
    /// Worse statuses that the server declared of people who were heard. Source: L7.
    var declarations: [Declaration] = []
    /// The declared backends. Source: B2.
    var sources: [Source] = []
    /// What is known of the clocks of backends. Source: D10.
    var clocks = ClockBook()
    /// The writes of the last 15 s. Source: B1.
    var writes: [Write] = []
    /// Since when the store fails. Source: B1.
    var storeFailing: Moment?
    /// All blind windows, by onset. Source: B1.
    var windows: [Window] = []
    /// When graces were granted. Source: B5.
    var graces: [Instant] = []
    /// When gaps opened, oldest first, until they are found too old. Source: C1.
    var openings: [Opening] = []
    /// The newest event with a batch. Source: B3.
    var lastBatch: LastBatch?
    /// Whether the feed is suspected to be stalled. Source: B3.
    var isFeedStalled = false
    /// Alerts that are pending or firing. Source: A1.
    var alerts: [AlertID: Alert] = [:]
    /// What is known of telling the alerts that fire. Source: A6.
    var tellings: [AlertID: Telling] = [:]
    /// Alerts that ceased to fire at this instant, as they were.
    var alertsOver: [AlertID: Telling] = [:]
    /// In force, by number. Source: A7.
    var silences: [ActiveSilence] = []
    /// The number of the newest one.
    var silencesBegun: Int64 = 0
    /// The number of the newest firing, of what no replay prints too.
    var incidentsBegun: Int64 = 0
    /// Who sees to what, by the incident's number. Source: R2.
    var takes: [Int64: Take] = [:]
    /// When a nudge was decided within the last second. Source: N10.
    var nudgesSent: [Instant] = []
    /// Nudges are frozen until then. Source: N2.
    var frozenUntil: Wall?
    /// When we last saw again after a blind episode of 15 s or more. Source: F31.
    var sawAgainAt: Instant?
    /// Rare situations that were met.
    var marks: Set<String> = []
    /// Whether a batch, a fact or a roster ever came. Source: F29.
    var hasInput = false
    /// What the present step has decided so far.
    var decisions: [StoryDecision] = []
    /// When sight was lost and came back in the present step, told or not.
    var sights: [Sight] = []
    /// What became of all updates so far. Source: I1, F13.
    var updateCounts: (accepted: Int, duplicate: Int, late: Int) = (0, 0, 0)

    /// A watch that knows nobody yet.
    init(policy: StoryPolicy) { self.policy = policy }

    /// Closes the instants before `line`, folds it, and tells what both decided, in the order of
    /// `rollcall replay --updates`.
    ///
    /// The line's own instant stays open until a later line or `finish` closes it: blindness,
    /// expiries and deadlines of that instant are not decided yet. A line other than `start` after
    /// `stop` is an error of the story and folds nothing. Source: F1, F5.
    mutating func fold(_ line: StoryLine) -> [StoryDecision] {
        decisions = []
        sights = []
        if isStopped, case .start = line.event {} else if isStopped { return [] }
        var step: Span = 0
        if case .clock(let stepMilliseconds) = line.event { step = stepMilliseconds }
        let told = line.at - steps - step
        let target = hasBegun ? max(told, now) : told
        move(to: target, for: line.event)
        steps += step
        take(line)
        hasBegun = true
        lastLine = Moment(instant: now, wall: wall)
        return decisions
    }

    /// Closes the last line's instant. Source: F5.
    mutating func finish() -> [StoryDecision] {
        decisions = []
        sights = []
        if hasBegun { close() }
        return decisions
    }

    /// Everybody known, by id bytes, as of the last line folded; its instant is not closed yet.
    func people() -> [StoryPerson] {
        everybody.map { person in
            StoryPerson(
                responderID: person.responderID,
                status: Status.text(person.status),
                notExpected: person.status == nil ? person.absence : nil)
        }
    }

    /// Whether a blind window is open as of the last line folded; its instant is not closed yet, so
    /// what that line begins or ends shows one step later, only `start` and late turns at once.
    var isBlind: Bool { windows.contains { $0.until == nil } }
}
