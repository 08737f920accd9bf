extension Oracle {
    private static let backendWins: Span = 60_000
    private static let shrinkMin = 5
    private static let partsApart: Span = 600_000

    /// Takes what the backend knows of a person. Source: I11, F15, F17.
    mutating func takeFacts(_ item: FactItem, inRoster: Bool = false) {
        let name = Name(item.responderID)
        if erased.contains(name) {
            if inRoster { return }
            erased.remove(name)
        }
        let index = enrolled(item.responderID)
        let mention = Mention(
            at: instant(toldAs: item.at.map { max($0, wall - Self.agedAfter) }), sequence: nil)
        let old = thresholdsInForce(index)
        if let retiredAt = everybody[index].retiredAt {
            let isHiredAgain =
                Duty(item.dutyState) != nil && observed(mention.at) >= observed(retiredAt)
            if inRoster || isHiredAgain { everybody[index].retiredAt = nil }
        }
        learnDuty(item.dutyState, byBackend: mention, of: index)
        learnSharing(item.sharing, until: item.pausedUntil, mention, of: index)
        learnRegion(item.region, mention, of: index)
        learnCircles(item.circles, mention, of: index)
        learnPlatform(item.platform, mention, of: index)
        learnToken(item.pushToken, of: index)
        reconsider(index, before: old)
        followMissed(index)
        lookAtNudges(about: index)
    }

    /// Takes a roster or a part of one, unless it would retire too many; who is in no part is
    /// retired with the last one. Source: I11, F17.
    mutating func takeRoster(_ items: [FactItem], _ note: RosterNote) {
        giveUpRosters()
        if rosters.contains(where: { $0.id == note.id && $0.isOver }) { return }
        var named = Set(items.map { Name($0.responderID) }).subtracting(erased)
        if note.hasMore {
            if named.isEmpty { return }
            hasInput = true
            for item in items { takeFacts(item, inRoster: true) }
            return notePart(note.id, named)
        }
        if let earlier = rosters.first(where: { $0.id == note.id }) {
            named.formUnion(earlier.named)
        }
        if named.isEmpty, !items.isEmpty { return }
        let active = everybody.filter { $0.status != nil }
        let lost = active.filter { !named.contains($0.name) }.count
        if lost > Self.shrinkMin, 2 * lost > active.count, !note.allowsShrink { return }
        hasInput = true
        for item in items { takeFacts(item, inRoster: true) }
        endRoster(note.id)
        for index in everybody.indices where !named.contains(everybody[index].name) {
            if everybody[index].retiredAt == nil { everybody[index].retiredAt = now }
            reconsider(index)
            followMissed(index)
            lookAtNudges(about: index)
        }
    }

    /// Remembers who stood in a part that is not the last. At most 8 rosters are open.
    private mutating func notePart(_ id: String, _ named: Set<Name>) {
        var roster = rosters.first { $0.id == id } ?? PartlyRoster(id: id, heardAt: now)
        roster.named.formUnion(named)
        roster.heardAt = now
        if let place = rosters.firstIndex(where: { $0.id == id }) {
            rosters[place] = roster
        } else {
            let open = rosters.indices.filter { !rosters[$0].isOver }
            if open.count == 8 { endRoster(rosters[open[0]].id) }
            rosters.append(roster)
        }
    }

    private mutating func endRoster(_ id: String, at: Instant? = nil) {
        if id.isEmpty { return }
        rosters.removeAll { $0.id == id }
        rosters.append(PartlyRoster(id: id, heardAt: at ?? now, isOver: true))
    }

    /// A roster of which nothing comes for 10 minutes is given up; one that is over is remembered
    /// for as long.
    private mutating func giveUpRosters() {
        for roster in rosters where !roster.isOver && now - roster.heardAt >= Self.partsApart {
            endRoster(roster.id, at: roster.heardAt + Self.partsApart)
        }
        rosters.removeAll { $0.isOver && now - $0.heardAt >= Self.partsApart }
    }

    /// Forgets a person and refuses the id until `POST /v1/responders` names it. Source: F17.
    mutating func erase(_ responderID: String) {
        let name = Name(responderID)
        everybody.removeAll { $0.name == name }
        declarations.removeAll { $0.name == name }
        openings.removeAll { $0.name == name }
        // Whoever is named again is somebody new to a roster that is still coming.
        for index in rosters.indices { rosters[index].named.remove(name) }
        erased.insert(name)
        lookAtNudges()
    }

    /// Takes a duty state that a batch told: the backend's wins for 60 s. Source: F15.
    mutating func learnDuty(_ text: String?, inBatch mention: Mention, of index: Int) {
        guard let duty = Duty(text), isNews(mention, after: everybody[index].dutyByBatch) else {
            return
        }
        everybody[index].dutyByBatch = mention
        if let backend = everybody[index].dutyByBackend,
            observed(mention.at) - observed(backend.at) < Self.backendWins
        {
            return
        }
        setDuty(duty, of: index)
    }

    /// Takes sharing and its pause as one fact; a future `pausedUntil` alone means paused, a past
    /// one active. Source: F15, F23.
    mutating func learnSharing(
        _ text: String?, until: Wall?, _ mention: Mention, of index: Int
    ) {
        let isActive = text == "active"
        guard isActive || text == "paused" || until != nil,
            isNews(mention, after: everybody[index].sharingTold)
        else { return }
        everybody[index].sharingTold = mention
        everybody[index].isPaused = !isActive && (until ?? .max) > wall
        if let until, everybody[index].isPaused { everybody[index].pausedUntil = until }
        if !everybody[index].isPaused { everybody[index].pausedUntil = nil }
    }

    /// Takes the platform. Source: F15.
    mutating func learnPlatform(_ platform: String?, _ mention: Mention, of index: Int) {
        guard let platform, isNews(mention, after: everybody[index].platformTold) else { return }
        everybody[index].platformTold = mention
        everybody[index].platform = platform
    }

    /// Takes the region. Source: F15.
    mutating func learnRegion(_ region: String?, _ mention: Mention, of index: Int) {
        guard let region, isNews(mention, after: everybody[index].regionTold) else { return }
        everybody[index].regionTold = mention
        everybody[index].region = region
    }

    /// Takes the circles, as a whole. Source: F15, F33.
    mutating func learnCircles(_ circles: [String]?, _ mention: Mention, of index: Int) {
        guard let circles, isNews(mention, after: everybody[index].circlesTold) else { return }
        everybody[index].circlesTold = mention
        everybody[index].circles = Set(circles)
    }

    /// Takes the battery. Source: F15.
    mutating func learnBattery(_ battery: Int?, _ mention: Mention, of index: Int) {
        guard let battery, isNews(mention, after: everybody[index].batteryTold) else { return }
        everybody[index].batteryTold = mention
        everybody[index].battery = battery
    }

    /// Takes a telemetry object as a whole and tells whether it was news; a depth is remembered in
    /// any case. Source: F15, F25.
    mutating func learnTelemetry(
        _ telemetry: StoryTelemetry, _ mention: Mention, of index: Int
    ) -> Bool {
        guard telemetry.isSent else { return false }
        if let depth = telemetry.queueDepth { everybody[index].depths.append((mention, depth)) }
        guard isNews(mention, after: everybody[index].telemetryTold) else { return false }
        everybody[index].telemetryTold = mention
        everybody[index].telemetry = telemetry
        return true
    }

    private mutating func learnDuty(_ text: String?, byBackend mention: Mention, of index: Int) {
        guard let duty = Duty(text), isNews(mention, after: everybody[index].dutyByBackend) else {
            return
        }
        everybody[index].dutyByBackend = mention
        if let batch = everybody[index].dutyByBatch,
            observed(batch.at) - observed(mention.at) >= Self.backendWins
        {
            return
        }
        setDuty(duty, of: index)
    }

    /// Sets the duty; one that comes from OFF_DUTY brings back who was forgotten. Source: F22.
    private mutating func setDuty(_ duty: Duty, of index: Int) {
        if everybody[index].duty == .offDuty, duty != .offDuty {
            everybody[index].isForgotten = false
        }
        // What was promised was promised for another duty (P5).
        if everybody[index].duty != duty { everybody[index].promise = 0 }
        everybody[index].duty = duty
    }

    /// Whether a mention is newer than the last: by told instant, then by sequence, then by
    /// arrival. Source: I2, F9, F15.
    func isNews(_ mention: Mention, after last: Mention?) -> Bool {
        guard let last else { return true }
        let new = observed(mention.at)
        let old = observed(last.at)
        if new != old { return new > old }
        guard let sequence = mention.sequence, let before = last.sequence else { return true }
        return sequence >= before
    }
}

/// A roster that comes in parts. Source: I11.
struct PartlyRoster {
    var id: String
    /// Who stood in the parts so far.
    var named: Set<Oracle.Name> = []
    /// When its last part came, or when it ended.
    var heardAt: Oracle.Instant
    /// Complete, or given up.
    var isOver = false
}
