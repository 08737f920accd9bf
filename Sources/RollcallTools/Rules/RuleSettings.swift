import RollcallBasis
import RollcallCore
import RollcallSupport

/// The settings as far as Prometheus can go by them, with what a scrape each 15 s makes of them.
struct RuleSettings {
    /// The time between two scrapes, and between two evaluations.
    static let interval = Milliseconds.seconds(15)
    /// Labels that Prometheus knows a Rollcall by, or that it sets itself.
    private static let ofPrometheus = ["job", "instance", "alertstate"]

    let configuration: Configuration
    let options: RuleOptions
    /// The audiences of Rollcall's own alerts.
    let audiences: [AlertAudience]

    /// The facts of `configuration`.
    init(_ configuration: Configuration, _ options: RuleOptions) {
        self.configuration = configuration
        self.options = options
        audiences = AlertAudience.all(configuration.policy)
    }

    var alerts: AlertRules { configuration.policy.alerts }
    var policy: Policy { configuration.policy }
    var job: String { options.job }

    // MARK: - What is printed

    /// The place of an alert that Rollcall has itself: in the file, or why it is not.
    enum Place: Equatable {
        case printed, off
        /// The fleet cell decides it.
        case fleetCell
        /// These receivers of Rollcall's hear of each of them.
        case elsewhere([String])
    }

    /// The place of the alerts of a name and severity.
    func place(_ name: AlertName, _ severity: Severity) -> Place {
        guard let found = audiences.first(where: { $0.name == name && $0.severity == severity })
        else { return .printed }
        // Rollcall counts nobody while it is switched off, and a reload may switch it on.
        if policy.role == .cell, !name.isEvaluated(by: .cell) { return .fleetCell }
        if !found.isOn, name != .responderOffline { return .off }
        if options.printsAll || !found.isWhole { return .printed }
        return .elsewhere(found.certain.map { String(decoding: $0.name, as: UTF8.self) })
    }

    /// True if alerts of this name are in the file, of one severity at least.
    func isPrinted(_ name: AlertName) -> Bool {
        audiences.contains { $0.name == name && place($0.name, $0.severity) == .printed }
    }

    /// The printed ones of which somebody is told by Rollcall too.
    var doubled: [AlertAudience] {
        audiences.filter { place($0.name, $0.severity) == .printed && !$0.receivers.isEmpty }
    }

    /// True if nobody at all hears of a feed that is missing.
    var isFeedUnsaid: Bool { !alerts.telemetryFeedDown.isEnabled }

    // MARK: - Labels

    /// The labels of an alert's settings that Prometheus can set.
    static func added(_ rule: AlertRules.Rule) -> [(name: String, value: String)] {
        texts(rule.labels).filter { !isOfPrometheus($0.name) }
    }

    /// Those that it cannot.
    static func left(_ rule: AlertRules.Rule) -> [String] {
        texts(rule.labels).map(\.name).filter(isOfPrometheus)
    }

    /// Labels as texts.
    static func texts(_ labels: [Label]) -> [(name: String, value: String)] {
        labels.map { label in
            (
                String(decoding: label.name, as: UTF8.self),
                String(decoding: label.value, as: UTF8.self)
            )
        }
    }

    private static func isOfPrometheus(_ name: String) -> Bool {
        ofPrometheus.contains(name) || name.hasPrefix("__")
    }

    // MARK: - Time

    /// The time for which somebody must be UNKNOWN to be silent: two scrapes at least.
    var unknownWindow: Milliseconds {
        max(policy.onDuty.degradedAfter, Milliseconds(2 * Self.interval.count))
    }

    /// The time within which people must have been ONLINE before a feed is suspected.
    var onlineWindow: Milliseconds {
        max(.seconds(180), whole(policy.feedStallAfter.count + 60_000))
    }

    /// The time for which Rollcall must have seen before a feed is suspected.
    var sightWindow: Milliseconds {
        whole(policy.feedStallAfter.count + Self.interval.count)
    }

    private func whole(_ milliseconds: Int64) -> Milliseconds {
        .seconds((milliseconds + 999) / 1000)
    }

    /// Twelve of the longest intervals at which anybody is to report, if a small fleet may be silent for
    /// longer than a feed may; nil if it never is (B3).
    var spacing: Milliseconds? {
        let longest = [policy.onDuty, policy.onMission]
            .flatMap { [$0.expected, $0.background.expected] }.max { $0.count < $1.count }
        let twelve = Milliseconds(12 * (longest?.count ?? 0))
        let isLonger = twelve.count > policy.feedStallAfter.count * Int64(policy.feedMinActive)
        return isLonger ? twelve : nil
    }

    /// The time without a leader that is no change of leaders any more.
    var leaderless: Milliseconds {
        max(.seconds(30), Milliseconds(3 * configuration.cluster.silence.count))
    }

    /// The shortest time for which an Alertmanager holds what Rollcall itself sends to it, without
    /// Rollcall (D9); nil if it sends to none.
    var heldByAlertmanager: Milliseconds? {
        policy.receivers.filter { $0.kind == .alertmanager }.map(\.resolveTimeout)
            .min { $0.count < $1.count }
    }

    // MARK: - Addresses

    /// The address of Rollcall's page before a view; empty if nobody said it.
    var page: String {
        (options.page ?? configuration.accessPolicy.externalURL).map { "\($0.text)/" } ?? ""
    }

    /// The address of a folder of runbooks, before the name of one.
    var runbooks: String { options.runbooks.map { "\($0.text)/" } ?? "runbooks/" }

    /// The rules with the addresses of their runbooks.
    func addressed(_ rules: [AlertRule]) -> [AlertRule] {
        rules.map { rule in
            var rule = rule
            rule.runbook = "\(runbooks)\(rule.name).md"
            return rule
        }
    }

    /// The regions that must always be staffed, each once.
    var covered: [String] {
        var seen: Set<[UInt8]> = []
        return policy.coverageRegions.filter { seen.insert($0).inserted }
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
