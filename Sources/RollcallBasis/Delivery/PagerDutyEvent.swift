import RollcallCore
import RollcallSupport

/// One event of PagerDuty's Events API v2: an alert fires or is over. Source: A8;
/// PagerDuty's "Send an Event".
enum PagerDutyEvent {
    /// Characters of a summary at most.
    static let summaryMax = 1024

    /// The event. What tells incidents apart is the alert's key: the same in the trigger, in each
    /// repeat of it and in the resolve, whatever happens in between.
    static func bytes(_ alert: NotificationAlert, routingKey: Secret?, externalURL: String)
        -> [UInt8]
    {
        var members: [JSONTree.Member] = [
            member("routing_key", String(decoding: routingKey?.bytes ?? [], as: UTF8.self)),
            member("event_action", alert.isFiring ? "trigger" : "resolve"),
            member("dedup_key", alert.key),
        ]
        guard alert.isFiring else { return NotificationWords.bytes(.object(members)) }
        members.append(member("client", "Rollcall"))
        if !externalURL.isEmpty { members.append(member("client_url", externalURL)) }
        members.append(JSONTree.Member(name: "payload", value: payload(alert)))
        members.append(JSONTree.Member(name: "links", value: .list(alert.links.map(link))))
        return NotificationWords.bytes(.object(members))
    }

    private static func link(_ name: String, _ url: String) -> JSONTree {
        ["href": .text(url), "text": .text(name)]
    }

    private static func payload(_ alert: NotificationAlert) -> JSONTree {
        let region = alert.label("region")
        var members: [JSONTree.Member] = [
            member("summary", String(alert.annotation("summary").prefix(summaryMax))),
            member("source", region.isEmpty ? "rollcall" : "rollcall/\(region)"),
            member("severity", severity(alert.label("severity"))),
            member("timestamp", time(alert.startsAt)),
            member("component", component(alert.label("alertname"))),
            member("class", alert.label("alertname")),
            JSONTree.Member(
                name: "custom_details", value: .object(NotificationWords.members(alert.further))),
        ]
        if !region.isEmpty { members.insert(member("group", region), at: 5) }
        return .object(members)
    }

    /// Theirs has no `none`; what they do not know counts as `error`.
    private static func severity(_ word: String) -> String {
        ["critical", "warning", "info"].contains(word) ? word : "error"
    }

    /// The part of us that speaks.
    private static func component(_ alertname: String) -> String {
        switch alertname {
        case "HighOfflineRate", "NoOnlineResponders", "ResponderFlapping", "ResponderOffline":
            "liveness"
        case "TelemetryFeedDown": "feed"
        case "RollcallStateLost", "RollcallStoreFailing": "store"
        default: "rollcall"
        }
    }

    /// As their examples write it: `2026-11-21T03:00:00.000+0000`.
    private static func time(_ time: Timestamp) -> String {
        RFC3339.string(time).dropLast() + "+0000"
    }

    private static func member(_ name: String, _ value: String) -> JSONTree.Member {
        JSONTree.Member(name: name, value: .text(value))
    }
}
