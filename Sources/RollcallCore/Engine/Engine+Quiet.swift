/// Batches that change nothing but when somebody was last heard and located: nearly all of them.
///
/// What counts, books or judges people looks at none of that until a deadline passes, so it need not
/// be asked. Whoever is to be left out here must be left out for good reason: `isQuiet` says yes only
/// if every one of them would come to the same.
extension Engine {
    /// True if a batch told for `instant` can change nothing else of person `number`.
    @inline(__always)
    func isQuiet(
        _ item: Item, _ bytes: Span<UInt8>, _ number: Int, _ instant: WatchedTime
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
        let now = watch.watchedNow
        guard now - instant < policy.thresholds(person).degraded, now < person.darkFrom,
            now < staleFrom(person), policy.factor(person) == person.factor,
            adopted[number] == nil
        else { return false }
        return tellsNothingNew(item, bytes, person)
    }

    /// True if all facts of a batch are known, or such as nobody counts.
    @inline(__always)
    private func tellsNothingNew(
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
        _ told: (received: Timestamp, instant: WatchedTime), _ receipt: inout Receipt
    ) {
        let (lastContact, lastLocation) = (person.lastContact, person.lastLocation)
        let ledger = item.installID == nil ? nil : ledgers[number]
        var news = GapNews()
        guard let sequence = take(item, list, &person, number, told, &news, &receipt) else {
            if item.installID != nil { ledgers[number] = ledger } else { roster[number] = person }
            return
        }
        applyFacts(item, list.bytes, &person, number, told.instant, sequence: sequence)
        noteDepth(item, &person, number, told.instant, sequence)
        contact(&person, number, told.instant, at: told.received)
        followQuietly(lastContact, lastLocation, &person)
        arm(person, number)
        roster[number] = person
    }

    /// Follows up a quiet batch beside the person, who was heard and located last at these
    /// instants.
    private mutating func followQuietly(
        _ lastContact: WatchedTime, _ lastLocation: WatchedTime, _ person: inout Responder
    ) {
        if person.lastContact != lastContact { startDark(&person) }
        guard isMeasuring, person.lastLocation != lastLocation else { return }
        tally.move(from: lastLocation, to: person.lastLocation, now: watch.watchedNow)
    }
}

/// A calm: a time in which nothing falls due and nothing is left to be judged, so that a quiet batch
/// need not ask for that, nor close its instant. Whatever else is folded ends it.
extension Engine {
    /// Lets everything pass that falls due before `instant`; true if nothing does at `instant` itself.
    package mutating func isCalm(at instant: RunningTime) -> Bool {
        if instant < calmUntil { return true }
        guard hasBegun, instant >= watch.now else { return false }
        pass(before: instant)
        guard !(isUnclosed || watch.isBlind || stall.isSuspected || feed.isAnyMissing),
            resumptions.isEmpty, writes.refused == 0, nudges.toJudge.isEmpty, alerts.hasInput,
            !(alerts.isDue(watch.watchedNow) || desk.isDirty || desk.isAllDirty)
        else { return false }
        calmUntil = nextInstant()
        return instant < calmUntil
    }

    /// Folds batch `item` about person `number` in a calm, as `fold` and `settle` would. False, and
    /// nothing but the time has changed, if it is not a quiet one. `source` may be nil while nobody
    /// asks who sent it.
    package mutating func foldInCalm(
        _ item: Item, of list: ItemList, _ number: Int, source: [UInt8]?, at instant: RunningTime,
        _ receipt: inout Receipt
    ) -> Bool {
        watch.now = max(watch.now, instant)
        correction = source.map { feed.skews.correction(of: $0) } ?? Milliseconds(0)
        let told = arrival(of: item)
        guard isQuiet(item, list.bytes.span, number, told.instant) else { return false }
        var person = roster[number]
        counters.batches += 1
        counters.lastBatchAt = watch.wallNow
        writes.add(taken: 1, now: watch.now)
        writes.expire(now: watch.now)
        if let source { feed.wrote(source, now: watch.now) }
        foldQuietly(item, list, &person, number, told, &receipt)
        roster[number].lastRow = takeRow()
        stall.batch(tally, watch, openings: massGaps.openings)
        return true
    }
}
