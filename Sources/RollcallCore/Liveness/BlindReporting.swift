/// The blind windows that are told, and as what: the shorter ones would fill stories and spoil
/// statistics. What is decided knows nothing of it. Source: D5.
struct BlindReporting: Equatable, Sendable {
    /// The news of one window.
    typealias Line = (reason: BlindReason, begins: Bool, since: RunningTime)

    /// A window that was told, begin and end.
    struct Window: Equatable, Sendable {
        var since: RunningTime
        var end: RunningTime
    }

    /// Onset of each reason's window whose begin was told and whose end was not, by `BlindReason`.
    private(set) var open = [RunningTime?](repeating: nil, count: BlindReason.allCases.count)
    /// The last window told of each reason.
    private var last = [Window?](repeating: nil, count: BlindReason.allCases.count)

    /// Returns the earliest instant at which a window that is not told yet will be told, if it
    /// stays open; `onsets` are those of the open ones.
    func nextInstant(_ onsets: [RunningTime?]) -> RunningTime {
        var next = RunningTime.distantFuture
        for index in onsets.indices where open[index] == nil {
            if let onset = onsets[index] { next = min(next, onset + BlindReason.reportedFrom) }
        }
        return next
    }

    /// Tells what is to be told at `now`: begins before ends, each by reason. `onsets` are those of
    /// the windows that stay open, `ended` are those that ended at this instant.
    mutating func report(
        _ onsets: [RunningTime?], ended: [(reason: BlindReason, since: RunningTime)],
        now: RunningTime
    ) -> [Line] {
        var begins: [Line] = []
        var ends: [Line] = []
        for reason in BlindReason.allCases {
            let index = Int(reason.rawValue)
            let over = ended.lazy.filter { $0.reason == reason }.map(\.since).min()
            if open[index] == nil, let since = onsets[index] ?? over,
                now - since >= BlindReason.reportedFrom
            {
                // What begins again so soon is the same window (crash loops).
                let isSame = last[index].map { since - $0.end < BlindReason.joinedWithin } ?? false
                let reported = isSame ? min(since, last[index]?.since ?? since) : since
                open[index] = reported
                begins.append((reason, true, reported))
            }
            if onsets[index] == nil, let since = open[index] {
                open[index] = nil
                last[index] = Window(since: since, end: now)
                ends.append((reason, false, since))
            }
        }
        return begins + ends
    }

    /// A state of a version that told every window at its onset: those of `onsets` are told.
    mutating func adopt(_ onsets: [RunningTime?]) { open = onsets }

    mutating func code(_ archive: inout Archive) {
        for index in open.indices {
            archive.code(&open[index], empty: .distantPast) { $0.code(&$1) }
        }
        let none = Window(since: .distantPast, end: .distantPast)
        for index in last.indices {
            archive.code(&last[index], empty: none) { archive, window in
                archive.code(&window.since)
                archive.code(&window.end)
            }
        }
    }
}

extension BlindReason {
    /// A blind window shorter than this is neither told nor counted (D5).
    package static var reportedFrom: Milliseconds { .seconds(1) }
    /// Windows of one reason with less than this between them are told as one (D5).
    package static var joinedWithin: Milliseconds { .seconds(10) }
}
