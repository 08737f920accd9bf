import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// The state writer of a watch on several machines: what it does between its member and its store.
///
///     leads     fold ──► append ──► landed ──► commit ──► answer, send          (S1)
///     follows   somebody's entry ──► fold ──► commit
extension StateWriter {
    /// A stop waits for so long until it stands in the log that this member leads no more.
    private static let handOverMax: Int64 = 500
    /// Questions that come while a turn is on its way wait for so long, and are then answered from what
    /// the store holds (S1).
    private static let questionWaitMax: Int64 = 500

    // MARK: - The beginning

    /// Begins as a member that follows: no turn is made before it reigns.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func begin(
        _ parts: MemberSeat.Parts, _ board: MemberBoard, _ policy: Policy, last: Turn?,
        checkpointsDamaged: [Int64]
    ) throws(StoreError) {
        let clock = ClockReading.now()
        // What one member lost with its disk stands in the log, or at the others.
        if let loss {
            log.error(
                "this member's store is begun anew: the log and the other members have what it held",
                metadata: ["cause": "\(loss.cause.word)", "evidence": "\(loss.evidence)"])
        }
        loss = nil
        proposal.policy = policy
        pushClaims = try store.journal.pushClaims()
        turnCommitted = turnNumber
        refusalsSeen = refusals()
        lastTurnElapsed = clock.elapsed
        estimateTime(last, clock)
        if !checkpointsDamaged.isEmpty {
            try store.write { () throws(StoreError) in
                for turn in checkpointsDamaged { try store.journal.dropCheckpoint(turn: turn) }
            }
        }
        takesWrites.store(false, ordering: .relaxed)
        endpoints.permit.follow(.min)
        _ = leaveEpoch(clock)
        beginAlarm(engine.clock.now, clock)
        stats.startedAt = clock.wall
        stats.usedBytes = try store.journal.usedBytes()
        let seat = try sit(
            parts, at: try store.logPlace(), board, origin: try originToFollow(parts))
        log.info(
            "a member of a watch",
            metadata: [
                "member": "\(NotificationWords.text(parts.settings.name))",
                "position": "\(seat.member.place.position)",
            ])
    }

    /// Until a turn tells how running time stands, the wall says how long ago the last one was.
    private func estimateTime(_ last: Turn?, _ clock: ClockReading) {
        guard let last else { return origin = (clock.wall.milliseconds, clock.elapsed) }
        let passed = max(1, clock.wall.milliseconds - last.wallMilliseconds)
        origin = (last.nowMilliseconds + passed, clock.elapsed)
    }

    // MARK: - The loop

    /// The reign in which this member sends; 0 on one machine.
    var reign: Int64 { seat?.member.place.reign ?? 0 }

    /// Returns the instant at which the member has to be looked at again; nil on one machine.
    func memberWake(_ now: Int64) -> Int64? {
        guard let member = seat?.member else { return nil }
        let tick = now + (stopping == nil ? member.tickEvery : 5)
        if member.mayPropose {
            if !proposal.held.isEmpty || !reports.isEmpty || !pushReports.isEmpty { return now }
            if upkeep.digester.isBusy { return now }
            let next = min(engine.nextInstant(), outbox.due(), pushes.due())
            let due = elapsed(of: max(next, engine.clock.now))
            return min(tick, due, lastTurnElapsed + Engine.turnEvery.count)
        }
        if proposal.turn == nil, chores.isBusy || upkeep.digester.isBusy { return now }
        return tick
    }

    /// One round: time passes for the member, and if it leads and nothing is on its way, a turn is
    /// made.
    func turnOfMember(_ messages: [StateWriterMessage], _ clock: ClockReading, isLast: Bool) {
        guard let seat else { return }
        perform(seat.tick())
        rebuildIfDue(clock)
        tendWatch(clock)
        tendSplit(clock)
        proposal.held += messages.filter {
            switch $0 {
            case .write, .question: true
            default: false
            }
        }
        if seat.member.role != .leading {
            // Of what it sent as a leader another one makes what it can.
            reports = []
            pushReports = []
        }
        if seat.member.mayPropose, stopping != nil, !isLast, proposal.handsOverUntil == nil {
            handOver(clock)
        }
        // The engine is what has landed now, and not for long under load.
        answerSummaryWaits(isLast: isLast)
        if seat.member.mayPropose, !isLast {
            propose(clock)
        } else {
            refuseWrites(clock, isLast: isLast)
            answerWhileHeld(clock, isLast: isLast)
        }
        tendChores(clock)
        tendOutage(clock)
        endpoints.permit.follow(seat.member.touchesUntil)
        seat.publish(upkeep.erasures, at: clock.elapsed)
    }

    /// Says in the log that this member leads no more, so that another one stands at once.
    private func handOver(_ clock: ClockReading) {
        guard let seat else { return }
        proposal.handsOverUntil = clock.elapsed + Self.handOverMax
        perform(seat.drive { member, now in member.release(now) })
    }

    /// True while a stop has to wait for the turn on its way, or for the word that another may lead.
    func isHandingOver(at elapsed: Int64) -> Bool {
        guard let seat else { return false }
        if proposal.turn != nil { return true }
        guard let until = proposal.handsOverUntil else { return seat.member.role == .leading }
        return elapsed < until
    }

    /// Takes what came of something that the member asked for.
    func take(_ news: MemberNews) {
        guard let seat else { return }
        switch news {
        case .joined(true): return begin(withCopy: seat)
        case .order(let order, let reply): return take(order, seat, reply)
        case .surveyed(let places, let isForced, let reply):
            return adopt(places, isForced: isForced, seat, reply)
        case .adoption(let outcome, let reply): reply(MemberOrder.Outcome(outcome))
        default: break
        }
        if case .released = news { proposal.handsOverUntil = .min }
        if case .seen(let isSeen) = news { proposal.outage?.isSeenElsewhere = isSeen }
        let trouble = seat.trouble
        perform(seat.take(news))
        // Said once, and again when it is another: a log is read twice a second.
        if let now = seat.trouble, now != trouble {
            log.warning("the log of the watch cannot be read", metadata: ["error": "\(now)"])
        } else if trouble != nil, seat.trouble == nil {
            log.info("the log of the watch is read again")
        }
    }

    /// Does what the member wants, and what it wants because of that.
    func perform(_ effects: [MemberEffect]) {
        var waiting = effects
        let seat = seat
        // What an earlier member wanted is over with it.
        while !waiting.isEmpty, self.seat === seat {
            let effect = waiting.removeFirst()
            waiting += perform(effect)
        }
    }

    private func perform(_ effect: MemberEffect) -> [MemberEffect] {
        guard let seat else { return [] }
        switch effect {
        case .create: seat.create(watch: store.number, turn: turnNumber)
        case .fold(let landed): return fold(landed, seat)
        case .reign(let number, let unobserved): return reign(number, unobserved, seat)
        case .landed(let landed): return land(landed, seat)
        case .rebuild: withdraw()
        case .adopted(let place): adopted(place, seat)
        case .stepDown: stepDown()
        case .lost(let loss):
            log.critical(
                "nobody may lead from here: see rollcall cluster",
                metadata: ["cause": "\(loss.sentence)"])
        default: break
        }
        return []
    }

    // MARK: - Whoever waits

    /// Refuses the writes that wait, unless a turn of ours is on its way, not for too long, and they may
    /// be in the next.
    private func refuseWrites(_ clock: ClockReading, isLast: Bool) {
        let isStuck = proposal.turn != nil && isUnwatched(at: clock.elapsed)
        guard isLast || isStuck || seat?.member.role != .leading else { return }
        takesWrites.store(false, ordering: .relaxed)
        let reason = reasonToRefuse
        proposal.held.removeAll { message in
            guard case .write(_, _, _, _, let reply) = message else { return false }
            reply(.unavailable(reason))
            return true
        }
        guard isLast || isStuck, let turn = proposal.turn else { return }
        // What is on its way may still land: nobody knows.
        for (reply, _) in turn.replies {
            reply(.unavailable("the log has not answered: not known to be stored"))
        }
        proposal.turn?.replies = []
    }

    /// The reason why writes are refused, for whoever sent one.
    var reasonToRefuse: String {
        guard let board else { return "the store does not take commits" }
        let standing = board.standing
        if standing.role == .lost { return "nobody leads: \(standing.loss)" }
        guard !standing.leader.isEmpty, standing.leader != board.member else {
            return "no member leads at present"
        }
        return "member \(NotificationWords.text(standing.leader)) leads"
    }

    /// Answers questions of what the store holds, once they have waited for a turn on its way long
    /// enough.
    private func answerWhileHeld(_ clock: ClockReading, isLast: Bool) {
        guard !proposal.held.isEmpty else { return }
        if let turn = proposal.turn, !isLast,
            clock.elapsed - turn.clock.elapsed < Self.questionWaitMax
        {
            return
        }
        // The engine holds what has not landed, or will not.
        if published == nil, proposal.turn != nil || proposal.rebuildsFrom != nil {
            published = lastCommitted()
        }
        let questions = proposal.held.compactMap { message in
            if case .question(let question) = message { return question }
            return nil
        }
        proposal.held.removeAll { if case .question = $0 { true } else { false } }
        let held = published ?? engine
        answer(questions, at: max(running(clock), held.clock.now))
    }

    /// True if what is held here may not be how things are: the log's end is not known, or nobody makes
    /// turns (S15).
    func isUnwatched(at elapsed: Int64) -> Bool {
        guard let seat else { return false }
        let silence = seat.member.settings.silence.count
        if let turn = proposal.turn { return elapsed - turn.clock.elapsed > silence }
        return !seat.member.isConfirmed(at: elapsed)
            || elapsed - lastTurnElapsed > Engine.turnEvery.count + 2 * silence
    }

    // MARK: - Without the log

    /// Lets the alarm know that the log takes nothing, unless another member says that it is only we who
    /// do not reach it (S18).
    private func tendOutage(_ clock: ClockReading) {
        // An onlooker stores nothing that somebody waits for.
        guard let seat, seat.origin == nil else { return }
        let isAway = isUnreached(at: clock.elapsed)
        guard isAway else {
            proposal.outage = nil
            return alarm.worked(now: running(clock), wall: clock.wall)
        }
        let isLeader = seat.leader == seat.member.settings.name
        var outage = proposal.outage ?? LogOutage(since: clock.elapsed)
        if clock.elapsed - outage.askedAt >= LogOutage.askEvery {
            outage.askedAt = clock.elapsed
            seat.askWhetherSeen()
        }
        proposal.outage = outage
        guard !outage.isSeenElsewhere, outage.isDue(at: clock.elapsed, isLeader: isLeader) else {
            return
        }
        alarm.failed(now: running(clock), wall: clock.wall)
    }

    /// True if the log has not answered for `silence`, or does not take a turn for so long.
    private func isUnreached(at elapsed: Int64) -> Bool {
        guard let seat else { return false }
        let silence = seat.member.settings.silence.count
        if let turn = proposal.turn { return elapsed - turn.clock.elapsed > silence }
        if case .lost = seat.member.role { return true }
        return elapsed - (seat.member.confirmedSince ?? startedElapsed) > silence
    }

    // MARK: - Chores

    /// Writes what a follower has no turns for, and a leader none that would go into the log.
    private func tendChores(_ clock: ClockReading) {
        guard chores.isBusy, proposal.turn == nil, proposal.rebuildsFrom == nil else { return }
        do throws(StoreError) {
            let began = ContinuousClock.now
            var piece = ChorePiece()
            try store.write { () throws(StoreError) in
                piece = try chores.writePiece(to: store.journal, engine)
            }
            chores.committed(after: .now - began, hasPiece: piece.bytes > 0, at: .now)
            walBytes += piece.bytes
            var none = PendingTurn()
            none.close(number: turnNumber, engine)
            noteChores(none, clock)
            tendLog()
        } catch {
            guard case .recoverable = error.disposition else { return end(error) }
            chores.abandon()
        }
    }
}
