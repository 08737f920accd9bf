import RollcallCore

/// What went wrong in a story, and where.
struct Failure: Error, CustomStringConvertible {
    /// The line after which it was seen, from 0; the number of lines for the end.
    var line: Int
    /// The invariant, or what was compared.
    var check: String
    var detail: String

    /// True for what only the real journal shows.
    var isOfStore: Bool { check.hasPrefix("J3") }

    var description: String { "after line \(line + 1): \(check): \(detail)" }
}

/// A story told to the engine and to the oracle side by side, everything compared after each line.
struct Trial {
    private var engine: StoryEngine
    private var oracle: Oracle
    /// What was decided, by rules that hold for any story.
    private(set) var stream: DecisionStream
    private var line = 0
    /// By how much the wall stepped so far, without signs.
    private var steps: Set<Int64> = []
    /// Everything that the engine decided.
    private(set) var decided: [StoryDecision] = []
    /// What the edge made of each line.
    private(set) var events: [Event] = []

    private init(_ story: Story) {
        engine = StoryEngine(policy: story.policy)
        oracle = Oracle(policy: story.policy)
        stream = DecisionStream(policy: story.policy)
    }

    /// Runs `story` to its end. Errors: the first thing that was not as it must be.
    static func run(_ story: Story) throws(Failure) -> Trial {
        var trial = Trial(story)
        for line in story.lines {
            if case .clock(let step) = line.event { trial.steps.insert(abs(step)) }
            let event = Event(line)
            trial.events.append(event)
            try trial.compare(trial.engine.fold(line, event), trial.oracle.fold(line))
            trial.stream.fold(line)
            try trial.examine()
            trial.line += 1
        }
        try trial.compare(trial.engine.finish(), trial.oracle.finish())
        try trial.examine()
        return trial
    }

    /// Rare situations that the oracle met.
    var marks: Set<String> { oracle.marks }

    /// Everybody at the end.
    var people: [StoryPerson] { engine.people() }

    /// True if the watch is blind at the end.
    var isBlind: Bool { engine.engine.clock.isBlind }

    private func failure(_ check: String, _ detail: String) -> Failure {
        Failure(line: line, check: check, detail: detail)
    }

    /// True for the same decision. Where the wall stepped at the very instant of an onset, that
    /// instant has two walls, and either stamps it.
    private func isSame(_ a: StoryDecision, _ b: StoryDecision) -> Bool {
        guard case .blind(let at, let begins, let since, let reason) = a,
            case .blind(at, begins, let other, reason) = b
        else { return a == b }
        return since == other || steps.contains(abs(since - other))
    }

    private mutating func compare(
        _ engine: [StoryDecision], _ oracle: [StoryDecision]
    ) throws(Failure) {
        decided += engine
        if !engine.elementsEqual(oracle, by: isSame) {
            let place = zip(engine, oracle).prefix { isSame($0, $1) }.count
            let a = place < engine.count ? engine[place].text : "nothing"
            let b = place < oracle.count ? oracle[place].text : "nothing"
            throw failure("decisions", "engine \(a), oracle \(b)")
        }
        do throws(Breach) {
            try take(oracle)
        } catch {
            throw failure(error.rule, error.detail)
        }
    }

    /// Has the rules of any story evaluate what was decided, between the sights as they were: what
    /// is too short to be told is blindness too.
    private mutating func take(_ decisions: [StoryDecision]) throws(Breach) {
        var sights = oracle.sights[...]
        for (place, decision) in decisions.enumerated() {
            while let sight = sights.first, sight.place <= place {
                try stream.take(sight.decision)
                sights.removeFirst()
            }
            if case .blind = decision { continue }
            try stream.take(decision)
        }
        for sight in sights { try stream.take(sight.decision) }
    }

    private func examine() throws(Failure) {
        for broken in engine.engine.brokenInvariants() { throw failure("engine", broken) }
        if let broken = engine.brokenNumber { throw failure("E1", broken) }
        let people = engine.people()
        let expected = oracle.people()
        for (a, b) in zip(people, expected) where a != b {
            throw failure("people", "engine \(a), oracle \(b)")
        }
        if people.count != expected.count {
            throw failure("people", "engine \(people.count), oracle \(expected.count)")
        }
        if engine.engine.clock.isBlind != oracle.isBlind {
            throw failure("blindness", "oracle \(oracle.isBlind)")
        }
        let clock = engine.engine.clock
        let takes = engine.engine.alerting.notifications.takesCount(at: clock.now)
        if takes != oracle.takesInForce {
            throw failure("takes", "engine \(takes), oracle \(oracle.takesInForce)")
        }
        let sources = engine.sources()
        if sources != oracle.sourceStates() {
            throw failure("sources", "engine \(sources), oracle \(oracle.sourceStates())")
        }
        let counted = engine.engine.counters.updates
        let counts = oracle.updateCounts
        if counted != [counts.accepted, counts.duplicate, counts.late] {
            throw failure("INV-02", "updates: engine \(counted), oracle \(counts)")
        }
    }
}
