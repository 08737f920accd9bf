extension Oracle {
    /// That somebody's gap opened, wherever they went since. Source: C1.
    struct Opening {
        let at: Instant
        let name: Name
        let region: String
    }

    /// The newest event with a batch, and what was right after it. Source: B3, F11.
    struct LastBatch {
        let at: Instant
        /// How many were ONLINE.
        let online: Int
        /// How many were active, by duty.
        let onDuty: Int
        let onMission: Int
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
        let onMission = active.count { $0.duty == .onMission }
        lastBatch = LastBatch(
            at: now, online: active.count { $0.status == .online },
            onDuty: active.count - onMission, onMission: onMission)
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
    /// be, or is already.
    func stallInstant() -> Instant? {
        guard !isFeedStalled, sources.isEmpty, let lastBatch,
            lastBatch.online >= policy.feedMinActive
        else { return nil }
        let promised =
            Double(lastBatch.onDuty) / Double(policy.onDuty.expected)
            + Double(lastBatch.onMission) / Double(policy.onMission.expected)
        let spacing = Span((Self.spacings / promised).rounded())
        let limit = max(policy.feedStallAfter, min(spacing, policy.onDuty.offlineAfter))
        var idle: Span = 0
        for window in windows where window.isPast {
            idle += max(0, min(window.until ?? now, now) - max(window.since, lastBatch.at))
        }
        return lastBatch.at + limit + idle
    }
}
