/// Makes a failing story short: whatever it does not need to fail is taken out.
struct Shrinker {
    /// Tries at most, so that a slow failure is told as well.
    private static let triesMax = 4000

    private let fails: (Story) -> Bool
    private var tries = 0

    /// A shrinker for what `fails`.
    init(fails: @escaping (Story) -> Bool) { self.fails = fails }

    /// The shortest story found that still fails.
    mutating func shrink(_ story: Story) -> Story {
        var story = story
        var size = max(1, story.lines.count / 2)
        while true {
            let before = story.lines.count
            removeLines(size, &story)
            if size > 1 {
                size /= 2
            } else if story.lines.count == before {
                break
            }
        }
        for place in story.lines.indices { removeItems(of: place, &story) }
        return story
    }

    private mutating func attempt(_ other: Story, _ story: inout Story) -> Bool {
        guard tries < Self.triesMax, other.isWellFormed else { return false }
        tries += 1
        guard fails(other) else { return false }
        story = other
        return true
    }

    /// Takes out `size` lines at a time, from the end on.
    private mutating func removeLines(_ size: Int, _ story: inout Story) {
        var end = story.lines.count
        while end > 0 {
            let start = max(0, end - size)
            var other = story
            other.lines.removeSubrange(start..<end)
            _ = attempt(other, &story)
            end = start
        }
    }

    /// Takes out items of a body, updates of an item and members that may be absent.
    private mutating func removeItems(of place: Int, _ story: inout Story) {
        switch story.lines[place].event {
        case .batch(let items):
            let left = shrink(items, place, &story) { .batch($0) }
            for (index, item) in left.enumerated() {
                for variant in item.simpler {
                    guard case .batch(var now) = story.lines[place].event else { return }
                    now[index] = variant
                    var other = story
                    other.lines[place].event = .batch(now)
                    _ = attempt(other, &story)
                }
            }
        case .transition(let items): _ = shrink(items, place, &story) { .transition($0) }
        case .responder(let items):
            let left = shrink(items, place, &story) { .responder($0) }
            for (index, item) in left.enumerated() {
                for variant in item.simpler {
                    guard case .responder(var now) = story.lines[place].event else { return }
                    now[index] = variant
                    var other = story
                    other.lines[place].event = .responder(now)
                    _ = attempt(other, &story)
                }
            }
        case .roster(let items, let note):
            _ = shrink(items, place, &story) { .roster($0, note) }
        default: break
        }
    }

    private mutating func shrink<Item>(
        _ items: [Item], _ place: Int, _ story: inout Story, _ make: ([Item]) -> StoryEvent
    ) -> [Item] {
        var items = items
        for index in items.indices.reversed() where items.count > 1 {
            var fewer = items
            fewer.remove(at: index)
            var other = story
            other.lines[place].event = make(fewer)
            if attempt(other, &story) { items = fewer }
        }
        return items
    }
}

extension BatchItem {
    /// The same with one thing less, each.
    fileprivate var simpler: [BatchItem] {
        var variants: [BatchItem] = []
        func vary(_ change: (inout BatchItem) -> Void) {
            var item = self
            change(&item)
            variants.append(item)
        }
        vary { $0.updates = [] }
        for index in updates.indices { vary { $0.updates = [$0.updates[index]] } }
        vary { $0.circles = nil }
        vary { $0.platform = nil }
        vary { $0.battery = nil }
        vary { $0.nextExpectedIn = nil }
        vary { $0.telemetry = StoryTelemetry() }
        vary { $0.telemetry.permissionStatus = nil }
        vary { $0.telemetry.locationServices = nil }
        vary { $0.telemetry.powerMode = nil }
        vary { $0.telemetry.appState = nil }
        vary { $0.telemetry.networkType = nil }
        vary { $0.telemetry.queueDepth = nil }
        vary { $0.region = nil }
        vary { $0.installID = nil }
        vary { $0.receivedAt = nil }
        return variants
    }
}

extension FactItem {
    /// The same with one thing less, each.
    fileprivate var simpler: [FactItem] {
        var variants: [FactItem] = []
        func vary(_ change: (inout FactItem) -> Void) {
            var item = self
            change(&item)
            variants.append(item)
        }
        vary { $0.circles = nil }
        vary { $0.region = nil }
        vary { $0.platform = nil }
        vary { $0.pushToken = nil }
        vary { $0.at = nil }
        return variants
    }
}

extension Story {
    /// True if nothing stands between a `stop` and its `start` (F5).
    fileprivate var isWellFormed: Bool {
        zip(lines, lines.dropFirst()).allSatisfy { line, next in
            guard case .stop = line.event else { return true }
            if case .start = next.event { return true }
            return false
        }
    }
}
