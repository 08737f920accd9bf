import RollcallBasis
import RollcallCore
import RollcallSupport

/// The standing of everything, in words: the worst thing first, then how it is elsewhere, then since when and
/// most likely why. The page, its title and the terminal begin with it. Source: V14.
///
/// It says what is true now, whether an alert fires or is silenced: an alert that goes on for a while
/// after its reason is over is none.
struct Sentence {
    /// The gravity of what it says.
    enum Level: String {
        /// Somebody must do something.
        case bad
        /// Some cannot be reached, or may soon not be.
        case late
        case good
        /// It cannot be known.
        case unknown
    }

    /// Regions that are named at most.
    private static let namesMax = 2

    private(set) var level = Level.good
    private(set) var headline = ""
    /// The standing apart from that; may be empty.
    private(set) var rest = ""
    /// Since when and most likely why; may be empty.
    private(set) var detail = ""
    /// Since when it is so; nil where that is not told.
    private(set) var since: Timestamp?
    /// The incident by the key that a pager knows; nil without one.
    private(set) var key: String?

    /// Of how many who are expected how many can be reached.
    let share: Share

    private let view: StateView
    private let isolatesNames: Bool
    private var engine: Engine { view.engine }

    /// The sentence of `view`; its names stand in isolates of direction if a browser is to show it.
    init(_ view: StateView, isolatesNames: Bool = false) {
        self.view = view
        self.isolatesNames = isolatesNames
        share = Self.share(view.engine)
        if describeBlindness() || describeDarkRegions() || describeRollcall() || describeRates() {
            return
        }
        describeCounts()
    }

    // MARK: - Not watching

    private mutating func describeBlindness() -> Bool {
        guard let onset = engine.clock.onset else { return false }
        level = .unknown
        headline = "Rollcall is not watching: who can be reached is not known."
        let last = Share(
            reachable: engine.aggregates.byStatus[Int(Status.online.rawValue)],
            expected: engine.aggregates.active)
        if last.expected > 0 { rest = "Last, \(last.words("could be reached"))." }
        since = engine.clock.wall(onset)
        let reasons = BlindReason.allCases.filter { engine.clock.open[Int($0.rawValue)] != nil }
            .map { GapWording.blindness("\($0.word)") }
        detail = sentence(lasting(), reasons.joined(separator: "; "))
        return true
    }

    // MARK: - Regions where nobody can be reached

    /// A region where nobody can be reached.
    private struct DarkRegion {
        let name: [UInt8]
        let expected: Int
        let isFiring: Bool
        let isSilenced: Bool

        /// True if this one is named before another: one that is not silenced, then one that fires, then
        /// the one with the most people.
        func isWorse(_ other: DarkRegion) -> Bool {
            let own = (isSilenced ? 1 : 0, isFiring ? 0 : 1, -expected)
            let others = (other.isSilenced ? 1 : 0, other.isFiring ? 0 : 1, -other.expected)
            return own != others ? own < others : name.lexicographicallyPrecedes(other.name)
        }
    }

    /// Regions of one kind: how many, and the worst of them.
    private struct DarkRegions {
        var count = 0
        var worst: [DarkRegion] = []

        mutating func add(_ region: DarkRegion) {
            count += 1
            let place = worst.firstIndex { region.isWorse($0) } ?? worst.count
            guard place < namesMax else { return }
            worst.insert(region, at: place)
            if worst.count > namesMax { worst.removeLast() }
        }

        func claim(_ claim: String, _ shown: ([UInt8]) -> String) -> String {
            let named = worst.map { shown($0.name) }
            let places =
                count > named.count
                ? "\(named.joined(separator: ", ")) and \((count - named.count).grouped) more"
                : named.joined(separator: " and ")
            return "\(claim) in \(places)."
        }
    }

    /// Of twenty thousand alerts only the worst are kept: this is done between two turns.
    private mutating func describeDarkRegions() -> Bool {
        let covered = Set(engine.policy.coverageRegions)
        var (unreachable, unstaffed) = (DarkRegions(), DarkRegions())
        var expectedThere = 0
        engine.alerting.board.forEach { key, alert in
            guard key.name == .noOnlineResponders, case .region(let name) = key.subject else {
                return
            }
            let number = engine.regions.known(name)
            let counts = number.map { engine.aggregates.counts(in: $0) } ?? [0, 0, 0, 0]
            let expected = counts.reduce(0, +)
            // Of an alert that goes on for a while the reason may be over.
            guard counts[Int(Status.online.rawValue)] == 0,
                expected > 0 || covered.contains(name)
            else { return }
            expectedThere += expected
            let region = DarkRegion(
                name: name, expected: expected, isFiring: alert.state == .firing,
                isSilenced: Self.isSilenced(alert))
            if expected > 0 { unreachable.add(region) } else { unstaffed.add(region) }
        }
        let isUnreachable = unreachable.count > 0
        guard let first = isUnreachable ? unreachable.worst.first : unstaffed.worst.first,
            let alert = engine.alerting.board[
                AlertKey(name: .noOnlineResponders, subject: .region(first.name))]
        else { return false }
        level = first.isSilenced ? .late : .bad
        headline =
            isUnreachable
            ? unreachable.claim("Nobody can be reached", shown)
            : unstaffed.claim("Nobody is on duty", shown)
        var parts: [String] = []
        if isUnreachable, unstaffed.count > 0 {
            parts.append(unstaffed.claim("Nobody is on duty", shown))
        }
        let share = share.apart(from: expectedThere)
        if share.expected > 0 { parts.append("Elsewhere \(share.words()).") }
        rest = parts.joined(separator: " ")
        since = alert.activeAt
        key = incidentKey(alert)
        let place = unreachable.count > 1 ? " in \(shown(first.name))" : ""
        let silent =
            isUnreachable
            ? "\(alert.stats.count.grouped) of \(first.expected.grouped) \(first.expected == 1 ? "is" : "are") out of "
                + "contact\(place)" : ""
        detail = [
            sentence(lasting(), silent),
            isUnreachable ? likely(alert, isOneOfSeveral: unreachable.count > 1) : "",
            seenTo(alert, unreachable.count + unstaffed.count > 1 ? first.name : nil),
            first.isSilenced ? "Alerts about it are silenced." : "",
        ].filter { !$0.isEmpty }.joined(separator: " ")
        return true
    }

    private static func isSilenced(_ alert: borrowing Alert) -> Bool {
        alert.notified.isEmpty
            && alert.muted.contains { if case .silence = $0.reason { true } else { false } }
    }

    // MARK: - Other alerts

    private mutating func describeRollcall() -> Bool {
        let alarm = view.store.alarms.first { $0.alertState == .firing }
        if let alarm {
            level = .bad
            since = alarm.startsAt
            headline = AlertText(alarm.subject.member) { _ in nil }.claim + "."
        } else {
            let known = worst([.cellDark, .fleetDark, .rollcallUnsteady, .telemetryFeedDown])
            guard let (name, alert) = known else { return false }
            level = alert.severity == .critical ? .bad : .late
            since = alert.startsAt
            key = incidentKey(alert)
            headline = text(name, alert).claim + "."
            detail = seenTo(alert)
        }
        if share.expected > 0 { rest = capitalised("\(share.words()).") }
        detail = [sentence(lasting()), detail].filter { !$0.isEmpty }.joined(separator: " ")
        return true
    }

    /// The rate of those who cannot be reached, with the numbers of now.
    private mutating func describeRates() -> Bool {
        guard let (name, alert) = worst([.highOfflineRate, .responderFlapping]) else {
            return false
        }
        level = alert.severity == .info ? .late : .bad
        headline = text(name, alert).claim + "."
        since = alert.startsAt
        key = incidentKey(alert)
        rest = capitalised("\(share.words()).")
        let why = name == .highOfflineRate ? likely(alert) : ""
        detail = [sentence(lasting()), why, seenTo(alert)].filter { !$0.isEmpty }.joined(
            separator: " ")
        return true
    }

    /// Returns the gravest alert of some names that fires: in their order, by severity, then the oldest.
    private func worst(_ names: [AlertName]) -> (name: AlertName, alert: Alert)? {
        var worst: (rank: (Int, UInt8, Int64), key: AlertKey)?
        engine.alerting.board.forEach { key, alert in
            guard alert.state == .firing, let place = names.firstIndex(of: key.name) else { return }
            let rank = (place, alert.severity.rawValue, alert.incident)
            if worst.map({ rank < $0.rank }) ?? true { worst = (rank, key) }
        }
        return worst.flatMap { found in
            engine.alerting.board[found.key].map { (found.key.name, $0) }
        }
    }

    // MARK: - Calm

    private mutating func describeCounts() {
        let people = zip(engine.aggregates.byStatus, engine.unlit.byStatus).map { $0 - $1 }
        let silent = people[Int(Status.offline.rawValue)]
        let late = people[Int(Status.degraded.rawValue)]
        guard share.expected > 0 else {
            headline =
                engine.counters.lastBatchAt == nil
                ? "Nothing has come yet." : "Nobody is expected now."
            return
        }
        level =
            silent > 0 || share.isAtMost || share.reachable < share.expected - late ? .late : .good
        headline =
            silent > 0
            ? "\(silent.grouped) of \(share.expected.grouped) cannot be reached."
            : capitalised(
                share.reachable == share.expected && !share.isAtMost
                    ? "All \(share.expected.grouped) can be reached." : "\(share.words()).")
        var parts: [String] = []
        if silent > 0 {
            parts.append((share.isAtMost ? "at most " : "") + "\(share.reachable.grouped) can")
        }
        if late > 0 { parts.append("\(late.grouped) \(late == 1 ? "is" : "are") late") }
        if silent > 0, share.unheard > 0 { parts.append(share.unheardWords) }
        // What the headline says already is not said twice.
        let known = silent > 0 ? 0 : share.unlit
        let unsure = share.expected - silent - late - share.reachable - share.unheard - known
        if unsure > 0 { parts.append("of \(unsure.grouped) nothing is known yet") }
        rest = parts.isEmpty ? "" : capitalised(parts.joined(separator: ", ")) + "."
        let causes = GapCause.allCases.filter { engine.aggregates.openGaps.count($0) > 0 }
            .sorted { engine.aggregates.openGaps.count($0) > engine.aggregates.openGaps.count($1) }
            .prefix(3).map { "\(engine.aggregates.openGaps.count($0).grouped) \(Self.named($0))" }
        if silent > 0, !causes.isEmpty {
            detail = "Most likely: \(causes.joined(separator: ", "))."
        }
    }

    // MARK: - Words

    private func text(_ name: AlertName, _ alert: Alert) -> AlertText {
        var member = NoticeMember()
        member.name = name
        member.labels = alert.labels
        member.facts = alert.presentFacts
        member.facts.stats = alert.stats
        var text = AlertText(member) { _ in nil }
        text.isolatesNames = isolatesNames
        return text
    }

    private func shown(_ name: [UInt8]) -> String {
        isolatesNames ? AlertText.isolated(name) : AlertText.short(name)
    }

    private func incidentKey(_ alert: Alert) -> String? {
        alert.incident > 0 ? IncidentKey.text(view.storeNumber, alert.incident) : nil
    }

    /// In whole minutes: who reads it by the stream is told again when there is something new.
    private func lasting() -> String {
        guard let since else { return "" }
        let minutes = max(0, (engine.clock.wallNow - since).count / 60_000)
        let (days, hours) = (minutes / 1440, minutes / 60)
        let span =
            switch minutes {
            case 0: "less than a minute"
            case 1..<60: "\(minutes) min"
            case 60..<1440: minutes % 60 == 0 ? "\(hours) h" : "\(hours) h \(minutes % 60) min"
            default: hours % 24 == 0 ? "\(days) d" : "\(days) d \(hours % 24) h"
            }
        return "For \(span)"
    }

    private func sentence(_ parts: String...) -> String {
        let words = parts.filter { !$0.isEmpty }.joined(separator: "; ")
        return words.isEmpty ? "" : "\(words)."
    }

    /// Returns why, if one cause is suspected of most of those whom the alert is about.
    private func likely(_ alert: Alert, isOneOfSeveral: Bool = false) -> String {
        guard let cause = alert.facts.causes.first, cause.count * 2 > alert.facts.stats.count
        else { return "" }
        let words =
            switch cause.cause {
            case .massGap: "the network there, not the people: they fell silent together"
            case .noNetwork: "no network, as the phones had said"
            case .permissionDenied: "the location permission, which was taken away"
            case .locationServicesOff: "location services, which were switched off"
            case .batteryEmpty: "empty batteries"
            case .lowPower: "phones that save power"
            case .appSuspended: "apps that the phones' systems suspended in the background"
            case .appTerminated: "apps that ended"
            case .neverHeard: "phones that never reported since their people are expected"
            case .unexplained: ""
            }
        if words.isEmpty { return "Nothing that the phones had said explains it." }
        return isOneOfSeveral ? "There it is most likely \(words)." : "Most likely \(words)."
    }

    private static func named(_ cause: GapCause) -> String {
        "\(cause.word)".split(separator: "_").joined(separator: " ")
    }

    /// Returns who sees to an alert; of several regions also to which, for nobody may see to the others.
    private func seenTo(_ alert: Alert, _ region: [UInt8]? = nil) -> String {
        let incidents = [alert.incident] + alert.notified.map(\.storm)
        let takes = incidents.compactMap {
            engine.alerting.notifications.take(of: $0, at: engine.clock.now)
        }
        guard let take = takes.max(by: { $0.until < $1.until }) else { return "" }
        return "\(shown(take.by)) sees to \(region.map(shown) ?? "it")."
    }

    private func capitalised(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst()
    }
}
