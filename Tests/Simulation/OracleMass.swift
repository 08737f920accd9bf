extension Oracle {
    /// That somebody's gap opened, wherever they went since. Source: C1.
    struct Opening {
        let at: Instant
        let name: Name
        let region: String
    }

    /// The newest event with a batch, and what was right after it. Source: B3, F11.
    struct LastBatch {
        var at: Instant
        /// How many were ONLINE.
        let online: Int
        /// How many were active and promised nothing, by duty and whether the app was behind.
        let unpromising: [Kind: Int]
        /// The kinds of people who were active, promises or not.
        let kinds: Set<Kind>
        /// What promises came to then: a billion is a report a millisecond.
        let promised: Int64
        /// The longest of them, three times.
        let longest: Span

        /// Whose profile is whose.
        struct Kind: Hashable {
            let duty: Duty
            let isBehind: Bool
        }
    }

    private static let massWindow: Span = 60_000
    private static let massMin = 5
    private static let spacings = 12.0

    // MARK: - Regions

    /// How many different people of a region opened a gap within 60 s. Who was once found too old
    /// stays so when observed time is set back: what was decided stands (B1). Source: F25.
    mutating func peers(in region: String) -> Int {
        openings = openings.filter { $0.region != region || isRecent($0.at) }
        return Set(openings.filter { $0.region == region }.map(\.name)).count
    }

    /// Whether so many are a mass among those of the region who are active now. Source: C1.
    func isMass(_ count: Int, in region: String) -> Bool {
        guard count >= Self.massMin else { return false }
        let active = everybody.count { $0.status != nil && $0.region == region }
        return count * 10 >= active * 3
    }

    /// Those of a region who opened within 60 s and are silent still fell silent together.
    /// Source: F25.
    mutating func evaluatePeers(in region: String) {
        for index in everybody.indices {
            guard let gap = everybody[index].gap, gap.region == region else { continue }
            let name = everybody[index].name
            if openings.contains(where: { $0.name == name && $0.at == gap.openedAt }) {
                joinMass(index)
            }
        }
    }

    private func isRecent(_ openedAt: Instant) -> Bool {
        observed(now) - observed(openedAt) < Self.massWindow
    }

    // MARK: - Feed

    /// Counts an event with a batch that could be folded: no stall is suspected any more.
    /// Source: B3, F11.
    mutating func noteBatches() {
        isFeedStalled = false
        let active = everybody.filter { $0.status != nil }
        var unpromising: [LastBatch.Kind: Int] = [:]
        var kinds: Set<LastBatch.Kind> = []
        var promised: Int64 = 0
        var longest: Span = 0
        for index in everybody.indices where everybody[index].status != nil {
            guard let duty = everybody[index].duty, let profile = profile(index, under: policy)
            else { continue }
            let kind = LastBatch.Kind(duty: duty, isBehind: everybody[index].isBehind)
            kinds.insert(kind)
            let promise = promise(index, under: policy)
            if promise == 0 {
                unpromising[kind, default: 0] += 1
            } else {
                promised += 1_000_000_000 / max(profile.expected, promise)
                longest = max(longest, promise * 3)
            }
        }
        lastBatch = LastBatch(
            at: now, online: active.count { $0.status == .online }, unpromising: unpromising,
            kinds: kinds, promised: promised, longest: longest)
        for index in everybody.indices { everybody[index].gap?.isSinceBatch = false }
    }

    /// Suspects the feed if nothing came for too long; who fell silent since then did so with it.
    /// Source: B3, F11.
    mutating func suspectFeed() {
        guard let due = stallInstant(), due <= now else { return }
        isFeedStalled = true
        for index in everybody.indices where everybody[index].gap?.isSinceBatch == true {
            joinMass(index)
        }
    }

    /// When a stall will be suspected if nothing comes, by the settings in force; nil if none can
    /// be, or is already. While the store fails none is, as we refuse what comes (D6).
    func stallInstant() -> Instant? {
        guard !isFeedStalled, sources.isEmpty, storeFailing == nil, let lastBatch,
            lastBatch.online >= policy.feedMinActive
        else { return nil }
        let profiles: [(LastBatch.Kind, StoryPolicy.Profile)] = [
            (.init(duty: .onDuty, isBehind: false), policy.onDuty),
            (.init(duty: .onMission, isBehind: false), policy.onMission),
            (.init(duty: .onDuty, isBehind: true), policy.onDutyBehind ?? policy.onDuty),
            (.init(duty: .onMission, isBehind: true), policy.onMissionBehind ?? policy.onMission),
        ]
        var expected = 0.0
        var longest = max(lastBatch.longest, policy.onDuty.offlineAfter)
        for (kind, profile) in profiles where lastBatch.kinds.contains(kind) {
            expected += Double(lastBatch.unpromising[kind] ?? 0) / Double(profile.expected)
            longest = max(longest, profile.offlineAfter)
        }
        expected += Double(lastBatch.promised) / 1_000_000_000
        let spacing = Span((Self.spacings / expected).rounded())
        let limit = max(policy.feedStallAfter, min(spacing, longest))
        var idle: Span = 0
        for window in windows where window.isPast {
            idle += max(0, min(window.until ?? now, now) - max(window.since, lastBatch.at))
        }
        return lastBatch.at + limit + idle
    }
}
