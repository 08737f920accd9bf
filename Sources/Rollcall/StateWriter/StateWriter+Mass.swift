import RollcallBasis
import RollcallCore
import RollcallStore

/// The state writer at an instant at which a mass falls due: what is decided is written while the rest
/// of it is being decided, into the transaction that commits all of it. Source: J14.
extension StateWriter {
    /// Decisions about each of those who are left, at least.
    private static let decisionsAPerson = 2

    /// Passes what fell due before the turn's instant, as the first event that is folded at it would.
    func passEarlier(_ folded: inout FoldedTurn) {
        guard engine.nextInstant() < folded.now else { return }
        folded.isDue = true
        let turn = turnNumber + 1
        let isWritten = seat == nil
        engine.pass(before: folded.now) { engine, left in
            take(from: &engine, left: left, turn: turn, isWritten: isWritten, &folded)
        }
    }

    /// Passes all instants up to the turn's and closes it; what was decided is the turn's.
    func advance(_ folded: inout FoldedTurn) {
        let turn = turnNumber + 1
        let isWritten = seat == nil
        engine.advance(to: folded.now) { engine, left in
            take(from: &engine, left: left, turn: turn, isWritten: isWritten, &folded)
        }
        folded.pending.take(from: &engine)
    }

    /// Takes what was decided so far; it is written unless the turn has to go to the log of several
    /// machines first (S1).
    private func take(
        from engine: inout Engine, left: Int, turn: Int64, isWritten: Bool,
        _ folded: inout FoldedTurn
    ) {
        let decisions = engine.takeDecisions()
        if folded.pending.decisions.isEmpty {
            folded.pending.decisions.reserveCapacity(
                decisions.count + left * Self.decisionsAPerson)
        }
        folded.pending.append(decisions)
        guard isWritten else { return }
        let writer = folded.writer ?? store.decisionWriter(turn: turn)
        writer.write(decisions)
        folded.writer = writer
    }
}
