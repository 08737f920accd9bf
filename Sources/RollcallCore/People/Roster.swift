/// Everybody that was ever mentioned, by number and by id.
///
/// Numbers are given in the order of enrolment and never reused. People stand in pages, so that a
/// checkpoint can hold on to the pages of one instant while the watch goes on (J5).
package struct Roster: Sendable {
    /// People a page: 13 KB, which is what somebody's first change costs while a checkpoint holds on
    /// to it.
    static let pageSize = 64

    private var pages: [ContiguousArray<Responder>] = []
    /// The ids, one after the other.
    private var idBytes: [UInt8] = []
    private var slots = NumberSlots()
    /// Number of people, the erased ones included.
    package private(set) var count = 0

    init() {}

    /// The person of a number below `count`.
    package subscript(number: Int) -> Responder {
        // In place: a person has 200 bytes, and most accesses mean eight of them.
        _read { yield pages[number / Self.pageSize][number % Self.pageSize] }
        _modify { yield &pages[number / Self.pageSize][number % Self.pageSize] }
    }

    /// The pages and the ids, for a checkpoint.
    var image: (pages: [ContiguousArray<Responder>], idBytes: [UInt8]) { (pages, idBytes) }

    /// The bytes of a person's id; empty for an erased one.
    package func id(_ number: Int) -> ArraySlice<UInt8> {
        idBytes[Self.idRange(pages, number)]
    }

    /// The number of the person whose id is `bytes[range]`. If it is that of the one who is tried `first`,
    /// nobody is sought: the index is somewhere else in memory for each.
    package func number(
        of bytes: Span<UInt8>, _ range: Range<Int>, tryingFirst first: Int? = nil
    ) -> Int? {
        let id = bytes.extracting(range).bytes
        if let first, (0..<count).contains(first), !range.isEmpty, isID(first, id) { return first }
        return slots.first(NumberSlots.hash(id)) { isID($0, id) }
    }

    /// The number of the person with this id.
    package func number(of id: [UInt8]) -> Int? { number(of: id.span, 0..<id.count) }

    /// Enrols a person who is not there yet, under the next number.
    mutating func enrol(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        let number = count
        let page = number / Self.pageSize
        let offset = UInt32(idBytes.count)
        bytes.extracting(range).withUnsafeBufferPointer { idBytes.append(contentsOf: $0) }
        if page == pages.count { pages.append(Self.emptyPage) }
        pages[page].append(Responder())
        // In place: a person's copy costs more than the rest of this.
        pages[page][number % Self.pageSize].idOffset = offset
        pages[page][number % Self.pageSize].idCount = UInt8(range.count)
        count += 1
        if !range.isEmpty { place(number) }
        return number
    }

    /// A page with room for the people who belong there.
    static var emptyPage: ContiguousArray<Responder> {
        var page = ContiguousArray<Responder>()
        page.reserveCapacity(pageSize)
        return page
    }

    // MARK: - Coming back

    /// Bytes that all ids take.
    var idBytesCount: Int { idBytes.count }

    /// Puts the next people back, who say where their ids will stand; they are found once these are
    /// there, see `place(ids:_:from:)`.
    mutating func append(_ page: ContiguousArray<Responder>) {
        if count.isMultiple(of: Self.pageSize) {
            pages.append(page)
            count += page.count
            return
        }
        for person in page {
            if count.isMultiple(of: Self.pageSize) { pages.append(Self.emptyPage) }
            pages[pages.count - 1].append(person)
            count += 1
        }
    }

    /// Puts back the ids of people from `first` on, who are found by `hashes` from now on. An erased one
    /// keeps the number and has none.
    mutating func place(ids: [UInt8], _ hashes: [Int?], from first: Int) {
        self.idBytes += ids
        let (pages, idBytes) = image
        slots.insert(hashes, from: first) { Self.hash(pages, idBytes, $0) }
    }

    /// Makes room for so many people in all.
    mutating func reserve(_ people: Int) {
        pages.reserveCapacity(people / Self.pageSize + 1)
        let (pages, idBytes) = image
        slots.reserve(people) { Self.hash(pages, idBytes, $0) }
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

    /// True if the id of `a` comes before that of `b`, by bytes (F1).
    func precedes(_ a: Int, _ b: Int) -> Bool {
        let id = idBytes.span.extracting(Self.idRange(pages, a)).bytes
        return id.precedes(idBytes.span.extracting(Self.idRange(pages, b)).bytes)
    }

    /// Returns people in the order of their ids (F1): half a million may fall due at once.
    func inOrder(_ numbers: some Sequence<Int>) -> [Int] {
        var places = numbers.map { (number: $0, id: Self.idRange(pages, $0)) }
        guard places.count > 1 else { return places.map(\.number) }
        // Ids begin alike, mostly: eight bytes behind what all have in common tell two apart.
        let bytes = idBytes.span.bytes
        let first = bytes.extracting(places[0].id)
        var shared = first.byteCount
        for place in places {
            shared = first.sharedPrefix(with: bytes.extracting(place.id), upTo: shared)
        }
        var keyed = places.map { place in
            (key: bytes.extracting(place.id.dropFirst(shared)).firstBytes, number: place.number)
        }
        places = []
        keyed.sort { $0.key == $1.key ? precedes($0.number, $1.number) : $0.key < $1.key }
        return keyed.map(\.number)
    }

    // MARK: - By id

    private func isID(_ number: Int, _ id: RawSpan) -> Bool {
        idBytes.span.extracting(Self.idRange(pages, number)).bytes.isSame(as: id)
    }

    private mutating func place(_ number: Int) {
        let (pages, idBytes) = image
        slots.insert(number) { Self.hash(pages, idBytes, $0) }
    }

    private mutating func leaveSlot(_ number: Int) {
        let (pages, idBytes) = image
        slots.remove(number) { Self.hash(pages, idBytes, $0) }
    }

    /// By what a person is found.
    private static func hash(
        _ pages: [ContiguousArray<Responder>], _ idBytes: [UInt8], _ number: Int
    ) -> Int {
        NumberSlots.hash(idBytes.span.extracting(idRange(pages, number)).bytes)
    }

    /// Returns the range of a person's id; nothing else of them is read.
    @inline(__always)
    private static func idRange(
        _ pages: [ContiguousArray<Responder>], _ number: Int
    ) -> Range<Int> {
        let (page, place) = (number / pageSize, number % pageSize)
        let start = Int(pages[page][place].idOffset)
        return start..<(start + Int(pages[page][place].idCount))
    }
}
