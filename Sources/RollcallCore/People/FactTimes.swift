/// Facts about a person that have a time of their own, each two bits apart. Source: F15.
struct FactSet: OptionSet, Sendable {
    var rawValue: UInt32

    static var duty: FactSet { FactSet(at: 0) }
    static var region: FactSet { FactSet(at: 1) }
    static var circles: FactSet { FactSet(at: 2) }
    static var sharing: FactSet { FactSet(at: 3) }
    static var platform: FactSet { FactSet(at: 4) }
    static var versions: FactSet { FactSet(at: 5) }
    static var battery: FactSet { FactSet(at: 6) }
    static var telemetry: FactSet { FactSet(at: 7) }
    /// The duty state that the backend last told, for its 60 s of precedence.
    static var dutyByBackend: FactSet { FactSet(at: 8) }
    static var all: FactSet { FactSet(rawValue: allBits) }
    /// The bits of `all`.
    static var allBits: UInt32 { 0x15555 }

    /// Number of facts.
    static let count = 9

    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The fact at a place below `count`.
    init(at place: Int) { rawValue = 1 << UInt32(place * 2) }

    /// The place of the first of them; for sets that are not empty.
    var place: Int { rawValue.trailingZeroBitCount / 2 }
}

/// The time of a fact: for which instant it was told, and by which batch, to decide between two
/// that tell for the same instant. Source: I2.
struct FactTime: Equatable, Sendable {
    /// Marks a sequence of which only the low bits are kept.
    private static let large: UInt32 = 1 << 31

    var at = ObservedTime.distantPast
    /// The highest sequence of the batch + 1, or its low bits behind the mark; 0 for what was told
    /// without one.
    ///
    /// A sequence below 2³¹ is kept as it is; of a larger one, such as a time in milliseconds, the
    /// low 31 bits, which are compared around the clock as TCP does: two such batches received in
    /// the same millisecond are not a thousand million updates apart.
    var sequence: UInt32 = 0

    /// The time of a fact that nobody told.
    init() {}

    init(at: ObservedTime, sequence: UInt32) {
        self.at = at
        self.sequence = sequence
    }

    /// The time of a fact that a batch, or the backend, told for an instant; nil and −1 are no
    /// sequence.
    init(at: ObservedTime, by sequence: Int64?) {
        self.at = at
        guard let sequence, sequence >= 0 else { return }
        let next = UInt64(bitPattern: sequence) + 1
        self.sequence =
            next < UInt64(Self.large) ? UInt32(next) : UInt32(truncatingIfNeeded: next) | Self.large
    }

    /// True if this is news after what was told at `old`. Ties go to the higher sequence, else to
    /// what comes later.
    @inline(__always)
    func isNews(after old: FactTime) -> Bool {
        if at != old.at { return at > old.at }
        guard sequence != 0, old.sequence != 0 else { return true }
        guard sequence & old.sequence & Self.large != 0 else { return sequence >= old.sequence }
        return Int32(bitPattern: (sequence &- old.sequence) << 1) >= 0
    }
}

/// The times of all facts, one by one: for the few whose facts were told at more times than
/// `FactTimes` has room for.
struct FactTable: Equatable, Sendable {
    private var times = InlineArray<9, FactTime>(repeating: FactTime())

    /// The time at which the fact at a place was told.
    subscript(place: Int) -> FactTime {
        get { times[place] }
        set { times[place] = newValue }
    }

    /// True if it knows of none.
    var isEmpty: Bool { (0..<FactSet.count).allSatisfy { times[$0] == FactTime() } }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        for place in 0..<FactSet.count { times[place].at = min(times[place].at, now) }
    }

    static func == (a: FactTable, b: FactTable) -> Bool {
        (0..<FactSet.count).allSatisfy { a[$0] == b[$0] }
    }
}

/// The times at which each fact about a person was last told: what is older does not change it.
///
/// Most of them are told together, with every batch, the others when somebody is enrolled. So three
/// times are kept, and for each fact which of them is its own; who needs more has an overflow
/// table, in which the oldest stand.
struct FactTimes: Sendable {
    private static let slots = 3
    /// Set if there is an overflow table.
    private static let overflowMark: UInt32 = 1 << 31
    /// The span that is added to an instant to make it a natural number: some 557 years.
    private static let bias: Int64 = 1 << 44

    private var sequences = InlineArray<3, UInt32>(repeating: 0)
    /// A fact's slot + 1 in two bits; 0 if it stands in the overflow or was never told.
    private var slotOfFact: UInt32 = 0
    private var instants = InlineArray<3, SixBytes>(repeating: SixBytes(truncating: 0))

    /// True if some facts stand in an overflow table.
    var hasOverflow: Bool { slotOfFact & Self.overflowMark != 0 }

    /// Returns when a fact was told; nil if it stands in the overflow or was never told.
    @inline(__always)
    func time(_ fact: FactSet) -> FactTime? {
        let slot = Int(slotOfFact >> UInt32(fact.place * 2) & 3)
        return slot > 0 ? self[slot - 1] : nil
    }

    /// The facts that are news if they are told at `time`, as if none stood in the overflow.
    @inline(__always)
    func news(_ time: FactTime) -> FactSet {
        var news = facts(0)
        for slot in 0..<Self.slots where time.isNews(after: self[slot]) {
            news.formUnion(facts(slot + 1))
        }
        return news
    }

    /// The facts that are news if they are told at `time`.
    func news(_ time: FactTime, _ overflow: FactTable?) -> FactSet {
        var news = news(time)
        guard let overflow else { return news }
        for place in 0..<FactSet.count where !time.isNews(after: overflow[place]) {
            news.remove(FactSet(at: place))
        }
        return news
    }

    /// Facts are told at `time`; false, and nothing has changed, if that takes an overflow table.
    @inline(__always)
    mutating func report(_ facts: FactSet, _ time: FactTime) -> Bool {
        if facts.isEmpty { return true }
        let before = slotOfFact
        slotOfFact &= ~(facts.rawValue &* 3)
        guard !hasOverflow, Self.holds(time.at), let slot = slot(for: time) else {
            slotOfFact = before
            return false
        }
        keep(facts, time, slot)
        return true
    }

    /// Facts are told at `time`.
    mutating func report(_ facts: FactSet, _ time: FactTime, _ overflow: inout FactTable?) {
        if report(facts, time) { return }
        slotOfFact &= ~(facts.rawValue &* 3)
        if hasOverflow { write(facts, FactTime(), &overflow) }
        guard Self.holds(time.at) else { return write(facts, time, &overflow) }
        keep(facts, time, slot(for: time) ?? makeRoom(&overflow))
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        for slot in 0..<Self.slots where self[slot].at > now { instants[slot] = Self.bytes(now) }
    }

    private subscript(slot: Int) -> FactTime {
        let at = Int64(bitPattern: instants[slot].number) &- Self.bias
        return FactTime(at: ObservedTime(milliseconds: at), sequence: sequences[slot])
    }

    /// True if six bytes hold an instant.
    private static func holds(_ time: ObservedTime) -> Bool {
        UInt64(bitPattern: time.milliseconds &+ bias) <= SixBytes.max
    }

    private static func bytes(_ time: ObservedTime) -> SixBytes {
        SixBytes(truncating: UInt64(bitPattern: time.milliseconds &+ bias))
    }

    @inline(__always)
    private mutating func keep(_ facts: FactSet, _ time: FactTime, _ slot: Int) {
        sequences[slot] = time.sequence
        instants[slot] = Self.bytes(time.at)
        slotOfFact |= facts.rawValue &* UInt32(truncatingIfNeeded: slot + 1)
    }

    /// The facts whose two bits are `value`.
    @inline(__always)
    private func facts(_ value: Int) -> FactSet {
        let other = slotOfFact ^ FactSet.allBits &* UInt32(truncatingIfNeeded: value)
        return FactSet(rawValue: ~(other | other >> 1) & FactSet.allBits)
    }

    /// The slot that holds `time`, or one that holds nothing.
    @inline(__always)
    private func slot(for time: FactTime) -> Int? {
        var free: Int?
        for slot in 0..<Self.slots {
            if facts(slot + 1).isEmpty {
                free = slot
            } else if self[slot] == time {
                return slot
            }
        }
        return free
    }

    /// Moves to the overflow what the oldest slot holds.
    private mutating func makeRoom(_ overflow: inout FactTable?) -> Int {
        var oldest = 0
        for slot in 1..<Self.slots where self[slot].at < self[oldest].at { oldest = slot }
        let facts = facts(oldest + 1)
        slotOfFact &= ~(facts.rawValue &* 3)
        write(facts, self[oldest], &overflow)
        return oldest
    }

    /// Writes a time for facts of the overflow; a table that knows of none is none.
    private mutating func write(_ facts: FactSet, _ time: FactTime, _ overflow: inout FactTable?) {
        var table = overflow ?? FactTable()
        var rest = facts
        while !rest.isEmpty {
            table[rest.place] = time
            rest.remove(FactSet(at: rest.place))
        }
        overflow = table.isEmpty ? nil : table
        slotOfFact = slotOfFact & ~Self.overflowMark | (overflow == nil ? 0 : Self.overflowMark)
    }

    // MARK: - Checkpoints

    /// All of them, one by one.
    func table(_ overflow: FactTable?) -> FactTable {
        var table = overflow ?? FactTable()
        for slot in 0..<Self.slots {
            var rest = facts(slot + 1)
            while !rest.isEmpty {
                table[rest.place] = self[slot]
                rest.remove(FactSet(at: rest.place))
            }
        }
        return table
    }

    /// The times of `table`, and those of it that stand in the overflow.
    init(_ table: FactTable, _ overflow: inout FactTable?) {
        overflow = nil
        var rest = FactSet.all
        while !rest.isEmpty {
            let time = table[rest.place]
            var facts = FactSet()
            for place in rest.place..<FactSet.count where table[place] == time {
                facts.insert(FactSet(at: place))
            }
            if time != FactTime() { report(facts, time, &overflow) }
            rest.subtract(facts)
        }
    }

    /// The times of a person of whom nothing was told.
    init() {}
}

extension SideTable<FactTable> {
    /// Returns when a fact about person `number`, who has these times, was last told.
    @inline(__always)
    func time(_ fact: FactSet, _ times: FactTimes, _ number: Int) -> FactTime {
        if let time = times.time(fact) { return time }
        guard times.hasOverflow else { return FactTime() }
        return self[number]?[fact.place] ?? FactTime()
    }
}
