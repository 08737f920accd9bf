/// Names as they come into use and go out of it: regions, sets of circles, versions. Source: style 15.
extension Engine {
    /// The names that a new engine knows, which no one must have.
    mutating func beginNames() {
        boundNames()
        regions.use(regions.number(of: Self.defaultRegion))
    }

    /// Sets how many names there may be, as the settings say.
    mutating func boundNames() {
        regions.countMax = policy.regionNamesMax
        circles.countMax = policy.circleNamesMax
        versions.countMax = policy.versionNamesMax
    }

    // MARK: - Out of use

    /// Lets go of the names that nobody has any more, once an instant: until then what was
    /// evaluated at it may still speak of them. It looks at those alone that somebody left.
    mutating func dropNames() {
        circles.dropIdle()
        versions.dropIdle()
        guard regions.hasIdle else { return }
        var dropped: [(number: UInt32, name: [UInt8])] = []
        let kept = keptRegions
        // Half of what there may be at most, so that some come free whatever the labels are.
        let labels = regions.count * 2 < regions.countMax ? policy.regionLabelsMax : 0
        regions.dropIdle(but: { Int($0) <= labels || kept.contains($0) }) {
            dropped.append(($0, $1))
        }
        for (number, name) in dropped {
            alerting.board.noteGone(name)
            counters.dark.drop(number)
        }
    }

    /// Regions that stay though nobody is there: the default one, and those that must be staffed.
    private var keptRegions: Set<UInt32> {
        Set((policy.coverageRegions + [Self.defaultRegion]).compactMap { regions.known($0) })
    }

    /// Somebody was erased: what nobody has any more goes at once, also where it was kept for its
    /// label in metrics. A region may name a person.
    mutating func dropNames(of number: Int) {
        let kept = keptRegions
        let alone = massGaps.remove(number) { [regions] region in
            regions.hasOneUser(region) && !kept.contains(region)
        }
        for region in alone { regions.leave(region) }
        let last = min(policy.regionLabelsMax, regions.names.count - 1)
        for region in UInt32(1)..<UInt32(last + 1) where !kept.contains(region) {
            let name = regions[region]
            guard regions.drop(region) else { continue }
            alerting.board.noteGone(name)
            counters.dark.drop(region)
        }
    }

    // MARK: - Where people fall silent

    /// A region in which people fall silent keeps its number as long as that is remembered (C1).
    mutating func holdForGaps(_ region: UInt32) {
        for gone in massGaps.clean(clock.observedNow) where gone != .max { regions.leave(gone) }
        if region != .max, !massGaps.knows(region) { regions.use(region) }
    }

    /// The number of the region in which a gap opened; nil if the name is nobody's any more. Another
    /// name may have the number that it had then.
    func region(of gap: Gap) -> UInt32? { regions.known(gap.report.facts.region) }

    // MARK: - Coming back

    /// Everybody is back from a checkpoint that an engine of `version` wrote. Those before 6 kept
    /// what nobody had, until somebody was erased.
    mutating func restoreNames(_ version: Int64) {
        beginNames()
        for region in massGaps.regionsHeld {
            if Int(region) < regions.names.count {
                regions.use(region)
            } else if region != .max {
                massGaps.drop(region)
            }
        }
        for kind in NameTableKind.allCases { self[kind].noteUnused(named: version < 6) }
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

    /// True if a set of circles has a number, or it and its circles may be given theirs.
    func hasRoom(forCircles bytes: [UInt8], _ range: ByteRange) -> Bool {
        let set = Array(bytes[range.indices])
        if circles.known(set) != nil { return true }
        guard !CircleNames.isOne(set.span) else { return circles.hasRoom(for: 1) }
        let missing = CircleNames.names(set).count { circles.known(CircleNames.pack([$0])) == nil }
        return circles.hasRoom(for: missing + 1)
    }

    /// Returns, in words, what does not hold of the tables of names.
    func brokenNames() -> [String] {
        let kept = keptRegions
        let labels = policy.regionLabelsMax
        let isOpen = isUnclosed
        return regions.brokenInvariants("region", isUnclosed: isOpen) {
            Int($0) <= labels || kept.contains($0)
        }
            + circles.brokenInvariants("circle", isUnclosed: isOpen) { _ in false }
            + versions.brokenInvariants("version", isUnclosed: isOpen) { _ in false }
    }
}

extension Engine {
    subscript(kind: NameTableKind) -> NameTable {
        get {
            switch kind {
            case .regions: regions
            case .circles: circles
            case .versions: versions
            }
        }
        _modify {
            switch kind {
            case .regions: yield &regions
            case .circles: yield &circles
            case .versions: yield &versions
            }
        }
    }
}
