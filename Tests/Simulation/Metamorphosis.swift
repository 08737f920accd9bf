import RollcallCore
import RollcallTools

/// Changes to a story, or to how it is told, that must change nothing.
struct Metamorphosis {
    /// The story as it was told, and what came of it.
    let story: Story
    let events: [Event]
    let decided: [StoryDecision]
    let people: [StoryPerson]

    /// Tries all of them. Errors: the first that did change something.
    func check() throws(Failure) {
        try sameAgain()
        try restarts()
        try replay()
        try permutedItems()
        try steppedWall()
        try smallerSteps()
        try restartsAtOnce()
    }

    /// INV-28: same story, same trace.
    private func sameAgain() throws(Failure) {
        var engine = StoryEngine(policy: story.policy)
        let again = zip(story.lines, events).flatMap { engine.fold($0, $1) }
        try compare("INV-28", again + engine.finish())
    }

    /// INV-27, INV-34: a restart of no length at any step changes nothing.
    private func restarts() throws(Failure) {
        var dice = Dice(seed: story.seed ^ 0x5E_57A7)
        var engine = StoryEngine(policy: story.policy)
        var decided: [StoryDecision] = []
        let instants = story.instants
        for (place, line) in story.lines.enumerated() {
            decided += engine.fold(line, events[place])
            // The state writer stops between two turns, each of which closes its instant.
            let isClosing = place + 1 == instants.count || instants[place + 1] > instants[place]
            guard isClosing, dice.chance(100) else { continue }
            decided += engine.finish()
            let checkpoint = Checkpoint(engine.engine)
            var reader = CheckpointReader()
            for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
            guard var copy = reader.finish() else {
                throw Failure(line: place, check: "INV-27", detail: "a checkpoint is unreadable")
            }
            copy.reportsUpdates = true
            engine.engine = copy
        }
        try compare("INV-34", decided + engine.finish())
        if let broken = engine.brokenNumber {
            throw Failure(line: story.lines.count, check: "E1", detail: broken)
        }
    }

    /// What `rollcall replay` prints is what was decided, and so is what runs decide that take the
    /// short way wherever there is one.
    private func replay() throws(Failure) {
        // The file begins with the settings if they are not the default.
        if story.lines.contains(where: { if case .policy = $0.event { true } else { false } }) {
            return
        }
        var story = story
        story.policy = StoryPolicy()
        let lines = Array(story.replayFile().utf8).split(separator: UInt8(ascii: "\n"))
        var replay = Replay(policy: Policy(self.story.policy), reportsUpdates: true) { _ in
            preconditionFailure("settings are compared without")
        }
        var run = ReplayRun(policy: Policy(self.story.policy), reportsUpdates: true)
        var output: [UInt8] = []
        var shortOutput: [UInt8] = []
        do throws(ReplayError) {
            for line in lines { try replay.fold(Array(line), to: &output) }
            let chunk = try chunk(lines)
            run.take(chunk) { DecisionLine.append($0, $1, to: &shortOutput) }
        } catch {
            throw Failure(line: error.line - 1, check: "replay", detail: error.message)
        }
        replay.finish(to: &output)
        run.finish { DecisionLine.append($0, $1, to: &shortOutput) }
        try compare("the short way", shortOutput, with: output)
        let printed = String(decoding: output, as: UTF8.self).withoutEvidence
        let expected = decided.filter(\.isPrinted).map { $0.text + "\n" }.joined()
        try compare("replay", Array(printed.utf8), with: Array(expected.utf8))
        try compareStates(run.engine, replay.engine)
    }

    private func chunk(_ lines: [ArraySlice<UInt8>]) throws(ReplayError) -> ReplayChunk {
        var reader = ReplayReader { _ in preconditionFailure("settings are compared without") }
        var names = ReplayNames()
        var chunk = ReplayChunk()
        for line in lines {
            if let step = try reader.read(Array(line)) { chunk.append(step, &names) }
        }
        return chunk
    }

    private func compare(
        _ check: String, _ printed: [UInt8], with expected: [UInt8]
    ) throws(Failure) {
        guard printed != expected else { return }
        let pairs = zip(
            String(decoding: printed, as: UTF8.self).split(separator: "\n"),
            String(decoding: expected, as: UTF8.self).split(separator: "\n"))
        let first = pairs.first { $0 != $1 }
        throw Failure(
            line: story.lines.count, check: check, detail: "\(String(describing: first))")
    }

    /// The same was decided, and the same is remembered.
    private func compareStates(_ a: Engine, _ b: Engine) throws(Failure) {
        let (a, b) = (Checkpoint(a), Checkpoint(b))
        for index in 0..<max(a.sliceCount, b.sliceCount) where a.slice(index) != b.slice(index) {
            throw Failure(
                line: story.lines.count, check: "the short way",
                detail: "slice \(index) of the state")
        }
    }

    /// INV-31: the order of a request's items changes no status.
    private func permutedItems() throws(Failure) {
        var dice = Dice(seed: story.seed ^ 0x1_7E35)
        var engine = StoryEngine(policy: story.policy)
        var other: [StoryDecision] = []
        for (place, line) in story.lines.enumerated() {
            var line = line
            switch line.event {
            case .batch(let items) where items.count > 1:
                line.event = .batch(permuted(items, \.responderID, &dice))
            case .responder(let items) where items.count > 1:
                line.event = .responder(permuted(items, \.responderID, &dice))
            case .roster(let items, let note) where items.count > 1:
                line.event = .roster(permuted(items, \.responderID, &dice), note)
            default:
                other += engine.fold(line, events[place])
                continue
            }
            other += engine.fold(line)
        }
        other += engine.finish()
        // Nor is anybody's gap another one, whose line comes first may change; nor an alert, which
        // is evaluated after all (L12), nor a nudge. Who comes and goes within a request may leave
        // somebody alone for a moment: while blind such people are held anew (F32).
        for pick in [gaps, alerts, nudges] {
            guard let (a, b) = firstDifference(pick(other), pick(decided)) else { continue }
            throw Failure(line: story.lines.count, check: "INV-31", detail: "\(a), was \(b)")
        }
        if let (a, b) = zip(engine.people(), people).first(where: { $0 != $1 }) {
            throw Failure(line: story.lines.count, check: "INV-31", detail: "\(a), was \(b)")
        }
    }

    /// Everybody's gap lines, each person's in their order.
    private func gaps(_ decided: [StoryDecision]) -> [String] {
        var lines: [String: [String]] = [:]
        for decision in decided {
            guard case .gap(_, let id, _, _, _) = decision else { continue }
            lines[id, default: []].append(decision.text)
        }
        return lines.keys.sorted().flatMap { lines[$0] ?? [] }
    }

    private func alerts(_ decided: [StoryDecision]) -> [String] {
        decided.compactMap { if case .alert = $0 { $0.text } else { nil } }
    }

    /// Who is nudged when.
    private func nudges(_ decided: [StoryDecision]) -> [String] {
        decided.compactMap { decision in
            guard case .nudge(_, _, let kind, _) = decision, kind != "hold" else { return nil }
            return decision.text
        }
    }

    private func firstDifference(_ a: [String], _ b: [String]) -> (String, String)? {
        for place in 0..<max(a.count, b.count) {
            let left = place < a.count ? a[place] : "nothing"
            let right = place < b.count ? b[place] : "nothing"
            if left != right { return (left, right) }
        }
        return nil
    }

    /// Another order, unless somebody is named twice: then the order says something.
    private func permuted<Item>(
        _ items: [Item], _ id: (Item) -> String, _ dice: inout Dice
    ) -> [Item] {
        guard Set(items.map(id)).count == items.count else { return items }
        var items = items
        for place in items.indices.dropFirst().reversed() {
            items.swapAt(place, Int(dice.number(0...Int64(place))))
        }
        return items
    }

    /// INV-30: steps of the wall change no status. Phones' clocks do not step with it.
    private func steppedWall() throws(Failure) {
        guard !story.lines.contains(where: \.readsTheWall) else { return }
        var dice = Dice(seed: story.seed ^ 0xC1_0C4)
        var engine = StoryEngine(policy: story.policy)
        var step: Int64 = 0
        var decided: [StoryDecision] = []
        var isStopped = false
        for line in story.lines {
            if dice.chance(20), !isStopped, line.mayFollowAStep {
                let by = dice.number(-7_200_000...7_200_000)
                step += by
                decided += engine.fold(
                    StoryLine(at: line.at + step, event: .clock(stepMilliseconds: by)))
            }
            decided += engine.fold(line.shifted(by: step))
            if case .stop = line.event { isStopped = true } else { isStopped = false }
        }
        decided += engine.finish()
        let a = decided.compactMap(\.untimed)
        let b = self.decided.compactMap(\.untimed)
        if a != b {
            let first = zip(a, b).first { $0 != $1 }
            throw Failure(
                line: story.lines.count, check: "INV-30",
                detail: "\(a.count) for \(b.count), \(String(describing: first))")
        }
    }

    /// Errors: what else was decided than in `expected`, or than before.
    func compare(
        _ check: String, _ other: [StoryDecision], with expected: [StoryDecision]? = nil
    ) throws(Failure) {
        let decided = expected ?? decided
        guard other != decided else { return }
        let first = zip(other, decided).first { $0 != $1 }
        throw Failure(
            line: story.lines.count, check: check,
            detail: "\(other.count) for \(decided.count), \(String(describing: first))")
    }
}

extension StoryDecision {
    /// False for what a replay does not print.
    fileprivate var isPrinted: Bool {
        switch self {
        case .notice, .mute, .take, .ask: false
        default: true
        }
    }

    /// A decision without its stamps; nil for updates. Phones' clocks do not step with the wall, so
    /// what was captured inside a gap is something else then, and with it the verdicts that ask for
    /// it.
    fileprivate var untimed: String? {
        switch self {
        case .status(_, let id, let from, let to, let origin): "\(id) \(from) \(to) \(origin)"
        case .blind(_, let begins, _, let reason): "\(reason) \(begins)"
        case .gap(_, let id, let state, let suspected, let verdict):
            "\(id) \(state) \(suspected) \(verdict.map(Self.withoutCaptures) ?? "")"
        case .alert(_, let name, let state, let labels, let value):
            "\(name) \(state) \(labels) \(value)"
        // Throttles read the wall (N2).
        case .notice(_, let receiver, let kind, let alerts): "\(receiver) \(kind) \(alerts)"
        case .mute(_, let receiver, let alert, let reason): "\(receiver) \(alert) \(reason)"
        case .take(_, let incident, let answer, _): "\(incident) \(answer)"
        case .nudge, .ask, .skew, .update: nil
        }
    }

    private static func withoutCaptures(_ verdict: String) -> String {
        ["network", "app_stopped", "unexplained"].contains(verdict) ? "by captures" : verdict
    }
}

extension String {
    /// The printed decisions without the evidence of gaps, which ends their lines.
    fileprivate var withoutEvidence: String {
        let mark = Array(",\"evidence\":".utf8)
        var kept: [UInt8] = []
        var isEvidence = false
        for byte in utf8 {
            if byte == UInt8(ascii: "\n"), isEvidence {
                isEvidence = false
                kept.append(UInt8(ascii: "}"))
            }
            if isEvidence { continue }
            kept.append(byte)
            // A look at one byte first: most members are others.
            if byte == UInt8(ascii: ":"), kept.dropLast(2).last == UInt8(ascii: "e"),
                kept.suffix(mark.count).elementsEqual(mark)
            {
                kept.removeLast(mark.count)
                isEvidence = true
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}

extension StoryLine {
    /// False if nothing was seen since the line before, where another line would be a sight, and if
    /// the line's wall is that after a step of its own.
    var mayFollowAStep: Bool {
        switch event {
        case .start, .turn, .clock: false
        default: true
        }
    }

    /// True for what the wall decides by itself: pauses with an end, and clocks measured by it.
    fileprivate var readsTheWall: Bool {
        switch event {
        case .skew: true
        case .responder(let items), .roster(let items, _):
            items.contains { $0.pausedUntil != nil }
        default: false
        }
    }

    /// The same as far ago by a wall that is `step` ahead.
    fileprivate func shifted(by step: Int64) -> StoryLine {
        var line = self
        line.at += step
        switch event {
        case .batch(let items):
            line.event = .batch(
                items.map {
                    var item = $0
                    item.receivedAt = item.receivedAt.map { $0 + step }
                    return item
                })
        case .transition(let items):
            line.event = .transition(
                items.map {
                    var item = $0
                    item.at = item.at.map { $0 + step }
                    return item
                })
        case .responder(let items): line.event = .responder(items.map { $0.shifted(by: step) })
        case .roster(let items, let note):
            line.event = .roster(items.map { $0.shifted(by: step) }, note)
        case .silence(var silence):
            silence.endsAt += step
            line.event = .silence(silence)
        case .take(var take):
            take.until += step
            line.event = .take(take)
        default: break
        }
        return line
    }
}

extension FactItem {
    fileprivate func shifted(by step: Int64) -> FactItem {
        var item = self
        item.at = at.map { $0 + step }
        return item
    }
}
