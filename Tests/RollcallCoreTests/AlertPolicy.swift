import RollcallCore

extension AlertRules {
    /// The alerts in the words of a timeline's `policy`.
    static let names: [Substring] = ["rate", "flapping", "offline", "noonline", "feed"]

    /// Sets what `words` name of an alert: `above=0.5,by=region,for=0s,keep=60s,changes=2,off`.
    mutating func set(_ name: Substring, _ words: Substring) throws {
        for word in words.split(separator: ",") {
            let parts = word.split(separator: "=")
            let value = parts.count > 1 ? parts[1] : ""
            switch (name, parts[0]) {
            case ("rate", "above"): offlineAbove = Int64((Double(value) ?? .nan) * 10_000)
            case ("rate", "by"): isOfflineByRegion = value == "region"
            case ("rate", "min_active"): offlineMinActive = Int(value) ?? 0
            case ("rate", "min_offline"): offlineMin = Int(value) ?? 0
            case ("flapping", "changes"): flappingChanges = Int(value) ?? 0
            case ("flapping", "window"): flappingWindow = Milliseconds(try Script.span(value))
            case ("flapping", "clear_below"): flappingClearBelow = Int(value) ?? 0
            case ("offline", "on"): responderOffline.isEnabled = true
            case ("offline", "duty"):
                offlineDuties = DutyState.allCases.filter { "\($0.word)" == value }
            case ("offline", "regions"):
                offlineRegions = value.split(separator: "+").map { Array($0.utf8) }
            default: try set(name, parts[0], value)
            }
        }
    }

    private mutating func set(_ name: Substring, _ key: Substring, _ value: Substring) throws {
        var rule: Rule
        switch name {
        case "rate": rule = highOfflineRate
        case "flapping": rule = responderFlapping
        case "offline": rule = responderOffline
        case "noonline": rule = noOnlineResponders
        default: rule = telemetryFeedDown
        }
        switch key {
        case "for": rule.pendingFor = Milliseconds(try Script.span(value))
        case "keep": rule.keepFiringFor = Milliseconds(try Script.span(value))
        case "off": rule.isEnabled = false
        default: throw TimelineError(message: "no setting of \(name): \(key)")
        }
        switch name {
        case "rate": highOfflineRate = rule
        case "flapping": responderFlapping = rule
        case "offline": responderOffline = rule
        case "noonline": noOnlineResponders = rule
        default: telemetryFeedDown = rule
        }
    }
}
