import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// Hashes of all that a member's engine holds, of the same turns at all members: the first of each
/// quarter of an hour of the watch's time. Source: S10.
///
///     a turn of another quarter ──► the state as it is then ──► some slices a round ──► digest
struct StateDigester {
    /// Between two digests.
    static let every = Milliseconds.seconds(15 * 60)
    /// The time that a round of the loop has for it.
    private static let span = Duration.milliseconds(2)

    private struct Work {
        let turn: Int64
        let checkpoint: Checkpoint
        var next = 0
        var hash: UInt64 = 0
    }

    private var work: Work?
    /// The quarter of the last turn; nil before the first.
    private var quarter: Int64?

    /// Nothing is hashed yet.
    init() {}

    /// True if there is something to be hashed.
    var isBusy: Bool { work != nil }

    /// A turn is kept, and `engine` stands at its end.
    mutating func note(_ turn: Turn, _ engine: Engine) {
        let present = turn.nowMilliseconds / Self.every.count
        defer { quarter = present }
        guard let quarter, quarter != present else { return }
        work = Work(turn: turn.number, checkpoint: Checkpoint(engine))
    }

    /// Gives up what is being hashed.
    mutating func abandon() { work = nil }

    /// Hashes what a round has time for; returns the digest once it is whole.
    mutating func advance() -> StateDigest? {
        guard var work else { return nil }
        let began = ContinuousClock.now
        while work.next < work.checkpoint.sliceCount {
            let slice = work.checkpoint.slice(work.next)
            work.next += 1
            work.hash = Self.join(work.hash, StableHash.of(slice.span, slice.indices))
            guard ContinuousClock.now - began < Self.span else { break }
        }
        guard work.next == work.checkpoint.sliceCount else {
            self.work = work
            return nil
        }
        self.work = nil
        return StateDigest(turn: work.turn, version: Engine.version, hash: work.hash)
    }

    private static func join(_ hash: UInt64, _ next: UInt64) -> UInt64 {
        let bytes = [hash, next].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }
        }
        return StableHash.of(bytes.span, bytes.indices)
    }
}
