import RollcallCore

/// A member and what people say: who is one, who leads next, and how it goes on after the log was lost.
extension Member {
    /// The highest level of entries that this version reads, and writes once all others do (S10).
    package static let level: Int64 = 2
    /// A member that was asked to leave the lead to others does so for so long.
    package static let drainedFor: Int64 = 300_000
    /// It then waits so much longer than others for one who leads, after the last one handed over.
    static let patienceOfDrained: Int64 = 250
    /// A member is there if what it notes has changed within so long: a leader makes a turn every five
    /// seconds at least.
    private static let liveFor: Int64 = 10_000

    // MARK: - Members

    /// True if this member may come to lead: the log names it, or names nobody yet, its state is that of the
    /// others, and it does not only look on.
    var mayLead: Bool {
        !isDivergent && !settings.isOnlooker && membership.mayLead(settings.name)
    }

    /// The log names these members, as far as it is folded here.
    package mutating func follow(_ membership: Membership) { self.membership = membership }

    /// The notes of those that are there at `now`, this one always among them.
    package func live(at now: Int64) -> [MemberNote] {
        noted.values.filter {
            $0.note.member == settings.name || now - $0.at <= Self.liveFor
        }.map(\.note).sorted { $0.member.lexicographicallyPrecedes($1.member) }
    }

    /// The change of the list, or of the level, that this leader owes the log; nil if there is none
    /// (S10, S17).
    package func changeOwed(at now: Int64) -> MembershipChange? {
        guard role == .leading else { return nil }
        let live = live(at: now)
        guard live.contains(where: { $0.member == settings.name }) else { return nil }
        let level = live.map(\.level).min() ?? Membership.firstLevel
        if level > membership.level { return .level(min(level, Self.level)) }
        guard membership.level >= Membership.levelOfNames, !membership.isClosed else { return nil }
        return live.map { MembershipChange.found($0.member) }
            .first { membership.fault(of: $0) == nil }
    }

    /// Makes this member leave a note again, since something beside its position has changed.
    package mutating func noteAgain() { notedPosition = -1 }

    // MARK: - Leaving the lead

    /// Leaves the lead to others, now if it leads and nothing is on its way, and for some minutes
    /// unless nobody else takes it.
    package mutating func drain(_ now: Int64) -> [MemberEffect] {
        drainedUntil = now + Self.drainedFor
        let effects = release(now)
        if role == .standing { role = .following }
        return effects
    }

    /// True while it leaves the lead to others.
    package func isDrained(at now: Int64) -> Bool { now < drainedUntil }

    // MARK: - Digests

    /// Its state is another than the others': it leads no more, and takes a copy (S10).
    package mutating func diverge(_ now: Int64) -> [MemberEffect] {
        isDivergent = true
        guard role == .leading else { return [] }
        return open == nil ? release(now) : []
    }

    /// Takes a copy of a peer's store in the place of what is wrong here.
    mutating func leaveState(_ effects: inout [MemberEffect]) {
        guard role == .following, !isFolding, !isRebuilding, !isJoining else { return }
        isJoining = true
        effects.append(.join)
    }

    /// True if the digests that members noted say that this one's state is wrong: the leader's is
    /// another, and no other member holds what this one does; or, if it leads, two others agree
    /// against it. Only those of one version and turn are compared.
    package func isWrong(_ own: StateDigest, leader: [UInt8]) -> Bool {
        let others = (view?.notes ?? []).filter { note in
            guard let digest = note.digest, note.member != settings.name else { return false }
            return digest.turn == own.turn && digest.version == own.version
        }
        if role == .leading {
            let against = others.compactMap(\.digest?.hash).filter { $0 != own.hash }
            return against.contains { hash in against.count { $0 == hash } > 1 }
        }
        guard let leading = others.first(where: { $0.member == leader })?.digest,
            leading.hash != own.hash
        else { return false }
        // Two who agree against the leader: it is the leader's turn to go.
        return !others.contains { $0.member != leader && $0.digest?.hash == own.hash }
    }

    // MARK: - After the log was lost

    /// Takes a copy of a peer's store, and puts the own aside, because somebody said so; nothing if it
    /// leads, or something is on its way.
    package mutating func rejoin() -> [MemberEffect] {
        guard open == nil, !isFolding, !isRebuilding, !isJoining else { return [] }
        if role == .standing { role = .following }
        isJoining = true
        return [.rejoin]
    }

    /// Takes the end of a log that is not the one that was followed: if somebody has put it in the place
    /// of that one, this member goes over to it.
    mutating func takeForeign(_ seen: LogView, _ effects: inout [MemberEffect]) {
        guard !isRebuilding, !isJoining else { return }
        foreign = seen
        guard let adoption = seen.adoption, adoption.log == seen.head.log,
            adoption.of == place.log
        else { return }
        if adoption.log == adopting {
            guard seen.head.position == 1 else { return }
            effects.append(.adopted(LogPlace(seen.head)))
        } else {
            isJoining = true
            effects.append(.rejoin)
        }
    }

    /// The log of this number will be begun by this member in the place of the lost one, or was before
    /// the process ended.
    package mutating func willAdopt(_ log: UInt64) { adopting = log }

    /// Takes what is held here for what the new log begins with: it is followed from now on, and
    /// led in time. A state that differed from the others' is built anew from the store, which is
    /// what they take over.
    package mutating func didAdopt(at held: LogPlace, _ now: Int64) -> [MemberEffect] {
        place = held
        role = .following
        (adopting, foreign, view, ahead) = (0, nil, nil, nil)
        (waiting, reading, headAsked, steadySince) = ([], nil, nil, nil)
        noted = [:]
        heard = (now, held.revision)
        headAskedAt = Int64.min / 4
        noteAgain()
        guard isDivergent else { return [] }
        (isDivergent, isRebuilding) = (false, true)
        return [.rebuild]
    }
}
