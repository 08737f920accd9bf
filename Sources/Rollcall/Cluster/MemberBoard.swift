import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallSupport
import Synchronization

/// A member as it stands in its watch, for those who must not ask the state writer: requests of other
/// members, probes, metrics. Instants are the machine's clock, which also runs while it is suspended.
package struct MemberStanding: Equatable, Sendable {
    /// The roles that are told.
    package enum Role: String, CaseIterable, Sendable {
        case following, standing, leading
        /// It takes a copy of another member's store, or builds its engine anew.
        case joining
        /// The log is not the one that it followed (S11).
        case lost

        /// The word for it.
        package var word: String { rawValue }
    }

    package var role = Role.following
    package var place = LogPlace()
    /// The last position of the log that was read.
    package var end: Int64 = 0
    /// The member that made the last turn; empty if that is not known.
    package var leader: [UInt8] = []
    /// The instant at which the last read of the log's end was sent that was answered; nil before the
    /// first.
    package var confirmedAt: Int64?
    /// Until when nobody else leads: `silence` after the last thing of ours was sent that landed; the
    /// least there is if this member does not lead.
    package var leadsUntil: Int64 = .min
    /// The notes that members left of themselves in the log.
    package var notes: [MemberNote] = []
    /// The sentence for what is wrong with the log; empty if nothing is.
    package var loss = ""
    /// The members, as the log names them (S17).
    package var membership = Membership()
    /// True while it leaves the lead to others, because somebody said so.
    package var isDrained = false
    /// True once its state is known to be another than the others' (S10).
    package var isDivergent = false
    /// Times that it found its state, or what it decided, to be another than the leader's.
    package var differences = 0
    /// True while the log has let go of what no second member is known to hold (S12).
    package var isSingleCopy = false
    /// Erasures that are not over in all of the watch (S13).
    package var erasures: [PendingErasure] = []
    /// True once all of the log was held since the process began: until then nobody is answered about
    /// people, since some may have been erased meanwhile (S13).
    package var hasCaughtUp = false

    /// The reason why an onlooker may not be split from the cell in whose log it looks on; empty if it may,
    /// and of others (K6).
    package var splitProblem = ""

    /// Entries that are not held here yet.
    package var lag: Int64 { max(0, end - place.position) }

    /// The URL at which the leader is reached; nil if that is not known.
    package var leaderAddress: String? {
        notes.first { $0.member == leader && !$0.address.isEmpty }?.address
    }
}

/// `LogPositions` holds how far into the watch's log a member goes: with its answers, and with its
/// store. Source: S15.
final class LogPositions: Sendable {
    private let shownUpTo = Atomic<Int64>(0)
    private let heldUpTo = Atomic<Int64>(0)

    /// No answer given by now tells of a later entry.
    var shown: Int64 { shownUpTo.load(ordering: .acquiring) }

    /// Each answer that is asked for from now on tells of all entries up to here.
    var held: Int64 { heldUpTo.load(ordering: .acquiring) }

    /// An entry is about to be stored here, and told of.
    func begin(_ position: Int64) { shownUpTo.store(position, ordering: .releasing) }

    /// It is stored.
    func end(_ position: Int64) { heldUpTo.store(position, ordering: .releasing) }
}

/// The board on which a member leaves how it stands.
package final class MemberBoard: Sendable {
    /// The name of the member.
    package let member: [UInt8]
    /// Without a beat for so long another stands.
    package let silence: Milliseconds
    private let state = Mutex(MemberStanding())
    /// The positions in the log that this member's answers and its store go up to.
    let positions = LogPositions()
    private let passes = Mutex(PassedOnStats())

    /// The board of a member, with nothing on it.
    package init(member: [UInt8], silence: Milliseconds) {
        self.member = member
        self.silence = silence
    }

    /// Returns how the member stood when it last went round.
    package var standing: MemberStanding { state.withLock { $0 } }

    /// Counts a write that was passed on to the leader, or could not be.
    func passedOn(_ outcome: PassedOnStats.Outcome) { passes.withLock { $0.count(outcome) } }

    /// The counts of those.
    var passedOn: PassedOnStats { passes.withLock { $0 } }

    /// Leaves what is true now.
    func publish(_ standing: MemberStanding) { state.withLock { $0 = standing } }

    /// True if all of the log is held here, as of so little ago that it counts (S15).
    package func isConfirmed(at elapsed: Int64 = ClockReading.now().elapsed) -> Bool {
        let standing = standing
        guard let confirmedAt = standing.confirmedAt, standing.role != .lost else { return false }
        return elapsed - confirmedAt <= silence.count && standing.lag == 0
    }

    /// True if this member leads, and nobody else can lead yet (S15). A leader that was suspended, or
    /// of which the log takes nothing, is told from one that leads by this.
    package func isLeading(at elapsed: Int64 = ClockReading.now().elapsed) -> Bool {
        let standing = standing
        return standing.role == .leading && elapsed <= standing.leadsUntil
    }

    /// The members in order of their names, as `/v1/cluster` tells of them.
    package func answer(at clock: ClockReading = .now()) -> JSONTree {
        let standing = standing
        func text(_ bytes: [UInt8]) -> JSONTree { .text(String(decoding: bytes, as: UTF8.self)) }
        func hex(_ number: UInt64) -> JSONTree { .text(String(number, radix: 16)) }
        let notes = standing.notes.sorted { $0.member.lexicographicallyPrecedes($1.member) }
        return [
            "member": text(member), "role": .text(standing.role.word),
            "leader": standing.leader.isEmpty ? nil : text(standing.leader),
            "leader_address": standing.leaderAddress.map { .text($0) } ?? nil,
            "confirmed": .boolean(isConfirmed(at: clock.elapsed)),
            "reign": .integer(standing.place.reign),
            "position": .integer(standing.place.position), "lag": .integer(standing.lag),
            "log": hex(standing.place.log), "hash": hex(standing.place.hash),
            "revision": .integer(standing.place.revision),
            "loss": standing.loss.isEmpty ? nil : .text(standing.loss),
            "drained": .boolean(standing.isDrained), "divergent": .boolean(standing.isDivergent),
            "closed": .boolean(standing.membership.isClosed),
            "level": .integer(standing.membership.level),
            "erasures": PendingErasure.answer(standing.erasures),
            "members": .list(
                notes.map { note in
                    [
                        "member": text(note.member), "position": .integer(note.position),
                        "listed": .boolean(standing.membership.names.contains(note.member)),
                        "address": note.address.isEmpty ? nil : .text(note.address),
                        "noted_at": .text(RFC3339.string(note.wall)),
                    ]
                }
                    + standing.membership.names.filter { name in
                        !notes.contains { $0.member == name }
                    }.map { name in
                        [
                            "member": text(name), "position": .integer(0),
                            "listed": .boolean(true), "address": nil, "noted_at": nil,
                        ]
                    }),
        ]
    }

    /// The place that an answer of `/v1/cluster` tells; nil if it tells none.
    static func place(_ tree: JSONTree) -> PeerPlace? {
        guard let member = tree["member"]?.text,
            let reign = tree["reign"]?.whole, let position = tree["position"]?.whole,
            let revision = tree["revision"]?.whole,
            let log = tree["log"]?.text.flatMap({ UInt64($0, radix: 16) }),
            let hash = tree["hash"]?.text.flatMap({ UInt64($0, radix: 16) })
        else { return nil }
        var place = LogPlace()
        place.position = position
        place.hash = hash
        place.reign = reign
        place.revision = revision
        place.log = log
        var peer = PeerPlace(member: Array(member.utf8), place: place)
        peer.isLost = tree["role"]?.text == MemberStanding.Role.lost.word
        return peer
    }
}
