import RollcallCore

/// A row of the journal as the state writer holds it until it is committed.
package struct PendingRow {
    package var id: Int64
    package var kind: UInt8
    /// The person's number + 1; 0 for none.
    package var responder: Int64
    package var previous: Int64
    /// The range of the body in the bytes of its turn.
    package var body: Range<Int>
}

/// Rows and decisions of one turn, ready to be written as often as it takes (J6).
package struct PendingTurn {
    package internal(set) var rows: [PendingRow] = []
    package internal(set) var bytes: [UInt8] = []
    package var decisions: [NumberedDecision] = []
    /// Dark time that was booked.
    package internal(set) var dark: [DarkRow] = []
    /// The erasures of what is to be removed from the store after this turn.
    package internal(set) var erasures: [Erasure] = []
    /// The changes of the outbox, and attempts that began or ended.
    package var outbox = OutboxChanges()
    package var attempts: [AttemptRow] = []
    /// The changes of pushes.
    package var pushes = PushChanges()
    /// Attempts to send a push that this store ever began; nil if none begins here.
    package var pushClaims: Int64?
    /// The loss with a store, as it stands from this turn on; nil if that does not change.
    package var stateLoss: StateLoss?
    /// The messages that may go out once all this is committed.
    package var sendings: [OutboxSending] = []
    package var pushSendings: [PushSending] = []
    /// Of the first turn in a minute: how the fleet stood at its end.
    package var sample: FleetSample?
    package internal(set) var turn = Turn(
        number: 0, nowMilliseconds: 0, wallMilliseconds: 0, firstRow: 1, lastRow: 0,
        engineVersion: Engine.version)

    /// Notes which turn it is, and where each erasure begins. `engine` has advanced, and its
    /// decisions are taken.
    package mutating func close(number: Int64, _ engine: Engine) {
        close(number: number, at: engine.clock, nextRow: engine.nextRow, engine.roster)
    }

    /// Notes the same by the parts of the engine that it takes: a whole one is copied on its way here.
    package mutating func close(
        number: Int64, at clock: ObservationClock, nextRow: Int64,
        _ roster: @autoclosure () -> Roster
    ) {
        turn = Turn(
            number: number, nowMilliseconds: clock.now.milliseconds,
            wallMilliseconds: clock.wallNow.milliseconds, firstRow: rows.first?.id ?? nextRow,
            lastRow: rows.last?.id ?? nextRow - 1, engineVersion: Engine.version)
        guard !erasures.isEmpty else { return }
        let roster = roster()
        for index in erasures.indices {
            erasures[index].turn = turn.number
            erasures[index].requestedAt = Timestamp(milliseconds: turn.wallMilliseconds)
            let number = Int(erasures[index].responder) - 1
            if number >= 0 {
                erasures[index].nextRow = roster[number].lastRow
                erasures[index].nextDecision = roster[number].lastDecision
            }
        }
    }

    /// About how many bytes of the log it takes.
    package var storedBytes: Int {
        bytes.count + 40 * rows.count + 200 * decisions.count + 60 * dark.count
            + 1000 * outbox.added.count + 200 * (outbox.changed.count + attempts.count)
            + 200 * (pushes.added.count + pushes.changed.count)
            + 10 * (sample?.regions.count ?? 0)
    }

    /// The split that it holds; nil if there is none (K6).
    package var split: CellSplit? {
        rows.first { $0.kind == EventCode.split }.flatMap {
            CellSplit(journalBytes: Array(bytes[$0.body]))
        }
    }

    /// Takes over what `engine` decided and booked, behind what was taken before.
    package mutating func take(from engine: inout Engine) {
        append(engine.takeDecisions())
        let booked = engine.takeDarkBookings()
        if !booked.isEmpty { dark = DarkRow.merged(booked, behind: dark) }
    }

    /// Adds decisions behind those that were taken before.
    package mutating func append(_ taken: [NumberedDecision]) {
        if decisions.isEmpty, decisions.capacity < taken.count { return decisions = taken }
        decisions += taken
    }

    /// True if there is nothing to be kept but the sign of life.
    package var isEmpty: Bool {
        rows.isEmpty && decisions.isEmpty && outbox.isEmpty && attempts.isEmpty && pushes.isEmpty
    }

    package init() {}

    /// Folds `event` and keeps what it was as rows.
    package mutating func fold(
        _ event: Event, into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        switch event {
        case .items(let list, let source):
            return fold(list, event, source, nil, into: &engine, at: instant)
        case .roster(let list, let source, let terms):
            return fold(list, event, source, terms, into: &engine, at: instant)
        case .erase(let person, let source): return erase(person, source, &engine, at: instant)
        case .heartbeat(let source, let every):
            append(EventCode.heartbeat, Self.number(every.count) + source, &engine)
        case .skew(let source, let skew):
            append(EventCode.skew, Self.number(skew.count) + source, &engine)
        case .clock(let step): append(EventCode.clock, Self.number(step.count), &engine)
        case .store(let isFailing): append(EventCode.store, [isFailing ? 1 : 0], &engine)
        case .refused(let count):
            append(EventCode.refused, Self.number(Int64(count)), &engine)
        case .policy(let policy): append(EventCode.policy, policy.journalBytes, &engine)
        case .turn(let lateness):
            append(EventCode.turn, lateness.map { Self.number($0.count) } ?? [], &engine)
        case .silence(.begin(let silence)):
            append(EventCode.silence, silence.journalBytes, &engine)
        case .silence(.end(let number)):
            append(EventCode.silenceEnd, Self.number(number), &engine)
        case .take(let change): append(EventCode.take, change.journalBytes, &engine)
        case .drill(let receiver): append(EventCode.drill, receiver, &engine)
        case .outcome(let end): append(EventCode.outcome, end.journalBytes, &engine)
        case .pushed(let end): append(EventCode.pushed, end.journalBytes, &engine)
        case .ask(let call, let source):
            let numbers = engine.people(of: call)
            append(EventCode.ask, numbers.journalBytes(source), &engine)
            var receipt = engine.fold(.ask(numbers, source: source), at: instant)
            if case .ids(let id, _) = call { receipt.isElsewhere = engine.isElsewhere(id: id) }
            return receipt
        case .wake(let call, let source): return wake(call, source, &engine, at: instant)
        case .start(let isRestored):
            append(EventCode.start, isRestored ? [1] : [], &engine)
        case .reign(let reign):
            append(
                EventCode.reign,
                Self.number(reign.number) + Self.number(reign.unobserved.count) + reign.member,
                &engine)
        case .done(let request): append(EventCode.done, request.journalBytes, &engine)
        case .membership(let change):
            append(EventCode.membership, change.journalBytes, &engine)
        case .subscription(let mark):
            append(EventCode.subscription, mark.journalBytes, &engine)
        case .cells(let map): append(EventCode.cells, map.journalBytes, &engine)
        case .split(let split): append(EventCode.split, split.journalBytes, &engine)
        case .action(let report): append(EventCode.action, report.journalBytes, &engine)
        case .summaries(let list):
            append(EventCode.summaries, Summary.journalBytes(of: list), &engine)
        case .masses(let list):
            append(EventCode.masses, FleetMass.journalBytes(of: list), &engine)
        case .peersElsewhere(let call):
            let numbers = engine.people(of: call)
            append(EventCode.peersElsewhere, numbers.journalBytes, &engine)
            return engine.fold(.peersElsewhere(numbers), at: instant)
        case .fleetCell(let isDark): append(EventCode.fleetCell, [isDark ? 1 : 0], &engine)
        case .stop: append(EventCode.stop, [], &engine)
        }
        return engine.fold(event, at: instant)
    }

    /// Folds `event` unless it was done under this name before. A repeat is a sign of life of its
    /// source, and nothing more. Source: S19.
    package mutating func fold(
        _ event: Event, once key: RequestKey, into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        let known = engine.answer(to: key, at: instant)
        guard known == .new else {
            var receipt = Receipt()
            if let source = event.source {
                receipt = fold(.items(ItemList(), source: source), into: &engine, at: instant)
            }
            if case .repeated(let result) = known { receipt.repeated = result }
            receipt.isOtherRequest = known == .otherRequest
            return receipt
        }
        var receipt = fold(event, into: &engine, at: instant)
        // Of what was not taken nothing can be done twice: it may be tried again under its name.
        guard receipt.accepted > 0, !receipt.isElsewhere else { return receipt }
        let request = DoneRequest(key, result: receipt.result(of: event))
        let kept = fold(.done(request), into: &engine, at: instant)
        receipt.isKeyKept = true
        receipt.keysForgotten = kept.keysForgotten
        return receipt
    }

    /// Folds who did what `event` says, if something was done. Source: E1.
    package mutating func fold(
        _ action: ActionReport, of event: Event, _ receipt: Receipt, into engine: inout Engine,
        at instant: RunningTime
    ) {
        if receipt.repeated != nil || receipt.isOtherRequest || receipt.isSilenceKnown { return }
        if case .policy = event {} else if receipt.accepted == 0 { return }
        var action = action
        action.number =
            receipt.silence ?? receipt.taken ?? receipt.drill ?? receipt.ask?.push ?? 0
        if let ask = receipt.ask {
            action.person = ask.person
            if let asker = ask.asker { action.actor = asker }
        }
        _ = fold(.action(action), into: &engine, at: instant)
    }

    private mutating func fold(
        _ list: ItemList, _ event: Event, _ source: [UInt8], _ terms: RosterTerms?,
        into engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        var begins = EventCode.begins
        let header = rows.count
        if let terms {
            append(terms.code, terms.journalBytes + source, &engine)
            begins = 0
        } else if source != EventSource.standard || list.count == 0 {
            append(EventCode.header, source, &engine)
            begins = 0
        }
        let receipt = engine.fold(event, at: instant)
        if terms != nil, receipt.rows.isEmpty, receipt.retired == nil,
            let row = rows[header...].first
        {
            // A refused one must not come back as one that names nobody.
            rows[header].kind = EventCode.header
            rows[header].body = (row.body.upperBound - source.count)..<row.body.upperBound
        }
        // Even a write of which nothing is taken is a sign of life of its source.
        if receipt.rows.isEmpty, begins != 0 { append(EventCode.header, source, &engine) }
        if rows.isEmpty {
            // For the first only: room made for each event is room made exactly, and all that
            // stands there is copied into it, event by event.
            rows.reserveCapacity(receipt.rows.count)
            bytes.reserveCapacity(list.bytes.count)
        }
        for row in receipt.rows {
            let start = bytes.count
            let range = list.range(of: row.item)
            bytes.append(contentsOf: list.bytes[range])
            rows.append(
                PendingRow(
                    id: row.row, kind: list.bytes[range.lowerBound] | begins,
                    responder: Int64(row.responder + 1), previous: row.previous,
                    body: start..<bytes.count))
            begins = 0
        }
        return receipt
    }

    /// The row holds no id: it stays when everything else about the person is gone.
    private mutating func erase(
        _ person: ErasedPerson, _ source: [UInt8], _ engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        let (number, hash) = person.found(in: engine.roster)
        let body =
            Self.number(Int64(bitPattern: hash)) + Self.number(Int64(number.map { $0 + 1 } ?? 0))
        append(EventCode.erase, body + source, &engine)
        let row = rows[rows.count - 1].id
        let gap = number.flatMap { engine.followedGap(of: $0)?.number } ?? 0
        let region = number.map { engine.regions[engine.roster[$0].region] } ?? []
        let receipt = engine.fold(
            .erase(.number(number, hash: hash), source: source), at: instant)
        // A repeated one is an erasure already.
        if receipt.erasure == row {
            var erasure = Erasure(number: row, responder: Int64(number.map { $0 + 1 } ?? 0))
            erasure.gap = gap
            erasure.regions.note(region)
            erasures.append(erasure)
        }
        return receipt
    }

    /// The row holds numbers: a circle's name, or the viewer's, may not outlive an erasure.
    private mutating func wake(
        _ call: WakeCall, _ source: [UInt8], _ engine: inout Engine, at instant: RunningTime
    ) -> Receipt {
        let (members, beyond) = engine.members(of: call)
        let code = WakeCall.journalBytes(members)
        append(EventCode.wake, Self.number(Int64(code.count)) + code + source, &engine)
        var receipt = engine.fold(.wake(.members(members), source: source), at: instant)
        receipt.wakesBeyond = beyond
        return receipt
    }

    private mutating func append(_ kind: UInt8, _ body: [UInt8], _ engine: inout Engine) {
        let start = bytes.count
        bytes.append(contentsOf: body)
        rows.append(
            PendingRow(
                id: engine.takeRow(), kind: kind, responder: 0, previous: 0,
                body: start..<bytes.count))
    }

    static func number(_ value: Int64) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
}
