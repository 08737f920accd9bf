import Glibc
import Synchronization

/// A thread of the load; what it throws is thrown where it is joined.
struct LoadThread {
    fileprivate final class Work: Sendable {
        let body: @Sendable () throws(BenchmarkError) -> Void
        let failure = Mutex<BenchmarkError?>(nil)

        init(_ body: @escaping @Sendable () throws(BenchmarkError) -> Void) { self.body = body }

        func run() {
            do throws(BenchmarkError) {
                try body()
            } catch {
                failure.withLock { $0 = error }
            }
        }
    }

    private let work: Work
    private let thread: pthread_t

    /// Starts it.
    init(_ body: @escaping @Sendable () throws(BenchmarkError) -> Void) throws(BenchmarkError) {
        work = Work(body)
        var thread = pthread_t()
        let box = Unmanaged.passRetained(work)
        let result = pthread_create(&thread, nil, runLoadThread, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw .system(call: "pthread_create", errno: result)
        }
        self.thread = thread
    }

    /// Waits for its end.
    func join() throws(BenchmarkError) {
        pthread_join(thread, nil)
        if let failure = work.failure.withLock({ $0 }) { throw failure }
    }
}

/// Not a closure: one written inside a type could be isolated to an actor.
private func runLoadThread(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let box { Unmanaged<LoadThread.Work>.fromOpaque(box).takeRetainedValue().run() }
    return nil
}

/// Sleeps until an instant of the monotonic clock; not at all if it is past.
func sleep(until instant: Nanoseconds) {
    var time = timespec(
        tv_sec: Int(instant.count / 1_000_000_000), tv_nsec: Int(instant.count % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
