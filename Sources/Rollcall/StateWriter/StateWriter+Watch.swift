import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer of a member and what all of its watch must come to: who is a member, who was
/// erased, and that all hold the same.
extension StateWriter {
    /// The key of `meta` that says that the state of this store is not that of the others.
    private static let divergentKey = "log_divergent"

    // MARK: - Each round

    /// Looks after the watch, while the engine holds what the store does.
    func tendWatch(_ clock: ClockReading) {
        guard let seat, proposal.turn == nil, proposal.rebuildsFrom == nil else { return }
        seat.follow(engine.membership)
        seat.erased = chores.erasures.finished(through: turnCommitted)
        if upkeep.isDraining, seat.member.mayPropose {
            upkeep.isDraining = false
            perform(seat.drive { member, now in member.drain(now) })
        }
        tendErasures(seat, clock)
        tendDigests(seat, clock)
    }

    /// The change of members that this leader owes the log, once a second at most (S17).
    func changeOwed(_ clock: ClockReading) -> MembershipChange? {
        guard let seat, clock.elapsed - upkeep.changedAt >= WatchUpkeep.changeEvery else {
            return nil
        }
        upkeep.changedAt = clock.elapsed
        let change = seat.member.changeOwed(at: clock.elapsed)
        if let change {
            log.info(
                "the watch's log names its members",
                metadata: [
                    "change": "\(change.word)",
                    "member": "\(NotificationWords.text(change.member))",
                ])
        }
        return change
    }

    // MARK: - Erasures

    /// Looks where erased people may still be, and lets the log go of them (S13).
    private func tendErasures(_ seat: MemberSeat, _ clock: ClockReading) {
        let known = chores.erasures.erasures.count
        guard
            clock.elapsed - upkeep.lookedAt.at >= WatchUpkeep.lookEvery
                || known != upkeep.lookedAt.erasures
        else { return }
        upkeep.lookedAt = (clock.elapsed, known)
        if let view = seat.member.view, seat.member.place.log != 0 {
            let names = engine.membership.counted(noted: view.notes.map(\.member))
            upkeep.erasures = PendingErasure.pending(
                chores.erasures.erasures.values,
                offset: seat.member.place.position - turnCommitted, view, names: names)
        }
        // None is forgotten before it is over everywhere.
        chores.keepsErasures = !upkeep.erasures.isEmpty
        settleSplit(seat)
        seat.hurryTrim(
            through: upkeep.erasures.map(\.position).max() ?? 0,
            keeping: upkeep.split?.position ?? 0)
        clearReplaced(seat, clock)
    }

    /// Deletes the stores that were put aside here once somebody was erased who may be in them: nobody
    /// erases there (S13).
    private func clearReplaced(_ seat: MemberSeat, _ clock: ClockReading) {
        let last = chores.erasures.erasures.keys.max() ?? 0
        // What an onlooker put aside may be all that there is of the people whom it waits for (K6).
        guard seat.origin == nil, seat.member.isConfirmed(at: clock.elapsed),
            !upkeep.hasCleared || last > upkeep.clearedThrough
        else { return }
        (upkeep.hasCleared, upkeep.clearedThrough) = (true, last)
        let erased = chores.erasures.erasures.values.map(\.requestedAt).max() ?? .distantPast
        let aged = engine.clock.wallNow - engine.policy.retention
        let time = max(erased, aged)
        var deleted = StoreQuarantine.deleteReplaced(storePath, changedBefore: time)
        do throws(StoreError) {
            // The erasure may have been over elsewhere, and have come with a copy of the store.
            deleted += try StoreUpgrade.deleteCopies(of: storePath, before: time, newerBefore: time)
        } catch {
            upkeep.hasCleared = false
            log.error("copies of the store cannot be deleted", metadata: ["error": "\(error)"])
        }
        guard !deleted.isEmpty else { return }
        log.warning(
            "what was put aside of this member's store is deleted: people were erased since",
            metadata: ["files": "\(deleted.joined(separator: " "))"])
    }

    // MARK: - Digests

    /// Hashes the state of some turns, and looks whether the others hold the same (S10).
    private func tendDigests(_ seat: MemberSeat, _ clock: ClockReading) {
        if let digest = upkeep.digester.advance() { seat.digest = digest }
        guard let digest = seat.digest, !seat.member.isDivergent,
            seat.member.isWrong(digest, leader: seat.leader)
        else { return }
        log.critical(
            "the state of this member is not that of the others: it never leads, and takes a copy",
            metadata: ["turn": "\(digest.turn)"])
        diverge(seat)
    }

    /// The state here is not that of the others (S10).
    func diverge(_ seat: MemberSeat) {
        seat.differences += 1
        do throws(StoreError) {
            try store.write { () throws(StoreError) in
                try store.journal.set([1], forKey: Self.divergentKey)
            }
        } catch {
            log.error("it cannot be noted in the store", metadata: ["error": "\(error)"])
        }
        perform(seat.drive { member, now in member.diverge(now) })
    }

    /// Takes over what an earlier process has noted.
    /// - Throws: `StoreError` if that cannot be read.
    func beginWatch(_ seat: MemberSeat) throws(StoreError) {
        seat.follow(engine.membership)
        upkeep.split = try splitNoted()
        if let noted = try store.journal.bytes(forKey: Self.divergentKey), !noted.isEmpty {
            _ = seat.drive { member, now in member.diverge(now) }
        }
        if let bytes = try store.journal.bytes(forKey: Self.adoptingKey), bytes.count == 8 {
            let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            _ = seat.drive { member, _ in
                member.willAdopt(number)
                return []
            }
        }
    }

    // MARK: - Orders

    /// The key of `meta` under which the number of a log stands that is about to be begun here.
    private static let adoptingKey = "log_adopting"

    /// Asks something of this member; `reply` is called once.
    package func order(_ order: MemberOrder, reply: @escaping MemberOrder.Reply) {
        mailbox.put(.member(.order(order, reply: reply), seat: nil))
    }

    /// Does what somebody asks of this member.
    func take(
        _ order: MemberOrder, _ seat: MemberSeat, _ reply: @escaping MemberOrder.Reply
    ) {
        guard seat.origin == nil else {
            return reply(.refused("this member only looks on in another cell's log"))
        }
        switch order {
        case .drain: drain(seat, reply)
        case .join: join(seat, reply)
        case .adopt(let isForced):
            guard case .lost = seat.member.role else {
                return reply(.refused("the log is not lost: there is nothing to be adopted"))
            }
            guard !seat.member.isBusy else {
                return reply(.refused("this member is busy with its store: again in a moment"))
            }
            seat.survey(isForced: isForced, reply)
        }
    }

    private func drain(_ seat: MemberSeat, _ reply: MemberOrder.Reply) {
        let others = seat.member.live(at: ClockReading.now().elapsed).filter {
            $0.member != seat.member.settings.name && engine.membership.mayLead($0.member)
        }
        guard !others.isEmpty else {
            return reply(.refused("no other member is there that could lead"))
        }
        if seat.member.role == .leading {
            upkeep.isDraining = true
        } else {
            perform(seat.drive { member, now in member.drain(now) })
        }
        let minutes = Member.drainedFor / 60_000
        reply(
            .done(
                "for \(minutes) min this member leads only if nobody else does; "
                    + "others that may: "
                    + others.map { NotificationWords.text($0.member) }.joined(separator: ", ")))
    }

    private func join(_ seat: MemberSeat, _ reply: MemberOrder.Reply) {
        guard seat.member.role != .leading, seat.member.role != .reigning else {
            return reply(.refused("this member leads: drain it first"))
        }
        guard !seat.others.isEmpty else {
            return reply(.refused("no other member has said in the log where it is reached"))
        }
        let effects = seat.drive { member, _ in member.rejoin() }
        guard seat.member.isBusy else {
            return reply(.refused("this member is busy with its store: again in a moment"))
        }
        perform(effects)
        reply(
            .done("a copy of another member's store is taken, and the present one is put aside"))
    }

    /// Begins the log anew with what is held here, if no other member is known to hold more.
    func adopt(
        _ places: [PeerPlace], isForced: Bool, _ seat: MemberSeat,
        _ reply: @escaping MemberOrder.Reply
    ) {
        guard case .lost = seat.member.role else {
            return reply(.refused("the log is not lost any more"))
        }
        if !isForced, let refusal = Self.refusal(places, seat.member) {
            return reply(.refused(refusal))
        }
        // What was sent before may land yet, and must be known then.
        let earlier = seat.member.adopting
        let number = earlier != 0 ? earlier : UInt64.random(in: 1 ... .max)
        do throws(StoreError) {
            // Before anybody can see that log: it must be known as ours also after a crash.
            try store.write { () throws(StoreError) in
                let bytes = (0..<8).map {
                    UInt8(truncatingIfNeeded: number >> UInt64(8 * (7 - $0)))
                }
                try store.journal.set(bytes, forKey: Self.adoptingKey)
            }
        } catch {
            return reply(.refused("the store takes nothing: \(error)"))
        }
        log.warning(
            "the log is begun anew with what this member holds",
            metadata: ["position": "\(seat.member.place.position)", "turn": "\(turnNumber)"])
        seat.adopt(number, watch: store.number, turn: turnNumber, reply)
    }

    private static func refusal(_ places: [PeerPlace], _ member: Member) -> String? {
        let name = { (peer: PeerPlace) in NotificationWords.text(peer.member) }
        let own = member.place
        if let peer = places.first(where: { !$0.isLost && $0.place.log == member.foreign?.head.log }
        ) {
            return
                "member \(name(peer)) follows the log as it is: rollcall cluster join takes over "
                + "what it holds"
        }
        if let peer = places.first(where: {
            $0.place.log == own.log && $0.place.position > own.position
        }) {
            return "member \(name(peer)) holds \(peer.place.position - own.position) entries more: "
                + "adopt there, or with force lose them"
        }
        if member.isDivergent {
            return "what this member holds was found to be wrong: adopt at another one, or with "
                + "force go on from its store"
        }
        return nil
    }

    /// The log that was begun here stands: it is followed from its first entry on.
    func adopted(_ place: LogPlace, _ seat: MemberSeat) {
        do throws(StoreError) {
            guard try store.join(watch: store.number, at: place) else { return }
            try store.write { () throws(StoreError) in
                try store.journal.set([UInt8](), forKey: Self.adoptingKey)
                // The others take over what is held here, whatever it was.
                try store.journal.set([UInt8](), forKey: Self.divergentKey)
                // Nobody looks on in this one.
                try forgetSplit()
            }
            upkeep.split = nil
        } catch {
            // The next read of the log's end tries again.
            return log.error("the store takes nothing", metadata: ["error": "\(error)"])
        }
        log.warning("the watch goes on from what this member holds")
        perform(seat.drive { member, now in member.didAdopt(at: place, now) })
    }
}
