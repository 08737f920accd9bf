/// The costs of what a setting brings about, in units of one false alarm.
package struct TuneWeights: Equatable, Sendable {
    /// An OFFLINE that heals by itself.
    package var falseAlarm = 1.0
    /// A page that is over as soon; a minute by which a page comes later counts as much.
    package var page = 5.0
    /// A minute from the last contact to OFFLINE in a long gap.
    package var lateMinute = 1.0
    /// A long gap that never becomes OFFLINE, or a page that never comes.
    package var missed = 60.0

    package init() {}
}

/// One setting when the history is over, as far as advice depends on it.
package struct TuneOutcome: Equatable, Sendable {
    package var counts: TuneCounts
    package var stats: TuneComparison.Stats
    package var observed: Milliseconds
    /// The longest that somebody on duty can be silent before they are OFFLINE.
    package var longestOnDuty: Milliseconds
    /// True if the steps brought a policy in which these settings make no sense.
    package var isMisfit = false

    /// An outcome of what a run counted.
    package init(
        counts: TuneCounts, stats: TuneComparison.Stats, observed: Milliseconds,
        longestOnDuty: Milliseconds, isMisfit: Bool = false
    ) {
        self.counts = counts
        self.stats = stats
        self.observed = observed
        self.longestOnDuty = longestOnDuty
        self.isMisfit = isMisfit
    }

    /// The outcome of a run that is over.
    package init(_ run: TuneRun) {
        self.init(
            counts: run.aggregates.counts, stats: run.stats, observed: run.aggregates.observed,
            longestOnDuty: run.policy.longestOnDuty, isMisfit: run.isMisfit)
    }

    /// Days that we could see.
    package var days: Double { Double(observed.count) / 86_400_000 }

    /// A count as so many a day; 0 of nothing seen.
    package func daily(_ count: Int) -> Double { days > 0 ? Double(count) / days : 0 }

    /// Returns the cost of a day.
    package func cost(_ weights: TuneWeights) -> Double {
        guard days > 0 else { return 0 }
        let gaps =
            weights.falseAlarm * Double(counts.all.healed)
            + weights.lateMinute * Double(stats.undetected.count) / 60_000
            + weights.missed * Double(stats.missed)
        let notifications =
            weights.page * Double(counts.allNotifications.short)
            + weights.page * Double(stats.laterNotifications.count) / 60_000
            + weights.missed * Double(stats.missedNotifications)
        return (gaps + notifications) / days
    }
}

/// The reason why a setting is never advised, however cheap it is.
package enum TuneObjection: Equatable, Sendable {
    /// In a policy of the history it makes no sense.
    case misfit
    /// So many more long gaps never become OFFLINE.
    case misses(Int)
    /// So many pages that lasted never come.
    case missesNotifications(Int)
    /// Somebody on duty may be silent for so long before they are OFFLINE.
    case slow(Milliseconds)
    /// Alerts fire for so many times as long: who is always paged is never told anything new.
    case rings(Double)
}

/// The reason why the present setting is to be kept.
package enum TuneKeep: Equatable, Sendable {
    /// Less was observed than `TuneAdvice.observedMin`.
    case short(Milliseconds)
    /// Fewer gaps and pages than `TuneAdvice.eventsMin`.
    case few(Int)
    /// Every other one costs more.
    case best
    /// The best other one saves only this share of the cost.
    case small(Double)
    /// There are cheaper ones; the cheapest of them is refused for this.
    case refused(Int, TuneObjection)
    /// Nothing that is counted tells whether it is better.
    case unjudged
}

/// The advice about one setting, or several that are changed together.
package enum TuneAdvice: Equatable, Sendable {
    case keep(TuneKeep)
    /// Take the setting at this place; it saves this share of the cost.
    case take(Int, saves: Double)

    /// The memo: detect unreachable responders within 2 to 3 minutes.
    package static let onDutyMax = Milliseconds.seconds(180)
    /// Days have a shape: less than most of one says nothing about the rest.
    package static let observedMin = Milliseconds.seconds(20 * 3600)
    /// Less than so many false alarms, long gaps and pages is chance.
    package static let eventsMin = 20
    /// Alerts may fire for so many times as long as now.
    package static let firingMax = 1.5
    /// A change is work and a risk of its own: it must save at least this share.
    package static let savesMin = 0.05

    /// Advice about the settings at `places` of `outcomes`, of which the first is the present one.
    ///
    /// The cheapest wins, if nothing speaks against it, it saves enough, and enough was seen.
    package static func about(
        _ places: [Int], of outcomes: [TuneOutcome], _ weights: TuneWeights,
        isEvaluated: Bool = true
    ) -> TuneAdvice {
        let present = outcomes[0]
        if !isEvaluated { return .keep(.unjudged) }
        if present.observed < observedMin { return .keep(.short(present.observed)) }
        let events =
            present.counts.all.healed + present.stats.long + present.counts.allNotifications.fired
        if events < eventsMin { return .keep(.few(events)) }
        let cost = present.cost(weights)
        let cheaper =
            places.map { ($0, outcomes[$0].cost(weights)) }.filter { $0.1 < cost }
            .sorted { ($0.1, $0.0) < ($1.1, $1.0) }
        guard let cheapest = cheaper.first else { return .keep(.best) }
        let sound = cheaper.first { objection(to: outcomes[$0.0], present) == nil }
        guard let sound else {
            let objection = objection(to: outcomes[cheapest.0], present)
            return .keep(objection.map { .refused(cheapest.0, $0) } ?? .best)
        }
        let saves = (cost - sound.1) / cost
        return saves < savesMin ? .keep(.small(saves)) : .take(sound.0, saves: saves)
    }

    /// Returns what speaks against a setting, whatever it costs; nil for nothing.
    package static func objection(
        to outcome: TuneOutcome, _ present: TuneOutcome
    ) -> TuneObjection? {
        if outcome.isMisfit { return .misfit }
        let missed = outcome.stats.missed - present.stats.missed
        if missed > 0 { return .misses(missed) }
        if outcome.stats.missedNotifications > 0 {
            return .missesNotifications(outcome.stats.missedNotifications)
        }
        if outcome.longestOnDuty > max(onDutyMax, present.longestOnDuty) {
            return .slow(outcome.longestOnDuty)
        }
        let firing = outcome.counts.allNotifications.firing.count
        let now = present.counts.allNotifications.firing.count
        if now > 0, Double(firing) > Double(now) * firingMax {
            return .rings(Double(firing) / Double(now))
        }
        return nil
    }
}
