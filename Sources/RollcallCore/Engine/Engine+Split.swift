/// A cell is split: people of other slots leave it. Source: K6.
extension Engine {
    /// Takes a split, if its map is newer than the one that is held. Nothing is decided about anybody: who
    /// leaves is where they were, in another cell.
    mutating func split(_ split: CellSplit, _ receipt: inout Receipt) {
        receipt.cellMapFault = cellMap.apply(split.map)
        guard receipt.cellMapFault == nil, let place = split.map.place(of: split.own) else {
            return
        }
        receipt.accepted = 1
        ownCell = split.own
        followShare()
        let leaving = (0..<roster.count).filter { number in
            guard roster[number].idCount > 0 else { return false }
            let slot = PersonSlot.of(Array(roster.id(number)))
            return Int(split.map.owners[slot]) != place
        }
        if split.isNew {
            beginAsNewCell()
        } else {
            // What they were dark for until now was counted here; there it is counted from now on.
            for number in leaving { keepDark(of: roster[number]) }
        }
        release(leaving)
        if split.isNew { awaitMissedAnew() }
        recountCauses()
    }

    /// True of a cell that was split, or split from another one.
    package var isOfSplit: Bool { ownCell != nil }

    /// Numbers of people who are not here any more: they were erased, or left with their slots.
    package func peopleGone() -> NumberSet {
        var gone = NumberSet()
        for number in 0..<roster.count where roster[number].idCount == 0 { gone.insert(number) }
        return gone
    }

    /// True of an id whose slot is known to be another cell's, since this one was split.
    package func isElsewhere(id: [UInt8]) -> Bool {
        isElsewhere(hash: StableHash.of(id.span, id.indices))
    }

    /// True of an id with that `StableHash`, likewise; nothing is hashed in a cell that never was split.
    func isElsewhere(hash: @autoclosure () -> UInt64) -> Bool {
        guard let ownCell, let cellMap else { return false }
        return cellMap.cell(of: PersonSlot.of(hash: hash()))?.name != ownCell
    }

    /// Begins as a new cell: what was counted and told of alerts stays with the old one, as do its members,
    /// and whatever is true here fires anew.
    private mutating func beginAsNewCell() {
        // Of this very turn, too.
        decisions.removeAll { decision in
            switch decision {
            case .alert, .notice, .mute, .delivery: true
            default: false
            }
        }
        let lastBatchAt = counters.lastBatchAt
        counters = Counters()
        counters.lastBatchAt = lastBatchAt
        let hasInput = alerting.board.hasInput
        alerting.beginAnew()
        if hasInput { alerting.board.heard() }
        alerting.follow(policy.receivers, policy.alerts)
        alerting.board.armAgain(policy.alerts)
        alerting.board.isAllDirty = true
        report.beginAnew()
        membership = Membership()
        isFleetCellDark = false
    }
}
