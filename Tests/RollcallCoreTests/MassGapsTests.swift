import Testing

@testable import RollcallCore

/// Who fell silent together, to the instant, and what is inside a gap. Source: C1, C4, F25, F26.
@Suite struct MassGapsTests {
    private static let region: UInt32 = 7

    private func at(_ seconds: Int64) -> ObservedTime { ObservedTime(milliseconds: seconds * 1000) }

    @Test func `C1: a mass is at least five and at least 30 percent`() {
        #expect(MassGaps.isMass(6, of: 20) && !MassGaps.isMass(6, of: 21))
        #expect(MassGaps.isMass(5, of: 5) && !MassGaps.isMass(4, of: 4))
    }

    /// Names of which the region's is `g-7`.
    private let names = {
        var names = NameTable()
        for number in 1...7 { _ = names.number(of: Array("g-\(number)".utf8)) }
        return names
    }()

    @Test func `F25: who is evaluated again is so once, and only of the last 60 s`() {
        var mass = MassGaps()
        #expect(mass.open(1, in: Self.region, names, now: at(0)).openings == 1)
        #expect(mass.open(2, in: Self.region, names, now: at(61)).openings == 1)
        #expect(mass.open(3, in: Self.region, names, now: at(62)) == (2, Array("g-7".utf8)))
        #expect(mass.takeAlone(Self.region) == [2, 3])
        #expect(mass.takeAlone(Self.region) == [])
    }

    @Test func `F25: a group is over 60 s after somebody joined last`() {
        var mass = MassGaps()
        _ = mass.open(1, in: Self.region, names, now: at(0))
        #expect(mass.isNew(Self.region, now: at(0)))
        let first = mass.join(Self.region, openings: 5, isCounted: false, now: at(0))
        let second = mass.join(Self.region, openings: 5, isCounted: false, now: at(40))
        #expect(first.group == second.group && first.members == 5 && second.members == 6)
        #expect(!mass.isNew(Self.region, now: at(99)))
        #expect(mass.isNew(Self.region, now: at(100)))
        let third = mass.join(Self.region, openings: 7, isCounted: false, now: at(100))
        #expect(third.group == first.group + 1 && third.members == 7)
    }

    @Test func `B1: a group does not last longer when observed time is set back`() {
        var mass = MassGaps()
        _ = mass.open(1, in: Self.region, names, now: at(100))
        _ = mass.join(Self.region, openings: 5, isCounted: false, now: at(100))
        mass.clampInstants(to: at(50))
        #expect(!mass.isNew(Self.region, now: at(109)) && mass.isNew(Self.region, now: at(110)))
    }

    @Test func `F26: inside is after the last contact and before the return by an interval`() {
        var gap = Gap()
        gap.insideFrom = at(0)
        gap.returnedAt = at(600)
        gap.expected = .seconds(60)
        for (milliseconds, isInside) in [
            (0, false), (1, true), (539_999, true), (540_000, false),
        ] as [(Int64, Bool)] {
            #expect(gap.isInside(ObservedTime(milliseconds: milliseconds)) == isInside)
        }
    }

    @Test func `C4: 64 holes are remembered, and the oldest is booked before there is one more`() {
        var open = Uncovered()
        for place in 0..<Int64(Uncovered.holesMax) {
            #expect(open.add(from: at(10 * place), to: at(10 * place + 5)) == nil)
        }
        #expect(open.add(from: at(1000), to: at(1005)) == .init(start: at(0), end: at(5)))
        #expect(open.holes.count == Uncovered.holesMax && open.until == at(1005))
        open.clampInstants(to: at(1002))
        #expect(open.holes.last == .init(start: at(1000), end: at(1002)) && open.until == at(1002))
    }

    @Test func `V2: what was shown of dark time never goes back, and goes with its region`() {
        var totals = DarkTotals()
        let key = DarkKey(region: Self.region, platform: .ios)
        totals.keep(key, shown: 7)
        totals.keep(key, shown: 5)
        #expect(totals.shown[key] == 7)
        totals.add(.contact, key, .seconds(3))
        totals.add(.location, key, .seconds(4))
        totals.add(promised: .seconds(2), key)
        totals.drop(Self.region)
        #expect(totals.contact == [key.ofAll: 3000] && totals.location == [key.ofAll: 4000])
        #expect(totals.promised == [key.ofAll: 2000] && totals.shown.isEmpty)
    }

    @Test func `what is dark stands in a list by its region and platform, all regions first`() {
        for platform in Platform.allCases {
            for region: UInt32? in [nil, 0, 1, 19_999] {
                let key = DarkKey(region: region, platform: platform)
                #expect(DarkKey(place: key.place) == key)
                #expect(key.place >> 2 == region.map { Int($0) + 1 } ?? 0)
            }
        }
    }
}
