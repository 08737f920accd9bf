/// A pace gives the spacing of reports that is expected by the settings. Source: F11, P5.
extension Pace {
    /// Twelve times the mean spacing of batches that profiles and promises make one expect, without
    /// factors; at most the longest offline threshold among them, and that of ON_DUTY (F11).
    func spacing(_ policy: Policy) -> Milliseconds {
        var rate = 0.0
        var most = max(longest, policy.onDuty.offlineAfter)
        func add(_ count: Int, _ promising: Int, _ duty: DutyState, isBehind: Bool) {
            guard count > 0 else { return }
            let profile = policy.profile(duty, isBehind: isBehind)
            rate += Double(count - promising) / Double(profile.expected.count)
            most = max(most, profile.offlineAfter)
        }
        add(people.onDuty, promising.onDuty, .onDuty, isBehind: false)
        add(people.onMission, promising.onMission, .onMission, isBehind: false)
        add(people.onDutyBehind, promising.onDutyBehind, .onDuty, isBehind: true)
        add(people.onMissionBehind, promising.onMissionBehind, .onMission, isBehind: true)
        rate += Double(promised) / Double(Self.parts)
        guard rate > 0, let spacing = Int64(exactly: (12 / rate).rounded()) else { return most }
        return min(Milliseconds(spacing), most)
    }
}

extension PacePolicy {
    init(_ policy: Policy) {
        let expected = [DutyState.onDuty, .onMission].flatMap { duty in
            [false, true].map { policy.profile(duty, isBehind: $0).expected }
        }
        let promiseMost = [DutyState.onDuty, .onMission].map { policy.promiseMost($0) }
        self.init(expected: expected, promiseMost: promiseMost)
    }
}
