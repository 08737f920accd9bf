import Glibc

/// The lock between whoever copies a store's file and whoever writes that file: which the state
/// writer does only when it moves the log into it. It is a byte of the lock file that nothing
/// stands in; several may copy at once, and the system gives it up however a process ends.
///
/// While it is held the file stands still and the log only grows, so that the file and what the log
/// holds by then are a whole store, without a connection of SQLite's and without a transaction.
/// `.lock` itself is locked as a whole by the server, with flock(2), which these know nothing of.
package final class StoreCopyLock {
    /// Far behind what is written there.
    private static let place: off_t = 1 << 30
    /// The time that a mover waits for copies that began before it goes on all the same: a stopped
    /// process must not let the log grow for ever.
    static let patience = Duration.seconds(15 * 60)
    /// Bytes of a log for which it goes on too.
    static let logBytesMax = 1 << 30

    /// F_OFD_SETLK of the kernel's interface, which Glibc shows to GNU sources only.
    private static let setLock: CInt = 37

    private let descriptor: CInt

    /// For who copies: waits until nothing is being moved, for `seconds` at most; nil then. Without a
    /// lock file that can be had nobody serves the store, and nothing is locked.
    package init?(copying storePath: String, seconds: Int) {
        descriptor = open(storePath + ".lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        for _ in 0..<(seconds * 100) {
            if Self.set(descriptor, F_RDLCK) { return }
            usleep(10_000)
        }
        return nil
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// For who moves: true if nobody copies; then nobody begins to until `endMoving`.
    static func beginMoving(_ descriptor: CInt) -> Bool { set(descriptor, F_WRLCK) }

    /// Lets copies begin.
    static func endMoving(_ descriptor: CInt) { _ = set(descriptor, F_UNLCK) }

    private static func set(_ descriptor: CInt, _ type: CInt) -> Bool {
        var lock = flock()
        lock.l_type = Int16(type)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = place
        lock.l_len = 1
        // "Open file description locks … are inherited across fork … and are automatically released
        // on the last close of the open file description", whoever else closes the file.
        return fcntl(descriptor, setLock, &lock) == 0
    }
}
