import Glibc
import Logging
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallSupport

/// What a service manager is told (sd_notify(3)), against a socket like its own.
@Suite struct SystemdNotifierTests {
    /// A service manager's socket: `/PATH`, or `@NAME` for an abstract one.
    private final class Manager {
        let name: String
        private let descriptor: CInt

        init(abstract: Bool = false, path: String? = nil) throws {
            let unique = "rollcall-notify-\(getpid())-\(UInt64.random(in: 0 ... .max))"
            name = path ?? (abstract ? "@\(unique)" : "/tmp/\(unique)")
            descriptor = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
            try #require(descriptor >= 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(name.utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { path in
                path.copyBytes(from: bytes)
                if bytes.first == UInt8(ascii: "@") { path[0] = 0 }
            }
            let length = socklen_t(2 + bytes.count)
            let result = withUnsafePointer(to: address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length)
                }
            }
            try #require(result == 0)
        }

        deinit {
            close(descriptor)
            if name.hasPrefix("/") { unlink(name) }
        }

        /// The next datagram, waited for `milliseconds` at most; nil if none came.
        func next(within milliseconds: CInt = 30_000) -> String? {
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard untilUninterrupted({ Int(poll(&ready, 1, milliseconds)) }) == 1 else {
                return nil
            }
            var bytes = [UInt8](repeating: 0, count: 8192)
            let count = recv(descriptor, &bytes, bytes.count, 0)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }

        /// Everything that is there.
        func all() -> [String] {
            var texts: [String] = []
            while texts.count < 5000, let text = next(within: 0) { texts.append(text) }
            return texts
        }
    }

    private func notifier(
        _ name: String?, watchdog: String? = nil, process: String? = nil,
        clock: @escaping @Sendable () -> Int64 = { 1_000_000 }
    ) -> SystemdNotifier {
        let variables = [
            "NOTIFY_SOCKET": name, "WATCHDOG_USEC": watchdog, "WATCHDOG_PID": process,
        ]
        return SystemdNotifier(clock: clock) { variables[$0] ?? nil }
    }

    private func microseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    private func isBeating(_ notifier: SystemdNotifier, _ manager: Manager) -> Bool {
        notifier.ready("")
        _ = manager.all()
        notifier.turned()
        return manager.all() == ["WATCHDOG=1"]
    }

    @Test(arguments: [false, true])
    func `every state is a datagram`(abstract: Bool) throws {
        let manager = try Manager(abstract: abstract)
        let notifier = notifier(manager.name)
        #expect(notifier.trouble == nil)
        notifier.ready("Listening")
        #expect(manager.all() == ["READY=1\nSTATUS=Listening"])
        let before = microseconds()
        notifier.reloading()
        let after = microseconds()
        let reloading = try #require(manager.next())
        let lines = reloading.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first == "RELOADING=1")
        #expect(lines.last == "STATUS=Reading settings")
        let stamp = try #require(lines.dropFirst().first?.split(separator: "=").last)
        #expect((before...after).contains(try #require(Int64(stamp))))
        notifier.ready("Settings refused, the old ones hold")
        notifier.stopping()
        #expect(
            manager.all() == [
                "READY=1\nSTATUS=Settings refused, the old ones hold",
                "STOPPING=1\nSTATUS=Draining, then a checkpoint",
            ])
    }

    @Test func `J15: while a store is copied the manager waits longer for the start`() throws {
        let manager = try Manager()
        notifier(manager.name).waits("Copying the store before an upgrade, 40 %")
        #expect(
            manager.next()
                == "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=Copying the store before an upgrade, 40 %"
        )
    }

    @Test func `without a manager nothing happens`() {
        let notifier = notifier(nil, watchdog: "2000000")
        notifier.ready("Listening")
        notifier.reloading()
        notifier.stopping()
        notifier.turned()
        #expect(notifier.trouble == nil)
    }

    @Test func `a manager that is gone stops nobody`() throws {
        var manager: Manager? = try Manager()
        let notifier = notifier(manager?.name, watchdog: "2000000")
        manager = nil
        notifier.ready("Listening")
        notifier.turned()
        #expect(notifier.trouble == nil)
    }

    @Test func `a name has 107 bytes at most`() throws {
        let directory = TemporaryDirectory()
        let start = directory.path + "/"
        let longest = start + String(repeating: "n", count: 107 - start.utf8.count)
        let manager = try Manager(path: longest)
        let notifier = notifier(longest)
        notifier.ready("")
        #expect(manager.all() == ["READY=1\nSTATUS="])
        #expect(
            self.notifier(longest + "n").trouble == .address(longest + "n", pathBytesMax: 107))
    }

    @Test(arguments: ["", "/", "@", "relative", "vsock:2:1234"])
    func `what is no name of a socket is told`(name: String) {
        #expect(notifier(name).trouble == .address(name, pathBytesMax: 107))
    }

    @Test func `a status is one line of 1024 bytes at most`() throws {
        let manager = try Manager()
        let notifier = notifier(manager.name)
        notifier.ready("a\nREADY=0\r\nb")
        #expect(manager.all() == ["READY=1\nSTATUS=a READY=0 b"])
        let longest = String(repeating: "x", count: 1024)
        notifier.ready(longest)
        #expect(manager.all() == ["READY=1\nSTATUS=" + longest])
        // One past it, by a character of two bytes.
        notifier.ready(longest.dropLast() + "é")
        #expect(manager.all() == ["READY=1\nSTATUS=" + longest.dropLast()])
    }

    @Test func `a state that the manager does not take is sent by a later turn, the newest alone`()
        throws
    {
        let manager = try Manager()
        let notifier = notifier(manager.name)
        // net.unix.max_dgram_qlen datagrams fit, then the kernel says EAGAIN: whoever waited for
        // room would wait for ever, since nobody reads.
        for number in 0..<3000 { notifier.ready("\(number)") }
        notifier.stopping()
        let taken = manager.all()
        #expect(taken.count < 3000)
        #expect(taken.first == "READY=1\nSTATUS=0")
        #expect(!taken.contains { $0.hasPrefix("STOPPING") })
        notifier.turned()
        #expect(manager.all() == ["STOPPING=1\nSTATUS=Draining, then a checkpoint"])
        notifier.turned()
        #expect(manager.all() == [])
    }

    @Test func `the watchdog is fed by turns, from readiness on`() throws {
        let manager = try Manager()
        let time = Mutex<Int64>(1_000_000)
        // A beat is due a second before half of it: every 300 ms.
        let notifier = notifier(
            manager.name, watchdog: "2600000", process: "\(getpid())",
            clock: { time.withLock { $0 } })
        notifier.turned()
        #expect(manager.all() == [])
        notifier.ready("")
        #expect(manager.all() == ["READY=1\nSTATUS="])
        notifier.turned()
        notifier.turned()
        #expect(manager.all() == ["WATCHDOG=1"])
        time.withLock { $0 += 299 }
        notifier.turned()
        #expect(manager.all() == [])
        time.withLock { $0 += 1 }
        #expect(manager.all() == [])
        notifier.turned()
        #expect(manager.all() == ["WATCHDOG=1"])
    }

    @Test func `readiness is said before the first beat, whatever turns go round meanwhile`() throws
    {
        let manager = try Manager()
        for _ in 0..<300 {
            let notifier = notifier(manager.name, watchdog: "2600000")
            let isOver = Atomic(false)
            runBeside({ while !isOver.load(ordering: .acquiring) { notifier.turned() } }) {
                notifier.ready("")
                #expect(manager.next() == "READY=1\nSTATUS=")
                isOver.store(true, ordering: .releasing)
            }
            _ = manager.all()
        }
    }

    @Test func `a watchdog for another process is not fed`() throws {
        let manager = try Manager()
        #expect(isBeating(notifier(manager.name, watchdog: "2000000"), manager))
        #expect(!isBeating(notifier(manager.name), manager))
        for wrong in ["0", "-1", "soon", ""] {
            #expect(!isBeating(notifier(manager.name, watchdog: wrong), manager))
        }
        let other = notifier(manager.name, watchdog: "2000000", process: "\(getpid() + 1)")
        #expect(!isBeating(other, manager))
    }

    @Test func `a state writer that stood still for more than 60 s hangs`() {
        let loopHealth = LoopHealth {}
        #expect(loopHealth.still(at: 0) == nil)
        #expect(loopHealth.still(at: .max) == nil)
        loopHealth.turned(at: 1000)
        #expect(loopHealth.still(at: 1000) == nil)
        #expect(loopHealth.still(at: 61_000) == nil)
        #expect(loopHealth.still(at: 61_001) == Milliseconds(60_001))
        loopHealth.turned(at: 61_001)
        #expect(loopHealth.still(at: 61_001) == nil)
    }

    @Test func `a state writer that hangs feeds no watchdog`() throws {
        let directory = TemporaryDirectory()
        let manager = try Manager()
        // A beat each turn that comes 100 ms after the last: each second, when nothing else is.
        let notifier = notifier(manager.name, watchdog: "2000000") { ClockReading.now().elapsed }
        let writer = try StateWriter(
            path: directory.store, policy: Policy(),
            log: Logger(label: "test") { _ in
                SwiftLogNoOpLogHandler()
            },
            edge: EdgeStats(), refusals: { 0 }, onTurn: { notifier.turned() },
            onFatal: { Issue.record("the store failed: \($0)") })
        notifier.ready("")
        writer.start()
        #expect(manager.next() == "READY=1\nSTATUS=")
        for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1") }
        let isHeld = Atomic(true)
        let isHanging = Atomic(false)
        withExtendedLifetime(writer) {
            writer.ask { _ in
                isHanging.store(true, ordering: .relaxed)
                for _ in 0..<120_000 where isHeld.load(ordering: .relaxed) { usleep(1000) }
            }
        }
        #expect(isTrueSoon { isHanging.load(ordering: .relaxed) })
        _ = manager.all()
        #expect(manager.next(within: 2500) == nil)
        isHeld.store(false, ordering: .relaxed)
        #expect(manager.next() == "WATCHDOG=1")
        let isStopped = Atomic(false)
        writer.stop { isStopped.store(true, ordering: .relaxed) }
        #expect(isTrueSoon { isStopped.load(ordering: .relaxed) })
    }
}
