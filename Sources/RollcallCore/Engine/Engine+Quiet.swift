/// Batches that change nothing but when somebody was last heard and located: nearly all of them.
///
/// What counts, books or judges people looks at none of that until a deadline passes, so it need not
/// be asked. Whoever is to be left out here must be left out for good reason: `isQuiet` says yes only
/// if every one of them would come to the same.
extension Engine {
    /// True if a batch told for `instant` can change nothing else of a person.
    func isQuiet(
        _ item: Item, _ bytes: Span<UInt8>, _ person: Responder, _ number: Int,
        _ instant: WatchedTime
    ) -> Bool {
        guard person.isActive, person.status == .online, person.isHeard,
            !(person.hasGap || person.isDark || person.isStale || person.hasNudges),
            instant >= person.lastContact, instant >= person.activeSince
        else { return false }
        let now = watch.watchedNow
        guard now - instant < policy.thresholds(person).degraded, now < person.darkFrom,
            now < staleFrom(person), policy.factor(person) == person.factor,
            adopted[number] == nil
        else { return false }
        return tellsNothingNew(item, bytes, person)
    }

    /// True if all facts of a batch are known, or such as nobody counts.
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
        guard let telemetry = item.telemetry else { return true }
        let known = person.telemetry
        return telemetry.permissionStatus == known.permissionStatus
            && telemetry.locationServices == known.locationServices
            && telemetry.powerMode == known.powerMode && telemetry.appState == known.appState
            && telemetry.networkType == known.networkType
    }

    /// What a quiet batch changes beside the person.
    mutating func followQuietly(
        from before: Responder, _ person: inout Responder, _ number: Int
    ) {
        if !isAsDark(before, person) { startDark(&person) }
        // The first location ever may be too old already.
        if staleFrom(person) <= watch.watchedNow {
            followNudges(from: before, &person, number)
        }
        guard person.lastLocation != before.lastLocation else { return }
        tally.move(from: before.lastLocation, to: person.lastLocation, now: watch.watchedNow)
    }
}
