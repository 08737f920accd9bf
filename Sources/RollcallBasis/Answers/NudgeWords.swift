import RollcallCore
import RollcallStore
import RollcallSupport

/// The plain words by which nudges are told. Source: N8.
package enum NudgeWords {
    /// An outcome of a nudge, and when it was known.
    package struct Followed: Equatable {
        package let outcome: NudgeOutcome
        package let at: Timestamp

        /// The ledger hands over what it read of a nudge's outcome, and the turn's instant.
        package init(outcome: NudgeOutcome, at: Timestamp) {
            self.outcome = outcome
            self.at = at
        }
    }

    /// Returns the reason why somebody is not nudged, in words.
    package static func reason(_ reason: NudgeReason) -> String {
        switch reason {
        case .offDuty: "they are not expected to share"
        case .paused: "they paused sharing"
        case .solo: "nobody else of their circles is active"
        case .noToken: "nobody told where a push would reach them"
        case .throttled:
            "they were nudged or asked for within the interval, or nudges are frozen"
        case .rate: "so many are nudged that they wait for their turn"
        case .blind: "we cannot see, or could not until lately"
        case .fresh: "they were located just now"
        case .pendingPeers:
            "nobody else of their circles is active in this cell, and the others were not heard yet"
        }
    }

    /// Returns what came of asking for somebody, in words.
    package static func asked(_ result: AskResult) -> String {
        switch result {
        case .send: "asked: the push is on its way"
        case .dryRun: "would be asked; a dry run, so nothing is sent"
        case .outsider: "not asked: whoever asks is in no circle of theirs"
        case .disabled: "not asked: nudges are disabled"
        case .hold(let reason): "not asked: \(Self.reason(reason))"
        }
    }

    /// Returns what followed a nudge, in words; `later` is the time in between.
    package static func outcome(_ outcome: NudgeOutcome, later: Milliseconds?) -> String {
        let within = within(later)
        return switch outcome {
        case .located:
            "a location came \(later.map { "\(ConsoleStyle.span($0)) later" } ?? "after it")"
        case .contact: "contact came \(within), but no newer location"
        case .silent: "nothing came \(within)"
        case .unseen: "nothing was seen \(within), but we were blind for a part of it"
        }
    }

    /// Returns how long it was waited for: half an hour, or less if the next nudge came before (N8,
    /// D7).
    private static func within(_ later: Milliseconds?) -> String {
        guard let later, later.count < Nudging.followedFor.count - 1000 else {
            return "within half an hour"
        }
        return "in the \(ConsoleStyle.span(max(Milliseconds(0), later))) until the next nudge"
    }

    // MARK: - The ledger

    /// An entry of the ledger, which was decided `at` that time.
    package static func entry(
        _ report: NudgeReport, at: Timestamp, _ push: PushDeliveryStatus?, _ followed: Followed?
    ) -> String {
        if report.kind == .hold {
            let reason = report.reason.map { Self.reason($0) } ?? "nobody knows why"
            let rest = report.until.map { "; for \(ConsoleStyle.span($0 - at)) more" } ?? ""
            return "not nudged: \(reason)\(rest)"
        }
        let asked = report.facts.isAsked ? ", because somebody asked" : ""
        if report.isDryRun { return "to be nudged\(asked); a dry run, so nothing was sent" }
        let rest = followed.map { "; \(outcome($0.outcome, later: $0.at - at))" } ?? ""
        return sent(push) + asked + rest
    }

    private static func sent(_ push: PushDeliveryStatus?) -> String {
        switch (push?.state, push?.outcome) {
        case (_, .unknown): "nudged, but nobody knows whether the push arrived"
        case (_, .expired): "to be nudged, but the push was refused until it was too late"
        case (_, .failed): "to be nudged, but the push could not be delivered"
        case (_, .unregistered): "to be nudged, but the phone has no such app any more"
        case (_, .dropped): "to be nudged, but it was not wanted any more before the push went out"
        case (_, .removed): "to be nudged, but the settings know no sink any more"
        case (.waiting, nil), (.sending, nil): "to be nudged; the push is on its way"
        case (_, .delivered), (.ticketed, nil), (.over, nil), (nil, nil): "nudged"
        }
    }

    // MARK: - Now

    /// Says whether somebody would be nudged now, and if not, why not and when at the earliest.
    package static func answer(
        _ answer: NudgeAnswer, _ standing: NudgeStanding, now: Timestamp
    ) -> String {
        if standing.mode == .disabled { return "not nudged: nudges are disabled" }
        if let reason = answer.reasons.first(where: { $0 <= .paused }) {
            return "not nudged: \(Self.reason(reason))"
        }
        guard let stale = answer.stale else {
            return "not nudged: no location of theirs is known yet"
        }
        guard answer.isStale else {
            return "not nudged: their location is \(ConsoleStyle.span(stale)) old, and is too old "
                + "from \(ConsoleStyle.span(answer.limit)) on\(rest(answer, now))"
        }
        guard !answer.reasons.isEmpty else {
            return standing.mode == .live
                ? "to be nudged now" : "to be nudged now; a dry run, so nothing is sent"
        }
        let reasons = answer.reasons.map { reason in
            reason == .throttled ? throttled(answer, standing, now) : Self.reason(reason)
        }
        return "not nudged now: \(reasons.joined(separator: "; "))\(rest(answer, now))"
    }

    private static func throttled(
        _ answer: NudgeAnswer, _ standing: NudgeStanding, _ now: Timestamp
    ) -> String {
        // Who was never nudged can only be held by the freeze.
        if let last = answer.lastAt, standing.frozenUntil == nil {
            let ago = "\(ConsoleStyle.span(now - last)) ago"
            return standing.mode == .live
                ? "they were nudged \(ago)" : "they would have been nudged \(ago), in a dry run"
        }
        return standing.frozenUntil == nil
            ? Self.reason(.throttled)
            : "nudges are frozen, because the clock stepped or the store is an older one"
    }

    private static func rest(_ answer: NudgeAnswer, _ now: Timestamp) -> String {
        guard let earliest = answer.earliest, earliest > now else { return "" }
        return "; in \(ConsoleStyle.span(earliest - now)) at the earliest"
    }
}
