import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The map of a fleet's cells as this watch holds it, and how far the cells are with it: for all who must
/// not ask the state writer. In a watch without cells it holds nothing and refuses nobody. Source: K1, K7.
package final class CellBoard: Sendable {
    /// The reason why a request about some people is not taken here.
    package enum Refusal: Equatable, Sendable {
        /// Nobody knows yet whose they are.
        case noMap
        /// One of them is another cell's: the item's place in its list, that cell's name, and the
        /// version of the map that says so.
        case elsewhere(item: Int, cell: [UInt8], version: Int64)
    }

    /// The state of one cell as the fleet cell knows it.
    struct Standing: Equatable, Sendable {
        /// The version of the map that it has; nil while it was never heard.
        var version: Int64?
        /// The instant since which no address of it answers; nil while one does.
        var unreachedSince: Timestamp?
        /// The reason why it does not have the map, in words; nil if it has, or was not asked yet.
        var problem: String?
        /// True if it said when it was asked last which map of this fleet it has, or that it has none.
        var hasAnswered = false
    }

    /// The knowledge of a cell about the fleet cell.
    enum Hearing: String, CaseIterable {
        /// It asked lately.
        case heard
        /// It did not ask for so long that it counts as dark.
        case dark
        /// It did not ask, and not for long enough.
        case unknown
    }

    private struct State {
        var map: CellMap?
        /// The place of this cell in the map; nil if it is none of its cells.
        var own: UInt16?
        var standings: [[UInt8]: Standing] = [:]
        /// The fleet cell is known to be dark; nil if this watch is no cell by what is committed.
        var isFleetCellDark: Bool?
        var hearing = Hearing.unknown
        /// The newest version of the map by which no new cell lacks people of this one, as the fleet cell said.
        var settledVersion: Int64 = 0
        /// The cell in whose log this one looks on until it has its slots; nil if it is a watch of its own.
        var origin: [UInt8]?
        /// At the fleet cell: true while some cell says nothing of its people, or not yet.
        var hasUnlit = false
        /// At the fleet cell: those that have never said anything, each with the one that it was split from.
        var unheard: [[UInt8]: [UInt8]] = [:]
        /// Those of the fleet cell; nil elsewhere.
        var silences: FleetSilences?
        /// Those that the fleet cell has decided lately, and how often they changed.
        var masses: [FleetMass] = []
        var massesRevision: Int64 = 0
    }

    /// The part that this watch has in a fleet.
    package let role: CellRole
    /// True of a watch that is all of its fleet.
    let isAlone: Bool
    private let state = Mutex(State())
    private let misdirected = Atomic<Int>(0)
    private let summariesAsked = Atomic<Int>(0)

    /// A board without a map, of a watch that has a part in a fleet.
    package init(_ role: CellRole = .alone) {
        self.role = role
        isAlone = role == .alone
    }

    // MARK: - The map

    /// The map that is held; nil before there is one.
    package var map: CellMap? { isAlone ? nil : state.withLock { $0.map } }

    /// The version of the map that is held; nil before there is one.
    var mapVersion: Int64? { isAlone ? nil : state.withLock { $0.map?.version } }

    /// The cell that this one is still to be split from; nil if there is none.
    var origin: [UInt8]? { state.withLock { $0.origin } }

    /// At the fleet cell: true while some cell says nothing of its people, or not yet.
    var hasUnlit: Bool { state.withLock { $0.hasUnlit } }

    /// True of a cell that knows nobody as its own yet.
    var lacksMap: Bool {
        if case .cell = role { return map == nil }
        return false
    }

    /// Follows what is committed: the map, the cell that this one is still to be split from, whether the fleet
    /// cell is known to be dark, and at the fleet cell whether some cell is not lit, the silences and the masses.
    package func follow(
        _ map: CellMap?, origin: [UInt8]? = nil, isFleetCellDark: Bool? = nil,
        hasUnlit: Bool = false, unheard: [[UInt8]: [UInt8]] = [:], silences: FleetSilences? = nil,
        masses: [FleetMass] = []
    ) {
        if isAlone { return }
        state.withLock { state in
            (state.origin, state.hasUnlit, state.unheard) = (origin, hasUnlit, unheard)
            state.isFleetCellDark = isFleetCellDark
            state.silences = silences
            if state.masses != masses {
                state.masses = masses
                state.massesRevision += 1
            }
            guard state.map != map else { return }
            state.map = map
            if case .cell(let name) = role {
                state.own = map?.place(of: name).map { UInt16($0) }
            }
        }
    }

    // MARK: - Whose people are

    /// Returns why items are not taken here, all of them; nil if they are.
    func refusal(of items: ItemList) -> Refusal? {
        if isAlone || items.count == 0 { return nil }
        return refusal { map, own in
            let bytes = items.bytes.span
            for index in 0..<items.count {
                guard let id = items.item(index)?.responderID else { continue }
                let place = map.owners[PersonSlot.of(bytes, id.indices)]
                if place != own { return (index, place) }
            }
            return nil
        }
    }

    /// Returns why a request about one person is not taken here; nil if it is.
    func refusal(of id: [UInt8]) -> Refusal? {
        if isAlone { return nil }
        return refusal { map, own in
            let place = map.owners[PersonSlot.of(id)]
            return place == own ? nil : (0, place)
        }
    }

    private func refusal(
        _ first: (_ map: CellMap, _ own: UInt16?) -> (item: Int, place: UInt16)?
    ) -> Refusal? {
        let (held, own) = state.withLock { ($0.map, $0.own) }
        guard let map = held else { return .noMap }
        guard let (item, place) = first(map, own) else { return nil }
        misdirected.add(1, ordering: .relaxed)
        return .elsewhere(item: item, cell: map.cells[Int(place)].name, version: map.version)
    }

    // MARK: - The cells

    /// Says how a cell stands.
    func note(_ standing: Standing, of cell: [UInt8]) {
        state.withLock { $0.standings[cell] = standing }
    }

    /// Forgets how cells stand: another member knows it.
    func forgetStandings() { state.withLock { $0.standings = [:] } }

    /// True if some cell said last that it holds a later map than that of a version.
    func isBehind(_ version: Int64) -> Bool {
        state.withLock { state in
            state.standings.values.contains { $0.hasAnswered && ($0.version ?? 0) > version }
        }
    }

    /// Returns how a cell stands.
    func standing(of cell: [UInt8]) -> Standing {
        state.withLock { $0.standings[cell] ?? Standing() }
    }

    /// The silences that every cell is to have; nil if this is no fleet cell.
    var silences: FleetSilences? { state.withLock { $0.silences } }

    /// The masses that the fleet cell has decided lately, by their numbers: every cell is told of them.
    var masses: (list: [FleetMass], revision: Int64) {
        state.withLock { ($0.masses, $0.massesRevision) }
    }

    /// Rises with each change of the masses; 0 before the first.
    var massesRevision: Int64 { state.withLock { $0.massesRevision } }

    // MARK: - The fleet cell, as a cell knows it

    /// The fleet cell asked what is to be said, and said the newest version of the map by which no new cell lacks
    /// people of this one.
    func noteAsk(settled version: Int64) {
        summariesAsked.add(1, ordering: .relaxed)
        state.withLock { state in
            state.hearing = .heard
            state.settledVersion = max(state.settledVersion, version)
        }
    }

    /// The newest version of the map by which no new cell lacks people of this one, as the fleet cell said; 0 before.
    var settledVersion: Int64 { state.withLock { $0.settledVersion } }

    /// At the fleet cell: the version of its map if all that may have been split from a cell have said something,
    /// and so have their people; nil before.
    func versionSettled(for cell: [UInt8]) -> Int64? {
        state.withLock { state in
            let isWaiting = state.unheard.values.contains { $0.isEmpty || $0 == cell }
            return isWaiting ? nil : state.map?.version
        }
    }

    /// At the fleet cell: the one that a cell was split from of which nothing was ever heard; nil of others.
    func originAwaited(by cell: [UInt8]) -> [UInt8]? {
        state.withLock { $0.unheard[cell].flatMap { $0.isEmpty ? nil : $0 } }
    }

    /// Times that it asked.
    var asks: Int { summariesAsked.load(ordering: .relaxed) }

    /// True while this cell tells that nothing is heard of it; nil if this watch is no cell by what is committed.
    var isFleetCellDark: Bool? { state.withLock { $0.isFleetCellDark } }

    /// The last that is known of its asking.
    var hearing: Hearing {
        get { state.withLock { $0.hearing } }
        set { state.withLock { $0.hearing = newValue } }
    }

    // MARK: - Metrics

    /// Appends the families; none where there are no cells.
    func append(to page: inout Exposition) {
        if isAlone { return }
        page.family(
            "rollcall_cell_role", .gauge,
            "1, with the part that this watch has in a fleet of many cells.")
        switch role {
        // Whoever looks on before a split shows what a member of the old cell does.
        case .cell(let name):
            page.sample(["role": .word("cell"), "cell": .bytes(origin ?? name)], 1)
        case .alone, .fleet: page.sample(["role": .word("fleet")], 1)
        }
        page.family(
            "rollcall_cell_map_version", .gauge,
            "Version of the map of the fleet's cells that is held here, or 0.")
        page.sample(Quantity(Int(map?.version ?? 0)))
        page.family(
            "rollcall_cell_misdirected", .counter,
            "Requests and messages that were refused because they name people of another cell.")
        page.sample(Quantity(misdirected.load(ordering: .relaxed)))
    }
}
