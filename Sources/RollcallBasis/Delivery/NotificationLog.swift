import Logging
import RollcallCore
import RollcallSupport

/// Messages as lines of our own log: who has no receiver still finds what fired. Source:
/// A8.
///
/// They name no person: an erasure does not reach what a log's reader has kept.
enum NotificationLog {
    /// The names of what is in the line already, or names people.
    private static let leftOut = ["summary", "description", "responders"].map { Array($0.utf8) }

    /// Writes a line for each member, with the words that pagers get.
    static func write(_ message: NotificationMessage, to log: Logger) {
        for alert in message.members {
            log.log(level: level(alert), "\(words(alert, message.kind))", metadata: fields(alert))
        }
    }

    private static func words(_ alert: NotificationAlert, _ kind: Notice.Kind) -> String {
        let state =
            switch (alert.isFiring, kind) {
            case (false, _): "resolved"
            case (true, .repeated): "still firing"
            case (true, _): "firing"
            }
        return "alert \(state): \(alert.headline)"
    }

    private static func level(_ alert: NotificationAlert) -> Logger.Level {
        guard alert.isFiring else { return .info }
        switch alert.label("severity") {
        case "critical": return .critical
        case "warning": return .warning
        default: return .info
        }
    }

    /// Labels as they are; of the rest, what is not in the line already.
    private static func fields(_ alert: NotificationAlert) -> Logger.Metadata {
        var fields: Logger.Metadata = ["starts_at": "\(RFC3339.string(alert.startsAt))"]
        if !alert.isFiring { fields["ends_at"] = "\(RFC3339.string(alert.ended))" }
        for label in alert.labels + alert.fields
        where !label.value.isEmpty && !leftOut.contains(label.name) {
            let name = NotificationWords.text(label.name)
            if fields[name] == nil { fields[name] = "\(NotificationWords.text(label.value))" }
        }
        return fields
    }
}
