import RollcallBasis
import RollcallCore
import RollcallSupport

/// Cells that answer by a newer map than the one that is held here: since one was split, somebody is another
/// one's, and who asks all must hear the new one, too. Source: K5, K6.
extension Gateway {
    /// Cells beyond those that were asked.
    enum NewerMap: Sendable {
        /// Nobody knows of any.
        case none
        /// Slots are other cells', and these are there, too.
        case more([CellMap.Cell])
        /// Somebody knows of a newer map, and the fleet cell does not tell it.
        case untold
    }

    /// The cells that a newer map has, where nobody tells that map: with a blank in it, it is no cell's name.
    static let untold = CellMap.Cell(name: Array("of a newer map".utf8), urls: [])

    /// Passes a request on once more, to the cell that a refusal names, by the map that it was refused by.
    func passAnew(_ call: Call, _ passed: CellRequest, misdirected refusal: HTTPCallAnswer) {
        let tree = try? JSONTree(reading: refusal.body)
        let name = Array((tree?["cell"]?.text ?? "").utf8)
        follower.map(of: tree?["map_version"]?.whole ?? 0) { [self] map in
            guard let map, let place = map.place(of: name) else {
                return call.answer(Self.isMoving, InputStats())
            }
            let now = ClockReading.now().elapsed
            calls.send(passed, to: map.cells[place], arrival: now) { outcome in
                if case .answered(let answer) = outcome, answer.status == 421 {
                    return call.answer(Self.isMoving, InputStats())
                }
                Self.answer(call, outcome, of: map.cells[place])
            }
        }
    }

    /// The answer while two cells say of each other that they have somebody: that is no question to a client.
    static var isMoving: HTTPResponse {
        Router.unavailable("a person is being handed from one cell to another")
    }

    /// Begins a request anew by a newer map, if there is one: what a client says may be of that.
    func beginAnew(_ call: Call, after map: CellMap) {
        follower.map(of: map.version + 1) { [self] _ in forward(call.anew) }
    }

    /// The answer while a newer map is there than the one that is held.
    static var isSplit: HTTPResponse {
        Router.unavailable("a cell was split, and this gateway has not heard how: send it again")
    }

    // MARK: - Everybody

    /// True if one of `outcomes` was answered by a newer map than `map`.
    static func isNewer(_ outcomes: [CellOutcome], than map: CellMap) -> Bool {
        outcomes.contains { $0.mapVersion > map.version }
    }

    /// Looks whether one of `outcomes` was answered by a newer map than `map`, and goes on with what that one adds.
    func lookForMore(
        _ outcomes: [CellOutcome], than map: CellMap, then: @escaping @Sendable (NewerMap) -> Void
    ) {
        let version = outcomes.map(\.mapVersion).max() ?? 0
        guard version > map.version else { return then(.none) }
        follower.map(of: version) { newer in
            guard let newer, newer.version >= version else { return then(.untold) }
            let more = newer.cells.filter { map.place(of: $0.name) == nil }
            then(newer.hasMoved(from: map) ? .more(more) : .none)
        }
    }

    /// Sends a request to the cells of a map and `others`, and to those that a newer map has beside them; goes on
    /// with whoever was asked, and what came of it.
    func sendToAll(
        _ request: CellRequest, and others: [CellMap.Cell] = [], of call: Call, _ map: CellMap,
        then: @escaping @Sendable ([CellMap.Cell], [CellOutcome]) -> Void
    ) {
        let cells = others + map.cells
        calls.send(cells.map { (request, $0) }, arrival: call.sentAt) { [self] outcomes in
            lookForMore(outcomes, than: map) { [self] newer in
                switch newer {
                case .none: then(cells, outcomes)
                case .untold:
                    then(cells + [Self.untold], outcomes + [.unavailable("nobody tells the map")])
                case .more(let more) where more.isEmpty: then(cells, outcomes)
                case .more(let more):
                    let now = ClockReading.now().elapsed
                    calls.send(more.map { (request, $0) }, arrival: now) {
                        then(cells + more, outcomes + $0)
                    }
                }
            }
        }
    }
}
