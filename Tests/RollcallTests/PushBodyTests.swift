import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// What sinks are sent, as a whole. Source: N5, N6, N7, N9.
@Suite struct PushBodyTests {
    private static func webhook(_ push: PushPayload, _ texts: NudgeTexts = NudgeTexts()) -> String {
        NotificationSamples.text(WebhookPush.bytes(push, texts))
    }

    private static func expo(_ pushes: [PushPayload], channel: String = "default") -> String {
        var sink = PushSink(.expo, url: PushSink.expoURL)
        sink.channel = channel
        return NotificationSamples.text(ExpoPush.bytes(pushes, sink))
    }

    @Test func `a webhook is told what to show, to whom and why`() {
        #expect(
            Self.webhook(PushSamples.payload()) == """
                {"type":"responder.nudge","timestamp":"2026-11-21T03:00:00.000Z","data":\
                {"nudge_id":"nudge_00000000000000ab_7","responder_id":"r-17",\
                "title":"Open the app to resume sharing",\
                "body":"Your location has not been updated for 4 hours. \
                The phone put the app to sleep.",\
                "sound":"default","priority":"high","ttl_seconds":3600,"collapse_id":"reconnect",\
                "platform":"ios","cause":"app_suspended",\
                "last_location_at":"2026-11-20T22:59:59.000Z","stale_seconds":14401,\
                "circles":["team-1","night"]}}
                """)
    }

    @Test(arguments: [
        (Platform.ios, #""priority":"normal","apns_priority":5"#),
        (.android, #""priority":"high""#), (.other, #""priority":"high""#),
        (.unknown, #""priority":"high""#),
    ])
    func `a wake is for the app alone, and as urgent as its platform has it`(
        platform: Platform, priority: String
    ) {
        let push = PushSamples.payload(.wake, platform: platform, timeToLive: .seconds(60))
        #expect(
            Self.webhook(push) == """
                {"type":"responder.wake","timestamp":"2026-11-21T03:00:00.000Z","data":\
                {"wake_id":"wake_00000000000000ab_7","responder_id":"r-17","silent":true,\
                \(priority),"ttl_seconds":60,"collapse_id":"wake","platform":"\(platform.word)",\
                "circles":["team-1","night"]}}
                """)
    }

    @Test func `expo is told the token and the channel`() {
        let pushes = [
            PushSamples.payload(), PushSamples.payload(.wake, number: 8, token: "ExpoPushToken[b]"),
            PushSamples.payload(.wake, number: 9, token: "ExpoPushToken[c]", platform: .android),
        ]
        #expect(
            Self.expo(pushes, channel: "reconnect") == """
                [{"to":"ExponentPushToken[aaaaaaaaaaaaaaaaaaaaaa]",\
                "title":"Open the app to resume sharing",\
                "body":"Your location has not been updated for 4 hours. \
                The phone put the app to sleep.",\
                "sound":"default","priority":"high","interruptionLevel":"time-sensitive",\
                "channelId":"reconnect","ttl":3600,"collapseId":"reconnect","tag":"reconnect",\
                "data":{"kind":"reconnect_nudge","nudge_id":"nudge_00000000000000ab_7"}},\
                {"to":"ExpoPushToken[b]","_contentAvailable":true,"priority":"normal","ttl":3600,\
                "data":{"kind":"wake","wake_id":"wake_00000000000000ab_8"}},\
                {"to":"ExpoPushToken[c]","_contentAvailable":true,"priority":"high","ttl":3600,\
                "data":{"kind":"wake","wake_id":"wake_00000000000000ab_9"}}]
                """)
        #expect(
            NotificationSamples.text(ExpoPush.bytes(tickets: [Array("a-1".utf8), Array("b".utf8)]))
                == #"{"ids":["a-1","b"]}"#)
    }

    @Test func `silent is a sound and nothing else`() {
        let push = PushSamples.payload(isSilent: true)
        #expect(Self.webhook(push).contains(#""sound":"silent","priority":"high""#))
        #expect(Self.expo([push]).contains(#""sound":null,"priority":"high""#))
    }

    @Test(arguments: [(3_599_999, 3600), (1999, 2), (999, 1), (0, 1), (-5, 1)] as [(Int64, Int64)])
    func `what is left of a push is at least a second`(left: Int64, seconds: Int64) {
        let push = PushSamples.payload(timeToLive: Milliseconds(left))
        #expect(Self.webhook(push).contains("\"ttl_seconds\":\(seconds),"))
        #expect(Self.expo([push]).contains("\"ttl\":\(seconds),"))
    }

    @Test func `the largest message fits into what phones' services take`() {
        var texts = NudgeTexts()
        texts.fallback = NudgeTexts.Text(
            title: String(repeating: "\"", count: NudgeTexts.titleBytesMax),
            body: String(repeating: "{responder_id}", count: 71))
        var sink = PushSink(.expo, url: PushSink.expoURL)
        sink.texts = texts
        sink.channel = String(repeating: "c", count: 64)
        let inner = String(repeating: "t", count: ExpoPush.tokenBytesMax - 19)
        let push = PushSamples.payload(
            number: .max, id: String(repeating: "\\", count: 128),
            token: "ExponentPushToken[\(inner)]", timeToLive: .seconds(28 * 86_400))
        #expect(ExpoPush.isToken(push.token ?? []))
        #expect(
            NotificationWords.bytes(ExpoPush.message(push, sink)).count <= ExpoPush.messageBytesMax)
    }

    @Test func `what came from outside cannot break a line or the JSON`() throws {
        var texts = NudgeTexts()
        texts.fallback.body = "{responder_id} on {platform}: {stale}"
        var push = PushSamples.payload(id: "a\u{1}\n\u{2028}\"{stale}")
        #expect(Self.webhook(push, texts).contains(#""body":"a   \"{stale} on ios: 4 hours""#))
        push = PushPayload(
            number: 1, kind: .nudge, store: 1, responderID: [0xFF, 0x41], token: nil,
            isSilent: false, platform: .ios, facts: PushSamples.facts, circles: [[0xFE]],
            timeToLive: .seconds(1), decidedAt: NotificationSamples.time)
        let tree = try JSONTree(reading: WebhookPush.bytes(push, texts))
        #expect(tree["data"]?["responder_id"]?.text == "\u{FFFD}A")
    }

    @Test(arguments: [
        ("ExponentPushToken[x]", true), ("ExpoPushToken[x]", true),
        ("0123abcd-0123-abcd-4567-0123456789ab", true), ("ExponentPushToken[x", false),
        ("PushToken[x]", false), ("ExponentPushToken[\"]", false), ("", false),
        ("0123abcd-0123-abcd-4567-0123456789a", false), ("ExponentPushToken[ ]", false),
    ])
    func `a token is Expo's or is not sent there`(token: String, isToken: Bool) {
        #expect(ExpoPush.isToken(Array(token.utf8)) == isToken)
    }

    @Test func `a token is taken at its limit and not past it`() {
        let longest = "ExpoPushToken[" + String(repeating: "t", count: 241) + "]"
        #expect(longest.utf8.count == ExpoPush.tokenBytesMax)
        #expect(ExpoPush.isToken(Array(longest.utf8)))
        #expect(!ExpoPush.isToken(Array((longest.dropLast() + "t]").utf8)))
    }

    @Test func `neither a sink nor its answers show where it is reached`() throws {
        var sink = PushSink(.webhook, url: "https://user:pass@push.example.org/secret/path")
        sink.bearer = try NotificationSamples.secret("t0psecret")
        var dumped = ""
        dump(sink, to: &dumped)
        #expect("\(sink)" == "webhook https://push.example.org")
        #expect(!dumped.contains("pass") && !dumped.contains("secret"))
    }
}
