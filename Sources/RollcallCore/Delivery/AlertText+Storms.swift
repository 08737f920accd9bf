/// A storm in words: one text for many alerts of one name. Source: D11.
extension AlertText {
    /// Returns in how many places it is, and how many people that concerns.
    func headline(_ storm: StormFacts) -> String {
        let count = facts.stats.count
        let isFeed = member.name == .telemetryFeedDown
        let thing = isFeed ? "backend" : "region"
        let places = "\(storm.count.grouped) \(thing)\(storm.count == 1 ? "" : "s")"
        if isOver { return "\(member.name.word) in none of \(places) any more" }
        switch member.name {
        case .highOfflineRate: return "\(share) cannot be reached in \(places)"
        case .noOnlineResponders:
            return "Nobody can be reached in \(places), \(share) out of contact"
        case .responderFlapping:
            let people = count == 1 ? "1 responder keeps" : "\(count.grouped) responders keep"
            return "\(people) dropping out in \(places)"
        case .responderOffline: return "\(places): \(share) OFFLINE"
        case .telemetryFeedDown: return "\(places) stopped beating"
        default: return "\(places): \(member.name.word)"
        }
    }

    /// Those with the most people, one after another, and how many there are beside them.
    func passed(_ storm: StormFacts) -> String {
        let rest = storm.count - storm.top.count
        let top = storm.top.map { AlertText($0, name: name).place(among: member.name) }
        let more = rest > 0 ? "; and \(rest.grouped) more" : ""
        return
            "\(storm.count.grouped) alerts of \(member.name.word) fire as of \(Self.clock(storm.at)) "
            + "and are told as one. The most people: \(top.joined(separator: "; "))\(more)."
    }

    /// `north 12 of 12: 4 low_power, 8 no_network`: one of many.
    private func place(among name: AlertName) -> String {
        if name == .telemetryFeedDown {
            return Self.short(member.labels.value(of: Array("source".utf8)))
        }
        return "\(place) \(share)\(causes)"
    }
}
