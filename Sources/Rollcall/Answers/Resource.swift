import RollcallCore

/// The resource that a path names: one table of everything that there is.
///
/// Who adds a case is asked by the compiler for its path, methods, label and its entry in the
/// OpenAPI document. Source: V5.
enum Resource: CaseIterable, Sendable {
    case batches
    case transitions
    case responders
    case responder
    case timeline
    case nudge
    case gaps
    case dark
    case nudges
    case wakes
    case alerts
    case alertHistory
    case silences
    case silence
    case drills
    case drill
    case erasure
    case heartbeat
    case status
    case statusHistory
    case regions
    case metrics
    case healthy
    case ready
    case reload
    case openAPI
    case page
    case silentPage
    case alertsPage
    case nudgesPage
    case feedsPage
    case peoplePage
    case personPage
    case asset

    /// Its path; what varies stands in braces.
    var path: String {
        switch self {
        case .batches: "/v1/batches"
        case .transitions: "/v1/transitions"
        case .responders: "/v1/responders"
        case .responder: "\(Self.responderPrefix){id}"
        case .timeline: "\(Self.responderPrefix){id}\(Self.timelineSuffix)"
        case .nudge: "\(Self.responderPrefix){id}\(Self.nudgeSuffix)"
        case .gaps: "/v1/gaps"
        case .dark: "/v1/dark"
        case .nudges: "/v1/nudges"
        case .wakes: "/v1/wakes"
        case .alerts: "/v1/alerts"
        case .alertHistory: "/v1/alerts/history"
        case .silences: "/v1/silences"
        case .silence: "\(Self.silencePrefix){number}"
        case .drills: "/v1/drill"
        case .drill: "\(Self.drillPrefix){number}"
        case .erasure: "\(Self.erasurePrefix){number}"
        case .heartbeat: "/v1/heartbeat"
        case .status: "/v1/status"
        case .statusHistory: "/v1/status/history"
        case .regions: "/v1/regions"
        case .metrics: "/metrics"
        case .healthy: "/-/healthy"
        case .ready: "/-/ready"
        case .reload: "/-/reload"
        case .openAPI: "/openapi.json"
        case .page: "/"
        case .silentPage: "/silent"
        case .alertsPage: "/alerts"
        case .nudgesPage: "/nudges"
        case .feedsPage: "/feeds"
        case .peoplePage: "/people"
        case .personPage: "\(Self.personPrefix){id}"
        case .asset: "\(Self.assetPrefix){version}/{name}"
        }
    }

    /// The methods that it takes; `HEAD` goes wherever `GET` does.
    var methods: [String] {
        switch self {
        case .batches, .transitions, .wakes, .reload, .drills: ["POST"]
        case .silences: ["GET", "POST"]
        case .silence: ["GET", "DELETE"]
        case .responders: ["GET", "POST", "PUT"]
        case .responder: ["GET", "DELETE"]
        case .heartbeat: ["POST", "DELETE"]
        case .timeline, .nudge, .gaps, .dark, .nudges, .alerts, .alertHistory, .drill, .erasure,
            .status, .statusHistory, .regions, .metrics, .healthy, .ready, .openAPI, .page,
            .silentPage, .alertsPage, .nudgesPage, .feedsPage, .peoplePage, .personPage, .asset:
            ["GET"]
        }
    }

    /// The route as which its requests are counted.
    var route: EdgeFigures.Route {
        switch self {
        case .batches: .batches
        case .transitions: .transitions
        case .responders, .responder, .timeline, .nudge: .responders
        case .gaps: .gaps
        case .dark: .dark
        case .nudges: .nudges
        case .wakes: .wakes
        case .alerts, .alertHistory: .alerts
        case .silences, .silence: .silences
        case .drills, .drill: .drills
        case .erasure: .erasures
        case .heartbeat: .heartbeat
        case .status, .statusHistory, .regions: .status
        case .metrics: .metrics
        case .healthy, .ready: .health
        case .reload: .reload
        case .openAPI: .openAPI
        case .page, .silentPage, .alertsPage, .nudgesPage, .feedsPage, .peoplePage, .personPage,
            .asset:
            .page
        }
    }

    /// True for what a browser shows to people.
    var isPage: Bool { self != .asset && route == .page }

    static let responderPrefix = "/v1/responders/"
    static let timelineSuffix = "/timeline"
    static let nudgeSuffix = "/nudge"
    static let erasurePrefix = "/v1/erasures/"
    static let silencePrefix = "/v1/silences/"
    static let drillPrefix = "/v1/drill/"
    static let personPrefix = "/people/"
    static let assetPrefix = "/assets/"
}

/// A path that names something.
struct Target: Equatable, Sendable {
    /// A file of the page: the version of all of them, and its name.
    struct Asset: Equatable, Sendable {
        var version: Substring = ""
        var name: Substring = ""
    }

    /// The resource that it names.
    let resource: Resource
    /// Of a responder, and of what is below one: the id.
    private(set) var id: [UInt8] = []
    /// Of an erasure, a silence or a drill: its number.
    private(set) var number: Int64 = 0
    /// Of a file of the page: which one.
    private(set) var asset = Asset()

    /// The target that `path` names; nil if there is no such thing.
    init?(_ path: String) {
        if let resource = Self.fixed[path] {
            self.resource = resource
        } else if let id = Self.responderID(path) {
            resource = .responder
            self.id = id
        } else if let id = Self.responderID(path, before: Resource.timelineSuffix) {
            resource = .timeline
            self.id = id
        } else if let id = Self.responderID(path, before: Resource.nudgeSuffix) {
            resource = .nudge
            self.id = id
        } else if let id = Self.responderID(path, behind: Resource.personPrefix) {
            resource = .personPage
            self.id = id
        } else if let asset = Self.asset(path) {
            resource = .asset
            self.asset = asset
        } else {
            for resource in [Resource.erasure, .silence, .drill] {
                if let number = Self.number(path, of: resource) {
                    self.resource = resource
                    self.number = number
                    return
                }
            }
            return nil
        }
    }

    private static let fixed: [String: Resource] = {
        let fixed = Resource.allCases.filter { !$0.path.contains("{") }
        return Dictionary(uniqueKeysWithValues: fixed.map { ($0.path, $0) })
    }()

    private static func responderID(_ path: String, before suffix: String) -> [UInt8]? {
        path.hasSuffix(suffix) ? responderID(String(path.dropLast(suffix.count))) : nil
    }

    private static func asset(_ path: String) -> Asset? {
        guard path.hasPrefix(Resource.assetPrefix) else { return nil }
        let parts = path.dropFirst(Resource.assetPrefix.count)
            .split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
        return Asset(version: parts[0], name: parts[1])
    }

    private static func responderID(
        _ path: String, behind prefix: String = Resource.responderPrefix
    ) -> [UInt8]? {
        guard path.hasPrefix(prefix) else { return nil }
        let rest = path.utf8.dropFirst(prefix.utf8.count)
        guard !rest.contains(UInt8(ascii: "/")), let id = percentDecoded(rest),
            (1...ItemScanner.nameBytesMax).contains(id.count)
        else { return nil }
        return id
    }

    private static func number(_ path: String, of resource: Resource) -> Int64? {
        let prefix = resource.path.prefix { $0 != "{" }
        guard path.hasPrefix(prefix) else { return nil }
        return Int64(path.dropFirst(prefix.count))
    }

    /// Percent-decodes a part of a path; nil if a `%` is not followed by two digits.
    private static func percentDecoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
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
