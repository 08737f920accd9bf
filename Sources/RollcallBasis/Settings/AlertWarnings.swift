import RollcallCore
import RollcallSupport

extension Configuration {
    /// The configuration warnings in the alerts.
    var alertWarnings: [ConfigurationWarning] {
        var found: [ConfigurationWarning] = []
        let rules = policy.alerts
        if rules.highOfflineRate.isEnabled, rules.offlineAbove == 10_000 {
            found.append(
                ConfigurationWarning(
                    key: "alerts.HighOfflineRate.above",
                    reason: "more than all are never OFFLINE: it cannot fire"))
        }
        for (name, rule) in [
            ("NoOnlineResponders", rules.noOnlineResponders),
            ("TelemetryFeedDown", rules.telemetryFeedDown),
        ] where !rule.isEnabled {
            found.append(
                ConfigurationWarning(
                    key: "alerts.\(name).enabled",
                    reason: "false: nobody is told of the worst that can happen"))
        }
        return found
    }

    /// The configuration warnings in who is told.
    var receiverWarnings: [ConfigurationWarning] {
        if policy.receivers == [.standard] { return [] }
        let shapes = AlertShape.all(
            policy.alerts, isCluster: cluster.isOn, role: policy.role)
        var found: [ConfigurationWarning] = []
        let pagers = policy.receivers.filter { $0.kind != .log }
        let unheard = shapes.filter { shape in
            shape.severity == .critical && !pagers.contains { shape.mayBe(for: $0) }
        }
        if !unheard.isEmpty {
            var names: [String] = []
            for shape in unheard where !names.contains("\(shape.name.word)") {
                names.append("\(shape.name.word)")
            }
            found.append(
                ConfigurationWarning(
                    key: "receivers",
                    reason: "nobody but the log is told of \(names.joined(separator: ", ")), "
                        + "which \(names.count == 1 ? "is" : "are") critical"))
        }
        let late = shapes.filter { shape in
            let notified = pagers.filter { shape.mayBe(for: $0) }
            return shape.severity == .critical && !notified.isEmpty
                && notified.allSatisfy { $0.escalateAfter.count > 0 }
        }
        if let shape = late.first {
            found.append(
                ConfigurationWarning(
                    key: "receivers",
                    reason: "nobody is told of \(shape.name.word) when it fires: all who are have "
                        + "escalate_after"))
        }
        for (place, receiver) in policy.receivers.enumerated() {
            let key = "receivers[\(place)]"
            if !shapes.contains(where: { $0.mayBe(for: receiver) }) {
                found += neverNotified(receiver, "\(key).match")
            }
            found += Self.configurationWarnings(of: receiver, address(of: receiver), key)
        }
        return found
    }

    /// Returns the configuration warning of a receiver that no alert can reach: none, if it is
    /// there for others.
    private func neverNotified(_ receiver: Receiver, _ key: String) -> [ConfigurationWarning] {
        let name = String(decoding: receiver.name, as: UTF8.self)
        let isFallback = policy.receivers.contains { $0.fallback == receiver.name }
        if receiver.match == [.never] {
            let reason = "none, and \(name) is nobody's fallback: it is never told anything"
            return isFallback ? [] : [ConfigurationWarning(key: key, reason: reason)]
        }
        let matchers = receiver.match.map(MatcherText.text).joined(separator: " and ")
        let rest =
            isFallback ? "only told what others have not taken" : "never told anything"
        return [
            ConfigurationWarning(
                key: key, reason: "no alert can ever have \(matchers): \(name) is \(rest)")
        ]
    }

    private static func configurationWarnings(
        of receiver: Receiver, _ address: ReceiverAddress?, _ key: String
    ) -> [ConfigurationWarning] {
        var found: [ConfigurationWarning] = []
        let name = String(decoding: receiver.name, as: UTF8.self)
        if receiver.kind.keepsIncidents, !receiver.sendsResolved {
            found.append(
                ConfigurationWarning(
                    key: "\(key).send_resolved",
                    reason: "false: incidents stay open at \(name) until somebody closes them"))
        }
        let places = address?.urls.compactMap { Destination(url: $0) } ?? []
        for place in places where place.text.hasPrefix("http://") && !place.isLoopback {
            found.append(
                ConfigurationWarning(
                    key: key,
                    reason: "\(place.text) speaks no TLS: on the way to \(name) anybody can read "
                        + "and change what is sent"))
        }
        return found
    }
}
