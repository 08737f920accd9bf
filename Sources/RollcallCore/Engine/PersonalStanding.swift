/// The few words by which somebody's own phone hears how they stand. Source: R4.
package struct PersonalStanding: Equatable, Sendable {
    /// Items of a body at most whose senders may ask for it: each is some hundred bytes of the answer.
    package static let itemsMax = 1000

    /// The status; nil if they are not expected.
    package let status: Status?
    package let reachable: Reachable
    /// The instant up to which their phone promised to report, as far as it is believed (P5); nil
    /// without a promise.
    package let promisedUntil: Timestamp?
    package let advice: PhoneAdvice
}

extension Engine {
    /// Returns how a person by number stands; nil if there is nobody, or they were erased (R4).
    package func standing(of number: Int) -> PersonalStanding? {
        guard (0..<roster.count).contains(number), roster[number].idCount > 0 else { return nil }
        let person = roster[number]
        return PersonalStanding(
            status: person.isActive ? person.status : nil, reachable: reachable(person),
            promisedUntil: policy.promisedUntil(person), advice: advice(person, number))
    }

    /// Returns what should be put right on the phone of somebody who is expected to report. What an
    /// older batch said, and the newest did not say again, may be put right already.
    private func advice(_ person: Responder, _ number: Int) -> PhoneAdvice {
        guard person.isActive else { return PhoneAdvice() }
        func isNewest(_ fact: FactSet) -> Bool {
            let at = factOverflows.time(fact, person.factTimes, number).at
            return at > .distantPast && at >= person.lastContact
        }
        return PhoneAdvice(
            isNewest(.telemetry) ? person.telemetry : Telemetry(),
            battery: isNewest(.battery) ? person.battery : -1,
            depths: gaps.queueDepths[number]?.depths ?? [])
    }
}
