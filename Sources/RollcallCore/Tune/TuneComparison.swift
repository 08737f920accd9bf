/// Holds what one setting shows against the gaps that the present settings found.
///
/// The yardstick does not move: it is the same gaps for every setting, so that one that looks
/// away is not praised for what it does not see.
package struct TuneComparison: Equatable, Sendable {
    /// The stats that come out of a comparison.
    package struct Stats: Equatable, Sendable {
        /// Gaps that lasted longer than a false alarm does.
        package var long = 0
        /// Of these, those that never became OFFLINE.
        package var missed = 0
        /// Of these, those that became OFFLINE here and under the present settings.
        package var both = 0
        /// By how much later than under the present settings, in all.
        package var later = Milliseconds(0)
        /// From the last contact to OFFLINE, or to the end of what was missed, in all.
        package var undetected = Milliseconds(0)
        /// Time of all gaps, beyond the present degraded threshold, in which they were shown as
        /// neither DEGRADED nor OFFLINE.
        package var believed = Milliseconds(0)
        /// Gaps that are left out because we could not see for a part of them.
        package var unseen = 0
        /// Pages of the present settings that lasted longer than a false alarm does.
        package var longNotifications = 0
        /// Of these, those that did not fire.
        package var missedNotifications = 0
        /// By how much later the others fired, in all; what fires sooner earns nothing.
        package var laterNotifications = Milliseconds(0)

        package init() {}
    }

    private let healsWithin: Milliseconds
    package private(set) var stats = Stats()
    /// Spells that ended and may lie in a gap that has not.
    private var kept: [Int: [LateSpell]] = [:]

    /// A comparison for which an OFFLINE that ends within `healsWithin` was a false alarm.
    package init(healsWithin: Milliseconds) { self.healsWithin = healsWithin }

    /// Both tallies have taken the same steps: evaluates the gaps that ended in them. `ended` are
    /// the spells of `tally` that did.
    package mutating func compare(
        _ aggregates: TuneAggregates, _ ended: [LateSpell], gaps: [LateSpell],
        of present: TuneAggregates
    ) {
        for spell in ended { kept[spell.number, default: []].append(spell) }
        for gap in gaps { evaluate(gap, aggregates) }
        for number in Set(ended.map(\.number)).union(gaps.map(\.number)) {
            // A gap that begins later is not before the end of what has ended.
            let opened = present.open(number)?.lateAt
            kept[number]?.removeAll { spell in opened.map { spell.end <= $0 } ?? true }
            if kept[number]?.isEmpty == true { kept[number] = nil }
        }
    }

    private mutating func evaluate(_ gap: LateSpell, _ aggregates: TuneAggregates) {
        guard gap.ending != .policy else { return }
        guard !gap.isBlind else {
            stats.unseen += 1
            return
        }
        var covered = Milliseconds(0)
        var offlineAt: Timestamp?
        let spells = (kept[gap.number] ?? []) + [aggregates.open(gap.number)].compactMap { $0 }
        for spell in spells where spell.end > gap.lateAt && spell.lateAt < gap.end {
            covered.count += spell.overlap(gap).count
            if offlineAt == nil, let at = spell.offlineAt, at <= gap.end { offlineAt = at }
        }
        stats.believed.count += max(0, (gap.end - gap.lateAt).count - covered.count)
        guard gap.isLong(healsWithin: healsWithin), let from = gap.gapFrom else {
            return
        }
        stats.long += 1
        stats.undetected.count += max(0, ((offlineAt ?? gap.end) - from).count)
        guard let offlineAt else {
            stats.missed += 1
            return
        }
        guard let present = gap.offlineAt else { return }
        stats.both += 1
        stats.later.count += (offlineAt - present).count
    }

    /// The history has ended for both: holds the pages against each other.
    package mutating func finish(_ aggregates: TuneAggregates, present: TuneAggregates) {
        var own: [AlertKey: [FiredNotification]] = [:]
        for page in aggregates.notifications { own[page.key, default: []].append(page) }
        for page in present.notifications where page.end - page.start > healsWithin {
            stats.longNotifications += 1
            let match = own[page.key]?.first { $0.end > page.start && $0.start < page.end }
            if let match {
                stats.laterNotifications.count += max(0, (match.start - page.start).count)
            } else {
                stats.missedNotifications += 1
            }
        }
    }
}
