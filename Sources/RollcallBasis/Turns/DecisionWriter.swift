import RollcallCore
import RollcallStore
import RollcallSupport

/// Writes what a turn decides into the turn's transaction while the rest of it is being decided: of a
/// mass the store takes as long as the engine does, and people wait for both.
///
///     engine         decides ──► decides ──► decides ──► rows, turn, commit
///                          ╲           ╲           ╲    ╱
///     its own thread        begin, write  write     write
///
/// Nothing of it counts before the turn is committed, and the turn holds all of it until then (J6).
/// Source: J14.
///
/// `@unchecked Sendable` is true because the journal is used by the thread that is started here alone,
/// until `finish` has seen its end, and by the owner's alone from then on.
package final class DecisionWriter: @unchecked Sendable {
    /// Batches that are on their way at most; whoever decides faster waits.
    private static let batchesMax = 16
    /// Between two looks of whoever waits for the other.
    private static let wait: Int64 = 1000

    private let journal: Journal
    private let turn: Int64
    /// Batches that are to be written; nil at the end.
    private let inbox = Mailbox<DecisionBatch?>()
    private let written = Mailbox<DecisionBatch>()
    private let ended = Mailbox<StoreError?>()
    private var hasThread = false
    private var batches = 0
    private var spare: [DecisionBatch] = []
    /// The error that ended it; only of whoever writes.
    private var failure: StoreError?
    /// The number of decisions that were handed over.
    package private(set) var count = 0

    /// Begins the transaction of a turn.
    init(_ journal: Journal, turn: Int64) {
        self.journal = journal
        self.turn = turn
        hasThread = DetachedThread.start { [self] in run() }
        if !hasThread { begin() }
    }

    // MARK: - Whoever decides

    /// Takes the next decisions of the turn; they are written meanwhile.
    package func write(_ decisions: [NumberedDecision]) {
        var batch = emptyBatch()
        batch.append(decisions)
        count += decisions.count
        guard hasThread else {
            write(batch)
            batch.removeAll()
            return spare.append(batch)
        }
        inbox.put(batch)
    }

    private func emptyBatch() -> DecisionBatch {
        spare += written.takeAll(waiting: 0)
        while spare.isEmpty, batches == Self.batchesMax {
            spare = written.takeAll(waiting: Self.wait)
        }
        if let batch = spare.popLast() { return batch }
        batches += 1
        return DecisionBatch()
    }

    /// Waits until all of it is written: the transaction is open then, and the caller's.
    /// - Throws: `StoreError` if it could not be begun, or something could not be written.
    func finish() throws(StoreError) {
        if hasThread {
            inbox.put(nil)
            var ends: [StoreError?] = []
            while ends.isEmpty { ends = ended.takeAll(waiting: Self.wait) }
            failure = ends[0]
        }
        if let failure { throw failure }
    }

    // MARK: - Whoever writes

    private func run() {
        begin()
        while true {
            var batches = inbox.takeAll(waiting: Self.wait)
            batches.reverse()
            // Each is taken out: emptied where somebody else has it, it would lose its room.
            while let next = batches.popLast() {
                guard var batch = next else { return ended.put(failure) }
                write(batch)
                batch.removeAll()
                written.put(batch)
            }
        }
    }

    private func begin() {
        do throws(StoreError) { try journal.begin() } catch { failure = error }
    }

    private func write(_ batch: DecisionBatch) {
        guard failure == nil else { return }
        do throws(StoreError) { try journal.append(batch, turn: turn) } catch { failure = error }
    }
}
