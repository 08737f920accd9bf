import RollcallCore

/// The end of the log, as one linearizable read saw it.
package struct LogHead: Equatable, Sendable {
    /// Tells this log from all others; drawn when it was made.
    package var log: UInt64
    /// The position of the last entry.
    package var position: Int64
    /// Its hash.
    package var hash: UInt64
    /// The reign in which it was written.
    package var reign: Int64
    /// The engine's revision at which it came to be. An engine that was restored from an older copy
    /// may hold the same value at another one (S2).
    package var revision: Int64

    /// The head of a log.
    package init(log: UInt64, position: Int64, hash: UInt64, reign: Int64, revision: Int64) {
        self.log = log
        self.position = position
        self.hash = hash
        self.reign = reign
        self.revision = revision
    }
}

/// A `MemberNote` holds what a member last said of itself in the log. It is never used for safety.
package struct MemberNote: Equatable, Sendable {
    package var member: [UInt8]
    /// The last position that it holds durably.
    package var position: Int64
    /// Its wall clock when it said so.
    package var wall: Timestamp
    /// The URL at which the other members reach it; empty if it does not say.
    package var address: String
    /// The highest level of entries that it reads (S10).
    package var level = Membership.firstLevel
    /// Every erasure of a turn up to this one is over in its store (S13).
    package var erased: Int64 = 0
    /// The last digest of its state; nil before the first.
    package var digest: StateDigest?

    /// The note of a member.
    package init(member: [UInt8], position: Int64, wall: Timestamp, address: String = "") {
        self.member = member
        self.position = position
        self.wall = wall
        self.address = address
    }
}

/// The hash of all that a member's engine held at the end of a turn. Source: S10.
package struct StateDigest: Equatable, Sendable {
    package var turn: Int64
    /// The engine's version: others may hold the same otherwise.
    package var version: Int64
    package var hash: UInt64

    /// The digest of a turn.
    package init(turn: Int64, version: Int64, hash: UInt64) {
        self.turn = turn
        self.version = version
        self.hash = hash
    }
}

/// A log that was begun in the place of one that was lost, because somebody said so. Source: S11.
package struct LogAdoption: Equatable, Sendable {
    /// The number of the new one.
    package var log: UInt64
    /// The number of the one that was lost.
    package var of: UInt64

    /// The adoption of a log.
    package init(log: UInt64, of: UInt64) {
        self.log = log
        self.of = of
    }
}

/// A `LogView` holds what a linearizable read of the log's end tells.
package struct LogView: Equatable, Sendable {
    package var head: LogHead
    /// The engine's revision of the leader's last beat; 0 before the first (S8).
    package var beat: Int64
    /// The last position that is trimmed; 0 while none is.
    package var tail: Int64
    package var notes: [MemberNote]
    /// True if the leader has said that it leads no more, and nothing has landed since.
    package var isReleased: Bool
    /// The last position whose slot was emptied since it was trimmed; 0 while none was (S13).
    package var emptied: Int64 = 0
    /// The log that stands in the place of one that was lost; nil if there is none.
    package var adoption: LogAdoption?

    /// Makes the view of an end that was read.
    package init(
        head: LogHead, beat: Int64, tail: Int64, notes: [MemberNote], isReleased: Bool = false
    ) {
        self.head = head
        self.beat = beat
        self.tail = tail
        self.notes = notes
        self.isReleased = isReleased
    }

    /// Slots that an append empties at most.
    private static let emptiedAtOnce: Int64 = 256

    /// The positions whose slots the entry behind the head may empty, in a log of so many slots: they
    /// are trimmed, no later entry stands there, nor does that one; none of them lies behind the
    /// ring's end. Nil if there are none.
    package func emptiedNext(slots: Int64) -> ClosedRange<Int64>? {
        let first = max(emptied + 1, head.position + 2 - slots)
        guard first > 0, first <= tail else { return nil }
        let end = (first / slots + 1) * slots - 1
        return first...min(tail, end, first + Self.emptiedAtOnce - 1)
    }
}

/// An entry with the engine's revision at which it landed.
package struct LandedEntry: Equatable, Sendable {
    package var entry: LogEntry
    package var revision: Int64

    /// An entry that landed.
    package init(_ entry: LogEntry, revision: Int64) {
        self.entry = entry
        self.revision = revision
    }
}

/// The outcome of reading the log's end.
package enum HeadOutcome: Equatable, Sendable {
    case view(LogView)
    /// There is no log yet.
    case none
    /// It could not be read; why.
    case failed(String)
}

/// The outcome of an append.
package enum AppendOutcome: Equatable, Sendable {
    /// It stands in the log, and outlives the loss of the engine's minority; the head that it made.
    case landed(LogHead)
    /// It does not, and this attempt never will.
    case refused
    /// The log has no room, and this attempt never landed; why.
    case unavailable(String)
    /// Nobody knows; why (S3).
    case unknown(String)
}

/// The outcome of reading entries.
package enum ReadOutcome: Equatable, Sendable {
    /// The entries that follow, without a hole, and the end of the log at that instant; no entry if
    /// there is none.
    case entries([LandedEntry], LogView)
    /// The entries that follow are trimmed.
    case trimmed(LogView)
    /// It could not be read; why.
    case failed(String)
}

/// Something that a watch of the log tells: a hint that saves a read, and nothing that safety rests
/// on.
package enum LogNews: Equatable, Sendable {
    case entry(LandedEntry)
    /// An entry landed that is too large to be told: it is to be read.
    case grown(revision: Int64)
    /// The leader beat, at that revision of the engine.
    case beat(revision: Int64)
    /// The leader has said that it leads no more.
    case released(revision: Int64)
    /// The watch has lost its place: whoever watches reads, and watches anew.
    case lost
}

/// A replicated compare-and-append: where the turns of a watch of several members stand before any
/// store holds them. Source: S1, S2.
///
/// Every call returns at once; its reply comes once, on any thread. `head` and `read` return only
/// what outlives the loss of the engine's minority.
package protocol TurnLog: Sendable {
    /// Reads the end, linearizably.
    func head(reply: @escaping @Sendable (HeadOutcome) -> Void)

    /// Makes the log with its first entry, if there is none.
    func create(
        log: UInt64, _ entry: LogEntry, reply: @escaping @Sendable (AppendOutcome) -> Void)

    /// Appends the entry that follows `head`, if the log still ends there, by value and revision.
    func append(
        _ entry: LogEntry, after view: LogView,
        reply: @escaping @Sendable (AppendOutcome) -> Void)

    /// Reads at most `limit` entries after a position.
    func read(
        after position: Int64, limit: Int, reply: @escaping @Sendable (ReadOutcome) -> Void)

    /// Beats, if the log still ends at `head` (S8); `landed` tells the beat's revision as that of
    /// the head.
    func beat(after head: LogHead, reply: @escaping @Sendable (AppendOutcome) -> Void)

    /// Says that whoever made the end of the log leads no more, if the log still ends at `head`.
    func release(after head: LogHead, reply: @escaping @Sendable (AppendOutcome) -> Void)

    /// Calls `receive` with every entry and beat after a revision, in order, on one thread.
    func watch(after revision: Int64, receive: @escaping @Sendable (LogNews) -> Void)

    /// Lets go of entries through a position, if the tail still is where `view` saw it (S12).
    func trim(through position: Int64, _ view: LogView)

    /// Begins another log in the place of one that was lost, with its first entry, if the end still is
    /// `lost`, or there still is none if that is nil. Nothing of the lost one stays (S11).
    func adopt(
        _ adoption: LogAdoption, _ entry: LogEntry, over lost: LogHead?,
        reply: @escaping @Sendable (AppendOutcome) -> Void)

    /// Says of a member what others may want to know.
    func note(_ note: MemberNote)

    /// Takes away what a member said of itself, which is none any more.
    func forget(member: [UInt8])
}
