import RollcallCore
import RollcallTools

/// Changes to how time passes in a story, that must change nothing.
extension Metamorphosis {
    /// `advance(a)` then `advance(b)` is `advance(b)`. Source: J0.
    func smallerSteps() throws(Failure) {
        var dice = Dice(seed: story.seed ^ 0x57E_B5)
        var engine = StoryEngine(policy: story.policy)
        var other: [StoryDecision] = []
        let instants = story.instants
        for (place, line) in story.lines.enumerated() {
            other += engine.fold(line, events[place])
            let next = place + 1
            guard next < instants.count, instants[next] > instants[place],
                story.lines[next].mayFollowAStep, dice.chance(150)
            else { continue }
            other += engine.advance(to: dice.number(instants[place]...instants[next] - 1))
        }
        try compare("advance in parts", other + engine.finish())
    }

    /// Killed and started again within one instant: apart from saying so nothing changes, no alert
    /// either. Where sources are declared a start is a beat (F10), and where a receiver has a fallback
    /// what was not taken has its time anew (D3).
    func restartsAtOnce() throws(Failure) {
        func hasFallback(_ policy: StoryPolicy) -> Bool {
            policy.receivers.contains { $0.fallback != nil }
        }
        let isGivenAway =
            hasFallback(story.policy)
            || story.lines.contains {
                if case .policy(let policy) = $0.event { hasFallback(policy) } else { false }
            }
        let isBeating = story.lines.contains {
            if case .heartbeat = $0.event { true } else { false }
        }
        guard !isBeating, !isGivenAway else { return }
        var dice = Dice(seed: story.seed ^ 0x2E_57A27)
        var engine = StoryEngine(policy: story.policy)
        var other: [StoryDecision] = []
        let instants = story.instants
        for (place, line) in story.lines.enumerated() {
            other += engine.fold(line, events[place])
            if case .stop = line.event { continue }
            let isClosing = place + 1 == instants.count || instants[place + 1] > instants[place]
            guard isClosing, dice.chance(100) else { continue }
            other += engine.fold(StoryLine(at: line.at, event: .start), .start())
        }
        func withoutBlindness(_ decided: [StoryDecision]) -> [StoryDecision] {
            decided.filter { if case .blind = $0 { false } else { true } }
        }
        try compare(
            "restart at once", withoutBlindness(other + engine.finish()),
            with: withoutBlindness(decided))
    }
}
