import RollcallCore

/// Writes the engine's checkpoints, a few slices a turn (design §1 J5).
struct CheckpointWriter {
    /// Rows after which a checkpoint is due, by the work that a restart would have.
    private static let rowsMax = 500_000
    /// Milliseconds after which one is due if there was any row.
    private static let millisecondsMax: Int64 = 15 * 60 * 1000
    /// How long a turn goes on writing slices.
    private static let writingMax = Duration.milliseconds(2)
    /// Bytes of slices after which a turn writes no further one: its commit makes them durable.
    private static let bytesMax = 256 << 10
    /// About what two slices of an older checkpoint take, which a turn overwrites with zeros.
    private static let bytesPruned = 512 << 10

    /// The newest complete one.
    private(set) var last: EngineCheckpoint?
    /// About how many bytes the last turn wrote.
    private(set) var bytesWritten = 0

    private var checkpoint: Checkpoint?
    private var current = EngineCheckpoint(
        turn: 0, engineVersion: Engine.version, slices: 0, createdMilliseconds: 0)
    private var next = 0
    private var rows = 0
    private var lastElapsed = ClockReading.now().elapsed

    init(last: EngineCheckpoint?) { self.last = last }

    /// True while slices are left to be written.
    var isWriting: Bool { checkpoint != nil }

    /// Cuts the state as of `turn`, whose commit is done.
    mutating func begin(turn: Int64, _ engine: Engine, _ clock: ClockReading) {
        let cut = Checkpoint(engine)
        checkpoint = cut
        current = EngineCheckpoint(
            turn: turn, engineVersion: Engine.version, slices: Int64(cut.sliceCount),
            createdMilliseconds: clock.wall.milliseconds)
        next = 0
        rows = 0
        lastElapsed = clock.elapsed
    }

    /// Drops an unfinished one: the store it was meant for failed.
    mutating func abandon() { checkpoint = nil }

    /// Notes a committed turn and begins a checkpoint when one is due, or wanted.
    mutating func committed(
        rows count: Int, turn: Int64, _ engine: Engine, _ clock: ClockReading, isWanted: Bool
    ) {
        wrote()
        rows += count
        let isOld = rows > 0 && clock.elapsed - lastElapsed >= Self.millisecondsMax
        if checkpoint == nil, rows >= Self.rowsMax || isOld || isWanted {
            begin(turn: turn, engine, clock)
        }
    }

    /// Notes that the slices written last are committed.
    mutating func wrote() {
        guard let checkpoint, next == checkpoint.sliceCount else { return }
        self.checkpoint = nil
        last = current
    }

    /// Writes one of a turn, whole, in transactions of its own: at the end, when nobody waits.
    mutating func writeWhole(
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
    /// ms, unless nobody waits for the turn.
    mutating func write(
        to journal: Journal, isWaitedFor: Bool = true
    ) throws(StoreError) {
        let bytesMax = isWaitedFor ? Self.bytesMax : .max
        var bytes = 0
        bytesWritten = Self.bytesPruned
        guard let checkpoint else { return }
        if next == 0 {
            try journal.beginCheckpoint(
                turn: current.turn, engineVersion: current.engineVersion,
                wallMilliseconds: current.createdMilliseconds)
        }
        let began = ContinuousClock.now
        repeat {
            let slice = checkpoint.slice(next)
            // Slices of names are small, and were each of them to remove two of people, a turn would
            // have megabytes to overwrite.
            try append(slice, to: journal, isPruning: bytes == 0 || !isWaitedFor)
            bytes += slice.count
            bytesWritten += slice.count
            next += 1
        } while next < checkpoint.sliceCount && bytes < bytesMax
            && ContinuousClock.now - began < Self.writingMax
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
