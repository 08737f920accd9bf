/// The active peers of people, and the circles that they name. Source: N3, F33.
extension People {
    /// True if somebody else of a circle of theirs is active; without circles, somebody else of the
    /// region.
    func hasActivePeer(_ person: Responder, _ peers: NudgeRules.Peers) -> Bool {
        let own = person.isActive ? 1 : 0
        if person.circles == 0 {
            return peers == .circleOrRegion
                && groupCounts.active(inRegion: person.region) > own
        }
        return circleNumbers(of: person.circles).contains {
            groupCounts.active(inCircle: $0) > own
        }
    }

    /// A person may have changed: they count where they are now, and whoever is no longer alone, or
    /// is now, is evaluated again: they come to `alone`. Where they stay nobody gains or loses an active
    /// peer.
    mutating func followGroups(
        from before: Responder, _ person: Responder, _ number: Int, _ alone: inout [UInt32]
    ) {
        let isOther = before.isActive != person.isActive
        if isOther || before.region != person.region {
            if before.isActive {
                let other = groupCounts.count(number, region: before.region, -1)
                follow(other, &alone)
            }
            if person.isActive {
                let other = groupCounts.count(number, region: person.region, 1)
                follow(other, &alone)
            }
        }
        guard isOther || before.circles != person.circles else { return }
        let old = circleNumbers(of: before.circles)
        if before.circles != person.circles { name(person.circles, number) }
        let new = circleNumbers(of: person.circles)
        for circle in old where before.isActive && !(person.isActive && new.contains(circle)) {
            let other = groupCounts.count(number, circle: circle, -1)
            follow(other, &alone)
        }
        for circle in new where person.isActive && !(before.isActive && old.contains(circle)) {
            let other = groupCounts.count(number, circle: circle, 1)
            follow(other, &alone)
        }
        if before.circles != person.circles { leave(old, number) }
    }

    /// Puts somebody back where they were. Nobody's active peers change by it.
    mutating func joinGroups(_ person: Responder, _ number: Int) {
        name(person.circles, number)
        guard person.isActive else { return }
        _ = groupCounts.count(number, region: person.region, 1)
        // Who names one circle, as most do, needs no list of them.
        if isOne(person.circles) {
            _ = groupCounts.count(number, circle: person.circles, 1)
            return
        }
        for circle in circleNumbers(of: person.circles) {
            _ = groupCounts.count(number, circle: circle, 1)
        }
    }

    /// A person is nowhere any more; `alone` are those who are to be evaluated again for it.
    mutating func leaveGroups(_ person: Responder, _ number: Int, _ alone: inout [UInt32]) {
        let circles = circleNumbers(of: person.circles)
        if person.isActive {
            let other = groupCounts.count(number, region: person.region, -1)
            follow(other, &alone)
            for circle in circles {
                let other = groupCounts.count(number, circle: circle, -1)
                follow(other, &alone)
            }
        }
        leave(circles, number)
    }

    private mutating func name(_ set: UInt32, _ number: Int) {
        if isOne(set) { return join(set, number) }
        for name in CircleNames.names(circles[set]) {
            join(circles.number(of: CircleNames.pack([name])), number)
        }
    }

    private mutating func join(_ circle: UInt32, _ number: Int) {
        circles.use(circle)
        groupCounts.join(number, circle: circle)
    }

    private mutating func leave(_ circles: [UInt32], _ number: Int) {
        for circle in circles {
            self.circles.leave(circle)
            groupCounts.leave(number, circle: circle)
        }
    }

    /// Somebody who was alone is not any more, or the reverse. It is given what the counts said: if they
    /// changed in its arguments, all that is counted was copied before.
    private func follow(_ other: Int?, _ alone: inout [UInt32]) {
        guard let other, (0..<roster.count).contains(other), roster[other].isStale else { return }
        alone.append(UInt32(other))
    }

    /// True if a set is a circle itself.
    private func isOne(_ set: UInt32) -> Bool {
        circles.names.read(Int(set)) { CircleNames.isOne($0) }
    }

    /// The circles of a set, by their numbers: each stands in the table as a set of one.
    func circleNumbers(of set: UInt32) -> [UInt32] {
        if set == 0 { return [] }
        if isOne(set) { return [set] }
        return CircleNames.names(circles[set]).compactMap { circles.known(CircleNames.pack([$0])) }
    }

    /// Everybody who names a circle, in no order.
    func members(ofCircle name: [UInt8]) -> [UInt32] {
        circles.known(CircleNames.pack([name])).map { groupCounts.members(of: $0) } ?? []
    }
}
