extension Oracle {
    /// A backend that promised beats. Source: B2.
    struct Source {
        /// The line's source.
        let name: Name
        /// The promised spacing.
        var every: Span
        /// The newest beat.
        var lastBeat: Moment
        /// Whether 2.5 beats are missing.
        var isMissing = false
        /// How much of the 15 min has passed. Source: F11.
        var absent: Span = 0
        /// Since when more of it passes; nil while all are missing. Source: F11.
        var absentSince: Instant?

        /// When it will have missed 2.5 beats.
        var due: Instant { lastBeat.instant + every * 5 / 2 }

        /// The next instant at which it may change by itself, perhaps in the past.
        var nextInstant: Instant {
            if !isMissing { return due }
            guard let absentSince else { return .min }
            return absentSince + Oracle.disarmAfter - absent
        }

        /// Takes a beat.
        mutating func beat(at moment: Moment) {
            lastBeat = moment
            isMissing = false
            absent = 0
            absentSince = nil
        }
    }

    /// How long a source is missing, while another beats, until it is disarmed. Source: B2.
    static let disarmAfter: Span = 15 * 60_000
    private static let sourcesMax = 64
    private static let everySecondsMax = 3600

    /// Notes a write, which is a beat of its source if that is declared. Source: B1, B2, F10.
    mutating func noteWrite(from source: String?) {
        let moment = Moment(instant: now, wall: wall)
        writes.append(Write(at: moment, count: 1, isRefused: false))
        let name = Name(source ?? "default")
        for index in sources.indices where sources[index].name == name {
            sources[index].beat(at: moment)
        }
    }

    /// Declares a source, beats, or disarms; one that cannot be read is no write. Source: B2, F6.
    mutating func takeHeartbeat(everySeconds: Int, from source: String?) {
        guard (0...Self.everySecondsMax).contains(everySeconds) else { return }
        let moment = Moment(instant: now, wall: wall)
        writes.append(Write(at: moment, count: 1, isRefused: false))
        let name = Name(source ?? "default")
        guard everySeconds > 0 else {
            sources.removeAll { $0.name == name }
            return
        }
        isFeedStalled = false
        let every = Span(everySeconds) * 1000
        if let index = sources.firstIndex(where: { $0.name == name }) {
            sources[index].every = every
            sources[index].beat(at: moment)
        } else if sources.count < Self.sourcesMax {
            sources.append(Source(name: name, every: every, lastBeat: moment))
        }
    }

    /// Counts a start as a beat of every source that was not down. Source: F10.
    mutating func beatAtStart() {
        for index in sources.indices where !sources[index].isMissing {
            sources[index].beat(at: Moment(instant: now, wall: wall))
        }
    }

    /// Notices missing sources and disarms those missing for 15 min while another beats; nobody is
    /// missed for beats that a failing store refuses. Source: B2, D6, F11.
    mutating func missBeats() {
        let heardUntil = storeFailing?.instant ?? .max
        for index in sources.indices where sources[index].due <= min(now, heardUntil) {
            sources[index].isMissing = true
        }
        let areAllMissing = sources.allSatisfy { $0.isMissing }
        for index in sources.indices where sources[index].isMissing {
            if areAllMissing {
                if let since = sources[index].absentSince { sources[index].absent += now - since }
                sources[index].absentSince = nil
            } else if sources[index].absentSince == nil {
                sources[index].absentSince = now
            }
        }
        sources.removeAll { source in
            guard let since = source.absentSince else { return false }
            return source.absent + now - since >= Self.disarmAfter
        }
    }

    /// Declared sources, each with whether it is missing, in the order of declaration.
    func sourceStates() -> [String] {
        sources.map { "\($0.name.text) \($0.isMissing ? "is missing" : "beats")" }
    }

    /// The newest beat of any source if there are sources and all are missing. Source: B1, B2.
    func lastBeatOfAll() -> Moment? {
        guard sources.allSatisfy({ $0.isMissing }) else { return nil }
        return sources.map(\.lastBeat).max {
            ($0.instant, $0.wall) < ($1.instant, $1.wall)
        }
    }
}
