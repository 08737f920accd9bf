import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer of a member that follows: what landed is folded, and stored, as the leader did.
extension StateWriter {
    /// Between two tries to store what did not get into the store.
    private static let storeAgainAfter: Int64 = 500

    func fold(_ landed: LandedEntry, _ seat: MemberSeat) -> [MemberEffect] {
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
                return seat.drive { member, _ in member.didNotFit() }
            }
            if let split = split(in: pending, seat) {
                try beginOwnWatch(split, pending, seat, clock)
                return []
            }
            var isOtherwise = false
            engine.turn = pending.turn.number
            switch TurnFolder.fold(pending, into: &engine) {
            case .same: break
            case .differs(let count):
                stats.refoldDifferences += count
                log.error(
                    "this member decides otherwise than the leader",
                    metadata: ["turn": "\(pending.turn.number)", "differences": "\(count)"])
                // By other rules it may; by the same it holds something else (S10).
                if pending.turn.engineVersion == Engine.version { isOtherwise = true }
            case .damaged(let why): throw .damaged(why)
            }
            seat.observe(pending.turn, of: landed, at: clock.elapsed)
            if let now = seat.time.running(at: clock.elapsed) {
                origin = (now.milliseconds, clock.elapsed)
            }
            turnNumber = pending.turn.number
            if let claims = pending.pushClaims { pushClaims = claims }
            try write(pending, at: place, clock)
            followCells()
            upkeep.digester.note(pending.turn, engine)
            if isOtherwise, !seat.member.isDivergent { diverge(seat) }
            seat.leader = landed.entry.origin.member
            proposal.hasStoreFailed = false
            tendLog()
            return seat.drive { member, _ in member.didFold(landed) }
        } catch {
            return failed(error, seat)
        }
    }

    /// Takes the first entry of the log: the watch's number, which every key comes from (S7).
    func join(
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
        board?.positions.begin(place.position)
        board?.positions.end(place.position)
        guard turnNumber >= creation.turn else {
            return seat.drive { member, _ in member.didNotFit() }
        }
        return seat.drive { member, _ in member.didFold(landed) }
    }

    /// The store did not take what has landed: the engine goes back to what it holds (S5).
    func failed(_ error: StoreError, _ seat: MemberSeat) -> [MemberEffect] {
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
        return seat.drive { member, _ in member.didFail() }
    }

    /// Gives up what was folded here, since it does not stand in the log: the engine is built anew,
    /// after a while if the store failed.
    func withdraw() {
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

    func rebuildIfDue(_ clock: ClockReading) {
        guard let seat, let from = proposal.rebuildsFrom, clock.elapsed >= from else { return }
        do throws(StoreError) {
            var recovered = try store.recover()
            let place = try store.logPlace()
            chores.abandon()
            engine = recovered.takeEngine().counting(as: engine)
            followCells()
            // What was hashed is the state that was given up.
            upkeep.digester.abandon()
            seat.digest = nil
            turnNumber = recovered.lastTurn?.number ?? 0
            pushClaims = try store.journal.pushClaims()
            published = nil
            proposal.rebuildsFrom = nil
            perform(seat.drive { member, _ in member.didRebuild(at: place) })
        } catch {
            guard case .recoverable = error.disposition else { return end(error) }
            proposal.rebuildsFrom = clock.elapsed + Self.storeAgainAfter
        }
    }

    /// A copy of another member's store stands beside ours: the process begins again with it.
    func begin(withCopy seat: MemberSeat) {
        log.info("a copy of another member's store is here: starting again with it")
        workers.dismissAll()
        pushWorkers.dismissAll()
        do throws(StoreError) {
            try store.journal.close()
            if seat.keepsStore {
                let kept = try StoreQuarantine.quarantine(
                    storePath, at: ClockReading.now().wall, as: .replaced)
                log.warning(
                    "the store that gives way is put aside",
                    metadata: ["files": "\(kept.joined(separator: " "))"])
            }
        } catch {
            log.warning("the old store did not close", metadata: ["error": "\(error)"])
        }
        seat.parts.onCopy()
    }
}
