import RollcallSupport
import Yams

/// The sender and the recipients of a receiver's mails.
package struct MailRoute: Equatable, Sendable {
    /// Recipients of one receiver at most.
    static let recipientsMax = 16
    /// Bytes of an address at most. Source: RFC 5321 §4.5.3.1.3.
    static let addressBytesMax = 254

    var from = ""
    var recipients: [String] = []
    /// False if what is said may be said without TLS, on this machine.
    var startsTLS = true

    /// True of `local@host` in ASCII, without quotes: what stands in an envelope and in a head as it
    /// is. Source: RFC 5322 §3.2.3.
    static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= addressBytesMax, let at = text.lastIndex(of: "@") else {
            return false
        }
        let (local, host) = (text[..<at], text[text.index(after: at)...])
        return areAtoms(local, "!#$%&'*+-/=?^_`{|}~") && areAtoms(host, "-")
    }

    /// The part of the sender's address behind the `@`.
    var domain: String {
        from.lastIndex(of: "@").map { String(from[from.index(after: $0)...]) } ?? ""
    }

    private static func areAtoms(_ text: Substring, _ others: String) -> Bool {
        let known = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".utf8)
            .union(others.utf8)
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
            !atom.isEmpty && atom.utf8.allSatisfy { known.contains($0) }
        }
    }
}

extension ConfigurationTree {
    /// Reads a mail server's URL, or the file that holds it; nil where secrets decide nothing.
    /// Throws `ConfigurationError` if it is missing, or none.
    mutating func mailServer(_ key: String) throws(ConfigurationError) -> String? {
        var secret: Secret?
        try self.secret(key, &secret, isHidden: false)
        guard let secret else {
            if sources.opensSecrets, !isWrong(key) {
                throw fault(key, "or \(key)_file must be given", "")
            }
            return nil
        }
        let url = String(decoding: secret.bytes, as: UTF8.self)
        guard let place = Destination(url: url, schemes: Destination.mailSchemes),
            url == place.text || url == place.text + "/"
        else {
            throw fault(
                key,
                "must be like smtp://host:port or smtps://host:port, without a user and anything "
                    + "behind it", "")
        }
        return url
    }

    /// Reads who writes to whom, and whether that needs TLS. Throws `ConfigurationError` if one is
    /// missing, or is no address.
    mutating func mailRoute(url: String?) throws(ConfigurationError) -> MailRoute {
        var route = MailRoute()
        try read("from", .text, &route.from)
        if route.from.isEmpty, sources.opensSecrets, !isWrong("from") {
            throw fault("from", "must be given", "")
        }
        if !route.from.isEmpty { try check(route.from, "from") }
        route.recipients = try recipients("to")
        try read("starttls", .flag, &route.startsTLS)
        let place = url.flatMap { Destination(url: $0, schemes: Destination.mailSchemes) }
        if !route.startsTLS, place?.isLoopback == false {
            throw fault(
                "starttls",
                "may be false only on this machine: on the way anybody could read and change what "
                    + "is sent, a password too", "")
        }
        return route
    }

    private mutating func recipients(_ key: String) throws(ConfigurationError) -> [String] {
        guard let node = takeFromFile(key), node.null == nil else {
            if sources.opensSecrets, !isWrong(key) { throw fault(key, "must be given", "") }
            return []
        }
        let nodes: [Node]
        if case .sequence(let sequence) = node { nodes = Array(sequence) } else { nodes = [node] }
        guard (1...MailRoute.recipientsMax).contains(nodes.count) else {
            throw fault(
                key, "must be an address, or a list of 1 to \(MailRoute.recipientsMax)", "")
        }
        var found: [String] = []
        for node in nodes {
            let address = node.string ?? ""
            try check(address, key)
            if found.contains(address) {
                throw fault(key, "must not hold the same address twice", address)
            }
            found.append(address)
        }
        return found
    }

    private func check(_ address: String, _ key: String) throws(ConfigurationError) {
        if !MailRoute.isAddress(address) {
            throw fault(
                key, "must be an address like duty@example.org, in ASCII and without a name",
                address)
        }
    }
}
