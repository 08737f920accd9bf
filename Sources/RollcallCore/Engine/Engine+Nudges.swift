/// The engine runs nudges and wakes: it counts and writes what is decided. Source: Contract/Nudges.
extension Engine {
    /// A person may have changed: so may their circle's active peers, and whether they are to be
    /// nudged.
    mutating func followNudges(from before: Responder, _ person: inout Responder, _ number: Int) {
        people.followGroups(from: before, person, number, &nudges.toEvaluate)
        let report = nudges.follow(
            from: before, &person, number, policy.nudges, now: clock.observedNow)
        if let report { write(report, number) }
    }

    /// Evaluates everybody for whom something changed.
    mutating func settleNudges() {
        guard nudges.isDue(clock) else { return }
        let entries = nudges.settle(&people, gaps, policy, clock)
        for (number, report) in entries { write(report, number) }
    }

    private mutating func write(_ report: NudgeReport, _ number: Int) {
        counters.nudges.note(report)
        decisions.append(.nudge(at: clock.wallNow, number: number, report))
    }

    /// A push came to its end: it is counted, and a dead token is not used again (N7).
    mutating func end(_ end: PushEnd) {
        counters.nudges.note(end)
        var bare = end
        bare.token = 0
        decisions.append(.push(at: clock.wallNow, bare))
        guard (0..<roster.count).contains(end.person), nudges.isDead(end) else { return }
        edit(end.person) { engine, person in
            engine.nudges.dropToken(end.token, &person, end.person)
        }
    }

    // MARK: - Wakes

    /// The first by their ids of those a call is about, and how many more there are; the viewer
    /// looks already.
    package func members(of call: WakeCall) -> (first: [Int], beyond: Int) {
        people.members(of: call)
    }

    /// Somebody looks at a circle.
    mutating func wake(_ call: WakeCall, _ receipt: inout Receipt) {
        receipt.accepted = 1
        let (members, beyond) = people.members(of: call)
        receipt.wakesBeyond = beyond
        for number in members.prefix(WakeCall.membersMax) where people.knows(number) {
            let (push, reason) = nudges.wake(roster[number], number, policy.nudges, clock)
            receipt.wakes.append(WakeAnswer(person: number, reason: reason))
            counters.nudges.note(wake: reason)
            guard reason == nil else { continue }
            decisions.append(.wake(at: clock.wallNow, number: number, push: push))
        }
    }

    // MARK: - Asks

    /// The numbers of those whom a call is about.
    package func people(of call: AskCall) -> AskCall { people.people(of: call) }

    /// Somebody asks for a person.
    mutating func ask(_ call: AskCall, _ receipt: inout Receipt) {
        guard case .numbers(let number, let asker) = people.people(of: call),
            people.knows(number)
        else { return }
        var answer = AskAnswer(person: number, asker: asker)
        if let asker, !people.share(aCircle: number, asker) {
            answer.result = .outsider
        } else if policy.nudges.mode == .disabled {
            answer.result = .disabled
        } else {
            let (entries, found) = nudges.ask(answer, &people, gaps, policy, clock)
            answer = found
            for (number, report) in entries { write(report, number) }
        }
        counters.nudges.note(answer.result)
        receipt.ask = answer
        receipt.accepted = answer.result.isSent ? 1 : 0
    }

    // MARK: - Questions

    /// Returns the token under which somebody's phone is reached, as it was told; nil if nobody
    /// told one.
    package func pushToken(_ number: Int) -> [UInt8]? { nudges.tokens[number] }

    /// Returns whether somebody would be nudged now; if not, why not, and when at the earliest.
    package func nudgeAnswer(_ number: Int) -> NudgeAnswer {
        nudges.answer(number, people, gaps[number], policy, clock)
    }

    // MARK: - The store

    /// The people who were nudged, and the counts, at one turn.
    package struct NudgeLedger: Sendable {
        fileprivate let ledger: Nudging.Ledger
    }

    /// The ledger now.
    package var nudgeLedger: NudgeLedger {
        NudgeLedger(
            ledger: .init(
                states: nudges.states, nextPush: nudges.nextPush, counters: counters.nudges))
    }

    /// Takes over a push's number from the store (J4): the next push comes behind number `number`.
    package mutating func note(storedPush number: Int64) { nudges.note(storedPush: number) }

    /// Goes on from `ledger` and what was stored since, in its order, instead of what was decided
    /// again: whoever was nudged is not nudged again, and whoever was not may be.
    package mutating func take(_ ledger: NudgeLedger, stored: [Decision]) {
        nudges.take(ledger.ledger, stored: stored, &people, clock, &counters.nudges)
    }
}
