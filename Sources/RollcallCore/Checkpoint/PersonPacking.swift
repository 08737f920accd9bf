/// The form in which people are written since they are packed, one behind the other: of each only what
/// could not be foreseen from the one before them. A value's place, once written, stays.
///
///     id ── bits of what is not as foreseen ── that ── what stands beside them, if anything does
///
/// Most of a person is as foreseen: of one who reports some 40 bytes are left of 290. A value that a later
/// version adds has the next place, behind `guard archive.version >= N`. Source: J5.
struct PersonPacking: Sendable {
    private var numbers = ForeseenNumbers()
    /// The last contact of anybody, which instants are near.
    private var contact: Int64 = 0
    /// The range of sequences of the person who was read last, if it is too wide for them to keep.
    private(set) var wideRange: ClosedRange<Int64>?

    /// The places of the numbers; what differs most stands first, since bits of places behind the last
    /// that differs take none.
    private enum Place {
        static let installID = 0
        static let lastContact = 1
        static let lastRow = 2
        static let lastDecision = 3
        static let circles = 4
        static let region = 5
        static let highestSequence = 6
        static let contactFolded = 7
        static let lowestSequence = 8
        static let battery = 9
        static let lastLocation = 10
        static let since = 11
        static let activeSince = 12
        static let telemetry = 13
        static let marks = 14
        static let lastContactAt = 15
        static let lastLocationAt = 16
        static let newestCapturedAt = 17
        static let queueDepth = 18
        static let appVersion = 19
        static let osVersion = 20
        static let manufacturer = 21
        static let model = 22
        static let degradedDeadline = 23
        static let offlineDeadline = 24
        static let darkFrom = 25
        static let emptyQueueAt = 26
        static let emptyQueueSequence = 27
        static let offlineSince = 28
        static let grace = 29
        static let factor = 30
        static let promise = 31
        static let facts = 32
        /// From here on the facts' times, two numbers each.
        static let factTimes = 33
    }

    /// Codes the next person; true if something stands beside them that follows. `overflow` is what of
    /// the facts' times does.
    mutating func code(
        _ person: inout Responder, _ overflow: inout FactTable?, hasExtras: Bool,
        _ archive: inout Archive
    ) -> Bool {
        numbers.begin(&archive)
        let hasExtras = codeMarks(&person, hasExtras, &archive)
        codeContact(&person, &archive)
        codeNumbers(&person, &archive)
        codeInstants(&person, &archive)
        codeFactTimes(&person, &overflow, &archive)
        numbers.end(&archive)
        return hasExtras
    }

    /// Codes what are words and truths of the person.
    private mutating func codeMarks(
        _ person: inout Responder, _ hasExtras: Bool, _ archive: inout Archive
    ) -> Bool {
        var hasExtras = hasExtras
        var marks = BitNumber(archive.isReading)
        var telemetry = marks
        if archive.isReading {
            numbers.code(&marks.number, Place.marks, &archive)
            numbers.code(&telemetry.number, Place.telemetry, &archive)
        }
        marks.code(&hasExtras)
        person.codeMarks(&marks)
        person.telemetry.codeWords(&telemetry)
        if marks.isDamaged || telemetry.isDamaged || !person.telemetry.isLegal { archive.refuse() }
        if !archive.isReading {
            numbers.code(&marks.number, Place.marks, &archive)
            numbers.code(&telemetry.number, Place.telemetry, &archive)
        }
        return hasExtras
    }

    private mutating func codeContact(_ person: inout Responder, _ archive: inout Archive) {
        numbers.code(&person.lastContact, Place.lastContact, &archive)
        if person.wasHeard, person.lastContact < .distantFuture {
            contact = person.lastContact.milliseconds
        }
    }

    private mutating func codeNumbers(_ person: inout Responder, _ archive: inout Archive) {
        numbers.code(narrow: &person.region, Place.region, &archive)
        numbers.code(narrow: &person.circles, Place.circles, &archive)
        numbers.code(narrow: &person.battery, Place.battery, &archive)
        numbers.code(narrow: &person.osVersion, Place.osVersion, &archive)
        numbers.code(narrow: &person.appVersion, Place.appVersion, &archive)
        numbers.code(narrow: &person.manufacturer, Place.manufacturer, &archive)
        numbers.code(narrow: &person.model, Place.model, &archive)
        numbers.code(narrow: &person.promise, Place.promise, &archive)
        numbers.code(narrow: &person.telemetry.queueDepth, Place.queueDepth, &archive)
        var factor = Int64(bitPattern: person.factor.bitPattern)
        numbers.code(&factor, Place.factor, &archive)
        person.factor = Double(bitPattern: UInt64(bitPattern: factor))
        var install = Int64(bitPattern: person.installID)
        numbers.code(&install, Place.installID, &archive)
        person.installID = UInt64(bitPattern: install)
        var (lowest, highest) = person.sequenceBounds
        numbers.code(&lowest, Place.lowestSequence, as: .sequences, &archive)
        numbers.code(&highest, Place.highestSequence, from: lowest, as: .sequences, &archive)
        wideRange = archive.isReading ? person.keep(lowest, highest) : nil
        numbers.code(
            &person.emptyQueueSequence, Place.emptyQueueSequence, from: highest, as: .sequences,
            &archive)
        numbers.code(&person.lastRow, Place.lastRow, &archive)
        numbers.code(&person.lastDecision, Place.lastDecision, &archive)
    }

    private mutating func codeInstants(_ person: inout Responder, _ archive: inout Archive) {
        numbers.code(&person.lastContactAt, Place.lastContactAt, from: contact, &archive)
        numbers.code(&person.contactFolded, Place.contactFolded, from: contact, &archive)
        numbers.code(&person.degradedDeadline, Place.degradedDeadline, from: contact, &archive)
        numbers.code(&person.offlineDeadline, Place.offlineDeadline, from: contact, &archive)
        numbers.code(&person.lastLocation, Place.lastLocation, from: contact, &archive)
        let location = person.lastLocation.milliseconds
        numbers.code(&person.lastLocationAt, Place.lastLocationAt, from: location, &archive)
        let locationAt = person.lastLocationAt.milliseconds
        numbers.code(&person.newestCapturedAt, Place.newestCapturedAt, from: locationAt, &archive)
        numbers.code(&person.darkFrom, Place.darkFrom, from: contact, &archive)
        numbers.code(&person.emptyQueueAt, Place.emptyQueueAt, from: contact, &archive)
        numbers.code(&person.since, Place.since, &archive)
        numbers.code(&person.activeSince, Place.activeSince, &archive)
        numbers.code(&person.grace, Place.grace, &archive)
        numbers.code(&person.offlineSince, Place.offlineSince, &archive)
    }

    // MARK: - Facts

    /// Codes which facts were told together, in four bits each, and the times of these, in the order of
    /// the facts.
    private mutating func codeFactTimes(
        _ person: inout Responder, _ overflow: inout FactTable?, _ archive: inout Archive
    ) {
        var times = InlineArray<9, FactTime>(repeating: FactTime())
        var groups: Int64 = 0
        var count = 0
        if !archive.isReading {
            let table = person.factTimes.table(overflow)
            for place in 0..<FactSet.count where table[place] != FactTime() {
                var group = 0
                while group < count, times[group] != table[place] { group += 1 }
                if group == count {
                    times[group] = table[place]
                    count += 1
                }
                groups |= Int64(group + 1) << Int64(place * 4)
            }
        }
        numbers.code(&groups, Place.facts, &archive)
        if archive.isReading {
            var rest = UInt64(bitPattern: groups)
            while rest != 0 {
                count = max(count, Int(rest & 15))
                rest >>= 4
            }
            guard groups >> Int64(FactSet.count * 4) == 0, count <= FactSet.count else {
                return archive.refuse()
            }
        }
        let sequence = Int64(FactTime(at: .distantPast, by: person.highestSequence).sequence)
        for group in 0..<count {
            let place = Place.factTimes + 2 * group
            numbers.code(&times[group].at, place, from: contact, &archive)
            numbers.code(narrow: &times[group].sequence, place + 1, from: sequence, &archive)
        }
        guard archive.isReading else { return }
        person.factTimes = FactTimes()
        overflow = nil
        for group in 0..<count where times[group] != FactTime() {
            let facts = Self.facts(of: group, groups)
            person.factTimes.report(facts, times[group], &overflow)
        }
    }

    private static func facts(of group: Int, _ groups: Int64) -> FactSet {
        var facts = FactSet()
        for place in 0..<FactSet.count where groups >> Int64(place * 4) & 15 == group + 1 {
            facts.insert(FactSet(at: place))
        }
        return facts
    }
}

/// Words and truths in the bits of a number, one behind the other.
private struct BitNumber {
    var number: Int64 = 0
    /// True if a word was none.
    private(set) var isDamaged = false
    private var place: Int64 = 0
    private let isReading: Bool

    init(_ isReading: Bool) { self.isReading = isReading }

    mutating func code(_ value: inout Bool) {
        var bits: UInt8 = value ? 1 : 0
        code(&bits, width: 1)
        value = bits == 1
    }

    /// Codes a number below two to the power of `width`.
    mutating func code(_ value: inout UInt8, width: Int64) {
        if isReading {
            value = UInt8(truncatingIfNeeded: number >> place & (1 << width - 1))
        } else {
            number |= Int64(value) << place
        }
        place += width
    }

    /// Codes a word, of which no kind has more than fifteen.
    mutating func code<Word: RawRepresentable<UInt8>>(_ value: inout Word) {
        var raw = value.rawValue
        code(&raw, width: 4)
        if let word = Word(rawValue: raw) { value = word } else { isDamaged = true }
    }
}

extension Responder {
    private static let noExtreme: UInt8 = 15

    fileprivate mutating func codeMarks(_ marks: inout BitNumber) {
        marks.code(&duty)
        marks.code(&platform)
        marks.code(&status)
        var extreme = lastExtreme?.rawValue ?? Self.noExtreme
        marks.code(&extreme, width: 4)
        lastExtreme = Status(rawValue: extreme)
        marks.code(&sharing)
        marks.code(&nudgeSound, width: 1)
        marks.code(&isDutyByBackend)
        marks.code(&isRetired)
        marks.code(&isForgotten)
        marks.code(&isActive)
        marks.code(&isHeard)
        marks.code(&hasLedger)
        marks.code(&isDark)
        marks.code(&isFlapping)
        marks.code(&isStale)
        marks.code(&isBehind)
        marks.code(&isMissed)
    }
}

extension Telemetry {
    fileprivate mutating func codeWords(_ words: inout BitNumber) {
        words.code(&permissionStatus, width: 4)
        words.code(&locationServices, width: 4)
        words.code(&powerMode, width: 4)
        words.code(&appState, width: 4)
        words.code(&networkType, width: 4)
    }
}
