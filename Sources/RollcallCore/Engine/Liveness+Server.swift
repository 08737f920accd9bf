/// The server's own opinions. Source: L7, F18 to F20.
extension Liveness {
    /// Ids of transitions remembered a person: a retry comes soon.
    private static let transitionIDsMax = 8

    /// A transition as the server declares it.
    struct Declaration {
        let from: Status
        let to: Status
        let instant: ObservedTime
        /// True if nobody ever told anything of the person before.
        let isNew: Bool

        /// True if somebody was ONLINE before it, as far as is known. Nothing is known of who is
        /// UNKNOWN, so `from` is believed first, and DEGRADED is worse than the ONLINE that the server
        /// saw (L7).
        func wasOnline(_ person: Responder) -> Bool {
            person.status == .unknown && from == .online
        }
    }

    /// True for a transition that the server told before; remembers it.
    mutating func isRetry(_ id: UInt64, _ number: Int) -> Bool {
        var ids = transitionIDs[number] ?? []
        if ids.contains(id) { return true }
        ids.append(id)
        if ids.count > Self.transitionIDsMax { ids.removeFirst() }
        transitionIDs[number] = ids
        return false
    }

    /// True if a declaration of somebody as worse is adopted; remembers it then. `active` are the
    /// active people of the fleet.
    mutating func adopts(
        _ declaration: Declaration, _ person: Responder, _ number: Int, active: Int,
        _ policy: Policy, _ clock: ObservationClock
    ) -> Bool {
        let (to, instant) = (declaration.to, declaration.instant)
        guard person.isActive, instant > person.lastContact,
            declaration.isNew || instant >= person.activeSince,
            to > (declaration.wasOnline(person) ? .online : person.status)
        else { return false }
        let now = clock.observedNow
        if person.wasHeard, now - person.lastContact <= policy.thresholds(person).degraded {
            declaredWorse.add(number, now: now)
        }
        let isMass = declaredWorse.isMass(active: active, now: now)
        guard policy.serverTransitions == .adopt, !clock.isBlind, !isMass else { return false }
        var adoption = adopted[number] ?? Adoption()
        adoption.note(to, instant)
        adopted[number] = adoption
        return true
    }
}
