import RollcallCore
import RollcallSupport

/// The things about a silence that were probably not meant: a name that nobody has mutes nothing,
/// and whoever relies on it is paged all the same. Source: A7; D7.
struct SilenceWarnings {
    /// Warnings at most.
    static let countMax = 10

    /// The warnings, in the order of the matchers; then whether anything is muted.
    private(set) var texts: [String] = []

    /// Looks at `silence` as `engine` stands.
    init(_ silence: Silence, _ engine: Engine) {
        guard
            engine.alerting.notifications.silences.contains(where: { $0.number == silence.number })
        else {
            add("it is over and mutes nothing: take another id to begin another")
            return
        }
        let names = Self.labelNames(engine)
        for matcher in silence.matchers {
            let name = String(decoding: matcher.name, as: UTF8.self)
            // An empty value is what an alert without the label has.
            let values = matcher.values.filter { !$0.isEmpty }
            guard names.contains(name) else {
                if matcher.isEqual, !values.isEmpty {
                    add("no alert has a label \"\(name)\"" + Spelling.hint(for: name, among: names))
                }
                continue
            }
            for value in values { look(name, value, engine) }
        }
        let isFiring = engine.alerting.board.all.contains {
            $0.alert.state == .firing && silence.matchers.fit($0.alert.labels)
        }
        if !isFiring { add("nothing that fires now is muted by it") }
    }

    private mutating func look(_ name: String, _ value: [UInt8], _ engine: Engine) {
        let text = String(decoding: value, as: UTF8.self)
        let words: [String]
        switch name {
        case "alertname": words = AlertName.allCases.map { "\($0.word)" }
        case "severity": words = Severity.allCases.map { "\($0.word)" }
        case "region":
            let isKnown =
                engine.regions.known(value) != nil || engine.policy.coverageRegions.contains(value)
            if !isKnown { add("nobody was ever in a region \"\(text)\"") }
            return
        default: return
        }
        if words.contains(text) { return }
        let kind = name == "alertname" ? "alert" : "severity"
        add("there is no \(kind) \"\(text)\"" + Spelling.hint(for: text, among: words))
    }

    private mutating func add(_ text: String) {
        if texts.count < Self.countMax { texts.append(text) }
    }

    /// Labels that alerts have, by Rollcall or by the settings.
    private static func labelNames(_ engine: Engine) -> Set<String> {
        let rules = engine.policy.alerts
        let ours = AlertName.allCases.flatMap { rules[$0].labels }
            .map { String(decoding: $0.name, as: UTF8.self) }
        // Of the fleet cell's alerts some are about a cell (K4).
        let cells = engine.policy.role == .fleet ? ["cell"] : []
        return Set(ours + AlertRules.Rule.ownLabels + cells)
    }
}
