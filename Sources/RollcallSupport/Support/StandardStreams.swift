import Glibc
import Synchronization

/// The three descriptors that every process has, or should have.
package enum StandardStreams {
    /// Opens those that whoever started us left closed, on nothing.
    ///
    /// The next file to be opened would get such a number, and the ready line or a line of the log
    /// would go into it: into the lock of the store, or to whoever is connected.
    package static func hold() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            if descriptor > STDERR_FILENO { close(descriptor) }
            if descriptor < 0 || descriptor > STDERR_FILENO { return }
        }
    }
}

/// The stream that the log goes to, a line at a time: nobody ever waits for its reader, and what it
/// does not take at once is lost and counted.
///
/// A write to a full pipe waits until somebody reads, and the descriptor that we are given is shared
/// with others, so that it is not ours to make non-blocking. Hence one of our own for the same pipe
/// or terminal; and where the system opens none (a socket, a pipe of another user's), it is asked for
/// room first, under the lock.
package final class LogStream: Sendable {
    private enum Mode: Equatable {
        case file, reopened, asked
    }

    private struct State {
        /// Those that nobody was told of yet.
        var linesLost = 0
        var linesLostEver = 0
        /// True if the last line is there in part.
        var isTorn = false
    }

    /// POSIX: what is not longer goes into a pipe as a whole. One that says it has room has as much,
    /// and so has a socket, of which three quarters are free then (unix_writable in Linux).
    private static let askedBytes = 4096

    /// That of the process.
    package static let standardError = LogStream(STDERR_FILENO)

    private let descriptor: CInt
    private let mode: Mode
    private let state = Mutex(State())

    /// A stream to what `descriptor` is open on, which stays its owner's.
    init(_ descriptor: CInt) {
        var status = stat()
        let kind = fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : S_IFREG
        if kind == S_IFREG {
            self.descriptor = descriptor
            mode = .file
            return
        }
        let flags = O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY
        let ours = open("/proc/self/fd/\(descriptor)", flags)
        self.descriptor = ours >= 0 ? ours : descriptor
        mode = ours >= 0 ? .reopened : .asked
    }

    deinit {
        if mode == .reopened { close(descriptor) }
    }

    /// Lines that were lost, whole or in part, since the process began.
    package var linesLost: Int { state.withLock { $0.linesLostEver } }

    /// Writes a line, which ends with a line break. Before the first one after some were lost comes
    /// what `told` says of their number.
    func write(_ line: [UInt8], reported: (_ linesLost: Int) -> [UInt8]) {
        state.withLock { state in
            let lost = state.linesLost
            let bytes = (state.isTorn ? [0x0A] : []) + (lost > 0 ? reported(lost) : []) + line
            let count = put(bytes)
            let isWhole = count == bytes.count
            if !isWhole { state.linesLostEver += 1 }
            guard count > 0 else { return state.linesLost += 1 }
            state.isTorn = !isWhole
            state.linesLost = isWhole ? 0 : lost + 1
        }
    }

    /// Writes the bytes, and returns how many of them were taken.
    private func put(_ bytes: [UInt8]) -> Int {
        switch mode {
        case .file, .reopened: return max(0, Glibc.write(descriptor, bytes, bytes.count))
        case .asked:
            var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&room, 1, 0) > 0, room.revents & Int16(POLLOUT) != 0 else { return 0 }
            return max(0, Glibc.write(descriptor, bytes, min(bytes.count, Self.askedBytes)))
        }
    }
}
