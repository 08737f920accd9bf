/// A cell's share of the nudges of the whole fleet. Source: N10, K2.
///
/// `nudges.rate` is one rate over all cells, and no cell asks another. A second has as many turns as the
/// rate, by the wall; each is one slot's, in an order in which the slots of a cell are spread evenly, and
/// whoever has that slot may nudge one person at the beginning of the turn. In 4096 turns every slot has one.
struct NudgeShare: Equatable, Sendable {
    /// Slots from one turn to the next: odd, so that all have their turn, and near the golden section of them,
    /// so that neighbours are far apart.
    private static let stride: Int64 = 2531

    /// True of the slots of this cell.
    private let isOwn: [Bool]
    /// True if any is.
    private let hasAny: Bool

    /// The share of the cell at a place of a map.
    init(_ map: CellMap, own place: Int) {
        isOwn = map.owners.map { Int($0) == place }
        hasAny = isOwn.contains(true)
    }

    /// Returns how many may be nudged at the very instant `wall`, with `rate` turns a second.
    func turns(at wall: Timestamp, rate: Int) -> Int {
        var count = 0
        var turn = Self.first(from: wall, rate)
        while Self.beginning(of: turn, rate) == wall {
            if isOwn(turn) { count += 1 }
            turn += 1
        }
        return count
    }

    /// Returns the first turn of this cell at `wall` or after it; nil without slots.
    func next(from wall: Timestamp, rate: Int) -> Timestamp? {
        guard hasAny else { return nil }
        var turn = Self.first(from: wall, rate)
        while !isOwn(turn) { turn += 1 }
        return Self.beginning(of: turn, rate)
    }

    private func isOwn(_ turn: Int64) -> Bool {
        isOwn[Int((turn &* Self.stride) & Int64(PersonSlot.count - 1))]
    }

    private static func first(from wall: Timestamp, _ rate: Int) -> Int64 {
        (wall.milliseconds &* Int64(rate) &+ 999) / 1000
    }

    private static func beginning(of turn: Int64, _ rate: Int) -> Timestamp {
        Timestamp(milliseconds: (turn &* 1000) / Int64(rate))
    }
}
