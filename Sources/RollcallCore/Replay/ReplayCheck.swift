/// Replays an export and compares what is decided with what had been decided when it was lived.
///
/// Both are sequences of lines; they are compared in order, each as soon as both are known. The
/// first difference ends it, unless people were erased: gaps, alerts and nudges of others are decided
/// otherwise without them. Then it is counted, and what follows is compared. When somebody is ONLINE or
/// OFFLINE, and when the watch is blind, depends on nobody else, so a difference in these is one in any
/// case. Source: V7.
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
    /// The first that an erasure explains, and the number of lines that differ so.
    package private(set) var erasedDifference: Difference?
    package private(set) var erasedDifferences = 0
    /// Gaps that were, on one side or the other, those of many who fell silent together.
    private var groupedGaps: Set<UInt64> = []
    private var isEnded = false
    /// True if somebody who is erased was known where it begins.
    private var beginsErased = false
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
    package var hasErased: Bool { reader.hasErased || beginsErased }

    /// Folds one line (without its line feed) and compares what can be compared.
    /// - Throws: `ReplayError` if the line is not JSON, is none of a replay, or may not stand here.
    package mutating func fold(_ bytes: [UInt8]) throws(ReplayError) {
        guard difference == nil, let step = try reader.read(bytes) else { return }
        if case .state = step { isExport = true }
        if let line = reader.turn { take(line) }
        take { run, decided in run.take(step, decided) }
        if case .state = step {
            let roster = run.engine.roster
            beginsErased = (0..<roster.count).contains { roster[$0].idCount == 0 }
        }
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
            for bytes in decided {
                let line = LineQueue.Line(bytes: bytes, turn: turn, kind: Kind(line: bytes))
                noteGroup(line)
                stored.append(line)
            }
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
        for line in lines {
            noteGroup(line)
            replayed.append(line)
        }
        compare()
    }

    private mutating func noteGroup(_ line: LineQueue.Line) {
        guard line.kind == .gap, line.mayDependOnOthers else { return }
        groupedGaps.formUnion(line.gaps)
    }

    /// True if a line may say something else where somebody is missing whom it is not about. Where four are
    /// left of five, the gap of each is their own: what one side says of it depends as what the other does.
    private func mayDependOnOthers(_ line: LineQueue.Line) -> Bool {
        line.mayDependOnOthers
            || line.kind == .gap && !groupedGaps.isDisjoint(with: line.gaps)
    }

    private mutating func compare() {
        while difference == nil, let old = stored.first, let new = replayed.first {
            guard old.bytes == new.bytes else {
                guard hasErased else {
                    difference = Difference(turn: old.turn, stored: old.bytes, replayed: new.bytes)
                    return
                }
                let known = min(stored.count, replayed.count)
                guard isEnded || known >= Self.aheadLookedAt, let next = nextSame() else { break }
                skip(next.stored, next.replayed)
                continue
            }
            if let kind = new.kind { same[kind.rawValue] += 1 }
            _ = stored.popFirst()
            _ = replayed.popFirst()
        }
        if max(stored.count, replayed.count) > Self.aheadMax { end() }
    }

    /// Returns how many lines of each side stand before the nearest that are the same; nil if that is not
    /// known yet.
    private func nextSame() -> (stored: Int, replayed: Int)? {
        let (olds, news) = (
            min(stored.count, Self.aheadLookedAt), min(replayed.count, Self.aheadLookedAt)
        )
        for sum in 1..<max(2, olds + news - 1) {
            for old in max(0, sum - news + 1)..<max(min(sum + 1, olds), max(0, sum - news + 1))
            where stored[old].bytes == replayed[sum - old].bytes {
                return (old, sum - old)
            }
        }
        return nextBehindMass()
    }

    /// Returns the same where a mass says more lines than are looked at: up to the first line of each side
    /// that depends on nobody else, which must be the same on both; one of each if that is what differs.
    private func nextBehindMass() -> (stored: Int, replayed: Int)? {
        func run(_ lines: LineQueue) -> Int {
            (0..<lines.count).first { !mayDependOnOthers(lines[$0]) } ?? lines.count
        }
        let (olds, news) = (run(stored), run(replayed))
        guard isEnded || olds < stored.count && news < replayed.count else { return nil }
        var places: [[UInt8]: Int] = [:]
        for old in (0..<min(olds + 1, stored.count)).reversed() { places[stored[old].bytes] = old }
        var nearest: (stored: Int, replayed: Int)?
        for new in 0..<min(news + 1, replayed.count) {
            guard let old = places[replayed[new].bytes] else { continue }
            if nearest.map({ old + new < $0.stored + $0.replayed }) ?? true { nearest = (old, new) }
        }
        return nearest ?? (max(olds, 1), max(news, 1))
    }

    /// Counts so many lines as different, because of an erasure; the first that none explains is a
    /// difference.
    private mutating func skip(_ olds: Int, _ news: Int) {
        for place in 0..<max(olds, news) {
            let old = place < olds ? stored.popFirst() : nil
            let new = place < news ? replayed.popFirst() : nil
            let found = Difference(
                turn: old?.turn ?? turn, stored: old?.bytes, replayed: new?.bytes)
            guard [old, new].allSatisfy({ $0.map(mayDependOnOthers) ?? true }) else {
                difference = found
                return
            }
            erasedDifference = erasedDifference ?? found
            erasedDifferences += 1
        }
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

    /// The kind of a line; nil if it has none of these.
    fileprivate init?(line: [UInt8]) {
        // Behind the time, which is always as long: `{"at":"2026-11-21T03:00:05.120Z","kind":"`.
        let word = line.dropFirst(41).prefix { $0 != UInt8(ascii: "\"") }
        let named = Self.allCases.first { "\($0.lineWord)".utf8.elementsEqual(word) }
        guard let named else { return nil }
        self = named
    }

    /// The kind as a line says it.
    private var lineWord: StaticString {
        switch self {
        case .transition: "status"
        case .gap: "gap"
        case .alert: "alert"
        case .nudge: "nudge"
        case .blind: "blind"
        case .skew: "skew"
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

        /// True if it may say something else where somebody is missing whom it is not about: of a gap
        /// those who fell silent together.
        var mayDependOnOthers: Bool {
            switch kind {
            case .gap: has("\"group\"") || has("mass_gap") || has("\"by_rule\"")
            case .alert, .nudge: true
            case .transition, .blind, .skew, nil: false
            }
        }

        /// A gap's line names it by whose it is, by their last contact while it is open, and by when it
        /// opened once it is closed.
        var gaps: [UInt64] {
            guard let person = bytes.firstRange(of: Array(",\"state\":".utf8))?.lowerBound else {
                return []
            }
            let words: [StaticString] = ["\"last_contact_at\":\"", "\"opened_at\":\""]
            return words.compactMap { word in
                guard let begin = bytes.firstRange(of: Array("\(word)".utf8)) else { return nil }
                // Behind the time of the line, which is another in each.
                let end = min(begin.upperBound + 24, bytes.count)
                let name = bytes[min(33, person)..<person] + bytes[begin.lowerBound..<end]
                return StableHash.of(Array(name).span, 0..<name.count)
            }
        }

        private func has(_ word: StaticString) -> Bool {
            bytes.firstRange(of: Array("\(word)".utf8)) != nil
        }
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
