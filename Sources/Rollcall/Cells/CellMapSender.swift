import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The fleet cell's part in K1 and K2: it makes the map of the fleet's cells, hands it to each of them until
/// all have it, and asks each what it has to say. Only who takes writes does so; of several members that is the one that leads.
package final class CellMapSender: Sendable {
    /// Threads that ask cells, one for each: those that are away hold up nobody else.
    private static let threadsMax = CellMap.cellsMax

    private let workers: [CellMapWorker]
    private let asker: PeerGroupAsker

    /// A sender for the fleet cell of `named`, whose cells ask for `token`.
    package init(
        _ named: [CellMap.Cell], token: Secret?, writer: StateWriter, board: CellBoard
    ) {
        let count = min(Self.threadsMax, named.count)
        let asker = PeerGroupAsker(token: token, board: board)
        workers = (0..<count).map { place in
            CellMapWorker(
                named, share: (place, count), token: token, writer: writer, board: board,
                asker: asker)
        }
        self.asker = asker
    }

    /// Starts the threads; false if the system has none left.
    package func start() -> Bool { workers.allSatisfy { $0.start() } && asker.start() }

    /// Ends them after what they are at, and does not wait for that.
    package func close() {
        for worker in workers { worker.close() }
        asker.close()
    }
}
