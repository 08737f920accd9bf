import RollcallCore
import RollcallSupport
import Synchronization

/// The counts of a gateway, which begin at 0 with the process. Source: K5.
final class GatewayStats: Sendable {
    /// The counts of one cell's answers.
    private struct Cell: Sendable {
        var answered = 0
        var unavailable = 0

        /// Both, with the values of their label.
        var both: [(StaticString, Int)] {
            [("answered", answered), ("unavailable", unavailable)]
        }
    }

    /// The requests that it answers, by routes.
    let edge = EdgeStats()
    private let cells = Mutex<[[UInt8]: Cell]>([:])

    /// Counts what came of a request to a cell.
    func count(_ outcome: CellOutcome, of cell: [UInt8]) {
        cells.withLock { cells in
            if case .answered = outcome {
                cells[cell, default: Cell()].answered += 1
            } else {
                cells[cell, default: Cell()].unavailable += 1
            }
        }
    }

    /// Returns the page of metrics, of a gateway that holds `map`.
    func page(_ format: Exposition.Format, map: CellMap?, process: ProcessStats?) -> [UInt8] {
        var page = Exposition(format: format, capacity: 65_536)
        page.family("rollcall_build", .info, "What this program is.")
        page.sample(["version": .bytes(Array(BuildInformation.version.utf8))], 1)
        page.family(
            "rollcall_cell_map_version", .gauge,
            "Version of the map of the fleet's cells that is held here, or 0.")
        page.sample(Quantity(Int(map?.version ?? 0)))
        let counted = cells.withLock { $0 }
        page.family(
            "rollcall_gateway_cell_requests", .counter,
            "Requests that went on to a cell, by what came of them.")
        let names = Set((map?.cells.map(\.name) ?? []) + counted.keys)
            .subtracting([Self.fleetCell])
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            for (word, count) in (counted[name] ?? Cell()).both {
                page.sample(["cell": .bytes(name), "outcome": .word(word)], Quantity(count))
            }
        }
        page.family(
            "rollcall_gateway_fleet_requests", .counter,
            "Requests that went on to the fleet cell, by what came of them.")
        for (word, count) in (counted[Self.fleetCell] ?? Cell()).both {
            page.sample(["outcome": .word(word)], Quantity(count))
        }
        edge.appendRequests(to: &page)
        process?.append(to: &page)
        return page.finish()
    }

    /// The name under which the fleet cell is counted, which no cell has.
    static let fleetCell: [UInt8] = []
}
