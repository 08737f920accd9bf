import RollcallTools

/// The settings of a world, and who changes them.
extension StoryPolicy {
    /// Draws settings; `expectedMin` keeps a big fleet from reporting too often for one story.
    static func drawn(
        _ dice: inout Dice, _ faults: WorldFaults, expectedMin: Int64
    ) -> StoryPolicy {
        var policy = StoryPolicy()
        switch dice.number(0...3) {
        case 0: break
        case 1:
            policy.onDuty = .drawn(&dice, expected: 1000...2000, min: expectedMin)
            policy.onMission = .drawn(&dice, expected: 1000...2000, min: expectedMin)
        case 2:
            policy.onDuty = .drawn(&dice, expected: 2000...30_000, min: expectedMin)
            policy.onMission = .drawn(&dice, expected: 2000...15_000, min: expectedMin)
        default:
            let slack = Profile.drawn(&dice, expected: 20_000...60_000, min: expectedMin)
            let tight = Profile.drawn(&dice, expected: 1000...2000, min: expectedMin)
            policy.onDuty = slack
            policy.onMission = tight
            if dice.chance(300) { swap(&policy.onDuty, &policy.onMission) }
        }
        if faults.has(.factors) { policy.drawFactors(&dice) }
        if faults.has(.cadence) { policy.drawCadence(&dice) }
        if faults.has(.observe) { policy.adoptsServerTransitions = dice.chance(500) }
        if faults.has(.forget) { policy.drawForgetting(&dice) }
        policy.drawFeed(&dice)
        if dice.chance(850) { policy.alerts = .drawn(&dice, policy) }
        if dice.chance(500) { policy.drawCoverage(&dice) }
        if faults.usesWholeSeconds {
            policy.onDuty.roundToSeconds()
            policy.onMission.roundToSeconds()
            policy.alerts.roundToSeconds()
        }
        policy.keepPatientBehind()
        return policy
    }

    /// The longest that anybody can be silent and not OFFLINE, without factors.
    var patience: Int64 {
        [
            onDuty.offlineAfter, onMission.offlineAfter, onDutyBehind?.offlineAfter ?? 0,
            onMissionBehind?.offlineAfter ?? 0, min(promiseMax, Phone.promiseMax * 3000),
            min(missionPromiseMax, Phone.promiseMax * 3000),
        ].max() ?? 0
    }

    /// Some phones have other thresholds behind, and some are believed what they promise. Source: P5.
    fileprivate mutating func drawCadence(_ dice: inout Dice) {
        let tenths: [Int64] = [10, 11, 15, 30, 60]
        onDutyBehind = dice.chance(600) ? onDuty.scaled(dice.pick(tenths), min: 1) : nil
        onMissionBehind = dice.chance(400) ? onMission.scaled(dice.pick(tenths), min: 1) : nil
        promiseMax = dice.pick([0, 2, 3000, 20_000, 90_001, 10_800_000])
        missionPromiseMax = dice.pick([0, 0, 0, 3000, 30_000, 600_000])
    }

    /// The background is never stricter. Source: P5.
    fileprivate mutating func keepPatientBehind() {
        onDutyBehind = onDutyBehind?.noStricter(than: onDuty)
        onMissionBehind = onMissionBehind?.noStricter(than: onMission)
    }

    /// The slowest that a threshold can become by factors.
    var factorMax: Double {
        max(1, lowPowerFactor) * max(1, iosFactor, androidFactor)
    }

    /// The fastest that a threshold can become by factors.
    var factorMin: Double {
        min(1, lowPowerFactor) * min(1, iosFactor, androidFactor)
    }

    /// The profile of a duty state; that of ON_DUTY for all but ON_MISSION.
    func profile(_ duty: String) -> Profile { duty == "ON_MISSION" ? onMission : onDuty }

    fileprivate mutating func drawFactors(_ dice: inout Dice) {
        lowPowerFactor = dice.pick([1, 1.25, 1.5, 2, 3, 1.1, 0.75])
        iosFactor = dice.pick([1, 1, 1.5, 1.3, 2])
        androidFactor = dice.pick([1, 1, 1.25, 0.75])
    }

    /// Small fleets suspect a stall too, in some worlds (B3).
    fileprivate mutating func drawFeed(_ dice: inout Dice) {
        feedMinActive = dice.pick([1, 2, 3, 3, 20])
        feedStallAfter = dice.pick([1000, 2000, 5000, 20_000, 45_000])
    }

    /// Regions where nobody works in some stories are among them.
    fileprivate mutating func drawCoverage(_ dice: inout Dice) {
        coverage = ["default", "north", "south", "west"].filter { _ in dice.chance(300) }
    }

    fileprivate mutating func drawForgetting(_ dice: inout Dice) {
        let longest = max(onDuty.offlineAfter, onMission.offlineAfter)
        forgetAfter = dice.pick([
            1000, longest / 2 + 1, longest, longest * 3, 60_000, 3_600_000, 604_800_000,
            604_800_000,
        ])
    }
}

extension StoryPolicy.Profile {
    /// Draws thresholds above an expected interval from `range`, at least `min`.
    fileprivate static func drawn(
        _ dice: inout Dice, expected range: ClosedRange<Int64>, min least: Int64
    ) -> Self {
        let expected = max(dice.number(range), least)
        let factor: Int64 = dice.pick([10, 15, 15, 20, 40])
        let degraded = expected * factor / 10
        let excess: Int64 = dice.pick([1, 5, 10, 10, 20, 40])
        let offline = degraded + max(1, degraded * excess / 10)
        return Self(expected: expected, degradedAfter: degraded, offlineAfter: offline)
    }

    fileprivate func noStricter(than profile: Self) -> Self {
        let expected = max(expected, profile.expected)
        let degraded = max(degradedAfter, profile.degradedAfter, expected)
        return Self(
            expected: expected, degradedAfter: degraded,
            offlineAfter: max(offlineAfter, profile.offlineAfter, degraded + 1))
    }

    fileprivate mutating func roundToSeconds() {
        expected = (expected + 999) / 1000 * 1000
        degradedAfter = max(expected, (degradedAfter + 999) / 1000 * 1000)
        offlineAfter = max(degradedAfter + 1000, (offlineAfter + 999) / 1000 * 1000)
    }

    /// The same, `tenths` tenths as long, but never below `least`.
    fileprivate func scaled(_ tenths: Int64, min least: Int64) -> Self {
        let expected = max(least, self.expected * tenths / 10)
        let degraded = max(expected, degradedAfter * tenths / 10)
        return Self(
            expected: expected, degradedAfter: degraded,
            offlineAfter: max(degraded + 1, offlineAfter * tenths / 10))
    }
}

extension World {
    /// The operator changes the settings. Source: L6, F19.
    mutating func changePolicy() {
        var new = policy
        switch dice.number(0...5) {
        case 0:
            new = .drawn(&dice, faults, expectedMin: expectedMin)
            (new.nudges, new.receivers) = (policy.nudges, policy.receivers)
            mark("policy drawn anew")
        case 1, 2:
            let tenths: Int64 = dice.pick([3, 5, 7, 9])
            new.onDuty = new.onDuty.scaled(tenths, min: expectedMin)
            if dice.chance(600) { new.onMission = new.onMission.scaled(tenths, min: expectedMin) }
            mark("policy stricter")
        case 3, 4:
            let tenths: Int64 = dice.pick([11, 15, 20])
            if dice.chance(600) { new.onDuty = new.onDuty.scaled(tenths, min: expectedMin) }
            new.onMission = new.onMission.scaled(tenths, min: expectedMin)
            mark("policy looser")
        default:
            swap(&new.onDuty, &new.onMission)
            mark("policy swapped")
        }
        if faults.has(.factors), dice.chance(500) {
            new.drawFactors(&dice)
            mark("factors changed")
        }
        if faults.has(.cadence), dice.chance(500) {
            new.drawCadence(&dice)
            mark("cadence changed")
        }
        if faults.has(.observe), dice.chance(500) {
            new.adoptsServerTransitions.toggle()
            mark("observe toggled")
        }
        if faults.has(.forget), dice.chance(500) { new.drawForgetting(&dice) }
        if dice.chance(250) {
            new.drawFeed(&dice)
            mark("feed settings changed")
        }
        if faults.has(.rules), dice.chance(500) { changeRules(of: &new) }
        // Twice as long again and again would never end.
        for profile in [new.onDuty, new.onMission] where profile.offlineAfter > 900_000 {
            new = StoryPolicy()
            (new.nudges, new.receivers) = (policy.nudges, policy.receivers)
        }
        if faults.usesWholeSeconds {
            new.onDuty.roundToSeconds()
            new.onMission.roundToSeconds()
            new.alerts.roundToSeconds()
        }
        new.keepPatientBehind()
        guard isUp else { return }
        emit(.policy(new))
    }

    /// The operator changes when alerts fire, and nothing else. Source: A1.
    mutating func changeRules() {
        var new = policy
        changeRules(of: &new)
        if faults.usesWholeSeconds { new.alerts.roundToSeconds() }
        guard isUp else { return }
        if dice.chance(300) { peers() }
        emit(.policy(new))
    }

    private mutating func changeRules(of policy: inout StoryPolicy) {
        for part in 0...3 where dice.chance(400) {
            policy.alerts.draw(part, &dice, policy)
            mark("alert rules changed")
        }
        if dice.chance(250) {
            policy.drawCoverage(&dice)
            mark("coverage changed")
        }
        guard dice.chance(250) else { return }
        policy.alerts.noOnlineResponders.isEnabled.toggle()
        policy.alerts.highOfflineRate.isEnabled.toggle()
        mark("alerts switched on or off")
    }
}
