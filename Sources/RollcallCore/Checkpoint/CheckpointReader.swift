/// A slice of a checkpoint, taken apart. That needs nothing of the slices before it, so that one
/// thread can do it while another one puts those back.
package struct CheckpointSlice: Sendable {
    fileprivate enum Content {
        case head([UInt8])
        case names(NamesSlice)
        case people(PeopleBlock)
        /// People of version 1, who need the head.
        case peopleOfVersion1([UInt8])
        case damaged
    }

    fileprivate let content: Content

    /// The slice whose bytes an engine of `version` wrote; the first one is the head.
    package init(_ bytes: [UInt8], isFirst: Bool, version: Int64) {
        if isFirst {
            content = .head(bytes)
        } else if version == 1 {
            content = .peopleOfVersion1(bytes)
        } else if let names = NamesSlice(bytes) {
            content = .names(names)
        } else if let people = PeopleBlock(bytes, version) {
            content = .people(people)
        } else {
            content = .damaged
        }
    }
}

/// The people of a slice, and what stands beside those few who have something.
private struct PeopleBlock: Sendable {
    /// Number of the first person.
    let first: Int
    /// The bytes in which the people's ids stand.
    let bytes: [UInt8]
    private(set) var people = ContiguousArray<Responder>()
    /// In the people's order, each with their place.
    private(set) var extras: [(place: Int, extras: PersonExtras)] = []

    /// Nil for another kind of slice, and for a damaged one.
    init?(_ bytes: [UInt8], _ version: Int64) {
        guard var reader = PeopleReader(bytes, version) else { return nil }
        first = reader.first
        self.bytes = bytes
        people.reserveCapacity(Checkpoint.peopleASlice)
        while !reader.isAtEnd {
            var person = Responder()
            var beside: PersonExtras?
            guard reader.next(&person, &beside) else { return nil }
            if let beside { extras.append((people.count, beside)) }
            people.append(person)
        }
    }
}

extension Archive {
    /// Passes over an id, and notes where it stands; false if it cannot be one.
    mutating func codeID(of person: inout Responder) -> Bool {
        let range = range()
        guard let offset = UInt32(exactly: range.lowerBound),
            let count = UInt8(exactly: range.count)
        else { return false }
        (person.idOffset, person.idCount) = (offset, count)
        return !isDamaged
    }
}

extension Responder {
    /// The place of the id in the bytes that hold it.
    var idRange: Range<Int> { Int(idOffset)..<(Int(idOffset) + Int(idCount)) }
}

/// Puts an engine together from a checkpoint's slices, one after the other.
package struct CheckpointReader {
    private let version: Int64
    private var engine: Engine?
    private var isDamaged = false

    /// A reader of slices that an engine of `version` wrote.
    package init(version: Int64 = Engine.version) { self.version = version }

    /// Takes the next slice; slice 0 first.
    package mutating func take(_ bytes: [UInt8]) {
        take(CheckpointSlice(bytes, isFirst: engine == nil, version: version))
    }

    /// Takes the next slice, which was taken apart already.
    package mutating func take(_ slice: CheckpointSlice) {
        guard !isDamaged else { return }
        if case .head(let bytes) = slice.content { return takeHead(bytes) }
        // Out of the property meanwhile: two owners would make every change a copy.
        guard var engine = engine.take() else { return isDamaged = true }
        switch slice.content {
        case .head, .damaged: isDamaged = true
        case .names(let names): isDamaged = !engine.restore(names)
        case .people(let block): isDamaged = !engine.restore(block)
        case .peopleOfVersion1(let bytes): takePeopleOfVersion1(bytes, into: &engine)
        }
        self.engine = engine
    }

    private mutating func takeHead(_ slice: [UInt8]) {
        var archive = Archive(reading: slice, version: version)
        var head = CheckpointHead(Engine())
        head.code(&archive)
        isDamaged = engine != nil || archive.isDamaged || !archive.isAtEnd
        // Room only: what is said to come must come.
        head.engine.roster.reserve(min(max(0, head.people), 5_000_000))
        engine = head.engine
    }

    private mutating func takePeopleOfVersion1(_ slice: [UInt8], into engine: inout Engine) {
        var archive = Archive(reading: slice, version: 1)
        while !archive.isAtEnd, !isDamaged {
            var person = Responder()
            isDamaged = !archive.codeID(of: &person)
            var extras = PersonTables(engine).extras(engine.roster.count)
            if let wide = person.code(&archive, &extras.factOverflow) {
                extras.takeLedger(of: &person, wide)
            }
            isDamaged =
                isDamaged || archive.isDamaged || !engine.restore(&person, slice.span, extras)
        }
    }

    /// The engine; nil if no slice came or one was damaged.
    package func finish() -> Engine? {
        guard !isDamaged, var engine else { return nil }
        engine.restoreNames(version)
        engine.nudges.sortRow(engine.roster)
        return engine
    }
}

extension Engine {
    /// Puts names back; false if they are not the next ones.
    fileprivate mutating func restore(_ slice: NamesSlice) -> Bool {
        people[slice.table].restore(slice.names, from: slice.first)
    }

    /// Puts people back; false if they are not the next ones, or name what is not there.
    fileprivate mutating func restore(_ block: PeopleBlock) -> Bool {
        guard block.first == roster.count else { return false }
        var extras = block.extras[...]
        for place in block.people.indices {
            var person = block.people[place]
            let beside = extras.first?.place == place ? extras.popFirst()?.extras : nil
            guard restore(&person, block.bytes.span, beside) else { return false }
        }
        return true
    }

    /// Puts a person back under the next number, whose id stands in `bytes` where they say; false if
    /// they name what is not there.
    fileprivate mutating func restore(
        _ person: inout Responder, _ bytes: Span<UInt8>, _ extras: PersonExtras?
    ) -> Bool {
        let id = person.idRange
        let phone = person.phoneNames
        guard regions.hasNumber(person.region), circles.hasNumber(person.circles),
            phone.indices.allSatisfy({ versions.hasNumber(UInt32(phone[$0])) })
        else { return false }
        person.hasGap = extras?.gap != nil
        person.hasNudges = extras?.nudges != nil
        if person.isActive, person.darkFrom == .distantFuture { startDark(&person) }
        arm(person, roster.count)
        let number = roster.enrol(bytes, id, as: person)
        if !id.isEmpty {
            aggregates.add(person, now: clock.observedNow)
            people.useNames(person)
            people.joinGroups(person, number)
            awaitMissed(number)
        }
        if let extras { restore(extras, of: person, number) }
        return true
    }

    /// Puts back what stands beside a person.
    private mutating func restore(_ extras: PersonExtras, of person: Responder, _ number: Int) {
        ledgers.put(extras.ledger, at: number)
        captures.put(extras.captures, at: number)
        liveness.restore(pausedUntil: extras.pausedUntil, number)
        liveness.adopted.put(extras.adoption, at: number)
        liveness.retired.put(extras.retiredAt, at: number)
        factOverflows.put(extras.factOverflow, at: number)
        liveness.transitionIDs.put(extras.transitionIDs, at: number)
        nudges.tokens.put(extras.pushToken, at: number)
        if let gap = extras.gap { gaps.restore(gap, number, &people) }
        gaps.queueDepths.put(extras.queueDepths, at: number)
        gaps.dark.restore(extras.uncovered, number)
        alerting.restore(extras.flapping, number)
        nudges.woken.put(extras.wokenAt, at: number)
        if let state = extras.nudges {
            let offline = policy.thresholds(person).offline
            let seesAgainAt = clock.isBlind ? nil : nudges.seesAgainFrom(offline: offline)
            nudges.restore(state, number, seesAgainAt: seesAgainAt)
        }
    }
}
