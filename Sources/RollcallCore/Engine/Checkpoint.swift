/// The engine's state at exactly one turn, to be written in slices while the engine goes on.
///
/// It holds on to the pages of people as they were; a page that changes meanwhile is copied. Slice 0
/// is the head: everything that is small. The names follow, then the people with what stands beside
/// them, some thousands a slice. Source: design §1 J5.
package struct Checkpoint: Sendable {
    /// Pages a slice: about 1000 people, a millisecond or two of work.
    private static let pagesASlice = 4
    /// People a slice.
    static var peopleASlice: Int { pagesASlice * Roster.pageSize }
    /// Names a slice.
    private static let namesASlice = 2048

    private let head: [UInt8]
    private let names: [(table: NameTableKind, names: ArraySlice<[UInt8]>)]
    private let pages: [ContiguousArray<Responder>]
    private let idBytes: [UInt8]
    private let tables: PersonTables

    /// The state of `engine`, between two instants.
    package init(_ engine: Engine) {
        var head = CheckpointHead(engine)
        var archive = Archive()
        head.code(&archive)
        self.head = archive.bytes
        names = NameTableKind.allCases.flatMap { table in
            let names = engine[table].names
            return stride(from: 1, to: names.count, by: Self.namesASlice).map {
                (table, names[$0..<min($0 + Self.namesASlice, names.count)])
            }
        }
        (pages, idBytes) = engine.roster.image
        tables = PersonTables(engine)
    }

    /// Number of slices.
    package var sliceCount: Int {
        1 + names.count + (pages.count + Self.pagesASlice - 1) / Self.pagesASlice
    }

    /// The bytes of slice `index`.
    package func slice(_ index: Int) -> [UInt8] {
        guard index > 0 else { return head }
        if index <= names.count {
            let (table, names) = names[index - 1]
            return NamesSlice(table: table, first: names.startIndex, names: Array(names)).bytes
        }
        let first = (index - 1 - names.count) * Self.pagesASlice
        var slice = PeopleSlice(first: first * Roster.pageSize)
        var number = slice.first
        for page in pages[first..<min(first + Self.pagesASlice, pages.count)] {
            for person in page {
                let start = Int(person.idOffset)
                let id = idBytes[start..<(start + Int(person.idCount))]
                slice.append(person, id, tables.extras(number))
                number += 1
            }
        }
        return slice.bytes
    }
}

/// Puts an engine together from a checkpoint's slices, one after the other.
package struct CheckpointReader {
    private let version: Int64
    private var engine: Engine?
    private var isDamaged = false

    /// A reader of slices that an engine of `version` wrote.
    package init(version: Int64 = Engine.version) { self.version = version }

    /// Takes the next slice; slice 0 first.
    package mutating func take(_ slice: [UInt8]) {
        guard !isDamaged else { return }
        // Out of the property meanwhile: two owners would make every change a copy.
        guard var engine = engine.take() else { return takeHead(slice) }
        if version == 1 {
            var archive = Archive(reading: slice, version: version)
            takePeople(&archive, into: &engine)
        } else if let names = NamesSlice(slice) {
            isDamaged = !engine.restore(names)
        } else if var people = PeopleSlice.reader(slice, version),
            people.first == engine.roster.count
        {
            takePeople(&people.archive, into: &engine)
        } else {
            isDamaged = true
        }
        self.engine = engine
    }

    private mutating func takeHead(_ slice: [UInt8]) {
        var archive = Archive(reading: slice, version: version)
        var head = CheckpointHead(Engine())
        head.code(&archive)
        isDamaged = archive.isDamaged || !archive.isAtEnd
        engine = head.engine
    }

    private mutating func takePeople(_ archive: inout Archive, into engine: inout Engine) {
        var extras = PersonExtras()
        var hasExtras = false
        while !archive.isAtEnd, !archive.isDamaged {
            let id = archive.range()
            var person = Responder()
            person.code(&archive)
            if version == 1 {
                extras = engine.extras(engine.roster.count)
                hasExtras = true
            } else {
                if hasExtras { extras = PersonExtras() }
                hasExtras = extras.code(&archive)
            }
            let isRestored =
                !archive.isDamaged
                && engine.restore(&person, archive.bytes.span, id, hasExtras ? extras : nil)
            if !isRestored { isDamaged = true }
        }
        isDamaged = isDamaged || archive.isDamaged
    }

    /// The engine; nil if no slice came or one was damaged.
    package func finish() -> Engine? {
        guard !isDamaged, var engine else { return nil }
        engine.sortRow()
        return engine
    }
}

extension Engine {
    /// What stands beside a person in the tables.
    fileprivate func extras(_ number: Int) -> PersonExtras { PersonTables(self).extras(number) }

    /// Puts names back; false if they are not the next ones.
    fileprivate mutating func restore(_ slice: NamesSlice) -> Bool {
        self[slice.table].restore(slice.names, from: slice.first)
    }

    /// Puts a person back under the next number; false if they name what is not there.
    fileprivate mutating func restore(
        _ person: inout Responder, _ bytes: Span<UInt8>, _ id: Range<Int>,
        _ extras: PersonExtras?
    ) -> Bool {
        guard regions.names.indices.contains(Int(person.region)),
            circles.names.indices.contains(Int(person.circles)),
            versions.names.indices.contains(Int(person.osVersion)),
            versions.names.indices.contains(Int(person.appVersion)), id.count < 256
        else { return false }
        person.hasGap = extras?.gap != nil
        person.hasNudges = extras?.nudges != nil
        if person.isActive, person.darkFrom == .distantFuture { startDark(&person) }
        arm(person, roster.count)
        let number = roster.enrol(bytes, id, as: person)
        if !id.isEmpty {
            tally.add(person, now: watch.watchedNow)
            useNames(person)
            joinCrowds(person, number)
        }
        if let extras { restore(extras, of: person, number) }
        return true
    }

    /// Puts back what stands beside a person.
    private mutating func restore(_ extras: PersonExtras, of person: Responder, _ number: Int) {
        ledgers.put(extras.ledger, at: number)
        pauses.put(extras.pausedUntil, at: number)
        adopted.put(extras.adoption, at: number)
        retired.put(extras.retiredAt, at: number)
        transitionIDs.put(extras.transitionIDs, at: number)
        pushTokens.put(extras.pushToken, at: number)
        gaps.put(extras.gap, at: number)
        queueDepths.put(extras.queueDepths, at: number)
        uncovered.put(extras.uncovered, at: number)
        flaps.put(extras.flapping, at: number)
        woken.put(extras.wokenAt, at: number)
        if let state = extras.nudges { restore(state, person, number) }
        if let flapping = extras.flapping {
            flapTimers.push(.init(at: flapping.armed, number: UInt32(number)))
        }
        if let due = extras.gap?.due { verdicts.push(.init(at: due, number: UInt32(number))) }
        if let entry = extras.uncovered, !entry.holes.isEmpty {
            holes.push(.init(at: entry.due, number: UInt32(number)))
        }
        if let until = extras.pausedUntil {
            pauseQueue.push(.init(at: until, number: UInt32(number)))
        }
    }
}
