import RollcallCore
import RollcallSupport

/// The meaning of the settings of alerts, in words.
extension Configuration {
    /// A sentence for each alert, of a fleet of cells for each that is decided here. Source: K2, K4.
    var alertWords: [String] {
        let dark = "\(Self.words(CellBook.darkAfter))"
        switch policy.role {
        case .whole: return alertSentences
        case .cell:
            return [
                "HighOfflineRate, ResponderFlapping, NoOnlineResponders and TelemetryFeedDown are decided by "
                    + "the fleet cell, by its settings, and told to its receivers.", offlineWords,
                "FleetDark (critical) fires when the fleet cell has asked no cell that answers for \(dark): the "
                    + "first of them by name tells its receivers.",
            ]
        case .fleet:
            return alertSentences.filter { $0 != offlineWords } + [
                "ResponderOffline is decided by each cell, by its settings, and told to its receivers.",
                "CellDark (critical) fires when nothing is heard of a cell for \(dark).",
            ]
        }
    }

    private var alertSentences: [String] {
        let rules = policy.alerts
        let share = Self.percent(rules.offlineAbove)
        let place = rules.isOfflineByRegion ? "of a region's people" : "of all people"
        let least =
            (rules.offlineMinActive > 1 ? " (at least \(rules.offlineMinActive) of them)" : "")
            + (rules.offlineMin > 1 ? ", and at least \(rules.offlineMin)," : "")
        return [
            Self.words(
                "HighOfflineRate", rules.highOfflineRate,
                "more than \(share) \(place) who are expected\(least) are OFFLINE"),
            Self.words(
                "ResponderFlapping", rules.responderFlapping,
                "somebody went \(rules.flappingChanges) times between ONLINE and OFFLINE within "
                    + "\(Self.words(rules.flappingWindow)), and until it is fewer than "
                    + "\(rules.flappingClearBelow) times"),
            offlineWords,
            Self.words(
                "NoOnlineResponders", rules.noOnlineResponders,
                "nobody of those expected in a region is ONLINE"
                    + (policy.coverageRegions.isEmpty
                        ? "" : ", or nobody is expected where somebody always must be")),
            Self.words(
                "TelemetryFeedDown", rules.telemetryFeedDown,
                "a source that beats is missing, or the whole feed is"),
        ]
    }

    /// Each person waits for themselves.
    private var offlineWords: String {
        let rules = policy.alerts
        let people =
            rules.offlineDuties == [.onDuty, .onMission]
            ? "somebody" : "somebody \(rules.offlineDuties.map { "\($0.word)" }.joined())"
        let names = rules.offlineRegions.map { String(decoding: $0, as: UTF8.self) }
        let place = names.isEmpty ? "a region" : names.joined(separator: " or ")
        return Self.words(
            "ResponderOffline", rules.responderOffline, "\(people) of \(place) is OFFLINE")
    }

    private static func words(
        _ name: String, _ rule: AlertRules.Rule, _ condition: String
    ) -> String {
        guard rule.isEnabled else { return "\(name) is switched off." }
        let pending = rule.pendingFor.count == 0 ? "at once" : "after \(words(rule.pendingFor))"
        let kept =
            rule.keepFiringFor.count == 0
            ? "" : "; it ends once that was not so for \(words(rule.keepFiringFor))"
        return "\(name) (\(rule.severity.word)) fires \(pending) when \(condition)\(kept)."
    }

    private static func percent(_ share: Int64) -> String {
        let whole = "\(share / 100)"
        let rest = share % 100
        if rest == 0 { return "\(whole) %" }
        let digits = rest < 10 ? "0\(rest)" : "\(rest)"
        return "\(whole).\(digits.last == "0" ? String(digits.dropLast()) : digits) %"
    }

    // MARK: - Who is told

    /// A sentence for each receiver, and for the ping.
    var notifyingWords: [String] {
        var sentences = policy.receivers.map { words($0) }
        if policy.receivers == [.standard] {
            sentences = ["Alerts go to the log and nowhere else."]
        }
        if let url = alivePing.url, let place = Destination(url: url) {
            sentences.append(
                "It asks \(place.text) every \(Self.words(alivePing.every)) while the watch works: "
                    + "who listens there notices when it does not.")
        }
        return sentences
    }

    private func words(_ receiver: Receiver) -> String {
        let name = String(decoding: receiver.name, as: UTF8.self)
        let places = address(of: receiver)?.destinations.joined(separator: ", ") ?? ""
        let place = places.isEmpty ? "" : " at \(places)"
        let matchers = receiver.match.map(MatcherText.text).joined(separator: " and ")
        let which = matchers.isEmpty ? "every alert" : "alerts with \(matchers)"
        let ends = receiver.sendsResolved ? ", and when it ends" : ", not when it ends"
        // An Alertmanager repeats itself; it only has to know that the alert still fires (A8).
        let again =
            receiver.kind == .alertmanager
            ? OutboxTimes().refreshEvery : receiver.repeatInterval
        let fallback =
            receiver.fallback.isEmpty
            ? ""
            : "; after \(Self.words(receiver.fallbackAfter)) untaken: "
                + String(decoding: receiver.fallback, as: UTF8.self)
        let head = "\(name) (\(receiver.kind.word)\(place))"
        if receiver.match == [.never] {
            return policy.receivers.contains { $0.fallback == receiver.name }
                ? "\(head) is told only what others have not taken\(ends)\(fallback)."
                : "\(head) is told of nothing."
        }
        if receiver.escalateAfter.count > 0 {
            let span = Self.words(receiver.escalateAfter)
            return "\(head) is told of \(which) that nobody has taken after \(span), again every "
                + "\(Self.words(again)) while it fires\(ends)\(fallback)."
        }
        return "\(head) is told of \(which), again every \(Self.words(again)) while it fires"
            + "\(ends)\(fallback)."
    }
}
