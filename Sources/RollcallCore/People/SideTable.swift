/// Values that few people have, by their numbers.
///
/// It stands in pages like the roster, so that a checkpoint can hold on to the pages of one instant
/// while the watch goes on (J5): a dictionary would be copied whole, at a million entries
/// for longer than a turn may take.
struct SideTable<Value: Sendable>: Sendable {
    /// The entries of one page of people, by rising place, which stands in what a value leaves free at
    /// its end.
    typealias Page = [(value: Value, place: UInt8)]

    /// A page of whose first people so many have a value gets room for all.
    private static var massFrom: Int { 8 }

    private var pages: [Page] = []

    /// The value of a person; nil without one.
    subscript(number: Int) -> Value? {
        get {
            guard let (page, index) = find(number), let index else { return nil }
            return pages[page][index].value
        }
        set {
            let page = number / Roster.pageSize
            if page >= pages.count {
                if newValue == nil { return }
                pages.append(contentsOf: repeatElement([], count: page + 1 - pages.count))
            }
            let place = UInt8(number % Roster.pageSize)
            let index = Self.index(of: place, in: pages[page])
            let isThere = index < pages[page].count && pages[page][index].place == place
            guard let newValue else {
                if isThere { remove(page, index) }
                return
            }
            if isThere {
                pages[page][index].value = newValue
            } else if index < pages[page].count {
                pages[page].insert((newValue, place), at: index)
            } else {
                // Whoever falls due together comes in order, mostly, and of a mass comes everybody.
                if index == Self.massFrom, place == Self.massFrom {
                    pages[page].reserveCapacity(Roster.pageSize)
                }
                pages[page].append((newValue, place))
            }
        }
    }

    /// Puts a value, if there is one, back where none is.
    mutating func put(_ value: Value?, at number: Int) {
        if let value { self[number] = value }
    }

    /// Returns what `body` makes of a person's value where it stands; nil without one.
    @inline(__always)
    func read<Result>(_ number: Int, _ body: (borrowing Value) -> Result) -> Result? {
        guard let (page, index) = find(number), let index else { return nil }
        return body(pages[page][index].value)
    }

    /// Lets `body` change a person's value where it stands; nil without one.
    mutating func change<Result>(
        _ number: Int, _ body: (inout Value) -> Result
    ) -> Result? {
        guard let (page, index) = find(number), let index else { return nil }
        return body(&pages[page][index].value)
    }

    /// Takes a person's value out.
    mutating func take(_ number: Int) -> Value? {
        guard let (page, index) = find(number), let index else { return nil }
        return remove(page, index)
    }

    /// An empty page keeps no room.
    @discardableResult
    private mutating func remove(_ page: Int, _ index: Int) -> Value {
        let value = pages[page].remove(at: index).value
        if pages[page].isEmpty { pages[page] = [] }
        return value
    }

    /// Lets `body` change the value of everybody who has one.
    mutating func changeAll(_ body: (inout Value) -> Void) {
        for page in pages.indices where !pages[page].isEmpty {
            for index in pages[page].indices { body(&pages[page][index].value) }
        }
    }

    /// Calls `body` with each entry, by rising number.
    func forEach(_ body: (Int, Value) -> Void) {
        for (page, entries) in pages.enumerated() {
            for entry in entries { body(page * Roster.pageSize + Int(entry.place), entry.value) }
        }
    }

    @inline(__always)
    private func find(_ number: Int) -> (page: Int, index: Int?)? {
        let page = number / Roster.pageSize
        guard page < pages.count, !pages[page].isEmpty else { return nil }
        let place = UInt8(number % Roster.pageSize)
        let index = Self.index(of: place, in: pages[page])
        let isThere = index < pages[page].count && pages[page][index].place == place
        return (page, isThere ? index : nil)
    }

    /// Returns the index at which `place` stands, or would.
    private static func index(of place: UInt8, in page: Page) -> Int {
        var low = 0
        var high = page.count
        while low < high {
            let middle = (low + high) / 2
            if page[middle].place < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
