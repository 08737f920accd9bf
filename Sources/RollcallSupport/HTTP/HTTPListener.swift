import Glibc

/// A listening socket of our own.
///
/// Ours rather than libmicrohttpd's so that a failure has its errno, and so that it is
/// non-blocking: a client that gives up between poll and accept must not hold the thread.
package struct HTTPListener {
    /// The socket; whoever holds the listener closes it or hands it on.
    let descriptor: Int32
    /// The address as it was given.
    package let address: String
    /// The port, also when the kernel chose it.
    package let port: Int

    /// True if only this machine can reach it.
    package var isLoopback: Bool { Self.isLoopback(address) ?? false }

    /// True if only this machine can reach what listens at `address`; nil if that is no address.
    package static func isLoopback(_ address: String) -> Bool? {
        var storage = sockaddr_storage()
        do throws(HTTPServerError) {
            _ = try parse(address, into: &storage)
        } catch {
            return nil
        }
        return withUnsafeBytes(of: storage) { bytes in
            if storage.ss_family == sa_family_t(AF_INET) {
                let host = bytes.load(as: sockaddr_in.self).sin_addr
                return UInt32(bigEndian: host.s_addr) >> 24 == 127
            }
            let host = bytes.load(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: host) { $0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1 }
        }
    }

    /// Listens at `IPv4:port` or `[IPv6]:port`; port 0 lets the kernel choose. Names are not
    /// resolved. Whoever connects waits until a server takes the listener.
    /// - Throws: `HTTPServerError` if the address is not of that form, or the system does not let
    ///   us listen there.
    package init(address: String) throws(HTTPServerError) {
        self.address = address
        var storage = sockaddr_storage()
        let length = try parse(address, into: &storage)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        descriptor = socket(
            Int32(storage.ss_family), kind | Int32(SOCK_NONBLOCK.rawValue), Int32(IPPROTO_TCP))
        guard descriptor >= 0 else {
            throw .socket(call: "socket", address: address, errno: errno)
        }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // A restart must not wait for connections in TIME_WAIT.
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        if storage.ss_family == sa_family_t(AF_INET6) {
            // "[::]" must not silently listen on IPv4 too: what listens is what was written.
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &yes, size)
        }
        let socket = descriptor
        let bound = withSocketAddress(&storage) { bind(socket, $0, length) }
        guard bound == 0 else { throw failure(socket, after: "bind", at: address) }
        guard listen(socket, listenBacklog) == 0 else {
            throw failure(socket, after: "listen", at: address)
        }
        var named = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withSocketAddress(&storage) { getsockname(socket, $0, &named) }
        guard result == 0 else { throw failure(socket, after: "getsockname", at: address) }
        port = number(of: storage)
    }

    /// Closes the socket of a listener that no server took.
    package func close() { Glibc.close(descriptor) }
}

/// Connections the kernel holds while all of ours are in use.
private let listenBacklog: Int32 = 511

private func failure(
    _ descriptor: Int32, after call: String, at address: String
) -> HTTPServerError {
    let number = errno
    Glibc.close(descriptor)
    return .socket(call: call, address: address, errno: number)
}

private func parse(
    _ address: String, into storage: inout sockaddr_storage
) throws(HTTPServerError) -> socklen_t {
    guard let colon = address.lastIndex(of: ":"),
        let port = UInt16(address[address.index(after: colon)...])
    else { throw .address(address) }
    var host = address[..<colon]
    if host.first == "[", host.last == "]" {
        host = host.dropFirst().dropLast()
        var parsed = sockaddr_in6()
        parsed.sin6_family = sa_family_t(AF_INET6)
        parsed.sin6_port = port.bigEndian
        guard inet_pton(AF_INET6, String(host), &parsed.sin6_addr) == 1 else {
            throw .address(address)
        }
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: parsed, as: sockaddr_in6.self) }
        return socklen_t(MemoryLayout<sockaddr_in6>.size)
    }
    var parsed = sockaddr_in()
    parsed.sin_family = sa_family_t(AF_INET)
    parsed.sin_port = port.bigEndian
    guard inet_pton(AF_INET, String(host), &parsed.sin_addr) == 1 else { throw .address(address) }
    withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: parsed, as: sockaddr_in.self) }
    return socklen_t(MemoryLayout<sockaddr_in>.size)
}

private func number(of storage: sockaddr_storage) -> Int {
    withUnsafeBytes(of: storage) { bytes in
        let network =
            storage.ss_family == sa_family_t(AF_INET6)
            ? bytes.load(as: sockaddr_in6.self).sin6_port
            : bytes.load(as: sockaddr_in.self).sin_port
        return Int(UInt16(bigEndian: network))
    }
}

private func withSocketAddress(
    _ storage: inout sockaddr_storage, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
) -> Int32 {
    withUnsafeMutablePointer(to: &storage) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
}
