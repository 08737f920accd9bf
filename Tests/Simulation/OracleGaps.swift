extension Oracle {
    /// What is thought to have silenced a phone, in the order in which it is tried. Source: C1.
    enum Cause: String {
        case permissionDenied = "permission_denied"
        case locationServicesOff = "location_services_off"
        case noNetwork = "no_network"
        case batteryEmpty = "battery_empty"
        case lowPower = "low_power"
        case massGap = "mass_gap"
        case appSuspended = "app_suspended"
        case appTerminated = "app_terminated"
        case neverHeard = "never_heard"
        case unexplained
    }

    /// What a gap turned out to be, in the order in which it is tried. Source: C2.
    enum Verdict: String {
        case reinstalled
        case permissionDenied = "permission_denied"
        case locationServicesOff = "location_services_off"
        case network
        case appStopped = "app_stopped"
        case dutyEnded = "duty_ended"
        case unexplained
    }

    /// A lack of contact that is not over. Source: C1, F24.
    struct Gap {
        /// When it opened.
        let openedAt: Instant
        /// No batch came from anyone since it opened. Source: B3.
        var isSinceBatch = true
        /// Where the person was then.
        let region: String
        /// How many of that region had opened a gap within 60 s before, this one included.
        let peers: Int
        /// Installs begun before it opened.
        let installsBefore: Int
        /// The suspicion in force.
        var suspected = Cause.unexplained
        /// Whether it counts. Source: C1.
        var isCounted = false
        /// Once with many others, always with them.
        var isOfMass = false
    }

    /// A counted gap that contact has ended, and what was folded since. Source: C2, F26.
    struct Comeback {
        /// The gap as it ended.
        let gap: Gap
        /// When the verdict is due. It runs on while blind or down.
        let due: Instant
        /// The told instant of the closing contact.
        let returnedAt: Instant
        /// The newest contact known before it.
        let contactBefore: Instant?
        /// How often the phone was to report when it returned.
        let expected: Span
        /// What had been received before the closing item.
        let phonesBefore: Phones
        /// What batches have said since then, the closing one included.
        var heard: [Heard] = []
        /// Whether something was captured inside the gap.
        var hasInside = false
    }

    /// What one batch said, as far as a verdict asks for it, by the clocks of its fold.
    struct Heard {
        /// Its telemetry, if that was news.
        var telemetry: StoryTelemetry?
        /// Its accepted updates.
        var updates: [HeardUpdate] = []
    }

    /// An accepted update.
    struct HeardUpdate {
        /// Its sequence, or else when it was captured.
        let sequence: Int64
        /// The number of its install; 0 without a sequence.
        let install: Int
        /// The observed time of its capture; nil if that is no evidence: clamped, cached, untold.
        let captured: Span?
    }

    private static let verdictAfter: Span = 120_000
    /// `captured_at` may be this far ahead. Source: I6.
    static let skewMax: Span = 2_000
    private static let emptyBattery = 500
    private static let depthsMin = 3

    // MARK: - Opening

    /// A deadline or the server made somebody worse: their gap opens, or has reached OFFLINE.
    /// Source: C1, F24, F25.
    mutating func fallSilent(_ index: Int, from before: Status?, to status: Status) {
        if everybody[index].gap != nil {
            if status == .offline { reachOffline(index) }
            return
        }
        let leaves = before == .online && status > .online
        guard leaves || before == .unknown && status == .offline else { return }
        if everybody[index].comeback != nil { deliverVerdict(index) }
        openGap(index, isCounted: status == .offline)
    }

    private mutating func openGap(_ index: Int, isCounted: Bool) {
        let person = everybody[index]
        openings.append(Opening(at: now, name: person.name, region: person.region))
        let peers = peers(in: person.region)
        let isOfRegion = isMass(peers, in: person.region)
        var gap = Gap(
            openedAt: now, region: person.region, peers: peers,
            installsBefore: person.phones.begun)
        gap.isCounted = isCounted
        gap.isOfMass = isOfRegion || isFeedStalled
        gap.suspected = suspicion(of: person, isOfMass: gap.isOfMass)
        everybody[index].gap = gap
        printGap(index, "open", gap.suspected)
        if isOfRegion { evaluatePeers(in: gap.region) }
    }

    private mutating func reachOffline(_ index: Int) {
        guard var gap = everybody[index].gap else { return }
        gap.isCounted = true
        gap.isOfMass =
            gap.isOfMass || isFeedStalled || isMass(gap.peers, in: gap.region)
        gap.suspected = suspicion(of: everybody[index], isOfMass: gap.isOfMass)
        everybody[index].gap = gap
        printGap(index, "judged", gap.suspected)
    }

    /// Others turned out to be silent too: the gap is of a mass from now on. Source: F25.
    mutating func joinMass(_ index: Int) {
        guard var gap = everybody[index].gap, !gap.isOfMass else { return }
        gap.isOfMass = true
        let isNew = suspicion(of: everybody[index], isOfMass: true) == .massGap
        if isNew { gap.suspected = .massGap }
        everybody[index].gap = gap
        if isNew { printGap(index, "judged", .massGap) }
    }

    /// The first cause that holds on the last facts. Source: C1, F15, F25.
    private func suspicion(of person: Person, isOfMass: Bool) -> Cause {
        let told = person.telemetry
        if told.permissionStatus == "denied" { return .permissionDenied }
        if told.locationServices == false { return .locationServicesOff }
        if told.networkType == "none" || isQueueRising(person) { return .noNetwork }
        if let battery = person.battery, battery <= Self.emptyBattery { return .batteryEmpty }
        if told.powerMode == "low_power" { return .lowPower }
        if isOfMass { return .massGap }
        if ["background", "suspended"].contains(told.appState) { return .appSuspended }
        if ["foreground", "terminated"].contains(told.appState) { return .appTerminated }
        return person.isHeard ? .unexplained : .neverHeard
    }

    /// Whether the last three depths rise, by the order of facts. Source: F25, I2.
    private func isQueueRising(_ person: Person) -> Bool {
        var last: [(mention: Mention, depth: Int)] = []
        for told in person.depths {
            var place = last.endIndex
            while place > 0, !isNews(told.mention, after: last[place - 1].mention) { place -= 1 }
            last.insert((told.mention, told.depth), at: place)
            if last.count > Self.depthsMin { last.removeFirst() }
        }
        return last.count == Self.depthsMin && last[0].depth < last[1].depth
            && last[1].depth < last[2].depth
    }

    // MARK: - Closing

    /// Contact after which the status is ONLINE ends a gap; one that had not reached OFFLINE was
    /// mere lateness. Source: F24.
    mutating func endGap(
        _ index: Int, at: Instant, contactBefore: Instant?, phonesBefore: Phones
    ) {
        guard let gap = everybody[index].gap, everybody[index].status == .online else { return }
        everybody[index].gap = nil
        printGap(index, "closed", gap.suspected)
        guard gap.isCounted else { return }
        let profile = profile(index, under: policy) ?? policy.onDuty
        let expected = (Double(profile.expected) * everybody[index].factor).rounded()
        everybody[index].comeback = Comeback(
            gap: gap, due: now + Self.verdictAfter, returnedAt: at, contactBefore: contactBefore,
            expected: Span(expected), phonesBefore: phonesBefore)
    }

    /// Somebody who is not expected any more has no gap. Source: F24, C2.
    mutating func endGapWithDuty(_ index: Int) {
        guard let gap = everybody[index].gap else { return }
        everybody[index].gap = nil
        printGap(index, "closed", gap.suspected)
        if gap.isCounted { printGap(index, "verdict", gap.suspected, .dutyEnded) }
    }

    // MARK: - Verdict

    /// Notes what a batch said for the verdict that is to come. What lay inside the gap is decided
    /// by the observed time of this moment. Source: C2, F9, F26.
    mutating func note(_ heard: Heard, of index: Int) {
        guard var comeback = everybody[index].comeback else { return }
        comeback.heard.append(heard)
        let until = observed(comeback.returnedAt) - comeback.expected
        let since = comeback.contactBefore.map { observed($0) } ?? .min
        let captured = heard.updates.compactMap(\.captured)
        if captured.contains(where: { since < $0 && $0 < until }) { comeback.hasInside = true }
        everybody[index].comeback = comeback
    }

    /// When an update was captured, in observed time; nil if that proves nothing. Source: C2, F16.
    func evidence(_ update: StoryUpdate, of item: BatchItem) -> Span? {
        let receivedAt = min(item.receivedAt ?? wall, wall)
        guard let captured = update.capturedAt, !update.isCached,
            captured - receivedAt <= Self.skewMax
        else { return nil }
        return observed(instant(toldAs: captured))
    }

    /// Delivers the verdicts that have fallen due. Source: F5, F26.
    mutating func deliverVerdicts() {
        for index in everybody.indices {
            guard let comeback = everybody[index].comeback, comeback.due <= now else { continue }
            deliverVerdict(index)
        }
    }

    private mutating func deliverVerdict(_ index: Int) {
        guard let comeback = everybody[index].comeback else { return }
        everybody[index].comeback = nil
        printGap(index, "verdict", comeback.gap.suspected, verdict(on: comeback, of: index))
    }

    private func verdict(on comeback: Comeback, of index: Int) -> Verdict {
        if everybody[index].phones.begun > max(1, comeback.gap.installsBefore) {
            return .reinstalled
        }
        let heard = comeback.heard
        if heard.contains(where: { $0.telemetry?.permissionStatus == "denied" }) {
            return .permissionDenied
        }
        if heard.contains(where: { $0.telemetry?.locationServices == false }) {
            return .locationServicesOff
        }
        if comeback.hasInside { return .network }
        let goesOn = heard.flatMap(\.updates).contains { update in
            comeback.phonesBefore.highest(of: update.install).map { update.sequence > $0 } ?? false
        }
        return goesOn ? .appStopped : .unexplained
    }

    private mutating func printGap(
        _ index: Int, _ state: String, _ suspected: Cause, _ verdict: Verdict? = nil
    ) {
        decisions.append(
            .gap(
                at: wall, responderID: everybody[index].responderID, state: state,
                suspected: suspected.rawValue, verdict: verdict?.rawValue))
    }
}
