import Synchronization

/// The cost of writes to the state writer, told by its last turns, so that no more is let in than
/// it can answer before the listener's watchdog does: what is answered 503 for its age was done for
/// nothing.
///
/// One slow fsync says nothing about the next turn: of the last three turns that brought much the
/// fastest is believed, and those that brought little are not asked.
package final class Workload: Sendable {
    /// The longest time that what waits is to take; the watchdog answers after 5 s.
    package static let spanMax = Duration.seconds(3)
    /// So much may always wait, bytes.
    package static let bytesMin = 1 << 20
    /// A turn that answered fewer bytes is mostly the disk's time, whatever they are.
    package static let turnBytesMin = 256 << 10
    /// Turns that are remembered.
    package static let turnsKept = 3

    private struct State: Sendable {
        /// Bytes answered since the last turn ended.
        var bytes = 0
        /// Of the last turns that brought much, oldest first: nanoseconds a byte.
        var costs: [Double] = []
    }

    private let state = Mutex(State())

    /// Nothing is known yet.
    package init() {}

    /// Notes that a write of so many bytes was answered by the present turn.
    func answered(_ bytes: Int) { state.withLock { $0.bytes += bytes } }

    /// Notes that a turn is over, its writes answered; it took so long from the first of them on.
    func turned(after span: Duration) {
        state.withLock { state in
            defer { state.bytes = 0 }
            guard state.bytes >= Self.turnBytesMin else { return }
            let (seconds, attoseconds) = span.components
            let nanoseconds = Double(seconds) * 1e9 + Double(attoseconds) / 1e9
            if state.costs.count == Self.turnsKept { state.costs.removeFirst() }
            state.costs.append(nanoseconds / Double(state.bytes))
        }
    }

    /// Bytes that may wait, of `most` that there may be at all.
    package func bytesMax(of most: Int) -> Int {
        let cost = state.withLock { $0.costs.count == Self.turnsKept ? $0.costs.min() : nil }
        guard let cost, cost > 0 else { return most }
        let span = Double(Self.spanMax.components.seconds) * 1e9
        guard span / cost < Double(most) else { return most }
        return min(most, max(Self.bytesMin, Int(span / cost)))
    }
}
