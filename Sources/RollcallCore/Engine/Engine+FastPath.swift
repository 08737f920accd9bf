/// Batches that change nothing but when somebody was last heard and located: nearly all of them.
///
/// What counts, books or evaluates people looks at none of that until a deadline passes, so it need
/// not be asked. Whoever is to be left out here must be left out for good reason: `takesFastPath`
/// says yes only if every one of them would come to the same.
extension Engine {
    /// True if a batch told for `instant` can change nothing else of person `number`.
    @inline(__always)
    func takesFastPath(
        _ item: Item, _ bytes: Span<UInt8>, _ number: Int, _ instant: ObservedTime
    ) -> Bool {
        // Inlined with all that it asks, so that a dozen fields are read where they stand: a person
        // who is an argument is copied.
        let person = roster[number]
        guard person.isActive, person.status == .online, person.isHeard,
            !(person.hasGap || person.isDark || person.isStale || person.hasNudges),
            instant >= person.lastContact, instant >= person.activeSince,
            // The first location ever may be too old already.
            person.lastLocation > .distantPast || item.updateCount == 0
        else { return false }
        let now = clock.observedNow
        guard now - instant < policy.thresholds(person).degraded, now < person.darkFrom,
            now < policy.nudges.staleFrom(person), policy.factor(person) == person.factor,
            liveness.adopted[number] == nil, item.promise == person.promise,
            person.telemetry.isBehind == person.isBehind
        else { return false }
        return reportsNothingNew(item, bytes, person)
    }

    /// True if all facts of a batch are known, or such as nobody counts.
    @inline(__always)
    private func reportsNothingNew(
        _ item: Item, _ bytes: Span<UInt8>, _ person: Responder
    ) -> Bool {
        if let duty = item.duty, duty != person.duty { return false }
        if let sharing = item.sharing, sharing != .active { return false }
        guard item.pausedUntil == nil, item.pushToken == nil, item.nudgeSound == nil else {
            return false
        }
        if let platform = item.platform, platform != person.platform { return false }
        if let range = item.region, !regions.isName(person.region, bytes, range) { return false }
        if let range = item.circles, !circles.isName(person.circles, bytes, range) {
            return false
        }
        return item.telemetry?.countsAs(person.telemetry) ?? true
    }

    /// Folds a batch that is quiet, for which only this much is left of `foldBatch`.
    mutating func foldQuietly(
        _ item: Item, _ list: ItemList, _ person: inout Responder, _ number: Int,
        _ reported: (received: Timestamp, instant: ObservedTime), _ receipt: inout Receipt
    ) {
        let (lastContact, lastLocation) = (person.lastContact, person.lastLocation)
        let resets = counters.installsReset
        let ledger = item.installID == nil ? nil : ledgers[number]
        var news = GapBook.News()
        guard let sequence = take(item, list, &person, number, reported, &news, &receipt) else {
            if item.installID == nil {
                roster[number] = person
            } else {
                ledgers[number] = ledger
                counters.installsReset = resets
            }
            return
        }
        applyFacts(item, list.bytes, &person, number, reported.instant, sequence: sequence)
        noteDepth(item, &person, number, reported.instant, sequence)
        if person.promise > 0, reported.instant > lastContact { bookPromised(person) }
        contact(
            &person, number, reported.instant, at: reported.received, promise: person.promise)
        followQuietly(lastContact, lastLocation, &person)
        arm(person, number)
        roster[number] = person
    }

    /// Follows up a quiet batch beside the person, who was heard and located last at these
    /// instants.
    private mutating func followQuietly(
        _ lastContact: ObservedTime, _ lastLocation: ObservedTime, _ person: inout Responder
    ) {
        if person.lastContact != lastContact { startDark(&person) }
        guard isMeasuring, person.lastLocation != lastLocation else { return }
        aggregates.move(from: lastLocation, to: person.lastLocation, now: clock.observedNow)
    }
}

/// A calm: a time in which nothing falls due and nothing is left to be evaluated, so that a quiet
/// batch need not ask for that, nor close its instant. Whatever else is folded ends it.
extension Engine {
    /// Lets everything pass that falls due before `instant`; true if nothing does at `instant` itself.
    package mutating func isIdle(at instant: RunningTime) -> Bool {
        if instant < idleUntil { return true }
        guard hasBegun, instant >= clock.now else { return false }
        pass(before: instant)
        guard !(isUnclosed || clock.isBlind || gaps.stall.isSuspected), sight.isUnimpaired,
            nudges.toEvaluate.isEmpty, alerting.board.hasInput,
            !(alerting.board.isDue(clock.observedNow) || alerting.notifications.isDirty
                || alerting.notifications.isAllDirty)
        else { return false }
        idleUntil = nextInstant()
        return instant < idleUntil
    }

    /// Folds batch `item` about person `number` in a calm, as `fold` and `settle` would. False, and
    /// nothing but the time has changed, if it is not a quiet one. `source` may be nil while nobody
    /// asks who sent it.
    package mutating func foldWhileIdle(
        _ item: Item, of list: ItemList, _ number: Int, source: [UInt8]?, at instant: RunningTime,
        _ receipt: inout Receipt
    ) -> Bool {
        clock.now = max(clock.now, instant)
        sight.correct(for: source)
        let reported = arrival(of: item)
        guard takesFastPath(item, list.bytes.span, number, reported.instant) else { return false }
        var person = roster[number]
        counters.batches += 1
        counters.lastBatchAt = clock.wallNow
        sight.wroteWhileIdle(source, now: clock.now)
        foldQuietly(item, list, &person, number, reported, &receipt)
        roster[number].lastRow = takeRow()
        gaps.noteBatch(aggregates, clock)
        return true
    }
}
