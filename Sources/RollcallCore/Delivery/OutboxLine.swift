/// The order in which the messages of a queue come next, and come to their end: ranks only, the
/// messages are in `OutboxOpen`.
///
/// What is critical goes first, then what was tried least recently. While the address does not
/// answer, nothing is tried a second time before everything was tried once, so that one message
/// which it cannot take holds nobody up. Source: rule D2.
struct OutboxLine: Equatable, Sendable {
    /// The place in the line of what may be sent now.
    private struct Rank: Comparable, Sendable {
        var isProbed: Bool
        var isCritical: Bool
        var triedAt: RunningTime
        var ready: RunningTime

        init(_ message: OutboxMessage) {
            isProbed = message.isProbed
            isCritical = message.isCritical
            triedAt = message.triedAt
            ready = message.ready
        }

        static func < (a: Rank, b: Rank) -> Bool {
            if a.isProbed != b.isProbed { return b.isProbed }
            if a.isCritical != b.isCritical { return a.isCritical }
            return a.triedAt != b.triedAt ? a.triedAt < b.triedAt : a.ready < b.ready
        }
    }

    /// The messages that may be sent now.
    private var ready = RankedNumbers<Rank>()
    /// The messages that may be sent later, or were not looked at since they could, by that
    /// instant.
    private var resting = RankedNumbers<RunningTime>()
    /// By when they are given up.
    private var expiries = RankedNumbers<RunningTime>()
    /// By their numbers.
    private var criticals = RankedNumbers<Int64>()
    /// By what they say, then by their numbers.
    private var kinds = [RankedNumbers<Int64>](
        repeating: .init(), count: Notice.Kind.allCases.count)
    /// The messages that have nothing more to do.
    private var endings: Set<Int64> = []
    /// Those that were tried in this round of probes.
    private var probed: [Int64] = []

    /// True if something has nothing more to do.
    var hasEnding: Bool { !endings.isEmpty }

    // MARK: - Coming and going

    /// A message is there.
    mutating func enter(_ message: OutboxMessage, expiry: RunningTime, isGone: Bool) {
        let number = message.number
        if expiry < .distantFuture { expiries.insert(number, expiry) }
        if message.isCritical { criticals.insert(number, number) }
        kinds[Int(message.notice.kind.rawValue)].insert(number, number)
        settle(message, isGone: isGone)
    }

    /// A message changed: it may have nothing more to do.
    mutating func settle(_ message: OutboxMessage, isGone: Bool) {
        guard message.state != .sending, message.isEmpty || isGone else { return }
        endings.insert(message.number)
    }

    /// Messages changed, or what they waited for: those that may be sent take their places.
    mutating func offer(_ numbers: [Int64], in open: OutboxOpen) {
        for number in numbers {
            if let message = open[number] { offer(message, in: open) }
        }
    }

    /// Gives one message its place if it may be sent.
    mutating func offer(_ message: OutboxMessage, in open: OutboxOpen) {
        guard Self.maySend(message, open) else { return }
        resting.insert(message.number, message.ready)
    }

    /// Lets go of places that nobody holds.
    mutating func tidy(_ open: OutboxOpen) {
        let alive = open.count
        ready.tidy(alive: alive) { Self.holds($0, open) }
        resting.tidy(alive: alive) { Self.holds($0, open) }
        expiries.tidy(alive: alive) { open[$0.number] != nil }
        criticals.tidy(alive: alive) { open[$0.number]?.isCritical ?? false }
        for kind in kinds.indices { kinds[kind].tidy(alive: alive) { open[$0.number] != nil } }
    }

    private static func maySend(_ message: OutboxMessage, _ open: OutboxOpen) -> Bool {
        message.state != .sending && !message.isEmpty && open.isFree(message)
    }

    private static func holds(_ entry: RankedNumbers<Rank>.Entry, _ open: OutboxOpen) -> Bool {
        guard let message = open[entry.number], Rank(message) == entry.rank else { return false }
        return maySend(message, open)
    }

    private static func holds(
        _ entry: RankedNumbers<RunningTime>.Entry, _ open: OutboxOpen
    ) -> Bool {
        guard let message = open[entry.number], message.ready == entry.rank else { return false }
        return maySend(message, open)
    }

    // MARK: - Sending

    /// Returns the instant at which the first message may be sent, as far as messages decide.
    mutating func next(in open: OutboxOpen) -> RunningTime {
        if let first = ready.first(where: { Self.holds($0, open) }) { return first.rank.ready }
        return resting.first { Self.holds($0, open) }?.rank ?? .distantFuture
    }

    /// Takes the next message out of the line; nil if none may be sent.
    mutating func take(now: RunningTime, from open: inout OutboxOpen) -> Int64? {
        wake(now, open)
        guard var first = ready.first(where: { Self.holds($0, open) }) else { return nil }
        if first.rank.isProbed {
            endRound(in: &open)
            wake(now, open)
            first = ready.first { Self.holds($0, open) } ?? first
        }
        ready.removeFirst()
        return first.number
    }

    private mutating func wake(_ now: RunningTime, _ open: OutboxOpen) {
        while let first = resting.first(where: { Self.holds($0, open) }), first.rank <= now {
            resting.removeFirst()
            if let message = open[first.number] { ready.insert(first.number, Rank(message)) }
        }
    }

    /// An attempt of a message failed.
    mutating func failed(_ message: OutboxMessage) {
        if message.isProbed { probed.append(message.number) }
    }

    /// The address answered, or everything was tried: nobody stands back for others.
    mutating func endRound(in open: inout OutboxOpen) {
        for number in probed {
            let message = open.change(number) { $0.isProbed = false }
            if let message { offer(message, in: open) }
        }
        probed = []
    }

    /// The oldest message about something critical.
    mutating func oldestCritical(in open: OutboxOpen) -> OutboxMessage? {
        criticals.first { open[$0.number]?.isCritical ?? false }.flatMap { open[$0.number] }
    }

    // MARK: - Ends

    /// Returns the instant at which the first message is given up.
    mutating func nextExpiry(in open: OutboxOpen) -> RunningTime {
        expiries.first { open[$0.number] != nil }?.rank ?? .distantFuture
    }

    /// Takes what has nothing more to do, or no time left, rising; what is being sent stays.
    mutating func takeEnding(now: RunningTime, from open: OutboxOpen) -> [Int64] {
        var numbers = endings
        endings = []
        var sending: RankedNumbers<RunningTime>.Entry?
        while let first = expiries.first(where: { open[$0.number] != nil }), first.rank <= now {
            expiries.removeFirst()
            if open[first.number]?.state == .sending { sending = first }
            numbers.insert(first.number)
        }
        if let sending { expiries.insert(sending.number, sending.rank) }
        return numbers.sorted()
    }

    /// Returns the message that can be missed best, of those the oldest: repeats, then ends, then
    /// triggers, and nothing that is being sent.
    mutating func dispensable(in open: OutboxOpen) -> Int64? {
        for kind in [Notice.Kind.repeated, .resolved, .fired] {
            let kind = Int(kind.rawValue)
            guard let first = kinds[kind].first(where: { open[$0.number] != nil }) else { continue }
            if open[first.number]?.state != .sending { return first.number }
            kinds[kind].removeFirst()
            defer { kinds[kind].insert(first.number, first.rank) }
            if let next = kinds[kind].first(where: { open[$0.number] != nil }) {
                return next.number
            }
        }
        return nil
    }
}
