/// Rosters, erasure, new settings. Source: I7, L6.
extension Engine {
    /// A roster may retire this many without being asked twice.
    private static var retiredFreely: Int { 5 }

    mutating func foldRoster(
        _ list: ItemList, _ terms: RosterTerms, _ receipt: inout Receipt
    ) {
        // A refused one is journaled as a mere sign of life, so it must leave nothing behind.
        let before = rosters
        defer { if receipt.rows.isEmpty, receipt.retired == nil { rosters = before } }
        rosters.expire(now: clock.now)
        var earlier = NumberSet()
        if !terms.id.isEmpty {
            if let ended = rosters.ended(terms.id) {
                let isRetry = !terms.hasMore && ended.lastPart == hash(list)
                if isRetry { receipt.duplicates += list.count }
                receipt.rosterFault = isRetry ? nil : .ended
                return
            }
            if terms.hasMore {
                foldItems(list, &receipt)
                return rosters.add(
                    receipt.rows.lazy.map(\.responder), to: terms.id, now: clock.now)
            }
            earlier = rosters.named(terms.id) ?? earlier
        }
        let leaving = leaving(list, earlier)
        let active = aggregates.active
        let retiring = leaving.count { roster[$0].isActive }
        if !terms.allowsShrink, Self.shrinks(active: active, retiring: retiring) {
            receipt.rosterFault = .shrinks(active: active, retiring: retiring)
            return
        }
        foldItems(list, &receipt)
        // A roster of which nothing can be taken says nothing about anybody.
        if receipt.accepted == 0, list.count > 0, earlier.isEmpty { return }
        retire(leaving)
        receipt.retired = leaving.count
        alerting.board.heard()
        if !terms.id.isEmpty {
            rosters.complete(terms.id, lastPart: hash(list), now: clock.now)
        }
    }

    /// Returns what a roster that comes in parts would do if it ended now, without anybody more. One that is
    /// complete has done it. Throws `RosterFault` if it was given up.
    package func outlook(
        ofRoster id: [UInt8]
    ) throws(RosterFault) -> (active: Int, retiring: Int) {
        var rosters = rosters
        rosters.expire(now: clock.now)
        if let ended = rosters.ended(id) {
            if ended.lastPart == 0 { throw .ended }
            return (aggregates.active, 0)
        }
        let leaving = leaving(ItemList(), rosters.named(id) ?? NumberSet())
        return (aggregates.active, leaving.count { roster[$0].isActive })
    }

    /// True of a roster that would retire most people, which a failed query may have made.
    package static func shrinks(active: Int, retiring: Int) -> Bool {
        retiring > active / 2 && retiring > retiredFreely
    }

    /// A hash of the entries about people who are known: the journal holds no others.
    private func hash(_ list: ItemList) -> UInt64 {
        var known: [UInt8] = []
        for index in 0..<list.count {
            guard let item = list.item(index),
                roster.number(of: list.bytes.span, item.responderID.indices) != nil
            else { continue }
            known += list.bytes[list.range(of: index)]
        }
        return StableHash.of(known.span, 0..<known.count)
    }

    /// Returns the numbers of those who stand neither in the list nor in the parts before it.
    private func leaving(_ list: ItemList, _ earlier: NumberSet) -> [Int] {
        var named = earlier
        for index in 0..<list.count {
            guard let item = list.item(index) else { continue }
            if let number = roster.number(of: list.bytes.span, item.responderID.indices) {
                named.insert(number)
            }
        }
        return (0..<roster.count).filter { number in
            roster[number].idCount > 0 && !roster[number].isRetired && !named.contains(number)
        }
    }

    private mutating func retire(_ leaving: [Int]) {
        let now = clock.observedNow
        for number in leaving.sorted(by: roster.precedes) {
            edit(number) { engine, person in
                engine.decisions.append(
                    .person(at: engine.clock.wallNow, PersonReport(.retired, number: number)))
                engine.liveness.retire(&person, number, now: now)
                engine.reconcile(&person, number)
            }
        }
    }

    /// Takes a person out of memory. Nothing is printed: a line would name them.
    mutating func erase(_ who: ErasedPerson, _ receipt: inout Receipt) {
        let (known, hash) = who.found(in: roster)
        if known == nil, isElsewhere(hash: hash) { return receipt.isElsewhere = true }
        receipt.accepted += 1
        erasures.expire(now: clock.now, retention: policy.retention)
        // Of somebody who is there again it is another one, whatever a shorter retention let go of.
        if known != nil { erasures.forget(hash) }
        receipt.erasure = erasures.note(hash, row: nextRow - 1, now: clock.now)
        guard let number = known else { return }
        decisions.append(.person(at: clock.wallNow, PersonReport(erased: hash)))
        keepDark(of: roster[number])
        if policy.role == .cell {
            report.add(reportPart(number), times: -1)
            report.left.append(regions[roster[number].region])
        }
        release([number])
    }

    /// Takes people out of memory, and out of all that tells how many there are.
    mutating func release(_ numbers: [Int]) {
        for number in numbers {
            aggregates.remove(roster[number], now: clock.observedNow)
            alerting.board.follow(from: roster[number], to: Responder())
            people.leaveGroups(roster[number], number, &nudges.toEvaluate)
            people.leaveNames(roster[number])
        }
        // Also of the phones that they had before.
        let makers = counters.gaps.makers.names + gaps.past.makersKnown
        for maker in makers where !versions.isUsed(maker) {
            counters.gaps.forget(maker: maker)
            gaps.past.forget(maker: maker)
        }
        dropNames(of: numbers)
        nudges.leaveRow(numbers)
        for number in numbers {
            roster.erase(number)
            ledgers[number] = nil
            captures[number] = nil
            factOverflows[number] = nil
            liveness.forget(number)
            gaps.forget(number, &people)
            nudges.forget(number)
        }
        alerting.forget(numbers)
    }

    /// New settings: thresholds change for everybody at once, by L6.
    mutating func change(to policy: Policy) {
        let old = self.policy
        self.policy = policy
        people.boundNames(policy)
        // Fewer may be kept for their labels, or because they must be staffed.
        regions.noteUnused(named: true)
        let firstDecision = decisions.count
        for number in 0..<roster.count where roster[number].isActive {
            let person = roster[number]
            let limits = old.thresholds(person)
            edit(number) { engine, person in
                engine.adjust(&person, number, old: limits, .policy)
                engine.changeDark(&person, number)
            }
        }
        followShare()
        if policy.role != old.role {
            recountReport()
            if policy.role != .cell {
                isFleetCellDark = false
                nudges.forgetAllPeersElsewhere()
            }
        }
        let pace = PacePolicy(policy)
        if pace != PacePolicy(old) { people.aggregates.changePace(to: pace, people.roster) }
        let changed = decisions[firstDecision...].sorted { a, b in
            guard case .status(_, let first, _, _, _) = a, case .status(_, let second, _, _, _) = b
            else { return false }
            return roster.precedes(first, second)
        }
        decisions.replaceSubrange(firstDecision..., with: changed)
        alerting.change(to: policy.alerts, now: clock.observedNow)
        awaitMissedAnew()
        counters.notifications.keep(only: policy.receivers)
        alerting.follow(policy.receivers, policy.alerts)
        alerting.followStorms(policy.receivers)
        // Only in a cell it is asked who has company elsewhere (K3).
        let isOther = policy.nudges != old.nudges || policy.role != old.role
        for number in 0..<roster.count where roster[number].isStale {
            // By an offline threshold too, which may be another, some are held (F31).
            if isOther || nudges.states[number]?.reason == .blind {
                nudges.toEvaluate.append(UInt32(number))
            }
        }
    }
}
