import RollcallCore
import RollcallSupport

extension Configuration {
    /// More often than this is a nag, and a nag is ignored.
    private static let nagBelow = Milliseconds.seconds(3600)

    /// The configuration warnings in the nudges.
    var nudgeWarnings: [ConfigurationWarning] {
        let rules = policy.nudges
        if rules.mode == .disabled {
            return [
                ConfigurationWarning(
                    key: "nudges.mode",
                    reason: "disabled: nobody learns that their own phone has fallen silent")
            ]
        }
        var found: [ConfigurationWarning] = []
        if rules.mode == .dryRun, let sink = pushSink {
            found.append(
                ConfigurationWarning(
                    key: "nudges.mode",
                    reason: "dry_run: nudges are decided, and \(sink.place) is told of none"))
        }
        found += timeWarnings
        if let sink = pushSink, let place = Destination(url: sink.url),
            place.text.hasPrefix("http://"), !place.isLoopback
        {
            found.append(
                ConfigurationWarning(
                    key: "nudges.sink.\(sink.kind.rule.word).url",
                    reason: "\(place.text) speaks no TLS: on the way anybody can read and change "
                        + "who is nudged and what they read"))
        }
        return found
    }

    private var timeWarnings: [ConfigurationWarning] {
        let rules = policy.nudges
        var found: [ConfigurationWarning] = []
        let spans = [("default", rules.staleAfter.standard)] + rules.staleAfter.others
        let offline = max(policy.onDuty.offlineAfter, policy.onMission.offlineAfter)
        if let (_, least) = spans.min(by: { $0.1 < $1.1 }), least <= offline {
            found.append(
                ConfigurationWarning(
                    key: "nudges.stale_after",
                    reason: "\(Self.words(least)) is not longer than offline_after "
                        + "(\(Self.words(offline))): people are nudged for what may heal by itself")
            )
        }
        if rules.staleAfter.standard >= policy.forgetAfter {
            found.append(
                ConfigurationWarning(
                    key: "nudges.stale_after",
                    reason: "\(Self.words(rules.staleAfter.standard)) is not shorter than "
                        + "liveness.forget_after (\(Self.words(policy.forgetAfter))): who is "
                        + "silent for so long is not expected any more, and not nudged"))
        }
        if rules.minInterval < Self.nagBelow {
            found.append(
                ConfigurationWarning(
                    key: "nudges.min_interval",
                    reason: "\(Self.words(rules.minInterval)) is less than "
                        + "\(Self.words(Self.nagBelow)): a nag is soon ignored"))
        }
        if rules.timeToLive > rules.minInterval {
            found.append(
                ConfigurationWarning(
                    key: "nudges.ttl",
                    reason: "\(Self.words(rules.timeToLive)) is longer than min_interval "
                        + "(\(Self.words(rules.minInterval))): two nudges may arrive together"))
        }
        return found
    }
}
