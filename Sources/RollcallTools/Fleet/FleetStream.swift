import RollcallCore

/// The history of a fleet as lines in the order of time, never held as a whole: phones live a stretch
/// at a time, and what they made is sorted and leaves.
package struct FleetStream: Sendable {
    /// Items of an array at most.
    static let itemsMax = 500
    /// A silence is known when its phone has lived it, and began at most so long before.
    private static let gapHold: Int64 = 15 * FleetPlan.minute

    package let plan: FleetPlan
    private let stretch: Int64
    private var phones: [FleetPhone]
    /// Everything before it is in `reports`, or has left.
    private var lived: Int64
    private var reports: [FleetReport] = []
    private var order: [(key: UInt64, place: Int32)] = []
    private var next = 0
    private var gaps: [FleetGap] = []
    /// Those that are complete and in order.
    private var ready: [FleetGap] = []

    /// The history of the fleet of `settings`; `stretch` is how much is lived at a time and changes
    /// nothing else.
    package init(_ settings: FleetSettings, stretch: Milliseconds? = nil) {
        plan = FleetPlan(settings)
        phones = (0..<settings.responders).map { [plan] in FleetPhone($0, of: plan) }
        lived = settings.start.milliseconds
        let least = FleetPlan.minute
        let standard = FleetPlan.hour * 2000 / Int64(max(1, settings.responders))
        self.stretch = stretch?.count ?? min(FleetPlan.hour, max(least, standard))
    }

    /// The settings that it comes from.
    package var settings: FleetSettings { plan.settings }

    /// The person of a number.
    package func person(_ number: Int) -> FleetPerson { phones[number].person }

    /// The next line; nil at the end of the history.
    package mutating func line() -> FleetLine? {
        while next == order.count {
            if lived >= settings.end.milliseconds { return nil }
            live()
        }
        let first = reports[Int(order[next].place)]
        var line = FleetLine(first, backend(of: first))
        next += 1
        guard case .batch = first.content, line.backend == .buffering else { return line }
        while next < order.count, line.items.count < Self.itemsMax {
            let other = reports[Int(order[next].place)]
            guard case .batch = other.content, other.at == first.at,
                backend(of: other) == .buffering
            else { break }
            line.items.append(other)
            next += 1
        }
        return line
    }

    /// The silences that are known by now, in the order of their beginnings; each is told once.
    /// With `limit` only those that began before it; if nothing follows, `isLast`, all of them.
    package mutating func takeGaps(
        before limit: Timestamp = .distantFuture, isLast: Bool = false
    ) -> [FleetGap] {
        if isLast {
            ready += gaps
            gaps = []
        }
        guard let first = ready.first, first.from < limit else { return [] }
        let count = ready.prefix { $0.from < limit }.count
        defer { ready.removeFirst(count) }
        return Array(ready[..<count])
    }

    private func backend(of report: FleetReport) -> FleetBackend {
        if case .heartbeat(let backend) = report.content { return backend }
        let backend = phones[Int(report.person)].person.backend
        return backend.stand(in: (report.at - settings.start.milliseconds) % FleetPlan.day)
    }

    /// Lets everybody live the next stretch.
    private mutating func live() {
        let begin = lived
        let end = min(begin + stretch, settings.end.milliseconds)
        lived = end
        reports.removeAll(keepingCapacity: true)
        for number in phones.indices {
            phones[number].live(until: end, plan)
            phones[number].take(before: end, into: &reports, &gaps)
        }
        beat(begin..<end)
        order.removeAll(keepingCapacity: true)
        order.reserveCapacity(reports.count)
        for (place, report) in reports.enumerated() {
            // Instant, backend, person, and what each of them did first.
            let at = UInt64(report.at - begin) << 32
            let whom = UInt64(backend(of: report).rawValue) << 30 | UInt64(report.person)
            order.append((at | whom, Int32(place)))
        }
        order.sort { ($0.key, $0.place) < ($1.key, $1.place) }
        next = 0
        emitGaps(end)
    }

    /// Adds the heartbeats of a stretch.
    private mutating func beat(_ range: Range<Int64>) {
        for backend in FleetBackend.allCases {
            let offset = settings.start.milliseconds + 1000 + Int64(backend.rawValue) * 3000
            let every = FleetBackend.beatEvery
            var at = offset + max(0, (range.lowerBound - offset + every - 1) / every) * every
            while at < range.upperBound {
                let day = (at - settings.start.milliseconds) % FleetPlan.day
                if !backend.isRolledOut(day) {
                    reports.append(FleetReport(at: at, person: 0, content: .heartbeat(backend)))
                }
                at += every
            }
        }
    }

    private mutating func emitGaps(_ end: Int64) {
        gaps.sort { ($0.from.milliseconds, $0.person) < ($1.from.milliseconds, $1.person) }
        let isLast = end >= settings.end.milliseconds
        let limit = isLast ? end : end - Self.gapHold
        let known = gaps.prefix { $0.from.milliseconds < limit }.count
        ready += gaps[..<known]
        gaps.removeFirst(known)
    }
}
