import RollcallCore
import RollcallSupport

/// A message as lines of plain text, for channels that know no other form. Source: A8.
enum ChannelText {
    /// Alerts that are written out at most.
    static let alertsMax = 15

    /// One line: the first member, and how many more there are.
    static func title(_ message: NotificationMessage, bytesMax: Int) -> String {
        guard let first = message.members.first else { return "" }
        let rest = message.members.count - 1
        let more = rest > 0 ? " (and \(rest) more)" : ""
        let line = "\(first.mark): \(AnswerWords.oneLine(first.headline))"
        return NotificationWords.clipped(line, bytesMax: bytesMax - more.utf8.count) + more
    }

    /// The members one after another, as far as they fit; the others are counted, as is what the
    /// channel knows already.
    static func body(_ message: NotificationMessage, bytesMax: Int) -> String {
        let members = message.members
        let isOne = members.count == 1
        var blocks: [String] = []
        var room = bytesMax - restMax
        for alert in members.prefix(alertsMax) {
            let text = lines(alert, isOne: isOne).joined(separator: "\n")
            guard text.utf8.count + 2 <= room || blocks.isEmpty else { break }
            blocks.append(NotificationWords.clipped(text, bytesMax: room))
            room -= text.utf8.count + 2
        }
        var rest: [String] = []
        let more = members.count - blocks.count
        if more > 0 { rest.append("and \(more) more") }
        let firing = message.context.filter(\.isFiring).count + message.contextMore
        if firing > 0 { rest.append("still firing: \(firing) more") }
        if !rest.isEmpty { blocks.append(rest.joined(separator: " · ")) }
        return blocks.joined(separator: "\n\n")
    }

    /// Returns where people see all of a message (D8): of several alerts the list of their name.
    static func page(_ message: NotificationMessage) -> String {
        guard let first = message.members.first else { return "" }
        if message.members.count == 1 { return first.generatorURL }
        let name = first.label("alertname")
        return message.externalURL.isEmpty
            ? "" : "\(message.externalURL)/alerts?alertname=\(name)"
    }

    /// Bytes that the counts of the rest may take.
    private static let restMax = 80

    private static func lines(_ alert: NotificationAlert, isOne: Bool) -> [String] {
        // Of a single one the title says it.
        var lines = isOne ? [] : ["\(alert.mark): \(AnswerWords.oneLine(alert.headline))"]
        lines += description(alert)
        // What was counted while it fired says nothing about its end.
        for label in alert.isFiring ? alert.details : [] where !label.value.isEmpty {
            let value = NotificationWords.text(label.value)
            lines.append(
                AnswerWords.oneLine("\(NotificationWords.text(label.name)): \(value)"))
        }
        lines.append(footer(alert))
        lines += alert.links.map { "\($0.name): \(AnswerWords.oneLine($0.url))" }
        return lines
    }

    /// The settings may give it several lines.
    private static func description(_ alert: NotificationAlert) -> [String] {
        alert.annotation("description").split(whereSeparator: \.isNewline)
            .map { AnswerWords.oneLine(String($0)) }
    }

    /// Its name, how bad it is, since when and until when.
    private static func footer(_ alert: NotificationAlert) -> String {
        var parts = [alert.label("alertname")]
        if alert.isFiring { parts.append(alert.label("severity")) }
        parts.append("since \(RFC3339.string(alert.startsAt))")
        if !alert.isFiring { parts.append("over since \(RFC3339.string(alert.ended))") }
        return parts.filter { !$0.isEmpty }.joined(separator: " · ")
    }
}
