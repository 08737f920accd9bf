/// Names by number: regions, sets of circles, versions. Number 0 is the empty name.
///
/// It knows how many have each name. One that nobody has any more is gone when the instant closes,
/// and its number is given again, the lowest first: what it takes is bounded by what is told at
/// once, and a circle or a region, which may name a person, stays no longer than somebody is there.
///
///     (none) ── told ──► in use ── its last one leaves ──► idle ── dropIdle ──► (none)
///                          ▲                                │
///                          └──────────── told again ────────┘
///
/// Nothing that is stored refers to a number but a checkpoint, which holds the names themselves.
package struct NameTable: Sendable {
    /// The names by number; a dropped one is empty.
    package private(set) var names = NamePages()
    private var slots = NumberSlots()
    /// People, and what else counts, that have each name.
    private(set) var users: [UInt32] = [0]
    /// Numbers without a name, which nobody has.
    private var free = FreeNumbers()
    /// Numbers that somebody left since the last `dropIdle`, maybe more than once, maybe taken again.
    private var idle: [UInt32] = []
    /// Numbers that there are at most.
    private let numbersMax: Int
    /// Names held at most; those that are there stay.
    var countMax: Int

    /// A table that holds at most `countMax` names, by numbers below `numbersMax`.
    package init(countMax: Int = .max, numbersMax: Int = Int(UInt32.max)) {
        self.countMax = countMax
        self.numbersMax = numbersMax
        names.append([])
    }

    /// A table for the same numbers, with no name in it and no limit yet.
    func emptied() -> NameTable { NameTable(numbersMax: numbersMax) }

    /// True if the table ever gave a number.
    func hasNumber(_ number: UInt32) -> Bool { number < users.count }

    /// The name of a number that the table gave.
    package subscript(number: UInt32) -> [UInt8] { number == 0 ? [] : names[Int(number)] }

    /// Number of names, without the empty one.
    package var count: Int { names.count - 1 - free.count }

    /// True if there is room for so many more names.
    package func hasRoom(for more: Int) -> Bool {
        count + more <= countMax && names.count - free.count + more <= numbersMax
    }

    /// The number of `name`, given now if it has none; 0 if there is no room for it.
    package mutating func number(of name: [UInt8]) -> UInt32 {
        if let number = known(name) { return number }
        guard hasRoom(for: 1) else { return 0 }
        guard let number = free.first else {
            let number = UInt32(names.count)
            names.append(name)
            users.append(0)
            note(Int(number))
            return number
        }
        free.remove(number)
        names.replace(Int(number), with: name)
        note(Int(number))
        return number
    }

    /// The number of `name` if it has one.
    package func known(_ name: [UInt8]) -> UInt32? {
        if name.isEmpty { return 0 }
        let bytes = name.span.bytes
        return slots.first(NumberSlots.hash(bytes)) { number in
            names.read(number) { $0.bytes.isSame(as: bytes) }
        }.map { UInt32($0) }
    }

    /// True if a number has no name; an erasure may have taken it out of an older checkpoint.
    private func isNameless(_ number: Int) -> Bool { names.read(number) { $0.isEmpty } }

    /// Lets a name that is not empty be found.
    private mutating func note(_ number: Int) {
        let names = names
        slots.insert(number) { names.hash($0) }
    }

    /// Lets it be found no longer.
    private mutating func forget(_ number: Int) {
        let names = names
        slots.remove(number) { names.hash($0) }
    }

    // MARK: - Who has them

    /// True if a number stands for a name that is not empty.
    func isName(_ number: UInt32, _ name: [UInt8]) -> Bool {
        guard number < names.count, !name.isEmpty else { return false }
        return names.read(Int(number)) { $0.bytes.isSame(as: name.span.bytes) }
    }

    /// True if the name of a number is `bytes[range]`.
    func isName(_ number: UInt32, _ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
        names.read(Int(number)) { $0.bytes.isSame(as: bytes.extracting(range.indices).bytes) }
    }

    /// Gives somebody the name `bytes[range]` instead of the one whose number they have; false if
    /// there is no room for it, and they keep what they have.
    mutating func give(
        _ bytes: [UInt8], _ range: ByteRange, to number: inout some FixedWidthInteger
    ) -> Bool {
        // Mostly it is the same.
        if isName(UInt32(truncatingIfNeeded: number), bytes.span, range) { return true }
        let name = Array(bytes[range.indices])
        let new = self.number(of: name)
        guard new != 0 || name.isEmpty else { return false }
        guard new != number else { return true }
        leave(UInt32(truncatingIfNeeded: number))
        use(new)
        number = .init(truncatingIfNeeded: new)
        return true
    }

    /// Somebody more has the name.
    mutating func use(_ number: UInt32) {
        users[Int(number)] += 1
    }

    /// Somebody has it no longer.
    mutating func leave(_ number: UInt32) {
        users[Int(number)] -= 1
        if users[Int(number)] == 0, number != 0 { idle.append(number) }
    }

    // MARK: - Letting go

    /// Drops the names that were left since the last time and that nobody has, but those that
    /// `isKept`; `dropped` is told of each. It looks at no others.
    mutating func dropIdle(
        but isKept: (UInt32) -> Bool = { _ in false },
        _ dropped: (UInt32, [UInt8]) -> Void = { _, _ in }
    ) {
        // Mostly there is none, and this once an instant.
        if idle.isEmpty { return }
        for number in idle where users[Int(number)] == 0 && !isKept(number) {
            let name = self[number]
            if drop(number) { dropped(number, name) }
        }
        // The room that a mass of them took is given back.
        idle.removeAll(keepingCapacity: idle.count < Self.idleKept)
    }

    /// Numbers for which room is kept from one instant to the next.
    private static let idleKept = 1024

    /// Drops a name and frees its number; false if somebody has it, or it is free.
    mutating func drop(_ number: UInt32) -> Bool {
        guard number != 0, users[Int(number)] == 0, !free.contains(number) else { return false }
        if !isNameless(Int(number)) {
            forget(Int(number))
            names.replace(Int(number), with: [])
        }
        free.insert(number)
        return true
    }

    /// True if somebody left a name since the last `dropIdle`.
    var hasIdle: Bool { !idle.isEmpty }

    /// True if one alone has the name.
    func hasOneUser(_ number: UInt32) -> Bool {
        Int(number) < users.count && users[Int(number)] == 1
    }

    /// True if somebody has a name.
    func isUsed(_ name: [UInt8]) -> Bool {
        known(name).map { Int($0) < users.count && users[Int($0)] > 0 } ?? false
    }

    // MARK: - Coming back

    /// Puts the next names back, from number `first` on; false if others are missing before them, or
    /// there are too many. No number is free before `noteUnused`: whose name an erasure took may
    /// still come.
    mutating func restore(_ next: [[UInt8]], from first: Int) -> Bool {
        guard first == names.count, next.count <= numbersMax - names.count else { return false }
        for name in next {
            let number = names.count
            names.append(name)
            users.append(0)
            if !name.isEmpty { note(number) }
        }
        return true
    }

    /// Everybody is back: numbers without a name that nobody has are free. With `named`, names that
    /// nobody has are as if they had been left just now: older versions never dropped them.
    mutating func noteUnused(named: Bool) {
        for number in users.indices where users[number] == 0 && number > 0 {
            if isNameless(number) {
                free.insert(UInt32(number))
            } else if named {
                idle.append(UInt32(number))
            }
        }
    }

    // MARK: - Invariants

    /// Returns, in words, what does not hold of the table: every number is in use, kept or free.
    /// Before an instant closes (`isUnclosed`), a number may also be one that somebody has just
    /// left.
    func brokenInvariants(
        _ table: String, isUnclosed: Bool, isKept: (UInt32) -> Bool
    ) -> [String] {
        var broken: [String] = []
        let left = isUnclosed ? Set(idle) : []
        for number in names.indices.dropFirst() {
            let place = UInt32(number)
            let isFree = free.contains(place)
            if isFree, users[number] > 0 || !isNameless(number) {
                broken.append("\(table) \(number): free and in use")
            }
            if !isFree, users[number] == 0, !isKept(place), !left.contains(place) {
                broken.append("\(table) \(number): nobody has it, and it stays")
            }
            if !isFree, !isNameless(number), known(names[number]) != place {
                broken.append("\(table) \(number): is not found by its name")
            }
        }
        return broken
    }
}

extension NamePages {
    /// By what a name is found.
    fileprivate func hash(_ number: Int) -> Int { read(number) { NumberSlots.hash($0.bytes) } }
}
