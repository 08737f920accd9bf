import Logging
import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer of a new cell: it looks on in the log of the one that it is split from, until that gives
/// it its slots. From that turn on its store is that of a watch of its own. Source: K6.
///
///     looks on ──── the split is folded ──► begins its log, or follows it ──► stands, leads
extension StateWriter {
    /// The key of `meta` under which the name of a cell stands that was split from another one.
    private static let splitKey = "split_own"
    /// Those under which the place of a split stands that this cell gave slots by.
    private static let versionKey = "split_given_version"
    private static let positionKey = "split_given_position"
    /// Between two looks whether another member of the new cell has what this one lacks.
    private static let lookEvery: Int64 = 5000

    // MARK: - Looking on

    /// Makes the member of this watch, or with an origin the onlooker of another one. News of an earlier one
    /// is not taken.
    func sit(
        _ parts: MemberSeat.Parts, at place: LogPlace, _ board: MemberBoard, origin: SplitOrigin?
    ) throws(StoreError) -> MemberSeat {
        seats += 1
        let made = MemberSeat(parts, at: place, board: board, origin: origin) {
            [mailbox, seats] in mailbox.put(.member($0, seat: seats))
        }
        seat = made
        board.positions.begin(place.position)
        board.positions.end(place.position)
        try beginWatch(made)
        followCells()
        return made
    }

    /// Returns the cell whose log is still to be followed; nil if there is none, or this store's people are
    /// its own already.
    /// - Throws: `StoreError` if that cannot be read.
    func originToFollow(_ parts: MemberSeat.Parts) throws(StoreError) -> SplitOrigin? {
        guard let origin = parts.origin else { return nil }
        let own = try store.journal.bytes(forKey: Self.splitKey) ?? []
        // A copy of a cell that was split itself says that cell's name.
        if own != origin.own { return origin }
        origin.close()
        return nil
    }

    /// True of an onlooker whose copy was made after the slots were given: it lacks the people.
    var cameTooLate: Bool {
        guard let origin = seat?.origin else { return false }
        return engine.cellMap?.place(of: origin.own) != nil
    }

    /// Waits, having come too late, for a member of the new cell that has what is lacking here.
    func tendSplit(_ clock: ClockReading) {
        guard let seat, cameTooLate, clock.elapsed - upkeep.splitLookedAt >= Self.lookEvery else {
            return
        }
        if upkeep.splitLookedAt == Int64.min / 4 {
            log.critical(
                "the cell has been split already, and this store lacks the people of the new one: it waits for another member that has them"
            )
        }
        upkeep.splitLookedAt = clock.elapsed
        seat.lacksPeople = true
        perform(seat.drive { member, _ in member.isBusy ? [] : member.didNotFit() })
    }

    // MARK: - The split

    /// Returns the split that a turn of the origin holds, if it gives this cell its slots.
    func split(in turn: PendingTurn, _ seat: MemberSeat) -> CellSplit? {
        guard let origin = seat.origin, let split = turn.split,
            split.map.place(of: origin.own) != nil, !cameTooLate
        else { return nil }
        return split
    }

    /// Folds the turn of a split as the new cell, and makes the store that of a watch of its own: nothing of
    /// what the old one was about to tell is told here.
    /// - Throws: `StoreError` if it is not stored; then nothing of it is.
    func beginOwnWatch(
        _ split: CellSplit, _ turn: PendingTurn, _ old: MemberSeat, _ clock: ClockReading
    ) throws(StoreError) {
        guard let origin = old.origin, let board, let events = TurnFolder.events(of: turn) else {
            throw .damaged("a row makes no sense")
        }
        let name = Array("\(store.number) \(split.map.version) ".utf8) + origin.own
        let watch = StableHash.of(name.span, name.indices)
        let left = try store.journal.messages()
        let decisions = store.journal.lastDecision
        let now = RunningTime(milliseconds: turn.turn.nowMilliseconds)
        outbox = Outbox(store: watch, messages: [], now: now, times: endpoints.times)
        pushes = PushBox(store: watch, times: endpoints.pushTimes)
        var pending = PendingTurn()
        for event in events {
            var event = event
            switch event {
            case .split: event = .split(CellSplit(split.map, own: origin.own, isNew: true))
            // What the old cell sent is its own; of pushes on their way nothing is known here.
            case .outcome, .pushed: continue
            default: break
            }
            _ = pending.fold(event, into: &engine, at: now)
        }
        evaluate(&pending, at: now, sends: false)
        pending.outbox.leaveBehind(left, at: engine.clock.wall(now))
        number(&pending)
        try write(pending, at: LogPlace(), clock) { [store] () throws(StoreError) in
            try store.journal.set(storeNumber: watch)
            try store.journal.set(origin.own, forKey: Self.splitKey)
            try store.journal.set(decisions, forKey: HistoryReader.originDecisionsKey)
            // One that the old cell knew of is not this one's.
            try forgetSplit()
        }
        store.belong(to: watch)
        stepDown()
        upkeep = WatchUpkeep()
        proposal = Proposal(policy: proposal.policy)
        origin.close()
        log.info(
            "the new cell has its people: it is a watch of its own from now on",
            metadata: [
                "cell": "\(NotificationWords.text(origin.own))",
                "map_version": "\(split.map.version)",
            ])
        _ = try sit(old.parts, at: LogPlace(), board, origin: nil)
        _ = leaveEpoch(clock)
        tendLog()
    }

    // MARK: - Behind it, in the old cell

    /// Returns the place of a split by which this cell gives slots in a turn; nil if there is none.
    func splitGiven(by turn: PendingTurn, at place: LogPlace) -> SplitPlace? {
        guard !edge.cells.isAlone, seat?.origin == nil, let split = turn.split,
            split.map == engine.cellMap
        else { return nil }
        return SplitPlace(version: split.map.version, position: place.position)
    }

    /// Notes in the store, in the open transaction, until where the new cell may need the log.
    /// - Throws: `StoreError` if that cannot be written.
    func note(_ split: SplitPlace) throws(StoreError) {
        try store.journal.set(split.version, forKey: Self.versionKey)
        try store.journal.set(split.position, forKey: Self.positionKey)
    }

    /// Takes away what was noted of a split, in the open transaction.
    /// - Throws: `StoreError` if the store cannot be read or written.
    func forgetSplit() throws(StoreError) {
        if try splitNoted() != nil { try note(SplitPlace(version: 0, position: 0)) }
    }

    /// Returns what was noted of the last split, which may be over for long; nil if there was none.
    /// - Throws: `StoreError` if that cannot be read.
    func splitNoted() throws(StoreError) -> SplitPlace? {
        guard let version = try store.journal.integer(forKey: Self.versionKey), version > 0,
            let position = try store.journal.integer(forKey: Self.positionKey)
        else { return nil }
        return SplitPlace(version: version, position: position)
    }

    /// Keeps what is in the log for the new cell, at once.
    func keep(_ split: SplitPlace) {
        upkeep.split = split
        guard let seat else { return }
        seat.hurryTrim(through: seat.member.erasuresThrough, keeping: split.position)
    }

    /// Lets the log go of the new cell's people once the fleet cell has said that they are there.
    func settleSplit(_ seat: MemberSeat) {
        guard let split = upkeep.split, seat.member.role == .leading, let view = seat.member.view
        else { return }
        if edge.cells.settledVersion >= split.version {
            do throws(StoreError) {
                try store.write { () throws(StoreError) in try forgetSplit() }
                upkeep.split = nil
            } catch {
                // The next look tries again.
                log.error("it cannot be noted in the store", metadata: ["error": "\(error)"])
            }
        } else if view.tail < split.position {
            upkeep.split?.isKept = true
        } else {
            // One of long ago is noted still.
            upkeep.split = nil
            guard split.isKept else { return }
            log.error(
                "the log is too long to keep the people of a new cell, which nobody has heard yet",
                metadata: ["map_version": "\(split.version)"])
        }
    }
}
