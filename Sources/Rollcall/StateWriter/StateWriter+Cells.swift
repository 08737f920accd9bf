import RollcallCore
import RollcallSupport

/// The state writer of a cell says what alerts about many are judged by; that of the fleet cell hears it.
/// Source: K2.
extension StateWriter {
    // MARK: - From other threads

    /// Asks for what this cell has to say since position `after`; all of it if that is not the last.
    /// `reply` is called once, on the state writer's thread, with the groups of which this cell has to know
    /// whether somebody is active in another one; with nil if it cannot say anything now.
    func summary(
        after position: Int64, wants: Bool,
        reply: @escaping @Sendable (Summary?, PeerGroups) -> Void
    ) {
        let until = ClockReading.now().elapsed + SummaryWait.patience
        mailbox.put(
            .summaryWait(SummaryWait(after: position, wants: wants, until: until, reply: reply)))
    }

    /// Hands over what a cell says.
    func hear(_ summary: Summary) { mailbox.put(.summary(summary)) }

    // MARK: - Others at the edge

    /// Lets the edge know what is committed of cells.
    func followCells() {
        // Mostly there are none.
        if edge.cells.isAlone { return }
        let silences = engine.alerting.notifications.silences
        // An onlooker's people are another cell's.
        let origin = seat?.origin
        edge.cells.follow(
            origin == nil ? engine.cellMap : nil, origin: origin?.cell,
            isFleetCellDark: engine.policy.role == .cell ? engine.isFleetCellDark : nil,
            hasUnlit: engine.cells.hasUnlit, unheard: engine.cells.unheard,
            silences: engine.policy.role == .fleet
                ? FleetSilences(store: store.number, list: silences) : nil,
            masses: engine.masses.masses)
    }

    // MARK: - A cell

    /// Answers those who wait for what this cell has to say, once the engine is what is stored.
    func answerSummaryWaits(isLast: Bool) {
        guard !said.waits.isEmpty else { return }
        let clock = ClockReading.now()
        let isSettled =
            !isLast && uncommitted.isEmpty
            && (seat.map { $0.member.mayPropose && proposal.turn == nil } ?? true)
        let waits = said.waits
        said.waits = isSettled || isLast ? [] : waits.filter { $0.until > clock.elapsed }
        if isSettled {
            // Several who ask at once are told the same.
            let isNext = waits.count == 1 && waits[0].after == said.position
            let summary = summary(isWhole: !isNext, clock)
            let wanted =
                waits.contains(where: \.wants) ? engine.wantedPeerGroups() : PeerGroups()
            for wait in waits { wait.reply(summary, wait.wants ? wanted : PeerGroups()) }
        } else {
            for wait in waits where isLast || wait.until <= clock.elapsed {
                wait.reply(nil, PeerGroups())
            }
        }
    }

    private func summary(isWhole: Bool, _ clock: ClockReading) -> Summary? {
        guard case .cell(let name) = edge.cells.role, engine.policy.role == .cell else {
            return nil
        }
        if isWhole { engine.sayAll() }
        // Greater than any before a restart.
        said.position = max(said.position + 1, clock.wall.milliseconds)
        // More may come at this very instant, and what has fallen due since the turn is not evaluated.
        let next = min(running(clock), engine.nextInstant())
        return engine.takeSummary(
            of: name, position: said.position,
            through: max(engine.clock.now, next - Milliseconds(1)))
    }

    // MARK: - The fleet cell

    /// Takes in what a cell says.
    func hear(_ summary: Summary, at clock: ClockReading) {
        heard.put(summary, at: engine.clock.wall(unheard(clock)))
    }

    /// The running time of a reading, as far as the cells have said everything.
    func heardThrough(_ now: RunningTime) -> RunningTime {
        guard engine.policy.role == .fleet else { return now }
        let through = heard.through(engine.clock.wall(now))
        return max(engine.clock.now, engine.clock.instant(of: through))
    }

    /// Folds what the cells have said by an instant.
    func foldSummaries(into folded: inout FoldedTurn) {
        guard engine.policy.role == .fleet, !heard.isEmpty else { return }
        let said = heard.take(
            through: engine.clock.wall(folded.now), splits: engine.cells.splits)
        if said.isEmpty { return }
        _ = folded.pending.fold(.summaries(said), into: &engine, at: folded.now)
    }
}
