/// Names that come into use and go out of it while the engine goes on. Source: style 15.
extension Engine {
    /// Lets go of the names that nobody has any more, once an instant.
    mutating func dropNames() { follow(people.dropNames(policy)) }

    /// Some are here no more: what nobody has any more goes at once.
    mutating func dropNames(of numbers: [Int]) {
        let kept = people.keptRegions(policy)
        let alone = gaps.mass.remove(numbers) { [regions] region in
            regions.hasOneUser(region) && !kept.contains(region)
        }
        for region in alone { regions.leave(region) }
        follow(people.dropLabels(policy))
    }

    /// Regions went: nobody is told of them any more, nor are they counted.
    private mutating func follow(_ gone: [People.GoneRegion]) {
        for (number, name) in gone {
            // What was last said of it is not so any more, and its number may be another's.
            if policy.role == .cell, alerting.board.isDirty(number) { report.left.append(name) }
            alerting.board.noteGone(name)
            counters.dark.drop(number)
        }
    }

    // MARK: - Coming back

    /// Everybody is back from a checkpoint that an engine of `version` wrote. Those before 6 kept
    /// what nobody had, until somebody was erased.
    mutating func restoreNames(_ version: Int64) {
        people.beginNames(policy)
        gaps.restoreRegions(&people.regions)
        for kind in NameTableKind.allCases { people[kind].noteUnused(named: version < 6) }
        for (region, summary) in cells.cells.flatMap(\.regions) {
            guard regions.hasNumber(region) else { continue }
            regions.use(region)
            people.aggregates.change(region, from: RegionSummary(), to: summary)
        }
        recountReport()
        dropNames()
    }

    // MARK: - No room

    /// Tells which names of an item found no room.
    mutating func noteRefusedNames(_ index: Int, _ receipt: inout Receipt) {
        for kind in NameTableKind.allCases where namesRefused.contains(kind.fact) {
            receipt.refuseName(kind, of: index)
        }
        namesRefused = []
    }
}
