/// The policy says when contact is expected of a person, and from when on they are late: the one
/// place where profile, app state, factors and promise come together. Source: L4, F19, P5.
///
/// Inlined, all of it: a call copies all of the settings, with every batch.
extension Policy {
    /// The profile of a duty state; ON_DUTY's for those who are not on.
    @inline(__always)
    package func profile(_ duty: DutyState) -> Profile { duty == .onMission ? onMission : onDuty }

    /// The profile that is in force for whoever has a duty state, and the app before them or not.
    @inline(__always)
    package func profile(_ duty: DutyState, isBehind: Bool) -> Profile {
        var profile = profile(duty)
        guard isBehind, profile.background.isSet else { return profile }
        profile.expected = profile.background.expected
        profile.degradedAfter = profile.background.degradedAfter
        profile.offlineAfter = profile.background.offlineAfter
        return profile
    }

    /// The profile in force for a person, without factors and promise.
    @inline(__always)
    package func profile(_ person: Responder) -> Profile {
        profile(person.duty, isBehind: person.isBehind)
    }

    /// The thresholds in force for a person: those of the profile with its factors, as of the last
    /// contact, or what the phone promised if that is longer.
    @inline(__always)
    package func thresholds(
        _ person: Responder
    ) -> (degraded: Milliseconds, offline: Milliseconds) {
        let floor = floor(person)
        guard person.promise > 0 else { return floor }
        let promise = promise(person)
        return (
            max(floor.degraded, Milliseconds(promise.count * 3 / 2)),
            max(floor.offline, Milliseconds(promise.count * 3))
        )
    }

    /// The thresholds of the profile in force with its factors, which no promise makes stricter.
    @inline(__always)
    func floor(_ person: Responder) -> (degraded: Milliseconds, offline: Milliseconds) {
        let profile = profile(person)
        if person.factor == 1.0 { return (profile.degradedAfter, profile.offlineAfter) }
        return (
            profile.degradedAfter.scaled(by: person.factor),
            profile.offlineAfter.scaled(by: person.factor)
        )
    }

    /// The promise of a person as far as it counts; 0 for none.
    @inline(__always)
    func promise(_ person: Responder) -> Milliseconds {
        min(.seconds(Int64(person.promise)), promiseMost(person.duty))
    }

    /// A promise counts no further than this: three times of it are the longest patience.
    @inline(__always)
    func promiseMost(_ duty: DutyState) -> Milliseconds {
        Milliseconds((duty == .onMission ? missionPromiseMax : promiseMax).count / 3)
    }

    /// Returns the instant up to which a person's phone promised to report, as far as it is believed
    /// and asks for more than their profile; nil if it did not.
    package func promisedUntil(_ person: Responder) -> Timestamp? {
        guard person.promise > 0, person.isActive, person.wasHeard else { return nil }
        let promise = promise(person)
        guard promise.count > 0, thresholds(person) != floor(person) else { return nil }
        return person.lastContactAt + promise
    }

    /// The product of the factors that fit what a phone last said of itself (L4).
    @inline(__always)
    package func factor(_ person: Responder) -> Double {
        let factor = person.telemetry.isLowPower ? lowPowerFactor : 1.0
        switch person.platform {
        case .ios: return factor * iosFactor
        case .android: return factor * androidFactor
        case .unknown, .other: return factor
        }
    }
}
