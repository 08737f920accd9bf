/// One setting: the very engine that runs live, and the count of what it decides.
package struct TuneRun: Sendable {
    private var run: ReplayRun
    package private(set) var tally: TuneTally
    private var comparison: TuneComparison
    private let healsWithin: Milliseconds
    /// True once the steps brought a policy in which these settings make no sense.
    package private(set) var isMisfit = false
    /// The number of times the steps brought another policy than the one before.
    package private(set) var policyChanges = 0
    private var told: Policy?

    /// A run under what `adapting` makes of `policy` and, unless `isFixed`, of what the steps say.
    package init(
        policy: Policy, isFixed: Bool, healsWithin: Milliseconds,
        adapting: (@Sendable (Policy) -> Policy)? = nil
    ) {
        run = ReplayRun(
            policy: policy, isFixed: isFixed, isMeasuring: false, adapting: adapting)
        tally = TuneTally(healsWithin: healsWithin)
        comparison = TuneComparison(healsWithin: healsWithin)
        self.healsWithin = healsWithin
    }

    /// The settings that decide now.
    package var policy: Policy { run.engine.policy }

    /// The figures of the comparison with the present settings.
    package var figures: TuneComparison.Figures { comparison.figures }

    /// Takes the steps of a chunk.
    package mutating func take(_ chunk: ReplayChunk) {
        // Taken out meanwhile, so that run and tally can change side by side.
        var tally = TuneTally(healsWithin: healsWithin)
        swap(&tally, &self.tally)
        for place in chunk.places {
            switch place {
            case .batch(let batch):
                run.take(batch, of: chunk) { decision, engine in tally.take(decision, engine) }
                begin(&tally)
            case .other(let other): take(chunk.others[other], &tally)
            }
        }
        swap(&tally, &self.tally)
    }

    private var hasBegun = false

    private mutating func begin(_ tally: inout TuneTally) {
        if hasBegun { return }
        hasBegun = true
        tally.begin(run.engine)
    }

    private mutating func take(_ step: ReplayStep, _ tally: inout TuneTally) {
        if case .state(let engine, _) = step { tally.begin(engine) }
        run.take(step) { decision, engine in tally.take(decision, engine) }
        begin(&tally)
        switch step {
        case .state(let engine, _): note(engine.policy)
        case .event(.policy(let policy), _): note(policy)
        case .event, .end: break
        }
    }

    /// The steps told a policy, and it was taken.
    private mutating func note(_ policy: Policy) {
        if let told, told != policy { policyChanges += 1 }
        told = policy
        isMisfit = isMisfit || !self.policy.isInOrder
    }

    /// The history is over.
    package mutating func finish() {
        var tally = TuneTally(healsWithin: healsWithin)
        swap(&tally, &self.tally)
        run.finish { decision, engine in tally.take(decision, engine) }
        tally.finish(run.engine)
        swap(&tally, &self.tally)
    }

    /// All runs have taken the same steps: each is held against the first, which is the present
    /// settings'.
    package static func compare(_ runs: UnsafeMutableBufferPointer<TuneRun>, isOver: Bool) {
        guard !runs.isEmpty else { return }
        let gaps = runs[0].tally.takeEnded()
        for index in runs.indices {
            let ended = index == 0 ? gaps : runs[index].tally.takeEnded()
            runs[index].comparison.compare(
                runs[index].tally, ended, gaps: gaps, of: runs[0].tally)
            if isOver {
                runs[index].comparison.finish(runs[index].tally, present: runs[0].tally)
            }
        }
    }
}

extension Policy {
    /// True if each profile expects sooner than it calls late, and that sooner than OFFLINE.
    package var isInOrder: Bool {
        [onDuty, onMission].allSatisfy { profile in
            profile.expected <= profile.degradedAfter
                && profile.degradedAfter < profile.offlineAfter
        }
    }

    /// The longest that somebody on duty can be silent before they are OFFLINE.
    package var longestOnDuty: Milliseconds {
        onDuty.offlineAfter.scaled(
            by: max(1, lowPowerFactor) * max(1, iosFactor, androidFactor))
    }
}
