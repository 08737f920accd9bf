import RollcallCore
import RollcallSupport

/// The requests to push for a backend of one's own: the body of one Standard Webhooks message.
/// Source: N6, N7, N9.
enum WebhookPush {
    /// The body. It stays the same over retries, but for what is left of the push's life.
    static func bytes(_ push: PushPayload, _ texts: NudgeTexts) -> [UInt8] {
        let type = "responder.\(push.kind.word)"
        let data: [JSONTree.Member]
        switch push.kind {
        case .nudge: data = nudge(push, texts)
        case .wake: data = wake(push)
        }
        return NotificationWords.bytes([
            "type": .text(type), "timestamp": .text(RFC3339.string(push.decidedAt)),
            "data": .object(data),
        ])
    }

    private static func nudge(_ push: PushPayload, _ texts: NudgeTexts) -> [JSONTree.Member] {
        let text = texts.filled(
            push.facts, responderID: push.responderID, platform: push.platform)
        let location = push.facts.lastLocationAt
        let tree: JSONTree = [
            "nudge_id": .text(push.id),
            "responder_id": .text(NotificationWords.text(push.responderID)),
            "title": .text(text.title), "body": .text(text.body),
            "sound": push.isSilent ? "silent" : "default", "priority": "high",
            "ttl_seconds": .integer(push.secondsToLive), "collapse_id": "reconnect",
            "platform": .text("\(push.platform.word)"), "cause": .text("\(push.facts.cause.word)"),
            "last_location_at": location > .distantPast
                ? .text(RFC3339.string(location)) : .null,
            "stale_seconds": .integer(push.facts.stale.count / 1000), "circles": circles(push),
        ]
        return (push.facts.isAsked ? tree.with(["asked": true]) : tree).members
    }

    private static func wake(_ push: PushPayload) -> [JSONTree.Member] {
        let isApple = push.platform == .ios
        var tree: JSONTree = [
            "wake_id": .text(push.id),
            "responder_id": .text(NotificationWords.text(push.responderID)),
            "silent": true, "priority": isApple ? "normal" : "high",
        ]
        // "If you're sending a background notification, specify 5": Apple refuses others.
        if isApple { tree = tree.with(["apns_priority": 5]) }
        return tree.with([
            "ttl_seconds": .integer(push.secondsToLive), "collapse_id": "wake",
            "platform": .text("\(push.platform.word)"), "circles": circles(push),
        ]).members
    }

    private static func circles(_ push: PushPayload) -> JSONTree {
        .list(push.circles.map { .text(NotificationWords.text($0)) })
    }
}
