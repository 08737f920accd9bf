/// The active peers of people, kept as they change so that nobody is searched for: of each circle,
/// and of each region, how many are active and who they are as long as it is one. Source: N3, F33.
///
/// A circle is told by its number in the table of sets of circles, where it stands as a set of one.
struct CircleCounts: Sendable {
    /// The active people of one circle or region.
    private struct GroupCount: Sendable {
        var count: UInt32 = 0
        /// The exclusive or of their numbers: of one, their number.
        var numbers: UInt32 = 0
    }

    private var circles: [GroupCount] = []
    private var regions: [GroupCount] = []
    /// Everybody who names a circle, active or not, in no order.
    private var members = NumberLists()

    init() {}

    // MARK: - Who is there

    /// The people who name a circle.
    func members(of circle: UInt32) -> [UInt32] { members[Int(circle)] }

    /// Active people of a circle.
    func active(inCircle circle: UInt32) -> Int {
        Int(circle) < circles.count ? Int(circles[Int(circle)].count) : 0
    }

    /// Active people of a region.
    func active(inRegion region: UInt32) -> Int {
        Int(region) < regions.count ? Int(regions[Int(region)].count) : 0
    }

    /// Active people of all regions; each counts once.
    var activeInRegions: Int { regions.reduce(0) { $0 + Int($1.count) } }

    /// Active people of all circles; each counts once a circle.
    var activeInCircles: Int { circles.reduce(0) { $0 + Int($1.count) } }

    // MARK: - Changes

    /// Somebody names a circle.
    mutating func join(_ number: Int, circle: UInt32) {
        members.append(UInt32(number), to: Int(circle))
    }

    /// Somebody names it no longer.
    mutating func leave(_ number: Int, circle: UInt32) {
        members.remove(UInt32(number), from: Int(circle))
    }

    /// Somebody is active in a circle, or (`step` −1) no longer. Who was alone there and is not any
    /// more, or the reverse.
    mutating func count(_ number: Int, circle: UInt32, _ step: Int) -> Int? {
        Self.count(&circles, circle, number, step)
    }

    /// Counts somebody who is active in a region, or (`step` −1) no longer, and returns who was
    /// alone there and is not any more, or the reverse.
    mutating func count(_ number: Int, region: UInt32, _ step: Int) -> Int? {
        Self.count(&regions, region, number, step)
    }

    private static func count(
        _ counts: inout [GroupCount], _ place: UInt32, _ number: Int, _ step: Int
    ) -> Int? {
        while counts.count <= Int(place) { counts.append(GroupCount()) }
        var group = counts[Int(place)]
        let before = group
        group.count = UInt32(Int(group.count) + step)
        group.numbers ^= UInt32(number)
        counts[Int(place)] = group
        if before.count == 1, group.count == 2 { return Int(before.numbers) }
        if before.count == 2, group.count == 1 { return Int(group.numbers) }
        return nil
    }
}
