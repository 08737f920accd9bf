/// The error that ends a replay before its file does.
package struct ReplayError: Error, Equatable, Sendable {
    /// The line, from 1.
    package var line: Int
    /// The fault of the line.
    package var message: String
}

/// An engine that is driven in virtual time by the steps of a replay: the very engine that runs live.
package struct ReplayRun: Sendable {
    package private(set) var engine: Engine
    /// The policy that decides whatever the steps say; nil for what they say.
    private let fixed: Policy?
    /// The change that is made to the policies that the steps say; nil for none.
    private let adapt: (@Sendable (Policy) -> Policy)?
    private var last: RunningTime?
    private var isEnded = false
    /// The engine's number of each person, by the place of their name; -1 while nobody asked.
    private var numbers: ContiguousArray<Int32> = []
    /// The receipt of batches that are taken the short way; nobody reads it.
    private var receipt = Receipt()

    /// A run that decides by `policy`, from end to end if `isFixed`, else until the steps say
    /// otherwise. With `reportsUpdates` it also tells what became of every update; `isMeasuring` is as
    /// in the engine. Each policy, this one too, decides as `adapting` makes it: some settings are
    /// others, whatever the steps say.
    /// It begins with `past`, what became of gaps before.
    package init(
        policy: Policy, isFixed: Bool = false, reportsUpdates: Bool = false,
        isMeasuring: Bool = true, past: PastGaps = PastGaps(),
        adapting adapt: (@Sendable (Policy) -> Policy)? = nil
    ) {
        let policy = adapt?(policy) ?? policy
        engine = Engine(policy: policy)
        engine.reportsUpdates = reportsUpdates
        engine.isMeasuring = isMeasuring
        engine.gaps.past = past
        fixed = isFixed ? policy : nil
        self.adapt = adapt
    }

    /// Takes a step and hands over what was decided by it, and before it.
    package mutating func take(_ step: ReplayStep, _ decided: (Decision, Engine) -> Void) {
        switch step {
        case .state(let engine, let instant):
            let (reportsUpdates, isMeasuring) = (
                self.engine.reportsUpdates, self.engine.isMeasuring
            )
            self.engine = engine
            self.engine.reportsUpdates = reportsUpdates
            self.engine.isMeasuring = isMeasuring
            // It is closed already, but for other settings.
            last = nil
            if let decisive = fixed ?? adapt?(engine.policy), decisive != engine.policy {
                last = instant
                _ = self.engine.fold(.policy(decisive), at: instant)
            }
        case .event(.policy, let instant) where fixed != nil:
            take(.event(nil, at: instant), decided)
        case .event(let reported, let instant):
            let event = adapted(reported)
            close(before: instant, decided)
            if case .erase = event {
                // What was decided before must be told while the name is known.
                engine.arrive(at: instant)
                drain(decided)
            }
            if let event { _ = engine.fold(event, at: instant) } else { engine.arrive(at: instant) }
        case .end(let instant, let advances):
            let isOpen = last == instant
            close(before: instant, decided)
            if advances {
                engine.advance(to: instant)
            } else if isOpen {
                engine.settle()
            }
            isEnded = true
        }
        drain(decided)
    }

    /// Takes the steps of a chunk: the same as one after the other, in a fraction of the time.
    package mutating func take(_ chunk: ReplayChunk, _ decided: (Decision, Engine) -> Void) {
        for place in chunk.places {
            switch place {
            case .batch(let batch): take(batch, of: chunk, decided)
            case .other(let other): take(chunk.others[other], decided)
            }
        }
    }

    /// Takes a batch of a chunk.
    mutating func take(
        _ batch: Int, of chunk: ReplayChunk, _ decided: (Decision, Engine) -> Void
    ) {
        let name = chunk.batches[batch].name
        while numbers.count <= name { numbers.append(-1) }
        if numbers[name] >= 0, takeWhileIdle(batch, of: chunk, Int(numbers[name]), decided) {
            return
        }
        take(chunk.step(batch), decided)
        // Whoever is enrolled again after an erasure has another one.
        let id = chunk.items[batch].responderID.indices
        let known = engine.roster.number(of: chunk.list.bytes.span, id)
        numbers[name] = Int32(truncatingIfNeeded: known ?? -1)
    }

    /// Takes a batch about person `number` the short way, as `take` would; false if there is none:
    /// then it is still to be taken.
    private mutating func takeWhileIdle(
        _ batch: Int, of chunk: ReplayChunk, _ number: Int, _ decided: (Decision, Engine) -> Void
    ) -> Bool {
        let instant = chunk.batches[batch].at
        let isIdle = engine.isIdle(at: instant)
        if !engine.decisions.isEmpty { drain(decided) }
        guard isIdle else { return false }
        last = instant
        // Looked up only if it is asked for: it is shared by all threads that take the chunk.
        let source: [UInt8]? =
            engine.sight.feed.asksForSources ? chunk.sources[chunk.batches[batch].source] : nil
        let isTaken = engine.foldWhileIdle(
            chunk.items[batch], of: chunk.list, number, source: source, at: instant, &receipt)
        if !engine.decisions.isEmpty { drain(decided) }
        return isTaken
    }

    /// Closes the last step's instant.
    package mutating func finish(_ decided: (Decision, Engine) -> Void) {
        if !isEnded, last != nil { engine.settle() }
        drain(decided)
        isEnded = true
    }

    private func adapted(_ event: Event?) -> Event? {
        guard let adapt, case .policy(let policy) = event else { return event }
        return .policy(adapt(policy))
    }

    private mutating func close(
        before instant: RunningTime, _ decided: (Decision, Engine) -> Void
    ) {
        if let last, instant > last {
            engine.settle()
            drain(decided)
        }
        last = instant
    }

    private mutating func drain(_ decided: (Decision, Engine) -> Void) {
        for decision in engine.decisions { decided(decision, engine) }
        engine.decisions.removeAll(keepingCapacity: true)
        // Rows of a store that a replay does not have.
        _ = engine.takeDarkBookings()
    }
}

/// Folds the lines of a file in virtual time and prints every decision as a line.
///
/// What it prints is what would have been decided. Source: V7, F1, F5.
package struct Replay {
    private var reader: ReplayReader
    private var run: ReplayRun

    /// The engine as of the last line.
    package var engine: Engine { run.engine }

    /// A replay under `policy`. `decodePolicy` reads the body of `policy` lines; nil ignores them.
    /// It begins with `past`, what became of gaps before.
    package init(
        policy: Policy, reportsUpdates: Bool = false, past: PastGaps = PastGaps(),
        decodePolicy: (([UInt8]) throws -> Policy)? = nil
    ) {
        reader = ReplayReader(decodePolicy: decodePolicy)
        run = ReplayRun(
            policy: policy, isFixed: decodePolicy == nil, reportsUpdates: reportsUpdates,
            past: past)
    }

    /// Folds one line (without its line feed) and appends what it made the engine decide.
    /// - Throws: `ReplayError` if the line is not JSON, is none of a replay, or may not stand here.
    package mutating func fold(
        _ bytes: [UInt8], to output: inout [UInt8]
    ) throws(ReplayError) {
        guard let step = try reader.read(bytes) else { return }
        run.take(step) { DecisionLine.append($0, $1, to: &output) }
    }

    /// Closes the last line's instant.
    package mutating func finish(to output: inout [UInt8]) {
        run.finish { DecisionLine.append($0, $1, to: &output) }
    }
}
