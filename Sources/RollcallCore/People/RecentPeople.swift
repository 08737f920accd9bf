/// Different people to whom something happened within the last 60 s of observed time.
///
/// Somebody to whom it happens again counts once, for the newest time; an age of 60 s is outside.
struct RecentPeople: Sendable {
    static let span = Milliseconds.seconds(60)

    /// The last time for each.
    private var latest: [Int: ObservedTime] = [:]
    /// Every time, oldest first from `first` on; those that are not `latest` are void.
    private var queue: [(at: ObservedTime, number: Int)] = []
    private var first = 0

    /// People in the window, as of the last `expire` or `add`.
    var count: Int { latest.count }

    /// True for somebody in the window. Who was once found too old stays so when observed time is
    /// set back (B1).
    func contains(_ number: Int) -> Bool { latest[number] != nil }

    /// Notes it of person `number`; returns when it happened to them last, if that is in the window.
    @discardableResult
    mutating func add(_ number: Int, now: ObservedTime) -> ObservedTime? {
        expire(now)
        queue.append((now, number))
        return latest.updateValue(now, forKey: number)
    }

    /// The last times for those of some who are in the window, in no order.
    func times(of numbers: Set<Int>) -> [ObservedTime] {
        numbers.count < latest.count
            ? numbers.compactMap { latest[$0] }
            : latest.filter { numbers.contains($0.key) }.map(\.value)
    }

    /// The instants in the window, oldest first, with how many it happened to then.
    var counts: [(at: ObservedTime, people: Int)] {
        var counts: [(at: ObservedTime, people: Int)] = []
        var seen = Set<Int>()
        for (at, number) in queue[first...]
        where latest[number] == at && seen.insert(number).inserted {
            if counts.last?.at == at {
                counts[counts.count - 1].people += 1
            } else {
                counts.append((at, 1))
            }
        }
        return counts
    }

    /// Lets go of some.
    mutating func remove(_ numbers: Set<Int>) {
        if numbers.count < latest.count {
            for number in numbers { latest[number] = nil }
        } else {
            latest = latest.filter { !numbers.contains($0.key) }
        }
    }

    /// Lets go of what is 60 s old.
    mutating func expire(_ now: ObservedTime) {
        while first < queue.count, now - queue[first].at >= Self.span {
            if latest[queue[first].number] == queue[first].at { latest[queue[first].number] = nil }
            first += 1
        }
        if first > 1024, first * 2 > queue.count {
            queue.removeFirst(first)
            first = 0
        }
    }

    /// Observed time was set back: no instant may lie in the future of it (B1, F9).
    mutating func clampInstants(to now: ObservedTime) {
        for index in queue.indices { queue[index].at = min(queue[index].at, now) }
        latest = latest.mapValues { min($0, now) }
    }

    mutating func code(_ archive: inout Archive) {
        // Whoever was moved to one instant several times stands there once, in the last place.
        var seen = Set<Int>()
        var entries = Array(
            queue[first...].reversed().filter {
                latest[$0.number] == $0.at && seen.insert($0.number).inserted
            }.reversed())
        archive.code(&entries, empty: (.distantPast, 0)) { archive, entry in
            archive.code(&entry.at)
            archive.code(&entry.number)
        }
        guard archive.isReading else { return }
        self = RecentPeople()
        for entry in entries {
            queue.append(entry)
            latest[entry.number] = entry.at
        }
    }
}
