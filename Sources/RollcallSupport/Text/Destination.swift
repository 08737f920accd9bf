/// The part of a URL that may be shown, and what is decided by it.
package struct Destination: Equatable {
    /// `https://host:port` as written, without user, password, path and query.
    package let text: String
    /// True if only this machine can be meant.
    package let isLoopback: Bool
    /// True if a user or a password stands before the host.
    package let hasUser: Bool

    /// The schemes of what speaks HTTP.
    package static let webSchemes = ["http", "https"]
    /// The schemes of mail servers.
    package static let mailSchemes = ["smtp", "smtps"]

    /// Nil if it is no URL with a host and one of these schemes.
    package init?(url: String, schemes: [String] = Self.webSchemes) {
        // A backslash is a slash to some readers and part of a name to others: what is asked would
        // not be who is named. It stands in no URL (RFC 3986 §2).
        guard url.utf8.allSatisfy({ (0x21...0x7E) ~= $0 && $0 != UInt8(ascii: "\\") }),
            let colon = url.firstRange(of: "://")
        else { return nil }
        let scheme = url[..<colon.lowerBound].lowercased()
        guard schemes.contains(scheme) else { return nil }
        let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority.index(after: $0) }
        let host = authority[(place ?? authority.startIndex)...]
        guard let name = HostName(String(host)), !name.host.isEmpty, name.port != 0 else {
            return nil
        }
        text = "\(scheme)://\(host)"
        isLoopback = name.isLoopback
        hasUser = place != nil
    }
}
