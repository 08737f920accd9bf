/// The form in which people and what belongs to them are written. A field's place, once written,
/// stays.
extension Responder {
    private static let noLastExtreme: UInt8 = 255
    /// In the order in which their times are written.
    private static let facts: [FactSet] = [
        .duty, .dutyByBackend, .region, .circles, .sharing, .platform, .versions, .battery,
        .telemetry,
    ]

    /// `overflow` is what of the facts' times stands beside the person. Returns the range of sequences
    /// that was read, if it is too wide for the person to keep.
    @discardableResult
    mutating func code(
        _ archive: inout Archive, _ overflow: inout FactTable?
    ) -> ClosedRange<Int64>? {
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
        codeFactTimes(&archive, &overflow)
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
        var (lowest, highest) = sequenceBounds
        archive.code(&lowest)
        archive.code(&highest)
        let wide = archive.isReading ? keep(lowest, highest) : nil
        archive.code(&newestCapturedAt)
        archive.code(&hasLedger)
        archive.code(&lastRow)
        archive.code(&lastDecision)
        if archive.isReading && archive.version < 3 { return wide }
        archive.code(&isDark)
        archive.code(&darkFrom)
        archive.code(&emptyQueueAt)
        archive.code(&emptyQueueSequence)
        if archive.isReading && archive.version < 4 { return wide }
        var lastExtreme = lastExtreme?.rawValue ?? Self.noLastExtreme
        archive.code(&lastExtreme)
        self.lastExtreme = Status(rawValue: lastExtreme)
        archive.code(&isFlapping)
        if archive.isReading && archive.version < 5 { return wide }
        codeLastMarks(&archive)
        return wide
    }

    /// The ends of the range of sequences as they are written; of none, one that ends before it begins.
    var sequenceBounds: (lowest: Int64, highest: Int64) {
        sequences.map { ($0.lowerBound, $0.upperBound) } ?? (0, -1)
    }

    /// Keeps the range that was read; returns it if it is too wide.
    mutating func keep(_ lowest: Int64, _ highest: Int64) -> ClosedRange<Int64>? {
        let range = lowest <= highest ? lowest...highest : nil
        return keep(range) ? nil : range
    }

    /// One byte, which said only whether they are stale while nobody could promise, and no threshold
    /// asked where the app was; the promise, if there is one, and what the phone is, if it was told.
    private mutating func codeLastMarks(_ archive: inout Archive) {
        var marks: UInt8 = (isStale ? 1 : 0) | (isBehind ? 2 : 0) | (promise > 0 ? 4 : 0)
        marks |= (manufacturer > 0 || model > 0 ? 8 : 0) | (isMissed ? 16 : 0)
        archive.code(&marks)
        isMissed = marks & 16 != 0
        isStale = marks & 1 != 0
        isBehind = archive.version >= 7 ? marks & 2 != 0 : telemetry.isBehind
        if marks & 4 != 0 { archive.code(&promise) }
        guard marks & 8 != 0 else { return }
        archive.code(&manufacturer)
        archive.code(&model)
    }

    /// All instants, then who told them, but for the duty state by the backend's.
    private mutating func codeFactTimes(_ archive: inout Archive, _ overflow: inout FactTable?) {
        var table = factTimes.table(overflow)
        for fact in Self.facts { archive.code(&table[fact.place].at) }
        for fact in Self.facts where fact != .dutyByBackend {
            archive.code(&table[fact.place].sequence)
        }
        if archive.isReading { factTimes = FactTimes(table, &overflow) }
    }
}

extension SequenceLedger {
    mutating func code(_ archive: inout Archive) {
        archive.code(&installs, empty: Install()) { $1.code(&$0) }
        archive.code(&forgotten, empty: 0) { $0.code(&$1) }
    }
}

extension Install {
    mutating func code(_ archive: inout Archive) {
        archive.code(&id)
        archive.code(&closedThrough)
        archive.code(&firstCapturedAt, empty: .distantPast) { $0.code(&$1) }
        archive.code(&newestCapturedAt, empty: .distantPast) { $0.code(&$1) }
        archive.code(&ranges, empty: 0...0) { $1.code(&$0) }
    }
}
