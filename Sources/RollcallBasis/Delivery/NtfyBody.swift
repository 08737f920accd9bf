import RollcallCore
import RollcallSupport

/// A message as ntfy takes it in JSON at its server's root: in header fields a title could only be
/// ASCII. Source: A8; docs.ntfy.sh, "Publish as JSON".
enum NtfyBody {
    /// Bytes of a message at most: more becomes an attachment, where those are on.
    static let messageMax = 4096
    /// Bytes of a title at most.
    static let titleMax = 250

    /// The body. What ends has a low priority: it lies in the drawer, and wakes nobody.
    static func bytes(_ message: NotificationMessage, topic: String) -> [UInt8] {
        let isFiring = message.members.contains { $0.isFiring }
        let severity = isFiring ? Self.severity(message) : ""
        var tags = [isFiring ? emoji(severity) : "white_check_mark"]
        if let first = message.members.first { tags.append(first.label("alertname")) }
        var members: [JSONTree.Member] = [
            member("topic", .text(topic)),
            member("title", .text(ChannelText.title(message, bytesMax: titleMax))),
            member("message", .text(ChannelText.body(message, bytesMax: messageMax))),
            member("priority", .integer(isFiring ? priority(severity) : 2)),
            member("tags", .list(tags.filter { !$0.isEmpty }.map { .text($0) })),
        ]
        let page = ChannelText.page(message)
        if !page.isEmpty { members.append(member("click", .text(page))) }
        return NotificationWords.bytes(.object(members))
    }

    /// The worst of what fires.
    private static func severity(_ message: NotificationMessage) -> String {
        let found = message.members.filter(\.isFiring).map { $0.label("severity") }
        return ["critical", "warning", "info"].first { found.contains($0) } ?? ""
    }

    /// "5: Really long vibration bursts, …"; 3 is the usual.
    private static func priority(_ severity: String) -> Int64 {
        switch severity {
        case "critical": 5
        case "warning": 4
        default: 3
        }
    }

    /// The short codes of emojis: they stand before the title.
    private static func emoji(_ severity: String) -> String {
        switch severity {
        case "critical": "rotating_light"
        case "warning": "warning"
        default: "information_source"
        }
    }

    private static func member(_ name: String, _ value: JSONTree) -> JSONTree.Member {
        JSONTree.Member(name: name, value: value)
    }
}

extension ReceiverAddress {
    /// The header field of a user with a password; none without a user. Source: RFC 7617.
    var basicFields: [(name: String, value: String)] {
        username.isEmpty ? [] : [("Authorization", "Basic \(basicCredentials)")]
    }
}
