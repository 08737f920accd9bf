import Glibc

/// A pipe whose end becomes readable when another thread says so: wakes whoever waits for a socket.
package final class WakeSignal: Sendable {
    private let readable: Int32
    private let writable: Int32

    /// A signal that nobody has raised; nil if the system has no descriptors left.
    package init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        (readable, writable) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
    }

    deinit {
        close(readable)
        close(writable)
    }

    /// Raises it, from any thread.
    package func raise() {
        var byte: UInt8 = 1
        // A pipe that is full is raised.
        _ = write(writable, &byte, 1)
    }

    /// Lowers it.
    package func lower() {
        var bytes = [UInt8](repeating: 0, count: 256)
        while read(readable, &bytes, bytes.count) > 0 {}
    }

    /// Waits until it is raised, a socket has what is asked for, or `milliseconds` are over. `socket` is
    /// negative for none.
    package func wait(for events: Int32, of socket: Int32, milliseconds: Int64) {
        var polled = [
            pollfd(fd: readable, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0),
        ]
        // A signal of the system ends it early; whoever waits looks again.
        _ = poll(&polled, nfds_t(polled.count), Int32(max(0, min(milliseconds, 60_000))))
    }

    /// Waits until it is raised, or `milliseconds` are over.
    package func wait(milliseconds: Int64) { wait(for: 0, of: -1, milliseconds: milliseconds) }
}
