import RollcallCore

/// The keeper and those who ask: answers come from the committed state (J8).
extension Keeper {
    func answer(_ questions: [@Sendable (KeeperView) -> Void], at now: RunningTime) {
        guard !questions.isEmpty else { return }
        // Time alone changed nothing since the last turn, or there would have been one: only the
        // clock that ages are read from moves on.
        let view = KeeperView(
            engine: (published ?? engine).viewed(at: now), store: storeFigures(),
            outbox: outbox, committedAt: committedAt, erasures: chores.erasures.erasures,
            peopleErased: chores.erasures.people)
        for question in questions { question(view) }
    }

    private func storeFigures() -> StoreFigures {
        var figures = figures
        figures.checkpointAt = chores.checkpoints.last.map {
            Timestamp(milliseconds: $0.createdMilliseconds)
        }
        figures.checkpointAge = figures.checkpointAt.map {
            max(Milliseconds(0), ClockReading.now().wall - $0)
        }
        figures.isFailing = !kept.isEmpty
        figures.alarm = alarm
        figures.loss = loss
        figures.lossAlarm = lossAlarm
        figures.unreached = unreached()
        figures.erasuresPending = chores.erasures.pendingCount
        figures.messagesPending = outbox.pending
        figures.pushesPending = pushes.pendingCount
        return figures
    }
}
