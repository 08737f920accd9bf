/// Rising lists of numbers, found by what the numbers share.
struct RisingNumbers<Key: Hashable & Sendable>: Equatable, Sendable {
    private var lists: [Key: [Int64]] = [:]

    subscript(_ key: Key) -> [Int64] { lists[key] ?? [] }

    func contains(_ number: Int64, in key: Key) -> Bool {
        lists[key].map { Self.place(of: number, in: $0).isFound } ?? false
    }

    mutating func insert(_ number: Int64, _ key: Key) {
        let (place, isFound) = Self.place(of: number, in: self[key])
        if !isFound { lists[key, default: []].insert(number, at: place) }
    }

    mutating func remove(_ number: Int64, _ key: Key) {
        let (place, isFound) = Self.place(of: number, in: self[key])
        guard isFound else { return }
        lists[key]?.remove(at: place)
        if lists[key]?.isEmpty == true { lists[key] = nil }
    }

    /// Returns the place of a number in a list, or the one that it would have.
    private static func place(
        of number: Int64, in list: [Int64]
    ) -> (place: Int, isFound: Bool) {
        let place = list.firstPlace { $0 >= number }
        return (place, place < list.count && list[place] == number)
    }
}
