/// `Nudging` keeps what is remembered of single people, and the queues in which they wait.
extension Nudging {
    /// Some are here no more: without a name they have no place among those who wait.
    mutating func leaveRow(_ numbers: [Int]) {
        var leaving = Set<UInt32>()
        for number in numbers where states[number]?.isInRow ?? false {
            leaving.insert(UInt32(number))
        }
        if !leaving.isEmpty { row.removeAll { leaving.contains($0) } }
    }

    /// A person who left the row is here no more.
    mutating func forget(_ number: Int) {
        states[number] = nil
        tokens[number] = nil
        woken[number] = nil
        forgetPeersElsewhere(number)
    }

    // MARK: - Tokens (N7)

    /// Takes somebody's token as it was told; one that the sink says is dead is not taken again.
    mutating func takeToken(_ token: [UInt8], _ person: Responder, _ number: Int) {
        let hash = StableHash.of(token.span, 0..<token.count)
        if let dead = states[number]?.deadToken, dead != 0 {
            if dead == hash { return }
            states[number]?.deadToken = 0
        }
        tokens[number] = token
        if person.isStale { toEvaluate.append(UInt32(number)) }
    }

    /// True if a push came to its end because the token that we have of somebody is dead.
    func isDead(_ end: PushEnd) -> Bool {
        guard end.outcome == .unregistered, let token = tokens[end.person] else { return false }
        return StableHash.of(token.span, 0..<token.count) == end.token
    }

    /// Drops somebody's token, which is dead, and remembers its hash.
    mutating func dropToken(_ hash: UInt64, _ person: inout Responder, _ number: Int) {
        tokens[number] = nil
        var state = states[number] ?? NudgeState()
        state.deadToken = hash
        states[number] = state
        if person.isStale { toEvaluate.append(UInt32(number)) }
        person.hasNudges = true
    }

    // MARK: - Queues

    /// Lets somebody be evaluated again at an instant, by the wall (N2).
    mutating func wait(_ state: inout NudgeState, _ number: Int, until: Timestamp) {
        guard state.waitsUntil != until else { return }
        state.waitsUntil = until
        throttles.push(.init(at: until, number: UInt32(number)))
    }

    /// Takes those whose throttle or grace is over; `seen` is observed time, nil while blind.
    mutating func takeTimers(_ wall: Timestamp, _ seen: ObservedTime?) {
        while let first = throttles.first, first.at <= wall {
            _ = throttles.popFirst()
            guard states[Int(first.number)]?.waitsUntil == first.at else { continue }
            states[Int(first.number)]?.waitsUntil = nil
            toEvaluate.append(first.number)
        }
        while let seen, let first = graces.first, first.at <= seen {
            _ = graces.popFirst()
            if states[Int(first.number)]?.reason == .blind { toEvaluate.append(first.number) }
        }
    }

    /// Takes the entries at which it is known what followed a nudge; of one instant by the people's ids
    /// (F1): the queue keeps equals in the order in which they came, and after a restart they came in
    /// another one.
    mutating func takeFollowed(
        _ now: RunningTime, _ roster: Roster
    ) -> [DeadlineQueue<RunningTime>.Entry] {
        var due: [DeadlineQueue<RunningTime>.Entry] = []
        while let first = followed.first, first.at <= now {
            _ = followed.popFirst()
            due.append(first)
        }
        due.sort {
            $0.at == $1.at ? roster.precedes(Int($0.number), Int($1.number)) : $0.at < $1.at
        }
        return due
    }

    /// Lets people wait for their turn.
    mutating func enterRow(_ waiting: [UInt32], _ roster: Roster) {
        guard !waiting.isEmpty else { return }
        for number in waiting { states[Int(number)]?.isInRow = true }
        row += waiting
        sortRow(roster)
    }

    /// Sorts the row: the first by id is taken first, from the end.
    mutating func sortRow(_ roster: Roster) {
        row.sort { roster.precedes(Int($1), Int($0)) }
    }

    // MARK: - Coming back

    /// Nobody waits for anything: whoever is due is evaluated anew.
    mutating func forgetQueues() {
        sends = []
        (toEvaluate, row, blind) = ([], [], [])
        throttles = DeadlineQueue()
        graces = DeadlineQueue()
        followed = DeadlineQueue()
    }

    /// Puts what is remembered of somebody back, and what follows from it; they are seen again at
    /// `seesAgainAt`, nil while blind.
    mutating func restore(_ state: NudgeState, _ number: Int, seesAgainAt: ObservedTime?) {
        states[number] = state
        let entry = UInt32(number)
        // By number; `sortRow` puts them in order once all are back.
        if state.isInRow { row.append(entry) }
        if state.isInBlind { blind.append(entry) }
        if state.reason == .blind, let seesAgainAt {
            graces.push(.init(at: seesAgainAt, number: entry))
        }
        if let until = state.waitsUntil { throttles.push(.init(at: until, number: entry)) }
        if state.followed != 0 { followed.push(.init(at: state.followedUntil, number: entry)) }
    }
}
