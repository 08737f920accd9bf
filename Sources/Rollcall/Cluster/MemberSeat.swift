import RollcallBasis
import RollcallCluster
import RollcallCore
import RollcallStore
import RollcallSupport

/// `MemberNews` brings a member what came of something that it asked for, or an order.
package enum MemberNews: Sendable {
    case head(HeadOutcome)
    case read(ReadOutcome, request: Int64)
    case append(AppendOutcome)
    case beat(AppendOutcome)
    case log(LogNews)
    case peers([PeerPlace])
    case created
    /// It was said that this member leads no more, or could not be.
    case released
    /// True if another member holds all of the log.
    case seen(Bool)
    /// A copy of a peer's store stands beside ours; false if nobody gave one.
    case joined(Bool)
    /// Somebody asks something of this member.
    case order(MemberOrder, reply: MemberOrder.Reply)
    /// The places of the others, before the log is begun anew from here.
    case surveyed([PeerPlace], isForced: Bool, reply: MemberOrder.Reply)
    /// True of an onlooker whose own log is not begun.
    case ownLog(isFree: Bool)
    /// The outcome of beginning the log anew from here.
    case adoption(AppendOutcome, reply: MemberOrder.Reply)
}

/// A member and its way to the log and to the other members: it carries out what concerns those, and
/// leaves what concerns the engine and the store to the state writer, on whose thread it is.
package final class MemberSeat {
    /// `Parts` holds what a member is made of.
    package struct Parts: Sendable {
        package var log: any TurnLog
        package var settings: Member.Settings
        package var peers: PeerCaller
        /// The URL at which the others reach this one; empty for none.
        package var address = ""
        /// Called once the copy of a peer's store stands beside ours, and ours is closed: the process
        /// has to begin again.
        package var onCopy: @Sendable () -> Void = {}
        /// The cell that this one is split from; nil if it is not (K6).
        package var origin: SplitOrigin?

        /// A member that reaches a log and others.
        package init(log: any TurnLog, settings: Member.Settings, peers: PeerCaller) {
            self.log = log
            self.settings = settings
            self.peers = peers
        }
    }

    /// Between two tries to get a copy of a store, or a place in the watch of the log.
    private static let againAfter: Int64 = 1000

    let parts: Parts
    /// The cell that is followed until it gives this one its slots; nil of a member of its own watch.
    let origin: SplitOrigin?
    private let log: any TurnLog
    private(set) var member: Member
    let board: MemberBoard
    var time = TurnClock()
    /// The last entry that came as it landed, and when.
    private var fresh: (position: Int64, at: Int64) = (0, 0)
    /// The member that made the last turn.
    var leader: [UInt8] = []
    private let put: @Sendable (MemberNews) -> Void
    /// The reason why the log's end could not be read the last time; nil if it could.
    private(set) var trouble: String?
    private var isWatching = false
    private var watchesFrom: Int64 = 0
    private var joinsFrom: Int64 = 0
    /// The turn through which erasures are over in this store, and the digest of its state: said of
    /// this member in the log.
    var erased: Int64 = 0
    var digest: StateDigest?
    /// True if the store is kept aside when a copy takes its place.
    private(set) var keepsStore = false
    /// The last position that the log let go of though no second member was known to hold it.
    private var singleCopy: Int64 = 0
    private var hasCaughtUp = false
    /// True of an onlooker whose own log is not begun, as it was last seen; looked at from then on.
    private var isOwnLogFree = false
    private var looksFrom = Int64.min / 4
    /// True of an onlooker that needs the copy of a member of the new cell, and no other one.
    var lacksPeople = false
    /// Times that the state here was found to be another than the leader's.
    var differences = 0

    /// A member that holds `place`, and calls `put` from any thread. With an origin it looks on there.
    init(
        _ parts: Parts, at place: LogPlace, board: MemberBoard, origin: SplitOrigin? = nil,
        put: @escaping @Sendable (MemberNews) -> Void
    ) {
        self.parts = parts
        self.origin = origin
        self.board = board
        self.put = put
        log = origin?.log ?? parts.log
        var settings = parts.settings
        settings.isOnlooker = origin != nil
        member = Member(settings, at: place, now: ClockReading.now().elapsed)
    }

    /// Calls `body` with the member, and carries out what concerns the log and the others; returns
    /// the rest.
    func drive(_ body: (inout Member, _ now: Int64) -> [MemberEffect]) -> [MemberEffect] {
        let now = ClockReading.now().elapsed
        return body(&member, now).filter { !carry($0, now) }
    }

    /// Takes news; returns what the state writer has to do.
    func take(_ news: MemberNews) -> [MemberEffect] {
        if case .head(let outcome) = news {
            if case .failed(let why) = outcome { trouble = why } else { trouble = nil }
        }
        return drive { member, now in
            switch news {
            case .head(let outcome): return member.take(head: outcome, now)
            case .read(let outcome, let request):
                return member.take(read: outcome, request: request, now)
            case .append(let outcome): return member.take(append: outcome, now)
            case .beat(let outcome): return member.take(beat: outcome, now)
            case .log(let news):
                if case .entry(let landed) = news, Self.isFresh(landed, member, now) {
                    fresh = (landed.entry.position, now)
                }
                if news == .lost {
                    isWatching = false
                    watchesFrom = now + 100
                }
                return member.take(news: news, now)
            case .peers(let places): return member.take(peers: places, now)
            case .created: member.didCreate()
            case .ownLog(let isFree): isOwnLogFree = isFree
            case .released, .seen, .order, .surveyed, .adoption: break
            // With a copy at hand the process begins again.
            case .joined(true): break
            case .joined(false): member.didNotJoin()
            }
            return []
        }
    }

    /// True if an entry that the watch of the log tells of landed just now, not while that watch was
    /// away: the log ended before it when its end was last read.
    private static func isFresh(_ landed: LandedEntry, _ member: Member, _ now: Int64) -> Bool {
        guard let view = member.view, let readAt = member.confirmedSince else { return false }
        return landed.entry.position > view.head.position
            && now - readAt <= member.settings.silence.count / 2
    }

    /// Learns of a turn that was folded how the watch's time stands (S14).
    func observe(_ turn: Turn, of landed: LandedEntry, at elapsed: Int64) {
        let isFresh = landed.entry.position == fresh.position
        time.observe(
            RunningTime(milliseconds: turn.nowMilliseconds), at: isFresh ? fresh.at : elapsed,
            reign: landed.entry.origin.reign, isFresh: isFresh)
    }

    /// Lets time pass.
    func tick() -> [MemberEffect] {
        drive { member, now in
            if !isWatching, now >= watchesFrom, let view = member.view {
                isWatching = true
                log.watch(after: view.head.revision) { [put] in put(.log($0)) }
            }
            if origin != nil, now >= looksFrom {
                looksFrom = now + Self.againAfter
                parts.log.head { [put] outcome in
                    switch outcome {
                    case .none: put(.ownLog(isFree: true))
                    case .view: put(.ownLog(isFree: false))
                    case .failed: break
                    }
                }
            }
            return member.tick(now)
        }
    }

    /// The addresses of the other members.
    var others: [String] {
        ((member.foreign ?? member.view)?.notes ?? []).filter {
            $0.member != member.settings.name && !$0.address.isEmpty
        }.map(\.address)
    }

    /// Asks the other members whether one of them holds all of the log.
    func askWhetherSeen() {
        parts.peers.askWhetherSeen(others) { [put] in put(.seen($0)) }
    }

    /// Carries out what concerns the log and the others; false if the state writer has to.
    private func carry(_ effect: MemberEffect, _ now: Int64) -> Bool {
        switch effect {
        case .readHead: log.head { [put] in put(.head($0)) }
        case .read(let request, let after, let limit):
            log.read(after: after, limit: limit) { [put] in put(.read($0, request: request)) }
        case .append(let entry, let after):
            log.append(entry, after: after) { [put] in put(.append($0)) }
        case .beat(let head): log.beat(after: head) { [put] in put(.beat($0)) }
        case .release(let head): log.release(after: head) { [put] _ in put(.released) }
        case .note(let position):
            var note = MemberNote(
                member: member.settings.name, position: position,
                wall: ClockReading.now().wall, address: parts.address)
            note.level = Member.level
            note.erased = erased
            note.digest = digest
            log.note(note)
        case .trim(let through, let view, let isSingleCopy):
            if isSingleCopy { singleCopy = max(singleCopy, through) }
            log.trim(through: through, view)
        case .askPeers:
            parts.peers.askPlaces(others) { [put] in put(.peers($0)) }
        // What an onlooker holds may be all that there is of the people whom it waits for.
        case .join: join(now, keepsStore: origin != nil)
        case .rejoin: join(now, keepsStore: true)
        case .create, .fold, .reign, .landed, .rebuild, .stepDown, .lost, .adopted: return false
        }
        return true
    }

    private func join(_ now: Int64, keepsStore: Bool) {
        self.keepsStore = keepsStore
        guard now >= joinsFrom else { return put(.joined(false)) }
        // From the last try on, not from the last time that it was too early for one.
        joinsFrom = now + Self.againAfter
        guard origin != nil else {
            return parts.peers.copyStore(others) { [put] in put(.joined($0)) }
        }
        // Where another member of the new cell has begun its log already, the copy is that one's.
        parts.log.head { [parts, others, lacksPeople, put] outcome in
            let own = parts.settings.name
            let begun: [String]? =
                switch outcome {
                case .view(let view):
                    view.notes.filter { $0.member != own && !$0.address.isEmpty }.map(\.address)
                case .none: lacksPeople ? nil : others
                case .failed: nil
                }
            guard let begun else { return put(.joined(false)) }
            parts.peers.copyStore(begun) { put(.joined($0)) }
        }
    }

    /// The log names these members: what those said of themselves who are none any more, its leader
    /// takes away.
    func follow(_ membership: Membership) {
        guard membership != member.membership else { return }
        let gone = member.membership.names.filter { !membership.names.contains($0) }
        member.follow(membership)
        guard member.role == .leading else { return }
        for name in gone { log.forget(member: name) }
    }

    /// Lets the log go of entries up to `position` as soon as nobody lacks them, and keep those up to `lacked`.
    func hurryTrim(through position: Int64, keeping lacked: Int64) {
        (member.erasuresThrough, member.lackedThrough) = (position, lacked)
    }

    /// Makes the log, of a watch with this number; `turn` is the last one that its first member holds.
    func create(watch: UInt64, turn: Int64) {
        let entry = first(of: watch, turn: turn)
        log.create(log: UInt64.random(in: 1 ... .max), entry) { [put] _ in put(.created) }
    }

    private func first(of watch: UInt64, turn: Int64) -> LogEntry {
        LogEntry(
            .creation, at: 1, after: 0,
            origin: LogOrigin(
                member: member.settings.name, incarnation: member.settings.incarnation,
                // Reigns go on being counted where a log was lost.
                reign: member.place.reign, serial: 0),
            body: WatchCreation(watch: watch, turn: turn).bytes)
    }

    /// Asks the others for their places, before the lost log is begun anew from here.
    func survey(isForced: Bool, _ reply: @escaping MemberOrder.Reply) {
        parts.peers.askPlaces(others) { [put] in
            put(.surveyed($0, isForced: isForced, reply: reply))
        }
    }

    /// Begins the log `number` in the place of the lost one, of a watch whose last turn this member
    /// holds.
    func adopt(
        _ number: UInt64, watch: UInt64, turn: Int64, _ reply: @escaping MemberOrder.Reply
    ) {
        member.willAdopt(number)
        log.adopt(
            LogAdoption(log: number, of: member.place.log), first(of: watch, turn: turn),
            over: member.foreign?.head
        ) { [put] in put(.adoption($0, reply: reply)) }
    }

    /// Entries that a new cell may lack when it is split: it has them in the same second.
    private static let splitLagMax: Int64 = 64

    /// The reason why an onlooker may not be split from its origin; empty without one.
    private func splitProblem(lag: Int64, at elapsed: Int64) -> String {
        guard origin != nil else { return "" }
        let since = member.confirmedSince.map { elapsed - $0 } ?? .max
        return if lacksPeople {
            "that cell has been split already, and it lacks the people of its own"
        } else if member.isDivergent {
            "its state is not that of the others"
        } else if member.place.log == 0 || since > member.settings.silence.count {
            "it does not follow that cell's log: nothing is read at split_from.log"
        } else if !isOwnLogFree {
            "its own log is begun already: it needs a prefix, or a table, that nobody has used"
        } else if lag > Self.splitLagMax {
            "it lacks \(lag) entries of that cell's log"
        } else {
            ""
        }
    }

    /// Leaves on the board how it stands.
    func publish(_ erasures: [PendingErasure], at elapsed: Int64) {
        var standing = MemberStanding()
        standing.role =
            switch member.role {
            case .following: member.isBusy ? .joining : .following
            case .standing, .reigning: .standing
            case .leading: .leading
            case .lost: .lost
            }
        if case .lost(let loss) = member.role { standing.loss = loss.sentence }
        standing.place = member.place
        standing.end = max(member.view?.head.position ?? 0, member.place.position)
        // Nothing is passed on to the members of another watch, nor told of them.
        standing.leader = origin == nil ? leader : []
        standing.confirmedAt = member.confirmedSince
        standing.leadsUntil = member.leadsUntil
        standing.notes = origin == nil ? (member.foreign ?? member.view)?.notes ?? [] : []
        standing.membership = origin == nil ? member.membership : Membership()
        standing.isDrained = member.isDrained(at: elapsed)
        standing.isDivergent = member.isDivergent
        standing.differences = differences
        standing.isSingleCopy =
            singleCopy > 0 && member.role == .leading
            && !standing.notes.contains {
                $0.member != member.settings.name && $0.position >= singleCopy
            }
        standing.erasures = erasures
        hasCaughtUp = origin == nil && (hasCaughtUp || member.isConfirmed(at: elapsed))
        standing.hasCaughtUp = hasCaughtUp
        standing.splitProblem = splitProblem(lag: standing.lag, at: elapsed)
        board.publish(standing)
    }
}

/// The first entry of a log: which watch it is of, and what its first member held before (S7).
struct WatchCreation: Equatable {
    /// The number that every key comes from.
    var watch: UInt64
    /// The last turn before the log; 0 for none. Who does not hold it needs a copy.
    var turn: Int64

    init(watch: UInt64, turn: Int64) {
        self.watch = watch
        self.turn = turn
    }

    /// The body of an entry; nil if it makes no sense.
    init?(_ body: [UInt8]) {
        guard body.count == 16 else { return nil }
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        watch = number(body[..<8])
        guard let turn = Int64(exactly: number(body[8...])) else { return nil }
        self.turn = turn
    }

    var bytes: [UInt8] {
        [watch, UInt64(turn)].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * (7 - $0))) }
        }
    }
}

extension LogLoss {
    /// Says in words for people what is wrong with the log.
    var sentence: String {
        switch self {
        case .other: "the log is another one than this member followed"
        case .shorter: "the log ends before what this member holds"
        case .different: "the log holds something else than this member"
        case .restored: "the log was restored from an older copy"
        case .memberAhead(let member):
            "member \(NotificationWords.text(member)) holds more than the log"
        }
    }
}
