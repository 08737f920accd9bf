/// The engine's state at exactly one turn, to be written in slices while the engine goes on.
///
/// It holds on to the pages of people as they were; a page that changes meanwhile is copied. Slice 0
/// is the head: everything that is small. The names follow, then the people with what stands beside
/// them, some thousands a slice. Source: J5.
package struct Checkpoint: Sendable {
    /// Pages a slice: about 1000 people, a millisecond or two of work.
    private static let pagesASlice = 16
    /// People a slice.
    static var peopleASlice: Int { pagesASlice * Roster.pageSize }
    /// Names a slice.
    private static let namesASlice = 2048

    private let head: [UInt8]
    private let names: [(table: NameTableKind, names: Slice<NamePages>)]
    private let pages: [ContiguousArray<Responder>]
    private let idBytes: [UInt8]
    private let tables: PersonTables

    /// The state of `engine`, between two instants.
    package init(_ engine: Engine) {
        var head = CheckpointHead(engine)
        var archive = Archive()
        head.code(&archive)
        self.head = archive.bytes
        names = NameTableKind.allCases.flatMap { table in
            let names = engine.people[table].names
            return stride(from: 1, to: names.count, by: Self.namesASlice).map {
                (table, names[$0..<min($0 + Self.namesASlice, names.count)])
            }
        }
        (pages, idBytes) = engine.roster.image
        tables = PersonTables(engine)
    }

    /// Number of slices.
    package var sliceCount: Int {
        1 + names.count + (pages.count + Self.pagesASlice - 1) / Self.pagesASlice
    }

    /// The bytes of slice `index`.
    package func slice(_ index: Int) -> [UInt8] {
        guard index > 0 else { return head }
        if index <= names.count {
            let (table, names) = names[index - 1]
            return NamesSlice(table: table, first: names.startIndex, names: Array(names)).bytes
        }
        let first = (index - 1 - names.count) * Self.pagesASlice
        var slice = PeopleSlice(first: first * Roster.pageSize)
        var number = slice.first
        for page in pages[first..<min(first + Self.pagesASlice, pages.count)] {
            for person in page {
                slice.append(person, idBytes[person.idRange], tables.extras(number))
                number += 1
            }
        }
        return slice.bytes
    }
}
