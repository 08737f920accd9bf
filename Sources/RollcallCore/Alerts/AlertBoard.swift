/// The alerts that are pending or firing, and what must be looked at again. Source: A1.
package struct AlertBoard: Sendable {
    /// An alert and its number for the queue of timers.
    struct Entry: Sendable {
        var alert: Alert
        var serial: UInt32
        /// The earliest instant at which somebody is to be told of it again.
        var repeatAt = RunningTime.distantFuture
    }

    var entries: [AlertKey: Entry] = [:]
    /// Keys by their numbers.
    var keys: [UInt32: AlertKey] = [:]
    private var nextSerial: UInt32 = 1
    /// The instants at which an alert that is evaluated in observed time may fire or end by time
    /// alone.
    private var timers = DeadlineQueue<ObservedTime>()
    /// Regions of which some number changed, each once, and a mark for each of them.
    private var dirtyRegions: [UInt32] = []
    private var dirtyMarks: [Bool] = []
    /// Alerts about regions that nobody is in any more, and which have no number.
    private var dirtyKeys = Set<AlertKey>()
    /// True to look at everything.
    var isAllDirty = false
    /// Those of `entries` that are about the watch itself: few, and looked at each instant.
    private(set) var aboutRollcall: Set<AlertKey> = []
    /// Those that somebody should be told of and was not.
    var muted: Set<AlertKey> = []
    /// Alerts by the notices by which a receiver was told first that is not known to have taken it.
    var untaken: [Int64: Set<AlertKey>] = [:]
    /// The instants at which somebody is to be told of an alert again; some entries are out of
    /// date.
    var repeats = DeadlineQueue<RunningTime>()
    /// True once a batch, a fact or a roster came: before, nobody can be missed (F29).
    var hasInput = false
    /// True if the evaluation of this instant changed anything, told or not.
    private(set) var hasChanged = false

    /// Those that are pending or firing, in no order.
    package var all: [(key: AlertKey, alert: Alert)] { entries.map { ($0.key, $0.value.alert) } }

    /// The number of those that are pending or firing.
    package var count: Int { entries.count }

    /// Calls `body` with each that is pending or fires, in no order; nothing is copied.
    package func forEach(_ body: (AlertKey, borrowing Alert) -> Void) {
        for (key, entry) in entries { body(key, entry.alert) }
    }

    /// An alert that is pending or firing.
    package subscript(key: AlertKey) -> Alert? { entries[key]?.alert }

    // MARK: - What changed

    /// Notes that a person was counted otherwise than before.
    mutating func follow(from before: Responder, to after: Responder) {
        let isSame =
            before.isActive == after.isActive && before.status == after.status
            && before.region == after.region && before.isDark == after.isDark
            && before.isFlapping == after.isFlapping && before.isMissed == after.isMissed
        guard !isSame else { return }
        note(dirty: before.region)
        note(dirty: after.region)
    }

    /// Notes that some number of a region changed.
    mutating func note(dirty region: UInt32) {
        while dirtyMarks.count <= region { dirtyMarks.append(false) }
        guard !dirtyMarks[Int(region)] else { return }
        dirtyMarks[Int(region)] = true
        dirtyRegions.append(region)
    }

    /// True of a region of which some number changed and which was not looked at since.
    func isDirty(_ region: UInt32) -> Bool {
        Int(region) < dirtyMarks.count && dirtyMarks[Int(region)]
    }

    /// A region's number leads to it no longer: what there is about it is evaluated once more by
    /// name.
    mutating func noteGone(_ region: [UInt8]) {
        for name in AlertName.ofRegions {
            let key = AlertKey(name: name, subject: .region(region))
            if entries[key] != nil { dirtyKeys.insert(key) }
        }
    }

    /// Something came: from now on missing people can be missed.
    mutating func heard() {
        guard !hasInput else { return }
        hasInput = true
        isAllDirty = true
    }

    /// True if something changed that alerts are judged by, or a timer expired.
    @inline(__always)
    func isDue(_ now: ObservedTime) -> Bool {
        isAllDirty || !dirtyRegions.isEmpty || !dirtyKeys.isEmpty || nextTimer <= now
    }

    /// A evaluation begins.
    mutating func beginEvaluation() { hasChanged = false }

    /// Takes what is to be looked at.
    mutating func takeDirty() -> (regions: [UInt32], keys: Set<AlertKey>, isAll: Bool) {
        defer {
            for region in dirtyRegions { dirtyMarks[Int(region)] = false }
            dirtyRegions = []
            dirtyKeys = []
            isAllDirty = false
        }
        return (dirtyRegions, dirtyKeys, isAllDirty)
    }

    // MARK: - Evaluation

    /// Evaluates one alert: whether it is true now, and by which numbers. Returns its new state if
    /// it changed. `now` is by the clock that it is evaluated in (F9).
    mutating func evaluate(
        _ key: AlertKey, _ isTrue: Bool, _ stats: AlertStats, _ rule: AlertRules.Rule,
        now: Int64, wall: Timestamp
    ) -> Alert? {
        guard let known = entries[key] else {
            guard isTrue, rule.isEnabled else { return nil }
            var alert = Alert(since: now, activeAt: wall, stats: stats)
            if rule.pendingFor.count <= 0 { alert.fire(wall) }
            keep(key, alert, rule)
            return alert
        }
        var alert = known.alert
        if isTrue && rule.isEnabled {
            alert.stats = stats
            alert.falseSince = nil
            let isDue = alert.state == .pending && now - alert.since >= rule.pendingFor.count
            if isDue { alert.fire(wall) }
            keep(key, alert, rule)
            return isDue ? alert : nil
        }
        let since = alert.falseSince ?? now
        if alert.state == .firing, rule.isEnabled, now - since < rule.keepFiringFor.count {
            alert.falseSince = since
            keep(key, alert, rule)
            return nil
        }
        remove(key, known.serial)
        alert.state = alert.state == .firing ? .resolved : .inactive
        return alert
    }

    private mutating func keep(_ key: AlertKey, _ alert: Alert, _ rule: AlertRules.Rule) {
        let known = entries[key]
        if known?.alert != alert {
            hasChanged = true
            if known == nil { insert(key, alert) } else { entries[key]?.alert = alert }
        }
        guard !key.name.isAboutRollcall, let due = alert.due(rule),
            known?.alert.due(rule) != due, let serial = entries[key]?.serial
        else { return }
        timers.push(.init(at: ObservedTime(milliseconds: due), number: serial))
    }

    /// Keeps what is known of one that fires.
    mutating func note(_ key: AlertKey, _ alert: Alert) { entries[key]?.alert = alert }

    // MARK: - Timers

    /// The earliest instant at which a timer may expire, in observed time.
    var nextTimer: ObservedTime { timers.first?.at ?? .distantFuture }

    /// Takes the keys whose timers expired.
    mutating func takeExpired(_ now: ObservedTime) -> [AlertKey] {
        var expired: [AlertKey] = []
        while let first = timers.first, first.at <= now {
            _ = timers.popFirst()
            if let key = keys[first.number] { expired.append(key) }
        }
        return expired
    }

    /// Returns the earliest instant at which an alert that is evaluated in running time may fire or
    /// end by time alone.
    func nextRunningTimer(_ rules: AlertRules) -> RunningTime {
        var next = RunningTime.distantFuture
        for key in aboutRollcall {
            guard let due = entries[key]?.alert.due(rules[key.name]) else { continue }
            next = min(next, RunningTime(milliseconds: due))
        }
        return next
    }

    /// Timers are as the rules say now.
    mutating func armAgain(_ rules: AlertRules) {
        timers.removeAll()
        for (key, entry) in entries where !key.name.isAboutRollcall {
            guard let due = entry.alert.due(rules[key.name]) else { continue }
            timers.push(.init(at: ObservedTime(milliseconds: due), number: entry.serial))
        }
    }

    /// It was not known whether one is true: if it is pending, its timer starts anew.
    mutating func startAnew(_ key: AlertKey, _ rule: AlertRules.Rule, now: Int64) {
        guard var entry = entries[key], entry.alert.state == .pending else { return }
        entry.alert.since = now
        entries[key] = entry
        let due = ObservedTime(milliseconds: now + rule.pendingFor.count)
        timers.push(.init(at: due, number: entry.serial))
    }

    /// After a long blindness the timers of pending alerts start anew (B5).
    mutating func startPendingAnew(_ now: ObservedTime, _ rules: AlertRules) {
        change { $0.state == .pending ? $0.since = now.milliseconds : () }
        armAgain(rules)
    }

    /// Observed time was set back (B1).
    mutating func clampInstants(to now: ObservedTime, _ rules: AlertRules) {
        change { alert in
            alert.since = min(alert.since, now.milliseconds)
            alert.falseSince = alert.falseSince.map { min($0, now.milliseconds) }
        }
        armAgain(rules)
    }

    private mutating func change(_ body: (inout Alert) -> Void) {
        for key in entries.keys where !key.name.isAboutRollcall {
            if var entry = entries[key] {
                body(&entry.alert)
                entries[key] = entry
            }
        }
    }

    // MARK: - Coming back

    /// Knows the alerts that `other` knows, and no others.
    mutating func takeEntries(of other: AlertBoard) {
        entries = other.entries
        keys = other.keys
        nextSerial = max(nextSerial, other.nextSerial)
        aboutRollcall = other.aboutRollcall
        muted = other.muted
        repeats = other.repeats
        untaken = other.untaken
    }

    /// Lets go of alerts without telling anybody; false if there are none of them.
    mutating func drop(where isMeant: (AlertKey) -> Bool) -> Bool {
        let meant = entries.filter { isMeant($0.key) }
        for (key, entry) in meant { remove(key, entry.serial) }
        return !meant.isEmpty
    }

    /// Makes a stored change: of a pending one it is not known since when, so it is from `now` on.
    mutating func put(_ report: AlertReport, since now: Int64, firedAt: RunningTime) {
        if let known = entries[report.key] { remove(report.key, known.serial) }
        guard report.state == .pending || report.state == .firing else { return }
        var alert = Alert(since: now, activeAt: report.activeAt, stats: report.stats)
        alert.state = report.state
        alert.startsAt = report.startsAt
        alert.incident = report.incident
        alert.firedAt = firedAt
        alert.severity = report.severity
        alert.labels = report.labels
        alert.annotations = report.annotations
        alert.facts = report.facts
        insert(report.key, alert)
    }

    /// A receiver was told of a firing, singly or by a storm; as `fallback` says if no matcher names it.
    mutating func notify(
        _ receiver: [UInt8], of key: AlertKey, at now: RunningTime, _ fallback: Fallback? = nil,
        storm: Int64 = 0
    ) {
        entries[key]?.alert.notify(receiver, at: now, fallback, storm: storm)
    }

    /// A receiver is told of a firing by a storm, or by 0 singly, without being told anything now.
    mutating func move(_ receiver: [UInt8], of key: AlertKey, toStorm storm: Int64) {
        entries[key]?.alert.move(receiver, toStorm: storm)
    }

    private mutating func remove(_ key: AlertKey, _ serial: UInt32) {
        if !untaken.isEmpty, let alert = entries[key]?.alert { dropTriggers(of: key, alert) }
        entries[key] = nil
        keys[serial] = nil
        if key.name.isAboutRollcall { aboutRollcall.remove(key) }
        if !muted.isEmpty { muted.remove(key) }
        tidyRepeats()
    }

    private mutating func insert(_ key: AlertKey, _ alert: Alert) {
        keys[nextSerial] = key
        entries[key] = Entry(alert: alert, serial: nextSerial)
        nextSerial &+= 1
        if key.name.isAboutRollcall { aboutRollcall.insert(key) }
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&hasInput)
        var list = all.sorted { AlertKey.areInOrder($0.key, $1.key) }
        let empty = (AlertKey(name: .highOfflineRate, subject: .all), Alert())
        archive.code(&list, empty: empty) { archive, entry in
            entry.0.code(&archive)
            entry.1.code(&archive)
        }
        var marks = TriggerMark.all(list)
        archive.code(&marks, empty: TriggerMark()) { $1.code(&$0) }
        // Since version 8; what is older ends here.
        var firedAt = list.map(\.1.firedAt)
        archive.code(&firedAt, empty: .distantPast) { $0.code(&$1) }
        var turnovers = TurnoverMark.all(list)
        archive.code(&turnovers, empty: TurnoverMark()) { $1.code(&$0) }
        guard archive.isReading else { return }
        for (place, firedAt) in zip(list.indices, firedAt) { list[place].1.firedAt = firedAt }
        for turnover in turnovers where !turnover.put(into: &list) { archive.refuse() }
        for mark in marks where !mark.put(into: &list) { archive.refuse() }
        for (key, alert) in list {
            insert(key, alert)
            if !alert.muted.isEmpty { muted.insert(key) }
            for notified in alert.notified where notified.trigger != 0 {
                untaken[notified.trigger, default: []].insert(key)
            }
        }
        isAllDirty = true
    }
}

extension Alert {
    /// Returns the instant at which time alone fires or ends it, in milliseconds of the time that
    /// it is judged by; nil for none.
    func due(_ rule: AlertRules.Rule) -> Int64? {
        if state == .pending { return since + rule.pendingFor.count }
        return falseSince.map { $0 + rule.keepFiringFor.count }
    }

    fileprivate mutating func fire(_ wall: Timestamp) {
        state = .firing
        startsAt = wall
    }
}

extension AlertKey {
    /// By name, then by labels (F1).
    package static func areInOrder(_ a: AlertKey, _ b: AlertKey) -> Bool {
        if a.name != b.name { return a.name.rank < b.name.rank }
        if a.subject.rank != b.subject.rank { return a.subject.rank < b.subject.rank }
        return a.subject.name.lexicographicallyPrecedes(b.subject.name)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        var rank = subject.rank
        var bytes = subject.name
        archive.code(&rank)
        archive.code(&bytes)
        switch rank {
        case 0: subject = .all
        case 1: subject = .region(bytes)
        case 2: subject = .source(bytes)
        case 3: subject = .suspected
        case 4: subject = .cell(bytes)
        default: archive.refuse()
        }
    }
}

extension AlertSubject {
    /// Its place among the labels `region`, `source`, `suspected`.
    fileprivate var rank: UInt8 {
        switch self {
        case .all: 0
        case .region: 1
        case .source: 2
        case .suspected: 3
        case .cell: 4
        }
    }

    /// The label's name; nil of `all`.
    var labelName: StaticString? {
        switch self {
        case .all: nil
        case .region: "region"
        case .source: "source"
        case .suspected: "suspected"
        case .cell: "cell"
        }
    }

    /// The label's value, as bytes; none of `all`.
    package var name: [UInt8] {
        switch self {
        case .all: []
        case .region(let name), .source(let name), .cell(let name): name
        case .suspected: Array("true".utf8)
        }
    }
}
