import RollcallCore

/// One member of a watch on several machines: when it follows, stands, leads and steps down.
///
///                 ┌────────── refused, or somebody else's entry ──────────┐
///                 ▼                                                       │
///     following ──── silence without a beat ──► standing ──► reigning ──► leading
///                 ▲                                │             its reign landed
///                 └── a beat, another's entry ─────┘
///
/// It is pure: told the time and what came of its effects, it says what to do next. It holds no turn,
/// store or engine; its host folds and commits. A turn goes this way (S1): the host folds it and
/// proposes its bytes; they are appended; once they have landed the host commits them locally, answers
/// and sends. Between `propose` and `landed` or `rebuild` nothing may be folded (S3).
///
/// All instants are milliseconds of a clock that runs through suspension.
package struct Member: Sendable {
    /// A `Role` says what a member is doing.
    package enum Role: Equatable, Sendable {
        case following
        /// It reads the end a last time, and asks the others.
        case standing
        /// The entry of its reign is on its way.
        case reigning
        case leading
        /// It follows no more and never leads until somebody decides.
        case lost(LogLoss)
    }

    /// `Settings` holds what a member is told at its start.
    package struct Settings: Sendable {
        package var name: [UInt8]
        package var incarnation: UInt64
        /// Without a beat for so long a follower stands (S8).
        package var silence = Milliseconds(2000)
        /// Added to `silence` by chance, so that two seldom stand at once.
        package var chance = Milliseconds(0)
        /// Entries of one read.
        package var readLimit = 16
        /// Entries that the log has room for.
        package var slots: Int64 = 65_536
        /// Entries that are kept though every member holds them: who was away for a moment needs no
        /// copy.
        package var slotsKept: Int64 = 1024
        /// True if it only follows, and the log's members know nothing of it: it never stands, makes no log,
        /// and notes nothing (K6).
        package var isOnlooker = false

        /// The settings of a member of that name.
        package init(name: [UInt8], incarnation: UInt64) {
            self.name = name
            self.incarnation = incarnation
        }
    }

    package let settings: Settings
    package internal(set) var role = Role.following
    /// The place in the log that the local store and the engine hold.
    package internal(set) var place: LogPlace
    /// The last end of the log that was read, linearizably, or made.
    package internal(set) var view: LogView?
    /// The instant at which the last read of the end was sent that was answered.
    var confirmedAt = Int64.min / 4

    // The end of the log, as it is asked for.
    /// The instant at which it was asked for, and what was held here by then; nil while nobody
    /// asks.
    var headAsked: (at: Int64, from: LogPlace)?
    var headAskedAt = Int64.min / 4
    /// True if it is to be asked for again, since what was asked may be answered from before.
    var asksHeadAgain = false
    /// The instant at which the answer came that first told of the present end; nil if a later one
    /// failed.
    var steadySince: Int64?
    /// The instant at which the leader was last heard of, and the engine's revision that said so.
    var heard = (at: Int64(0), revision: Int64(0))

    // Following.
    /// The entries that wait to be folded, in their order.
    var waiting: [LandedEntry] = []
    /// True while the host folds an entry, builds its engine anew, or copies a store.
    var isFolding = false
    var isRebuilding = false
    var isJoining = false
    /// The read whose answer is waited for, and what was held here by then.
    var reading: (request: Int64, from: LogPlace)?
    var requests: Int64 = 0
    var arePeersAsked = false
    /// A member that holds more than the log's end as it was read, and when it said so.
    var ahead: (peer: PeerPlace, at: Int64)?
    var isCreating = false
    /// After a reign that came to nothing: not to stand again before.
    var standsFrom = Int64.min / 4
    /// The last reign that it handed over itself, and until when it stands only if another one has
    /// come since.
    var handedOver = (reign: Int64(0), until: Int64.min / 4)
    /// Somebody has asked it to leave the lead to others until then.
    var drainedUntil = Int64.min / 4
    /// The members, as the log names them, as far as it is folded here (S17).
    package internal(set) var membership = Membership()
    /// True once its state is known to be another than the others': it never leads (S10).
    package internal(set) var isDivergent = false
    /// The end of a log that is not the one that was followed; nil if there is none.
    package internal(set) var foreign: LogView?
    /// The number of the log that this member is about to begin in the place of a lost one; 0 for
    /// none.
    package internal(set) var adopting: UInt64 = 0

    // Leading.
    var open: OpenAppend?
    var serial: Int64 = 0
    var beatAsked: (at: Int64, from: LogPlace)?
    var beatAskedAt = Int64.min / 4
    /// The instant at which the last append or beat that landed was first sent; nil if nothing did
    /// since an outcome that nobody knew (S6).
    var provenAt: Int64?
    var notedPosition: Int64 = 0
    var notedAt = Int64.min / 4
    /// The members' notes, and when each was first seen as it is.
    var noted: [[UInt8]: (note: MemberNote, at: Int64)] = [:]
    /// Erased people stand in entries up to this position: the log is not to keep them longer than
    /// anybody lacks them (S13).
    package var erasuresThrough: Int64 = 0
    /// A new cell of which the log's members know nothing may lack entries up to this position: they are kept
    /// while the log has room (K6).
    package var lackedThrough: Int64 = 0

    /// An append on its way.
    struct OpenAppend: Sendable {
        var entry: LogEntry
        var after: LogView
        var firstSentAt: Int64
        /// True once an attempt was not answered by `landed`: its position is read (S3).
        var isUnknown = false
        /// The instant from which to read, or send, again; the distant future while something is
        /// waited for.
        var retryAt = Int64.max
        /// The read of its position that is waited for.
        var resolving: Int64?
    }

    /// The time between two tries to learn what became of an append.
    static let resolveEvery: Int64 = 100
    /// The time between two looks of those to whom the lead is handed over.
    private static let handedOverEvery: Int64 = 10
    /// The time between two notes.
    private static let noteEvery: Int64 = 1000
    /// A member is alive if what it notes has changed within so long.
    private static let aliveFor: Int64 = 4_000

    /// A member whose store holds `place`, started at `now`.
    package init(_ settings: Settings, at place: LogPlace, now: Int64) {
        self.settings = settings
        self.place = place
        heard.at = now
        notedPosition = -1
    }

    // MARK: - What it may

    /// True if a turn may be folded and proposed.
    package var mayPropose: Bool { role == .leading && open == nil }

    /// True while the engine holds what has not landed, or is not there: nothing may be folded, and
    /// questions get what was last published.
    package var isBusy: Bool { open != nil || isRebuilding || isJoining }

    /// True if pages, pushes and pings may go out at `now` (S6).
    package func mayTouch(at now: Int64) -> Bool { now <= touchesUntil }

    /// The last instant at which they may.
    package var touchesUntil: Int64 {
        guard role == .leading, let provenAt else { return .min }
        return provenAt + settings.silence.count / 2
    }

    /// The last instant at which nobody else leads (S4).
    package var leadsUntil: Int64 {
        guard role == .leading, let provenAt else { return .min }
        return provenAt + settings.silence.count
    }

    /// True if what is folded is known to be all: the end was read within `silence` (S15).
    package func isConfirmed(at now: Int64) -> Bool {
        guard let view, now - confirmedAt <= settings.silence.count else { return false }
        return view.head.position <= place.position
    }

    /// The instant at which the last read of the log's end was sent that was answered; nil before the
    /// first.
    package var confirmedSince: Int64? { confirmedAt < 0 ? nil : confirmedAt }

    /// The number of the log that is followed; 0 while none is known.
    package var log: UInt64 { place.log != 0 ? place.log : view?.head.log ?? 0 }

    /// The head that what is held here makes.
    var ownHead: LogHead {
        LogHead(
            log: place.log, position: place.position, hash: place.hash, reign: place.reign,
            revision: place.revision)
    }

    var pollEvery: Int64 { settings.silence.count / 4 }

    // MARK: - Time

    /// The time between two ticks at most, in milliseconds. Nobody watches while the lead is handed over.
    package var tickEvery: Int64 {
        if role == .following, view?.isReleased ?? false { return Self.handedOverEvery }
        return min(max(settings.silence.count / 20, 1), Self.resolveEvery)
    }

    /// Lets time pass.
    package mutating func tick(_ now: Int64) -> [MemberEffect] {
        var effects: [MemberEffect] = []
        if now - headAskedAt >= pollEvery { askHead(now, &effects) }
        switch role {
        case .following: tend(now, &effects)
        case .standing: if steadySince == nil { role = .following }
        case .reigning, .leading:
            resolve(now, &effects)
            if !mayLead { effects += release(now) }
            beat(now, &effects)
        case .lost: return effects
        }
        if now - notedAt >= Self.noteEvery {
            notedAt = now
            note(&effects)
            trim(now, &effects)
        }
        return effects
    }

    private mutating func note(_ effects: inout [MemberEffect]) {
        guard notedPosition != place.position, !isRebuilding, !isJoining, !settings.isOnlooker
        else { return }
        notedPosition = place.position
        effects.append(.note(position: place.position))
    }

    /// Lets go of what everybody holds; if the log runs full, of what another member holds that is
    /// alive, and at last of what only this one is known to hold (S12).
    private mutating func trim(_ now: Int64, _ effects: inout [MemberEffect]) {
        // What an older view says of the others may not be so any more.
        guard role == .leading, let view, isConfirmed(at: now) else { return }
        let used = view.head.position - view.tail
        // Who is listed and has said nothing may hold nothing.
        let held = Dictionary(
            view.notes.map { ($0.member, $0.position) }, uniquingKeysWith: { max($0, $1) })
        let counted = membership.counted(noted: view.notes.map(\.member))
        // Who has taken all others out wants no second copy.
        let hasSecond = counted.count > 1
        let isToBeHeld = hasSecond || membership.isClosed
        var through = isToBeHeld ? counted.map { held[$0] ?? 0 }.min() ?? 0 : 0
        if lackedThrough > view.tail { through = min(through, view.tail) }
        var isSingleCopy = !hasSecond
        if used > settings.slots * 3 / 4 {
            // Who says nothing any more may have lost what it held.
            let alive = noted.filter {
                $0.key != settings.name && now - $0.value.at <= Self.aliveFor
            }
            through = max(through, alive.map(\.value.note.position).max() ?? 0)
        }
        let least = max(1, settings.slotsKept / 4)
        if used > settings.slots * 15 / 16,
            through < view.tail + max(least, settings.slots / 64 + 1)
        {
            through = place.position - settings.slotsKept
            isSingleCopy = true
        }
        // Nobody who holds it needs the log to keep who was erased.
        let erased = min(through, erasuresThrough, view.head.position - 1)
        let usual = min(through, view.head.position - settings.slotsKept)
        guard erased > view.tail || usual >= view.tail + least else {
            return
        }
        effects.append(.trim(through: max(erased, usual), view, isSingleCopy: isSingleCopy))
    }

    // MARK: - The end of the log

    /// Asks for the end, unless its last answer has not come.
    mutating func askHead(_ now: Int64, _ effects: inout [MemberEffect]) {
        guard headAsked == nil else { return }
        headAsked = (now, place)
        headAskedAt = now
        effects.append(.readHead)
    }

    /// Asks for the end as it is now: an answer on its way may be from before.
    mutating func askHeadAnew(_ now: Int64, _ effects: inout [MemberEffect]) {
        if headAsked != nil { asksHeadAgain = true } else { askHead(now, &effects) }
    }

    /// Takes the end of the log.
    package mutating func take(head outcome: HeadOutcome, _ now: Int64) -> [MemberEffect] {
        guard let asked = headAsked else { return [] }
        headAsked = nil
        var effects: [MemberEffect] = []
        switch outcome {
        case .view(let seen):
            take(seen, asked, now, &effects)
        case .none where asked.from.log != 0:
            foreign = nil
            lose(.shorter, &effects)
        case .none:
            if role == .following, place.log == 0, !isCreating, !settings.isOnlooker {
                isCreating = true
                effects.append(.create)
            }
        // What is equal before and after a failure need not have been so meanwhile.
        case .failed: steadySince = nil
        }
        if asksHeadAgain {
            asksHeadAgain = false
            askHead(now, &effects)
        }
        return effects
    }

    private mutating func take(
        _ seen: LogView, _ asked: (at: Int64, from: LogPlace), _ now: Int64,
        _ effects: inout [MemberEffect]
    ) {
        if case .lost = role { return takeForeign(seen, &effects) }
        // What was held when the question was sent must be there. What came since need not.
        if let loss = Self.loss(of: asked.from, in: seen) {
            lose(loss, &effects)
            return takeForeign(seen, &effects)
        }
        if let suspected = ahead, asked.at >= suspected.at {
            ahead = nil
            if suspected.peer.holdsMore(than: seen.head) {
                return lose(.memberAhead(member: suspected.peer.member), &effects)
            }
        }
        hear(at: now, revision: max(seen.head.revision, seen.beat))
        confirmedAt = max(confirmedAt, asked.at)
        guard seen.head.revision >= view?.head.revision ?? .min else { return }
        let isSame = view.map { $0.head == seen.head && $0.beat == seen.beat } ?? false
        if !isSame || steadySince == nil { steadySince = now }
        view = seen
        for note in seen.notes where noted[note.member]?.note != note {
            noted[note.member] = (note, now)
        }
        switch role {
        case .following: follow(&effects)
        case .standing:
            guard isSame, seen.head.position == place.position, let steadySince else {
                role = .following
                return follow(&effects)
            }
            if asked.at - steadySince >= settings.silence.count, !arePeersAsked {
                arePeersAsked = true
                effects.append(.askPeers)
            }
        case .leading:
            if open == nil, seen.head.position > place.position { stepDown(&effects) }
        case .reigning, .lost: break
        }
    }

    /// Returns what is wrong with an end of the log for somebody who holds a place; nil if nothing
    /// is (S11).
    static func loss(of place: LogPlace, in seen: LogView) -> LogLoss? {
        guard place.log != 0 else { return nil }
        let head = seen.head
        if head.log != place.log { return .other }
        if head.position < place.position { return .shorter }
        if head.position == place.position {
            if head.hash != place.hash { return .different }
            if head.revision != place.revision { return .restored }
        }
        return head.revision < place.revision ? .restored : nil
    }

    /// Ends here: nobody may lead from what is held.
    mutating func lose(_ loss: LogLoss, _ effects: inout [MemberEffect]) {
        if case .lost = role { return }
        if role == .leading || role == .reigning { stepDown(&effects) }
        role = .lost(loss)
        waiting = []
        if open != nil {
            open = nil
            isRebuilding = true
            effects.append(.rebuild)
        }
        effects.append(.lost(loss))
    }

    /// The leader was heard of if the revision is a later one.
    mutating func hear(at now: Int64, revision: Int64) {
        if revision > heard.revision { heard = (now, revision) }
    }
}
