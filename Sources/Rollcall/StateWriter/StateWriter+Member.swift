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
    /// Questions that come while a turn is on its way wait for so long, and are then answered from what
    /// the store holds (S1).
    private static let questionWaitMax: Int64 = 500
    /// Between two tries to store what did not get into the store.
    private static let storeAgainAfter: Int64 = 500
    /// A wall that is further off does not stand while another may (S14).
    private static let wallOffMax: Int64 = 500
    /// So often it leaves that to others.
    private static let abstentionsMax = 3

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
        let seat = MemberSeat(parts, at: try store.logPlace(), board: board) { [mailbox] in
            mailbox.put(.member($0))
        }
        self.seat = seat
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

    /// When the member has to be looked at again; nil on one machine.
    func memberWake(_ now: Int64) -> Int64? {
        guard let member = seat?.member else { return nil }
        let tick = now + member.tickEvery
        if member.mayPropose {
            if !proposal.held.isEmpty || !reports.isEmpty || !pushReports.isEmpty { return now }
            let next = min(engine.nextInstant(), outbox.due(), pushes.due())
            let due = max(next, engine.clock.now).milliseconds - origin.running + origin.elapsed
            return min(tick, due, lastTurnElapsed + Engine.turnEvery.count)
        }
        if proposal.turn == nil, chores.isBusy { return now }
        return tick
    }

    /// One round: time passes for the member, and if it leads and nothing is on its way, a turn is
    /// made.
    func turnOfMember(_ messages: [StateWriterMessage], _ clock: ClockReading, isLast: Bool) {
        guard let seat else { return }
        perform(seat.tick())
        rebuildIfDue(clock)
        proposal.held += messages.filter {
            switch $0 {
            case .write, .question: true
            default: false
            }
        }
        if seat.member.mayPropose, !isLast {
            propose(clock)
        } else {
            refuseWrites(isLast: isLast)
            answerWhileHeld(clock, isLast: isLast)
        }
        tendChores(clock)
        endpoints.permit.follow(seat.member.touchesUntil)
        seat.publish(turnAt: turnCommitted > 0 ? lastTurnElapsed : nil)
    }

    /// Takes what came of something that the member asked for.
    func take(_ news: MemberNews) {
        guard let seat else { return }
        if case .joined(true) = news { return begin(withCopy: seat) }
        perform(seat.take(news))
    }

    /// Does what the member wants, and what it wants because of that.
    private func perform(_ effects: [MemberEffect]) {
        var waiting = effects
        while !waiting.isEmpty {
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
        case .stepDown: stepDown()
        case .lost(let loss):
            log.critical(
                "nobody may lead from here: see rollcall cluster status",
                metadata: ["cause": "\(loss.sentence)"])
        default: break
        }
        return []
    }

    // MARK: - Following

    private func fold(_ landed: LandedEntry, _ seat: MemberSeat) -> [MemberEffect] {
        let clock = ClockReading.now()
        let place = LogPlace(
            behind: landed.entry, revision: landed.revision, log: seat.member.log)
        do throws(StoreError) {
            guard landed.entry.kind != .creation else {
                return try join(landed, at: place, seat)
            }
            guard let pending = TurnBody.turn(of: landed.entry.body) else {
                throw .damaged("entry \(landed.entry.position) of the log is no turn")
            }
            guard pending.turn.number == turnNumber + 1 else {
                log.warning(
                    "turns are missing here: a copy of another member's store is taken",
                    metadata: ["turn": "\(turnNumber)", "next": "\(pending.turn.number)"])
                return seat.tell { member, _ in member.didNotFit() }
            }
            switch TurnFolder.fold(pending, into: &engine) {
            case .same: break
            case .differs(let count):
                stats.refoldDifferences += count
                log.error(
                    "this member decides otherwise than the leader",
                    metadata: ["turn": "\(pending.turn.number)", "differences": "\(count)"])
            case .damaged(let why): throw .damaged(why)
            }
            seat.time.observe(
                RunningTime(milliseconds: pending.turn.nowMilliseconds), at: clock.elapsed)
            if let now = seat.time.running(at: clock.elapsed) {
                origin = (now.milliseconds, clock.elapsed)
            }
            turnNumber = pending.turn.number
            if let claims = pending.pushClaims { pushClaims = claims }
            try write(pending, at: place, clock)
            seat.leader = landed.entry.origin.member
            proposal.hasStoreFailed = false
            tendLog()
            return seat.tell { member, _ in member.didFold(landed) }
        } catch {
            return failed(error, seat)
        }
    }

    /// Takes the first entry of the log: the watch's number, which every key comes from (S7).
    private func join(
        _ landed: LandedEntry, at place: LogPlace, _ seat: MemberSeat
    ) throws(StoreError) -> [MemberEffect] {
        guard let creation = WatchCreation(landed.entry.body) else {
            throw .damaged("the first entry of the log makes no sense")
        }
        guard try store.join(watch: creation.watch, at: place) else {
            log.critical(
                "the store holds another watch than the log: move it away, or name another prefix",
                metadata: ["store": "\(storePath)"])
            throw .damaged("the store holds another watch than the log")
        }
        guard turnNumber >= creation.turn else {
            return seat.tell { member, _ in member.didNotFit() }
        }
        return seat.tell { member, _ in member.didFold(landed) }
    }

    /// The store did not take what has landed: the engine goes back to what it holds (S5).
    private func failed(_ error: StoreError, _ seat: MemberSeat) -> [MemberEffect] {
        guard case .recoverable = error.disposition else {
            end(error)
            return []
        }
        if !proposal.hasStoreFailed {
            log.error(
                "the store does not take commits: this member follows once it does",
                metadata: ["error": "\(error)"])
        }
        proposal.hasStoreFailed = true
        chores.abandon()
        return seat.tell { member, _ in member.didFail() }
    }

    /// What was folded here does not stand in the log: the engine is built anew, after a while if the
    /// store failed.
    private func withdraw() {
        if let turn = proposal.turn {
            for (reply, _) in turn.replies {
                reply(.unavailable("it is not in the watch's log: another member leads"))
            }
            proposal.held = turn.questions.map { .question($0) } + proposal.held
            proposal.turn = nil
        }
        let wait = proposal.hasStoreFailed ? Self.storeAgainAfter : 0
        proposal.rebuildsFrom = ClockReading.now().elapsed + wait
    }

    private func rebuildIfDue(_ clock: ClockReading) {
        guard let seat, let from = proposal.rebuildsFrom, clock.elapsed >= from else { return }
        do throws(StoreError) {
            var recovered = try store.recover()
            let place = try store.logPlace()
            chores.abandon()
            engine = recovered.takeEngine()
            turnNumber = recovered.lastTurn?.number ?? 0
            pushClaims = try store.journal.pushClaims()
            published = nil
            proposal.rebuildsFrom = nil
            perform(seat.tell { member, _ in member.didRebuild(at: place) })
        } catch {
            guard case .recoverable = error.disposition else { return end(error) }
            proposal.rebuildsFrom = clock.elapsed + Self.storeAgainAfter
        }
    }

    /// A copy of another member's store stands beside ours: the process begins again with it.
    private func begin(withCopy seat: MemberSeat) {
        log.info("a copy of another member's store is here: starting again with it")
        workers.dismissAll()
        pushWorkers.dismissAll()
        do throws(StoreError) {
            try store.journal.close()
        } catch {
            log.warning("the old store did not close", metadata: ["error": "\(error)"])
        }
        seat.parts.onCopy()
    }

    // MARK: - Leading

    /// Builds what a leader needs of what the store holds, and folds the beginning of its reign (S4,
    /// S7).
    private func reign(
        _ number: Int64, _ unobserved: Milliseconds, _ seat: MemberSeat
    ) -> [MemberEffect] {
        let clock = present()
        let now = max(running(clock), engine.openInstant)
        let isFirst = turnNumber == 0
        let step = clock.wall.milliseconds - engine.clock.wall(now).milliseconds
        let isOff = !isFirst && abs(step) > Self.wallOffMax
        if proposal.hasStoreFailed || isOff, proposal.abstentions < Self.abstentionsMax {
            proposal.abstentions += 1
            return seat.tell { member, now in
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
    private func propose(_ clock: ClockReading) {
        guard let seat else { return }
        let messages = proposal.held
        proposal.held = []
        takesWrites.store(true, ordering: .relaxed)
        let folded = fold(messages, clock, lateBy: 0, isLast: false)
        guard folded.isDue else { return finish(folded) }
        perform(append(folded, seat))
    }

    private func append(_ folded: FoldedTurn, _ seat: MemberSeat) -> [MemberEffect] {
        var folded = folded
        number(&folded.pending)
        let body = TurnBody.bytes(of: folded.pending)
        proposal.turn = folded
        return seat.tell { member, now in member.propose(body, now) }
    }

    /// The turn has landed: it is committed here, then answered, then sent (S1).
    private func land(_ landed: LandedEntry, _ seat: MemberSeat) -> [MemberEffect] {
        guard let turn = proposal.turn else { return [] }
        proposal.turn = nil
        published = nil
        if seat.leader != seat.member.settings.name {
            log.info("leads", metadata: ["reign": "\(landed.entry.origin.reign)"])
        }
        seat.leader = landed.entry.origin.member
        seat.time.observe(turn.now, at: turn.clock.elapsed)
        do throws(StoreError) {
            let place = LogPlace(
                behind: landed.entry, revision: landed.revision, log: seat.member.log)
            try write(turn.pending, at: place, turn.clock)
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
    private func stepDown() {
        log.info("leads no more")
        takesWrites.store(false, ordering: .relaxed)
        endpoints.permit.follow(.min)
        workers.dismissAll()
        pushWorkers.dismissAll()
        reports = []
        pushReports = []
        outbox = Outbox(store: store.number, messages: [], now: engine.clock.now)
        pushes = PushBox(store: store.number)
    }

    // MARK: - Whoever waits

    /// Refuses the writes that wait, unless a turn of ours is on its way and they may be in the next.
    private func refuseWrites(isLast: Bool) {
        guard isLast || seat?.member.role != .leading else { return }
        takesWrites.store(false, ordering: .relaxed)
        let reason = reasonToRefuse
        proposal.held.removeAll { message in
            guard case .write(_, let reply) = message else { return false }
            reply(.unavailable(reason))
            return true
        }
        guard isLast, let turn = proposal.turn else { return }
        // What is on its way may still land: nobody may be told that it did.
        for (reply, _) in turn.replies { reply(.unavailable("stopping: not known to be stored")) }
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
