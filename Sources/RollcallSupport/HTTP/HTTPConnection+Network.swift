import Glibc

extension HTTPConnection {
    /// The network of the other side: its IPv4 address, or the first 64 bits of an IPv6 one; 0 if it is
    /// gone already.
    static func network(ofPeer descriptor: Int32) -> UInt64 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getpeername(descriptor, $0, &size)
            }
        }
        guard result == 0 else { return 0 }
        return withUnsafeBytes(of: storage) { network(of: $0) }
    }

    /// The site of a network, by which networks that one customer may have many of count as one: the first
    /// 48 bits of an IPv6 address (RFC 6177), an IPv4 address as it is.
    static func site(of network: UInt64) -> UInt64 {
        // Both stand in the order of their bytes, the first of which is the lowest here.
        network.littleEndian & 0xFFFF_FFFF_FFFF
    }

    /// The network of a socket's address, as it stands in memory; 0 for neither IPv4 nor IPv6.
    static func network(of address: UnsafeRawBufferPointer) -> UInt64 {
        switch Int32(address.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET:
            return UInt64(address.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr)
        case AF_INET6:
            let host = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return withUnsafeBytes(of: host) { $0.loadUnaligned(as: UInt64.self) }
        default: return 0
        }
    }
}
