/// The invariants that must hold between any two steps. Expensive: it looks at everybody. For the
/// simulation.
extension Engine {
    /// Every invariant that does not hold, in words; empty when all is well.
    package func brokenInvariants() -> [String] {
        var broken: [String] = []
        for number in 0..<roster.count { examine(number, &broken) }
        // The fleet cell's are what its cells say.
        if policy.role != .fleet { examineAggregates(&broken) }
        examineNudges(&broken)
        examineNames(&broken)
        examineBounds(&broken)
        // Other receivers are looked at when the instant closes.
        if !alerting.notifications.isAllDirty {
            broken += alerting.board.brokenInvariants(policy.receivers)
        }
        if !alerting.notifications.isAllDirty, !alerting.notifications.storms.isDirty {
            broken += alerting.brokenStorms()
        }
        return broken
    }

    private func examine(_ number: Int, _ broken: inout [String]) {
        let person = roster[number]
        let name = String(decoding: roster.id(number), as: UTF8.self)
        func expect(_ holds: Bool, _ what: String) {
            if !holds { broken.append("\(name): \(what)") }
        }
        let now = clock.observedNow
        expect(
            person.idCount == 0 || person.isActive == (person.notExpected == nil),
            "active is what L1 says")
        expect(
            person.factTimes.hasOverflow == (factOverflows[number] != nil),
            "facts aside are known of")
        expect(
            !person.isMissed || person.isActive && person.status == .offline,
            "who is missed is OFFLINE")
        expect(person.lastContact <= now, "last contact is not in the future")
        expect(person.activeSince <= now, "active since is not in the future")
        expect(person.lastLocation <= now, "last location is not in the future")
        expect(
            person.degradedDeadline <= person.offlineDeadline || !person.isActive
                || person.status != .online, "DEGRADED comes before OFFLINE")
        for what in liveness.broken(person, number, policy) { expect(false, what) }
    }

    /// Counts kept as people change equal counts made anew (INV-24).
    private func examineAggregates(_ broken: inout [String]) {
        var anew = Aggregates(PacePolicy(policy))
        for number in 0..<roster.count where roster[number].idCount > 0 {
            anew.add(roster[number], now: clock.observedNow)
        }
        func same(_ a: [Int], _ b: [Int], _ what: String) {
            // A region that everybody left keeps its zeros.
            let count = max(a.count, b.count)
            let pad = { (list: [Int]) in list + [Int](repeating: 0, count: count - list.count) }
            if pad(a) != pad(b) { broken.append("\(what): \(a) kept, \(b) counted") }
        }
        same(aggregates.byStatus, anew.byStatus, "people by status")
        same(aggregates.byRegion, anew.byRegion, "people by region")
        same(aggregates.notExpected, anew.notExpected, "people not expected")
        if aggregates.pace != anew.pace { broken.append("how often people are to report") }
        let regions = 0..<UInt32(regions.names.count)
        same(
            regions.map { aggregates.notExpected(in: $0) },
            regions.map { anew.notExpected(in: $0) },
            "people not expected by region")
        same(
            regions.map { aggregates.missed(in: $0) }, regions.map { anew.missed(in: $0) },
            "people missed by region")
        var open = OpenGaps()
        gaps.byNumber.forEach { open.change(from: nil, to: $1.openCause) }
        if open != aggregates.openGaps { broken.append("open gaps by cause") }
        for (field, (a, b)) in zip(aggregates.telemetry, anew.telemetry).enumerated() {
            same(a, b, "telemetry \(Telemetry.fields[field].name)")
        }
    }

    /// Group counts kept as people change equal crowds made anew; what is remembered of nudges fits
    /// those whom it is about (N1, N3, N10).
    private func examineNudges(_ broken: inout [String]) {
        var regionCounts: [UInt32: Int] = [:]
        var circleCounts: [UInt32: Int] = [:]
        for number in 0..<roster.count where roster[number].idCount > 0 {
            let person = roster[number]
            let name = String(decoding: roster.id(number), as: UTF8.self)
            func expect(_ holds: Bool, _ what: String) {
                if !holds { broken.append("\(name): \(what)") }
            }
            expect(
                !person.isStale || policy.nudges.staleFrom(person) <= clock.observedNow,
                "who is held to be stale is due")
            expect(nudges.states[number] == nil || person.hasNudges, "nudges are known of")
            let state = nudges.states[number] ?? NudgeState()
            let row = nudges.row.count { $0 == UInt32(number) }
            expect(row == (state.isInRow ? 1 : 0), "who waits stands in the row once")
            let own = people.circleNumbers(of: person.circles)
            for circle in own {
                let members = people.groupCounts.members(of: circle)
                expect(members.count { $0 == UInt32(number) } == 1, "a circle knows its members")
            }
            guard person.isActive else { continue }
            regionCounts[person.region, default: 0] += 1
            for circle in own { circleCounts[circle, default: 0] += 1 }
        }
        for (region, count) in regionCounts
        where people.groupCounts.active(inRegion: region) != count {
            broken.append("region \(region): \(count) active")
        }
        for (circle, count) in circleCounts
        where people.groupCounts.active(inCircle: circle) != count {
            broken.append("circle \(circle): \(count) active")
        }
        if people.groupCounts.activeInRegions != regionCounts.values.reduce(0, +)
            || people.groupCounts.activeInCircles != circleCounts.values.reduce(0, +)
        {
            broken.append("crowds of nobody")
        }
        let pairs = zip(nudges.row, nudges.row.dropFirst())
        if !pairs.allSatisfy({ roster.precedes(Int($1), Int($0)) }) {
            broken.append("the row ends with the first by id")
        }
    }

    /// Names are counted as people have them, and no others are held.
    private func examineNames(_ broken: inout [String]) {
        broken += people.brokenNames(policy, isUnclosed: isUnclosed)
        var users = [UInt32](repeating: 0, count: regions.names.count)
        users[Int(regions.known(People.defaultRegion) ?? 0)] += 1
        for region in gaps.mass.regionsHeld where region != .max { users[Int(region)] += 1 }
        for number in 0..<roster.count where roster[number].idCount > 0 {
            users[Int(roster[number].region)] += 1
        }
        for region in cells.cells.flatMap(\.regions.keys) { users[Int(region)] += 1 }
        if users.dropFirst() != regions.users.dropFirst() {
            broken.append("regions: \(regions.users) counted as people came, \(users) anew")
        }
    }

    /// Everything that grows has its limit (INV-25).
    private func examineBounds(_ broken: inout [String]) {
        func expect(_ holds: Bool, _ what: String) { if !holds { broken.append(what) } }
        ledgers.forEach { number, ledger in
            expect(ledger.installs.count <= SequenceLedger.installsMax, "\(number): installs")
            expect(ledger.forgotten.count <= SequenceLedger.forgottenMax, "\(number): forgotten")
            for install in ledger.installs {
                expect(install.ranges.count <= Install.rangesMax, "\(number): ranges")
                let pairs = zip(install.ranges, install.ranges.dropFirst())
                expect(
                    pairs.allSatisfy { $0.upperBound + 1 < $1.lowerBound },
                    "\(number): ranges ascend and do not touch")
            }
        }
        captures.forEach { number, ledger in
            expect(
                CaptureLedger(ledger.ranges) == ledger && !ledger.ranges.isEmpty,
                "\(number): captures ascend, apart, \(CaptureLedger.rangesMax) ranges at most")
        }
        expect(sight.feed.sources.count <= Feed.sourcesMax, "sources")
        expect(sight.feed.skews.sources.count <= Feed.sourcesMax, "clocks of sources")
        expect(clock.windows.count <= ObservationClock.windowsMax, "blind windows")
        let windows = zip(clock.windows, clock.windows.dropFirst())
        expect(windows.allSatisfy { $0.end < $1.start }, "blind windows ascend, apart")
        expect(clock.graces.count <= ObservationClock.gracesMax, "graces in 30 min")
        expect(clock.observedNow.milliseconds <= clock.now.milliseconds, "watched time runs behind")
        expect(counters.delay.count <= counters.updates[0], "delays are of accepted updates")
    }
}
