/// The clocks and the blind windows. Source: Contract/Blindness.
package struct ObservationClock: Sendable {
    /// A stretch of running time in which we could not see.
    struct Window: Equatable, Sendable {
        var start: RunningTime
        var end: RunningTime
        var length: Milliseconds { end - start }
    }

    /// Closed windows remembered at most: told times before the oldest lose its length.
    static let windowsMax = 1024
    /// An episode from this length on earns a grace (B5).
    package static let graceFrom = Milliseconds.seconds(15)
    /// Graces within `graceSpan` at most, so that a crash loop cannot hide a death (B5).
    package static let gracesMax = 3
    /// The span within which at most `gracesMax` graces are granted.
    package static let graceSpan = Milliseconds.seconds(30 * 60)

    /// The instant that is being folded or evaluated.
    package var now = RunningTime(milliseconds: 0)
    /// The wall minus running time.
    package var wallOffset = Milliseconds(0)
    /// Steps of the wall remembered at most, for the stamps of what began before them.
    static let stepsMax = 64
    /// The last steps: when, and the offset until then.
    var steps: [(at: RunningTime, before: Milliseconds)] = []
    /// Closed windows, oldest first.
    var windows: [Window] = []
    /// Sum of the lengths of all windows that were ever closed.
    var lost = Milliseconds(0)
    /// The instant at which the present episode began; nil while we can see.
    package private(set) var onset: RunningTime?
    /// Onset of each reason's open window, by `BlindReason`.
    package private(set) var open = [RunningTime?](
        repeating: nil, count: BlindReason.allCases.count)
    /// Milliseconds of closed windows by reason.
    package private(set) var closedMilliseconds = [Int64](
        repeating: 0, count: BlindReason.allCases.count)
    /// The windows that are told.
    private var reporting = BlindReporting()
    /// The instants at which graces were granted lately.
    var graces: [RunningTime] = []
    /// The instant at which the last episode ended: what was shown before is unconfirmed until
    /// contact (L11).
    package var lastBlindEnd = RunningTime.distantPast

    /// True while we cannot see.
    package var isBlind: Bool { onset != nil }

    /// The wall at `now`.
    package var wallNow: Timestamp {
        Timestamp(milliseconds: now.milliseconds &+ wallOffset.count)
    }

    /// The wall at a running instant, as it was then.
    package func wall(_ instant: RunningTime) -> Timestamp {
        let offset = steps.first { instant < $0.at }?.before ?? wallOffset
        return Timestamp(milliseconds: instant.milliseconds &+ offset.count)
    }

    /// The wall stepped at `now`.
    mutating func step(_ step: Milliseconds) {
        steps.append((now, wallOffset))
        if steps.count > Self.stepsMax { steps.removeFirst() }
        wallOffset.count &+= step.count
    }

    /// Observed time at `now`, which no closed window reaches beyond.
    @inline(__always)
    package var observedNow: ObservedTime {
        let seen = onset.map { min($0, now) } ?? now
        return ObservedTime(milliseconds: seen.milliseconds &- lost.count)
    }

    /// Observed time at a running instant; one inside a blind window counts as its onset (F9).
    package func observed(_ instant: RunningTime) -> ObservedTime {
        var instant = instant
        if let onset, instant > onset { instant = onset }
        // Nearly always: no window reaches so far.
        guard let last = windows.last, last.end > instant else {
            return ObservedTime(milliseconds: instant.milliseconds &- lost.count)
        }
        var lost = lost
        for window in windows.reversed() {
            if window.end <= instant { break }
            lost.count -=
                window.start >= instant ? window.length.count : (window.end - instant).count
        }
        return ObservedTime(milliseconds: instant.milliseconds &- lost.count)
    }

    /// The watched instant of a told wall time: as far back as the wall says, never in the future
    /// (F9).
    package func reported(_ time: Timestamp) -> ObservedTime {
        let ago = wallNow - time
        return observed(ago.count <= 0 ? now : now - ago)
    }

    /// The running instant at which observed time will be `instant`, if sight is not lost before.
    func running(_ instant: ObservedTime) -> RunningTime { now + (instant - observedNow) }

    /// The running instant that lies as far back as the wall says.
    package func instant(of time: Timestamp) -> RunningTime { now - (wallNow - time) }

    /// The last running instant at which observed time was `instant`.
    func wasRunning(at instant: ObservedTime) -> RunningTime {
        var running = (onset ?? now) - (observedNow - instant)
        for window in windows.reversed() {
            if running >= window.end { break }
            running = running - window.length
        }
        return running
    }

    /// Returns the time that we have been blind since a running instant.
    func blind(since instant: RunningTime) -> Milliseconds {
        Milliseconds((now - instant).count - (observedNow - observed(instant)).count)
    }

    /// Returns how much of the time since a told wall time was watched, and how much was blind.
    package func passed(since time: Timestamp) -> (observed: Milliseconds, blind: Milliseconds) {
        let running = max(Milliseconds(0), wallNow - time)
        let observed = observedNow - reported(time)
        return (observed, Milliseconds(running.count - observed.count))
    }

    // MARK: - Blindness

    /// Opens a window of `reason` and sets observed time back to its onset. What was decided in
    /// between stands (B1).
    mutating func lose(_ reason: BlindReason, since: RunningTime) {
        open[Int(reason.rawValue)] = since
        var start = onset.map { min($0, since) } ?? since
        // An episode is the union of overlapping windows (F7); between two that touch there was
        // nothing to be seen either.
        while let last = windows.last, last.end >= start {
            start = min(start, last.start)
            lost.count -= last.length.count
            windows.removeLast()
        }
        onset = start
    }

    /// Closes the window of `reason`; returns its onset.
    mutating func regain(_ reason: BlindReason) -> RunningTime {
        let since = open[Int(reason.rawValue)] ?? now
        open[Int(reason.rawValue)] = nil
        let length = now - since
        // What is not told is not counted (D5).
        if length >= BlindReason.reportedFrom {
            closedMilliseconds[Int(reason.rawValue)] += length.count
        }
        return since
    }

    /// The earliest instant at which a window that is open will be old enough to be told.
    var nextReport: RunningTime { isBlind ? reporting.nextInstant(open) : .distantFuture }

    /// Tells what is to be told at `now`, in its order (D5); `ended` are the windows that ended now.
    mutating func report(
        ended: [(reason: BlindReason, since: RunningTime)]
    ) -> [BlindReporting.Line] {
        reporting.report(open, ended: ended, now: now)
    }

    /// Ends the episode once no window is open; returns whether a grace is due (B5, F7); nil if the
    /// episode goes on or there was none.
    mutating func endEpisode() -> Bool? {
        guard let start = onset, open.allSatisfy({ $0 == nil }) else { return nil }
        onset = nil
        if now > start {
            windows.append(Window(start: start, end: now))
            lost.count += (now - start).count
            if windows.count > Self.windowsMax { windows.removeFirst() }
        }
        lastBlindEnd = now
        graces.removeAll { now - $0 >= Self.graceSpan }
        guard now - start >= Self.graceFrom, graces.count < Self.gracesMax else { return false }
        graces.append(now)
        return true
    }

    /// Milliseconds blind for `reason` up to `now`, without windows that are not told (D5).
    package func blindMilliseconds(_ reason: BlindReason) -> Int64 {
        let index = Int(reason.rawValue)
        let length = open[index].map { now - $0 } ?? Milliseconds(0)
        return closedMilliseconds[index] + (length >= BlindReason.reportedFrom ? length.count : 0)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&now)
        archive.code(&wallOffset)
        archive.code(&steps, empty: (.distantPast, Milliseconds(0))) { archive, step in
            archive.code(&step.at)
            archive.code(&step.before)
        }
        archive.code(&windows, empty: Window(start: .distantPast, end: .distantPast)) {
            archive, window in
            archive.code(&window.start)
            archive.code(&window.end)
        }
        archive.code(&lost)
        archive.code(&onset, empty: .distantPast) { $0.code(&$1) }
        for index in open.indices {
            archive.code(&open[index], empty: .distantPast) { $0.code(&$1) }
        }
        for index in closedMilliseconds.indices { archive.code(&closedMilliseconds[index]) }
        archive.code(&graces, empty: .distantPast) { $0.code(&$1) }
        archive.code(&lastBlindEnd)
        if archive.isReading { reporting.adopt(open) }
        // Version 1 knew no parts that may end early.
        if archive.version >= 6 { reporting.code(&archive) }
    }
}
