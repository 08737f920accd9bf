/// Takes out of a story what no rule decides: two values of one fact for one watched instant.
///
/// All instants inside a blind window are the same one (F9), so what was told first for
/// it stays and other values are not sent.
struct BlindTies {
    /// What was told of one field for one instant.
    private struct Told {
        var instant: Int64
        var value: String
        /// The highest sequence of the batch; nil for facts and batches without updates.
        var sequence: Int64?
    }

    private let windows: [ClosedRange<Int64>]
    private var told: [String: [Told]] = [:]

    /// Removes the undecided values from `story`.
    static func remove(from story: inout Story) {
        var ties = BlindTies(windows: BlindWindows.of(story.lines))
        var steps: Int64 = 0
        var clocks = ClockBook()
        for index in story.lines.indices {
            let line = story.lines[index]
            if case .clock(let step) = line.event { steps += step }
            clocks.note(line, at: line.at - steps)
            story.lines[index].event = ties.sieved(
                line.event, at: line.at, steps: steps, behind: clocks.correction(of: line.source))
        }
    }

    private mutating func sieved(
        _ event: StoryEvent, at: Int64, steps: Int64, behind: Int64
    ) -> StoryEvent {
        func instant(_ time: Int64?) -> Int64 {
            place(at - steps - max(0, at - (time.map { $0 + behind } ?? at)))
        }
        switch event {
        case .batch(var items):
            for index in items.indices {
                sieve(&items[index], instant(items[index].receivedAt))
            }
            return .batch(items)
        case .responder(var items):
            for index in items.indices { sieve(&items[index], instant(items[index].at)) }
            return .responder(items)
        case .roster(var items, let note):
            for index in items.indices { sieve(&items[index], instant(items[index].at)) }
            return .roster(items, note)
        default: return event
        }
    }

    /// The instant, or the onset of the blind window that it lies in.
    private func place(_ instant: Int64) -> Int64 {
        windows.first { $0.contains(instant) }?.lowerBound ?? instant
    }

    private mutating func sieve(_ item: inout BatchItem, _ instant: Int64) {
        let sequence = item.updates.compactMap(\.sequence).max()
        func isNew(_ field: String, _ value: String?) -> Bool {
            takes(field + item.responderID, value, instant, sequence)
        }
        if !isNew("d", item.dutyState) { item.dutyState = nil }
        if !isNew("r", item.region) { item.region = nil }
        if !isNew("c", item.circles?.joined(separator: ",")) { item.circles = nil }
        if !isNew("s", item.sharing) { item.sharing = nil }
        if !isNew("p", item.platform) { item.platform = nil }
        if !isNew("b", item.battery.map { "\($0)" }) { item.battery = nil }
        let telemetry = item.telemetry
        if !isNew("t", telemetry.isSent ? telemetry.json() : nil) {
            item.telemetry = StoryTelemetry()
        }
    }

    private mutating func sieve(_ item: inout FactItem, _ instant: Int64) {
        func isNew(_ field: String, _ value: String?) -> Bool {
            takes(field + item.responderID, value, instant, nil)
        }
        if !isNew("d", item.dutyState) { item.dutyState = nil }
        if !isNew("r", item.region) { item.region = nil }
        if !isNew("c", item.circles?.joined(separator: ",")) { item.circles = nil }
        if !isNew("p", item.platform) { item.platform = nil }
        var sharing = item.sharing
        if let until = item.pausedUntil { sharing = "\(sharing ?? "") until \(until)" }
        if !isNew("s", sharing) {
            item.sharing = nil
            item.pausedUntil = nil
        }
    }

    /// False if another value was told for this instant and no rule says which one holds.
    private mutating func takes(
        _ field: String, _ value: String?, _ instant: Int64, _ sequence: Int64?
    ) -> Bool {
        guard let value else { return true }
        let isBlind = windows.contains { $0.contains(instant) }
        for old in told[field] ?? [] where old.instant == instant && old.value != value {
            // Ties go to the higher sequence (I2); without one nothing is said.
            guard !isBlind, let sequence, let other = old.sequence, sequence != other else {
                return false
            }
        }
        told[field, default: []].append(Told(instant: instant, value: value, sequence: sequence))
        return true
    }
}

/// The stretches of a story in which Rollcall cannot see, a little generously for overload.
struct BlindWindows {
    private struct Source {
        var name: String
        var every: Int64
        var lastBeat: Int64

        /// From here on it is missing (B2).
        var deadline: Int64 { lastBeat + every * 2500 }
    }

    private var windows: [ClosedRange<Int64>] = []
    private var sources: [Source] = []
    private var failingSince: Int64?
    private var last: Int64?

    /// The windows, united where they overlap or touch, in order; running time.
    static func of(_ lines: [StoryLine]) -> [ClosedRange<Int64>] {
        var blind = BlindWindows()
        var steps: Int64 = 0
        for line in lines {
            if case .clock(let step) = line.event { steps += step }
            blind.note(line, line.at - steps)
            blind.last = line.at - steps
        }
        let end = blind.last ?? 0
        blind.closeHeartbeats(end)
        if let since = blind.failingSince { blind.windows.append(since...end) }
        return united(blind.windows)
    }

    private static func united(_ windows: [ClosedRange<Int64>]) -> [ClosedRange<Int64>] {
        var united: [ClosedRange<Int64>] = []
        for window in windows.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = united.last, window.lowerBound <= last.upperBound {
                united[united.count - 1] =
                    last.lowerBound...max(last.upperBound, window.upperBound)
            } else {
                united.append(window)
            }
        }
        return united
    }

    private mutating func note(_ line: StoryLine, _ now: Int64) {
        let previous = last ?? now
        switch line.event {
        case .batch, .transition, .responder, .roster, .erase: beat(line.source, nil, now)
        case .ask(let ask): if ask.by != nil { beat(line.source, nil, now) }
        case .heartbeat(let every): beat(line.source, Int64(every), now)
        case .store(let isFailing):
            if isFailing {
                failingSince = failingSince ?? now
            } else if let since = failingSince {
                windows.append(since...now)
                failingSince = nil
            }
        case .refused(let count):
            if count > 0 { windows.append(now...now + 15_000) }
        case .start:
            windows.append(previous...now)
            for index in sources.indices where sources[index].deadline > previous {
                sources[index].lastBeat = now
            }
        case .turn(let late):
            if (late ?? now - previous - 5000) > 5000 { windows.append(previous...now) }
        case .skew, .clock, .policy, .silence, .silenceEnd, .take, .giveBack, .stop: break
        }
    }

    private mutating func beat(_ name: String?, _ every: Int64?, _ now: Int64) {
        let name = name ?? "default"
        let place = sources.firstIndex { $0.name == name }
        if place == nil && (every ?? 0) == 0 { return }
        closeHeartbeats(now)
        if let place {
            sources[place].lastBeat = now
            if let every { sources[place].every = every }
            if every == 0 { sources.remove(at: place) }
        } else if let every {
            sources.append(Source(name: name, every: every, lastBeat: now))
        }
    }

    /// If all sources were missing before `now`, that was a window from the last beat of any.
    private mutating func closeHeartbeats(_ now: Int64) {
        guard let deadline = sources.map(\.deadline).max(), deadline < now,
            let since = sources.map(\.lastBeat).max()
        else { return }
        windows.append(since...now)
    }
}
