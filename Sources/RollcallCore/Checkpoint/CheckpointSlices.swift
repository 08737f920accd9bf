/// The values that stand beside a person in the engine's tables.
struct PersonExtras: Sendable {
    var ledger: SequenceLedger?
    var pausedUntil: Timestamp?
    var adoption: Adoption?
    var retiredAt: ObservedTime?
    var transitionIDs: [UInt64]?
    var pushToken: [UInt8]?
    var gap: Gap?
    var queueDepths: QueueDepths?
    var uncovered: Uncovered?
    var flapping: Flapping?
    var nudges: NudgeState?
    var wokenAt: RunningTime?
    var captures: CaptureLedger?
    /// Written with the person.
    var factOverflow: FactTable?

    /// The values that are there, a bit each.
    private var flags: UInt16 {
        (ledger == nil ? 0 : 1) | (pausedUntil == nil ? 0 : 2) | (adoption == nil ? 0 : 4)
            | (retiredAt == nil ? 0 : 8) | (transitionIDs == nil ? 0 : 16)
            | (pushToken == nil ? 0 : 32) | (gap == nil ? 0 : 64)
            | (queueDepths == nil ? 0 : 128) | (uncovered == nil ? 0 : 256)
            | (flapping == nil ? 0 : 512) | (nudges == nil ? 0 : 1024)
            | (wokenAt == nil ? 0 : 2048) | (captures == nil ? 0 : 1 << 13)
            | (nudges?.isAskedFor == true ? 1 << 14 : 0)
    }

    /// True if any is there that is not written with the person.
    var isAny: Bool { flags != 0 }

    /// True if any is there at all.
    var isThere: Bool { isAny || factOverflow != nil }

    /// Most people have none of it: one byte. True if there is any.
    @discardableResult
    mutating func code(_ archive: inout Archive) -> Bool {
        // Telling which are there takes longer than reading that none is.
        var flags = archive.isReading ? 0 : flags
        archive.code(&flags)
        if flags == 0 { return false }
        func has(_ bit: Int) -> Bool { flags >> bit & 1 == 1 }
        if has(0) { archive.code(some: &ledger, empty: SequenceLedger()) { $1.code(&$0) } }
        if has(1) { archive.code(some: &pausedUntil, empty: .distantPast) { $0.code(&$1) } }
        if has(2) { archive.code(some: &adoption, empty: Adoption()) { $1.code(&$0) } }
        if has(3) { archive.code(some: &retiredAt, empty: .distantPast) { $0.code(&$1) } }
        if has(4) {
            archive.code(some: &transitionIDs, empty: []) { archive, ids in
                archive.code(&ids, empty: 0) { $0.code(&$1) }
            }
        }
        if has(5) { archive.code(some: &pushToken, empty: []) { $0.code(&$1) } }
        if has(6) { archive.code(some: &gap, empty: Gap()) { $1.code(&$0) } }
        if has(7) { archive.code(some: &queueDepths, empty: QueueDepths()) { $1.code(&$0) } }
        if has(8) { archive.code(some: &uncovered, empty: Uncovered()) { $1.code(&$0) } }
        if has(9) { archive.code(some: &flapping, empty: Flapping()) { $1.code(&$0) } }
        if has(10) { archive.code(some: &nudges, empty: NudgeState()) { $1.code(&$0) } }
        if has(11) { archive.code(some: &wokenAt, empty: .distantPast) { $0.code(&$1) } }
        if has(14) {
            var state = nudges ?? NudgeState()
            state.codeAsks(&archive)
            nudges = state
        }
        if has(13) { archive.code(some: &captures, empty: CaptureLedger()) { $1.code(&$0) } }
        return true
    }
}

/// The engine's tables of what few people have, as they were at one instant.
struct PersonTables: Sendable {
    private let ledgers: SideTable<SequenceLedger>
    private let pauses: SideTable<Timestamp>
    private let adopted: SideTable<Adoption>
    private let retired: SideTable<ObservedTime>
    private let transitionIDs: SideTable<[UInt64]>
    private let pushTokens: SideTable<[UInt8]>
    private let gaps: SideTable<Gap>
    private let queueDepths: SideTable<QueueDepths>
    private let uncovered: SideTable<Uncovered>
    private let flaps: SideTable<Flapping>
    private let nudgeStates: SideTable<NudgeState>
    private let woken: SideTable<RunningTime>
    private let captures: SideTable<CaptureLedger>
    private let factOverflows: SideTable<FactTable>

    init(_ engine: Engine) {
        ledgers = engine.ledgers
        pauses = engine.liveness.pauses
        adopted = engine.liveness.adopted
        retired = engine.liveness.retired
        transitionIDs = engine.liveness.transitionIDs
        pushTokens = engine.nudges.tokens
        gaps = engine.gaps.byNumber
        queueDepths = engine.gaps.queueDepths
        uncovered = engine.gaps.dark.uncoveredByNumber
        flaps = engine.alerting.flapsByNumber
        nudgeStates = engine.nudges.states
        woken = engine.nudges.woken
        captures = engine.captures
        factOverflows = engine.factOverflows
    }

    /// Returns the values that stand beside one person.
    func extras(_ number: Int) -> PersonExtras {
        PersonExtras(
            ledger: ledgers[number], pausedUntil: pauses[number], adoption: adopted[number],
            retiredAt: retired[number], transitionIDs: transitionIDs[number],
            pushToken: pushTokens[number], gap: gaps[number], queueDepths: queueDepths[number],
            uncovered: uncovered[number], flapping: flaps[number],
            nudges: nudgeStates[number], wokenAt: woken[number], captures: captures[number],
            factOverflow: factOverflows[number]
        )
    }
}

extension PersonExtras {
    /// Puts the range of a person who cannot keep it into a ledger; of one who has a ledger, it says
    /// nothing.
    mutating func takeLedger(of person: inout Responder, _ range: ClosedRange<Int64>) {
        guard !person.hasLedger else { return }
        ledger = SequenceLedger(of: person, range)
        person.hasLedger = true
    }
}

/// A slice of one table's names.
struct NamesSlice {
    private static let tag: UInt8 = 1

    var table: NameTableKind
    /// Number of the first name.
    var first: Int
    var names: [[UInt8]]

    /// A slice of what is given.
    init(table: NameTableKind, first: Int, names: [[UInt8]]) {
        self.table = table
        self.first = first
        self.names = names
    }

    /// Reads a slice; nil if it is another kind of slice, or damaged.
    init?(_ bytes: [UInt8]) {
        self.init(table: .regions, first: 0, names: [])
        guard bytes.first == Self.tag else { return nil }
        var archive = Archive(reading: bytes, from: 1)
        code(&archive)
        if archive.isDamaged || !archive.isAtEnd { return nil }
    }

    /// The slice as it is stored.
    var bytes: [UInt8] {
        var copy = self
        var archive = Archive()
        copy.code(&archive)
        return [Self.tag] + archive.bytes
    }

    private mutating func code(_ archive: inout Archive) {
        archive.code(&table)
        archive.code(&first)
        archive.code(&names)
    }
}

/// A slice of people, one after the other, each behind their id and before their extras.
struct PeopleSlice {
    fileprivate static let tag: UInt8 = 3

    /// Number of the first person.
    let first: Int
    private var archive = Archive()
    private var packing = PersonPacking()

    /// An empty slice that begins with person `first`.
    init(first: Int) {
        self.first = first
        var number = first
        archive.reserve(Checkpoint.peopleASlice * 96)
        archive.code(&number)
    }

    /// The slice as it is stored.
    var bytes: [UInt8] { [Self.tag] + archive.bytes }

    /// Adds the next person.
    mutating func append(_ person: Responder, _ id: ArraySlice<UInt8>, _ extras: PersonExtras) {
        var (person, extras) = (person, extras)
        archive.append(id)
        let hasExtras = extras.isAny
        _ = packing.code(&person, &extras.factOverflow, hasExtras: hasExtras, &archive)
        if hasExtras { extras.code(&archive) }
    }
}

/// Reads the people of a slice, one after the other.
struct PeopleReader {
    /// The tag of slices from before people were packed.
    private static let plainTag: UInt8 = 2

    /// Number of the first person.
    let first: Int
    private var archive: Archive
    private var packing = PersonPacking()
    private let isPlain: Bool

    /// A reader of a slice that an engine of `version` wrote; nil if it is another kind of slice.
    init?(_ bytes: [UInt8], _ version: Int64) {
        isPlain = bytes.first == Self.plainTag
        guard isPlain || bytes.first == PeopleSlice.tag else { return nil }
        archive = Archive(reading: bytes, from: 1, version: version)
        var first = 0
        archive.code(&first)
        self.first = first
        if archive.isDamaged { return nil }
    }

    /// True once everybody was read.
    var isAtEnd: Bool { archive.isAtEnd }

    /// Reads the next person, whose id stands in the slice where they say, and what stands beside them,
    /// nil for nothing; false for damage.
    mutating func next(_ person: inout Responder, _ extras: inout PersonExtras?) -> Bool {
        extras = nil
        guard archive.codeID(of: &person) else { return false }
        var overflow: FactTable?
        var hasExtras = true
        var wide: ClosedRange<Int64>?
        if isPlain {
            wide = person.code(&archive, &overflow)
        } else {
            hasExtras = packing.code(&person, &overflow, hasExtras: false, &archive)
            wide = packing.wideRange
        }
        guard hasExtras || overflow != nil || wide != nil else { return !archive.isDamaged }
        var beside = PersonExtras()
        hasExtras = hasExtras && beside.code(&archive)
        beside.factOverflow = overflow
        if let wide { beside.takeLedger(of: &person, wide) }
        if hasExtras || overflow != nil || wide != nil { extras = beside }
        return !archive.isDamaged
    }
}

extension Checkpoint {
    /// A stored slice without some people, and without the names that nobody has in `engine` any
    /// more, in alerts too; nil if it holds neither, or cannot be read. Of regions only those of
    /// `erased` go: an alert tells of which it was.
    package static func slice(
        _ slice: [UInt8], without people: Set<Int>, of erased: ErasedRegions, as engine: Engine
    ) -> [UInt8]? {
        if var names = NamesSlice(slice) {
            let known = engine.people[names.table]
            var isChanged = false
            for (index, name) in names.names.enumerated()
            where !name.isEmpty && known.known(name) == nil
                && (names.table != .regions || erased.contains(name))
            {
                names.names[index] = []
                isChanged = true
            }
            return isChanged ? names.bytes : nil
        }
        guard let reader = PeopleReader(slice, Engine.version) else {
            return CheckpointHead.bytes(slice, forgetting: erased, as: engine)
        }
        return PeopleSlice.copy(slice, reader, without: people)
    }

    /// Returns the number of the first person of a stored slice; nil for another kind of slice.
    package static func firstPerson(ofSlice slice: [UInt8]) -> Int? {
        PeopleReader(slice, Engine.version)?.first
    }
}

extension PeopleSlice {
    /// The people of a slice, with nobody in the places of some; nil if they are not there.
    fileprivate static func copy(
        _ slice: [UInt8], _ reader: PeopleReader, without people: Set<Int>
    ) -> [UInt8]? {
        var reader = reader
        var copy = PeopleSlice(first: reader.first)
        var number = reader.first
        var isChanged = false
        while !reader.isAtEnd {
            var person = Responder()
            var extras: PersonExtras?
            guard reader.next(&person, &extras) else { return nil }
            let id = slice[person.idRange]
            if people.contains(number), !id.isEmpty {
                copy.append(Responder(), [], PersonExtras())
                isChanged = true
            } else {
                copy.append(person, id, extras ?? PersonExtras())
            }
            number += 1
        }
        return isChanged ? copy.bytes : nil
    }
}
