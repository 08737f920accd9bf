import RollcallCore
import Yams

/// The rules for when alerts fire: the settings under `alerts`. Source: Contract/Alerts, V8.
extension AlertRules {
    /// Changes by which somebody may have to flap.
    private static let changesRange = 2...100
    /// Longer windows remember more than a day's changes.
    private static let windowRange = Milliseconds.seconds(1)...Milliseconds.seconds(86_400)
    /// People named in a text at most.
    static let namesRange = 0...100
    /// Alerts of one name that people are told of one by one at most; 0 for all.
    static let stormRange = 0...1_000_000

    /// Reads all of them.
    /// - Throws: `ConfigurationError` if one is wrong or unknown.
    mutating func read(_ alerts: inout ConfigurationTree) throws(ConfigurationError) {
        try alerts.section("HighOfflineRate") { (alert) throws(ConfigurationError) in
            try alert.rule(&highOfflineRate)
            try alert.share("above", &offlineAbove)
            var by = isOfflineByRegion ? "region" : "fleet"
            try alert.text("by", &by, oneOf: ["fleet", "region"])
            isOfflineByRegion = by == "region"
            try alert.integer("min_active", in: 1...1_000_000, &offlineMinActive)
            try alert.integer("min_offline", in: 1...1_000_000, &offlineMin)
        }
        try alerts.section("ResponderFlapping") { (alert) throws(ConfigurationError) in
            try alert.rule(&responderFlapping)
            try alert.integer("changes", in: Self.changesRange, &flappingChanges)
            try alert.duration("window", in: Self.windowRange, &flappingWindow)
            try alert.integer(
                "clear_below", in: 1...Self.changesRange.upperBound, &flappingClearBelow)
            if flappingClearBelow >= flappingChanges {
                throw alert.fault(
                    "clear_below", "must be less than changes",
                    "\(flappingClearBelow) >= \(flappingChanges)", or: ["changes"])
            }
        }
        try alerts.section("NoOnlineResponders") { (alert) throws(ConfigurationError) in
            try alert.rule(&noOnlineResponders)
        }
        try alerts.section("TelemetryFeedDown") { (alert) throws(ConfigurationError) in
            try alert.rule(&telemetryFeedDown)
        }
        try alerts.integer("name_members", in: Self.namesRange, &namesMax)
        try alerts.integer("storm", in: Self.stormRange, &storm)
    }
}

extension AlertRules.Rule {
    /// The annotation's name of the link to a runbook.
    static let runbook = Array("runbook_url".utf8)
    /// Labels that Rollcall itself sets: an alert's identity and its severity.
    static let ownLabels = ["alertname", "severity", "region", "source", "suspected"]
    /// Labels, and annotations, of one alert at most.
    static let labelsMax = 32
    /// Bytes of a value at most.
    static let valueBytesMax = 1024

    /// The link to what is to be done; empty without one.
    var runbookURL: [UInt8] { annotations.value(of: Self.runbook) }
}

extension ConfigurationTree {
    /// Reads the settings that every alert has.
    /// - Throws: `ConfigurationError` if one is wrong.
    fileprivate mutating func rule(
        _ rule: inout AlertRules.Rule
    ) throws(ConfigurationError) {
        try flag("enabled", &rule.isEnabled)
        try duration("for", in: Milliseconds(0)...Self.durationMax, &rule.pendingFor)
        try duration(
            "keep_firing_for", in: Milliseconds(0)...Self.durationMax, &rule.keepFiringFor)
        var severity = "\(rule.severity.word)"
        let words = Severity.allCases.map { "\($0.word)" }
        try text("severity", &severity, oneOf: words)
        rule.severity = Severity.allCases.first { "\($0.word)" == severity } ?? rule.severity
        rule.labels = try pairs("labels", taken: AlertRules.Rule.ownLabels)
        // Also `summary` and `description`: whoever writes them has better ones.
        rule.annotations = try pairs("annotations", taken: ["runbook_url"])
        if let url = try link("runbook_url") {
            rule.annotations.append(Label(AlertRules.Rule.runbook, Array(url.utf8)))
        }
    }

    /// Reads a mapping of names that Rollcall does not know; none may be one of `taken`.
    /// - Throws: `ConfigurationError` if it is no mapping, too large, or a name or a text in it is
    ///   wrong.
    private mutating func pairs(
        _ key: String, taken: [String]
    ) throws(ConfigurationError) -> [Label] {
        sources.askedForList(full(key))
        guard let node = takeFromFile(key), node.null == nil else { return [] }
        guard case .mapping(let mapping) = node else { throw fault(key, "must be a mapping", "") }
        var pairs: [Label] = []
        for (name, value) in mapping {
            let text = name.string ?? ""
            if sources.skipped.contains("\(full(key)).\(text)") { continue }
            func wrong(_ rule: String) -> ConfigurationError {
                ConfigurationError(
                    line: name.mark?.line ?? 0, message: "\(full(key)): \(text) \(rule)",
                    key: "\(full(key)).\(text)")
            }
            guard MatcherText.isName(text) else {
                throw wrong("must be a name of letters, digits and _, no digit first")
            }
            if taken.contains(text) {
                throw wrong(
                    text == "runbook_url"
                        ? "has a setting of its own beside \(key)" : "is set by Rollcall itself")
            }
            guard let content = value.string,
                (1...AlertRules.Rule.valueBytesMax).contains(content.utf8.count)
            else { throw wrong("must be a text of 1 to \(AlertRules.Rule.valueBytesMax) bytes") }
            pairs.append(Label(Array(text.utf8), Array(content.utf8)))
        }
        guard pairs.count <= AlertRules.Rule.labelsMax else {
            throw fault(
                key, "must hold at most \(AlertRules.Rule.labelsMax)", "\(pairs.count)")
        }
        return pairs.ordered()
    }

    /// Reads a link for people; empty is none.
    /// - Throws: `ConfigurationError` if it is no link, or too long.
    private mutating func link(_ key: String) throws(ConfigurationError) -> String? {
        guard let node = take(key), node.null == nil, node.string != "" else { return nil }
        guard let text = node.string, text.utf8.count <= AlertRules.Rule.valueBytesMax,
            Destination(url: text) != nil
        else {
            throw fault(
                key, "must be a link such as https://wiki.example.org/runbook",
                node.string ?? "")
        }
        return text
    }
}
