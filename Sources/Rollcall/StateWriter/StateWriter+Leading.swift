import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// The state writer of a member that leads: a turn goes to the log, and once it has landed into the
/// store, and to whoever waits (S1).
extension StateWriter {
    /// A wall that is further off does not stand while another may (S14).
    private static let wallOffMax: Int64 = 500
    /// So often it leaves that to others.
    private static let abstentionsMax = 3

    /// Builds what a leader needs of what the store holds, and folds the beginning of its reign (S4,
    /// S7).
    func reign(
        _ number: Int64, _ unobserved: Milliseconds, _ seat: MemberSeat
    ) -> [MemberEffect] {
        let clock = present()
        let now = max(running(clock), openInstant)
        let isFirst = turnNumber == 0
        var step = clock.wall.milliseconds - engine.clock.wall(now).milliseconds
        // The turns by which a fleet cell's member measures time lie behind it (K2).
        let behindMax = SummaryInbox.heldAfter.count + Self.wallOffMax
        if engine.policy.role == .fleet, (1...behindMax).contains(step) {
            origin.running += step
            step = 0
        }
        let isOff = !isFirst && abs(step) > Self.wallOffMax
        if proposal.hasStoreFailed || isOff, proposal.abstentions < Self.abstentionsMax {
            proposal.abstentions += 1
            return seat.drive { member, now in
                member.abstain(now)
                return []
            }
        }
        do throws(StoreError) {
            // Whose store takes nothing does not lead.
            if proposal.hasStoreFailed { try store.journal.setAlarmMark(store.journal.alarmMark) }
            outbox = Outbox(
                store: store.number, messages: try store.journal.messages(),
                now: engine.clock.now, times: endpoints.times)
            pushes = PushBox(
                store: store.number, messages: try store.journal.pushes(), isRestored: false,
                times: endpoints.pushTimes)
        } catch {
            return failed(error, seat)
        }
        (proposal.abstentions, proposal.hasStoreFailed) = (0, false)
        var folded = FoldedTurn(at: now, clock)
        let reign = Reign(
            number: number, member: seat.member.settings.name, unobserved: unobserved)
        _ = folded.pending.fold(.reign(reign), into: &engine, at: now)
        if isFirst {
            _ = folded.pending.fold(.policy(proposal.policy), into: &engine, at: now)
        } else if engine.policy != proposal.policy {
            log.warning(
                "this member's settings are not the watch's: those hold until a reload at the leader"
            )
        }
        evaluate(&folded.pending, at: now, sends: false)
        refusalsSeen = refusals()
        edge.clocks.discard()
        log.info(
            "stands to lead",
            metadata: ["reign": "\(number)", "unobserved_ms": "\(unobserved.count)"])
        return append(folded, seat)
    }

    /// Makes a turn if there is something to be folded, or due.
    func propose(_ clock: ClockReading) {
        guard let seat else { return }
        let messages = takeHeld()
        takesWrites.store(true, ordering: .relaxed)
        var folded = FoldedTurn(at: max(running(clock), openInstant), clock)
        // What phones sent while the log took nothing they send again, as after a change of leaders (S9).
        if let unobserved = proposal.unobserved {
            proposal.unobserved = nil
            let reign = Reign(
                number: seat.member.place.reign, member: seat.member.settings.name,
                unobserved: unobserved)
            _ = folded.pending.fold(.reign(reign), into: &engine, at: folded.now)
        }
        if let change = changeOwed(clock) {
            _ = folded.pending.fold(.membership(change), into: &engine, at: folded.now)
        }
        fold(messages, into: &folded, lateBy: 0, isLast: false)
        guard folded.isDue else { return finish(folded) }
        perform(append(folded, seat))
    }

    /// Takes what waits, up to a split and without it, or that alone: nothing comes behind it in its turn,
    /// which the new cell folds too (K6).
    private func takeHeld() -> [StateWriterMessage] {
        let isSplit = { (message: StateWriterMessage) in
            if case .write(.split, _, _, _, _) = message { true } else { false }
        }
        let place = proposal.held.firstIndex(where: isSplit) ?? proposal.held.count
        let count = place == 0 ? min(1, proposal.held.count) : place
        defer { proposal.held.removeFirst(count) }
        return Array(proposal.held.prefix(count))
    }

    func append(_ folded: FoldedTurn, _ seat: MemberSeat) -> [MemberEffect] {
        var folded = folded
        number(&folded.pending)
        let body = TurnBody.bytes(of: folded.pending)
        proposal.turn = folded
        return seat.drive { member, now in member.propose(body, now) }
    }

    /// The turn has landed: it is committed here, then answered, then sent (S1).
    func land(_ landed: LandedEntry, _ seat: MemberSeat) -> [MemberEffect] {
        guard let turn = proposal.turn else { return [] }
        proposal.turn = nil
        published = nil
        if seat.leader != seat.member.settings.name {
            log.info("leads", metadata: ["reign": "\(landed.entry.origin.reign)"])
        }
        seat.leader = landed.entry.origin.member
        seat.time.observe(
            turn.now, at: turn.clock.elapsed, reign: landed.entry.origin.reign, isFresh: true)
        let took = ClockReading.now().elapsed - turn.clock.elapsed
        let isLong = took > seat.member.settings.silence.count
        proposal.unobserved = isLong ? Milliseconds(took) : nil
        do throws(StoreError) {
            let place = LogPlace(
                behind: landed.entry, revision: landed.revision, log: seat.member.log)
            try write(turn.pending, at: place, turn.clock)
            upkeep.digester.note(turn.pending.turn, engine)
        } catch {
            // It is in the log: the others have it, and whoever waits for it may know.
            for (reply, receipt) in turn.replies { reply(.committed(receipt)) }
            proposal.held = turn.questions.map { .question($0) } + proposal.held
            return failed(error, seat)
        }
        tendEpoch()
        edge.turned(after: ContinuousClock.now - turn.began)
        endpoints.permit.follow(seat.member.touchesUntil)
        finish(turn)
        tendLog()
        return []
    }

    /// Somebody else leads, or may: nothing is taken, and nothing sent.
    func stepDown() {
        if takesWrites.load(ordering: .relaxed) { log.info("leads no more") }
        takesWrites.store(false, ordering: .relaxed)
        endpoints.permit.follow(.min)
        workers.dismissAll()
        pushWorkers.dismissAll()
        reports = []
        pushReports = []
        outbox = Outbox(store: store.number, messages: [], now: engine.clock.now)
        pushes = PushBox(store: store.number)
        // The next to lead hears the cells itself.
        heard = SummaryInbox()
    }
}
