import RollcallCore
import RollcallSupport

/// The requests to Expo's push service. Source: N6, N7, N9; Expo, "Send notifications with the Expo
/// Push Service".
package enum ExpoPush {
    /// Messages of one request at most.
    package static let messagesMax = 100
    /// Tickets of one question for receipts at most: what Expo's own client asks for.
    package static let ticketsMax = 300
    /// Bytes of a message at most: what the phones' own services take.
    static let messageBytesMax = 4096
    /// Bytes of a token at most; Expo's have 41.
    static let tokenBytesMax = 256

    /// Returns the URL that messages are sent to.
    static func sendURL(_ sink: PushSink) -> String { base(sink) + "/--/api/v2/push/send" }

    /// Returns the URL at which receipts are asked for.
    static func receiptsURL(_ sink: PushSink) -> String {
        base(sink) + "/--/api/v2/push/getReceipts"
    }

    private static func base(_ sink: PushSink) -> String {
        sink.url.hasSuffix("/") ? String(sink.url.dropLast()) : sink.url
    }

    /// True of what can be a token of Expo's, as its own client evaluates: `ExponentPushToken[…]`,
    /// `ExpoPushToken[…]` or a UUID. One that cannot be would have the whole request refused.
    static func isToken(_ token: [UInt8]) -> Bool {
        guard token.count <= tokenBytesMax,
            token.allSatisfy({ (0x21...0x7E) ~= $0 && $0 != 0x22 && $0 != 0x5C })
        else { return false }
        let text = String(decoding: token, as: UTF8.self)
        if text.hasSuffix("]") {
            return text.hasPrefix("ExponentPushToken[") || text.hasPrefix("ExpoPushToken[")
        }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.joined().allSatisfy { $0.isLetter || $0.isNumber }
    }

    /// The body that carries `pushes`, each of which has a token.
    static func bytes(_ pushes: [PushPayload], _ sink: PushSink) -> [UInt8] {
        NotificationWords.bytes(.list(pushes.map { message($0, sink) }))
    }

    /// The body that asks for receipts.
    static func bytes(tickets: [[UInt8]]) -> [UInt8] {
        let ids = tickets.map { JSONTree.text(String(decoding: $0, as: UTF8.self)) }
        return NotificationWords.bytes(["ids": .list(ids)])
    }

    /// One message.
    static func message(_ push: PushPayload, _ sink: PushSink) -> JSONTree {
        let token = JSONTree.text(String(decoding: push.token ?? [], as: UTF8.self))
        let life = JSONTree.integer(push.secondsToLive)
        switch push.kind {
        case .nudge:
            let text = sink.texts.filled(
                push.facts, responderID: push.responderID, platform: push.platform)
            return [
                "to": token, "title": .text(text.title), "body": .text(text.body),
                "sound": push.isSilent ? .null : "default", "priority": "high",
                "interruptionLevel": "time-sensitive", "channelId": .text(sink.channel),
                "ttl": life, "collapseId": "reconnect", "tag": "reconnect",
                "data": ["kind": "reconnect_nudge", "nudge_id": .text(push.id)],
            ]
        case .wake:
            return [
                "to": token, "_contentAvailable": true,
                "priority": push.platform == .ios ? "normal" : "high", "ttl": life,
                "data": ["kind": "wake", "wake_id": .text(push.id)],
            ]
        }
    }
}
