import Glibc
import Synchronization

/// The answers of a thread that gives many at once: their connections go on together at its end.
///
/// Each by itself has to be asked whether its client has closed their direction, and wakes its
/// listener's thread, which then looks at all of its connections for one answer.
///
/// `@unchecked Sendable` is true because everything but `owner` is touched by the thread alone that is in
/// `gather`, and only one thread ever is.
package final class AnswerBatch: @unchecked Sendable {
    /// So many go on without waiting for the rest: who is first must not wait for thousands.
    private static let most = 128

    /// The thread that gathers; 0 for none. No other thread ever finds itself there.
    private let owner = Atomic<UInt>(0)
    private var connections: [HTTPConnection] = []
    private var polled: [pollfd] = []

    /// Nothing is gathered.
    package init() {}

    /// Runs `body`, whose answers go out together. By one thread, which is not in it already.
    package func gather(_ body: () -> Void) {
        owner.store(UInt(pthread_self()), ordering: .relaxed)
        body()
        release()
        owner.store(0, ordering: .relaxed)
    }

    /// Keeps a connection whose answer stands in it; false where nothing is gathered.
    func keep(_ connection: HTTPConnection) -> Bool {
        guard owner.load(ordering: .relaxed) == UInt(pthread_self()) else { return false }
        connections.append(connection)
        if connections.count == Self.most { release() }
        return true
    }

    /// Lets all go on that were kept.
    private func release() {
        guard !connections.isEmpty else { return }
        polled.removeAll(keepingCapacity: true)
        for connection in connections {
            polled.append(pollfd(fd: connection.descriptor, events: closes, revents: 0))
        }
        // Where it cannot be asked of all, each is asked.
        let isKnown = poll(&polled, nfds_t(polled.count), 0) >= 0
        for (place, connection) in connections.enumerated() {
            connection.goOnAnswered(mayBeEnd: !isKnown || polled[place].revents != 0)
        }
        connections.removeAll(keepingCapacity: true)
    }
}

/// "Stream socket peer closed connection, or shut down writing half of connection". Source: poll(2).
private let closes = Int16(0x2000)
