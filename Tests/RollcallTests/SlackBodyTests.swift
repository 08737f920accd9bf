import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis

@Suite struct SlackBodyTests {
    private static let later = NotificationSamples.time + Milliseconds(125_250)

    @Test func `a channel reads where, how many, why and where to look`() {
        let hostile = NotificationSamples.alert(region: "<!channel> & co")
        let message = NotificationSamples.message(
            [hostile, NotificationSamples.alert(region: "south", incident: 16)], memberCount: 1)
        #expect(
            NotificationSamples.text(SlackBody.bytes(message)) == """
                {"text":"FIRING: Nobody can be reached in &lt;!channel&gt; &amp; co, 6 of 6 silent",\
                "blocks":[{"type":"section","text":{"type":"mrkdwn","text":"\
                *FIRING* · critical · NoOnlineResponders\\n\
                *Nobody can be reached in &lt;!channel&gt; &amp; co, 6 of 6 silent*\\n\
                None of 6 is ONLINE."}},\
                {"type":"section","fields":[{"type":"mrkdwn","text":"*count*\\n6"},\
                {"type":"mrkdwn","text":"*causes*\\n4 low_power, 2 no_network"}]},\
                {"type":"context","elements":[{"type":"mrkdwn","text":"\
                since 2026-11-21T03:00:00.000Z · <https://runbooks/a?b&amp;c|Runbook> · \
                <https://rollcall.example.org/v1/alerts|Rollcall>"}]},\
                {"type":"context","elements":[{"type":"mrkdwn","text":"still firing: 1 more"}]}]}
                """)
    }

    @Test func `a channel reads that it is over`() {
        let message = NotificationSamples.message(
            [NotificationSamples.alert(endsAt: Self.later)], kind: .resolved)
        #expect(
            NotificationSamples.text(SlackBody.bytes(message)) == """
                {"text":"RESOLVED: Nobody can be reached in north, 6 of 6 silent",\
                "blocks":[{"type":"section","text":{"type":"mrkdwn","text":"\
                *RESOLVED* · NoOnlineResponders\\n*Nobody can be reached in north, 6 of 6 silent*\\n\
                None of 6 is ONLINE."}},\
                {"type":"context","elements":[{"type":"mrkdwn","text":"\
                since 2026-11-21T03:00:00.000Z · over since 2026-11-21T03:02:05.250Z · \
                <https://runbooks/a?b&amp;c|Runbook> · \
                <https://rollcall.example.org/v1/alerts|Rollcall>"}]}]}
                """)
    }

    @Test(arguments: [(15, 45), (16, 46), (64, 46)])
    func `a channel gets at most fifty blocks`(count: Int, blocks: Int) throws {
        let alerts = (0..<count).map { NotificationSamples.alert(incident: $0) }
        let bytes = SlackBody.bytes(NotificationSamples.message(alerts))
        let body = try #require(
            JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect((body["blocks"] as? [Any])?.count == blocks)
        let more = "FIRING: Nobody can be reached in north, 6 of 6 silent (and \(count - 1) more)"
        #expect(body["text"] as? String == more)
    }

    @Test func `no text is longer than a channel takes`() throws {
        let long = String(repeating: "&<", count: 50_000)
        let alert = NotificationSamples.alert {
            $0.annotations = NotificationSamples.labels([
                ("summary", long), ("description", long), ("runbook_url", "https://h/\(long)"),
            ])
            $0.details = (0..<11).map { Label(Array("d\($0)".utf8), Array(long.utf8)) }
        }
        let bytes = SlackBody.bytes(NotificationSamples.message([alert]))
        let body = try #require(
            JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let blocks = try #require(body["blocks"] as? [[String: Any]])
        let section = try #require((blocks[0]["text"] as? [String: String])?["text"])
        #expect(section.count <= SlackBody.sectionMax)
        let fields = try #require(blocks[1]["fields"] as? [[String: String]])
        #expect(fields.count == SlackBody.fieldsMax)
        for field in fields { #expect((field["text"]?.count ?? 0) <= SlackBody.fieldMax) }
    }
}
