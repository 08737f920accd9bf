/// Names by number: regions, sets of circles, versions. Number 0 is the empty name.
///
/// It knows how many people have each name, so that an erasure can take those away that nobody has
/// any more: a circle or a region may name a person.
package struct NameTable: Sendable {
    /// The names by number; a dropped one is empty.
    package private(set) var names = NamePages()
    private var slots = NumberSlots()
    /// People that have each name.
    private(set) var users: [UInt32] = [0]
    /// Numbers of dropped names, falling: the lowest is given again first.
    private var free: [UInt32] = []
    let countMax: Int

    /// A table that holds at most `countMax` names; all further ones get number 0.
    package init(countMax: Int = .max) {
        self.countMax = countMax
        names.append([])
    }

    /// The name of a number that the table gave.
    package subscript(number: UInt32) -> [UInt8] { names[Int(number)] }

    /// Number of names, without the empty one.
    package var count: Int { names.count - 1 - free.count }

    /// The number of `name`, given now if it has none.
    package mutating func number(of name: [UInt8]) -> UInt32 {
        if let number = known(name) { return number }
        // An erasure may have taken a name out of an older checkpoint whose people have it.
        while let number = free.popLast() {
            guard users[Int(number)] == 0 else { continue }
            names.replace(Int(number), with: name)
            note(Int(number))
            return number
        }
        guard names.count < countMax else { return 0 }
        let number = UInt32(names.count)
        names.append(name)
        users.append(0)
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

    /// True if the name of a number is `bytes[range]`.
    func isName(_ number: UInt32, _ bytes: Span<UInt8>, _ range: ByteRange) -> Bool {
        names.read(Int(number)) { $0.bytes.isSame(as: bytes.extracting(range.indices).bytes) }
    }

    /// Gives somebody the name `bytes[range]` instead of the one whose number they have.
    mutating func give(
        _ bytes: [UInt8], _ range: ByteRange, to number: inout some FixedWidthInteger
    ) {
        // Mostly it is the same.
        if isName(UInt32(truncatingIfNeeded: number), bytes.span, range) { return }
        give(Array(bytes[range.indices]), to: &number)
    }

    /// Gives somebody `name` instead of the one whose number they have.
    private mutating func give(_ name: [UInt8], to number: inout some FixedWidthInteger) {
        let new = self.number(of: name)
        guard new != number else { return }
        leave(UInt32(truncatingIfNeeded: number))
        use(new)
        number = .init(truncatingIfNeeded: new)
    }

    /// Somebody more has the name.
    mutating func use(_ number: UInt32) { users[Int(number)] += 1 }

    /// Somebody has it no longer.
    mutating func leave(_ number: UInt32) { users[Int(number)] -= 1 }

    /// Drops every name that nobody has, but those of `kept`.
    mutating func dropUnused(but kept: [[UInt8]] = []) {
        for number in names.indices where users[number] == 0 {
            let name = names[number]
            if name.isEmpty || kept.contains(name) { continue }
            forget(number)
            names.replace(number, with: [])
            free.append(UInt32(number))
        }
        free.sort(by: >)
    }

    // MARK: - Coming back

    /// Puts the next names back, from number `first` on; false if others are missing before them.
    mutating func restore(_ next: [[UInt8]], from first: Int) -> Bool {
        guard first == names.count, next.count <= countMax - names.count else { return false }
        for name in next {
            let number = names.count
            names.append(name)
            users.append(0)
            if name.isEmpty { free.insert(UInt32(number), at: 0) } else { note(number) }
        }
        return true
    }
}

extension NamePages {
    /// By what a name is found.
    fileprivate func hash(_ number: Int) -> Int { read(number) { NumberSlots.hash($0.bytes) } }
}
