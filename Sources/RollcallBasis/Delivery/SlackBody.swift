import RollcallCore
import RollcallSupport

/// A message as Slack's incoming webhooks take it: blocks, and a plain text for what shows none.
/// Source: A8; docs.slack.dev, "Formatting message text" and "Block Kit".
enum SlackBody {
    /// Alerts that are written out at most: "up to 50 blocks in each message", three for each.
    static let alertsMax = 15
    /// Characters of a section's text at most.
    static let sectionMax = 3000
    /// Fields of a section at most.
    static let fieldsMax = 10
    /// Characters of a field at most.
    static let fieldMax = 2000

    /// The body: members first; what the channel knows already is counted only.
    static func bytes(_ message: NotificationMessage) -> [UInt8] {
        let members = message.members
        var blocks: [JSONTree] = []
        for alert in members.prefix(alertsMax) { blocks += self.blocks(alert) }
        var rest: [String] = []
        let more = members.count - alertsMax
        if more > 0 { rest.append("and \(more) more") }
        let firing = message.context.filter(\.isFiring).count + message.contextMore
        if firing > 0 { rest.append("still firing: \(firing) more") }
        if !rest.isEmpty { blocks.append(context(rest.joined(separator: " · "))) }
        return NotificationWords.bytes(["text": .text(fallback(message)), "blocks": .list(blocks)])
    }

    /// One line, for notifications.
    private static func fallback(_ message: NotificationMessage) -> String {
        guard let first = message.members.first else { return "" }
        let rest = message.members.count - 1
        let more = rest > 0 ? " (and \(rest) more)" : ""
        return "\(first.mark): \(escaped(first.headline, max: sectionMax / 2))\(more)"
    }

    private static func blocks(_ alert: NotificationAlert) -> [JSONTree] {
        let severity = alert.isFiring ? alert.label("severity") : ""
        let head = [severity, alert.label("alertname")].filter { !$0.isEmpty }
            .map { " · \(escaped($0, max: 100))" }
        let headline = escaped(alert.headline, max: sectionMax / 4)
        var lines = ["*\(alert.mark)*\(head.joined())", "*\(headline)*"]
        let description = escaped(alert.annotation("description"), max: sectionMax / 2)
        if !description.isEmpty { lines.append(description) }
        var blocks: [JSONTree] = [
            ["type": "section", "text": mrkdwn(lines.joined(separator: "\n"))]
        ]
        // What was counted while it fired says nothing about its end.
        let fields = alert.isFiring ? alert.details.filter { !$0.value.isEmpty } : []
        if !fields.isEmpty {
            blocks.append(["type": "section", "fields": .list(fields.prefix(fieldsMax).map(field))])
        }
        blocks.append(context(footer(alert)))
        return blocks
    }

    private static func field(_ label: Label) -> JSONTree {
        let name = escaped(NotificationWords.text(label.name), max: 200)
        return mrkdwn(
            "*\(name)*\n\(escaped(NotificationWords.text(label.value), max: fieldMax - 300))")
    }

    /// Since when, until when, and where to look.
    private static func footer(_ alert: NotificationAlert) -> String {
        var parts = ["since \(RFC3339.string(alert.startsAt))"]
        if !alert.isFiring { parts.append("over since \(RFC3339.string(alert.ended))") }
        for (name, url) in alert.links {
            // Inside of `<…|…>` these would end the link.
            let target = url.filter { !"<>|".contains($0) }
            parts.append("<\(escaped(target, max: 600))|\(name)>")
        }
        return parts.joined(separator: " · ")
    }

    private static func context(_ text: String) -> JSONTree {
        ["type": "context", "elements": [mrkdwn(text)]]
    }

    private static func mrkdwn(_ text: String) -> JSONTree {
        ["type": "mrkdwn", "text": .text(text)]
    }

    /// "Replace the ampersand, &, with &amp;, the less-than sign, < with &lt; and the greater-than
    /// sign, > with &gt;": without them no name can become a link or call a channel.
    ///
    /// At most `max` characters, never half an entity.
    private static func escaped(_ text: String, max: Int) -> String {
        var result = ""
        var count = 0
        for character in text.unicodeScalars {
            let piece =
                switch character {
                case "&": "&amp;"
                case "<": "&lt;"
                case ">": "&gt;"
                default: String(character)
                }
            count += piece.unicodeScalars.count
            if count >= max { return result + "…" }
            result += piece
        }
        return result
    }
}
