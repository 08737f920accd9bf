import RollcallCore
import RollcallStore
import RollcallSupport

/// Writes the engine's checkpoints, a few slices a turn (J5).
///
/// A restart folds the rows since the newest complete one. Those are `rowsAim`, after which the next is
/// begun, and what comes until it is written. With turns of a second that would be millions, so it keeps
/// pace with the rows: it is whole before they are twice as many.
package struct CheckpointWriter {
    /// Rows after which a checkpoint is due, by the work that a restart would have.
    static let rowsAim = 500_000
    /// Milliseconds after which one is due if there was any row.
    private static let millisecondsMax: Int64 = 15 * 60 * 1000
    /// The time for which a turn goes on writing slices.
    private static let writingMax = Duration.milliseconds(2)
    /// Bytes of slices after which a turn writes no further one, unless it must keep pace: its commit
    /// makes them durable.
    private static let bytesMax = 256 << 10
    /// The newest complete one.
    package private(set) var last: EngineCheckpoint?
    /// About how many bytes the last turn wrote.
    package private(set) var bytesWritten = 0

    private var checkpoint: Checkpoint?
    private var current = EngineCheckpoint(
        turn: 0, engineVersion: Engine.version, slices: 0, createdMilliseconds: 0)
    private var next = 0
    /// Rows that a restart would fold.
    private(set) var rows: Int
    /// Of those, the ones that the current one covers.
    private var rowsCovered = 0
    private let rowsAim: Int
    private var lastElapsed = ClockReading.now().elapsed

    /// `last` is the newest complete one, and `rows` came after it.
    package init(last: EngineCheckpoint?, rows: Int = 0, rowsAim: Int = rowsAim) {
        self.last = last
        self.rows = rows
        self.rowsAim = rowsAim
    }

    /// True while slices are left to be written.
    package var isWriting: Bool { checkpoint != nil }

    /// True if it has to go faster than as it suits, with a turn of so many rows: the rows come in time
    /// for twice the aim, with a quarter to spare.
    package func isBehind(_ turnRows: Int) -> Bool { next < slicesDue(turnRows) }

    /// True if a turn of so many rows would be beyond twice the aim.
    package func isBeyond(_ turnRows: Int) -> Bool { rows + turnRows > 2 * rowsAim }

    /// Slices that should be written with a turn of so many rows.
    private func slicesDue(_ turnRows: Int) -> Int {
        guard let checkpoint else { return 0 }
        let room = max(1, (2 * rowsAim - rowsCovered) * 3 / 4)
        let came = rows - rowsCovered + turnRows
        return came >= room ? checkpoint.sliceCount : checkpoint.sliceCount * came / room
    }

    /// Cuts the state as of `turn`, whose commit is done.
    package mutating func begin(turn: Int64, _ engine: Engine, _ clock: ClockReading) {
        let cut = Checkpoint(engine)
        checkpoint = cut
        current = EngineCheckpoint(
            turn: turn, engineVersion: Engine.version, slices: Int64(cut.sliceCount),
            createdMilliseconds: clock.wall.milliseconds)
        next = 0
        rowsCovered = rows
        lastElapsed = clock.elapsed
    }

    /// Drops an unfinished one: the store it was meant for failed.
    package mutating func abandon() { checkpoint = nil }

    /// Notes a committed turn and begins a checkpoint when one is due, or wanted.
    package mutating func committed(
        rows count: Int, turn: Int64, _ engine: @autoclosure () -> Engine, _ clock: ClockReading,
        isWanted: Bool
    ) {
        wrote()
        rows += count
        let isOld = rows > 0 && clock.elapsed - lastElapsed >= Self.millisecondsMax
        if checkpoint == nil, rows >= rowsAim || isOld || isWanted {
            begin(turn: turn, engine(), clock)
        }
    }

    /// Notes that the slices written last are committed.
    package mutating func wrote() {
        guard let checkpoint, next == checkpoint.sliceCount else { return }
        self.checkpoint = nil
        last = current
        rows -= rowsCovered
    }

    /// Writes one of a turn, whole, in transactions of its own: at the end, when nobody waits.
    /// - Throws: `StoreError` if it cannot be written; then it is not complete.
    package mutating func writeWhole(
        turn: Int64, _ engine: Engine, _ clock: ClockReading, to journal: Journal
    ) throws(StoreError) {
        abandon()
        begin(turn: turn, engine, clock)
        while isWriting {
            try journal.begin()
            try write(to: journal, isWaitedFor: false)
            try journal.commit()
            wrote()
        }
    }

    /// Writes the next slices into the open transaction: few, so that its turn stays far below 20
    /// ms, unless nobody waits for the turn. If it is behind with a turn of so many rows, it goes on
    /// for up to `allowance` until it is not.
    /// - Throws: `StoreError` if the store cannot be written.
    package mutating func write(
        to journal: Journal, isWaitedFor: Bool = true, turnRows: Int = 0,
        allowance: Duration = .zero
    ) throws(StoreError) {
        let bytesMax = isWaitedFor ? Self.bytesMax : .max
        var bytes = 0
        bytesWritten = Journal.bytesPruned
        guard let checkpoint else { return }
        if next == 0 {
            try journal.beginCheckpoint(
                turn: current.turn, engineVersion: current.engineVersion,
                wallMilliseconds: current.createdMilliseconds)
        }
        let due = slicesDue(turnRows)
        let began = ContinuousClock.now
        var mayGoOn = false
        repeat {
            let slice = checkpoint.slice(next)
            // Were each of them to remove older ones, a turn would have megabytes to overwrite; what the
            // first one removes is twice what a turn writes. But who must keep pace must not leave them
            // to pile up.
            let isFew = bytes > 0 && next >= due && isWaitedFor
            try append(slice, to: journal, isPruning: !isFew)
            bytes += slice.count
            bytesWritten += slice.count
            next += 1
            let took = ContinuousClock.now - began
            mayGoOn =
                bytes < bytesMax && took < Self.writingMax || next < due && took < allowance
        } while next < checkpoint.sliceCount && mayGoOn
        guard next == checkpoint.sliceCount else { return }
        try journal.completeCheckpoint(turn: current.turn, slices: current.slices)
    }

    private func append(
        _ slice: [UInt8], to journal: Journal, isPruning: Bool
    ) throws(StoreError) {
        var failure: StoreError?
        slice.withUnsafeBytes { bytes in
            do throws(StoreError) {
                try journal.appendSlice(
                    turn: current.turn, index: Int64(next), body: bytes, isPruning: isPruning)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}
