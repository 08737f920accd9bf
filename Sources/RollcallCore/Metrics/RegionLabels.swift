/// The regions that have a label of their own. Source: F30, F30.
///
/// Regions under `coverage` always do, also before anybody was there. The other places go by
/// region number, so that a region keeps its label whatever comes later. What remains is summed as
/// `other`; so is a region that is itself called that, since two series cannot have one label set.
struct RegionLabels {
    /// Names as labels have them and their people by status, in the order of region numbers, `other`
    /// last. A region where nobody ever was has no number, nor has the sum of all others.
    private(set) var rows: [(text: [UInt8], number: UInt32?, counts: [Int])] = []
    /// True if the last row is the sum of those without a label.
    private(set) var hasOther = false
    /// Regions that have no label of their own.
    private(set) var foldedCount = 0

    private static let other = Array("other".utf8)

    init(_ engine: Engine) {
        let table = engine.regions
        var covered = Set<UInt32>()
        var unseen: [[UInt8]] = []
        for name in engine.policy.coverageRegions where name != Self.other {
            if let number = table.known(name) {
                if number != 0 { covered.insert(number) }
            } else if !unseen.contains(name) {
                unseen.append(name)
            }
        }
        let other = table.known(Self.other)
        var free = max(0, engine.policy.regionLabelsMax - covered.count - unseen.count)
        var numbers = Array(covered)
        // This ends with the places: a backend that names a region for each person costs nothing.
        var number: UInt32 = 1
        while free > 0, Int(number) < table.names.count {
            if number != other, !covered.contains(number) {
                // A dropped region holds its place: another one's label must not move, or the sum
                // of the others would fall.
                if !table[number].isEmpty { numbers.append(number) }
                free -= 1
            }
            number += 1
        }
        var rest = engine.aggregates.byStatus
        for number in numbers.sorted() {
            let counts = engine.aggregates.counts(in: number)
            for index in rest.indices { rest[index] -= counts[index] }
            rows.append((Exposition.escaped(table[number]), number, counts))
        }
        for name in unseen { rows.append((Exposition.escaped(name), nil, [0, 0, 0, 0])) }
        foldedCount = table.count - numbers.count - (other == nil ? 0 : 1)
        let isOtherNamed = other != nil || engine.policy.coverageRegions.contains(Self.other)
        hasOther = foldedCount > 0 || isOtherNamed
        if hasOther { rows.append((Self.other, nil, rest)) }
    }
}
