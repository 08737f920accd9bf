/// The sources that promised to beat. Source: B2, F10, F11.
package struct Feed: Sendable {
    /// One backend instance.
    package struct Source: Sendable {
        /// Its name, as bytes.
        package var name: [UInt8]
        /// The interval at which it promised to beat.
        package var every: Milliseconds
        package var lastBeat: RunningTime
        /// The instant at which it was noticed to be missing; nil while it beats.
        package var downSince: RunningTime?
        /// The instant at which a missing one is disarmed, by the time that ran so far.
        var disarmAt = RunningTime.distantFuture
        /// True if it beat last because this watch runs again, and not by itself; no checkpoint has it.
        var isAssumed = false

        /// 2.5 beats after the last one.
        var deadline: RunningTime { lastBeat + Milliseconds(every.count * 5 / 2) }
    }

    /// Sources declared at most.
    package static let sourcesMax = 64
    /// The time for which a missing source keeps its place while another one beats.
    package static let disarmAfter = Milliseconds.seconds(15 * 60)

    /// In the order of declaration.
    package internal(set) var sources: [Source] = []
    /// Since when all were missing; nil while one beats.
    var allMissingSince: RunningTime?
    /// The skews of the clocks of sources, declared or not, as far as they are known.
    package internal(set) var skews = SourceSkews()

    /// True if sources are declared and none of them beats.
    package var isAllMissing: Bool {
        !sources.isEmpty && sources.allSatisfy { $0.downSince != nil }
    }

    /// True if one of them does not.
    var isAnyMissing: Bool { sources.contains { $0.downSince != nil } }

    /// The last beat of any source.
    var lastBeat: RunningTime { sources.map(\.lastBeat).max() ?? .distantPast }

    /// True if it matters who sends: somebody promised to beat, or has a clock that is off.
    var asksForSources: Bool { !sources.isEmpty || skews.isCorrecting }

    /// Returns the next instant at which time alone changes something; beats can be heard until
    /// `heardUntil`.
    func nextInstant(heardUntil: RunningTime) -> RunningTime {
        var next = skews.nextInstant
        for source in sources {
            if source.downSince == nil {
                if source.deadline <= heardUntil { next = min(next, source.deadline) }
            } else if allMissingSince == nil {
                next = min(next, source.disarmAt)
            }
        }
        return next
    }

    /// A heartbeat: declares the source, or changes what it promised. Zero disarms. The 65th
    /// source is not taken.
    mutating func beat(_ name: [UInt8], every: Milliseconds, now: RunningTime) {
        if every.count == 0 {
            sources.removeAll { $0.name == name }
        } else if let index = sources.firstIndex(where: { $0.name == name }) {
            sources[index].every = every
            revive(index, now)
        } else if sources.count < Self.sourcesMax {
            sources.append(Source(name: name, every: every, lastBeat: now))
        }
        resumeDisarming(now)
    }

    /// A write of a source: a beat if the source is declared.
    mutating func wrote(_ name: [UInt8], now: RunningTime) {
        guard !sources.isEmpty, let index = sources.firstIndex(where: { $0.name == name }) else {
            return
        }
        revive(index, now)
        resumeDisarming(now)
    }

    /// Another watch heard of a source at an instant that lies behind us: a beat, unless it is too long ago.
    mutating func heard(of name: [UInt8], at instant: RunningTime, now: RunningTime) {
        guard let index = sources.firstIndex(where: { $0.name == name }) else { return }
        let last = sources[index].lastBeat
        let every = sources[index].every.count
        guard instant > last, (now - instant).count < every * 5 / 2 else { return }
        revive(index, min(instant, now))
        resumeDisarming(now)
    }

    /// We run again, after a start or a suspension: a beat of every source that was not down (F10, D6).
    mutating func start(now: RunningTime) {
        for index in sources.indices where sources[index].downSince == nil {
            (sources[index].lastBeat, sources[index].isAssumed) = (now, true)
        }
    }

    /// Notes the sources that are missing at `now`, and lets go of those that nobody misses; beats could
    /// be heard until `heardUntil`.
    mutating func evaluate(now: RunningTime, heardUntil: RunningTime) {
        for index in sources.indices
        where sources[index].downSince == nil && sources[index].deadline <= min(now, heardUntil) {
            sources[index].downSince = now
            sources[index].disarmAt = now + Self.disarmAfter
        }
        if isAllMissing {
            allMissingSince = allMissingSince ?? now
        } else {
            sources.removeAll { $0.downSince != nil && $0.disarmAt <= now }
        }
    }

    mutating func code(_ archive: inout Archive) {
        let empty = Source(name: [], every: Milliseconds(0), lastBeat: .distantPast)
        archive.code(&sources, empty: empty) { archive, source in
            archive.code(&source.name)
            archive.code(&source.every)
            archive.code(&source.lastBeat)
            archive.code(&source.downSince, empty: .distantPast) { $0.code(&$1) }
            archive.code(&source.disarmAt)
        }
        archive.code(&allMissingSince, empty: .distantPast) { $0.code(&$1) }
        // Version 1 knew no parts that may end early.
        if archive.version >= 6 { skews.code(&archive) }
    }

    private mutating func revive(_ index: Int, _ now: RunningTime) {
        (sources[index].lastBeat, sources[index].isAssumed) = (now, false)
        sources[index].downSince = nil
    }

    /// The 15 minutes do not run while all are missing (F11).
    private mutating func resumeDisarming(_ now: RunningTime) {
        guard let since = allMissingSince, !isAllMissing else { return }
        allMissingSince = nil
        for index in sources.indices where sources[index].downSince != nil {
            sources[index].disarmAt = sources[index].disarmAt + (now - since)
        }
    }
}

/// The writes of the last 15 s, taken and refused. Source: B1, F11.
struct WriteWindow: Sendable {
    struct Slot: Sendable {
        var at: RunningTime
        var taken: Int
        var refused: Int
    }

    static let span = Milliseconds.seconds(15)
    /// Writes below which a refused half says nothing.
    static let writesMin = 10

    /// One slot an instant, oldest first, from `first` on.
    private(set) var slots: [Slot] = []
    private var first = 0
    private(set) var taken = 0
    private(set) var refused = 0

    /// The slots still in the window.
    var live: ArraySlice<Slot> { slots[first...] }

    /// At least 10 writes, half of them refused.
    var isOverloaded: Bool {
        refused > 0 && taken + refused >= Self.writesMin && refused * 2 >= taken + refused
    }

    /// The oldest refused write.
    var oldestRefusal: RunningTime? { live.first { $0.refused > 0 }?.at }

    /// The next instant at which a write leaves the window, if that can matter.
    var nextInstant: RunningTime {
        guard refused > 0, let oldest = live.first else { return .distantFuture }
        return oldest.at + Self.span
    }

    mutating func add(taken: Int = 0, refused: Int = 0, now: RunningTime) {
        if first < slots.count, slots[slots.count - 1].at == now {
            slots[slots.count - 1].taken += taken
            slots[slots.count - 1].refused += refused
        } else {
            slots.append(Slot(at: now, taken: taken, refused: refused))
        }
        self.taken += taken
        self.refused += refused
    }

    /// Forgets what is 15 s old or older.
    mutating func expire(now: RunningTime) {
        while first < slots.count, now - slots[first].at >= Self.span {
            taken -= slots[first].taken
            refused -= slots[first].refused
            first += 1
        }
        if first > 1024, first * 2 > slots.count {
            slots.removeFirst(first)
            first = 0
        }
    }
    mutating func code(_ archive: inout Archive) {
        var slots = Array(live)
        archive.code(&slots, empty: Slot(at: .distantPast, taken: 0, refused: 0)) { archive, slot in
            archive.code(&slot.at)
            archive.code(&slot.taken)
            archive.code(&slot.refused)
        }
        guard archive.isReading else { return }
        self = WriteWindow()
        for slot in slots { add(taken: slot.taken, refused: slot.refused, now: slot.at) }
    }
}
