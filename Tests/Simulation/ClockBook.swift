import RollcallTools

/// What is known of the clocks of sources: the raw facts, from which all else is derived each time.
/// Source: D10.
struct ClockBook {
    /// What was learned, in its order.
    private enum Fact {
        /// A minute of the source says that its clock is so far behind.
        case minute(source: String, skew: Int64)
        /// The host's wall stepped.
        case step(Int64)
        /// It is looked whether something is too old.
        case look
    }

    /// What follows from the facts about one source.
    struct Clock: Equatable {
        var skew: Int64
        var correction: Int64
        var state: String
        /// When the last minute ended.
        var at: Int64
        /// The fact since which it is known.
        var since: Int
    }

    /// How long the last minute holds.
    private static let keptFor: Int64 = 15 * 60_000

    private var facts: [(at: Int64, fact: Fact)] = []
    private var names: Set<String> = []

    /// What is added to the times of `source`, which are told now.
    func correction(of source: String?) -> Int64 {
        clock(of: source ?? "default")?.correction ?? 0
    }

    /// When what is known is too old, source by source.
    var instants: [Int64] { names.compactMap { clock(of: $0) }.map { $0.at + Self.keptFor } }

    /// Takes a minute of a source; what changes by it.
    mutating func take(_ source: String?, skew: Int64, at now: Int64) -> [(String, Clock)] {
        names.insert(source ?? "default")
        return take(.minute(source: source ?? "default", skew: skew), at: now)
    }

    /// Takes a step of the host's wall; what changes by it.
    mutating func take(step: Int64, at now: Int64) -> [(String, Clock)] {
        take(.step(step), at: now)
    }

    /// Looks whether something is too old; what changes by it.
    mutating func look(at now: Int64) -> [(String, Clock)] {
        instants.contains { $0 <= now } ? take(.look, at: now) : []
    }

    /// Takes what a line says of clocks.
    mutating func note(_ line: StoryLine, at now: Int64) {
        _ = look(at: now)
        if case .skew(let skew) = line.event { _ = take(line.source, skew: skew, at: now) }
        if case .clock(let step) = line.event { _ = take(step: step, at: now) }
    }

    private mutating func take(_ fact: Fact, at now: Int64) -> [(String, Clock)] {
        let before = names.compactMap { name in clock(of: name).map { (name, $0) } }
        facts.append((now, fact))
        var changes: [(String, Clock)] = []
        for name in names {
            let old = before.first { $0.0 == name }?.1
            if let new = clock(of: name) {
                let was = old.map { ($0.state, $0.correction) } ?? ("right", 0)
                if was != (new.state, new.correction) { changes.append((name, new)) }
            } else if var old, old.state != "right" {
                (old.state, old.correction) = ("unmeasured", 0)
                changes.append((name, old))
            }
        }
        return changes.sorted { $0.1.since < $1.1.since }
    }

    private func clock(of name: String) -> Clock? {
        var known: Clock?
        for (place, (at, fact)) in facts.enumerated() {
            switch fact {
            case .look:
                if let clock = known, at - clock.at >= Self.keptFor { known = nil }
            case .step(let step):
                guard let clock = known, clock.state != "right" else {
                    known = nil
                    continue
                }
                var moved = clock
                moved.skew += step
                moved.correction =
                    clock.correction == 0 ? 0 : Self.added(clock.correction + step)
                moved.state = Self.state(moved.skew, moved.correction)
                known = moved
            case .minute(let source, let skew):
                if source == name { known = Self.next(known, skew, at: at, place) }
            }
        }
        return known
    }

    /// What a minute makes of what is known.
    private static func next(_ old: Clock?, _ skew: Int64, at: Int64, _ place: Int) -> Clock {
        var clock = Clock(
            skew: skew, correction: old?.correction ?? 0, state: "", at: at,
            since: old?.since ?? place)
        var agreed = skew
        if let old, at - old.at < 90_000, abs(skew - old.skew) <= 1000 {
            agreed = min(skew, old.skew)
            if old.correction == 0 || abs(agreed - old.correction) > 1000 {
                clock.correction = added(agreed)
            }
        }
        clock.state = state(agreed, clock.correction)
        return clock
    }

    private static func added(_ skew: Int64) -> Int64 {
        abs(skew) > 2000 && abs(skew) <= 300_000 ? skew : 0
    }

    private static func state(_ skew: Int64, _ correction: Int64) -> String {
        if correction != 0 { return "corrected" }
        return abs(skew) > 300_000 ? "too_far" : abs(skew) > 2000 ? "unsure" : "right"
    }
}

extension StoryLine {
    /// The line with its times by the host's clock, of which the source's is `behind`.
    func corrected(by behind: Int64) -> StoryLine {
        guard behind != 0 else { return self }
        var line = self
        switch event {
        case .batch(var items):
            for index in items.indices {
                items[index].receivedAt = items[index].receivedAt.map { $0 + behind }
            }
            line.event = .batch(items)
        case .transition(var items):
            for index in items.indices { items[index].at = items[index].at.map { $0 + behind } }
            line.event = .transition(items)
        case .responder(let items): line.event = .responder(Self.moved(items, behind))
        case .roster(let items, let note): line.event = .roster(Self.moved(items, behind), note)
        default: break
        }
        return line
    }

    private static func moved(_ items: [FactItem], _ behind: Int64) -> [FactItem] {
        items.map { item in
            var item = item
            item.at = item.at.map { $0 + behind }
            return item
        }
    }
}

extension World {
    /// Backends whose clocks are measured are measured each minute from now on.
    mutating func beginMeasuring() {
        for number in backends.indices where backends[number].tellsItsClock {
            plan(.measure(backend: number), in: clockDice.number(0...60_000))
        }
    }

    /// A minute of a backend's requests is over; now and then all of them were held up.
    mutating func measure(_ number: Int) {
        plan(.measure(backend: number), in: clockDice.chance(50) ? 95_000 : 60_000)
        guard isUp, !host.isStoreFailing else { return }
        let way = clockDice.chance(60) ? clockDice.number(0...30_000) : clockDice.number(0...900)
        measure(number, way: way)
        mark("backend clock measured")
    }

    /// All is well: the clocks are right, and two minutes say so.
    mutating func measureTheTruth() {
        for number in backends.indices where backends[number].tellsItsClock {
            for _ in 0..<2 { measure(number, way: 0) }
        }
    }

    private mutating func measure(_ number: Int, way: Int64) {
        emit(.skew(milliseconds: wall - clock(of: number) + way), source: backends[number].name)
    }
}
