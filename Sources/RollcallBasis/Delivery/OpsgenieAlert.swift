import RollcallCore
import RollcallSupport

/// One request of Opsgenie's Alert API v2: an alert is created, or closed by its alias. Source: A8;
/// docs.opsgenie.com, "Alert API".
enum OpsgenieAlert {
    /// Characters of a message at most.
    static let messageMax = 130
    /// Characters of a description at most.
    static let descriptionMax = 15_000
    /// Characters of all details at most.
    static let detailsMax = 8000
    /// Characters of a tag at most.
    static let tagMax = 50
    /// Characters of an entity at most.
    static let entityMax = 512
    /// Characters of a note at most.
    static let noteMax = 25_000

    /// Returns the URL at which an alert is created, or the one of its key closed. Keys are letters,
    /// digits, `.`, `_` and `-`: nothing in them needs an escape.
    static func url(_ alert: NotificationAlert, api: String) -> String {
        var base = api[...]
        while base.last == "/" { base = base.dropLast() }
        let alerts = "\(base)/v2/alerts"
        return alert.isFiring
            ? alerts : "\(alerts)/\(alert.key)/close?identifierType=alias"
    }

    /// The header field that says who asks.
    static func fields(_ key: Secret?) -> [(name: String, value: String)] {
        guard let key else { return [] }
        return [("Authorization", "GenieKey \(String(decoding: key.bytes, as: UTF8.self))")]
    }

    /// The body. An alert that is open under the same alias counts it as a repeat.
    static func bytes(_ alert: NotificationAlert) -> [UInt8] {
        let summary = AnswerWords.oneLine(alert.annotation("summary"))
        guard alert.isFiring else {
            return NotificationWords.bytes([
                "source": "rollcall", "note": .text(clipped(summary, max: noteMax)),
            ])
        }
        let message = clipped(summary.isEmpty ? alert.label("alertname") : summary, max: messageMax)
        let tags = ["alertname", "severity"].map(alert.label).filter { !$0.isEmpty }
        let region = alert.label("region")
        return NotificationWords.bytes([
            "message": .text(message),
            "alias": .text(alert.key),
            "description": .text(description(alert, cut: message != summary ? summary : "")),
            "tags": .list(tags.map { .text(clipped($0, max: tagMax)) }),
            "details": .object(details(alert)),
            "entity": .text(clipped(region.isEmpty ? "fleet" : region, max: entityMax)),
            "source": "rollcall",
            "priority": .text(priority(alert.label("severity"))),
        ])
    }

    /// The text, and the links, for which there is no other field. A title that was cut stands here
    /// whole.
    private static func description(_ alert: NotificationAlert, cut summary: String) -> String {
        let lines =
            [summary, alert.annotation("description")].filter { !$0.isEmpty }
            + alert.links.map { "\($0.name): \($0.url)" }
        return clipped(lines.joined(separator: "\n"), max: descriptionMax)
    }

    /// As many as there is room for: what is not said elsewhere.
    private static func details(_ alert: NotificationAlert) -> [JSONTree.Member] {
        let description = Array("description".utf8)
        var room = detailsMax
        return NotificationWords.members(alert.further.filter { $0.name != description })
            .filter { member in
                guard case .text(let value) = member.value else { return false }
                let count = member.name.utf16.count + value.utf16.count
                guard count <= room else { return false }
                room -= count
                return true
            }
    }

    /// "P1, P2, P3, P4 and P5. Default value is P3".
    private static func priority(_ severity: String) -> String {
        switch severity {
        case "critical": "P1"
        case "warning": "P3"
        default: "P5"
        }
    }

    /// `text` cut between two characters. Opsgenie counts as Java does, in units of UTF-16.
    private static func clipped(_ text: String, max: Int) -> String {
        guard text.utf16.count > max else { return text }
        var end = text.startIndex
        var count = 1
        while end < text.endIndex {
            count += text[end].utf16.count
            if count > max { break }
            end = text.index(after: end)
        }
        return text[..<end] + "…"
    }
}
