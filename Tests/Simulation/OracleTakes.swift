/// Who sees to an incident: until that ends nobody is told of it again, and nobody further. Source: R2.
extension Oracle {
    /// Somebody sees to an incident.
    struct Take {
        /// In running time: a step of the wall does not move it.
        let ends: Instant
    }

    /// A take holds for so long at most.
    private static let takeMax: Span = 12 * 3_600_000

    /// Takes a take, if there is something to be taken and its end lies ahead.
    mutating func begin(_ take: StoryTake) {
        if let fault = takeFault(take.incident) { return answer(take.incident, fault) }
        guard take.until > wall else { return answer(take.incident, "over") }
        if isTaken(take.incident) { marks.insert("a take replaces another") }
        let until = min(take.until, wall + Self.takeMax)
        if until < take.until { marks.insert("a take is cut to twelve hours") }
        takes[take.incident] = Take(ends: now + until - wall)
        forgetWhyHeld(take.incident)
        answer(take.incident, "taken", until: until)
    }

    /// Nobody sees to an incident any more.
    mutating func giveBack(_ incident: Int64) {
        if let fault = takeFault(incident) { return answer(incident, fault) }
        let wasTaken = isTaken(incident)
        takes[incident] = nil
        answer(incident, wasTaken ? "given back" : "untaken")
    }

    /// True if somebody sees to an alert that fires.
    func isTaken(_ telling: Telling) -> Bool { isTaken(telling.incident) }

    private func isTaken(_ incident: Int64) -> Bool {
        takes[incident].map { $0.ends > now } ?? false
    }

    /// Whether a receiver is not told now of an alert that they would otherwise be told of: again, because
    /// somebody has it, or at all, because somebody has it or may yet take it in time. Who is told of
    /// everything at once, and never was, is told all the same.
    mutating func isHeld(_ telling: Telling, _ receiver: StoryReceiver, isTold: Bool) -> Bool {
        if !isTold {
            guard receiver.escalateAfter > 0 else { return false }
            if now < telling.firedAt + receiver.escalateAfter { return true }
        }
        guard isTaken(telling) else { return false }
        marks.insert(isTold ? "a take holds a repeat" : "a take holds an escalation")
        return true
    }

    /// How many incidents somebody sees to now.
    var takesInForce: Int { takes.keys.count { isTaken($0) } }

    /// When time alone lets somebody be told because nobody has taken it.
    func takeInstants() -> [Instant] {
        let escalations = tellings.values.flatMap { telling in
            policy.receivers.filter { $0.escalateAfter > 0 }
                .map { telling.firedAt + $0.escalateAfter }
        }
        return escalations + takes.values.map(\.ends)
    }

    /// Lets go of takes that have come to their ends, and of those whose incident has.
    mutating func endTakes() {
        for telling in alertsOver.values where takes.removeValue(forKey: telling.incident) != nil {
            marks.insert("what is taken is over")
        }
        for (incident, take) in takes where take.ends <= now {
            takes[incident] = nil
            marks.insert("a take ends by itself")
        }
    }

    /// Why an incident can neither be taken nor given back.
    private func takeFault(_ incident: Int64) -> String? {
        guard let id = tellings.first(where: { $0.value.incident == incident })?.key else {
            return (1...max(1, incidentsBegun)).contains(incident) && incidentsBegun > 0
                ? "resolved" : "unknown"
        }
        return id.name == "Watchdog" ? "watchdog" : nil
    }

    /// Whoever is told only of what nobody has need not be told now, whatever speaks against it besides:
    /// that is written anew once they must.
    private mutating func forgetWhyHeld(_ incident: Int64) {
        for (id, telling) in tellings where telling.incident == incident {
            for receiver in policy.receivers
            where receiver.escalateAfter > 0
                || !receiver.matchers.allSatisfy({ $0.fits(telling.labels) })
            {
                tellings[id]?.reasons[receiver.name] = nil
            }
        }
    }

    private mutating func answer(_ incident: Int64, _ answer: String, until: Wall? = nil) {
        decisions.append(.take(at: wall, incident: incident, answer: answer, until: until))
        marks.insert("take: \(answer)")
    }
}

extension StoryReceiver {
    /// True if it names the watchdog; nobody else is told of that. Source: A5.
    var listensForWatchdog: Bool {
        matchers.contains { $0.label == "alertname" && $0.value == "Watchdog" && $0.isEqual }
    }
}
