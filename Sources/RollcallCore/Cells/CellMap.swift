/// The reason why a map was not taken.
package enum CellMapFault: Equatable, Sendable {
    /// Another map of a greater version is held.
    case older
    /// A map of the same version, and of other content, is held.
    case differs
}

/// The map of a fleet's slots to its cells. The fleet cell makes it, every cell holds the newest that
/// it was handed, and only a greater version takes its place. Source: K1.
package struct CellMap: Equatable, Sendable {
    /// A cell of a fleet: a Rollcall of its own for the people of some slots. Source: K1.
    package struct Cell: Equatable, Sendable {
        /// Bytes of a name at most.
        package static let nameBytesMax = 64
        /// Addresses of one cell at most: as many as it may have members.
        package static let urlsMax = 16
        /// Bytes of an address at most.
        package static let urlBytesMax = 512

        package var name: [UInt8]
        /// The addresses of its members, each an http or https URL.
        package var urls: [[UInt8]]

        /// A cell of a name, at some addresses.
        package init(name: [UInt8], urls: [[UInt8]]) {
            self.name = name
            self.urls = urls
        }

        /// True if `name` may be that of a cell: printable signs without `/`, as a member's is.
        package static func isName(_ name: [UInt8]) -> Bool {
            (1...nameBytesMax).contains(name.count)
                && name.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") }
        }

        /// Paths are put behind it, and nobody's password stands in what everybody may read.
        fileprivate static func isURL(_ url: [UInt8]) -> Bool {
            (1...urlBytesMax).contains(url.count)
                && url.allSatisfy { (0x21...0x7E).contains($0) && !"?#@".utf8.contains($0) }
                && (url.starts(with: "http://".utf8) || url.starts(with: "https://".utf8))
        }
    }

    /// Cells of a fleet at most.
    package static let cellsMax = 256
    /// The greatest version that is credible.
    package static let versionMax: Int64 = 1_000_000_000
    /// Versions by which a map may be ahead of the one that a cell holds: behind the greatest there is none.
    package static let jumpMax: Int64 = 1_000_000

    /// Rises with each map, from 1 on.
    package private(set) var version: Int64
    /// In the order of their names' bytes. A cell without slots is none.
    package private(set) var cells: [Cell]
    /// The place of each slot's cell in `cells`.
    package private(set) var owners: [UInt16]

    /// A map, as it was read: `isCredible` says if it can be one.
    package init(version: Int64, cells: [Cell], owners: [UInt16]) {
        self.version = version
        self.cells = cells
        self.owners = owners
    }

    /// The first map of some cells: to each a range of slots, as even as can be, in the order of their
    /// names' bytes; nil if they are none, too many or not told apart.
    package init?(first cells: [Cell]) {
        let cells = cells.sorted { $0.name.lexicographicallyPrecedes($1.name) }
        guard (1...Self.cellsMax).contains(cells.count) else { return nil }
        let owners = (0..<PersonSlot.count).map { UInt16($0 * cells.count / PersonSlot.count) }
        self.init(version: 1, cells: cells, owners: owners)
        if !isCredible { return nil }
    }

    /// The map that follows when `named` are the addresses of the cells now; nil if it would be this one.
    /// Cells that it does not hold get no slots, and those that are not named keep their addresses.
    package func following(_ named: [Cell]) -> CellMap? {
        var next = self
        for place in next.cells.indices {
            guard let cell = named.first(where: { $0.name == cells[place].name }) else { continue }
            next.cells[place].urls = cell.urls
        }
        if next == self { return nil }
        next.version += 1
        return next.isCredible ? next : nil
    }

    /// The map that takes this one's place when a cell holds `other`, which this watch never made: that one
    /// if only its version is greater, else this one under the version behind it. Nil if it is older, or says
    /// of a slot that it is another cell's.
    package func following(_ other: CellMap) -> CellMap? {
        guard other != self, other.version >= version, !hasMoved(from: other) else { return nil }
        var next = self
        next.version = other.version
        if next == other { return other }
        next.version += 1
        return next.isCredible ? next : nil
    }

    // MARK: - Questions

    /// The cell of a slot; nil of what is no slot.
    package func cell(of slot: Int) -> Cell? {
        owners.indices.contains(slot) ? cells[Int(owners[slot])] : nil
    }

    /// The place of the cell of this name in `cells`; nil if it is none of them.
    package func place(of name: [UInt8]) -> Int? { cells.firstIndex { $0.name == name } }

    /// The ranges of slots that a cell has, in their order.
    package func ranges(of place: Int) -> [ClosedRange<Int>] {
        var ranges: [ClosedRange<Int>] = []
        for slot in owners.indices where Int(owners[slot]) == place {
            if let last = ranges.last, last.upperBound == slot - 1 {
                ranges[ranges.count - 1] = last.lowerBound...slot
            } else {
                ranges.append(slot...slot)
            }
        }
        return ranges
    }

    /// The share of all slots that a cell has, in ten-thousandths.
    package func share(of place: Int) -> Int64 {
        let slots = owners.reduce(0) { $0 + (Int($1) == place ? 1 : 0) }
        return Int64((slots * 10_000 + PersonSlot.count / 2) / PersonSlot.count)
    }

    /// Returns why this map would not take the place of `held`; nil if it would, or is the same.
    package func fault(after held: CellMap?) -> CellMapFault? {
        guard let held, held != self else { return nil }
        return version == held.version ? .differs : version < held.version ? .older : nil
    }

    /// True if a slot is another cell's than in `held`.
    package func hasMoved(from held: CellMap) -> Bool {
        zip(owners, held.owners).contains { cells[Int($0)].name != held.cells[Int($1)].name }
    }

    /// False for what nobody can have made: every slot is of a cell, every cell has slots and another
    /// name, and numbers are within their limits.
    package var isCredible: Bool {
        guard (1...Self.versionMax).contains(version), (1...Self.cellsMax).contains(cells.count),
            owners.count == PersonSlot.count, owners.allSatisfy({ Int($0) < cells.count }),
            Set(owners).count == cells.count
        else { return false }
        let isInOrder = zip(cells, cells.dropFirst()).allSatisfy {
            $0.name.lexicographicallyPrecedes($1.name)
        }
        return isInOrder
            && cells.allSatisfy { cell in
                Cell.isName(cell.name) && (1...Cell.urlsMax).contains(cell.urls.count)
                    && cell.urls.allSatisfy(Cell.isURL)
            }
    }
}

/// The map that a watch holds, and the one way in which it becomes another.
extension CellMap? {
    /// Takes a map, if nothing speaks against it; returns what does.
    mutating func apply(_ map: CellMap) -> CellMapFault? {
        if let fault = map.fault(after: self) { return fault }
        self = map
        return nil
    }
}

// MARK: - Bytes

extension CellMap {
    /// The map as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The map of some bytes; nil if they make no sense.
    package init?(journalBytes: [UInt8]) {
        self = .none
        if !Archive.reads(part: journalBytes, { code(&$0) }) || !isCredible { return nil }
    }

    /// No map yet, to be read into.
    static let none = CellMap(version: 0, cells: [], owners: [])

    /// Codes the map; slots as runs of one cell. What is read is credible, or damage.
    mutating func code(_ archive: inout Archive) {
        archive.code(&version)
        archive.code(&cells, empty: Cell(name: [], urls: [])) { archive, cell in
            archive.code(&cell.name)
            archive.code(&cell.urls)
        }
        var runs = archive.isReading ? [] : runs
        archive.code(&runs)
        guard archive.isReading else { return }
        owners = []
        for start in stride(from: 0, to: runs.count - 1, by: 2) {
            let (count, place) = (runs[start], runs[start + 1])
            guard (1...PersonSlot.count).contains(count), (0..<Self.cellsMax).contains(place),
                owners.count + count <= PersonSlot.count
            else { return archive.refuse() }
            owners += repeatElement(UInt16(place), count: count)
        }
        if runs.count % 2 != 0 || !isCredible { archive.refuse() }
    }

    /// Pairs of a count and the place of the cell that has so many slots more.
    private var runs: [Int] {
        var runs: [Int] = []
        for owner in owners {
            if let place = runs.last, place == Int(owner) {
                runs[runs.count - 2] += 1
            } else {
                runs += [1, Int(owner)]
            }
        }
        return runs
    }
}
