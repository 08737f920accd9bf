import RollcallCore

/// The resource that a path names: every path that there is, once. What can be asked of it is told
/// by its routes. Source: V5.
package enum Resource: String, CaseIterable, Sendable {
    case batches = "/v1/batches"
    case input = "/v1/in/{input}"
    case inputBelow = "/v1/in/{input}/{id}"
    case inputs = "/v1/inputs"
    case transitions = "/v1/transitions"
    case responders = "/v1/responders"
    case responder = "/v1/responders/{id}"
    case timeline = "/v1/responders/{id}/timeline"
    case nudge = "/v1/responders/{id}/nudge"
    case differences = "/v1/differences"
    case events = "/v1/events"
    case gaps = "/v1/gaps"
    case dark = "/v1/dark"
    case nudges = "/v1/nudges"
    case wakes = "/v1/wakes"
    case alerts = "/v1/alerts"
    case alertHistory = "/v1/alerts/history"
    case take = "/v1/incidents/{key}/take"
    case silences = "/v1/silences"
    case silence = "/v1/silences/{number}"
    case drills = "/v1/drill"
    case drill = "/v1/drill/{number}"
    case erasure = "/v1/erasures/{number}"
    case heartbeat = "/v1/heartbeat"
    case status = "/v1/status"
    case statusHistory = "/v1/status/history"
    case regions = "/v1/regions"
    case regionHistory = "/v1/regions/history"
    case cluster = "/v1/cluster"
    case clusterCopy = "/v1/cluster/copy"
    case clusterMember = "/v1/cluster/members/{id}"
    case clusterDrain = "/v1/cluster/drain"
    case clusterJoin = "/v1/cluster/join"
    case clusterAdopt = "/v1/cluster/adopt"
    case cells = "/v1/cells"
    case cellSummary = "/v1/cells/summary"
    case cellPeers = "/v1/cells/company"
    case cellMasses = "/v1/cells/masses"
    case session = "/v1/session"
    case metrics = "/metrics"
    case healthy = "/-/healthy"
    case ready = "/-/ready"
    case leader = "/-/leader"
    case reload = "/-/reload"
    case report = "/-/report"
    case openAPI = "/openapi.json"
    case page = "/"
    case gapsPage = "/silent"
    case momentPage = "/at"
    case alertsPage = "/alerts"
    case nudgesPage = "/nudges"
    case feedsPage = "/feeds"
    case peoplePage = "/people"
    case personPage = "/people/{id}"
    case asset = "/assets/{version}/{name}"

    /// Regions looked at for one answer at most, so that a backend that names a region for each
    /// person does not hold the state writer up: some milliseconds.
    package static let regionsLookedAtMax = 20_000

    /// Its path; what varies stands in braces.
    package var path: String { rawValue }

    /// Returns its path with `values`, percent-encoded, in place of what stands in braces.
    package func path(_ values: String...) -> String {
        var rest = values[...]
        return parts.map { $0.hasPrefix("{") ? rest.popFirst() ?? "" : String($0) }
            .joined(separator: "/")
    }

    /// The names of what varies in its path.
    package var variables: [String] {
        parts.filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }

    fileprivate var parts: [Substring] {
        rawValue.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// True for what a browser shows to people.
    package var isPage: Bool {
        switch self {
        case .page, .gapsPage, .momentPage, .alertsPage, .nudgesPage, .feedsPage, .peoplePage,
            .personPage:
            true
        default: false
        }
    }
}

/// A path that names something.
package struct Target: Equatable, Sendable {
    /// A file of the page: the version of all of them, and its name.
    package struct Asset: Equatable, Sendable {
        package var version: Substring = ""
        package var name: Substring = ""
    }

    /// The resource that it names.
    package let resource: Resource
    /// Of a responder, and of what is below one: the id. Of a member of the watch: its name.
    package private(set) var id: [UInt8] = []
    /// Of an input: its name.
    package private(set) var input: Substring = ""
    /// Of an incident: its key.
    package private(set) var key = ""
    /// Of an erasure, a silence or a drill: its number.
    package private(set) var number: Int64 = 0
    /// Of a file of the page: which one.
    package private(set) var asset = Asset()

    /// The target that `path` names; nil if there is no such thing.
    package init?(_ path: String) {
        if let resource = Self.fixed[path] {
            self.resource = resource
            return
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard let (resource, names) = Self.varied.first(where: { Self.fit(parts, $0.parts) })
        else { return nil }
        self.resource = resource
        for (part, name) in zip(parts, names) where !take(part, name) { return nil }
    }

    /// True for what phones and other servers send to.
    package var isInput: Bool { resource == .input || resource == .inputBelow }

    private static let fixed = Dictionary(
        uniqueKeysWithValues: Resource.allCases.filter(\.variables.isEmpty).map { ($0.path, $0) })

    private static let varied: [(resource: Resource, parts: [Substring])] =
        Resource.allCases.filter { !$0.variables.isEmpty }.map { ($0, $0.parts) }

    private static func fit(_ parts: [Substring], _ names: [Substring]) -> Bool {
        parts.count == names.count && zip(parts, names).allSatisfy { $1.hasPrefix("{") || $0 == $1 }
    }

    /// Takes the part of a path that `name` stands for; false if it cannot be that.
    private mutating func take(_ part: Substring, _ name: Substring) -> Bool {
        switch name {
        case "{id}":
            guard let decoded = Self.percentDecoded(part.utf8),
                (1...ItemScanner.nameBytesMax).contains(decoded.count)
            else { return false }
            id = decoded
        case "{number}":
            guard let read = Int64(part) else { return false }
            number = read
        case "{key}":
            guard let decoded = Self.percentDecoded(part.utf8),
                let text = String(validating: decoded, as: UTF8.self)
            else { return false }
            key = text
        case "{input}": input = part
        case "{version}": asset.version = part
        case "{name}": asset.name = part
        default: return true
        }
        return !part.isEmpty
    }

    /// Returns a part of a URL without its escapes; nil if a `%` is not followed by two digits.
    package static func percentDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var decoded: [UInt8] = []
        var pending: [UInt8]?
        for byte in text {
            if var digits = pending {
                digits.append(byte)
                pending = digits
                guard digits.count == 2 else { continue }
                guard let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16) else {
                    return nil
                }
                decoded.append(value)
                pending = nil
            } else if byte == UInt8(ascii: "%") {
                pending = []
            } else {
                decoded.append(byte)
            }
        }
        return pending == nil ? decoded : nil
    }
}
