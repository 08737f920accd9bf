/// Everybody that was ever mentioned, by number and by id.
///
/// Numbers are given in the order of enrolment and never reused. People stand in pages, so that a
/// checkpoint can hold on to the pages of one instant while the watch goes on (design §1 J5).
package struct Roster: Sendable {
    /// People a page.
    static let pageSize = 256

    private var pages: [ContiguousArray<Responder>] = []
    /// The ids, one after the other.
    private var idBytes: [UInt8] = []
    /// Open addressing: number + 1 of the person, 0 free.
    private var slots: [UInt32] = [UInt32](repeating: 0, count: 64)
    /// Number of people, the erased ones included.
    package private(set) var count = 0

    init() {}

    /// The person of a number below `count`.
    package subscript(number: Int) -> Responder {
        // In place: a person has 216 bytes, and most accesses mean eight of them.
        _read { yield pages[number / Self.pageSize][number % Self.pageSize] }
        _modify { yield &pages[number / Self.pageSize][number % Self.pageSize] }
    }

    /// The pages and the ids, for a checkpoint.
    var image: (pages: [ContiguousArray<Responder>], idBytes: [UInt8]) { (pages, idBytes) }

    /// The bytes of a person's id; empty for an erased one.
    package func id(_ number: Int) -> ArraySlice<UInt8> {
        let person = self[number]
        return idBytes[Int(person.idOffset)..<(Int(person.idOffset) + Int(person.idCount))]
    }

    /// The number of the person whose id is `bytes[range]`.
    package func number(of bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var slot = Self.hash(bytes, range) & (slots.count - 1)
        while slots[slot] != 0 {
            let number = Int(slots[slot]) - 1
            if isID(number, bytes, range) { return number }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// The number of the person with this id.
    package func number(of id: [UInt8]) -> Int? { number(of: id.span, 0..<id.count) }

    /// Enrols a person who is not there yet, under the next number.
    mutating func enrol(
        _ bytes: Span<UInt8>, _ range: Range<Int>, as person: Responder = Responder()
    ) -> Int {
        if (count + 1) * 2 > slots.count { reserve(count + 1) }
        let number = count
        let page = number / Self.pageSize
        let offset = UInt32(idBytes.count)
        bytes.extracting(range).withUnsafeBufferPointer { idBytes.append(contentsOf: $0) }
        if page == pages.count {
            var page = ContiguousArray<Responder>()
            page.reserveCapacity(Self.pageSize)
            pages.append(page)
        }
        pages[page].append(person)
        // In place: a person's copy costs more than the rest of this.
        pages[page][number % Self.pageSize].idOffset = offset
        pages[page][number % Self.pageSize].idCount = UInt8(range.count)
        count += 1
        // An erased person, put back from a checkpoint, keeps the number and has no id.
        if !range.isEmpty { place(number) }
        return number
    }

    /// Makes room for so many people in all.
    mutating func reserve(_ people: Int) {
        pages.reserveCapacity(people / Self.pageSize + 1)
        guard people * 2 > slots.count else { return }
        var size = slots.count
        while people * 2 > size { size *= 2 }
        slots = [UInt32](repeating: 0, count: size)
        for number in 0..<count where self[number].idCount > 0 { place(number) }
    }

    /// Gives the next number to nobody, in the place of somebody who was erased.
    mutating func enrolNobody() { _ = enrol([UInt8]().span, 0..<0) }

    /// Takes a person's id and facts out of memory; the number stays taken. Where their rows stand
    /// in the store is kept: they are still to be removed.
    mutating func erase(_ number: Int) {
        let person = self[number]
        leaveSlot(number)
        for index in Int(person.idOffset)..<(Int(person.idOffset) + Int(person.idCount)) {
            idBytes[index] = 0
        }
        var nobody = Responder()
        nobody.lastRow = person.lastRow
        nobody.lastDecision = person.lastDecision
        self[number] = nobody
    }

    /// Frees the person's slot and closes the hole: what stands behind it moves up, as long as that
    /// brings it nearer to where its hash says.
    private mutating func leaveSlot(_ number: Int) {
        let mask = slots.count - 1
        var hole = home(number)
        while slots[hole] != UInt32(number + 1) { hole = (hole + 1) & mask }
        var next = (hole + 1) & mask
        while slots[next] != 0 {
            let home = home(Int(slots[next]) - 1)
            if (next - home) & mask >= (next - hole) & mask {
                slots[hole] = slots[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = 0
    }

    /// Where the hash of a person's id says that they stand.
    private func home(_ number: Int) -> Int {
        let person = self[number]
        let start = Int(person.idOffset)
        return Self.hash(idBytes.span, start..<(start + Int(person.idCount))) & (slots.count - 1)
    }

    /// True if the id of `a` comes before that of `b`, by bytes (fine print F1).
    func precedes(_ a: Int, _ b: Int) -> Bool {
        id(a).lexicographicallyPrecedes(id(b))
    }

    private func isID(_ number: Int, _ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let page = number / Self.pageSize
        let offset = Int(pages[page][number % Self.pageSize].idOffset)
        guard Int(pages[page][number % Self.pageSize].idCount) == range.count else { return false }
        for index in 0..<range.count
        where idBytes[offset + index] != bytes[range.lowerBound + index] {
            return false
        }
        return true
    }

    private mutating func place(_ number: Int) {
        var slot = home(number)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = UInt32(number + 1)
    }

    /// The standard library's keyed hash: strangers choose the ids, so it must not be foreseeable.
    private static func hash(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        var hasher = Hasher()
        bytes.extracting(range).withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize() & Int.max
    }
}
