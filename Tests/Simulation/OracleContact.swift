extension Oracle {
    private static let aheadMax: Span = 2_000
    /// What lies further back is no location; facts told for before count from here. Source: P2.
    static let agedAfter: Span = 30 * 86_400_000

    /// Takes a phone's batch: updates, then facts, then contact; a repeat moves nothing. False if
    /// nobody may be told of it. Source: I9, I1–I4, F13, F14, F17, F19.
    mutating func takeBatch(_ item: BatchItem) -> Bool {
        guard !erased.contains(Name(item.responderID)) else { return false }
        let index = enrolled(item.responderID)
        let at = instant(toldAs: item.receivedAt)
        let phonesBefore = everybody[index].phones
        var heard = Heard()
        if takeUpdates(of: item, index, &heard), !provesContact(item, at, index) {
            everybody[index].phones = phonesBefore
            return true
        }
        let old = thresholdsInForce(index)
        if everybody[index].duty == nil { everybody[index].duty = .onDuty }
        let mention = Mention(at: at, sequence: item.updates.compactMap(\.sequence).max())
        learnDuty(item.dutyState, inBatch: mention, of: index)
        learnSharing(item.sharing, until: nil, mention, of: index)
        learnRegion(item.region, mention, of: index)
        learnCircles(item.circles, mention, of: index)
        learnPlatform(item.platform, mention, of: index)
        learnBattery(item.battery, mention, of: index)
        if learnTelemetry(item.telemetry, mention, of: index) { heard.telemetry = item.telemetry }
        reconsider(index, before: old)
        meetContact(
            index, at: at, by: .contact, phonesBefore: phonesBefore,
            promise: item.nextExpectedIn.map { $0 * 1000 } ?? 0)
        note(heard, of: index)
        return true
    }

    /// Takes a batch's updates and tells whether all were taken before, or late. Source: I4, F13.
    private mutating func takeUpdates(
        of item: BatchItem, _ index: Int, _ heard: inout Heard
    ) -> Bool {
        let id = item.installID.map { Name($0) }
        let isForgotten = id.map { everybody[index].phones.hasForgotten($0) } ?? false
        if let id, !isForgotten { everybody[index].phones.meet(id) }
        var isRepeat = isForgotten || !item.updates.isEmpty
        for update in item.updates.filter({ $0.sequence != nil })
            + item.updates.filter({ $0.sequence == nil })
        {
            let (outcome, install) =
                isForgotten ? (.late, 0) : everybody[index].phones.take(update, of: id)
            switch outcome {
            case .accepted:
                updateCounts.accepted += 1
                isRepeat = false
                let isLocation = !isAged(update, of: item)
                if isLocation { locate(update, of: item, index) }
                heard.updates.append(
                    HeardUpdate(
                        sequence: update.sequence ?? update.capturedAt ?? 0, install: install,
                        captured: isLocation ? evidence(update, of: item) : nil))
            case .duplicate: updateCounts.duplicate += 1
            case .late:
                updateCounts.late += 1
                if item.receivedAt == nil, let captured = update.capturedAt,
                    captured <= wall + Self.aheadMax,
                    everybody[index].phones.isNews(late: captured)
                {
                    isRepeat = false
                }
            }
            decisions.append(
                .update(
                    at: wall, responderID: item.responderID, sequence: update.sequence,
                    captured: update.sequence == nil ? update.capturedAt : nil,
                    outcome: outcome.rawValue))
        }
        return isRepeat
    }

    /// Whether a fix was taken too long before its batch to be a location. Source: P2.
    private func isAged(_ update: StoryUpdate, of item: BatchItem) -> Bool {
        guard let captured = update.capturedAt else { return false }
        return min(item.receivedAt ?? wall, wall) - captured > Self.agedAfter
    }

    /// Whether a repeat says by its `received_at` that the backend heard the phone again.
    /// Source: I4, F13.
    private func provesContact(_ item: BatchItem, _ at: Instant, _ index: Int) -> Bool {
        guard let receivedAt = item.receivedAt, receivedAt <= wall + Self.aheadMax else {
            return false
        }
        guard let last = everybody[index].lastContact else { return true }
        return observed(at) > observed(last)
    }

    /// Contact: brings people back, fixes the factors, and improves the status to what its age is
    /// worth. `named` is what the server says they were, `phonesBefore` what had been received
    /// before a batch. Source: L2, L3, L7, F17–F20, F22, F24.
    mutating func meetContact(
        _ index: Int, at: Instant, by origin: Origin, named: Status? = nil,
        phonesBefore: Phones? = nil, promise: Span? = nil
    ) {
        let heardAt = observed(at)
        let contactBefore = everybody[index].lastContact
        if let retiredAt = everybody[index].retiredAt, heardAt > observed(retiredAt) {
            everybody[index].retiredAt = nil
        }
        everybody[index].isForgotten = false
        reconsider(index)
        let isNewest = takeLast(index, at, promise)
        guard let status = everybody[index].status,
            let thresholds = thresholds(index, under: policy)
        else { return }
        let adopted = everybody[index].adopted
        everybody[index].adopted = adopted.filter { observed($0.at) >= heardAt }
        if heardAt >= observed(everybody[index].activeSince) { everybody[index].isHeard = true }
        let worth = everybody[index].capped(
            thresholds.status(ofAge: observed(now) - heardAt))
        if worth < status {
            everybody[index].isHeard = true
            let believes = status == .unknown && named != worth
            change(index, to: worth, by: origin, from: believes ? named : nil)
        }
        if isNewest { startDeadlines(of: index) }
        endGap(
            index, at: at, contactBefore: contactBefore,
            phonesBefore: phonesBefore ?? everybody[index].phones)
    }

    /// Makes a contact the last one unless it is older, with the factors, the app and the promise that
    /// hold at it; the server knows of no promise. Source: T1, F19, P5.
    private mutating func takeLast(_ index: Int, _ at: Instant, _ promise: Span?) -> Bool {
        if let last = everybody[index].lastContact {
            guard observed(at) >= observed(last) else { return false }
            if let promise {
                let isNewer = observed(at) > observed(last)
                everybody[index].promise =
                    isNewer ? promise : max(promise, everybody[index].promise)
            }
            everybody[index].lastContact = max(last, at)
        } else {
            everybody[index].lastContact = at
            everybody[index].promise = promise ?? 0
        }
        let states = ["background", "suspended", "terminated"]
        everybody[index].isBehind = states.contains(everybody[index].telemetry.appState ?? "")
        var factor = everybody[index].telemetry.powerMode == "low_power" ? policy.lowPowerFactor : 1
        switch everybody[index].platform {
        case "ios": factor *= policy.iosFactor
        case "android": factor *= policy.androidFactor
        default: break
        }
        everybody[index].factor = factor
        return true
    }
}
