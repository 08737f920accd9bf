import Glibc

/// A thread of its own, for whoever waits for others.
package final class DetachedThread: Sendable {
    /// Bytes of the thread's stack if nothing else is said: TLS needs a part of it.
    private static let stackBytesStandard = 1 << 20

    private let work: @Sendable () -> Void
    private let name: String

    private init(_ name: String, _ work: @escaping @Sendable () -> Void) {
        self.name = name
        self.work = work
    }

    /// Starts a thread that does `work` and ends; false if the system has none left. It is called like the
    /// file that starts it, so that a report says who is busy (V19).
    package static func start(
        stackBytes: Int = stackBytesStandard, file: String = #fileID,
        _ work: @escaping @Sendable () -> Void
    ) -> Bool {
        let name = file.split(separator: "/").last.map { $0.prefix { $0 != "." } } ?? ""
        let box = Unmanaged.passRetained(DetachedThread(String(name), work))
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

    fileprivate func run() {
        setName()
        work()
    }

    /// Writes the name where the kernel takes it: pthread_setname_np, which does just that, is shown to
    /// GNU sources only.
    private func setName() {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // "At most 16 bytes, the terminating null byte included": what is longer would be cut as well.
        let bytes = Array(name.utf8.prefix(15))
        _ = write(descriptor, bytes, bytes.count)
    }
}

/// The thread itself. Not a closure: one written inside a type could be isolated to an actor.
private func runDetached(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let box else { return nil }
    Unmanaged<DetachedThread>.fromOpaque(box).takeRetainedValue().run()
    return nil
}
