import RollcallCore

/// A place in the log: what a member's store and engine hold.
package struct LogPlace: Equatable, Sendable {
    /// The position of the last entry that is held; 0 for none.
    package var position: Int64 = 0
    /// Its hash.
    package var hash: UInt64 = 0
    /// The reign in which it was written.
    package var reign: Int64 = 0
    /// The engine's revision at which it landed (S11).
    package var revision: Int64 = 0
    /// Tells the log from all others; 0 before the first entry.
    package var log: UInt64 = 0

    /// The beginning of every log.
    package init() {}

    /// The place behind an entry of a log.
    package init(behind entry: LogEntry, revision: Int64, log: UInt64) {
        position = entry.position
        hash = entry.hash
        reign = entry.origin.reign
        self.revision = revision
        self.log = log
    }

    /// The place at the end of the log.
    init(_ head: LogHead) {
        position = head.position
        hash = head.hash
        reign = head.reign
        revision = head.revision
        log = head.log
    }
}

/// A `MemberEffect` says what a member of a watch wants done.
package enum MemberEffect: Equatable, Sendable {
    /// Read the end of the log; to be answered by `take(head:)`.
    case readHead
    /// Read entries; to be answered by `take(read:request:)`.
    case read(request: Int64, after: Int64, limit: Int)
    /// Make the log, whose first entry the host decides: it fixes the watch's number (S7). To be
    /// answered by `didCreate`.
    case create
    /// Append; to be answered by `take(append:)`.
    case append(LogEntry, after: LogView)
    /// Beat; to be answered by `take(beat:)`.
    case beat(after: LogHead)
    /// Say in the log that nobody leads any more; to be answered by `didRelease`.
    case release(after: LogHead)
    /// Ask every other member for its place; to be answered by `take(peers:)` within 250 ms.
    case askPeers
    /// Fold an entry of somebody else and commit it locally; to be answered by `didFold` or
    /// `didFail`.
    case fold(LandedEntry)
    /// Fold the beginning of a reign and hand over its turn by `propose`, or `abstain`, at once.
    case reign(number: Int64, unobserved: Milliseconds)
    /// The turn that was proposed has landed: commit it locally, then answer and send.
    case landed(LandedEntry)
    /// The entry that was proposed will not land, or is not known to: rebuild the engine from the
    /// local store, then call `didRebuild` (S5).
    case rebuild
    /// Somebody else leads, or may: nothing is proposed, nothing sent. What is held stays.
    case stepDown
    /// The entries that follow are not in the log any more: take a copy of a peer's store, then
    /// call `didJoin`.
    case join
    /// Another log stands in the place of the lost one, because somebody said so: put the own store
    /// aside and take a copy of a peer's, then call `didJoin` (S11).
    case rejoin
    /// The log that this member began in the place of the lost one stands: keep that its first entry
    /// is at this place, then call `didAdopt`.
    case adopted(LogPlace)
    /// Nobody may lead from here until somebody has decided (S11).
    case lost(LogLoss)
    /// Say in the log what is held durably.
    case note(position: Int64)
    /// Let go of entries (S12); `isSingleCopy` if only this member is known to hold some of them.
    case trim(through: Int64, LogView, isSingleCopy: Bool)
}

/// The reason why the log is not the one that was followed. Source: S11.
package enum LogLoss: Equatable, Sendable {
    /// It is another one, by its number.
    case other
    /// It ends before what is held here.
    case shorter
    /// It holds something else where this member's store has its last entry, or before.
    case different
    /// The engine's revision is not the one at which the entry landed: it was restored.
    case restored
    /// A reachable member holds more than the log.
    case memberAhead(member: [UInt8])
}

/// The place of another member, as it says.
package struct PeerPlace: Equatable, Sendable {
    package var member: [UInt8]
    package var place: LogPlace
    /// True if it says that the log is not the one it followed.
    package var isLost = false

    /// Makes the place that a member has answered.
    package init(member: [UInt8], place: LogPlace) {
        self.member = member
        self.place = place
    }

    /// True if it holds what is not in a log that ends there.
    func holdsMore(than head: LogHead) -> Bool {
        guard place.log != 0 else { return false }
        let isOther = place.position == head.position && place.hash != head.hash
        return place.position > head.position || isOther || place.log != head.log
    }
}
