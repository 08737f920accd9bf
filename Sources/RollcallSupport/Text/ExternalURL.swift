import Glibc

/// The URL at which people reach this server from outside, as a proxy in front of it shows it.
package struct ExternalURL: Sendable, Equatable {
    /// The whole of it, without a slash at its end: paths are put behind it.
    package let text: String
    /// The origin of the page, as a browser calls it: scheme, host and port, lower case.
    package let origin: String
    /// The host, lower case, an IPv6 one in brackets.
    package let host: String
    /// The path below which it stands there, without a slash at its end; empty for none.
    let path: String

    /// True of `https`.
    var isSecure: Bool { origin.hasPrefix("https:") }

    /// Reads `http://host[:port][/path]` or the same with `https`; nil for anything else.
    package init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E) ~= $0 }),
            !text.contains(where: { "?#@\"<>\\".contains($0) }),
            let colon = text.firstRange(of: "://")
        else { return nil }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        let rest = text[colon.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        guard let named = HostName(String(authority)), !named.host.isEmpty else { return nil }
        var end = text[...]
        while end.last == "/" { end.removeLast() }
        self.text = String(end)
        path = String(text[authority.endIndex..<end.endIndex])
        host = named.host
        origin = HostName.origin(scheme: scheme, named)
    }

    /// Bytes of the URL of a person at most.
    private static let personBytesMax = 2048

    /// Returns true for `http` or `https`, a host without a user, and `{id}` somewhere behind the slash
    /// that ends it.
    package static func isOfPerson(_ text: String) -> Bool {
        guard text.utf8.count <= personBytesMax, text.utf8.allSatisfy({ (0x21...0x7E) ~= $0 }),
            !text.contains(where: { "\"<>\\".contains($0) }),
            let colon = text.firstRange(of: "://"),
            let slash = text[colon.upperBound...].firstIndex(of: "/")
        else { return false }
        return ExternalURL(String(text[..<slash])) != nil && text[slash...].contains("{id}")
    }
}

/// The host and the port of an authority, as in `Host` and in URLs. Source: RFC 9110 §7.2.
package struct HostName: Equatable {
    /// Lower case; an IPv6 one in brackets.
    package let host: String
    /// As it was given; nil if it was not.
    package let port: UInt16?

    /// Reads `host` or `host:port`; nil if it is neither.
    package init?(_ text: String) {
        // Outside of ASCII a letter's lower case can be a letter of ASCII: the Kelvin sign's is "k".
        guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let lower = text.lowercased()
        guard lower.hasPrefix("[") else {
            let parts = lower.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2, let name = parts.first, !name.isEmpty,
                name.utf8.allSatisfy(Self.isNameByte)
            else { return nil }
            host = String(name)
            if parts.count == 2 {
                guard let number = Self.port(parts[1]) else { return nil }
                port = number
            } else {
                port = nil
            }
            return
        }
        guard let end = lower.firstIndex(of: "]") else { return nil }
        host = String(lower[...end])
        let rest = lower[lower.index(after: end)...]
        guard Self.address6(host) != nil else { return nil }
        if rest.isEmpty {
            port = nil
        } else {
            guard rest.hasPrefix(":"), let number = Self.port(rest.dropFirst()) else {
                return nil
            }
            port = number
        }
    }

    /// True if the name can only mean this machine, whatever a name server says.
    package var isLoopback: Bool {
        if host == "localhost" { return true }
        var address = in_addr()
        if inet_pton(AF_INET, host, &address) == 1 {
            return UInt32(bigEndian: address.s_addr) >> 24 == 127
        }
        return Self.address6(host).map { $0 == Self.address6("[::1]") } ?? false
    }

    /// An origin as browsers write it: the scheme's own port is left out. Source: RFC 6454 §6.2.
    package static func origin(scheme: String, _ name: HostName) -> String {
        guard let port = name.port, port != (scheme == "https" ? 443 : 80) else {
            return "\(scheme)://\(name.host)"
        }
        return "\(scheme)://\(name.host):\(port)"
    }

    /// Digits only: `UInt16` would take a sign before them.
    private static func port(_ text: Substring) -> UInt16? {
        text.utf8.allSatisfy { (0x30...0x39) ~= $0 } ? UInt16(text) : nil
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    private static func address6(_ bracketed: String) -> [UInt8]? {
        var address = in6_addr()
        guard bracketed.hasPrefix("["), bracketed.hasSuffix("]"),
            inet_pton(AF_INET6, String(bracketed.dropFirst().dropLast()), &address) == 1
        else { return nil }
        return withUnsafeBytes(of: &address) { Array($0) }
    }
}
