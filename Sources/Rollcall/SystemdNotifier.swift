import Glibc
import RollcallCore
import RollcallSupport
import Synchronization

/// Tells the service manager how this process is, by the protocol of sd_notify(3): lines of text
/// in a datagram to `$NOTIFY_SOCKET`. Without that variable it does nothing.
///
/// Nobody ever waits for the manager: a state that it does not take at once is sent by one of the
/// state writer's next turns, and the newest state alone, because it replaces those before. The
/// watchdog is fed by these turns and by nothing else, so that a state writer that hangs is
/// restarted.
package final class SystemdNotifier: Sendable {
    /// Bytes of a status at most: the manager drops a datagram above its own 4096.
    package static let statusBytesMax = 1024
    /// Between tries to send what the manager did not take.
    /// Microseconds for which the manager is to wait longer for the start, from each word on.
    private static let startExtendedBy = 120_000_000
    private static let retryEvery: Int64 = 1000
    /// Under load there are a thousand turns a second.
    private static let beatEveryMin: Int64 = 100

    private struct State {
        /// The newest state, while it is not sent.
        var unsent: String?
        var nextTry: Int64 = 0
        /// The watchdog's clock starts with `READY=1`.
        var nextBeat = Int64.max
    }

    /// The trouble with the variables; nil if there is none, also without them.
    package let trouble: SystemdNotifierTrouble?
    private let socket: NotificationSocket?
    private let beatEvery: Int64?
    private let clock: @Sendable () -> Int64
    private let state = Mutex(State())

    /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID` by way of `variable`. `clock` is
    /// the machine's.
    package init(
        clock: @escaping @Sendable () -> Int64 = { ClockReading.now().elapsed },
        variable: (String) -> String?
    ) {
        self.clock = clock
        do throws(SystemdNotifierTrouble) {
            socket = try variable("NOTIFY_SOCKET").map { (name) throws(SystemdNotifierTrouble) in
                try NotificationSocket(name)
            }
            trouble = nil
        } catch {
            socket = nil
            trouble = error
        }
        // "WATCHDOG_PID": set for the main process only, and inherited by whatever it starts.
        let isForUs = variable("WATCHDOG_PID").map { $0 == "\(getpid())" } ?? true
        let microseconds = variable("WATCHDOG_USEC").flatMap { Int64($0) } ?? 0
        // sd_watchdog_enabled(3): "every half of the time returned here". A turn comes each second
        // at the latest, so the beat is due that much earlier.
        beatEvery =
            isForUs && microseconds > 0
            ? max(Self.beatEveryMin, microseconds / 2000 - StateWriter.sleepMax) : nil
    }

    /// The notifier of this process' environment.
    package static func ofEnvironment() -> SystemdNotifier {
        SystemdNotifier { name in getenv(name).map { String(cString: $0) } }
    }

    // MARK: - States

    /// Says that requests are taken, at the start and after settings were read, and how it is.
    package func ready(_ status: String) {
        notify("READY=1", status, beginsBeats: true)
    }

    /// Says that settings are being read; `ready` must follow, whether they were taken or not.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)", "Reading settings")
    }

    /// Says that the start takes longer, and for what: the manager waits as long again.
    package func waits(_ status: String) {
        notify("EXTEND_TIMEOUT_USEC=\(Self.startExtendedBy)", status)
    }

    /// Says that the drain has begun.
    package func stopping() { notify("STOPPING=1", "Draining, then a checkpoint") }

    /// One turn of the state writer's loop has gone round: sends what is due. Without a manager it
    /// costs a comparison, else a lock and a look at the clock.
    package func turned() {
        guard let socket else { return }
        let now = clock()
        state.withLock { state in
            if let text = state.unsent, now >= state.nextTry {
                if socket.send(text) { state.unsent = nil }
                state.nextTry = now + Self.retryEvery
            }
            if let beatEvery, now >= state.nextBeat {
                let isSent = socket.send("WATCHDOG=1")
                state.nextBeat = now + (isSent ? beatEvery : Self.retryEvery)
            }
        }
    }

    private func notify(_ change: String, _ status: String, beginsBeats: Bool = false) {
        guard let socket else { return }
        let text = "\(change)\nSTATUS=\(Self.line(status))"
        state.withLock { state in
            if beginsBeats { state.nextBeat = 0 }
            state.unsent = socket.send(text) ? nil : text
            state.nextTry = 0
        }
    }

    /// One line of at most `statusBytesMax` bytes: a line break would begin another variable.
    private static func line(_ status: String) -> String {
        var line = String(status.map { $0.isNewline || $0 == "\0" ? " " : $0 })
        while line.utf8.count > statusBytesMax { line.removeLast() }
        return line
    }
}

/// The reason why the service manager cannot be told anything.
package enum SystemdNotifierTrouble: Error, Equatable, CustomStringConvertible {
    case address(String, pathBytesMax: Int)
    case socket(errno: CInt)

    package var description: String {
        switch self {
        case .address(let name, let limit):
            "NOTIFY_SOCKET must be /PATH or @NAME of at most \(limit) bytes (\(name))"
        case .socket(let code): "no socket for NOTIFY_SOCKET: \(String(cString: strerror(code)))"
        }
    }
}

/// A datagram socket and the address that it sends to.
///
/// Not connected: a manager that makes its socket anew is found again by its address.
private final class NotificationSocket: Sendable {
    /// A path ends with a NUL in `sun_path`; an abstract name has one in front instead.
    private static let nameBytesMax = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

    private let descriptor: CInt
    private let address: sockaddr_un
    private let length: socklen_t

    init(_ name: String) throws(SystemdNotifierTrouble) {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            (2...Self.nameBytesMax).contains(bytes.count)
        else { throw .address(name, pathBytesMax: Self.nameBytesMax) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if first == UInt8(ascii: "@") { path[0] = 0 }
        }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        descriptor = Glibc.socket(AF_UNIX, CInt(kind), 0)
        guard descriptor >= 0 else { throw .socket(errno: errno) }
    }

    deinit { close(descriptor) }

    /// Sends at once or not at all; true if it is sent.
    func send(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return withUnsafePointer(to: address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                // Only a stream's broken pipe raises SIGPIPE.
                sendto(descriptor, bytes, bytes.count, 0, address, length)
            } == bytes.count
        }
    }
}
