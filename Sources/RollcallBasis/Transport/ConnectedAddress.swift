import CCurl
import Glibc

/// The address that a connection is about to be made to, whatever name led there.
///
/// Receivers are the operator's own and may be on this machine or in a private network. What is
/// refused here is never one: a name that was made to lead there, or is bent to later, must get
/// nothing from us, and least of all the credentials that a cloud hands out to its machines.
struct ConnectedAddress: Equatable {
    /// The reason why nobody is called at an address.
    enum Ban: String {
        /// 169.254.0.0/16 and fe80::/10, where clouds answer with a machine's credentials.
        case linkLocal = "is link-local"
        /// An address where some clouds do that in other networks.
        case metadata = "is where a cloud hands out a machine's credentials"
        /// 0.0.0.0/8 and ::, which Linux takes for this machine.
        case unspecified = "is no machine's"
        /// 224.0.0.0/4 and ff00::/8.
        case multicast = "is a group's"
        /// 240.0.0.0/4, broadcast among them.
        case reserved = "is reserved"
        /// Neither IPv4 nor IPv6.
        case unknownFamily = "is no internet address"
    }

    /// 4 bytes or 16, in the network's order.
    let bytes: [UInt8]

    /// The address in `text`, as `inet_pton` reads it; nil if that is none.
    init?(_ text: String) {
        var four = in_addr()
        var six = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &six) == 1 {
            bytes = withUnsafeBytes(of: &six) { Array($0) }
        } else {
            return nil
        }
    }

    /// The address in a sockaddr of so many bytes; nil if it is neither IPv4's nor IPv6's.
    init?(_ address: UnsafeRawBufferPointer) {
        guard address.count >= MemoryLayout<sockaddr_in>.size else { return nil }
        switch Int32(address.loadUnaligned(as: sockaddr.self).sa_family) {
        case AF_INET:
            let host = address.loadUnaligned(as: sockaddr_in.self).sin_addr
            bytes = withUnsafeBytes(of: host) { Array($0) }
        case AF_INET6 where address.count >= MemoryLayout<sockaddr_in6>.size:
            let host = address.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            bytes = withUnsafeBytes(of: host) { Array($0) }
        default: return nil
        }
    }

    /// The reason why nobody is called there; nil if that may be.
    var ban: Ban? { bytes.count == 4 ? Self.ban(four: bytes[...]) : banOfSix }

    /// Alibaba's, Oracle's and Azure's. Source: their manuals.
    private static let metadataFour: [[UInt8]] = [
        [100, 100, 100, 200], [192, 0, 0, 192], [168, 63, 129, 16],
    ]
    /// Amazon's network for such, fd00:ec2::/32, and Google's fd20:ce::254.
    private static let metadataSix: [[UInt8]] = [
        [0xFD, 0, 0x0E, 0xC2], [0xFD, 0x20, 0, 0xCE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0x54],
    ]

    private static func ban(four: ArraySlice<UInt8>) -> Ban? {
        let four = Array(four)
        switch (four[0], four[1]) {
        case (0, _): return .unspecified
        case (169, 254): return .linkLocal
        case (224...239, _): return .multicast
        case (240..., _): return .reserved
        default: return metadataFour.contains(four) ? .metadata : nil
        }
    }

    private var banOfSix: Ban? {
        if let four = embeddedFour { return Self.ban(four: four) }
        switch (bytes[0], bytes[1]) {
        case (0xFF, _): return .multicast
        case (0xFE, 0x80...0xBF): return .linkLocal
        default: return Self.metadataSix.contains { bytes.starts(with: $0) } ? .metadata : nil
        }
    }

    /// The IPv4 address that an IPv6 one leads to, if it does: mapped, translated, NAT64, 6to4, and
    /// the compatible ones of old, `::` among them but not `::1`.
    /// Source: RFC 4291 §2.5.5, RFC 2765 §2.1, RFC 6052 §2, RFC 8215, RFC 3056.
    private var embeddedFour: ArraySlice<UInt8>? {
        let zeros = [UInt8](repeating: 0, count: 8)
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 1]) {
            // A prefix of 48 bits has the address around byte 8.
            return bytes[6...7] + bytes[9...10]
        }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B] + zeros) { return bytes[12...] }
        if bytes.starts(with: [0x20, 0x02]) { return bytes[2...5] }
        guard bytes.starts(with: zeros) else { return nil }
        switch (bytes[8], bytes[9], bytes[10], bytes[11]) {
        case (0, 0, 0xFF, 0xFF), (0xFF, 0xFF, 0, 0): return bytes[12...]
        case (0, 0, 0, 0): return bytes[12...] == [0, 0, 0, 1] ? nil : bytes[12...]
        default: return nil
        }
    }

    /// As people write it.
    var text: String {
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        return withUnsafeTemporaryAllocation(
            of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)
        ) { buffer in
            guard let start = buffer.baseAddress,
                inet_ntop(family, bytes, start, socklen_t(buffer.count)) != nil
            else { return "?" }
            return String(cString: start)
        }
    }
}

/// The sockets of one transfer, and the addresses that got none.
final class TransferSockets {
    private var isAnyOpened = false
    private var lastBanned: (address: String, ban: ConnectedAddress.Ban)?

    /// An address that nobody is called at, and why, if the name has no other. One that has another
    /// may be down for a while.
    var banned: (address: String, ban: ConnectedAddress.Ban)? { isAnyOpened ? nil : lastBanned }

    /// Opens a socket for an address; -1 if nobody is called there.
    fileprivate func open(_ wanted: UnsafePointer<rollcall_curl_address>) -> CInt {
        // `addr` is the beginning of `addrlen` bytes, which may be more than a sockaddr.
        let place = MemoryLayout<rollcall_curl_address>.offset(of: \.addr) ?? 0
        let bytes = UnsafeRawBufferPointer(
            start: UnsafeRawPointer(wanted) + place, count: Int(wanted.pointee.addrlen))
        let address = ConnectedAddress(bytes)
        if let ban = address.map(\.ban) ?? .unknownFamily {
            lastBanned = (address?.text ?? "?", ban)
            return -1
        }
        isAnyOpened = true
        let kind = wanted.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(wanted.pointee.family, kind, wanted.pointee.protocol)
    }
}

/// CURLOPT_OPENSOCKETFUNCTION: "If you want to reject the IP address, return CURL_SOCKET_BAD".
func openSocket(
    context: UnsafeMutableRawPointer?, purpose: CInt,
    address: UnsafeMutablePointer<rollcall_curl_address>?
) -> CInt {
    guard let context, let address else { return -1 }
    return Unmanaged<TransferSockets>.fromOpaque(context).takeUnretainedValue().open(address)
}
