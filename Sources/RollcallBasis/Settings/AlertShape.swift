import RollcallCore

/// The shape of alerts that there may be by the settings: labels that are known, and the one that
/// is not.
package struct AlertShape: Sendable {
    package let name: AlertName
    package let severity: Severity
    /// Without the one under `varying`.
    private let labels: [Label]
    /// The label that says what the alert is about; empty if there is none.
    private let varying: [UInt8]

    private init(
        _ name: AlertName, _ rules: AlertRules, varying: String = "", severity: Severity? = nil
    ) {
        self.name = name
        self.severity = severity ?? rules[name].severity
        self.varying = Array(varying.utf8)
        labels =
            [
                Label(Array("alertname".utf8), Array("\(name.word)".utf8)),
                Label(Array("severity".utf8), Array("\(self.severity.word)".utf8)),
            ] + rules[name].labels
    }

    /// All that may fire in a watch that has `role`.
    package static func all(
        _ rules: AlertRules, isCluster: Bool, role: FleetRole
    ) -> [AlertShape] {
        (all(rules, isCluster: isCluster) + ofCells(rules, role)).filter {
            $0.name.isEvaluated(by: role)
        }
    }

    /// The alerts of cells and the fleet cell about each other.
    fileprivate static func ofCells(_ rules: AlertRules, _ role: FleetRole) -> [AlertShape] {
        switch role {
        case .whole: []
        case .cell: [AlertShape(.fleetDark, rules)]
        case .fleet: [AlertShape(.cellDark, rules, varying: "cell")]
        }
    }

    /// All that may fire in a watch without cells.
    fileprivate static func all(_ rules: AlertRules, isCluster: Bool) -> [AlertShape] {
        var shapes: [AlertShape] = []
        if rules.highOfflineRate.isEnabled {
            let by = rules.isOfflineByRegion ? "region" : ""
            shapes.append(AlertShape(.highOfflineRate, rules, varying: by))
        }
        if rules.noOnlineResponders.isEnabled {
            shapes.append(AlertShape(.noOnlineResponders, rules, varying: "region"))
        }
        if rules.responderFlapping.isEnabled {
            shapes.append(AlertShape(.responderFlapping, rules, varying: "region"))
        }
        if rules.responderOffline.isEnabled {
            shapes.append(AlertShape(.responderOffline, rules, varying: "region"))
        }
        if rules.telemetryFeedDown.isEnabled {
            shapes += [
                AlertShape(.telemetryFeedDown, rules),
                AlertShape(.telemetryFeedDown, rules, varying: "source", severity: .warning),
                AlertShape(.telemetryFeedDown, rules, varying: "suspected"),
            ]
        }
        if isCluster { shapes.append(AlertShape(.rollcallUnsteady, rules)) }
        return shapes + [
            AlertShape(.rollcallOverloaded, rules), AlertShape(.rollcallStateLost, rules),
            AlertShape(.rollcallStoreFailing, rules), AlertShape(.watchdog, rules),
        ]
    }

    /// True if one of these may be for `receiver`.
    package func mayBe(for receiver: Receiver) -> Bool {
        if name == .watchdog { return receiver.wants(labels) }
        return receiver.match.allSatisfy { matcher in
            guard matcher.name == varying else { return matcher.fits(labels) }
            return !matcher.isEqual || matcher.values.contains { !$0.isEmpty }
        }
    }

    /// True if `receiver` is told of each of these as soon as it fires, whatever it is about.
    package func isAlways(for receiver: Receiver) -> Bool {
        guard receiver.escalateAfter.count == 0, mayBe(for: receiver) else { return false }
        // Of a feed that is only suspected the label is known.
        let isKnown = varying == Array("suspected".utf8)
        let all = isKnown ? labels + [Label(varying, Array("true".utf8))] : labels
        return receiver.match.allSatisfy { isKnown || $0.name != varying ? $0.fits(all) : false }
    }
}

/// The alerts of one name and severity, and the receivers that Rollcall tells of them itself. Lines of the
/// log are no receivers here: nobody is called by them.
package struct AlertAudience: Sendable {
    package let name: AlertName
    package let severity: Severity
    /// True if they may fire: they are not switched off, and decided here.
    package private(set) var isOn = false
    /// The receivers that are told of some of them at least.
    package private(set) var receivers: [Receiver] = []
    /// Those of them that are told of each as soon as it fires, or of each of one sort.
    package private(set) var certain: [Receiver] = []
    /// True if of each of them somebody is told as soon as it fires.
    package private(set) var isWhole = false

    /// The receivers of all of them at once: with the ones here nothing is left for others to say.
    package var whole: [Receiver] { isWhole ? certain : [] }

    /// The other ones that are told: of some only, or later.
    package var partial: [Receiver] {
        receivers.filter { receiver in !whole.contains { $0.name == receiver.name } }
    }

    /// The audiences of all alerts but the watchdog, which is no news, in the order of names.
    package static func all(_ policy: Policy) -> [AlertAudience] {
        var rules = policy.alerts
        let on = AlertShape.all(rules, isCluster: true, role: policy.role)
        // The series and rules of what is switched off, or decided elsewhere, are known as well.
        rules.highOfflineRate.isEnabled = true
        rules.noOnlineResponders.isEnabled = true
        rules.responderFlapping.isEnabled = true
        rules.responderOffline.isEnabled = true
        rules.telemetryFeedDown.isEnabled = true
        let pagers = policy.receivers.filter { $0.kind != .log }
        var found: [AlertAudience] = []
        let known = AlertShape.all(rules, isCluster: true) + AlertShape.ofCells(rules, policy.role)
        for shape in known where shape.name != .watchdog {
            guard !found.contains(where: { $0.isOf(shape) }) else { continue }
            var audience = AlertAudience(name: shape.name, severity: shape.severity)
            let shapes = on.filter(audience.isOf)
            audience.isOn = !shapes.isEmpty
            audience.receivers = pagers.filter { pager in shapes.contains { $0.mayBe(for: pager) } }
            audience.certain = pagers.filter { pager in
                shapes.contains { $0.isAlways(for: pager) }
            }
            audience.isWhole =
                !shapes.isEmpty
                && shapes.allSatisfy { shape in pagers.contains { shape.isAlways(for: $0) } }
            found.append(audience)
        }
        return found.sorted {
            ("\($0.name.word)", $0.severity.rawValue) < ("\($1.name.word)", $1.severity.rawValue)
        }
    }

    private init(name: AlertName, severity: Severity) {
        (self.name, self.severity) = (name, severity)
    }

    private func isOf(_ shape: AlertShape) -> Bool {
        shape.name == name && shape.severity == severity
    }
}
