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
        let toldAt = min(toldAt(of: item) ?? watch.wallNow, watch.wallNow)
        let instant = watch.told(toldAt)
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
                engine.contact(&person, number, instant, at: toldAt, .server, from: from)
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
        _ instant: WatchedTime, isNew: Bool
    ) {
        // Nothing is known of who is UNKNOWN, so `from` is believed first, and DEGRADED is worse than
        // the ONLINE that the server saw (L7).
        let wasOnline = person.status == .unknown && from == .online
        guard person.isActive, instant > person.lastContact,
            isNew || instant >= person.activeSince, to > (wasOnline ? .online : person.status)
        else { return }
        let now = watch.watchedNow
        if person.wasHeard, now - person.lastContact <= policy.thresholds(person).degraded {
            declaredWorse.add(number, now: now)
        }
        let isMass = declaredWorse.isMass(active: tally.active + 1, now: now)
        guard policy.serverTransitions == .adopt, !watch.isBlind, !isMass else { return }
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

/// What was adopted from the server of one person; each is undone by later contact (F20).
struct Adoption: Equatable, Sendable {
    /// Before every contact, so that nothing is undone that never was.
    static let never = WatchedTime(milliseconds: WatchedTime.distantPast.milliseconds - 1)

    var degradedAt = Self.never
    var offlineAt = Self.never

    /// Remembers the newest time that each status was declared for.
    mutating func note(_ status: Status, _ at: WatchedTime) {
        if status == .offline {
            offlineAt = max(offlineAt, at)
        } else {
            degradedAt = max(degradedAt, at)
        }
    }

    /// The worst status that was adopted and not undone.
    var worst: Status { best(.distantPast) }

    /// The best status that a contact at `instant` may give.
    func best(_ instant: WatchedTime) -> Status {
        instant <= offlineAt ? .offline : instant <= degradedAt ? .degraded : .online
    }
}

/// Whom the server declared worse within 60 s although we heard them: it may be the one that is
/// blind (L7).
struct DeclaredWorse: Sendable {
    private static let countMin = 20

    private var people = RecentPeople()

    mutating func add(_ number: Int, now: WatchedTime) { people.add(number, now: now) }

    /// Takes an erased person out.
    mutating func forget(_ number: Int) { people.remove(number) }

    mutating func isMass(active: Int, now: WatchedTime) -> Bool {
        people.expire(now)
        return people.count >= Self.countMin && people.count * 2 >= active
    }

    mutating func clampInstants(to now: WatchedTime) { people.clampInstants(to: now) }

    mutating func code(_ archive: inout Archive) { people.code(&archive) }
}
