import RollcallCluster
import RollcallCore
import RollcallStore

/// A running member and what people say: who is a member, who leads next, how a lost log goes on.
extension ClusterProcess {
    /// Between two digests, in running time.
    private static let digestEvery: Int64 = 15_000

    /// The log names these members, as far as it is folded here.
    func followMembers() {
        // Whoever does not hear that the list is closed stands without being named.
        if fault != .standUnlisted || !engine.membership.isClosed {
            member.follow(engine.membership)
        }
        if fault != .noHurryOfErasures { member.erasuresThrough = world.erasedThrough(self) }
    }

    /// The change of members that this leader owes the log.
    func changeOwed() -> MembershipChange? {
        guard time.now - changedAt >= 1000 else { return nil }
        changedAt = time.now
        return member.changeOwed(at: time.now)
    }

    /// A turn is kept, and the engine stands at its end.
    func noteTurn(_ turn: Turn) {
        followMembers()
        let present = turn.nowMilliseconds / Self.digestEvery
        defer { quarter = present }
        if let quarter, quarter != present {
            digest = StateDigest(
                turn: turn.number, version: Engine.version, hash: ClusterWorld.hash(engine))
            member.noteAgain()
        }
        guard let digest, fault != .digestIsIgnored, !member.isDivergent,
            member.isWrong(digest, leader: world.leaderOfLastTurn)
        else { return }
        if !world.hasDrifted { world.fail("S10: m\(host) is told to be wrong, and is not") }
        world.mark("a state was found to be wrong")
        apply(member.diverge(time.now))
    }

    /// Leaves the lead to others.
    func drain() {
        deliver { [self] in
            guard member.role == .leading, member.mayPropose else { return }
            world.mark("a leader was drained")
            world.drained = (host, time.now)
            apply(member.drain(time.now))
        }
    }

    /// Something changes here that stands in no turn.
    func drift() {
        guard member.role == .following, !hasDrifted else { return }
        hasDrifted = true
        world.mark("a state drifted")
        // What is measured is decided by nothing, so that only a digest tells.
        engine.isMeasuring = false
    }

    /// Begins the lost log anew with what is held here.
    func adopt() {
        deliver { [self] in
            guard case .lost = member.role, !member.isBusy else { return }
            world.mark("a log was adopted")
            let number = disk.adopting != 0 ? disk.adopting : world.dice.next() | 1
            disk.adopting = number
            member.willAdopt(number)
            let watch = (0..<8).map {
                UInt8(truncatingIfNeeded: disk.watch >> UInt64(8 * (7 - $0)))
            }
            let entry = LogEntry(
                .creation, at: 1, after: 0,
                origin: LogOrigin(
                    member: member.settings.name, incarnation: incarnation,
                    reign: disk.place.reign, serial: 0),
                body: watch)
            log?.adopt(
                LogAdoption(log: number, of: disk.place.log), entry, over: member.foreign?.head
            ) { _ in }
        }
    }
}
