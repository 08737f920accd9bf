/// The signs by which we know whether we can see: beats, writes, the store, and whether we ran.
/// Source: B1, B2, D5.
package struct Sight: Sendable {
    /// A blind window and its onset.
    typealias Window = (reason: BlindReason, since: RunningTime)

    /// The windows that begin and those that end at an instant.
    struct Changes {
        var begins: [Window] = []
        var ends: [Window] = []

        var isEmpty: Bool { begins.isEmpty && ends.isEmpty }
    }

    /// The sources that promised to beat.
    package internal(set) var feed = Feed()
    private(set) var writes = WriteWindow()
    private(set) var isStoreFailing = false
    /// Stretches before the instant that is being folded in which we did not run.
    private var resumptions: [Window] = []
    /// The span that is added to the times of whoever sent what is being folded.
    private(set) var correction = Milliseconds(0)

    init() {}

    // MARK: - Signs

    /// A write is a beat of its source (B2) and counts against the refused ones (B1). The times that
    /// it tells are by its source's clock (D10).
    mutating func wrote(_ source: [UInt8], now: RunningTime) {
        writes.add(taken: 1, now: now)
        feed.wrote(source, now: now)
        correction = feed.skews.correction(of: source)
    }

    /// Takes over how far the clock of a source is off; nil if nobody asks who sends.
    mutating func correct(for source: [UInt8]?) {
        correction = source.map { feed.skews.correction(of: $0) } ?? Milliseconds(0)
    }

    /// A write in a calm, in which nothing is refused.
    mutating func wroteWhileIdle(_ source: [UInt8]?, now: RunningTime) {
        writes.add(taken: 1, now: now)
        writes.expire(now: now)
        if let source { feed.wrote(source, now: now) }
    }

    /// A heartbeat; true if it is of a source that is known, or disarms one.
    mutating func beat(_ source: [UInt8], every: Milliseconds, now: RunningTime) -> Bool {
        writes.add(taken: 1, now: now)
        feed.beat(source, every: every, now: now)
        return every.count == 0 || feed.sources.contains { $0.name == source }
    }

    /// Writes were refused.
    mutating func refused(_ count: Int, now: RunningTime) { writes.add(refused: count, now: now) }

    /// The store began or ceased to fail.
    mutating func store(isFailing: Bool, now: RunningTime) {
        // As at a start, nobody could be heard meanwhile (D6).
        if isStoreFailing, !isFailing { feed.start(now: now) }
        isStoreFailing = isFailing
    }

    /// We did not run.
    mutating func didNotRun(_ reason: BlindReason, since: RunningTime) {
        resumptions.append((reason, since))
    }

    // MARK: - Once an instant

    /// Returns the instant until which beats can be heard, while the window of the failing store is
    /// open since `onset`: while the store fails we refuse them (D6).
    func heardUntil(_ onset: RunningTime?, now: RunningTime) -> RunningTime {
        isStoreFailing ? onset ?? now : .distantFuture
    }

    /// Returns the next instant at which time alone changes something.
    func nextInstant(heardUntil: RunningTime) -> RunningTime {
        min(feed.nextInstant(heardUntil: heardUntil), writes.nextInstant)
    }

    /// True if nothing speaks for a window that begins or ends now.
    var isUndisturbed: Bool {
        resumptions.isEmpty && !isStoreFailing && !writes.isOverloaded && !feed.isAllMissing
    }

    /// True if time alone could tell nothing new of this: nobody is missed, and nothing is refused.
    var isUnimpaired: Bool { resumptions.isEmpty && writes.refused == 0 && !feed.isAnyMissing }

    /// Lets go of what is over, and looks who is missing. Tells what changed about clocks.
    mutating func expire(now: RunningTime, heardUntil: RunningTime) -> [SkewReport] {
        feed.evaluate(now: now, heardUntil: heardUntil)
        defer { writes.expire(now: now) }
        return feed.skews.expire(now: now)
    }

    /// Takes the windows that begin and end now, those in which we did not run among both; `open` are
    /// the onsets of the open ones, by `BlindReason`.
    mutating func takeChanges(_ open: [RunningTime?], now: RunningTime) -> Changes {
        var changes = Changes(begins: resumptions, ends: resumptions)
        resumptions = []
        func evaluate(_ reason: BlindReason, _ holds: Bool, since: @autoclosure () -> RunningTime) {
            let onset = open[Int(reason.rawValue)]
            if holds && onset == nil { changes.begins.append((reason, since())) }
            if !holds, let onset { changes.ends.append((reason, onset)) }
        }
        evaluate(.heartbeat, feed.isAllMissing, since: feed.lastBeat)
        evaluate(.overload, writes.isOverloaded, since: writes.oldestRefusal ?? now)
        evaluate(.store, isStoreFailing, since: now)
        changes.begins.sort { $0.reason.rawValue < $1.reason.rawValue }
        return changes
    }

    // MARK: - Form

    mutating func code(_ archive: inout Archive) {
        archive.codePart { feed.code(&$0) }
        archive.codePart { writes.code(&$0) }
    }

    mutating func codeStore(_ archive: inout Archive) { archive.code(&isStoreFailing) }
}
