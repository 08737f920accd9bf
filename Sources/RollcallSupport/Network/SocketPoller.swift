import Glibc

/// Waits for many sockets at once, and for a call from another thread. One thread waits; any may
/// wake it.
package final class SocketPoller: Sendable {
    /// A socket, and what it is watched for.
    package struct Socket: Sendable {
        let descriptor: Int32
        let key: UInt64
        let wantsRoom: Bool

        /// A non-blocking socket that is told of under `key` when the other side has left, and, with `wantsRoom`,
        /// when there is room for more bytes.
        package init(_ descriptor: Int32, key: UInt64, wantsRoom: Bool) {
            (self.descriptor, self.key, self.wantsRoom) = (descriptor, key, wantsRoom)
        }
    }

    /// The news about a socket.
    package struct Event: Sendable {
        package let key: UInt64
        /// True if there is room for more bytes.
        package let isWritable: Bool
        /// True if the other side has left.
        package let isClosed: Bool
    }

    /// The bell: a pipe.
    private let readEnd: Int32
    private let writeEnd: Int32

    /// A poller; nil if the system has no descriptors left.
    package init?() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Ends the present wait, or the next one. From any thread.
    package func wake() {
        var byte: UInt8 = 1
        // A full pipe wakes just as well.
        _ = write(writeEnd, &byte, 1)
    }

    /// Waits for at most `milliseconds`, for ever if it is below 0; returns what is the matter. What
    /// the other sides send meanwhile is thrown away.
    package func wait(for sockets: [Socket], milliseconds: Int32) -> [Event] {
        var polled = [pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)]
        polled.reserveCapacity(sockets.count + 1)
        for socket in sockets {
            let events = Int16(POLLIN) | (socket.wantsRoom ? Int16(POLLOUT) : 0)
            polled.append(pollfd(fd: socket.descriptor, events: events, revents: 0))
        }
        guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return [] }
        if polled[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 256)
            while read(readEnd, &bytes, bytes.count) == bytes.count {}
        }
        var events: [Event] = []
        for (socket, found) in zip(sockets, polled.dropFirst()) where found.revents != 0 {
            let isReadable = found.revents & Int16(POLLIN) != 0
            let isGone = found.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
            events.append(
                Event(
                    key: socket.key, isWritable: found.revents & Int16(POLLOUT) != 0,
                    isClosed: isGone || isReadable && isEnd(socket.descriptor)))
        }
        return events
    }

    /// Throws away what has come; true if that was the end of it.
    private func isEnd(_ descriptor: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }
}
