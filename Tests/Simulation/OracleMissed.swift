extension Oracle {
    /// The observed time from which on somebody OFFLINE is counted by ResponderOffline; nil of whom it does
    /// not mean. Source: R1.
    func missedFrom(_ index: Int) -> Span? {
        let person = everybody[index]
        let rules = policy.alerts
        let isOfDuty =
            switch person.duty {
            case .onDuty: rules.offlineDuties.contains("ON_DUTY")
            case .onMission: rules.offlineDuties.contains("ON_MISSION")
            case .offDuty, nil: false
            }
        guard person.status == .offline, rules.responderOffline.isEnabled, isOfDuty,
            rules.offlineRegions.isEmpty || rules.offlineRegions.contains(person.region)
        else { return nil }
        return observed(person.offlineAt) + rules.offlineFor
    }

    /// After a change, or when time has passed: who is counted stays so while they are OFFLINE, and each
    /// who leaves or comes back is news where it fires. Source: R1.
    mutating func followMissed(_ index: Int) {
        let before = everybody[index].missedIn
        let from = missedFrom(index)
        let isMissed = from.map { before != nil || $0 <= observed(now) } ?? false
        let after = isMissed ? everybody[index].region : nil
        guard after != before else { return }
        everybody[index].missedIn = after
        guard policy.alerts.responderOffline.isEnabled else { return }
        for region in [before, after] {
            guard let region else { continue }
            let id = AlertID(name: "ResponderOffline", label: "region", value: Name(region))
            tellings[id]?.changes += 1
        }
    }
}
