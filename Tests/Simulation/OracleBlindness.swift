extension Oracle {
    /// Why nobody watched. Source: F5.
    enum Reason: String {
        case heartbeat, overload, stopped, store, suspended
    }

    /// A span in which we could not see, whenever it was noticed. Source: B1.
    struct Window {
        /// Why.
        let reason: Reason
        /// The last instant at which we could see.
        let since: Instant
        /// What the wall showed then.
        let sinceWall: Wall
        /// Already over when it is noticed: we did not run.
        let isPast: Bool
        /// Whether it was noted that sight was lost.
        var isNoted = false
        /// What its begin was told as; nil if it was not told. Source: D5.
        var toldAs: Wall?
        /// Nil while it is open.
        var until: Instant?
    }

    /// A write, or refusals of writes. Source: B1.
    struct Write {
        /// When it came.
        let at: Moment
        /// How many.
        let count: Int
        /// Answered 503 for our own reasons.
        let isRefused: Bool
    }

    /// The span in which overload is measured; an age of as much is outside. Source: B1.
    static let overloadWindow: Span = 15_000
    private static let overloadWritesMin = 10
    /// A shorter window is not told. Source: D5.
    static let toldFrom: Span = 1_000
    /// Windows of one reason that are closer are told as one. Source: D5.
    private static let joinedWithin: Span = 10_000
    private static let graceBlindMin: Span = 15_000
    private static let gracesMax = 3
    private static let gracesWindow: Span = 30 * 60_000

    /// Notes that we could not see since a moment.
    mutating func becomeBlind(_ reason: Reason, since: Moment, isPast: Bool = false) {
        let window = Window(
            reason: reason, since: since.instant, sinceWall: since.wall, isPast: isPast)
        let index = windows.firstIndex { $0.since > since.instant } ?? windows.endIndex
        windows.insert(window, at: index)
        setBackDeadlines(to: since.instant)
        setBackNudges()
    }

    /// Opens and ends windows by what holds at this instant: begins before ends, each by reason; at
    /// the end of the last a grace. Source: B1, F1, F7.
    mutating func evaluateBlindness() {
        missBeats()
        let causes = causesOfBlindness()
        let wasBlind = isBlind
        for cause in causes
        where !windows.contains(where: { $0.until == nil && $0.reason == cause.reason }) {
            becomeBlind(cause.reason, since: cause.since)
        }
        let begun = note(windows.indices.filter { !windows[$0].isNoted }, begins: true)
        for index in begun { windows[index].isNoted = true }
        let over = windows.indices.filter { index in
            let window = windows[index]
            let holds = causes.contains { $0.reason == window.reason }
            return window.until == nil && (window.isPast || !holds)
        }
        tell(over)
        for index in note(over, begins: false) { windows[index].until = now }
        if wasBlind || !begun.isEmpty, !isBlind { grantGrace() }
    }

    /// What makes us blind at this instant, apart from not having run, and since when.
    private mutating func causesOfBlindness() -> [(reason: Reason, since: Moment)] {
        var causes: [(reason: Reason, since: Moment)] = []
        if let since = lastBeatOfAll() { causes.append((.heartbeat, since)) }
        if let since = oldestRefused() { causes.append((.overload, since)) }
        if let since = storeFailing { causes.append((.store, since)) }
        return causes
    }

    /// The oldest refused write of 15 s in which at least 10 came and half were refused; else nil.
    /// Source: B1, F11.
    private mutating func oldestRefused() -> Moment? {
        writes.removeAll { now - $0.at.instant >= Self.overloadWindow }
        let all = writes.reduce(0) { $0 + $1.count }
        let refused = writes.reduce(0) { $0 + ($1.isRefused ? $1.count : 0) }
        guard all >= Self.overloadWritesMin, 2 * refused >= all else { return nil }
        return writes.first { $0.isRefused }?.at
    }

    /// Notes for each window, by reason, that sight is lost or back, and returns them in that order.
    private mutating func note(_ indices: [Int], begins: Bool) -> [Int] {
        let ordered = byReason(indices)
        for index in ordered {
            let window = windows[index]
            sights.append(
                Sight(
                    place: decisions.count,
                    decision: line(window.reason, begins: begins, since: window.sinceWall)))
        }
        return ordered
    }

    private func byReason(_ indices: [Int]) -> [Int] {
        indices.sorted { windows[$0].reason.rawValue < windows[$1].reason.rawValue }
    }

    private func line(_ reason: Reason, begins: Bool, since: Wall) -> StoryDecision {
        .blind(at: wall, begins: begins, since: since, reason: reason.rawValue)
    }

    /// Tells the begins of windows that are 1 s old, and the ends of those told; `over` are those that
    /// end now. One that begins within 10 s of the end of another of its reason is told as that one,
    /// and of several that end at once only the first. Source: D5, F5.
    private mutating func tell(_ over: [Int]) {
        let candidates = windows.indices.filter { windows[$0].until == nil }
        for index in byReason(candidates) {
            let window = windows[index]
            let isToldAlready = candidates.contains {
                windows[$0].reason == window.reason && windows[$0].toldAs != nil
            }
            guard !isToldAlready, now - window.since >= Self.toldFrom else { continue }
            let before = windows.filter {
                $0.reason == window.reason && $0.toldAs != nil && $0.until != nil
            }.max { ($0.until ?? 0) < ($1.until ?? 0) }
            var since = window.sinceWall
            if let before, let until = before.until, let told = before.toldAs,
                window.since - until < Self.joinedWithin
            {
                since = told
            }
            windows[index].toldAs = since
            decisions.append(line(window.reason, begins: true, since: since))
        }
        for index in byReason(over) {
            guard let since = windows[index].toldAs else { continue }
            decisions.append(line(windows[index].reason, begins: false, since: since))
        }
    }

    /// After 15 s or more of blindness, the deadlines of everybody expected who is not OFFLINE
    /// start anew, at most three times in 30 min. Source: B5, F7.
    private mutating func grantGrace() {
        guard now - episodeStart() >= Self.graceBlindMin else { return }
        sawAgainAt = now
        let recent = graces.filter { now - $0 < Self.gracesWindow }
        guard recent.count < Self.gracesMax else { return }
        graces.append(now)
        for index in everybody.indices {
            guard let status = everybody[index].status, status != .offline else { continue }
            everybody[index].grace = now
            startDeadlines(of: index)
        }
        startPendingAlertsAnew()
    }

    /// The onset of the union of overlapping or touching windows that reaches to now. Source: F7.
    private func episodeStart() -> Instant {
        var start = now
        while let earlier = windows.first(where: { $0.since < start && ($0.until ?? now) >= start })
        {
            start = earlier.since
        }
        return start
    }
}
