import Logging
import RollcallCore
import RollcallStore
import RollcallSupport

/// Cuts the journal's oldest part up to a kept checkpoint, a piece a turn (J7).
///
/// Days that are too old go whole. What is beyond the size goes at once, oldest first, a sixteenth of
/// what lies before the next kept checkpoint at a time: of a day that is cut in part no replay can begin
/// before that checkpoint.
struct RetentionWriter {
    /// Rows, decisions or turns removed at a time: some milliseconds.
    static let rowsATurn: Int64 = 1000
    /// Between looks at the clock.
    private static let lookEvery: Int64 = 15 * 60 * 1000
    /// Between looks at the size.
    private static let sizeEvery: Int64 = 1000
    /// Less than this is kept only if the size demands it, and is warned of.
    private static let ageWarned = Milliseconds.seconds(7 * 86_400)
    private static let day: Int64 = 86_400_000
    /// Turns that are cut at once for their size.
    private static let turnsWhole: Int64 = 64

    private let bytesMax: Int64
    private let log: Logger
    /// Bytes of the store that hold something, as of the last look.
    private(set) var bytesUsed: Int64 = 0
    private var cut: Turn?
    /// The gap up to which those that are over are cut.
    private var lastGap: Int64 = 0
    /// The notice up to which messages that are over are cut.
    private var lastNotice: Int64 = 0
    /// The push up to which those that are over are cut.
    private var lastPush: Int64 = 0
    private var lastLook: Int64?
    private var lastSize: Int64?
    private var warned: Set<String> = []

    /// Keeps `bytesMax` bytes of the store at most: beyond them the oldest history goes before its
    /// time.
    init(bytesMax: Int64, log: Logger) {
        self.bytesMax = bytesMax
        self.log = log
    }

    /// True if there is something to be removed.
    var isBusy: Bool { cut != nil }

    /// The last turn that is being removed; 0 if none is.
    var lastTurnCut: Int64 { cut?.number ?? 0 }

    /// Bytes beyond which history goes: early enough that the size holds while it goes.
    private var bytesCut: Int64 { bytesMax - bytesMax / 16 }

    /// True if it must keep pace with what comes: the size is a cap.
    var isBehind: Bool { cut != nil && bytesUsed > bytesCut }

    /// True if the size does not hold.
    var isBeyond: Bool { bytesUsed > bytesMax }

    /// Looks whether something has become older than `age` or too much; now and then, and after each
    /// checkpoint, which is where a cut may go to; at the size each second.
    /// - Throws: `StoreError` if the store cannot be read.
    mutating func consider(
        _ journal: Journal, _ clock: ClockReading, age: Milliseconds, hasCheckpointed: Bool
    ) throws(StoreError) {
        if hasCheckpointed || (lastSize.map { clock.elapsed - $0 >= Self.sizeEvery } ?? true) {
            lastSize = clock.elapsed
            bytesUsed = try journal.usedBytes()
        }
        let isTime = lastLook.map { clock.elapsed - $0 >= Self.lookEvery } ?? true
        guard cut == nil, isTime || hasCheckpointed || bytesUsed > bytesMax / 5 * 4 else { return }
        guard let first = try journal.firstTurn() else { return }
        warnOfSize(first, clock)
        guard isTime || hasCheckpointed || bytesUsed > bytesCut else { return }
        // The two newest stay: one may turn out to be damaged.
        let kept = try journal.checkpoints(beforeTurn: .max).dropLast()
        if isTime || hasCheckpointed {
            lastLook = clock.elapsed
            let midnight = (clock.wall.milliseconds - age.count) / Self.day * Self.day
            let old = kept.last { $0.createdMilliseconds < midnight }
            if let old, old.turn > first.number {
                cut = try journal.turn(
                    cutThrough: old.turn, at: Timestamp(milliseconds: old.createdMilliseconds))
                return
            }
        }
        guard bytesUsed > bytesCut else { return }
        guard let next = kept.first(where: { $0.turn >= first.number }) else {
            return warn("storage.size is too small for what comes between two checkpoints", first)
        }
        let turns = next.turn - first.number + 1
        let last = turns <= Self.turnsWhole ? next.turn : first.number + turns / 16 - 1
        let time = Timestamp(milliseconds: next.createdMilliseconds)
        cut = try journal.turn(cutThrough: last, at: time)
        if cut == nil { cut = try journal.turn(cutThrough: next.turn, at: time) }
        let left = clock.wall.milliseconds - (cut?.wallMilliseconds ?? 0)
        if left < Self.ageWarned.count {
            warn("storage.size leaves less than 7 days of history", first)
        }
    }

    /// Removes the next piece in the open transaction, and further ones for as long as `allowance`;
    /// returns how many.
    /// - Throws: `StoreError` if the store cannot be written.
    @discardableResult
    mutating func write(
        to journal: Journal, allowance: Duration = .zero
    ) throws(StoreError) -> Int {
        let began = ContinuousClock.now
        var pieces = 0
        repeat {
            try writePiece(to: journal)
            pieces += 1
        } while isBusy && ContinuousClock.now - began < allowance
        return pieces
    }

    private mutating func writePiece(to journal: Journal) throws(StoreError) {
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
            lastSize = nil
            abandon()
        }
    }

    /// A transaction failed: gaps, messages and pushes may be there again that were passed by.
    mutating func abandon() { (lastGap, lastNotice, lastPush) = (0, 0, 0) }

    /// Before history goes that nobody wanted to lose.
    private mutating func warnOfSize(_ first: Turn, _ clock: ClockReading) {
        guard bytesUsed > bytesMax / 5 * 4 else { return }
        warn(
            "the store holds more than 80 % of storage.size: history goes soon, oldest first", first
        )
    }

    /// Once in a process' life, so that the log says it without being full of it.
    private mutating func warn(_ message: Logger.Message, _ first: Turn) {
        guard warned.insert("\(message)").inserted else { return }
        log.warning(
            message,
            metadata: [
                "size": "\(bytesMax)", "used": "\(bytesUsed)",
                "oldest": "\(RFC3339.string(Timestamp(milliseconds: first.wallMilliseconds)))",
            ])
    }
}
