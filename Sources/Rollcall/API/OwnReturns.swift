import RollcallCore
import RollcallStore

/// The usual time of one person to return, from the store: the engine keeps such lengths of nobody.
/// Source: P7.
enum OwnReturns {
    /// Returns the median of the newest ones that ended by a return; nil if there are too few.
    /// - Throws: `StoreError` if the store cannot be read.
    static func usual(
        _ cause: GapCause, of person: HistoryPerson, _ work: HistoryWork
    ) throws(StoreError) -> UsualReturn? {
        var lengths: [Milliseconds] = []
        var decision = person.lastDecision
        var below = Int64.max
        var looked = 0
        while decision > 0, lengths.count < PastGaps.keptMax, looked < work.limits.eventsLookedAt,
            !work.isOver
        {
            looked += 1
            var number: Int64 = 0
            decision = try work.reader.journal.decisions(
                from: decision, atMilliseconds: .min ... .max, limit: 1
            ) { row in
                if row.responder == person.responder { number = row.gap?.number ?? 0 }
            }
            guard number > 0, number < below else { continue }
            below = number
            try work.reader.gap(number) { row in
                guard row.responder == person.responder else { return }
                let aggregates = row.aggregates
                guard aggregates.cause == cause, !aggregates.isBlind,
                    let verdict = aggregates.verdict, verdict != .dutyEnded
                else { return }
                lengths.append(aggregates.length)
            }
        }
        return UsualReturn(of: .responder, lengths)
    }
}
