import RollcallCore
import RollcallStore

/// The windows of blindness in a stretch of the past, as answers of history tell them.
struct BlindWindows {
    private struct Window {
        let reason: BlindReason
        var since: Timestamp
        /// Nil while it is open.
        let until: Timestamp?
    }

    private let since: Timestamp
    private let until: Timestamp
    private let clock: ObservationClock
    private var windows: [Window] = []
    /// True if there was more to look at.
    private(set) var isTruncated = false

    /// The windows between two instants, of which none is read yet; `clock` is the present's.
    init(since: Timestamp, until: Timestamp, _ clock: ObservationClock) {
        self.since = since
        self.until = until
        self.clock = clock
    }

    /// Reads the windows of blindness, which are told of when they end; those that are open the
    /// state writer knows.
    /// - Throws: `StoreError` if the store cannot be read.
    mutating func read(_ work: HistoryWork) throws(StoreError) {
        for reason in BlindReason.allCases {
            guard let onset = clock.open[Int(reason.rawValue)] else { continue }
            add(Window(reason: reason, since: clock.wall(onset), until: nil))
        }
        var id = Int64.max
        var looked = 0
        var isEnd = false
        while !isEnd {
            guard windows.count <= work.limits.blindWindows else {
                windows.removeLast()
                return isTruncated = true
            }
            guard !work.isOver, looked < work.limits.decisionsAboutNobody else {
                return isTruncated = true
            }
            var isBehind = false
            isEnd = try work.reader.decisionsAboutNobody(before: &id) { row in
                looked += 1
                guard row.atMilliseconds > since.milliseconds else {
                    isBehind = true
                    return false
                }
                if DecisionCode.isBlindness(row.kind),
                    case .blind(let at, false, let since, let reason)? = DecisionCode.decision(row)
                {
                    add(Window(reason: reason, since: since, until: at))
                }
                return looked < work.limits.decisionsAboutNobody
                    && windows.count <= work.limits.blindWindows
            }
            if isBehind { return }
        }
    }

    /// Adds a window that is older than those of its reason before it. What is too short to be told
    /// is left out, and what is close to the next one is part of it (D5): older versions stored each.
    private mutating func add(_ window: Window) {
        let end = window.until ?? clock.wallNow
        guard window.since < until, end - window.since >= BlindReason.reportedFrom else {
            return
        }
        let newer = windows.lastIndex { $0.reason == window.reason }
        guard let newer, let until = window.until,
            windows[newer].since - until < BlindReason.joinedWithin
        else { return windows.append(window) }
        windows[newer].since = min(windows[newer].since, window.since)
    }

    /// True inside a window; at its ends the watch could see.
    func contains(_ at: Timestamp) -> Bool {
        windows.contains { $0.since < at && $0.until.map { at < $0 } ?? true }
    }

    /// Appends them as a member of an object, the oldest first.
    func append(to body: inout [UInt8]) {
        JSONWriter.raw("\"blind\":", to: &body)
        let order = windows.sorted {
            ($0.since, $0.reason.rawValue) < ($1.since, $1.reason.rawValue)
        }
        JSONWriter.list(order, to: &body) { window, body in
            JSONWriter.raw("{\"reason\":", to: &body)
            JSONWriter.word(window.reason.word, to: &body)
            ResponderJSON.time("since", window.since, to: &body)
            ResponderJSON.time("until", window.until ?? .distantPast, to: &body)
            JSONWriter.raw("}", to: &body)
        }
    }
}
