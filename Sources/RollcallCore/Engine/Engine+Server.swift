/// The server's own opinions. Source: L7, F18 to F20.
extension Engine {
    /// Ids of transitions remembered a person: a retry comes soon.
    private static var transitionIDsMax: Int { 8 }

    mutating func foldTransition(
        _ item: Item, _ list: ItemList, _ number: Int, _ receipt: inout Receipt
    ) {
        guard let from = item.from, let to = item.to else {
            receipt.accepted += 1
            return
        }
        if let range = item.transitionID,
            isRetry(StableHash.of(list.bytes.span, range.indices), number)
        {
            receipt.duplicates += 1
            return
        }
        receipt.accepted += 1
        counters.serverTransitions[Int(from.rawValue) * 4 + Int(to.rawValue)] += 1
        let reportedAt = min(reportedAt(of: item) ?? clock.wallNow, clock.wallNow)
        let instant = clock.reported(reportedAt)
        edit(number) { engine, person in
            let isNew = person.lastRow == 0
            if isNew { person.duty = .onDuty }
            let adopts = engine.policy.serverTransitions == .adopt
            if to == .online && adopts {
                engine.returnRetired(&person, number, instant)
                person.isForgotten = false
            }
            engine.reconcile(&person, number)
            if to == .online && adopts {
                engine.contact(&person, number, instant, at: reportedAt, .server, from: from)
            } else if to == .degraded || to == .offline {
                engine.foldWorse(&person, number, from: from, to: to, instant, isNew: isNew)
            }
            if person.isActive, to != .unknown, person.status != to {
                engine.counters.disagreements[
                    Int(person.status.rawValue) * 4 + Int(to.rawValue)] += 1
            }
        }
    }

    private mutating func foldWorse(
        _ person: inout Responder, _ number: Int, from: Status, to: Status,
        _ instant: ObservedTime, isNew: Bool
    ) {
        // Nothing is known of who is UNKNOWN, so `from` is believed first, and DEGRADED is worse than
        // the ONLINE that the server saw (L7).
        let wasOnline = person.status == .unknown && from == .online
        guard person.isActive, instant > person.lastContact,
            isNew || instant >= person.activeSince, to > (wasOnline ? .online : person.status)
        else { return }
        let now = clock.observedNow
        if person.wasHeard, now - person.lastContact <= policy.thresholds(person).degraded {
            declaredWorse.add(number, now: now)
        }
        let isMass = declaredWorse.isMass(active: aggregates.active + 1, now: now)
        guard policy.serverTransitions == .adopt, !clock.isBlind, !isMass else { return }
        var adoption = adopted[number] ?? Adoption()
        adoption.note(to, instant)
        adopted[number] = adoption
        let believed = person.status == .unknown && from != to ? from : nil
        if wasOnline { person.status = .online }
        change(&person, number, to: to, .server, from: believed)
    }

    private mutating func isRetry(_ id: UInt64, _ number: Int) -> Bool {
        var ids = transitionIDs[number] ?? []
        if ids.contains(id) { return true }
        ids.append(id)
        if ids.count > Self.transitionIDsMax { ids.removeFirst() }
        transitionIDs[number] = ids
        return false
    }
}
