import RollcallCore
import RollcallStore
import RollcallSupport
import Synchronization

/// Puts an engine together from a checkpoint by two threads. One reads the slices, one puts their people
/// back in order; whichever has nothing of its own to do takes slices apart, which is the most work.
///
///     reads    slice 1 ─ 2 ─ 3 ─ 4 ──── takes 4 apart ─ 5 ────────────────── …
///     restores           takes 1 apart ─ puts 1 back ─ takes 2 apart ─ puts 2 back …
final class CheckpointRestorer: Sendable {
    /// Slices that were read and not put back yet: half a megabyte each.
    private static let slicesAhead = 8
    /// Slices from which on whoever reads takes them apart too: until then the other one finds work.
    private static let waitingMax = 4

    /// A slice as it was read.
    private struct Read: Sendable {
        let index: Int
        let bytes: [UInt8]

        func takenApart(_ version: Int64) -> CheckpointSlice {
            CheckpointSlice(bytes, at: index, version: version)
        }
    }

    /// The slices that lie between the two.
    private struct Queue: Sendable {
        /// Those to be taken apart, in order.
        var waiting: [Read] = []
        /// Those to be put back, by their index.
        var apart: [Int: CheckpointSlice] = [:]
        /// The index of the one that is put back next.
        var next = 0
        /// Slices in all; nil until the last one was read.
        var count: Int?

        /// Takes out the one that waits longest.
        mutating func takeFirst() -> Read? { waiting.isEmpty ? nil : waiting.removeFirst() }

        /// Takes out what the one who puts back has to do next.
        mutating func takeTask() -> Task? {
            if let count, next >= count { return .end }
            if let slice = apart.removeValue(forKey: next) {
                next += 1
                return .putBack(slice)
            }
            return takeFirst().map { .takeApart($0) }
        }
    }

    private enum Task: Sendable {
        case putBack(CheckpointSlice)
        case takeApart(Read)
        case end
    }

    private let version: Int64
    private let queue = Mutex(Queue())
    /// Tells the one who puts back that something lies there.
    private let news = Mailbox<Void>()
    private let restored = Mailbox<Void>()
    private let result = Mailbox<Engine?>()

    private init(version: Int64) { self.version = version }

    /// Returns the engine of the slices of a checkpoint that `read` hands over; nil if one is
    /// damaged.
    ///
    /// Throws what `read` throws. If the system has no thread left, there is only this one.
    static func engine(
        version: Int64,
        _ read: ((UnsafeRawBufferPointer) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) -> Engine? {
        let restorer = CheckpointRestorer(version: version)
        guard DetachedThread.start({ restorer.run() }) else {
            var reader = CheckpointReader(version: version)
            try read { reader.take(Array($0)) }
            return reader.finish()
        }
        let count: Int
        do throws(StoreError) {
            count = try restorer.take(from: read)
        } catch {
            // The thread must not be left waiting.
            restorer.giveUp()
            throw error
        }
        restorer.queue.withLock { $0.count = count }
        restorer.news.put(())
        while restorer.takeOneApart() {}
        while true {
            if let engine = restorer.result.takeAll(waiting: 1000).first { return engine }
        }
    }

    // MARK: - Whoever reads

    /// Returns the number of slices that were read.
    private func take(
        from read: ((UnsafeRawBufferPointer) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        var (count, ahead) = (0, 0)
        try read { bytes in
            let slice = Read(index: count, bytes: Array(bytes))
            count += 1
            ahead += 1
            var waiting = queue.withLock { queue in
                queue.waiting.append(slice)
                return queue.waiting.count
            }
            news.put(())
            while waiting >= Self.waitingMax, takeOneApart() { waiting -= 1 }
            ahead -= restored.takeAll(waiting: 0).count
            while ahead >= Self.slicesAhead {
                let isIdle = !takeOneApart()
                ahead -= restored.takeAll(waiting: isIdle ? 1000 : 0).count
            }
        }
        return count
    }

    /// False if none waits for it.
    private func takeOneApart() -> Bool {
        guard let read = queue.withLock({ $0.takeFirst() }) else { return false }
        let slice = read.takenApart(version)
        queue.withLock { $0.apart[read.index] = slice }
        news.put(())
        return true
    }

    /// Lets the other one end at once.
    private func giveUp() {
        queue.withLock { queue in
            queue = Queue()
            queue.count = 0
        }
        news.put(())
    }

    // MARK: - Whoever puts back

    private func run() {
        var reader = CheckpointReader(version: version)
        while true {
            switch queue.withLock({ $0.takeTask() }) {
            case .putBack(let slice):
                reader.take(slice)
                restored.put(())
            case .takeApart(let read):
                let slice = read.takenApart(version)
                queue.withLock { $0.apart[read.index] = slice }
            case .end:
                let engine = reader.finish()
                // Two owners would make every change a copy.
                reader = CheckpointReader(version: version)
                return result.put(engine)
            case nil: _ = news.takeAll(waiting: 1000)
            }
        }
    }
}
