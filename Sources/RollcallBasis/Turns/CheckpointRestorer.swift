import RollcallCore
import RollcallStore
import RollcallSupport

/// Puts an engine together from a checkpoint on a thread of its own, while whoever reads the slices
/// takes the next ones apart: half of a start's work each.
final class CheckpointRestorer: Sendable {
    /// Slices taken apart that wait: a megabyte each.
    private static let slicesAhead = 8

    private enum Message: Sendable {
        case slice(CheckpointSlice)
        case end
    }

    private let version: Int64
    private let slices = Mailbox<Message>()
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
        // Also after an error: the thread must not be left waiting.
        do throws(StoreError) {
            try restorer.take(from: read)
        } catch {
            restorer.slices.put(.end)
            throw error
        }
        restorer.slices.put(.end)
        while true {
            if let engine = restorer.result.takeAll(waiting: 1000).first { return engine }
        }
    }

    private func take(
        from read: ((UnsafeRawBufferPointer) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) {
        var waiting = 0
        var isFirst = true
        try read { bytes in
            let slice = CheckpointSlice(Array(bytes), isFirst: isFirst, version: version)
            isFirst = false
            slices.put(.slice(slice))
            waiting += 1
            while waiting >= Self.slicesAhead {
                waiting -= restored.takeAll(waiting: 1000).count
            }
        }
    }

    private func run() {
        var reader = CheckpointReader(version: version)
        while true {
            for message in slices.takeAll(waiting: 1000) {
                switch message {
                case .slice(let slice):
                    reader.take(slice)
                    restored.put(())
                case .end:
                    let engine = reader.finish()
                    // Two owners would make every change a copy.
                    reader = CheckpointReader(version: version)
                    return result.put(engine)
                }
            }
        }
    }
}
