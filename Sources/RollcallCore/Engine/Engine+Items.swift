/// Items and batches. Source: I9, F6, F13, F14, F23.
extension Engine {
    /// `received_at` may be this far ahead of us and count as now (F13); `captured_at` may be this
    /// far ahead of `received_at` (I6).
    private static var skewMax: Milliseconds { Milliseconds(2000) }

    /// The age beyond which a location is none, and a fact told for before it counts from here
    /// (P2).
    static var agedAfter: Milliseconds { .seconds(30 * 86_400) }

    mutating func foldItems(_ list: ItemList, _ receipt: inout Receipt) {
        receipt.rows.reserveCapacity(list.count)
        for index in 0..<list.count {
            guard let item = list.item(index) else {
                receipt.rejected.append((index, .malformed))
                continue
            }
            if item.kind == .nobody {
                if item.isEnrolment {
                    roster.enrolNobody()
                    let report = PersonReport(.enrolled, number: roster.count - 1)
                    decisions.append(.person(at: clock.wallNow, report))
                }
                nextRow += 1
                alerting.board.heard()
                continue
            }
            guard let number = number(of: item, list, index, &receipt) else { continue }
            // The server's opinion alone says nothing about who is missing (F29).
            if item.kind != .transition { alerting.board.heard() }
            switch item.kind {
            case .batch:
                let aged = receipt.agedUpdates
                foldBatch(item, list, number, &receipt)
                if receipt.agedUpdates > aged { receipt.note(aged: index) }
            case .transition: foldTransition(item, list, number, &receipt)
            case .responder, .rosterEntry: foldFacts(item, list, index, number, &receipt)
            case .nobody: break
            }
            if !namesRefused.isEmpty { noteRefusedNames(index, &receipt) }
            journal(index, number, &receipt)
        }
    }

    /// The person that an item is about, enrolled now if need be; nil if the item is refused.
    mutating func number(
        of item: Item, _ list: ItemList, _ index: Int, _ receipt: inout Receipt
    ) -> Int? {
        let (bytes, range) = (list.bytes.span, item.responderID.indices)
        let first = index < list.numbers.count ? list.numbers[index] : nil
        if let number = roster.number(of: bytes, range, tryingFirst: first) { return number }
        let isErased = erasures.holds(
            bytes, range, now: clock.now, retention: policy.retention)
        if isErased && (item.kind != .responder || item.isKnownOnly) {
            receipt.rejected.append((index, .erased))
            return nil
        }
        // It was on its way here when their slot moved: whoever sent it sends it to the other cell.
        if isElsewhere(hash: StableHash.of(bytes, range)) {
            receipt.isElsewhere = true
            receipt.rejected.append((index, .unknownResponder))
            return nil
        }
        if item.isKnownOnly {
            receipt.rejected.append((index, .unknownResponder))
            return nil
        }
        guard roster.count < policy.respondersMax else {
            receipt.rejected.append((index, .responderLimit))
            return nil
        }
        if isErased { erasures.forget(StableHash.of(bytes, range)) }
        let number = roster.enrol(bytes, range)
        roster[number].region = regions.known(People.defaultRegion) ?? 0
        people.useNames(roster[number])
        aggregates.add(roster[number], now: clock.observedNow)
        decisions.append(.person(at: clock.wallNow, PersonReport(.enrolled, number: number)))
        return number
    }

    /// Gives the item its row, behind the person's last one (J7).
    mutating func journal(_ index: Int, _ number: Int, _ receipt: inout Receipt) {
        receipt.rows.append(
            .init(
                item: index, row: nextRow, responder: number, previous: roster[number].lastRow))
        roster[number].lastRow = nextRow
        nextRow += 1
    }

    // MARK: - Batches

    private mutating func foldBatch(
        _ item: Item, _ list: ItemList, _ number: Int, _ receipt: inout Receipt
    ) {
        counters.batches += 1
        counters.lastBatchAt = clock.wallNow
        let reported = arrival(of: item)
        let takesFastPath = takesFastPath(item, list.bytes.span, number, reported.instant)
        if takesFastPath {
            var person = roster[number]
            return foldQuietly(item, list, &person, number, reported, &receipt)
        }
        edit(number) { engine, person in
            engine.foldBatch(item, list, &person, number, reported, &receipt)
        }
    }

    /// Folds a batch that may change anything about the person who sent it.
    private mutating func foldBatch(
        _ item: Item, _ list: ItemList, _ person: inout Responder, _ number: Int,
        _ reported: (received: Timestamp, instant: ObservedTime), _ receipt: inout Receipt
    ) {
        let before = person
        let ledger = item.installID == nil ? nil : ledgers[number]
        let heights = person.hasGap ? heights(person, number) : nil
        let resets = counters.installsReset
        var news = GapBook.News()
        guard let sequence = take(item, list, &person, number, reported, &news, &receipt) else {
            // Nothing moves (F13): an anonymous install does not even get a name.
            if item.installID != nil {
                person = before
                ledgers[number] = ledger
                counters.installsReset = resets
            }
            return
        }
        liveness.returnRetired(&person, number, reported.instant)
        person.isForgotten = false
        let old = policy.thresholds(person)
        applyFacts(item, list.bytes, &person, number, reported.instant, sequence: sequence)
        if person.duty == .none { person.duty = .onDuty }
        settleFacts(&person, number, old: old)
        noteDepth(item, &person, number, reported.instant, sequence)
        contact(
            &person, number, reported.instant, at: reported.received, taken: heights,
            promise: item.promise)
        guard person.hasGap else { return }
        news.isReinstalled = counters.installsReset > resets
        if factOverflows.time(.telemetry, person.factTimes, number).at == reported.instant,
            person.telemetry == item.telemetry
        {
            news.telemetry = item.telemetry
        }
        gaps.learn(news, number)
    }

    /// Returns the instant at which the backend heard the phone, by the wall and in observed time.
    func arrival(of item: Item) -> (received: Timestamp, instant: ObservedTime) {
        let received = min(reportedAt(of: item) ?? clock.wallNow, clock.wallNow)
        return (received, clock.reported(received))
    }

    /// The time that an item tells, by our clock (D10); nil if it tells none.
    func reportedAt(of item: Item) -> Timestamp? { item.reportedAt.map { $0 + sight.correction } }

    /// Takes the updates of a batch; its highest sequence, or nil if it is a repeated one.
    mutating func take(
        _ item: Item, _ list: ItemList, _ person: inout Responder, _ number: Int,
        _ reported: (received: Timestamp, instant: ObservedTime), _ news: inout GapBook.News,
        _ receipt: inout Receipt
    ) -> Int64? {
        let taken = take(item, list, &person, number, reported.received, &news, &receipt)
        if taken.isOld, !provesContact(item, person, reported.instant) {
            receipt.duplicates += 1
            return nil
        }
        receipt.accepted += 1
        return taken.sequence
    }

    /// Remembers the queue's depth for the trend (F25).
    mutating func noteDepth(
        _ item: Item, _ person: inout Responder, _ number: Int, _ instant: ObservedTime,
        _ sequence: Int64
    ) {
        guard let depth = item.telemetry?.queueDepth, depth != Telemetry.queueDepthUnknown else {
            return
        }
        // Of empty queues only the last matters: a rise can do no more than begin with it.
        let empty = QueueDepths.Entry(
            at: person.emptyQueueAt, sequence: person.emptyQueueSequence, depth: 0)
        let entry = QueueDepths.Entry(at: instant, sequence: sequence, depth: depth)
        guard var depths = gaps.queueDepths[number] ?? (depth == 0 ? nil : QueueDepths()) else {
            if QueueDepths.isAfter(empty, entry) { return }
            person.emptyQueueAt = instant
            person.emptyQueueSequence = sequence
            return
        }
        if depths.isEmpty, empty.at > .distantPast { depths.add(empty) }
        depths.add(entry)
        guard depths.isAllZero, let last = depths.last else {
            return gaps.queueDepths[number] = depths
        }
        gaps.queueDepths[number] = nil
        person.emptyQueueAt = last.at
        person.emptyQueueSequence = last.sequence
    }

    /// A batch of which nothing is new proves contact only by a later `received_at` (I4, F13).
    private func provesContact(_ item: Item, _ person: Responder, _ instant: ObservedTime) -> Bool {
        guard let reportedAt = reportedAt(of: item), reportedAt - clock.wallNow <= Self.skewMax
        else {
            return false
        }
        return instant > person.lastContact
    }

    /// Takes the updates of a batch; returns whether all were taken before, and the highest
    /// sequence.
    private mutating func take(
        _ item: Item, _ list: ItemList, _ person: inout Responder, _ number: Int,
        _ received: Timestamp, _ news: inout GapBook.News, _ receipt: inout Receipt
    ) -> (isOld: Bool, sequence: Int64) {
        let id = item.installID.map { StableHash.of(list.bytes.span, $0.indices) } ?? 0
        guard item.updateCount > 0 else {
            return (!meet(id, &person, number), -1)
        }
        var reader = UpdateReader(item)
        var isOld = true
        var sequence: Int64 = -1
        while let update = reader.next(list.bytes.span) {
            let (outcome, install) = take(update, id, &person, number)
            sequence = max(sequence, update.sequence)
            receipt.updates[Int(outcome.rawValue)] += 1
            counters.updates[Int(outcome.rawValue)] += 1
            if reportsUpdates {
                decisions.append(
                    .update(at: clock.wallNow, number: number, update, outcome: outcome))
            }
            guard outcome == .accepted else {
                if outcome == .late, isNews(late: update, item, number, received) { isOld = false }
                continue
            }
            isOld = false
            if person.hasGap { news.taken.append((update, install)) }
            guard let captured = update.capturedAt else { continue }
            if received - captured > Self.agedAfter {
                receipt.agedUpdates += 1
            } else {
                locate(update, captured, item, &person, number, received, &news)
            }
        }
        return (isOld, sequence)
    }

    /// True if a late update proves contact without a `received_at`: it was captured after all that was
    /// taken from this person, by a clock that is not ahead. A relay that repeats old bodies keeps
    /// nobody alive (P9).
    private mutating func isNews(
        late update: Update, _ item: Item, _ number: Int, _ received: Timestamp
    ) -> Bool {
        guard item.reportedAt == nil, let captured = update.capturedAt,
            captured - received <= Self.skewMax,
            captures[number]?.newest.map({ captured > $0 }) ?? true
        else { return false }
        return ledgers.change(number, { $0.isNews(late: captured) }) ?? false
    }

    /// Moves the last location, and measures delay and interval (I5, I6).
    private mutating func locate(
        _ update: Update, _ sent: Timestamp, _ item: Item, _ person: inout Responder,
        _ number: Int, _ received: Timestamp, _ news: inout GapBook.News
    ) {
        var captured = sent
        let isClamped = captured - received > Self.skewMax
        if isClamped {
            counters.skewedUpdates += 1
            captured = received
        }
        let instant = clock.reported(captured)
        if person.hasGap, !isClamped, !update.isCached { news.captured.append((instant, captured)) }
        if isMeasuring { measure(captured, isClamped, instant, item, person, number, received) }
        person.lastLocation = max(person.lastLocation, instant)
        person.lastLocationAt = max(person.lastLocationAt, captured)
    }

    /// Measures how late a location is, how far from the one before it, and what it covers.
    private mutating func measure(
        _ captured: Timestamp, _ isClamped: Bool, _ instant: ObservedTime, _ item: Item,
        _ person: Responder, _ number: Int, _ received: Timestamp
    ) {
        let duty = item.duty ?? (person.duty == .none ? .onDuty : person.duty)
        let platform = item.platform ?? person.platform
        if !isClamped {
            let delay = (received - captured).count
            counters.delay.observe(delay)
            if turn > 0 {
                delayExemplars.note(
                    Exemplar(delay, turn: turn, at: clock.wallNow), in: counters.delay)
                nativeDelay.observe(delay)
            }
            counters.delayBy[Int(duty.rawValue) * 4 + Int(platform.rawValue)].observe(delay)
        }
        cover(person, number, instant)
        if person.lastLocationAt > .distantPast, captured > person.lastLocationAt {
            counters.interval[Int(duty.rawValue)].observe(
                (captured - person.lastLocationAt).count)
        }
    }
}
