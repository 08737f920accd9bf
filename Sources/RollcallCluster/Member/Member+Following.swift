import RollcallCore

/// A member that follows: it folds what lands, and stands when nobody leads.
extension Member {
    /// Takes what the watch of the log tells. It saves reads; nothing rests on it.
    package mutating func take(news: LogNews, _ now: Int64) -> [MemberEffect] {
        var effects: [MemberEffect] = []
        switch news {
        case .beat(let revision):
            hear(at: now, revision: revision)
            // The first of two equal ends is read early, so that the second may come early, too.
            if role == .following, now - headAskedAt >= pollEvery / 2 { askHead(now, &effects) }
        case .entry(let landed):
            hear(at: now, revision: landed.revision)
            keep(landed)
            switch role {
            case .following: follow(&effects)
            case .standing:
                guard landed.entry.position > place.position else { break }
                role = .following
                follow(&effects)
            case .leading:
                if open == nil, landed.entry.position > place.position { stepDown(&effects) }
            case .reigning, .lost: break
            }
        case .grown(let revision):
            hear(at: now, revision: revision)
            askHeadAnew(now, &effects)
        case .released(let revision):
            hear(at: now, revision: revision)
            if role == .following { askHeadAnew(now, &effects) }
        case .lost: break
        }
        return effects
    }

    /// Keeps an entry if it is the next one that is missing.
    mutating func keep(_ landed: LandedEntry) {
        let next = (waiting.last?.entry.position ?? place.position) + 1
        guard landed.entry.position == next, open == nil, waiting.count < 4 * settings.readLimit
        else { return }
        waiting.append(landed)
    }

    /// Folds what waits, and reads what follows.
    mutating func follow(_ effects: inout [MemberEffect]) {
        guard role == .following, !isFolding, !isRebuilding, !isJoining, log != 0 else { return }
        if let first = waiting.first, first.entry.position != place.position + 1 { waiting = [] }
        if let first = waiting.first {
            guard first.entry.previous == place.hash else { return lose(.different, &effects) }
            isFolding = true
            return effects.append(.fold(first))
        }
        guard reading == nil, let view, view.head.position > place.position else { return }
        read(limit: settings.readLimit, &effects)
    }

    /// Reads what follows what is held; returns the number of the request.
    @discardableResult
    mutating func read(limit: Int, _ effects: inout [MemberEffect]) -> Int64 {
        requests += 1
        reading = (requests, place)
        effects.append(.read(request: requests, after: place.position, limit: limit))
        return requests
    }

    /// The entry that was to be folded is in the local store, durably.
    package mutating func didFold(_ landed: LandedEntry) -> [MemberEffect] {
        var effects: [MemberEffect] = []
        isFolding = false
        place = LogPlace(behind: landed.entry, revision: landed.revision, log: log)
        if waiting.first == landed { waiting.removeFirst() }
        follow(&effects)
        return effects
    }

    /// The local store or the engine failed at what was asked of it: it is built anew from what the
    /// store holds (S5).
    package mutating func didFail() -> [MemberEffect] {
        var effects: [MemberEffect] = []
        isFolding = false
        waiting = []
        open = nil
        if role == .leading || role == .reigning { stepDown(&effects) }
        isRebuilding = true
        effects.append(.rebuild)
        return effects
    }

    /// The entry that was to be folded follows what the local store lacks: a peer's copy is needed.
    package mutating func didNotFit() -> [MemberEffect] {
        isFolding = false
        waiting = []
        isJoining = true
        return [.join]
    }

    /// The engine stands at what the local store holds, or at the copy of a peer's.
    package mutating func didRebuild(at held: LogPlace) -> [MemberEffect] {
        var effects: [MemberEffect] = []
        isRebuilding = false
        isJoining = false
        place = held
        waiting.removeAll { $0.entry.position <= held.position }
        follow(&effects)
        return effects
    }

    /// No peer gave a copy of its store.
    package mutating func didNotJoin() { isJoining = false }

    /// The log was made, by this member or by another one, or not.
    package mutating func didCreate() { isCreating = false }

    // MARK: - Reading

    /// Takes entries that were read, for the follower or for an append of which nobody knows.
    package mutating func take(
        read outcome: ReadOutcome, request: Int64, _ now: Int64
    ) -> [MemberEffect] {
        var effects: [MemberEffect] = []
        let asked = reading
        if asked?.request == request { reading = nil }
        if open?.resolving == request {
            resolve(outcome, now, &effects)
            return effects
        }
        guard role == .following, let asked, asked.request == request else { return [] }
        switch outcome {
        case .entries(let entries, let seen):
            if let loss = Self.loss(of: asked.from, in: seen) {
                lose(loss, &effects)
                return effects
            }
            for landed in entries {
                hear(at: now, revision: landed.revision)
                keep(landed)
            }
            // Where nothing came, the next tick asks again.
            if !entries.isEmpty { follow(&effects) }
        case .trimmed:
            guard !isFolding, !isRebuilding, !isJoining, waiting.isEmpty else { break }
            isJoining = true
            effects.append(.join)
        case .failed: break
        }
        return effects
    }

    // MARK: - Standing

    /// Follows, and stands if the leader was not heard of for long enough (S8).
    mutating func tend(_ now: Int64, _ effects: inout [MemberEffect]) {
        follow(&effects)
        if isDivergent { return leaveState(&effects) }
        guard role == .following, mayLead, now >= standsFrom,
            now >= handedOver.until || place.reign > handedOver.reign, place.log != 0, ahead == nil,
            waiting.isEmpty, !isFolding, !isRebuilding, !isJoining,
            let view, view.head == ownHead, let steadySince
        else { return }
        // Who was asked to leave the lead to others takes it only if nobody else does.
        let isDrained = now < drainedUntil
        // Who was handed the lead need not wait: the last leader said itself that it leads no more. A
        // little by chance, so that two seldom stand at once.
        if view.isReleased,
            now - steadySince >= settings.chance.count / 3
                + (isDrained ? Self.patienceOfDrained : 0)
        {
            role = .standing
            arePeersAsked = true
            return effects.append(.askPeers)
        }
        guard
            now - heard.at >= settings.silence.count * (isDrained ? 2 : 1) + settings.chance.count,
            now - steadySince >= settings.silence.count
        else { return }
        role = .standing
        arePeersAsked = false
        askHead(now, &effects)
    }

    /// Takes what the members that could be reached say of their places (S11).
    package mutating func take(peers: [PeerPlace], _ now: Int64) -> [MemberEffect] {
        guard role == .standing, let view else { return [] }
        var effects: [MemberEffect] = []
        // The last end that was read is still the one that was seen `silence` ago.
        guard view.head == ownHead,
            view.isReleased || now - heard.at >= settings.silence.count
        else {
            role = .following
            return []
        }
        if let peer = peers.first(where: { $0.holdsMore(than: view.head) }) {
            // It may have led meanwhile: the end that is read from now on tells.
            ahead = (peer, now)
            role = .following
            askHead(now, &effects)
            return effects
        }
        role = .reigning
        let unobserved = Milliseconds(max(0, now - heard.at))
        return [.reign(number: view.head.reign + 1, unobserved: unobserved)]
    }

    /// The host would rather not lead now: its clock is off, or it lacks a receiver's address (S4,
    /// S14).
    package mutating func abstain(_ now: Int64) {
        guard role == .reigning, open == nil else { return }
        role = .following
        standsFrom = now + settings.silence.count
    }
}
