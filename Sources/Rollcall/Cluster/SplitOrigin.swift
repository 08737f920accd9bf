import RollcallCluster

/// The cell that a new one is split from: its log is followed until it gives the new one its slots.
/// Source: K6.
package struct SplitOrigin: Sendable {
    /// The name of that cell.
    package var cell: [UInt8]
    /// The name of the new one.
    package var own: [UInt8]
    package var log: any TurnLog
    /// Ends the threads of that log.
    package var close: @Sendable () -> Void

    /// The origin of the cell `own`.
    package init(
        cell: [UInt8], own: [UInt8], log: any TurnLog, close: @escaping @Sendable () -> Void
    ) {
        (self.cell, self.own, self.log, self.close) = (cell, own, log, close)
    }
}
