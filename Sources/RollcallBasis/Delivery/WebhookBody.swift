import RollcallCore
import RollcallSupport

/// A message in the words of Alertmanager's webhook, version 4: what everything that takes alerts
/// can read. Source: A8; Alertmanager's `notify/webhook` and `template`.
enum WebhookBody {
    /// Alerts of one body at most: Grafana OnCall takes fewer than 100.
    static let alertsMax = 99
    /// Go's zero time: no end yet.
    static let noEnd = "0001-01-01T00:00:00Z"

    /// The body. Alerts beyond `alertsMax` or `NotificationWords.bodyBytesMax` are only counted,
    /// those that the receiver knows already first.
    static func bytes(_ message: NotificationMessage) -> [UInt8] {
        var count = min(message.alerts.count, alertsMax)
        while true {
            let bytes = NotificationWords.bytes(tree(message, Array(message.alerts.prefix(count))))
            if bytes.count <= NotificationWords.bodyBytesMax || count <= 1 { return bytes }
            count /= 2
        }
    }

    private static func tree(_ message: NotificationMessage, _ alerts: [NotificationAlert])
        -> JSONTree
    {
        let name = alerts.first?.label("alertname") ?? ""
        return [
            "receiver": .text(message.receiver),
            "status": .text(status(message.isFiring)),
            "alerts": .list(alerts.map(tree)),
            "groupLabels": ["alertname": .text(name)],
            "commonLabels": .object(common(alerts.map { NotificationWords.members($0.labels) })),
            "commonAnnotations": .object(
                common(alerts.map { NotificationWords.members($0.fields) })),
            "externalURL": .text(message.externalURL),
            "version": "4",
            "groupKey": .text("{}:{alertname=\"\(name)\"}"),
            "truncatedAlerts": .integer(
                Int64(message.alerts.count + message.contextMore - alerts.count)),
        ]
    }

    private static func tree(_ alert: NotificationAlert) -> JSONTree {
        let labels = NotificationWords.members(alert.labels)
        return [
            "status": .text(status(alert.isFiring)),
            "labels": .object(labels),
            "annotations": .object(NotificationWords.members(alert.fields)),
            "startsAt": .text(RFC3339.string(alert.startsAt)),
            "endsAt": .text(alert.isFiring ? noEnd : RFC3339.string(alert.ended)),
            "generatorURL": .text(alert.generatorURL),
            "fingerprint": .text(fingerprint(labels)),
        ]
    }

    private static func status(_ isFiring: Bool) -> String { isFiring ? "firing" : "resolved" }

    /// Returns the members that all lists have alike.
    private static func common(_ lists: [[JSONTree.Member]]) -> [JSONTree.Member] {
        guard let first = lists.first else { return [] }
        return first.filter { member in lists.dropFirst().allSatisfy { $0.contains(member) } }
    }

    /// 16 hexadecimal digits: FNV-1a, 64 bits, of each name and value by name, a byte 0xFF after
    /// each, which no text can hold. Source: Prometheus' `model/signature.go`.
    static func fingerprint(_ labels: [JSONTree.Member]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func add(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        for label in labels {
            guard case .text(let value) = label.value else { continue }
            add(label.name.utf8)
            add([0xFF])
            add(value.utf8)
            add([0xFF])
        }
        return NotificationPayload.hexadecimal(hash)
    }
}
