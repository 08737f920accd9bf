/// A gap as the engine follows it, from the opening to the verdict. Source: Contract/Gaps.
struct Gap: Equatable, Sendable {
    private(set) var kept = KeptReport.empty
    /// The last report that was told of it. To change it is to write another.
    var report: GapReport {
        get { kept.report }
        set { kept = KeptReport(newValue) }
    }
    var openedAt = ObservedTime.distantPast
    /// The instant at which the last contact was folded, or the person became active: blindness
    /// after it is carried.
    var gapSince = RunningTime.distantPast
    /// Different people of the region who fell silent within 60 s before it, with this one (F25).
    var openings = 0
    /// Its number among all that ever opened.
    var serial: Int64 = 0
    /// Number of the region under which it opened.
    var region: UInt32 = 0
    /// The instant at which the verdict falls due; nil while the gap is open.
    var due: RunningTime?
    /// The last contact before the return: what is captured after it, and more than an expected
    /// interval before the return, is inside the gap (F26).
    var insideFrom = ObservedTime.distantPast
    var returnedAt = ObservedTime.distantPast
    var expected = Milliseconds(0)
    /// The newest that was taken before the return.
    var heights = Heights()

    /// True once it has reached OFFLINE (C1).
    var isCounted: Bool { kept.report.number > 0 }

    /// The first verdict that holds (C2).
    var verdict: GapVerdict {
        let seen = report.seen
        if seen.isReinstalled { return .reinstalled }
        if seen.isPermissionDenied { return .permissionDenied }
        if seen.areServicesOff { return .locationServicesOff }
        if seen.capturedInside > 0 { return .network }
        return seen.updates > 0 ? .appStopped : .unexplained
    }

    /// True if what was captured at `instant` is inside the gap.
    func isInside(_ instant: ObservedTime) -> Bool {
        instant > insideFrom && instant < returnedAt - expected
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime) {
        openedAt = min(openedAt, now)
        insideFrom = min(insideFrom, now)
        returnedAt = min(returnedAt, now)
    }

    mutating func code(_ archive: inout Archive) {
        var bytes = report.journalBytes
        archive.code(&bytes)
        if archive.isReading {
            if let read = GapReport(journalBytes: bytes) { report = read } else { archive.refuse() }
        }
        archive.code(&openedAt)
        archive.code(&gapSince)
        archive.code(&openings)
        archive.code(&serial)
        archive.code(&region)
        archive.code(&due, empty: .distantPast) { $0.code(&$1) }
        archive.code(&insideFrom)
        archive.code(&returnedAt)
        archive.code(&expected)
        archive.code(&heights.sequences)
        if archive.isReading && archive.version < 7 { return }
        archive.code(&heights.captured, empty: .distantPast) { $0.code(&$1) }
    }
}

extension GapReport {
    /// The report as the store keeps it. A field's place, once written, stays.
    package var journalBytes: [UInt8] { GapDecision(self).journalBytes }

    /// The report that `journalBytes` were made of, by this version or an older one; nil if they
    /// are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init()
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }

    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&state)
        archive.code(&number)
        archive.code(&suspected)
        archive.code(&firstSuspected)
        var verdict = verdict ?? .unexplained
        archive.code(&verdict)
        self.verdict = state == .verdict ? verdict : nil
        archive.code(&openedAt)
        archive.code(&offlineAt)
        archive.code(&closedAt)
        archive.code(&length)
        archive.code(&blind)
        facts.code(&archive)
        seen.code(&archive)
        archive.code(&silent)
        facts.codePhone(&archive)
        archive.code(&ruled, empty: .unexplained) { $0.code(&$1) }
    }
}

extension GapDecision {
    /// The report in its state as the store keeps it.
    package var journalBytes: [UInt8] { Archive.bytes { write(to: &$0) } }

    /// Writes these bytes behind others.
    package func write(to archive: inout Archive) {
        var copy = report
        copy.code(&archive)
    }
}

extension GapFacts {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&lastContactAt)
        archive.code(&isHeard)
        telemetry.code(&archive)
        archive.code(&battery)
        archive.code(&queueDepths, empty: 0) { $0.code(&$1) }
        archive.code(&platform)
        archive.code(&region)
        archive.code(&group, empty: GapGroup()) { archive, group in
            archive.code(&group.id)
            archive.code(&group.isFeed)
            archive.code(&group.members)
            archive.code(&group.active)
        }
    }
}

extension GapFacts {
    /// Behind what older versions wrote.
    fileprivate mutating func codePhone(_ archive: inout Archive) {
        archive.code(&manufacturer)
        archive.code(&model)
        archive.code(&osVersion)
        archive.code(&appVersion)
    }
}

extension GapReturn {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&at)
        archive.code(&updates)
        archive.code(&capturedInside)
        archive.code(&firstInsideAt)
        archive.code(&lastInsideAt)
        archive.code(&isReinstalled)
        archive.code(&isPermissionDenied)
        archive.code(&areServicesOff)
    }
}
