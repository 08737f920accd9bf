/// A slice of a checkpoint, taken apart. That needs nothing of other slices, so that several threads can do
/// it, each with some, while one puts them back in their order.
package struct CheckpointSlice: Sendable {
    fileprivate enum Content {
        case head([UInt8])
        case names(NamesSlice)
        case people
        /// People of version 1, who need the head.
        case peopleOfVersion1([UInt8])
        case damaged
    }

    fileprivate let content: Content
    /// Beside the content, so that it can be taken out: with two owners each page would be copied.
    fileprivate var people: PeopleBlock?

    /// Takes the slice of an index apart, which an engine of `version` wrote; that of 0 is the head.
    package init(_ bytes: [UInt8], at index: Int, version: Int64) {
        if index == 0 {
            content = .head(bytes)
        } else if version == 1 {
            content = .peopleOfVersion1(bytes)
        } else if let names = NamesSlice(bytes) {
            content = .names(names)
        } else {
            people = PeopleBlock(bytes, version)
            content = people == nil ? .damaged : .people
        }
    }
}

/// The people of a slice as the roster will hold them, and what stands beside those few who have
/// something: whoever puts them back copies nobody.
private struct PeopleBlock: Sendable {
    /// Number of the first person.
    let first: Int
    /// Their ids, one behind the other: each says where in these theirs stands.
    private(set) var ids: [UInt8] = []
    /// The hashes by which they are found; nil for an erased one.
    private(set) var hashes: [Int?] = []
    private var pages: [ContiguousArray<Responder>] = []
    /// In the people's order, each with their place.
    private(set) var extras: [(place: Int, extras: PersonExtras)] = []

    /// Nobody yet.
    init(first: Int) { self.first = first }

    /// Nil for another kind of slice, and for a damaged one.
    init?(_ bytes: [UInt8], _ version: Int64) {
        guard var reader = PeopleReader(bytes, version) else { return nil }
        self.init(first: reader.first)
        hashes.reserveCapacity(Checkpoint.peopleASlice)
        ids.reserveCapacity(Checkpoint.peopleASlice * 16)
        while !reader.isAtEnd {
            var page = Roster.emptyPage
            while page.count < Roster.pageSize, !reader.isAtEnd {
                // In place: a person's copy costs as much as reading them.
                page.append(Responder())
                let place = page.count - 1
                var beside: PersonExtras?
                guard reader.next(&page[place], &beside), take(&page[place], beside, bytes.span)
                else { return nil }
            }
            pages.append(page)
        }
    }

    /// Adds the next person, whose id stands in `bytes` where they say; false if it cannot.
    mutating func append(
        _ person: consuming Responder, _ beside: PersonExtras, _ bytes: Span<UInt8>
    ) -> Bool {
        guard take(&person, beside.isThere ? beside : nil, bytes) else { return false }
        if pages.last.map({ $0.count == Roster.pageSize }) ?? true {
            pages.append(Roster.emptyPage)
        }
        pages[pages.count - 1].append(person)
        return true
    }

    /// Gives the pages away, in order, to whoever will own them.
    mutating func takePages() -> [ContiguousArray<Responder>] {
        var taken: [ContiguousArray<Responder>] = []
        swap(&taken, &pages)
        return taken
    }

    /// Takes a person's id, and what stands beside them; false if there is no place for it.
    private mutating func take(
        _ person: inout Responder, _ beside: PersonExtras?, _ bytes: Span<UInt8>
    ) -> Bool {
        let range = person.idRange
        guard let offset = UInt32(exactly: ids.count) else { return false }
        person.idOffset = offset
        let id = bytes.extracting(range)
        id.withUnsafeBufferPointer { ids.append(contentsOf: $0) }
        person.hasGap = beside?.gap != nil
        person.hasNudges = beside?.nudges != nil
        if let beside { extras.append((hashes.count, beside)) }
        hashes.append(range.isEmpty ? nil : NumberSlots.hash(id.bytes))
        return true
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
    /// Slices that were taken.
    private var count = 0
    private var engine: Engine?
    private var isDamaged = false

    /// A reader of slices that an engine of `version` wrote.
    package init(version: Int64 = Engine.version) { self.version = version }

    /// Takes the next slice; slice 0 first.
    package mutating func take(_ bytes: [UInt8]) {
        take(CheckpointSlice(bytes, at: count, version: version))
    }

    /// Takes the next slice, which was taken apart already and is given away.
    package mutating func take(_ slice: consuming CheckpointSlice) {
        count += 1
        guard !isDamaged else { return }
        if case .head(let bytes) = slice.content { return takeHead(bytes) }
        // Out of the property meanwhile: two owners would make every change a copy.
        guard var engine = engine.take() else { return isDamaged = true }
        switch slice.content {
        case .head, .damaged: isDamaged = true
        case .names(let names): isDamaged = !engine.restore(names)
        case .people: isDamaged = !(slice.people.take().map { engine.restore($0) } ?? false)
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
        var block = PeopleBlock(first: engine.roster.count)
        let tables = PersonTables(engine)
        while !archive.isAtEnd, !isDamaged {
            var person = Responder()
            isDamaged = !archive.codeID(of: &person)
            var extras = tables.extras(block.first + block.hashes.count)
            if let wide = person.code(&archive, &extras.factOverflow) {
                extras.takeLedger(of: &person, wide)
            }
            isDamaged =
                isDamaged || archive.isDamaged || !block.append(person, extras, slice.span)
        }
        isDamaged = isDamaged || !engine.restore(block)
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
    fileprivate mutating func restore(_ block: consuming PeopleBlock) -> Bool {
        let before = roster.idBytesCount
        guard block.first == roster.count, before + block.ids.count <= UInt32.max else {
            return false
        }
        var number = block.first
        var pages = block.takePages()
        for index in pages.indices {
            // Out of the list meanwhile: with two owners it would be copied.
            var page: ContiguousArray<Responder> = []
            swap(&page, &pages[index])
            for place in page.indices {
                page[place].idOffset += UInt32(before)
                guard hasNames(of: page[place]) else { return false }
                if page[place].isActive, page[place].darkFrom == .distantFuture {
                    startDark(&page[place])
                }
                arm(page[place], number)
                if page[place].idCount > 0 { count(page[place], number) }
                number += 1
            }
            roster.append(page)
        }
        // Their places in the index lie far apart: one behind the other, many are looked up at once.
        roster.place(ids: block.ids, block.hashes, from: block.first)
        for (place, extras) in block.extras { restore(extras, block.first + place) }
        return true
    }

    /// True if all that a person names is there.
    private func hasNames(of person: Responder) -> Bool {
        let phone = person.phoneNames
        return regions.hasNumber(person.region) && circles.hasNumber(person.circles)
            && phone.indices.allSatisfy { versions.hasNumber(UInt32(phone[$0])) }
    }

    /// Counts a person who comes back under a number.
    private mutating func count(_ person: Responder, _ number: Int) {
        aggregates.add(person, now: clock.observedNow)
        people.useNames(person)
        people.joinGroups(person, number)
        awaitMissed(person, number)
    }

    /// Puts back what stands beside a person, who is back.
    private mutating func restore(_ extras: PersonExtras, _ number: Int) {
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
            let offline = policy.thresholds(roster[number]).offline
            let seesAgainAt = clock.isBlind ? nil : nudges.seesAgainFrom(offline: offline)
            nudges.restore(state, number, seesAgainAt: seesAgainAt)
        }
    }
}
