import Logging
import RollcallCore

/// Cuts the journal's oldest part up to a kept checkpoint, a piece a turn (design §1 J7).
struct RetentionWriter {
    /// Rows, decisions or turns removed a turn: some milliseconds.
    static let rowsATurn: Int64 = 1000
    /// Between looks at the clock and the size.
    private static let lookEvery: Int64 = 15 * 60 * 1000
    /// Less than this is kept only if the size demands it, and is warned of.
    private static let ageWarned = Milliseconds.seconds(7 * 86_400)
    private static let day: Int64 = 86_400_000

    private let bytesMax: Int64
    private let log: Logger
    private var cut: Turn?
    /// The gap up to which those that are over are cut.
    private var lastGap: Int64 = 0
    /// The notice up to which messages that are over are cut.
    private var lastNotice: Int64 = 0
    /// The push up to which those that are over are cut.
    private var lastPush: Int64 = 0
    private var lastLook: Int64?
    private var isWarned = false

    /// Keeps `bytesMax` bytes of the store at most: beyond them the oldest days go before their
    /// time.
    init(bytesMax: Int64, log: Logger) {
        self.bytesMax = bytesMax
        self.log = log
    }

    /// True if there is something to be removed.
    var isBusy: Bool { cut != nil }

    /// Looks whether something has become older than `age` or too much; now and then, and after each
    /// checkpoint, which is where a cut may go to.
    mutating func consider(
        _ journal: Journal, _ clock: ClockReading, age: Milliseconds, hasCheckpointed: Bool
    ) throws(StoreError) {
        let isTime = lastLook.map { clock.elapsed - $0 >= Self.lookEvery } ?? true
        guard cut == nil, isTime || hasCheckpointed else { return }
        lastLook = clock.elapsed
        guard let first = try journal.firstTurn() else { return }
        // The two newest stay: one may turn out to be damaged.
        let kept = try journal.checkpoints(beforeTurn: .max).dropLast()
        let midnight = (clock.wall.milliseconds - age.count) / Self.day * Self.day
        let old = kept.last { $0.createdMilliseconds < midnight }
        if let old, old.turn > first.number {
            cut = try journal.turn(old.turn)
            return
        }
        guard try journal.usedBytes() > bytesMax else { return }
        guard let next = kept.first(where: { $0.turn > first.number }) else {
            return warn("storage.size is too small for what comes in a day", first, clock)
        }
        cut = try journal.turn(next.turn)
        let left = clock.wall.milliseconds - next.createdMilliseconds
        if left < Self.ageWarned.count {
            warn("storage.size leaves less than 7 days of history", first, clock)
        }
    }

    /// Removes the next piece in the open transaction.
    mutating func write(to journal: Journal) throws(StoreError) {
        guard let turn = cut else { return }
        try journal.dropCheckpoints(beforeTurn: turn.number)
        let day = turn.wallMilliseconds / Self.day
        var isLeft = try journal.cutGaps(through: turn, after: &lastGap, limit: Self.rowsATurn)
        if !isLeft { isLeft = try journal.cutDark(before: day, limit: Self.rowsATurn) }
        if !isLeft {
            let time = Timestamp(milliseconds: turn.wallMilliseconds)
            isLeft = try journal.cutOutbox(
                before: time, after: &lastNotice, limit: Self.rowsATurn)
        }
        if !isLeft {
            let time = Timestamp(milliseconds: turn.wallMilliseconds)
            isLeft = try journal.cutPushes(before: time, after: &lastPush, limit: Self.rowsATurn)
        }
        if !isLeft {
            let time = Timestamp(milliseconds: turn.wallMilliseconds)
            isLeft = try journal.cutSamples(before: time, limit: Self.rowsATurn)
        }
        if !isLeft { isLeft = try journal.cut(through: turn, limit: Self.rowsATurn) }
        if !isLeft { isLeft = try journal.pruneCheckpoints(slicesMax: 1) }
        if !isLeft {
            cut = nil
            abandon()
        }
    }

    /// A transaction failed: gaps, messages and pushes may be there again that were passed by.
    mutating func abandon() { (lastGap, lastNotice, lastPush) = (0, 0, 0) }

    /// Once in a process' life, so that the log says it without being full of it.
    private mutating func warn(_ message: Logger.Message, _ first: Turn, _ clock: ClockReading) {
        if isWarned { return }
        isWarned = true
        log.warning(
            message,
            metadata: [
                "size": "\(bytesMax)",
                "oldest": "\(RFC3339.string(Timestamp(milliseconds: first.wallMilliseconds)))",
            ])
    }
}
