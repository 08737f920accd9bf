/// Names as they come into use and go out of it: regions, sets of circles, versions, among which are
/// the makes of phones. Source: style 15.
extension People {
    /// A region that is not there any more, by its number and name.
    typealias GoneRegion = (number: UInt32, name: [UInt8])

    /// The names that nobody must have.
    mutating func beginNames(_ policy: Policy) {
        boundNames(policy)
        regions.use(regions.number(of: Self.defaultRegion))
    }

    /// Sets how many names there may be, as the settings say.
    mutating func boundNames(_ policy: Policy) {
        // Those of the fleet cell are its cells', each of which has so many at most.
        regions.countMax = policy.role == .fleet ? .max : policy.regionNamesMax
        circles.countMax = policy.circleNamesMax
        versions.countMax = policy.versionNamesMax
    }

    // MARK: - In use

    /// A person counts for the names that they have.
    mutating func useNames(_ person: Responder) {
        regions.use(person.region)
        circles.use(person.circles)
        let phone = person.phoneNames
        for place in phone.indices { versions.use(UInt32(phone[place])) }
    }

    /// A person counts for their names no longer.
    mutating func leaveNames(_ person: Responder) {
        regions.leave(person.region)
        circles.leave(person.circles)
        let phone = person.phoneNames
        for place in phone.indices { versions.leave(UInt32(phone[place])) }
    }

    // MARK: - Out of use

    /// Lets go of the names that nobody has any more, once an instant: until then what was
    /// evaluated at it may still speak of them. It looks at those alone that somebody left. Returns
    /// the regions that went.
    mutating func dropNames(_ policy: Policy) -> [GoneRegion] {
        circles.dropIdle()
        versions.dropIdle()
        guard regions.hasIdle else { return [] }
        var gone: [GoneRegion] = []
        let kept = keptRegions(policy)
        // Half of what there may be at most, so that some come free whatever the labels are.
        let labels = regions.count * 2 < regions.countMax ? policy.regionLabelsMax : 0
        regions.dropIdle(but: { Int($0) <= labels || kept.contains($0) }) { gone.append(($0, $1)) }
        return gone
    }

    /// Regions that stay though nobody is there: the default one, and those that must be staffed.
    func keptRegions(_ policy: Policy) -> Set<UInt32> {
        Set((policy.coverageRegions + [Self.defaultRegion]).compactMap { regions.known($0) })
    }

    /// Somebody was erased: what nobody has any more goes at once, also where it was kept for its
    /// label in metrics. A region may name a person. Returns the regions that went.
    mutating func dropLabels(_ policy: Policy) -> [GoneRegion] {
        var gone: [GoneRegion] = []
        let kept = keptRegions(policy)
        let last = min(policy.regionLabelsMax, regions.names.count - 1)
        for region in UInt32(1)..<UInt32(last + 1) where !kept.contains(region) {
            let name = regions[region]
            if regions.drop(region) { gone.append((region, name)) }
        }
        return gone
    }

    /// Writes what is known of a person's phone among the facts of their gap (P6).
    func describe(_ person: Responder, in facts: inout GapFacts) {
        facts.manufacturer = versions[UInt32(person.manufacturer)]
        facts.model = versions[UInt32(person.model)]
        facts.osVersion = versions[UInt32(person.osVersion)]
        facts.appVersion = versions[UInt32(person.appVersion)]
    }

    // MARK: - Where people fall silent

    /// The number of the region in which a gap opened; nil if the name is nobody's any more. Another
    /// name may have the number that it had then.
    func region(of gap: Gap) -> UInt32? { region(of: gap, gap.report) }

    /// Returns the same of a gap whose report is still being made.
    func region(of gap: Gap, _ report: GapReport) -> UInt32? {
        let name = report.facts.region
        return regions.isName(gap.region, name) ? gap.region : regions.known(name)
    }

    // MARK: - No room

    /// True if a set of circles has a number, or it and its circles may be given theirs.
    func hasRoom(forCircles bytes: [UInt8], _ range: ByteRange) -> Bool {
        let set = Array(bytes[range.indices])
        if circles.known(set) != nil { return true }
        guard !CircleNames.isOne(set.span) else { return circles.hasRoom(for: 1) }
        let missing = CircleNames.names(set).count { circles.known(CircleNames.pack([$0])) == nil }
        return circles.hasRoom(for: missing + 1)
    }

    /// Returns, in words, what does not hold of the tables of names.
    func brokenNames(_ policy: Policy, isUnclosed: Bool) -> [String] {
        let kept = keptRegions(policy)
        let labels = policy.regionLabelsMax
        return regions.brokenInvariants("region", isUnclosed: isUnclosed) {
            Int($0) <= labels || kept.contains($0)
        }
            + circles.brokenInvariants("circle", isUnclosed: isUnclosed) { _ in false }
            + versions.brokenInvariants("version", isUnclosed: isUnclosed) { _ in false }
    }
}

extension People {
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
