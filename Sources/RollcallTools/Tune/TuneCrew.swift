import Glibc
import RollcallCore

/// Threads that fold one chunk of steps with every candidate, while the reader decodes the next.
///
/// A thread takes a candidate at a time, so the lock is met once for some thousand steps, and the
/// answer does not depend on who took which.
///
/// `@unchecked Sendable` is true because all of it is touched under the lock, but for the runs: each of
/// them belongs to the thread that took its number, and to the reader between two chunks.
final class TuneCrew: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Only the reader may look at them, and only while nothing is folded.
    let runs: UnsafeMutableBufferPointer<TuneRun>
    private var threads: [pthread_t] = []

    private var chunk = ReplayChunk()
    private var isLast = false
    /// The next candidate to be taken.
    private var next: Int
    /// Candidates that are not done with the chunk.
    private var left = 0
    private var isOver = false

    /// Starts `threadCount` threads for `runs`.
    /// - Throws: `TuneError.thread` if the system has none left.
    init(_ runs: [TuneRun], threadCount: Int) throws(TuneError) {
        self.runs = .allocate(capacity: runs.count)
        _ = self.runs.initialize(from: runs)
        next = runs.count
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
        for _ in 0..<max(1, threadCount) {
            var thread = pthread_t()
            let box = Unmanaged.passRetained(self)
            let result = pthread_create(&thread, nil, runTuneCrew, box.toOpaque())
            guard result == 0 else {
                box.release()
                dismiss()
                throw .thread(errno: result)
            }
            threads.append(thread)
        }
    }

    deinit {
        runs.deinitialize()
        runs.deallocate()
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(changed)
        mutex.deallocate()
        changed.deallocate()
    }

    /// Lets every candidate fold a chunk, and finish if it is the last. Returns at once; `wait` must
    /// come before the next.
    func fold(_ chunk: ReplayChunk, isLast: Bool) {
        pthread_mutex_lock(mutex)
        self.chunk = chunk
        self.isLast = isLast
        next = 0
        left = runs.count
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }

    /// Waits until all are done.
    func wait() {
        pthread_mutex_lock(mutex)
        while left > 0 { pthread_cond_wait(changed, mutex) }
        chunk = ReplayChunk()
        pthread_mutex_unlock(mutex)
    }

    /// Ends the threads and waits for that.
    func dismiss() {
        pthread_mutex_lock(mutex)
        isOver = true
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
        for thread in threads { pthread_join(thread, nil) }
        threads = []
    }

    fileprivate func work() {
        pthread_mutex_lock(mutex)
        while !isOver {
            guard next < runs.count else {
                pthread_cond_wait(changed, mutex)
                continue
            }
            let (number, chunk, isLast) = (next, self.chunk, isLast)
            next += 1
            pthread_mutex_unlock(mutex)
            runs[number].take(chunk)
            if isLast { runs[number].finish() }
            pthread_mutex_lock(mutex)
            left -= 1
            if left == 0 { pthread_cond_broadcast(changed) }
        }
        pthread_mutex_unlock(mutex)
    }
}

/// Not a closure: one written inside a type could be isolated to an actor.
private func runTuneCrew(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let box { Unmanaged<TuneCrew>.fromOpaque(box).takeRetainedValue().work() }
    return nil
}
