/// The instants at which each person next falls due, by number.
///
/// A page of people has one entry in a queue, not later than the earliest of them. It stays where it
/// is while its people move on, which they do with every batch, and is put back when it is reached:
/// twice a minute for 256 people.
struct DueTimes: Sendable {
    private static let pageSize = 256

    /// An instant takes six bytes; what lies behind all that these hold is never reached.
    private var pages: [ContiguousArray<CompactInstant<ObservedTime>>] = []
    /// The instants at which each page is looked at next.
    private var alarms: [ObservedTime] = []
    private var queue = DeadlineQueue<ObservedTime>()
    /// The page whose alarm is known to be the earliest of its people, and the first of them who falls
    /// due then; page -1 for none.
    private var exact = (page: -1, place: 0)

    /// The instant at which a person falls due; the distant future for somebody who never does.
    subscript(number: Int) -> ObservedTime {
        let page = number / Self.pageSize
        return page < pages.count ? self[page, number % Self.pageSize] : .distantFuture
    }

    private subscript(page: Int, place: Int) -> ObservedTime {
        get { pages[page][place].wrappedValue }
        set { pages[page][place].wrappedValue = newValue }
    }

    /// A person falls due at `due`; true if nobody of their page was known to as early.
    mutating func set(_ number: Int, _ due: ObservedTime) -> Bool {
        let (page, place) = (number / Self.pageSize, number % Self.pageSize)
        while pages.count <= page {
            let never = CompactInstant(wrappedValue: ObservedTime.distantFuture)
            pages.append(ContiguousArray(repeating: never, count: Self.pageSize))
            alarms.append(.distantFuture)
        }
        if page == exact.page, self[page, place] == alarms[page] { exact.page = -1 }
        let due = CompactInstant.holds(due) ? due : .distantFuture
        self[page, place] = due
        guard due < alarms[page] else {
            if page == exact.page, due == alarms[page] { exact.place = min(exact.place, place) }
            return false
        }
        alarms[page] = due
        if page == exact.page { exact.place = place }
        queue.push(.init(at: due, number: UInt32(page)))
        return true
    }

    /// The earliest of all, and the first person who falls due then; nil if nobody ever does.
    mutating func first() -> (at: ObservedTime, number: Int)? {
        while let first = queue.first {
            let page = Int(first.number)
            guard alarms[page] == first.at else {
                _ = queue.popFirst()
                continue
            }
            if page == exact.page { return (first.at, page * Self.pageSize + exact.place) }
            let earliest = earliest(of: page)
            if earliest == first.at {
                let found = pages[page].firstIndex { $0.wrappedValue == earliest }
                guard let place = found else { return nil }
                exact = (page, place)
                return (earliest, page * Self.pageSize + place)
            }
            alarms[page] = earliest
            if earliest == .distantFuture {
                _ = queue.popFirst()
            } else {
                queue.replaceFirst(.init(at: earliest, number: first.number))
            }
        }
        return nil
    }

    /// Everybody who falls due by `now`, in no order; from then on they never do. A page at a time,
    /// since many may fall due together.
    mutating func take(until now: ObservedTime) -> [Int] {
        var numbers: [Int] = []
        while let first = queue.first, first.at <= now {
            let page = Int(first.number)
            var alarm = alarms[page]
            if alarm == first.at {
                alarm = take(until: now, page, &numbers)
                alarms[page] = alarm
                if page == exact.page { exact.page = -1 }
            } else {
                // It stands there a second time, for its true alarm.
                alarm = .distantFuture
            }
            if alarm == .distantFuture {
                _ = queue.popFirst()
            } else {
                queue.replaceFirst(.init(at: alarm, number: first.number))
            }
        }
        return numbers
    }

    /// Takes those of one page who are due by `now`, and returns when the others there fall due
    /// first.
    private mutating func take(
        until now: ObservedTime, _ page: Int, _ numbers: inout [Int]
    ) -> ObservedTime {
        var earliest = ObservedTime.distantFuture
        for place in pages[page].indices {
            let due = self[page, place]
            if due <= now {
                numbers.append(page * Self.pageSize + place)
                self[page, place] = .distantFuture
            } else if due < earliest {
                earliest = due
            }
        }
        return earliest
    }

    private func earliest(of page: Int) -> ObservedTime {
        var earliest = ObservedTime.distantFuture
        for place in pages[page].indices { earliest = min(earliest, self[page, place]) }
        return earliest
    }

    /// True if a person's page will be looked at in time; looks at the whole queue.
    func isObserved(_ number: Int) -> Bool {
        let page = number / Self.pageSize
        guard self[number] < .distantFuture else { return true }
        return alarms[page] <= self[number]
            && queue.contains { $0.number == page && $0.at == alarms[page] }
    }
}
