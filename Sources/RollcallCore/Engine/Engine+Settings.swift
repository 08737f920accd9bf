/// Rosters, erasure, new settings. Source: design §3, §4 L6.
extension Engine {
    /// A roster may retire this many without being asked twice.
    private static var retiredFreely: Int { 5 }

    mutating func foldRoster(
        _ list: ItemList, _ allowsShrink: Bool, _ receipt: inout Receipt
    ) {
        var named = Set<Int>()
        for index in 0..<list.count {
            guard let item = list.item(index) else { continue }
            if let number = roster.number(of: list.bytes.span, item.responderID.indices) {
                named.insert(number)
            }
        }
        let leaving = (0..<roster.count).filter { number in
            roster[number].idCount > 0 && !roster[number].isRetired && !named.contains(number)
        }
        let active = tally.active
        let retiring = leaving.count { roster[$0].isActive }
        if !allowsShrink, retiring * 2 > active, retiring > Self.retiredFreely {
            receipt.shrinkRefused = (active, retiring)
            return
        }
        foldItems(list, &receipt)
        // A roster of which nothing can be taken says nothing about anybody.
        if receipt.accepted == 0, list.count > 0 { return }
        let now = watch.watchedNow
        for number in leaving.sorted(by: roster.precedes) {
            edit(number) { engine, person in
                person.isRetired = true
                engine.retired[number] = now
                engine.reconcile(&person, number)
            }
        }
    }

    /// Takes a person out of memory. Nothing is printed: a line would name them.
    mutating func erase(_ id: [UInt8]) {
        erased.insert(StableHash.of(id.span, 0..<id.count))
        guard let number = roster.number(of: id) else { return }
        tally.remove(roster[number], now: watch.watchedNow)
        roster.erase(number)
        ledgers[number] = nil
        pauses[number] = nil
        adopted[number] = nil
        retired[number] = nil
        transitionIDs[number] = nil
        pushTokens[number] = nil
    }

    /// New settings: thresholds change for everybody at once, by L6.
    mutating func change(to policy: Policy) {
        let old = self.policy
        self.policy = policy
        let firstDecision = decisions.count
        for number in 0..<roster.count where roster[number].isActive {
            let person = roster[number]
            let limits = old.thresholds(person)
            edit(number) { engine, person in
                engine.adjust(&person, number, old: limits, .policy)
            }
        }
        let changed = decisions[firstDecision...].sorted { a, b in
            guard case .status(_, let first, _, _, _) = a, case .status(_, let second, _, _, _) = b
            else { return false }
            return roster.precedes(first, second)
        }
        decisions.replaceSubrange(firstDecision..., with: changed)
    }
}
