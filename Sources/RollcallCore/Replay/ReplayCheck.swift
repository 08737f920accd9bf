/// Replays an export and compares what is decided with what had been decided when it was lived.
///
/// Both are sequences of lines; they are compared in order, each as soon as both are known. The
/// first difference ends it, unless people were erased before it: what they had a part in is decided
/// otherwise without them. Then it is counted, and what follows is compared. Source: V7.
package struct ReplayCheck {
    /// The kind of a decision.
    package enum Kind: Int, CaseIterable, Sendable {
        case transition = 0
        case gap = 1
        case alert = 2
        case nudge = 3
        case blind = 4
        case skew = 5
    }

    /// The place at which the two part.
    package struct Difference: Equatable, Sendable {
        /// The turn that holds the stored line, or the last one before the other; 0 before any.
        package var turn: Int64
        /// Nil if nothing more was stored.
        package var stored: [UInt8]?
        /// Nil if nothing more was decided.
        package var replayed: [UInt8]?
    }

    /// The first turn that was decided by other rules than ours (J4).
    package struct OtherRules: Equatable, Sendable {
        package var turn: Int64
        package var engineVersion: Int64
    }

    /// Lines of each side that are looked at for where both go on alike.
    private static let aheadLookedAt = 64

    /// Lines that one side is ahead by at most: a million decisions of one instant, and as many more.
    private static let aheadMax = 4_000_000

    private var reader: ReplayReader
    private var run: ReplayRun
    private var stored = LineQueue()
    private var replayed = LineQueue()
    private var turn: Int64 = 0

    /// Lines that were the same, by kind.
    package private(set) var same = [Int](repeating: 0, count: Kind.allCases.count)
    /// The first that nothing explains; it ends the check.
    package private(set) var difference: Difference?
    /// The first behind an erasure, and the number of lines that differ there.
    package private(set) var erasedDifference: Difference?
    package private(set) var erasedDifferences = 0
    private var isEnded = false
    package private(set) var otherRules: OtherRules?
    /// True once a line was met that only an export has.
    package private(set) var isExport = false
    /// The walls of the first and the last instant.
    package private(set) var span: (first: Timestamp, last: Timestamp)?
    /// Turns that told what they decided.
    package private(set) var turns = 0

    /// A check whose `policy` lines `decodePolicy` reads.
    package init(decodePolicy: @escaping ([UInt8]) throws -> Policy) {
        reader = ReplayReader(decodePolicy: decodePolicy)
        run = ReplayRun(policy: Policy())
    }

    /// True if people were erased in the meantime: what they had a part in may be decided
    /// otherwise without them.
    package var hasErased: Bool { reader.hasErased }

    /// Folds one line (without its line feed) and compares what can be compared.
    /// - Throws: `ReplayError` if the line is not JSON, is none of a replay, or may not stand here.
    package mutating func fold(_ bytes: [UInt8]) throws(ReplayError) {
        guard difference == nil, let step = try reader.read(bytes) else { return }
        if case .state = step { isExport = true }
        if let line = reader.turn { take(line) }
        take { run, decided in run.take(step, decided) }
        let now = run.engine.clock.wallNow
        span = (span?.first ?? now, now)
    }

    /// Closes the last line's instant: what is left on one side is a difference.
    package mutating func finish() {
        take { run, decided in run.finish(decided) }
        isEnded = true
        compare()
        if hasErased {
            skip(stored.count, replayed.count)
        } else {
            end()
        }
    }

    private mutating func end() {
        guard difference == nil, !stored.isEmpty || !replayed.isEmpty else { return }
        let line = stored.popFirst()
        difference = Difference(
            turn: line?.turn ?? turn, stored: line?.bytes, replayed: replayed.popFirst()?.bytes)
    }

    private mutating func take(_ line: TurnLine) {
        if let decided = line.decided {
            isExport = true
            turns += 1
            turn = line.number
            for bytes in decided { stored.append(LineQueue.Line(bytes: bytes, turn: turn)) }
        }
        if otherRules == nil, line.engineVersion != Engine.version, line.engineVersion > 0 {
            otherRules = OtherRules(turn: line.number, engineVersion: line.engineVersion)
        }
    }

    private mutating func take(
        _ body: (inout ReplayRun, (Decision, Engine) -> Void) -> Void
    ) {
        var lines: [LineQueue.Line] = []
        let turn = turn
        body(&run) { decision, engine in
            guard let kind = Kind(decision) else { return }
            var bytes: [UInt8] = []
            DecisionLine.append(decision, engine, to: &bytes)
            if bytes.isEmpty { return }
            bytes.removeLast()
            lines.append(LineQueue.Line(bytes: bytes, turn: turn, kind: kind))
        }
        for line in lines { replayed.append(line) }
        compare()
    }

    private mutating func compare() {
        while difference == nil, let old = stored.first, let new = replayed.first {
            guard old.bytes == new.bytes else {
                guard hasErased else {
                    difference = Difference(turn: old.turn, stored: old.bytes, replayed: new.bytes)
                    return
                }
                let known = min(stored.count, replayed.count)
                guard isEnded || known >= Self.aheadLookedAt else { break }
                let next = nextSame()
                skip(next.stored, next.replayed)
                continue
            }
            if let kind = new.kind { same[kind.rawValue] += 1 }
            _ = stored.popFirst()
            _ = replayed.popFirst()
        }
        if max(stored.count, replayed.count) > Self.aheadMax { end() }
    }

    /// Returns how many lines of each side stand before the nearest that are the same; one of each if
    /// there are none among those that are looked at.
    private func nextSame() -> (stored: Int, replayed: Int) {
        let (olds, news) = (
            min(stored.count, Self.aheadLookedAt), min(replayed.count, Self.aheadLookedAt)
        )
        for sum in 1..<max(2, olds + news - 1) {
            for old in max(0, sum - news + 1)..<max(min(sum + 1, olds), max(0, sum - news + 1))
            where stored[old].bytes == replayed[sum - old].bytes {
                return (old, sum - old)
            }
        }
        return (1, 1)
    }

    /// Counts so many lines as different, because of an erasure before.
    private mutating func skip(_ olds: Int, _ news: Int) {
        guard olds > 0 || news > 0 else { return }
        let old = olds > 0 ? stored.first : nil
        let new = news > 0 ? replayed.first : nil
        erasedDifference =
            erasedDifference
            ?? Difference(turn: old?.turn ?? turn, stored: old?.bytes, replayed: new?.bytes)
        erasedDifferences += max(olds, news)
        for _ in 0..<olds { _ = stored.popFirst() }
        for _ in 0..<news { _ = replayed.popFirst() }
    }
}

extension ReplayCheck.Kind {
    /// Nil for what a replay does not print.
    fileprivate init?(_ decision: Decision) {
        switch decision {
        case .status: self = .transition
        case .gap: self = .gap
        case .alert: self = .alert
        case .nudge: self = .nudge
        case .blind: self = .blind
        case .skew: self = .skew
        case .notice, .mute, .wake, .update, .person, .action, .delivery, .push: return nil
        }
    }

    /// The word for what is counted.
    package var word: StaticString {
        switch self {
        case .transition: "transitions"
        case .gap: "gap lines"
        case .alert: "alert lines"
        case .nudge: "nudge lines"
        case .blind: "blind lines"
        case .skew: "skew lines"
        }
    }
}

/// Lines that wait to be compared, first in first out.
private struct LineQueue {
    struct Line {
        var bytes: [UInt8]
        var turn: Int64
        var kind: ReplayCheck.Kind?
    }

    private var lines: [Line] = []
    private var start = 0

    var isEmpty: Bool { start == lines.count }
    var count: Int { lines.count - start }
    var first: Line? { start < lines.count ? lines[start] : nil }

    subscript(_ place: Int) -> Line { lines[start + place] }

    mutating func append(_ line: Line) { lines.append(line) }

    mutating func popFirst() -> Line? {
        guard start < lines.count else { return nil }
        let line = lines[start]
        lines[start].bytes = []
        start += 1
        // What was taken goes once it is the greater part.
        if start > 1024, start * 2 > lines.count {
            lines.removeFirst(start)
            start = 0
        }
        return line
    }
}
