import Glibc
import Synchronization

/// A server that says anything, correct or not, to one connection after the other.
///
/// `@unchecked Sendable` is true because only its thread touches what is not behind the lock.
final class BadServer: @unchecked Sendable {
    /// What a script can do with one connection.
    struct Connection {
        fileprivate let descriptor: Int32

        /// Reads until a head, and as much body as it promises, is there; nil at the end.
        func request() -> String? {
            var bytes: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 65536)
            while true {
                let text = String(decoding: bytes, as: UTF8.self)
                if let end = text.firstRange(of: "\r\n\r\n") {
                    let length = text.split(separator: "\r\n").first {
                        $0.hasPrefix("Content-Length: ")
                    }
                    let count = Int(length?.dropFirst(16) ?? "") ?? 0
                    if text[end.upperBound...].utf8.count >= count { return text }
                }
                let count = untilUninterrupted { recv(descriptor, &part, part.count, 0) }
                if count <= 0 { return nil }
                bytes += part[..<count]
            }
        }

        /// Reads up to and with `end`, one byte after the other; nil at the end of the connection.
        func text(upTo end: String = "\r\n") -> String? {
            var bytes: [UInt8] = []
            var byte: UInt8 = 0
            while !bytes.reversed().starts(with: end.utf8.reversed()) {
                let count = untilUninterrupted { recv(descriptor, &byte, 1, 0) }
                if count <= 0 { return nil }
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// False once the other side is gone.
        @discardableResult func send(_ text: String) -> Bool {
            let bytes = Array(text.utf8)
            return Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        }

        /// False once the other side has closed.
        var isObserved: Bool {
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            return count > 0 || (count < 0 && errno == EAGAIN)
        }

        /// Waits until something was sent, and leaves it unread.
        func awaitRequest() {
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = untilUninterrupted { Int(poll(&wait, 1, 30_000)) }
        }

        /// Closes with a reset.
        func reset() {
            var hard = linger(l_onoff: 1, l_linger: 0)
            setsockopt(
                descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
        }
    }

    let port: Int
    private let descriptor: Int32
    private let connections = Mutex(0)

    /// Listens on a free port; who comes before `serve` waits, one more than `backlog`.
    init(backlog: Int32 = 8) {
        let opened = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        port = Self.bindToLoopback(opened)
        listen(opened, backlog)
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// How many connections came.
    var count: Int { connections.withLock { $0 } }

    /// Plays `script` to each connection while `body` runs, up to `connectionsMax`.
    func serve(
        _ connectionsMax: Int = 1, _ script: @escaping @Sendable (Connection) -> Void,
        while body: () -> Void
    ) {
        runBeside(
            {
                for _ in 0..<connectionsMax {
                    var wait = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
                    guard untilUninterrupted({ Int(poll(&wait, 1, 30_000)) }) > 0 else { return }
                    let accepted = accept(self.descriptor, nil, nil)
                    guard accepted >= 0 else { return }
                    self.connections.withLock { $0 += 1 }
                    script(Connection(descriptor: accepted))
                    close(accepted)
                }
            }, while: body)
    }

    /// A port where nobody listens, and nobody ever will: it stays bound, so that no other server
    /// gets it.
    static func closedPort() -> Int {
        let opened = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        return bindToLoopback(opened)
    }

    /// Binds to a free port and returns it.
    private static func bindToLoopback(_ opened: Int32) -> Int {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(opened, $0, size)
                _ = getsockname(opened, $0, &size)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
