/// A cell gives some of its slots to a new one, which holds the same people until then: how one of the
/// two takes it. Source: K6.
package struct CellSplit: Equatable, Sendable {
    /// The map from then on.
    package var map: CellMap
    /// The cell whose people stay here.
    package var own: [UInt8]
    /// True at the new cell: what was counted, told and begun until then stays with the old one.
    package var isNew: Bool

    /// A split, as the cell `own` takes it.
    package init(_ map: CellMap, own: [UInt8], isNew: Bool) {
        (self.map, self.own, self.isNew) = (map, own, isNew)
    }

    /// False for what nobody can have made.
    package var isCredible: Bool { map.isCredible && map.place(of: own) != nil }

    /// The split as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The split of some bytes; nil if they make no sense.
    package init?(journalBytes: [UInt8]) {
        self.init(.none, own: [], isNew: false)
        if !Archive.reads(part: journalBytes, { code(&$0) }) || !isCredible { return nil }
    }

    private mutating func code(_ archive: inout Archive) {
        map.code(&archive)
        archive.code(&own)
        archive.code(&isNew)
    }
}

extension CellMap {
    /// Returns the map in which the cell `new` has half of the slots that `old` has here, the later ones;
    /// nil if `new` has slots here already, or `old` has none to give.
    package func splitting(_ old: [UInt8], into new: Cell) -> CellMap? {
        guard let from = place(of: old), place(of: new.name) == nil else { return nil }
        let slots = owners.indices.filter { Int(owners[$0]) == from }
        guard slots.count > 1 else { return nil }
        let given = Set(slots[(slots.count / 2)...])
        let all = (cells + [new]).sorted { $0.name.lexicographicallyPrecedes($1.name) }
        let map = CellMap(
            version: version + 1, cells: all,
            owners: owners.indices.map { slot in
                let name = given.contains(slot) ? new.name : cells[Int(owners[slot])].name
                return UInt16(all.firstIndex { $0.name == name } ?? 0)
            })
        return map.isCredible ? map : nil
    }

    /// Returns the cell that had slots in `held` of one that is here alone; nil if that one is there too.
    package func origin(of cell: [UInt8], in held: CellMap) -> [UInt8]? {
        guard held.place(of: cell) == nil, let place = place(of: cell),
            let slot = owners.firstIndex(of: UInt16(place))
        else { return nil }
        return held.cell(of: slot)?.name
    }

    /// Returns whether a cell has slots in `held` that it has not in this map; nil if it has some here that it
    /// has not there, or gives some to a cell that was there already: those people would be nowhere.
    package func takesSlots(of cell: [UInt8], since held: CellMap) -> Bool? {
        var isGiving = false
        for slot in owners.indices {
            let (now, before) = (
                cells[Int(owners[slot])].name, held.cells[Int(held.owners[slot])].name
            )
            if now == before { continue }
            if now == cell { return nil }
            guard before == cell else { continue }
            if held.place(of: now) != nil { return nil }
            isGiving = true
        }
        return isGiving
    }
}
