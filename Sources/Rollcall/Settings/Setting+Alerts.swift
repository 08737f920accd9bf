import RollcallCore

/// The settings of alerts and of who is told.
extension Setting {
    static let alerts =
        rule("HighOfflineRate", \.highOfflineRate)
        + [
            Setting("alerts.HighOfflineRate.above", "this share OFFLINE of those expected") {
                "\(Double($0.policy.alerts.offlineAbove) / 10_000)"
            },
            Setting("alerts.HighOfflineRate.by", "fleet: over all; region: each by itself") {
                $0.policy.alerts.isOfflineByRegion ? "region" : "fleet"
            },
            Setting("alerts.HighOfflineRate.min_active", "fewer expected are no rate") {
                "\($0.policy.alerts.offlineMinActive)"
            },
            Setting("alerts.HighOfflineRate.min_offline", "nor are fewer OFFLINE") {
                "\($0.policy.alerts.offlineMin)"
            },
        ] + rule("ResponderFlapping", \.responderFlapping)
        + [
            Setting("alerts.ResponderFlapping.changes", "between ONLINE and OFFLINE, 2 to 100") {
                "\($0.policy.alerts.flappingChanges)"
            },
            Setting("alerts.ResponderFlapping.window", "in so much time, 1s to 24h") {
                SettingText.of($0.policy.alerts.flappingWindow)
            },
            Setting("alerts.ResponderFlapping.clear_below", "over with fewer; below changes") {
                "\($0.policy.alerts.flappingClearBelow)"
            },
        ] + rule("NoOnlineResponders", \.noOnlineResponders)
        + rule("TelemetryFeedDown", \.telemetryFeedDown)
        + [
            Setting("alerts.name_members", "people named in a text at most, 0 to 100") {
                "\($0.policy.alerts.namesMax)"
            },
            Setting("alerts.storm", "more of one name waiting for people become one; 0: off") {
                "\($0.policy.alerts.storm)"
            },
        ]

    private static func rule(
        _ name: String, _ rule: @escaping @Sendable (AlertRules) -> AlertRules.Rule
    ) -> [Setting] {
        func setting(
            _ key: String, _ meaning: String,
            _ value: @escaping @Sendable (AlertRules.Rule) -> String
        ) -> Setting {
            Setting("alerts.\(name).\(key)", meaning) { value(rule($0.policy.alerts)) }
        }
        return [
            setting("enabled", "or false") { $0.isEnabled ? "true" : "false" },
            setting("for", "true for so long before it fires") { SettingText.of($0.pendingFor) },
            setting("keep_firing_for", "false for so long before it ends") {
                SettingText.of($0.keepFiringFor)
            },
            setting("severity", "critical, warning, info or none") { "\($0.severity.word)" },
            setting("labels", "more labels, {team: north}") { pairs($0.labels) },
            setting("annotations", "more texts") { rule in
                pairs(rule.annotations.filter { $0.name != AlertRules.Rule.runbook })
            },
            setting("runbook_url", "a link to what is to be done") {
                text(String(decoding: $0.runbookURL, as: UTF8.self))
            },
        ]
    }

    private static func pairs(_ labels: [Label]) -> String {
        let pairs = labels.map { label in
            "\(String(decoding: label.name, as: UTF8.self)): \(quoted(label.value))"
        }
        return "{\(pairs.joined(separator: ", "))}"
    }

    // MARK: - Who is told

    static let receivers = [
        Setting("receivers", "who is told; without any, the log") { configuration in
            if configuration.policy.receivers == [.standard] { return "[]" }
            let all = receiverEntries(configuration).map { "{name: \($0.name), \($0.text)}" }
            return "[\(all.joined(separator: ", "))]"
        },
        Setting("alive_ping.url", "pinged while the watch works; or url_file") {
            text($0.alivePing.url.flatMap { Destination(url: $0)?.text } ?? "")
        },
        Setting("alive_ping.url_file", "a file with the url") { _ in "\"\"" },
        Setting("alive_ping.every", "10s to 1h") { SettingText.of($0.alivePing.every) },
    ]

    /// The receivers by their names, as far as they may be shown.
    static func receiverEntries(_ configuration: Configuration) -> [(name: String, text: String)] {
        configuration.policy.receivers.map { receiver in
            (
                text(String(decoding: receiver.name, as: UTF8.self)),
                entry(receiver, configuration.address(of: receiver))
            )
        }
    }

    private static func entry(_ receiver: Receiver, _ address: ReceiverAddress?) -> String {
        let places = address?.destinations.joined(separator: " ") ?? ""
        var parts = ["\(receiver.kind.word): {\(places)}"]
        if receiver.match == [.never] {
            parts.append("match: \(MatcherText.none)")
        } else if !receiver.match.isEmpty {
            let match = receiver.match.map { quoted(Array(MatcherText.text($0).utf8)) }
            parts.append("match: [\(match.joined(separator: ", "))]")
        }
        if !receiver.sendsResolved { parts.append("send_resolved: false") }
        parts.append("repeat_interval: \(SettingText.of(receiver.repeatInterval))")
        if receiver.kind == .alertmanager {
            parts.append("resolve_timeout: \(SettingText.of(receiver.resolveTimeout))")
        }
        if !receiver.fallback.isEmpty {
            parts.append("fallback: \(text(String(decoding: receiver.fallback, as: UTF8.self)))")
            parts.append("fallback_after: \(SettingText.of(receiver.fallbackAfter))")
        }
        return parts.joined(separator: ", ")
    }
}

extension ReceiverAddress {
    /// The places of it, as far as they may be shown: scheme, host and port.
    var destinations: [String] { urls.compactMap { Destination(url: $0)?.text } }
}

extension Configuration {
    /// Returns how a receiver is reached; nil if nothing says.
    func address(of receiver: Receiver) -> ReceiverAddress? {
        receivers.first { $0.name.utf8.elementsEqual(receiver.name) }
    }
}
