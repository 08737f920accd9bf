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
            cluster: board?.answer())
        for question in questions { question(view) }
    }

    /// What a scrape tells of this member; nil on one machine.
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
