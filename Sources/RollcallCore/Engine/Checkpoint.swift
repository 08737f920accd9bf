/// The engine's state at exactly one turn, to be written in slices while the engine goes on.
///
/// It holds on to the pages of people as they were; a page that changes meanwhile is copied. Slice
/// 0 is everything but the people, each further slice some thousands of them. Source: design §1 J5.
package struct Checkpoint: Sendable {
    /// Pages a slice: about 4000 people, some milliseconds of work.
    private static let pagesASlice = 16

    private let head: [UInt8]
    private let pages: [ContiguousArray<Responder>]
    private let idBytes: [UInt8]

    /// The state of `engine`, between two instants.
    package init(_ engine: Engine) {
        var copy = engine
        var archive = Archive()
        copy.code(&archive)
        head = archive.bytes
        (pages, idBytes) = engine.roster.image
    }

    /// Number of slices.
    package var sliceCount: Int {
        1 + (pages.count + Self.pagesASlice - 1) / Self.pagesASlice
    }

    /// The bytes of slice `index`.
    package func slice(_ index: Int) -> [UInt8] {
        guard index > 0 else { return head }
        var archive = Archive()
        let first = (index - 1) * Self.pagesASlice
        for page in pages[first..<min(first + Self.pagesASlice, pages.count)] {
            for var person in page {
                let start = Int(person.idOffset)
                var id = Array(idBytes[start..<(start + Int(person.idCount))])
                archive.code(&id)
                person.code(&archive)
            }
        }
        return archive.bytes
    }
}

/// Puts an engine together from a checkpoint's slices, one after the other.
package struct CheckpointReader {
    private var engine: Engine?
    private var isDamaged = false

    package init() {}

    /// Takes the next slice; slice 0 first.
    package mutating func take(_ slice: [UInt8]) {
        var archive = Archive(reading: slice)
        guard var engine else {
            var first = Engine()
            first.code(&archive)
            isDamaged = archive.isDamaged || !archive.isAtEnd
            self.engine = first
            return
        }
        self.engine = nil
        while !archive.isAtEnd, !archive.isDamaged {
            var id: [UInt8] = []
            archive.code(&id)
            var person = Responder()
            person.code(&archive)
            if !archive.isDamaged { engine.restore(person, id) }
        }
        isDamaged = isDamaged || archive.isDamaged
        self.engine = engine
    }

    /// The engine; nil if no slice came or one was damaged.
    package func finish() -> Engine? { isDamaged ? nil : engine }
}

extension Engine {
    /// Puts a person back under the next number.
    fileprivate mutating func restore(_ person: Responder, _ id: [UInt8]) {
        let number = roster.enrol(id.span, 0..<id.count)
        var person = person
        person.idOffset = roster[number].idOffset
        person.idCount = roster[number].idCount
        person.armed = .distantFuture
        arm(&person, number)
        roster[number] = person
        if !id.isEmpty { tally.add(person, now: watch.watchedNow) }
        if let until = pauses[number] {
            pauseQueue.push(.init(at: until, number: UInt32(number)))
        }
    }

    /// Everything but the people, their deadlines and what is counted from them.
    fileprivate mutating func code(_ archive: inout Archive) {
        policy.code(&archive)
        watch.code(&archive)
        feed.code(&archive)
        writes.code(&archive)
        declaredWorse.code(&archive)
        counters.code(&archive)
        regions.code(&archive)
        circles.code(&archive)
        versions.code(&archive)
        archive.code(&nextRow)
        archive.code(&nextDecision)
        archive.code(&isStoreFailing)
        archive.code(&hasBegun)
        archive.code(&ledgers, empty: SequenceLedger()) { $1.code(&$0) }
        archive.code(&pauses, empty: .distantPast) { $0.code(&$1) }
        archive.code(&adopted, empty: Adoption()) { archive, adoption in
            archive.code(&adoption.degradedAt)
            archive.code(&adoption.offlineAt)
        }
        archive.code(&retired, empty: .distantPast) { $0.code(&$1) }
        archive.code(&transitionIDs, empty: []) { archive, ids in
            archive.code(&ids, empty: 0) { $0.code(&$1) }
        }
        archive.code(&pushTokens, empty: []) { $0.code(&$1) }
        var hashes = erased.sorted()
        archive.code(&hashes, empty: 0) { $0.code(&$1) }
        erased = Set(hashes)
    }
}

extension Responder {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&duty)
        archive.code(&isDutyByBackend)
        archive.code(&sharing)
        archive.code(&platform)
        archive.code(&isRetired)
        archive.code(&isForgotten)
        archive.code(&isActive)
        archive.code(&isHeard)
        archive.code(&nudgeSound)
        archive.code(&battery)
        archive.code(&osVersion)
        archive.code(&appVersion)
        archive.code(&region)
        archive.code(&circles)
        telemetry.code(&archive)
        archive.code(&dutyAt)
        archive.code(&dutyByBackendAt)
        archive.code(&regionAt)
        archive.code(&circlesAt)
        archive.code(&sharingAt)
        archive.code(&platformAt)
        archive.code(&versionsAt)
        archive.code(&batteryAt)
        archive.code(&telemetryAt)
        factSequences.code(&archive)
        archive.code(&status)
        archive.code(&factor)
        archive.code(&since)
        archive.code(&lastContact)
        archive.code(&lastContactAt)
        archive.code(&contactFolded)
        archive.code(&activeSince)
        archive.code(&grace)
        archive.code(&degradedDeadline)
        archive.code(&offlineDeadline)
        archive.code(&offlineSince)
        archive.code(&lastLocation)
        archive.code(&lastLocationAt)
        archive.code(&installID)
        archive.code(&lowestSequence)
        archive.code(&highestSequence)
        archive.code(&newestCapturedAt)
        archive.code(&hasLedger)
        archive.code(&lastRow)
        archive.code(&lastDecision)
    }
}

extension Telemetry {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&permissionStatus)
        archive.code(&locationServices)
        archive.code(&powerMode)
        archive.code(&appState)
        archive.code(&networkType)
        archive.code(&queueDepth)
        if archive.isReading, !isLegal { archive.refuse() }
    }
}

extension SequenceLedger {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&installs, empty: Install()) { $1.code(&$0) }
        archive.code(&forgotten, empty: 0) { $0.code(&$1) }
    }
}

extension Install {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&id)
        archive.code(&closedThrough)
        archive.code(&firstCapturedAt, empty: .distantPast) { $0.code(&$1) }
        archive.code(&newestCapturedAt, empty: .distantPast) { $0.code(&$1) }
        archive.code(&ranges, empty: 0...0) { archive, range in
            var lower = range.lowerBound
            var upper = range.upperBound
            archive.code(&lower)
            archive.code(&upper)
            if lower <= upper { range = lower...upper } else { archive.refuse() }
        }
    }
}

extension NameTable {
    fileprivate mutating func code(_ archive: inout Archive) {
        var names = names
        archive.code(&names)
        if archive.isReading { self = NameTable(names: names, countMax: countMax) }
    }
}

extension Counters {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&transitions)
        archive.code(&serverTransitions)
        archive.code(&disagreements)
        archive.code(&batches)
        archive.code(&updates)
        archive.code(&skewedUpdates)
        archive.code(&installsReset)
        delay.code(&archive)
        for index in delayBy.indices { delayBy[index].code(&archive) }
        for index in interval.indices { interval[index].code(&archive) }
        queueDepth.code(&archive)
        archive.code(&lastBatchAt, empty: .distantPast) { $0.code(&$1) }
    }
}

extension Histogram {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&counts)
        archive.code(&sum)
        if counts.count != bounds.count + 1 {
            archive.refuse()
            counts = [Int](repeating: 0, count: bounds.count + 1)
        }
    }
}

extension Policy {
    fileprivate mutating func code(_ archive: inout Archive) {
        onDuty.code(&archive)
        onMission.code(&archive)
        archive.code(&lowPowerFactor)
        archive.code(&iosFactor)
        archive.code(&androidFactor)
        archive.code(&serverTransitions)
        archive.code(&forgetAfter)
        archive.code(&feedMinActive)
        archive.code(&feedStallAfter)
        archive.code(&respondersMax)
        archive.code(&regionLabelsMax)
        archive.code(&coverageRegions)
    }

    /// The policy as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        var archive = Archive()
        copy.code(&archive)
        return archive.bytes
    }

    /// The policy that `journalBytes` were made of; nil if they are damaged.
    package init?(journalBytes: [UInt8]) {
        var archive = Archive(reading: journalBytes)
        self.init()
        code(&archive)
        if archive.isDamaged { return nil }
    }
}

extension Policy.Profile {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&expected)
        archive.code(&degradedAfter)
        archive.code(&offlineAfter)
    }
}
