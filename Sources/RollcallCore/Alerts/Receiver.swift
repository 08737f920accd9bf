/// The kind of a receiver, by how it is talked to. The raw values are stored. Source: A8.
package enum ReceiverKind: UInt8, CaseIterable, Sendable {
    case alertmanager = 0
    case webhook = 1
    case pagerduty = 2
    case opsgenie = 6
    case slack = 3
    case ntfy = 5
    case email = 7
    /// Lines of our own log.
    case log = 4

    /// The word in settings.
    package var word: StaticString {
        switch self {
        case .alertmanager: "alertmanager"
        case .webhook: "webhook"
        case .pagerduty: "pagerduty"
        case .opsgenie: "opsgenie"
        case .slack: "slack"
        case .ntfy: "ntfy"
        case .email: "email"
        case .log: "log"
        }
    }

    /// True if it keeps incidents by keys: each message tells of one firing under a key of its own, and
    /// what was opened there stays open until its end is told.
    package var keepsIncidents: Bool {
        switch self {
        case .pagerduty, .opsgenie: true
        case .alertmanager, .webhook, .slack, .ntfy, .email, .log: false
        }
    }

    /// True if it is a channel: people read there one message after another, and nothing but their
    /// order says which is the last word (A9, D11).
    package var isChannel: Bool {
        switch self {
        case .slack, .ntfy, .email: true
        case .alertmanager, .webhook, .pagerduty, .opsgenie, .log: false
        }
    }

    /// True if one message carries all that fires of a name, as an Alertmanager's would: its repeats do
    /// so once an interval.
    package var isNotifiedOfWholeGroups: Bool { self == .webhook || isChannel }

    /// True if people read each message, so that a storm becomes one (D11): programs and logs get
    /// every alert.
    package var isForPeople: Bool { keepsIncidents || isChannel }
}

/// A receiver, as far as it decides who is told: never a URL, never a secret (J1). Source: A8.
package struct Receiver: Equatable, Sendable {
    /// Receivers at most.
    package static let countMax = 64
    /// Addresses of one receiver at most.
    package static let targetsMax = 16

    package var name: [UInt8]
    package var kind: ReceiverKind
    /// The matchers that must hold of an alert's labels; empty for every alert.
    package var match: [LabelMatcher] = []
    package var sendsResolved = true
    /// The time after which somebody who was told is told again; runs also while blind.
    package var repeatInterval = Milliseconds.seconds(4 * 3600)
    /// Of `alertmanager`: how long it takes something to fire that it is not told of again (D9).
    package var resolveTimeout = Milliseconds.seconds(15 * 60)
    /// The name of whom a trigger is given to that this one does not take (D3); empty for nobody.
    package var fallback: [UInt8] = []
    /// After so long.
    package var fallbackAfter = Milliseconds.seconds(60)
    /// In running time since it fires: what nobody has taken by then is told (R2). 0 to be told at once.
    package var escalateAfter = Milliseconds(0)
    /// Addresses, each of which is told.
    package var targets = 1

    /// A receiver of every alert, with the usual interval.
    package init(name: [UInt8], kind: ReceiverKind) {
        self.name = name
        self.kind = kind
    }

    /// Addresses that get a message each.
    var addresses: Int { max(1, targets) }

    private static let alertName = Array("alertname".utf8)
    private static let watchdog = AlertName.watchdog.word.bytes

    /// True if an alert with `labels` is for this receiver. The watchdog goes only to those who
    /// name it (A5).
    package func wants(_ labels: [Label]) -> Bool {
        let (name, watchdog) = (Self.alertName, Self.watchdog)
        if labels.value(of: name) == watchdog, !match.demand(watchdog, of: name) { return false }
        return match.fit(labels)
    }

    mutating func code(_ archive: inout Archive) {
        archive.code(&name)
        archive.code(&kind)
        archive.code(&match, empty: LabelMatcher(name: [], values: [])) { $1.code(&$0) }
        archive.code(&sendsResolved)
        archive.code(&repeatInterval)
        archive.code(&targets)
    }

    static let empty = Receiver(name: [], kind: .log)
}

extension [Receiver] {
    /// True if an alert with `labels` is for somebody else than our own log.
    package func areMoreThanLogs(for labels: [Label]) -> Bool {
        contains { $0.kind != .log && $0.wants(labels) }
    }
}
