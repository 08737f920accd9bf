import RollcallCore

/// A member that leads: its turns, beats, and what becomes of them.
extension Member {
    /// Appends a turn that the host has folded: the beginning of a reign, or one of its turns.
    package mutating func propose(_ body: [UInt8], _ now: Int64) -> [MemberEffect] {
        precondition(open == nil && (role == .leading || role == .reigning), "not now")
        guard let view else { return [] }
        let isReign = role == .reigning
        serial += 1
        let entry = LogEntry(
            isReign ? .reign : .turn, at: place.position + 1, after: place.hash,
            origin: LogOrigin(
                member: settings.name, incarnation: settings.incarnation,
                reign: place.reign + (isReign ? 1 : 0), serial: serial),
            body: body)
        var after = view
        after.head = ownHead
        open = OpenAppend(entry: entry, after: after, firstSentAt: now)
        return [.append(entry, after: after)]
    }

    /// Takes what became of an append.
    package mutating func take(append outcome: AppendOutcome, _ now: Int64) -> [MemberEffect] {
        guard var append = open, append.retryAt == .max, append.resolving == nil else { return [] }
        var effects: [MemberEffect] = []
        switch outcome {
        case .landed(let head):
            land(LandedEntry(append.entry, revision: head.revision), now, &effects)
        // Also after `refused`: whoever carries a request may have sent it twice, and then the first
        // one landed.
        case .refused, .unknown:
            append.isUnknown = true
            append.retryAt = now
            open = append
            resolve(now, &effects)
        case .unavailable:
            append.retryAt = now + Self.resolveEvery
            open = append
        }
        return effects
    }

    /// The append has landed: the host commits what it has folded.
    private mutating func land(
        _ landed: LandedEntry, _ now: Int64, _ effects: inout [MemberEffect]
    ) {
        guard let append = open else { return }
        open = nil
        place = LogPlace(
            behind: landed.entry, revision: landed.revision, log: append.after.head.log)
        if role == .reigning { role = .leading }
        // After an outcome that nobody knew nothing is touched until another one has landed (S6).
        provenAt = append.isUnknown ? nil : append.firstSentAt
        if var view, view.head.revision < place.revision {
            view.head = ownHead
            if let emptied = append.after.emptiedNext(slots: settings.slots) {
                view.emptied = max(view.emptied, emptied.upperBound)
            }
            self.view = view
        }
        hear(at: now, revision: landed.revision)
        effects.append(.landed(landed))
    }

    /// Gives up what is open, since it will not land: the engine goes back to what the store holds
    /// (S5).
    private mutating func withdraw(_ now: Int64, _ effects: inout [MemberEffect]) {
        open = nil
        stepDown(&effects)
        standsFrom = now + settings.silence.count
        isRebuilding = true
        effects.append(.rebuild)
    }

    /// Leads no more. What is held is in the log.
    mutating func stepDown(_ effects: inout [MemberEffect]) {
        role = .following
        provenAt = nil
        effects.append(.stepDown)
    }

    // MARK: - Handing over

    /// Leads no more, and says so: another member stands at once. It stands itself only if none does
    /// for some time. Nothing may be on its way.
    package mutating func release(_ now: Int64) -> [MemberEffect] {
        guard mayPropose else { return [] }
        var effects: [MemberEffect] = []
        stepDown(&effects)
        handedOver = (place.reign, now + 5 * settings.silence.count)
        effects.append(.release(after: ownHead))
        return effects
    }

    // MARK: - An outcome that nobody knows

    /// Sends again what was certainly not run, or reads the position of what may have been, once it
    /// is time (S3).
    mutating func resolve(_ now: Int64, _ effects: inout [MemberEffect]) {
        guard var append = open, now >= append.retryAt else { return }
        append.retryAt = .max
        if append.isUnknown {
            append.resolving = read(limit: 1, &effects)
        } else {
            effects.append(.append(append.entry, after: append.after))
        }
        open = append
    }

    /// Takes what stands at the position of an append of which nobody knows: its own entry, another's,
    /// or nothing.
    mutating func resolve(
        _ outcome: ReadOutcome, _ now: Int64, _ effects: inout [MemberEffect]
    ) {
        guard var append = open else { return }
        append.resolving = nil
        switch outcome {
        case .entries(let entries, let seen):
            // Nothing was folded since: what is held must be there.
            if let loss = Self.loss(of: place, in: seen) { return lose(loss, &effects) }
            if let found = entries.first {
                guard found.entry.origin == append.entry.origin else {
                    return withdraw(now, &effects)
                }
                land(found, now, &effects)
                if seen.head.position > place.position { stepDown(&effects) }
                return
            }
            if seen.head.position == place.position {
                // Nothing stands there: the same bytes again, and whichever comes first lands.
                open = append
                return effects.append(.append(append.entry, after: append.after))
            }
            append.retryAt = now + Self.resolveEvery
            open = append
        // Others have gone on since, for long.
        case .trimmed: withdraw(now, &effects)
        case .failed:
            append.retryAt = now + Self.resolveEvery
            open = append
        }
    }

    // MARK: - Beats

    /// Beats, unless an append says as much (S8).
    mutating func beat(_ now: Int64, _ effects: inout [MemberEffect]) {
        guard role == .leading, open == nil, beatAsked == nil, now - beatAskedAt >= pollEvery else {
            return
        }
        beatAsked = (now, place)
        beatAskedAt = now
        effects.append(.beat(after: ownHead))
    }

    /// Takes what became of a beat.
    package mutating func take(beat outcome: AppendOutcome, _ now: Int64) -> [MemberEffect] {
        guard let asked = beatAsked else { return [] }
        beatAsked = nil
        guard role == .leading else { return [] }
        var effects: [MemberEffect] = []
        switch outcome {
        // It proves what an append proves: when it was sent, the log did not end with another's.
        case .landed where asked.from == place: provenAt = max(provenAt ?? .min, asked.at)
        case .refused where asked.from == place && open == nil: stepDown(&effects)
        // An append of ours has overtaken it.
        case .landed, .refused, .unavailable, .unknown: break
        }
        return effects
    }
}
