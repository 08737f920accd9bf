/// Facts about people, told by their phones with a batch or by a backend. Source: I9,
/// F15 to F17.
extension Engine {
    /// The time for which a duty state told by the backend wins over batches (F15).
    private static var dutyPrecedence: Milliseconds { .seconds(60) }

    /// Takes an item of facts that the backend knows.
    mutating func foldFacts(
        _ item: Item, _ list: ItemList, _ index: Int, _ number: Int, _ receipt: inout Receipt
    ) {
        let oldest = clock.wallNow - Self.agedAfter
        let reported = reportedAt(of: item) ?? clock.wallNow
        if reported < oldest { receipt.note(aged: index) }
        let instant = clock.reported(max(reported, oldest))
        receipt.accepted += 1
        edit(number) { engine, person in
            if item.kind == .rosterEntry {
                engine.liveness.endRetirement(&person, number)
            } else if item.duty != nil, person.isRetired,
                let at = engine.liveness.retired[number], instant >= at
            {
                engine.liveness.endRetirement(&person, number)
            }
            let old = engine.policy.thresholds(person)
            engine.applyFacts(item, list.bytes, &person, number, instant, sequence: nil)
            engine.settleFacts(&person, number, old: old)
        }
    }

    /// After facts changed: who is expected, and by which thresholds.
    mutating func settleFacts(
        _ person: inout Responder, _ number: Int,
        old: (degraded: Milliseconds, offline: Milliseconds)
    ) {
        let wasActive = person.isActive
        reconcile(&person, number)
        if wasActive && person.isActive { adjust(&person, number, old: old, .duty) }
    }

    /// Takes over every field that is newer than what we have (F15). `sequence` is nil for facts
    /// that the backend knows.
    mutating func applyFacts(
        _ item: Item, _ bytes: [UInt8], _ person: inout Responder, _ number: Int,
        _ instant: ObservedTime, sequence: Int64?
    ) {
        let time = FactTime(at: instant, by: sequence)
        let news =
            person.factTimes.hasOverflow
            ? person.factTimes.news(time, factOverflows[number]) : person.factTimes.news(time)
        var reported: FactSet = []
        if let duty = item.duty {
            let last = factOverflows.time(.duty, person.factTimes, number)
            let byBackend = factOverflows.time(.dutyByBackend, person.factTimes, number)
            let before = person.duty
            let degraded =
                person.promise > 0 ? policy.thresholds(person).degraded : Milliseconds(0)
            reported = Self.apply(
                duty, time, isByBackend: sequence == nil, to: &person, last, byBackend.at)
            // What was promised was promised for another duty (P5).
            if person.duty != before, person.promise > 0 {
                person.promise = 0
                keepCovered(person, number, by: degraded)
            }
        }
        func isNews(_ fact: FactSet) -> Bool {
            guard news.contains(fact) else { return false }
            reported.insert(fact)
            return true
        }
        if item.sharing != nil || item.pausedUntil != nil, isNews(.sharing) {
            liveness.share(item, &person, number, wall: clock.wallNow)
        }
        if let range = item.region, news.contains(.region) {
            note(.region, &reported, if: regions.give(bytes, range, to: &person.region))
        }
        if let range = item.circles, news.contains(.circles) {
            let isTaken =
                circles.isName(person.circles, bytes.span, range)
                || people.hasRoom(forCircles: bytes, range)
                    && circles.give(bytes, range, to: &person.circles)
            note(.circles, &reported, if: isTaken)
        }
        if let platform = item.platform, isNews(.platform) {
            person.platform = platform
        }
        if item.describesPhone, news.contains(.versions) {
            note(.versions, &reported, if: applyPhone(item, bytes, &person))
        }
        if let battery = item.battery, isNews(.battery) {
            person.battery = battery
        }
        if let telemetry = item.telemetry {
            if isMeasuring, telemetry.queueDepth != Telemetry.queueDepthUnknown {
                counters.queueDepth.observe(Int64(telemetry.queueDepth) * 1000)
            }
            if isNews(.telemetry) {
                person.telemetry = telemetry
            }
        }
        if let range = item.pushToken {
            nudges.takeToken(Array(bytes[range.indices]), person, number)
        }
        if let sound = item.nudgeSound { person.nudgeSound = sound }
        if !person.factTimes.report(reported, time) {
            var overflow = factOverflows[number]
            person.factTimes.report(reported, time, &overflow)
            factOverflows[number] = overflow
        }
    }

    /// Takes over versions and make of the phone; false if there was no room for one of the names.
    private mutating func applyPhone(
        _ item: Item, _ bytes: [UInt8], _ person: inout Responder
    ) -> Bool {
        var isTaken = true
        if let range = item.osVersion {
            isTaken = versions.give(bytes, range, to: &person.osVersion)
        }
        if let range = item.appVersion {
            isTaken = versions.give(bytes, range, to: &person.appVersion) && isTaken
        }
        if let range = item.manufacturer {
            isTaken = versions.give(bytes, range, to: &person.manufacturer) && isTaken
        }
        if let range = item.model {
            isTaken = versions.give(bytes, range, to: &person.model) && isTaken
        }
        return isTaken
    }

    /// Notes that a fact was told, or that there was no room for its name: then it is as if it had
    /// not been.
    private mutating func note(_ fact: FactSet, _ reported: inout FactSet, if isTaken: Bool) {
        if isTaken { reported.insert(fact) } else { namesRefused.insert(fact) }
    }

    /// A duty state told by the backend wins over one in batches received within 60 s after it
    /// (F15), in whichever order the two arrive. Returns what was told by it.
    ///
    /// It is given all it asks for: a method of the engine's, inlined into one that changes it, would
    /// have the whole engine copied with every batch.
    private static func apply(
        _ duty: DutyState, _ time: FactTime, isByBackend: Bool, to person: inout Responder,
        _ last: FactTime, _ byBackendAt: ObservedTime
    ) -> FactSet {
        let wasReported = last.at > .distantPast
        if isByBackend && time.at < byBackendAt { return [] }
        // Kept even if it does not count: blindness noticed later may bring it closer (B1).
        let kept: FactSet = isByBackend ? .dutyByBackend : []
        if !isByBackend, time.at - byBackendAt < Self.dutyPrecedence { return kept }
        if isByBackend && !person.isDutyByBackend && wasReported {
            guard last.at - time.at < Self.dutyPrecedence else { return kept }
        } else if isByBackend == person.isDutyByBackend || !wasReported {
            guard time.isNews(after: last) else { return kept }
        }
        if person.duty == .offDuty && duty.isOn { person.isForgotten = false }
        person.duty = duty
        person.isDutyByBackend = isByBackend
        return kept.union(.duty)
    }
}
