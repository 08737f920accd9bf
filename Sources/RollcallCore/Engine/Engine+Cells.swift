/// The fleet cell hears what cells say, and judges what is partly unknown. Source: K2, K4.
extension Engine {
    // MARK: - What the fleet cell hears

    /// Waits for the cells of the map, now that another one may be held.
    mutating func awaitCells(since before: CellMap?) {
        guard let map = cellMap else { return }
        for cell in map.cells {
            let origin = before.flatMap { map.origin(of: cell.name, in: $0) }
            cells.await(cell.name, since: clock.now, splitFrom: origin ?? [])
        }
    }

    /// Takes what cells say, in the order of instant and cell, each at its instant unless that is past.
    mutating func hear(_ summaries: [Summary], at instant: RunningTime) -> Receipt {
        var receipt = Receipt()
        var heard: [Summary] = []
        for summary in summaries {
            cells.await(summary.cell, since: min(clock.now, instant))
            let known =
                heard.last { $0.cell == summary.cell }?.position
                ?? cells[summary.cell]?.position ?? 0
            // One that is taken in parts comes more than once.
            if summary.position >= known || summary.isWhole { heard.append(summary) }
        }
        for summary in heard { takeSources(of: summary) }
        // None of them is dark before what they say is taken.
        for summary in heard {
            cells.change(summary.cell) { cell in
                cell.heardAt = max(cell.heardAt, instant)
                // Of a new cell all that there was stood in what the old one had said.
                if cell.isAwaited, !cell.splitFrom.isEmpty { cell.position = summary.position }
            }
        }
        var joined = Set<[UInt8]>()
        for place in places(heard, until: instant) {
            if place.at > clock.now { lookForMasses(in: &joined) }
            arrive(at: place.at)
            isUnclosed = true
            let (change, cell) = (heard[place.cell].changes[place.change], heard[place.cell].cell)
            if cells[cell]?.isDarkHalf ?? false {
                // From now on it speaks for itself.
                cells.change(cell) { $0.position = heard[place.cell].position }
            }
            if take(change, from: cell) { joined.insert(change.region) }
        }
        lookForMasses(in: &joined)
        arrive(at: instant)
        for (place, summary) in heard.enumerated() { takeHead(of: summary, heard[place...]) }
        masses.forget(clock.wallNow)
        hasBegun = true
        isUnclosed = true
        receipt.accepted = heard.count
        return receipt
    }

    /// The changes in the order in which they are taken, each cell's in its own. What lies behind us by now
    /// counts from the first instant that does not.
    private func places(
        _ heard: [Summary], until instant: RunningTime
    ) -> [(at: RunningTime, cell: Int, change: Int)] {
        // The present instant is closed unless something was folded at it since.
        let open = isUnclosed ? clock.now : clock.now + Milliseconds(1)
        var places: [(at: RunningTime, cell: Int, change: Int)] = []
        for (cell, summary) in heard.enumerated() {
            for (place, change) in summary.changes.enumerated() {
                let stamped = clock.instant(of: change.at)
                places.append((min(max(stamped, open), instant), cell, place))
            }
        }
        return places.sorted { a, b in
            if a.at != b.at { return a.at < b.at }
            if a.cell == b.cell { return a.change < b.change }
            let (one, other) = (heard[a.cell].cell, heard[b.cell].cell)
            return one == other ? a.cell < b.cell : one.lexicographicallyPrecedes(other)
        }
    }

    /// Takes a change; true if somebody fell silent just now.
    private mutating func take(_ change: Summary.Change, from cell: [UInt8]) -> Bool {
        switch change.kind {
        case .region: take(change.summary, of: change.region, from: cell)
        case .silent, .allSilent: return masses.take(change, of: cell, clock)
        case .input: alerting.board.heard()
        case .blind, .sees:
            let isBlind = change.kind == .blind
            guard let known = cells[cell], known.isBlind != isBlind else { return false }
            cells.change(cell) { $0.isBlind = isBlind }
            cellsChanged(known)
        }
        return false
    }

    /// Looks, once all that cells say of an instant is taken, in the regions in which somebody fell silent at it.
    private mutating func lookForMasses(in joined: inout Set<[UInt8]>) {
        for region in joined.sorted(by: Self.areInOrder) {
            masses.look(in: region, active: active(in: region), clock)
        }
        joined = []
    }

    /// Takes the rest of a summary, once all changes are taken: until then a cell that was dark is. `later`
    /// are this one and those behind it.
    private mutating func takeHead(of summary: Summary, _ later: ArraySlice<Summary>) {
        if summary.isWhole {
            var said = Set<[UInt8]>()
            for other in later where other.cell == summary.cell {
                said.formUnion(other.changes.map(\.region))
            }
            let known = cells[summary.cell]?.regions.keys.map { regions[$0] } ?? []
            for region in known.filter({ !said.contains($0) }).sorted(by: Self.areInOrder) {
                take(RegionSummary(), of: region, from: summary.cell)
            }
            // Some may have fallen silent while nobody heard of it.
            let silent = summary.changes.filter { $0.kind == .allSilent }
            masses.forget(summary.cell, but: Set(silent.map(\.region)))
            for change in silent {
                masses.look(in: change.region, active: active(in: change.region), clock)
            }
        }
        let wasLit = cells[summary.cell]?.isLit ?? false
        cells.change(summary.cell) { cell in
            cell.position = summary.position
            cell.isDark = false
            cell.through = max(cell.through, summary.through)
        }
        if let cell = cells[summary.cell], cell.isLit != wasLit { cellsChanged(cell) }
        takeSources(of: summary)
        // A cell's clock may be ahead.
        let lastBatchAt = min(summary.lastBatchAt, clock.wallNow)
        if lastBatchAt > counters.lastBatchAt ?? .distantPast {
            counters.lastBatchAt = lastBatchAt
        }
    }

    /// A write anywhere is a beat of its source (B2); it counts before its deadline passes, and again once that
    /// instant has come.
    private mutating func takeSources(of summary: Summary) {
        for source in summary.sources {
            sight.feed.heard(of: source.name, at: clock.instant(of: source.at), now: clock.now)
        }
    }

    private func active(in region: [UInt8]) -> Int {
        regions.known(region).map { aggregates.active(in: $0) } ?? 0
    }

    private static func areInOrder(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.lexicographicallyPrecedes(b)
    }

    private mutating func cellsChanged(_ cell: CellBook.Cell) {
        // Which alerts of the whole fleet may fire depends on all of them.
        alerting.board.isAllDirty = true
        for region in cell.regions.keys { alerting.board.note(dirty: region) }
    }

    /// Takes what one cell says of one region.
    private mutating func take(
        _ summary: RegionSummary, of name: [UInt8], from cell: [UInt8]
    ) {
        let known = summary.isEmpty ? regions.known(name) : regions.number(of: name)
        guard let region = known else { return }
        let before = cells[cell]?.regions[region]
        guard before ?? RegionSummary() != summary else { return }
        if before == nil { regions.use(region) }
        cells.change(cell) { $0.note(summary, region) }
        people.aggregates.change(region, from: before ?? RegionSummary(), to: summary)
        // Who left it for a cell of which nothing was heard yet is somewhere: there, as they were (K6).
        if let before, let half = cells.darkHalf(of: cell, clock) {
            let left = before.left(by: summary)
            if !left.isEmpty {
                var sum = cells[half]?.regions[region] ?? RegionSummary()
                sum.add(left)
                take(sum, of: name, from: half)
            }
        }
        alerting.board.note(dirty: region)
        if summary.isEmpty { regions.leave(region) }
    }

    /// Notes which cells are dark by now, once an instant.
    mutating func settleDarkCells() {
        guard cells.nextDark <= clock.now, !sight.isStoreFailing else { return }
        for region in cells.darken(clock.now) { alerting.board.note(dirty: region) }
        alerting.board.isAllDirty = true
    }

    /// The people of cells of which nothing is known now, as these said last. Where a watch is all of its
    /// fleet there are none.
    package var unlit: RegionSummary { unlit(in: nil) }

    /// Returns the same of a region; nil for all regions.
    package func unlit(in region: UInt32?) -> RegionSummary {
        var sum = RegionSummary()
        guard policy.role == .fleet else { return sum }
        for cell in cells.cells
        // What one said before this watch was away is of the past.
        where !cell.isLit || clock.wallNow - cell.through > CellBook.darkAfter {
            sum.add(numbersOf: cell.numbers(in: region), times: 1)
        }
        return sum
    }

    // MARK: - Judging what is partly unknown

    /// Returns whether an alert about people is true now, and its numbers; nil if that depends on cells of
    /// which nothing is known (K4).
    func knownCondition(_ key: AlertKey) -> (isTrue: Bool?, stats: AlertStats) {
        let sure: (isTrue: Bool?, stats: AlertStats) = condition(key)
        guard policy.role == .fleet, cells.hasUnlit else { return sure }
        // Nobody knows yet whom these speak for.
        if cells.cells.contains(where: { $0.isAwaited && $0.splitFrom.isEmpty }) {
            return (nil, sure.stats)
        }
        let region: UInt32?
        switch key.subject {
        case .region(let name):
            guard let number = regions.known(name) else { return sure }
            region = number
        default: region = nil
        }
        let unlit = cells.unlit(in: region)
        guard unlit.active > 0 else { return sure }
        var lit = counted(key.subject)
        lit.add(unlit, times: -1)
        var present = lit
        present.byStatus[Int(Status.online.rawValue)] += unlit.active
        var absent = lit
        absent.byStatus[Int(Status.offline.rawValue)] += unlit.active
        if key.name == .responderFlapping {
            return lit.flapping > 0 ? sure : (nil, sure.stats)
        }
        let verdicts = [lit, present, absent].map { condition(key, on: $0).isTrue }
        let isAgreed = verdicts.allSatisfy { $0 == verdicts[0] }
        return (isAgreed ? verdicts[0] : nil, sure.stats)
    }

    /// Returns the causes for which those whom an alert is about are silent, as the cells say.
    func causesOfCells(_ key: AlertKey) -> [AlertFacts.Cause] {
        var region: UInt32?
        if case .region(let name) = key.subject {
            guard let number = regions.known(name) else { return [] }
            region = number
        }
        return cells.summary(in: region).causes.map { cause, people in
            let count =
                switch key.name {
                case .highOfflineRate: people.offline
                case .noOnlineResponders: people.absent
                case .responderFlapping: people.flapping
                default: 0
                }
            return AlertFacts.Cause(cause: cause, count: count)
        }
    }
}
