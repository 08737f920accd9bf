import RollcallCore
import RollcallSupport

/// Alerts as Alertmanager takes them: `POST /api/v2/alerts`, a JSON array.
///
/// It knows an alert by its labels alone, so the same one may be sent any number of times, to any
/// number of them. Source: A8; Alertmanager's `api/v2/openapi.yaml`.
enum AlertmanagerBody {
    /// Alerts of one request at most, as Prometheus sends them.
    static let alertsMax = 256
    /// Behind the address of the settings, unless it ends so already.
    static let path = "/api/v2/alerts"

    /// The URL that alerts are sent to at the Alertmanager at `url`.
    static func url(_ url: String) -> String {
        let end = url.firstIndex { $0 == "?" || $0 == "#" } ?? url.endIndex
        var base = url[..<end]
        while base.last == "/" { base.removeLast() }
        return "\(base)\(base.hasSuffix(path) ? "" : path)\(url[end...])"
    }

    /// The bodies of as many requests as the members need; what the receiver knows already it is
    /// told in its own messages.
    /// Alerts that fire do so for `timeout` without further word: through our restart (D9).
    static func bodies(
        _ message: NotificationMessage, timeout: Milliseconds, now: Timestamp
    ) -> [[UInt8]] {
        let alerts = Array(message.members)
        return stride(from: 0, to: alerts.count, by: alertsMax).map { start in
            let part = alerts[start..<min(start + alertsMax, alerts.count)]
            return NotificationWords.bytes(.list(part.map { tree($0, until: now + timeout) }))
        }
    }

    private static func tree(_ alert: NotificationAlert, until end: Timestamp) -> JSONTree {
        var members: [JSONTree.Member] = [
            JSONTree.Member(
                name: "labels", value: .object(NotificationWords.members(alert.labels))),
            JSONTree.Member(
                name: "annotations", value: .object(NotificationWords.members(alert.fields))),
            JSONTree.Member(name: "startsAt", value: .text(RFC3339.string(alert.startsAt))),
            JSONTree.Member(
                name: "endsAt",
                value: .text(RFC3339.string(alert.isFiring ? end : alert.ended))),
        ]
        if !alert.generatorURL.isEmpty {
            members.append(JSONTree.Member(name: "generatorURL", value: .text(alert.generatorURL)))
        }
        return .object(members)
    }
}

extension NotificationAlert {
    /// The instant at which it ended; that at which it began if that is not known: then it is over
    /// in any case.
    var ended: Timestamp { endsAt ?? startsAt }
}
