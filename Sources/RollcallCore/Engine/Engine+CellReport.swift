/// A cell says how its people are, for the fleet cell. Source: K2.
extension Engine {
    // MARK: - What a cell says

    /// Returns what is to be said of this cell since the last time, named `cell`, in the place behind
    /// the last one; complete through `instant`, at which nothing is to come any more.
    package mutating func takeSummary(
        of cell: [UInt8], position: Int64, through instant: RunningTime
    ) -> Summary {
        var summary = Summary()
        (summary.cell, summary.position) = (cell, position)
        summary.through = max(clock.wall(instant), clock.wallNow)
        summary.isWhole = report.isWhole
        summary.lastBatchAt = counters.lastBatchAt ?? .distantPast
        summary.sources = report.takeSources(sight.feed, clock, isAll: summary.isWhole)
        let changes = report.take()
        summary.changes = summary.isWhole ? everything(at: summary.through) : changes
        // What was noted before the wall was set back came before it still.
        var next = summary.through
        for place in summary.changes.indices.reversed() {
            next = min(next, summary.changes[place].at)
            summary.changes[place].at = next
        }
        return summary
    }

    /// The next summary says all.
    package mutating func sayAll() { report.sayAll() }

    private func everything(at wall: Timestamp) -> [Summary.Change] {
        var changes = [Summary.Change(at: wall, kind: clock.isBlind ? .blind : .sees)]
        if alerting.board.hasInput { changes.append(Summary.Change(at: wall, kind: .input)) }
        for region in 0..<UInt32(regions.names.count) {
            let name = regions[region]
            let summary = summary(of: region)
            guard !name.isEmpty, !summary.isEmpty else { continue }
            changes.append(Summary.Change(at: wall, region: name, summary: summary))
        }
        for region in gaps.mass.regionsHeld.sorted() where !regions[region].isEmpty {
            var change = allSilent(in: region, regions[region])
            change.move(to: wall)
            if !change.silent.isEmpty { changes.append(change) }
        }
        return changes
    }

    private func summary(of region: UInt32) -> RegionSummary {
        var summary = RegionSummary()
        summary.byStatus = aggregates.counts(in: region)
        summary.flapping = aggregates.flapping(in: region)
        summary.unheard = aggregates.unheard(in: region)
        summary.causes = report.causes(in: region)
        return summary
    }

    /// Notes what is to be said of regions of which some number changed.
    mutating func note(dirty: [UInt32], isAll: Bool) {
        let silent = gaps.mass.takeSilent(clock.observedNow)
        let left = report.left
        report.left = []
        // Everything is said anyway.
        if report.isWhole { return }
        let wall = clock.wallNow
        for region in isAll ? Array(0..<UInt32(regions.names.count)) : dirty
        where !regions[region].isEmpty {
            report.note(
                Summary.Change(at: wall, region: regions[region], summary: summary(of: region)))
        }
        for name in left {
            let region = regions.known(name)
            let summary = region.map { self.summary(of: $0) } ?? RegionSummary()
            report.note(Summary.Change(at: wall, region: name, summary: summary))
            report.note(allSilent(in: region, name))
        }
        // A mass is of the people who are active by then.
        let changed = silent.map(\.region)
        for region in isAll ? Set(gaps.mass.regionsHeld + changed).sorted() : []
        where !regions[region].isEmpty {
            report.note(allSilent(in: region, regions[region]))
        }
        for (region, people) in isAll ? [] : silent
        // Of those who were left all was said.
        where !people.isEmpty && !regions[region].isEmpty && !left.contains(regions[region]) {
            report.note(
                Summary.Change(at: wall, kind: .silent, region: regions[region], silent: people))
        }
    }

    /// All who fell silent within 60 s in a region, to be said now.
    private func allSilent(in region: UInt32?, _ name: [UInt8]) -> Summary.Change {
        Summary.Change(
            at: clock.wallNow, kind: .allSilent, region: name,
            silent: region.map { gaps.mass.allSilent(in: $0, clock.observedNow) } ?? [])
    }

    /// Returns why somebody is silent, as it counts for their region; nil if nothing is suspected.
    func reportPart(_ number: Int) -> CellReport.Part? {
        let person = roster[number]
        guard person.isActive, person.hasGap, person.status != .online || person.isFlapping,
            let cause = gaps.cause(of: number)
        else { return nil }
        return reportPart(person, cause)
    }

    private func reportPart(_ person: Responder, _ cause: GapCause) -> CellReport.Part? {
        var people = RegionSummary.Cause()
        people.offline = person.status == .offline ? 1 : 0
        people.absent = person.status != .online ? 1 : 0
        people.flapping = person.isFlapping ? 1 : 0
        return CellReport.Part(region: person.region, cause: cause, people: people)
    }

    /// Follows why a person is silent, who was counted as `before`, and others of whom something else is
    /// suspected since.
    mutating func followReport(from before: CellReport.Part?, _ number: Int) {
        let after = reportPart(number)
        if before != after {
            report.add(before, times: -1)
            report.add(after, times: 1)
            for part in [before, after] { part.map { alerting.board.note(dirty: $0.region) } }
        }
        followSuspicions()
    }

    /// Follows those of whom something else is suspected than before.
    mutating func followSuspicions() {
        for (other, cause) in gaps.takeSuspicions() {
            guard let after = reportPart(other) else { continue }
            report.add(reportPart(roster[other], cause), times: -1)
            report.add(after, times: 1)
            alerting.board.note(dirty: after.region)
        }
    }

    /// The gap of somebody is over, of which `cause` was suspected.
    mutating func endReport(_ number: Int, _ cause: GapCause) {
        let person = roster[number]
        guard person.isActive, person.hasGap, person.status != .online || person.isFlapping
        else { return }
        report.add(reportPart(person, cause), times: -1)
        alerting.board.note(dirty: person.region)
    }

    /// Counts anew why everybody is silent, if this is a cell.
    mutating func recountReport() {
        gaps.isOfCell = policy.role == .cell
        followShare()
        report.sayAll()
        recountCauses()
    }

    /// Follows the map, and which cell this is: its alerts name it, and it has a share of the fleet's nudges.
    mutating func followShare() {
        let own = policy.role == .cell ? ownCell ?? policy.cell : []
        alerting.cell = own
        let place = cellMap?.place(of: own)
        guard policy.role == .cell, let cellMap, let place else { return nudges.share = nil }
        nudges.share = NudgeShare(cellMap, own: place)
    }

    /// Counts anew for which causes people are silent; what is said of it stays as it is.
    mutating func recountCauses() {
        report.removeCauses()
        guard policy.role == .cell else { return }
        for number in 0..<roster.count { report.add(reportPart(number), times: 1) }
    }
}
