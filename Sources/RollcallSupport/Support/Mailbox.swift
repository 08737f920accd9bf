import Glibc

/// The messages that wait for the state writer: many threads put in, one takes everything out.
///
/// `@unchecked Sendable` is true because everything but the constant handles is touched under the
/// mutex only.
package final class Mailbox<Message: Sendable>: @unchecked Sendable {
    /// Messages for whose like room is kept.
    @usableFromInline static var roomKept: Int { 1024 }

    // Inlined where it is used: generic code copies each message by its type's table.
    @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    @usableFromInline let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    @usableFromInline var messages: [Message] = []

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The wall may step while we wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Puts a message in. Wakes the state writer only if it may be asleep: a wake costs 20 µs.
    @inlinable
    package func put(_ message: Message) {
        pthread_mutex_lock(mutex)
        let wasEmpty = messages.isEmpty
        messages.append(message)
        pthread_mutex_unlock(mutex)
        if wasEmpty { pthread_cond_signal(condition) }
    }

    /// Takes everything out; waits for at most `milliseconds` for the first message.
    @inlinable
    package func takeAll(waiting milliseconds: Int64) -> [Message] {
        var taken: [Message] = []
        takeAll(into: &taken, waiting: milliseconds)
        return taken
    }

    /// Empties what was taken out by `takeAll(into:waiting:)`; its room is kept for the next unless a mass of
    /// messages needed it.
    @inlinable
    package func empty(_ taken: inout [Message]) {
        taken.removeAll(keepingCapacity: taken.capacity <= Self.roomKept)
    }

    /// Takes everything out into `taken`, which is empty, and whose room the next messages get; waits
    /// likewise.
    @inlinable
    package func takeAll(into taken: inout [Message], waiting milliseconds: Int64) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        if messages.isEmpty, milliseconds > 0 {
            var until = timespec()
            clock_gettime(CLOCK_MONOTONIC, &until)
            let nanoseconds = Int64(until.tv_nsec) + milliseconds % 1000 * 1_000_000
            until.tv_sec += Int(milliseconds / 1000 + nanoseconds / 1_000_000_000)
            until.tv_nsec = Int(nanoseconds % 1_000_000_000)
            while messages.isEmpty {
                if pthread_cond_timedwait(condition, mutex, &until) != 0 { break }
            }
        }
        swap(&taken, &messages)
    }
}
