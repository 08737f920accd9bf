/// Who is company, and who names which circle. Source: design §7 N3, fine print F33.
extension Engine {
    /// True if somebody else of a circle of theirs is active; without circles, somebody else of the
    /// region.
    func hasCompany(_ person: Responder) -> Bool {
        let own = person.isActive ? 1 : 0
        if person.circles == 0 {
            return policy.nudges.company == .circleOrRegion
                && crowds.active(inRegion: person.region) > own
        }
        return circleNumbers(of: person.circles).contains {
            crowds.active(inCircle: $0) > own
        }
    }

    /// A person may have changed: they count where they are now, and whoever is no longer alone, or
    /// is now, is judged again.
    mutating func followCrowds(from before: Responder, _ person: Responder, _ number: Int) {
        guard
            before.isActive != person.isActive || before.circles != person.circles
                || before.region != person.region
        else { return }
        leaveCrowds(before, number, keepsCircles: before.circles == person.circles)
        joinCrowds(person, number, keepsCircles: before.circles == person.circles)
    }

    /// A person belongs to their circles and their region.
    mutating func joinCrowds(_ person: Responder, _ number: Int, keepsCircles: Bool = false) {
        if !keepsCircles {
            for name in CircleNames.names(circles[person.circles]) {
                let circle = circles.number(of: CircleNames.pack([name]))
                circles.use(circle)
                crowds.join(number, circle: circle)
            }
        }
        if person.isActive { countInCrowds(person, number, 1) }
    }

    /// A person belongs to them no longer.
    mutating func leaveCrowds(_ person: Responder, _ number: Int, keepsCircles: Bool = false) {
        if person.isActive { countInCrowds(person, number, -1) }
        if keepsCircles { return }
        for circle in circleNumbers(of: person.circles) {
            circles.leave(circle)
            crowds.leave(number, circle: circle)
        }
    }

    private mutating func countInCrowds(_ person: Responder, _ number: Int, _ step: Int) {
        var changed = [crowds.count(number, region: person.region, step)]
        for circle in circleNumbers(of: person.circles) {
            changed.append(crowds.count(number, circle: circle, step))
        }
        for other in changed.compactMap({ $0 })
        where (0..<roster.count).contains(other) && roster[other].isStale {
            nudges.toJudge.append(UInt32(other))
        }
    }

    /// The circles of a set, by their numbers: each stands in the table as a set of one.
    private func circleNumbers(of set: UInt32) -> [UInt32] {
        if set == 0 { return [] }
        return CircleNames.names(circles[set]).compactMap { circles.known(CircleNames.pack([$0])) }
    }

    /// Everybody who names a circle, in no order.
    func members(ofCircle name: [UInt8]) -> [UInt32] {
        circles.known(CircleNames.pack([name])).map { crowds.members(of: $0) } ?? []
    }
}
