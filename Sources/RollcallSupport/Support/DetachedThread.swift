import Glibc

/// A thread of its own, for whoever waits for others.
package final class DetachedThread: Sendable {
    /// Bytes of the thread's stack if nothing else is said: TLS needs a part of it.
    private static let stackBytesStandard = 1 << 20

    private let work: @Sendable () -> Void

    private init(_ work: @escaping @Sendable () -> Void) { self.work = work }

    /// Starts a thread that does `work` and ends; false if the system has none left.
    package static func start(
        stackBytes: Int = stackBytesStandard, _ work: @escaping @Sendable () -> Void
    ) -> Bool {
        let box = Unmanaged.passRetained(DetachedThread(work))
        var thread = pthread_t()
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, stackBytes)
        let result = pthread_create(&thread, &attributes, runDetached, box.toOpaque())
        pthread_attr_destroy(&attributes)
        guard result == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }

    fileprivate func run() { work() }
}

/// The thread itself. Not a closure: one written inside a type could be isolated to an actor.
private func runDetached(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<DetachedThread>.fromOpaque(box).takeRetainedValue().run()
    return nil
}
