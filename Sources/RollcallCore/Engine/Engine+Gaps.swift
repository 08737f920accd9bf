/// The engine runs the book of gaps: it reads it, and settles what falls due in it. Source:
/// Contract/Gaps.
extension Engine {
    /// Returns the last report of the gap of person `number` that is open or waits for its verdict;
    /// nil without one.
    package func followedGap(of number: Int) -> GapReport? { gaps[number]?.report }

    /// The outcomes of the gaps before, as a value that crosses threads.
    package var pastGaps: PastGaps { gaps.past }

    /// Returns what usually follows the open gap of person `number`; nil without one that counts.
    package func outlook(of number: Int) -> (report: GapReport, outlook: GapOutlook)? {
        guard let gap = gaps[number], gap.isCounted, gap.due == nil else { return nil }
        let outlook = gaps.past.outlook(for: gap.report, now: clock.now, kept: policy.retention)
        return (gap.report, outlook)
    }

    /// Returns what is suspected of the open gap of person `number`, and when it opened; nil without one
    /// that counts.
    package func suspicion(of number: Int) -> (cause: GapCause, openedAt: Timestamp)? {
        guard roster[number].hasGap, let gap = gaps[number], gap.isCounted, gap.due == nil
        else { return nil }
        return (gap.report.suspected, gap.report.openedAt)
    }

    /// The instant at which the feed is to be suspected if no batch comes (B3); none while a failing store
    /// has us refuse them (D6).
    var nextStall: RunningTime {
        guard sight.feed.sources.isEmpty, !sight.isStoreFailing, policy.role != .fleet else {
            return .distantFuture
        }
        return gaps.nextStall(policy)
    }

    /// Suspects the feed if it is time to.
    mutating func settleStall() {
        guard nextStall <= clock.now else { return }
        gaps.suspectFeed(&people, policy, clock, &decisions)
        followSuspicions()
    }

    /// Delivers the verdicts that are due.
    mutating func settleVerdicts() {
        let first = decisions.count
        let due = gaps.deliverVerdicts(&people, policy, clock, &counters, &decisions)
        if policy.role == .cell {
            for case .gap(_, let number, let gap) in decisions[first...] {
                endReport(number, gap.report.suspected)
            }
        }
        for number in due { people.roster[number].hasGap = false }
        guard policy.alerts.responderOffline.isEnabled else { return }
        for case .gap(_, let number, let gap) in decisions[first...] {
            guard let verdict = gap.verdict else { continue }
            alerting.board.learn(verdict, number, gap.report.facts.region)
        }
    }
}
