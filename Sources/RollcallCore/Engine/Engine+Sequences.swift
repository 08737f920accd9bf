/// The sequences that were received from a person's installs. Source: I1 to I3, F13, F14.
extension Engine {
    /// The newest that was taken from a person until now: what is newer "goes on" (C2, P4).
    func heights(_ person: Responder, _ number: Int) -> Heights {
        var heights = Heights()
        heights.captured = captures[number]?.newest
        if person.hasLedger, let ledger = ledgers[number] {
            heights.sequences = ledger.installs.map { $0.ranges.last?.upperBound ?? -1 }
        } else {
            heights.sequences = [person.highestSequence]
        }
        return heights
    }

    /// Takes one update, in the person's own fields while they suffice; also tells the place of the
    /// install that it was taken for.
    mutating func take(
        _ update: Update, _ id: UInt64, _ person: inout Responder, _ number: Int
    ) -> (outcome: UpdateOutcome, install: Int) {
        if update.isUnsequenced { return (takeByCapture(update, id, &person, number), 0) }
        if !person.hasLedger, person.installID == id || id == 0 {
            let received = person.sequences
            if person.takeNext(update.sequence) {
                if received == nil && id != 0 { person.installID = id }
                if let captured = update.capturedAt {
                    person.newestCapturedAt = max(person.newestCapturedAt, captured)
                }
                return (.accepted, 0)
            }
            let isInside = received?.contains(update.sequence) ?? false
            let mayRestart =
                person.installID == 0 && person.newestCapturedAt > .distantPast
                && (update.capturedAt.map { $0 > person.newestCapturedAt } ?? false)
            if isInside && !mayRestart { return (.duplicate, 0) }
        }
        if person.hasLedger,
            let outcome = ledgers.change(number, { $0.takeNext(update, id: id) }) ?? nil
        {
            return (outcome, 0)
        }
        var ledger = takeLedger(&person, number)
        let taken = ledger.take(update, id: id, resets: &counters.installsReset)
        keep(ledger, &person, number)
        return taken
    }

    /// Takes an update that its capture identifies: once a person, whichever install it is of, since a
    /// wall goes on over a reinstall. Its install id says what one of a batch without updates says
    /// (P4).
    private mutating func takeByCapture(
        _ update: Update, _ id: UInt64, _ person: inout Responder, _ number: Int
    ) -> UpdateOutcome {
        guard let captured = update.capturedAt, meet(id, &person, number) else { return .late }
        if let outcome = captures.change(number, { $0.take(captured) }) { return outcome }
        var ledger = CaptureLedger()
        let outcome = ledger.take(captured)
        captures[number] = ledger
        return outcome
    }

    /// A batch without updates may still name a new install; false if it names a forgotten one.
    mutating func meet(
        _ id: UInt64, _ person: inout Responder, _ number: Int
    ) -> Bool {
        if id == 0 || (!person.hasLedger && person.installID == id) { return true }
        var ledger = takeLedger(&person, number)
        ledger.meet(id: id, resets: &counters.installsReset)
        let isKnown = ledger.installs.contains { $0.id == id }
        keep(ledger, &person, number)
        return isKnown
    }

    /// The person's ledger, wherever it is.
    private mutating func takeLedger(_ person: inout Responder, _ number: Int) -> SequenceLedger {
        if person.hasLedger { return ledgers.take(number) ?? SequenceLedger() }
        var ledger = SequenceLedger()
        guard person.sequences != nil || person.installID != 0 else { return ledger }
        ledger.installs = [Install(of: person, person.sequences)]
        return ledger
    }

    /// Keeps a ledger in the person's own fields if it fits, else in the side table.
    private mutating func keep(
        _ ledger: SequenceLedger, _ person: inout Responder, _ number: Int
    ) {
        if ledger.installs.count == 1, ledger.forgotten.isEmpty,
            let install = ledger.installs.first,
            install.ranges.count <= 1, install.closedThrough < 0,
            install.id != 0 || !install.ranges.isEmpty, person.keep(install.ranges.first)
        {
            person.hasLedger = false
            person.installID = install.id
            person.newestCapturedAt = install.newestCapturedAt ?? .distantPast
        } else if !ledger.installs.isEmpty {
            person.hasLedger = true
            ledgers[number] = ledger
        }
    }
}

extension Install {
    /// The install of a person who has no ledger, of which `range` was received.
    fileprivate init(of person: Responder, _ range: ClosedRange<Int64>?) {
        self.init(id: person.installID)
        ranges = range.map { [$0] } ?? []
        if person.newestCapturedAt > .distantPast { newestCapturedAt = person.newestCapturedAt }
    }
}

extension SequenceLedger {
    /// The ledger of a person whose range is too wide for them to keep themselves.
    init(of person: Responder, _ range: ClosedRange<Int64>) {
        installs = [Install(of: person, range)]
    }
}
