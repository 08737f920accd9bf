/// Facts about a person that have a time of their own, each two bits apart. Source: fine print F15.
struct FactSet: OptionSet, Sendable {
    var rawValue: UInt32

    static let duty = FactSet(at: 0)
    static let region = FactSet(at: 1)
    static let circles = FactSet(at: 2)
    static let sharing = FactSet(at: 3)
    static let platform = FactSet(at: 4)
    static let versions = FactSet(at: 5)
    static let battery = FactSet(at: 6)
    static let telemetry = FactSet(at: 7)
    /// What the backend last told of the duty state, for its 60 s of precedence.
    static let dutyByBackend = FactSet(at: 8)
    static let all = FactSet(rawValue: 0x15555)

    /// Number of facts.
    static let count = 9

    init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The fact at a place below `count`.
    init(at place: Int) { rawValue = 1 << UInt32(place * 2) }

    /// The place of the first of them; for sets that are not empty.
    var place: Int { rawValue.trailingZeroBitCount / 2 }
}

/// When a fact was told: for which instant, and by which batch, to decide between two that tell for
/// the same instant. Source: design §3 I2.
struct FactTime: Equatable, Sendable {
    /// Marks a sequence of which only the low bits are kept.
    private static let large: UInt32 = 1 << 31

    var at = WatchedTime.distantPast
    /// The highest sequence of the batch + 1, or its low bits behind the mark; 0 for what was told
    /// without one.
    ///
    /// A sequence below 2³¹ is kept as it is; of a larger one, such as a time in milliseconds, the
    /// low 31 bits, which are compared around the clock as TCP does: two such batches received in
    /// the same millisecond are not a thousand million updates apart.
    var sequence: UInt32 = 0

    /// What nobody told.
    init() {}

    init(at: WatchedTime, sequence: UInt32) {
        self.at = at
        self.sequence = sequence
    }

    /// What a batch, or the backend, told for an instant; nil and −1 are no sequence.
    init(at: WatchedTime, by sequence: Int64?) {
        self.at = at
        guard let sequence, sequence >= 0 else { return }
        let next = UInt64(bitPattern: sequence) + 1
        self.sequence =
            next < UInt64(Self.large) ? UInt32(next) : UInt32(truncatingIfNeeded: next) | Self.large
    }

    /// True if this is news after what was told at `old`. Ties go to the higher sequence, else to
    /// what comes later.
    func isNews(after old: FactTime) -> Bool {
        if at != old.at { return at > old.at }
        guard sequence != 0, old.sequence != 0 else { return true }
        guard sequence & old.sequence & Self.large != 0 else { return sequence >= old.sequence }
        return Int32(bitPattern: (sequence &- old.sequence) << 1) >= 0
    }
}

/// When each fact was told, one by one: for the few whose facts were told at more times than
/// `FactTimes` has room for.
struct FactTable: Equatable, Sendable {
    private var times = InlineArray<9, FactTime>(repeating: FactTime())

    /// When the fact at a place was told.
    subscript(place: Int) -> FactTime {
        get { times[place] }
        set { times[place] = newValue }
    }

    /// True if it knows of none.
    var isEmpty: Bool { (0..<FactSet.count).allSatisfy { times[$0] == FactTime() } }

    /// Watched time was set back (B1).
    mutating func clampInstants(to now: WatchedTime) {
        for place in 0..<FactSet.count { times[place].at = min(times[place].at, now) }
    }

    static func == (a: FactTable, b: FactTable) -> Bool {
        (0..<FactSet.count).allSatisfy { a[$0] == b[$0] }
    }
}

/// When each fact about a person was last told: what is older does not change it.
///
/// Most of them are told together, with every batch, the others when somebody is enrolled. So three
/// times are kept, and for each fact which of them is its own; who needs more has a table aside, in
/// which the oldest stand.
struct FactTimes: Sendable {
    private static let slots = 3
    /// Set if there is a table aside.
    private static let asideMark: UInt32 = 1 << 31

    private var sequences = InlineArray<3, UInt32>(repeating: 0)
    /// A fact's slot + 1 in two bits; 0 if it stands aside or was never told.
    private var slotOfFact: UInt32 = 0
    private var instants = InlineArray<3, CompactInstant<WatchedTime>>(
        repeating: CompactInstant(wrappedValue: .distantPast))

    /// True if some facts stand in a table aside.
    var hasAside: Bool { slotOfFact & Self.asideMark != 0 }

    /// When a fact was told.
    func time(_ fact: FactSet, _ aside: FactTable?) -> FactTime {
        let slot = Int(slotOfFact >> UInt32(fact.place * 2) & 3)
        if slot > 0 { return self[slot - 1] }
        return aside?[fact.place] ?? FactTime()
    }

    /// The facts that are news if they are told at `time`.
    func news(_ time: FactTime, _ aside: FactTable?) -> FactSet {
        var news = facts(0)
        if let aside {
            for place in 0..<FactSet.count where !time.isNews(after: aside[place]) {
                news.remove(FactSet(at: place))
            }
        }
        for slot in 0..<Self.slots where time.isNews(after: self[slot]) {
            news.formUnion(facts(slot + 1))
        }
        return news
    }

    /// Facts are told at `time`.
    mutating func tell(_ facts: FactSet, _ time: FactTime, _ aside: inout FactTable?) {
        guard !facts.isEmpty else { return }
        slotOfFact &= ~(facts.rawValue * 3)
        if hasAside { write(facts, FactTime(), &aside) }
        guard CompactInstant.holds(time.at) else { return write(facts, time, &aside) }
        let slot = slot(for: time) ?? makeRoom(&aside)
        sequences[slot] = time.sequence
        instants[slot].wrappedValue = time.at
        slotOfFact |= facts.rawValue * UInt32(slot + 1)
    }

    /// Watched time was set back (B1).
    mutating func clampInstants(to now: WatchedTime) {
        for slot in 0..<Self.slots { instants[slot].wrappedValue = min(self[slot].at, now) }
    }

    private subscript(slot: Int) -> FactTime {
        FactTime(at: instants[slot].wrappedValue, sequence: sequences[slot])
    }

    /// The facts whose two bits are `value`.
    private func facts(_ value: Int) -> FactSet {
        let other = slotOfFact ^ FactSet.all.rawValue * UInt32(value)
        return FactSet(rawValue: ~(other | other >> 1)).intersection(.all)
    }

    /// The slot that holds `time`, or one that holds nothing.
    private func slot(for time: FactTime) -> Int? {
        var free: Int?
        for slot in 0..<Self.slots {
            if facts(slot + 1).isEmpty {
                free = free ?? slot
            } else if self[slot] == time {
                return slot
            }
        }
        return free
    }

    /// Puts aside what the oldest slot holds.
    private mutating func makeRoom(_ aside: inout FactTable?) -> Int {
        var oldest = 0
        for slot in 1..<Self.slots where self[slot].at < self[oldest].at { oldest = slot }
        let facts = facts(oldest + 1)
        slotOfFact &= ~(facts.rawValue * 3)
        write(facts, self[oldest], &aside)
        return oldest
    }

    /// Writes a time for facts aside; a table that knows of none is none.
    private mutating func write(_ facts: FactSet, _ time: FactTime, _ aside: inout FactTable?) {
        var table = aside ?? FactTable()
        var rest = facts
        while !rest.isEmpty {
            table[rest.place] = time
            rest.remove(FactSet(at: rest.place))
        }
        aside = table.isEmpty ? nil : table
        slotOfFact = slotOfFact & ~Self.asideMark | (aside == nil ? 0 : Self.asideMark)
    }

    // MARK: - Checkpoints

    /// All of them, one by one.
    func table(_ aside: FactTable?) -> FactTable {
        var table = aside ?? FactTable()
        for slot in 0..<Self.slots {
            var rest = facts(slot + 1)
            while !rest.isEmpty {
                table[rest.place] = self[slot]
                rest.remove(FactSet(at: rest.place))
            }
        }
        return table
    }

    /// The same as `table`, and what of it stands aside.
    init(_ table: FactTable, _ aside: inout FactTable?) {
        aside = nil
        var rest = FactSet.all
        while !rest.isEmpty {
            let time = table[rest.place]
            var facts = FactSet()
            for place in rest.place..<FactSet.count where table[place] == time {
                facts.insert(FactSet(at: place))
            }
            if time != FactTime() { tell(facts, time, &aside) }
            rest.subtract(facts)
        }
    }

    /// What was told of nobody.
    init() {}
}
