import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The state writer and those who ask: answers come from the committed state (J8).
extension StateWriter {
    func answer(_ questions: [@Sendable (StateView) -> Void], at now: RunningTime) {
        guard !questions.isEmpty else { return }
        // Time alone changed nothing since the last turn, or there would have been one: only the
        // clock that ages are read from moves on.
        let committed = published ?? engine
        let isKnown = !isUnwatched(at: ClockReading.now().elapsed)
        let shown = isKnown ? committed : committed.unstorable(since: committed.clock.now)
        let view = StateView(
            engine: shown.viewed(at: now), store: storeStats(),
            outbox: outbox, committedAt: committedAt, erasures: chores.erasures.erasures,
            erasuresPending: upkeep.erasures, peopleErased: chores.erasures.people,
            peopleGone: peopleGone(of: shown),
            cluster: board?.answer(), storeNumber: store.number, eventEpoch: eventEpoch,
            isFollowing: seat.map { $0.member.role != .leading } ?? false)
        for question in questions { question(view) }
    }

    /// Numbers of people who have no id any more, of a cell that was split.
    private func peopleGone(of engine: Engine) -> NumberSet {
        let version = engine.isOfSplit ? engine.cellMap?.version : nil
        if upkeep.gone.version != version {
            upkeep.gone = (version, version == nil ? NumberSet() : engine.peopleGone())
        }
        return upkeep.gone.people
    }

    /// The epoch of events' cursors (E1): all members of a watch have the same, as their decisions
    /// have the same numbers. A store that is an older copy of itself has another from then on, and so
    /// has a watch that goes on with another log (S11).
    private var eventEpoch: UInt64 {
        let restored = restoredAt.map { UInt64(bitPattern: $0.milliseconds) } ?? 0
        return store.number ^ (seat?.member.log ?? restored) &* 0x9E37_79B9_7F4A_7C15
    }

    /// Returns what `question` makes of the committed state; nil if that does not come within `patience`
    /// milliseconds. For other threads, which wait meanwhile.
    func answer<Value: Sendable>(
        within patience: Int64, _ question: @escaping @Sendable (StateView) -> Value
    ) -> Value? {
        let answers = Mailbox<Value>()
        ask { answers.put(question($0)) }
        return answers.takeAll(waiting: patience).first
    }

    /// Returns the reader of the store that a thread has as `reader`; where it has none, a new one.
    /// - Throws: `StoreError` if the store cannot be opened.
    func history(_ reader: inout HistoryReader?) throws(StoreError) -> HistoryReader {
        if let reader { return reader }
        let new = try HistoryReader(path: storePath)
        reader = new
        return new
    }

    /// Asks what becomes of a notice; `reply` is called once it has come to its end everywhere, or
    /// after `patience`, with what is known by then. Whoever comes while many wait is answered at
    /// once.
    package func waitForNotice(
        _ number: Int64, patience: Milliseconds,
        reply: @escaping @Sendable (NoticeDeliveryStatus?) -> Void
    ) {
        let until = ClockReading.now().elapsed + patience.count
        mailbox.put(.noticeWait(NoticeWait(notice: number, until: until, reply: reply)))
    }

    /// Waits for an entry of the log; `reply` is called once, with true as soon as it is held here,
    /// with false after `patience`. Whoever comes while many wait is answered at once.
    func waitForPosition(
        _ position: Int64, patience: Milliseconds, reply: @escaping @Sendable (Bool) -> Void
    ) {
        let until = ClockReading.now().elapsed + patience.count
        mailbox.put(.positionWait(PositionWait(position: position, until: until, reply: reply)))
    }

    func wait(_ wait: PositionWait) {
        guard positionWaits.count < PositionWait.countMax else { return wait.reply(false) }
        positionWaits.append(wait)
    }

    func answerPositionWaits(isLast: Bool) {
        guard !positionWaits.isEmpty, let board else { return }
        let (held, elapsed) = (board.positions.held, ClockReading.now().elapsed)
        let waits = positionWaits
        positionWaits = waits.filter { !isLast && $0.position > held && $0.until > elapsed }
        for wait in waits where isLast || wait.position <= held || wait.until <= elapsed {
            wait.reply(wait.position <= held)
        }
    }

    /// Returns the stats of this member for a scrape; nil on one machine.
    var memberStats: MemberStats? {
        board.map { MemberStats($0, isPermitted: endpoints.permit.holds) }
    }

    private func storeStats() -> StoreStats {
        var stats = stats
        stats.checkpointAt = chores.checkpoints.last.map {
            Timestamp(milliseconds: $0.createdMilliseconds)
        }
        stats.checkpointAge = stats.checkpointAt.map {
            max(Milliseconds(0), ClockReading.now().wall - $0)
        }
        stats.isFailing = !uncommitted.isEmpty
        stats.alarm = alarm
        stats.loss = loss
        stats.lossAlarm = lossAlarm
        stats.unreached = unreached()
        stats.erasuresPending = max(chores.erasures.pendingCount, upkeep.erasures.count)
        stats.messagesPending = outbox.pending
        stats.pushesPending = pushes.pendingCount
        return stats
    }
}

/// Somebody who waits for an entry of the watch's log. Source: S15.
struct PositionWait: Sendable {
    /// Waits at once at most.
    static let countMax = 64

    let position: Int64
    /// The instant at which it is answered at the latest, by the machine's clock.
    let until: Int64
    /// Called once, on the state writer's thread; false if the entry is not held here.
    let reply: @Sendable (Bool) -> Void
}
