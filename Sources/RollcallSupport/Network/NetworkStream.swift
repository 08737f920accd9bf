import CMicroHTTPD
import Glibc

/// A connection over TCP, with or without TLS. Nothing blocks beyond a deadline, an instant of
/// `ClockReading.elapsed`, but the resolver of names, which has its own.
///
/// It is used by one thread.
package final class NetworkStream {
    /// MSG_NOSIGNAL of Linux: the other side may be gone. In this module its name is one of
    /// libmicrohttpd's header.
    private static let noSignal: Int32 = 0x4000

    private let socket: Int32
    private let encryption: TLSSession?

    /// Connects to a host. `trust` is the authorities that vouch for it, in PEM, where the connection is
    /// encrypted; nil where it is not.
    /// - Throws: `NetworkFault` if it does not come about.
    package init(
        host: String, port: UInt16, trust: [UInt8]?, until deadline: Int64
    ) throws(NetworkFault) {
        let addresses = try NetworkAddress.all(of: host, port)
        var fault = NetworkFault.timedOut
        var connected: Int32 = -1
        for address in addresses {
            do throws(NetworkFault) {
                connected = try address.connect(until: deadline)
                break
            } catch {
                fault = error
            }
        }
        if connected < 0 { throw fault }
        socket = connected
        var yes: Int32 = 1
        // An acknowledgement is four bytes, and the next message waits for it.
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        guard let trust else {
            encryption = nil
            return
        }
        do throws(NetworkFault) {
            let session = try TLSSession(host: host, trust: trust, socket: connected)
            while let direction = try session.handshake() {
                guard NetworkAddress.wait(direction, connected, until: deadline) else {
                    throw .timedOut
                }
            }
            encryption = session
        } catch {
            close(connected)
            throw error
        }
    }

    deinit { close(socket) }

    /// Reads what is there, at most `bytes`; empty if nothing is.
    /// - Throws: `NetworkFault` if the connection is over.
    package func read(_ bytes: Int) throws(NetworkFault) -> [UInt8] {
        var fault: NetworkFault?
        let read = [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
            do throws(NetworkFault) {
                let got: Int? =
                    if let encryption {
                        try encryption.read(into: buffer)
                    } else {
                        try Self.outcome("recv", recv(socket, buffer.baseAddress, bytes, 0))
                    }
                if got == 0 { throw .closed }
                count = got ?? 0
            } catch {
                fault = error
                count = 0
            }
        }
        if let fault { throw fault }
        return read
    }

    /// Sends what fits; returns how many bytes.
    /// - Throws: `NetworkFault` if the connection is over.
    package func write(_ bytes: ArraySlice<UInt8>) throws(NetworkFault) -> Int {
        let sent = Result { () throws(NetworkFault) in
            try bytes.span.withUnsafeBytes { (buffer) throws(NetworkFault) -> Int? in
                if let encryption { return try encryption.write(buffer) }
                let sent = send(socket, buffer.baseAddress, buffer.count, Self.noSignal)
                return try Self.outcome("send", sent)
            }
        }
        return try sent.get() ?? 0
    }

    /// Waits until there is something to be read, if that is wanted, or what is to be sent fits, or
    /// `signal` is raised, or `milliseconds` are over.
    package func wait(reads: Bool, writes: Bool, _ signal: WakeSignal, milliseconds: Int64) {
        // What was decrypted already is not seen by the system.
        if reads, encryption?.hasPending == true { return }
        var events: Int32 = 0
        if reads { events |= POLLIN }
        if writes { events |= POLLOUT }
        // A connection that is over is seen even where nothing is asked for: it would not let us wait.
        signal.wait(for: events, of: events == 0 ? -1 : socket, milliseconds: milliseconds)
    }

    /// Nil where the system would have had to wait.
    private static func outcome(_ call: String, _ result: Int) throws(NetworkFault) -> Int? {
        if result >= 0 { return result }
        if [EAGAIN, EWOULDBLOCK, EINTR].contains(errno) { return nil }
        throw .system(call: call, errno: errno)
    }
}

/// An address that a name stands for.
struct NetworkAddress {
    private var family: Int32
    private var bytes: [UInt8]

    /// All addresses of a host, in the order in which the system would have them tried. It asks the
    /// name servers, which may take as long as `resolv.conf` allows.
    /// - Throws: `NetworkFault` if there are none.
    static func all(of host: String, _ port: UInt16) throws(NetworkFault) -> [NetworkAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0, let list else { throw .name(String(cString: gai_strerror(code))) }
        defer { freeaddrinfo(list) }
        var found: [NetworkAddress] = []
        var next: UnsafeMutablePointer<addrinfo>? = list
        while let info = next?.pointee {
            if let address = info.ai_addr {
                let bytes = UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen))
                found.append(NetworkAddress(family: info.ai_family, bytes: Array(bytes)))
            }
            next = info.ai_next
        }
        return found
    }

    /// Connects; the socket is the caller's.
    func connect(until deadline: Int64) throws(NetworkFault) -> Int32 {
        let kind =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(family, kind, 0)
        if descriptor < 0 { throw .system(call: "socket", errno: errno) }
        let result = bytes.withUnsafeBytes { buffer in
            buffer.withMemoryRebound(to: sockaddr.self) {
                Glibc.connect(descriptor, $0.baseAddress, socklen_t(buffer.count))
            }
        }
        var number = result == 0 ? 0 : errno
        if number == EINPROGRESS {
            guard Self.wait(.writing, descriptor, until: deadline) else {
                close(descriptor)
                throw .timedOut
            }
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size)
        }
        if number == 0 { return descriptor }
        close(descriptor)
        throw .system(call: "connect", errno: number)
    }

    /// Waits for a socket; false if the deadline came first.
    static func wait(
        _ direction: TLSSession.Direction, _ socket: Int32, until deadline: Int64
    ) -> Bool {
        while true {
            let rest = deadline - ClockReading.now().elapsed
            if rest <= 0 { return false }
            let events = Int16(direction == .reading ? POLLIN : POLLOUT)
            var polled = pollfd(fd: socket, events: events, revents: 0)
            if poll(&polled, 1, Int32(min(rest, 60_000))) > 0 { return true }
        }
    }
}
