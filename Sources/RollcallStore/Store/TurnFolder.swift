import RollcallCore

/// Folds turns that somebody else has made: those of a cluster's leader, at its followers, as a
/// restart folds the tail of a store.
package struct TurnFolder {
    /// An `Outcome` says what folding a turn came to.
    package enum Outcome: Equatable, Sendable {
        /// The engine decided what the turn says.
        case same
        /// It decided otherwise: the turn's decisions win, and the number of those that differ (S10).
        case differs(Int)
        /// A row of the turn makes no sense, or it does not follow the engine's last one; nothing was
        /// folded.
        case damaged(String)
    }

    /// Folds a turn into an engine that stands at the one before, and compares the decisions.
    package static func fold(_ pending: PendingTurn, into engine: inout Engine) -> Outcome {
        guard let events = replayed(pending) else { return .damaged("a row makes no sense") }
        guard pending.turn.firstRow >= engine.nextRow else {
            return .damaged("it does not follow the last one")
        }
        let now = RunningTime(milliseconds: pending.turn.nowMilliseconds)
        for (event, row) in events {
            engine.nextRow = row
            _ = engine.fold(event, at: now)
        }
        engine.advance(to: now)
        let decided = engine.takeDecisions()
        // The turn carries what was booked, too.
        _ = engine.takeDarkBookings()
        engine.nextRow = max(engine.nextRow, pending.turn.lastRow + 1)
        let same = zip(decided, pending.decisions).count { $0 == $1 }
        let differences = max(decided.count, pending.decisions.count) - same
        return differences == 0 ? .same : .differs(differences)
    }

    /// Returns the events of a turn; nil if a row makes no sense.
    package static func events(of pending: PendingTurn) -> [Event]? {
        replayed(pending)?.map(\.event)
    }

    private static func replayed(_ pending: PendingTurn) -> [(event: Event, row: Int64)]? {
        var replay = JournalReplay()
        let isWhole = pending.bytes.withUnsafeBytes { bytes in
            pending.rows.allSatisfy { row in
                replay.take(
                    JournalRow(
                        id: row.id, kind: row.kind, responder: row.responder,
                        previous: row.previous,
                        body: UnsafeRawBufferPointer(rebasing: bytes[row.body])))
            }
        }
        return isWhole ? replay.finish() : nil
    }
}
