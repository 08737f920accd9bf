import RollcallCore

extension NudgeRules {
    /// Sets what `words` name of the nudges in a timeline's `policy`:
    /// `live,expo,stale=4h,on_mission=1h,ios=2h,interval=6h,ttl=1h,rate=1,company=circle`. A mode,
    /// `live`, `dry_run` or `disabled`, and a sink, `none`, `webhook` or `expo`, stand alone; without
    /// a mode a sink means `live` (N10).
    mutating func set(_ words: Substring) throws {
        var written: Mode?
        for word in words.split(separator: ",") {
            let parts = word.split(separator: "=")
            if parts.count > 1 {
                try set(parts[0], parts[1])
            } else if let mode = Mode.allCases.first(where: { "\($0.word)" == word }) {
                written = mode
            } else if let sink = Sink.allCases.first(where: { "\($0.word)" == word }) {
                self.sink = sink
            } else {
                throw TimelineError(message: "no setting of nudges: \(word)")
            }
        }
        mode = written ?? (sink == .none ? .dryRun : .live)
    }

    private mutating func set(_ key: Substring, _ value: Substring) throws {
        switch key {
        case "rate": ratePerSecond = Int(value) ?? 0
        case "company": peers = value == "circle" ? .circle : .circleOrRegion
        default:
            let span = Milliseconds(try Script.span(value))
            switch key {
            case "stale": staleAfter.standard = span
            case "on_duty": staleAfter.onDuty = span
            case "on_mission": staleAfter.onMission = span
            case "ios": staleAfter.ios = span
            case "android": staleAfter.android = span
            case "interval": minInterval = span
            case "ttl": timeToLive = span
            default: throw TimelineError(message: "no setting of nudges: \(key)")
            }
        }
    }
}
