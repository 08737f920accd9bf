import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// The state writer and its store: commits, the turns of which the commit failed, the log.
extension StateWriter {
    /// The path of the store, for those who read it themselves.
    var storePath: String { store.journal.connection.path }

    /// Bytes written between checkpoints of the write-ahead log: some milliseconds each.
    private static let walBytesMax = 1 << 20
    /// Bytes of the log itself that are moved, whoever wrote them: a batch of a hundred bytes alone takes
    /// two pages of it.
    private static let logBytesMax = 32 << 20

    /// Pages of the write-ahead log that are too many to be a matter of a moment: what it is cut
    /// back to (`journal_size_limit`), in pages of 4 KiB.
    private static let logPagesWarned = (64 << 20) / 4096

    /// Between looks at the store's files.
    private static let witnessEvery: Int64 = 500
    /// Between looks at the store's size, which is read from its file's head.
    private static let sizeEvery: Int64 = 5000
    /// Between looks for copies that an upgrade kept.
    private static let copiesEvery: Int64 = 3_600_000

    /// Writes a turn and whatever of a checkpoint is due; false if it had to be kept.
    func commit(
        _ pending: PendingTurn, begunBy writer: DecisionWriter? = nil, _ clock: ClockReading
    ) -> Bool {
        var pending = pending
        number(&pending)
        do throws(StoreError) {
            try write(pending, begunBy: writer, clock)
            return true
        } catch {
            fail(error, keeping: pending, clock)
            return false
        }
    }

    /// Writes a turn that has its number, and where it stands in the log if there is one, with whatever
    /// of a checkpoint is due, and what `more` writes.
    /// - Throws: `StoreError` if it is not stored.
    func write(
        _ pending: PendingTurn, at place: LogPlace? = nil, begunBy writer: DecisionWriter? = nil,
        _ clock: ClockReading, with more: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        var piece = ChorePiece()
        let began = ContinuousClock.now
        let rows = pending.rows.count
        let hasRoom = chores.hasRoom(at: began, isWaitedFor: !pending.isEmpty, turnRows: rows)
        let split = place.flatMap { splitGiven(by: pending, at: $0) }
        let also = { [self] () throws(StoreError) in
            try more()
            if let split { try note(split) }
            if hasRoom {
                piece = try chores.writePiece(to: store.journal, engine, turnRows: rows)
            }
        }
        if let place {
            board?.positions.begin(place.position)
            try store.commit(pending, at: place, also: also)
            board?.positions.end(place.position)
            if let split { keep(split) }
        } else {
            try store.commit(pending, begunBy: writer, also: also)
        }
        let now = ContinuousClock.now
        edge.committed(after: now - began)
        chores.committed(after: now - began, hasPiece: piece.bytes > 0, at: now)
        let own = pending.storedBytes
        let cut = committed(pending, clock, piece.bytes)
        let span = piece.span(ofCommitUntil: now, ownBytes: own) + cut
        if span > .zero { edge.didChores(for: span) }
    }

    func number(_ pending: inout PendingTurn) {
        turnNumber += 1
        pending.close(
            number: turnNumber, at: engine.clock, nextRow: engine.nextRow, engine.roster)
        // It is the turn's, so that it is kept with it if the commit fails (J6).
        // Of a blind instant there is none, however long one is due.
        if !engine.clock.isBlind, sampler.isDue(at: engine.clock.wallNow) {
            pending.sample = sampler.sample(engine)
        }
    }

    /// Returns what beginning a chore took.
    private func committed(
        _ pending: PendingTurn, _ clock: ClockReading, _ choreBytes: Int
    ) -> Duration {
        lastTurnElapsed = clock.elapsed
        noteTurn(pending.turn.number)
        let present = ClockReading.now()
        committedElapsed = present.elapsed
        alarm.worked(now: running(present), wall: present.wall)
        let wall = engine.clock.wall(running(present))
        // Who only follows did not decide it, and tells nobody.
        if seat == nil || seat?.member.role == .leading {
            noteDetected(pending, at: wall)
            if pending.decisions.isEmpty {
                decisionLog.pass(at: present.elapsed)
            } else {
                decisionLog.writeLog(pending.decisions, of: engine, at: present.elapsed)
            }
        }
        pending.decisions.last.map { decided.raise(to: $0.id) }
        walBytes += pending.storedBytes + choreBytes
        return noteChores(pending, present)
    }

    /// Notes how late deadlines were decided, those of one instant together.
    private func noteDetected(_ pending: PendingTurn, at wall: Timestamp) {
        var same = (at: Timestamp.distantPast, times: 0)
        func note() {
            guard same.times > 0 else { return }
            edge.detected(
                late: wall - same.at, times: same.times, turn: pending.turn.number, at: wall)
        }
        for decision in pending.decisions {
            guard case .status(let at, _, _, _, .deadline) = decision.decision else { continue }
            if at != same.at {
                note()
                same = (at, 0)
            }
            same.times += 1
        }
        note()
    }

    /// Notes beside the store that a turn is durable.
    func noteTurn(_ number: Int64) {
        turnCommitted = number
        epoch.note(turn: number)
    }

    /// Moves the log into the file when it is long, or has to be cut. Between turns: whoever waited
    /// for the last one is answered.
    func tendLog() {
        let logBytes = store.journal.logBytes
        // Once all of it was moved it is used again from its start.
        if logBytes < logBytesTried { logBytesTried = 0 }
        if chores.erasures.wantsLogCut {
            checkpointWAL(.truncate)
        } else if walBytes > Self.walBytesMax || logBytes - logBytesTried > Self.logBytesMax {
            checkpointWAL(.passive)
        }
    }

    /// Looks whether the store's files are still there as they should be, twice a second at most: the
    /// loop goes round each second at least. Who took them away hears of it before anything is lost.
    func watchFiles(_ clock: ClockReading) {
        guard clock.elapsed - witnessedElapsed >= Self.witnessEvery else { return }
        witnessedElapsed = clock.elapsed
        do throws(StoreError) { try store.journal.checkFiles() } catch { end(error) }
    }

    @discardableResult
    func noteChores(_ pending: PendingTurn, _ clock: ClockReading) -> Duration {
        var span = Duration.zero
        do throws(StoreError) {
            span = try chores.committed(
                pending, store.journal, engine, age: engine.policy.retention, clock)
            if sizedElapsed.map({ clock.elapsed - $0 >= Self.sizeEvery }) ?? true {
                stats.usedBytes = try store.journal.usedBytes()
                sizedElapsed = clock.elapsed
                tendCopies(clock)
            }
            if let damage = chores.packing.takeDamage() {
                log.error("history cannot be packed", metadata: ["reason": "\(damage)"])
            }
            guard chores.hasCut else { return span }
            chores.hasCut = false
            stats.journalOldestAt = try store.journal.firstTurn().map {
                Timestamp(milliseconds: $0.wallMilliseconds)
            }
        } catch {
            log.error("the store cannot be read", metadata: ["error": "\(error)"])
        }
        return span
    }

    private func checkpointWAL(_ mode: WALCheckpoint.Mode) {
        walBytes = 0
        logBytesTried = store.journal.logBytes
        do throws(StoreError) {
            let result = try store.journal.checkpointWAL(mode)
            writeLog(result)
            if result.isBusy {
                log.debug("the log's checkpoint is held up by a reader")
            } else if mode == .truncate, chores.erasures.wantsLogCut, forgetCopies() {
                chores.erasures.logWasCut(at: ClockReading.now().wall)
            }
        } catch {
            guard case .fatal = error.disposition else {
                return log.warning("the log's checkpoint failed", metadata: ["error": "\(error)"])
            }
            end(error)
        }
    }

    /// Deletes copies that an upgrade kept, and stores that gave way to one: nobody is erased there (J15).
    /// False if the disk refuses, which is said and tried again.
    private func forgetCopies() -> Bool {
        dropCopies("copies of the store from before an upgrade are deleted: people are erased")
    }

    /// Deletes such copies once they are old, and such stores once their history would be, and both if somebody
    /// was erased since: an older program erases nobody there.
    private func tendCopies(_ clock: ClockReading) {
        if let last = chores.copiesLookedAt, clock.elapsed - last < Self.copiesEvery { return }
        if seat?.origin != nil { return }
        chores.copiesLookedAt = clock.elapsed
        let erased = chores.erasures.erasures.values.compactMap(\.finishedAt).max() ?? .distantPast
        _ = dropCopies(
            "copies of the store from before an upgrade are deleted: they are old, or somebody was erased since",
            before: max(erased, clock.wall - StoreUpgrade.keptFor),
            newerBefore: max(erased, clock.wall - engine.policy.retention))
    }

    private func dropCopies(
        _ words: Logger.Message, before time: Timestamp = .distantFuture,
        newerBefore newer: Timestamp = .distantFuture
    ) -> Bool {
        do throws(StoreError) {
            let deleted = try StoreUpgrade.deleteCopies(
                of: storePath, before: time, newerBefore: newer)
            if !deleted.isEmpty {
                log.info(words, metadata: ["files": "\(deleted.joined(separator: " "))"])
            }
            chores.haveCopiesFailed = false
            return true
        } catch {
            // It is tried with each cut of the log.
            if !chores.haveCopiesFailed {
                log.error(
                    "copies of the store cannot be deleted: no erasure is over before",
                    metadata: ["error": "\(error)"])
            }
            chores.haveCopiesFailed = true
            return false
        }
    }

    /// Warns once of a log that grows: only a reader who is not one of ours keeps it from being used
    /// again (D-10).
    private func writeLog(_ log: WALCheckpoint) {
        let isLong = log.checkpointed < log.frames && log.frames > Self.logPagesWarned
        guard isLong != isLogLong, log.frames >= 0 else { return }
        isLogLong = isLong
        guard isLong else { return self.log.info("the store's log is used again from its start") }
        self.log.warning(
            "the store's log grows: somebody else has been reading the store for too long",
            metadata: ["bytes": "\(log.frames * 4096)", "file": "\(storePath)-wal"])
    }

    /// Keeps a turn whose commit failed and goes blind: what is known so far stays published.
    private func fail(_ error: StoreError, keeping pending: PendingTurn, _ clock: ClockReading) {
        guard case .recoverable = error.disposition else { return end(error) }
        log.error(
            "the store does not take commits; they are tried again until it does",
            metadata: ["error": "\(error)"])
        alarm.failed(now: running(clock), wall: clock.wall)
        takesWrites.store(false, ordering: .relaxed)
        chores.abandon()
        uncommitted.append(pending)
        var failing = PendingTurn()
        let now = openInstant
        published = lastCommitted()?.unstorable(since: now)
        _ = failing.fold(.store(isFailing: true), into: &engine, at: now)
        evaluate(&failing, at: now, sends: false)
        number(&failing)
        uncommitted.append(failing)
        lastTurnElapsed = clock.elapsed
    }

    /// The engine without what is kept, from the store; nil if that cannot even be read.
    func lastCommitted() -> Engine? {
        do throws(StoreError) {
            // Less for a while, and then all of it again, would look like a restart.
            return try store.recover().engine.counting(as: engine)
        } catch {
            log.error("the store cannot be read", metadata: ["error": "\(error)"])
            return nil
        }
    }

    /// Tries to commit what was kept; nothing else is folded before that works (J6).
    func recoverStore(_ messages: [StateWriterMessage], _ clock: ClockReading) {
        var questions: [@Sendable (StateView) -> Void] = []
        for message in messages {
            switch message {
            case .write(_, _, _, _, let reply):
                reply(.unavailable("the store does not take commits"))
            case .question(let question): questions.append(question)
            case .report, .pushReport, .endpoints, .noticeWait, .positionWait, .member, .summary,
                .summaryWait, .stop:
                break
            }
        }
        while let first = uncommitted.first {
            do throws(StoreError) {
                try store.commit([first])
                noteTurn(first.turn.number)
                first.decisions.last.map { decided.raise(to: $0.id) }
                decisionLog.writeLog(first.decisions, of: engine, at: clock.elapsed)
                chores.erasures.add(first.erasures)
                uncommitted.removeFirst()
                send(first.sendings)
                sendPushes(first.pushSendings)
            } catch {
                guard case .recoverable = error.disposition else { return end(error) }
                break
            }
        }
        if uncommitted.isEmpty {
            log.info("the store takes commits again")
            // The refusals of the meantime are what blindness already tells of.
            refusalsSeen = refusals()
            published = nil
            var pending = PendingTurn()
            let now = max(running(clock), openInstant)
            _ = pending.fold(.store(isFailing: false), into: &engine, at: now)
            evaluate(&pending, at: now, sends: false)
            takesWrites.store(commit(pending, clock), ordering: .relaxed)
        }
        answer(questions, at: max(running(clock), engine.clock.now))
    }

    func end(_ error: StoreError) {
        log.critical("the store failed for good", metadata: ["error": "\(error)"])
        switch error.disposition {
        case .fatal(.corrupt), .fatal(.moved): StoreQuarantine.suspect(storePath)
        default: break
        }
        onFatal(error)
    }
}
