/// One setting: the very engine that runs live, and the count of what it decides.
package struct TuneRun: Sendable {
    private var run: ReplayRun
    package private(set) var aggregates: TuneAggregates
    private var comparison: TuneComparison
    private let healsWithin: Milliseconds
    /// True once the steps brought a policy in which these settings make no sense.
    package private(set) var isMisfit = false
    /// The number of times the steps brought another policy than the one before.
    package private(set) var policyChanges = 0
    private var last: Policy?

    /// A run under what `adapting` makes of `policy` and, unless `isFixed`, of what the steps say; it
    /// tells phones apart by `phoneName`.
    package init(
        policy: Policy, isFixed: Bool, healsWithin: Milliseconds,
        phoneName: PhoneName = .manufacturer,
        adapting: (@Sendable (Policy) -> Policy)? = nil
    ) {
        run = ReplayRun(
            policy: policy, isFixed: isFixed, isMeasuring: false, adapting: adapting)
        aggregates = TuneAggregates(healsWithin: healsWithin, phoneName: phoneName)
        comparison = TuneComparison(healsWithin: healsWithin)
        self.healsWithin = healsWithin
    }

    /// The settings that decide now.
    package var policy: Policy { run.engine.policy }

    /// The stats of the comparison with the present settings.
    package var stats: TuneComparison.Stats { comparison.stats }

    /// Takes the steps of a chunk.
    package mutating func take(_ chunk: ReplayChunk) {
        // Taken out meanwhile, so that run and aggregates can change side by side.
        var aggregates = TuneAggregates(healsWithin: healsWithin)
        swap(&aggregates, &self.aggregates)
        for place in chunk.places {
            switch place {
            case .batch(let batch):
                run.take(batch, of: chunk) { decision, engine in aggregates.take(decision, engine) }
                begin(&aggregates)
            case .other(let other): take(chunk.others[other], &aggregates)
            }
        }
        swap(&aggregates, &self.aggregates)
    }

    private var hasBegun = false

    private mutating func begin(_ aggregates: inout TuneAggregates) {
        if hasBegun { return }
        hasBegun = true
        aggregates.begin(run.engine)
    }

    private mutating func take(_ step: ReplayStep, _ aggregates: inout TuneAggregates) {
        if case .state(let engine, _) = step { aggregates.begin(engine) }
        run.take(step) { decision, engine in aggregates.take(decision, engine) }
        begin(&aggregates)
        switch step {
        case .state(let engine, _): note(engine.policy)
        case .event(.policy(let policy), _): note(policy)
        case .event, .end: break
        }
    }

    /// The steps told a policy, and it was taken.
    private mutating func note(_ policy: Policy) {
        if let last, last != policy { policyChanges += 1 }
        last = policy
        isMisfit = isMisfit || !self.policy.isInOrder
    }

    /// The history is over.
    package mutating func finish() {
        var aggregates = TuneAggregates(healsWithin: healsWithin)
        swap(&aggregates, &self.aggregates)
        run.finish { decision, engine in aggregates.take(decision, engine) }
        aggregates.finish(run.engine)
        swap(&aggregates, &self.aggregates)
    }

    /// All runs have taken the same steps: each is held against the first, which is the present
    /// settings'.
    package static func compare(_ runs: UnsafeMutableBufferPointer<TuneRun>, isOver: Bool) {
        guard !runs.isEmpty else { return }
        let gaps = runs[0].aggregates.takeEnded()
        for index in runs.indices {
            let ended = index == 0 ? gaps : runs[index].aggregates.takeEnded()
            runs[index].comparison.compare(
                runs[index].aggregates, ended, gaps: gaps, of: runs[0].aggregates)
            if isOver {
                runs[index].comparison.finish(runs[index].aggregates, present: runs[0].aggregates)
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
                && (!profile.background.isSet || profile.isPatientBehind)
        }
    }

    /// The longest that somebody on duty can be silent before they are OFFLINE, with the app before
    /// them.
    package var longestOnDuty: Milliseconds {
        onDuty.offlineAfter.scaled(
            by: max(1, lowPowerFactor) * max(1, iosFactor, androidFactor))
    }
}

extension Policy.Profile {
    /// True if the thresholds of the background are in order, and none is stricter than in front (P5).
    package var isPatientBehind: Bool {
        background.expected >= expected && background.degradedAfter >= degradedAfter
            && background.offlineAfter >= offlineAfter
            && background.expected <= background.degradedAfter
            && background.degradedAfter < background.offlineAfter
    }
}
