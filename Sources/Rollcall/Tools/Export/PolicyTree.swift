import RollcallCore

/// Settings that decide as the tree of a `policy` line, which `Configuration(yaml:)` reads back to
/// what decides the same. Source: F5.
///
/// Who is told is not in it: names and matchers decide nothing that a replay prints, and where
/// receivers are nobody journals.
enum PolicyTree {
    /// The tree as JSON, which YAML reads as well.
    static func text(_ policy: Policy) -> [UInt8] {
        Array(
            object([
                ("storage", object([("retention", span(policy.retention))])),
                ("liveness", liveness(policy)),
                (
                    "feed",
                    object([
                        ("min_active", "\(policy.feedMinActive)"),
                        ("stall_after", span(policy.feedStallAfter)),
                    ])
                ),
                (
                    "limits",
                    object([
                        ("responders", "\(policy.respondersMax)"),
                        ("regions", "\(policy.regionLabelsMax)"),
                        ("circle_names", "\(policy.circleNamesMax)"),
                        ("region_names", "\(policy.regionNamesMax)"),
                        ("version_names", "\(policy.versionNamesMax)"),
                    ])
                ),
                (
                    "coverage",
                    object([
                        (
                            "regions",
                            "[\(policy.coverageRegions.map(quoted).joined(separator: ","))]"
                        )
                    ])
                ),
                ("alerts", alerts(policy.alerts)),
                ("nudges", nudges(policy.nudges)),
            ]).utf8)
    }

    private static func liveness(_ policy: Policy) -> String {
        func profile(_ profile: Policy.Profile) -> String {
            object([
                ("expected", span(profile.expected)),
                ("degraded_after", span(profile.degradedAfter)),
                ("offline_after", span(profile.offlineAfter)),
            ])
        }
        let adopts = policy.serverTransitions == .adopt
        return object([
            ("on_duty", profile(policy.onDuty)),
            ("on_mission", profile(policy.onMission)),
            ("low_power_factor", "\(policy.lowPowerFactor)"),
            (
                "platform_factors",
                object([("ios", "\(policy.iosFactor)"), ("android", "\(policy.androidFactor)")])
            ),
            ("server_transitions", adopts ? "\"adopt\"" : "\"observe\""),
            ("forget_after", span(policy.forgetAfter)),
        ])
    }

    private static func alerts(_ rules: AlertRules) -> String {
        object([
            (
                "HighOfflineRate",
                object(
                    rule(rules.highOfflineRate) + [
                        ("above", share(rules.offlineAbove)),
                        ("by", rules.isOfflineByRegion ? "\"region\"" : "\"fleet\""),
                        ("min_active", "\(rules.offlineMinActive)"),
                        ("min_offline", "\(rules.offlineMin)"),
                    ])
            ),
            (
                "ResponderFlapping",
                object(
                    rule(rules.responderFlapping) + [
                        ("changes", "\(rules.flappingChanges)"),
                        ("window", span(rules.flappingWindow)),
                        ("clear_below", "\(rules.flappingClearBelow)"),
                    ])
            ),
            ("NoOnlineResponders", object(rule(rules.noOnlineResponders))),
            ("TelemetryFeedDown", object(rule(rules.telemetryFeedDown))),
            ("name_members", "\(rules.namesMax)"),
            ("storm", "\(rules.storm)"),
        ])
    }

    private static func rule(_ rule: AlertRules.Rule) -> [(String, String)] {
        func pairs(_ labels: [Label]) -> String {
            object(labels.map { (String(decoding: $0.name, as: UTF8.self), quoted($0.value)) })
        }
        let runbook = rule.runbookURL.isEmpty ? [] : [("runbook_url", quoted(rule.runbookURL))]
        return [
            ("enabled", "\(rule.isEnabled)"), ("for", span(rule.pendingFor)),
            ("keep_firing_for", span(rule.keepFiringFor)),
            ("severity", "\"\(rule.severity.word)\""), ("labels", pairs(rule.labels)),
            (
                "annotations",
                pairs(rule.annotations.filter { $0.name != AlertRules.Rule.runbook })
            ),
        ] + runbook
    }

    private static func nudges(_ rules: NudgeRules) -> String {
        let others = rules.staleAfter.others.map { ($0.name, span($0.span)) }
        let sink = rules.sink == .none ? [] : [("\(rules.sink.word)", "{}")]
        return object([
            ("mode", "\"\(rules.mode.word)\""),
            ("stale_after", object([("default", span(rules.staleAfter.standard))] + others)),
            ("min_interval", span(rules.minInterval)),
            ("ttl", span(rules.timeToLive)),
            ("rate", "\"\(rules.ratePerSecond)/s\""),
            ("company", "\"\(rules.company.word)\""),
            // Where it is, and its secrets, nobody journals; that it wants tokens decides.
            ("sink", object(sink)),
        ])
    }

    // MARK: - JSON

    private static func object(_ members: [(String, String)]) -> String {
        "{\(members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}"
    }

    private static func span(_ span: Milliseconds) -> String { "\"\(SettingText.of(span))\"" }

    /// Ten-thousandths as a number.
    private static func share(_ share: Int64) -> String {
        var digits: [UInt8] = []
        JSONWriter.fraction(share, to: &digits)
        return String(decoding: digits, as: UTF8.self)
    }

    /// A JSON string whose characters YAML lets pass as well: it wants escapes for more of them.
    private static func quoted(_ text: [UInt8]) -> String {
        var quoted = "\""
        for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
            switch scalar.value {
            case 0x22, 0x5C:
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case 0x20...0x7E, 0xA0...0x2027, 0x202A...0xD7FF, 0xE000...0xFEFE, 0xFF00...0xFFFD,
                0x10000...0x10FFFF:
                quoted.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return quoted + "\""
    }
}
