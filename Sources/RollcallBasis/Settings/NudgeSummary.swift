import RollcallCore

/// The meaning of the settings of nudges, in words.
extension Configuration {
    /// Sentences about who is asked to open the app, and by whom.
    var nudgeWords: [String] {
        let rules = policy.nudges
        if rules.mode == .disabled { return ["Nobody is nudged, and nobody is woken."] }
        let others = rules.staleAfter.others.map { name, span in
            let whom =
                switch name {
                case "on_duty": "on duty"
                case "on_mission": "on a mission"
                case "ios": "on iOS"
                default: "on Android"
                }
            return "\(whom) \(Self.words(span))"
        }
        let some =
            others.isEmpty ? "" : " (\(others.joined(separator: ", ")); the smallest that applies)"
        let peers =
            rules.peers == .circleOrRegion
            ? "somebody else of their circles, or without circles of their region, is active"
            : "somebody else of their circles is active"
        return [
            "Somebody whose location is older than \(Self.words(rules.staleAfter.standard))\(some) "
                + "is asked to open the app, at most every \(Self.words(rules.minInterval)), if "
                + "\(peers). \(carrying)"
        ]
    }

    private var carrying: String {
        let rules = policy.nudges
        guard rules.mode == .live else { return "Dry run: nothing is sent." }
        let place = pushSink.map { " at \($0.place)" } ?? ""
        return "\(rules.sink.word)\(place) carries that, at most \(rules.ratePerSecond) a second, "
            + "within \(Self.words(rules.timeToLive))."
    }
}
