import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis

/// What a phone gets of ntfy. Source: A8, D8; docs.ntfy.sh, "Publish as JSON".
@Suite struct NtfyBodyTests {
    private static let later = NotificationSamples.time + Milliseconds(125_250)

    private static func object(_ message: NotificationMessage) throws -> [String: Any] {
        let bytes = NtfyBody.bytes(message, topic: "rollcall")
        return try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    @Test func `a phone reads where, how many, why and where to look`() {
        let message = NotificationSamples.message([NotificationSamples.alert(region: "Nørrebro")])
        #expect(
            NotificationSamples.text(NtfyBody.bytes(message, topic: "rollcall")) == """
                {"topic":"rollcall","title":"FIRING: Nobody can be reached in Nørrebro, 6 of 6 silent",\
                "message":"None of 6 is ONLINE.\\ncount: 6\\ncauses: 4 low_power, 2 no_network\\n\
                NoOnlineResponders · critical · since 2026-11-21T03:00:00.000Z\\n\
                Runbook: https://runbooks/a?b&c\\nRollcall: https://rollcall.example.org/v1/alerts",\
                "priority":5,"tags":["rotating_light","NoOnlineResponders"],\
                "click":"https://rollcall.example.org/v1/alerts"}
                """)
    }

    @Test func `a phone reads that it is over, and is not woken by it`() {
        let message = NotificationSamples.message(
            [NotificationSamples.alert(endsAt: Self.later)], kind: .resolved)
        #expect(
            NotificationSamples.text(NtfyBody.bytes(message, topic: "rollcall")) == """
                {"topic":"rollcall","title":"RESOLVED: Nobody can be reached in north, 6 of 6 silent",\
                "message":"None of 6 is ONLINE.\\n\
                NoOnlineResponders · since 2026-11-21T03:00:00.000Z · over since \
                2026-11-21T03:02:05.250Z\\n\
                Runbook: https://runbooks/a?b&c\\nRollcall: https://rollcall.example.org/v1/alerts",\
                "priority":2,"tags":["white_check_mark","NoOnlineResponders"],\
                "click":"https://rollcall.example.org/v1/alerts"}
                """)
    }

    @Test(arguments: [("critical", 5), ("warning", 4), ("info", 3), ("none", 3), ("", 3)])
    func `the severity decides how loud a phone is`(severity: String, priority: Int) throws {
        let alert = NotificationSamples.alert {
            $0.labels = NotificationSamples.labels([("severity", severity)])
        }
        let body = try Self.object(NotificationSamples.message([alert]))
        #expect(body["priority"] as? Int == priority)
        #expect((body["tags"] as? [String])?.count == 1)
    }

    @Test func `of several the worst decides, and D8: a touch leads to all of the name`() throws {
        let mild = NotificationSamples.alert(region: "south", incident: 18) {
            $0.labels = NotificationSamples.labels([
                ("alertname", "NoOnlineResponders"), ("severity", "warning"),
            ])
        }
        var message = NotificationSamples.message(
            [mild, NotificationSamples.alert(), NotificationSamples.alert(incident: 19)],
            memberCount: 2)
        message.contextMore = 3
        let body = try Self.object(message)
        #expect(body["priority"] as? Int == 5)
        #expect(
            body["click"] as? String
                == "https://rollcall.example.org/alerts?alertname=NoOnlineResponders")
        #expect(
            body["title"] as? String
                == "FIRING: Nobody can be reached in south, 6 of 6 silent (and 1 more)")
        let text = try #require(body["message"] as? String)
        #expect(
            text.hasPrefix(
                "FIRING: Nobody can be reached in south, 6 of 6 silent\nNone of 6 is ONLINE."))
        #expect(text.hasSuffix("\n\nstill firing: 4 more"))
        message.externalURL = ""
        #expect(try Self.object(message)["click"] == nil)
    }

    @Test(arguments: [1, 2, 15, 16, 64])
    func `whatever is in it, a message fits, and what does not is counted`(count: Int) throws {
        let long = String(repeating: "ü\u{0}\"\n", count: 20_000)
        let alerts = (0..<count).map { number in
            NotificationSamples.alert(region: long, incident: number) {
                $0.annotations = NotificationSamples.labels([
                    ("summary", long), ("description", long),
                ])
                $0.details = [Label(Array("count".utf8), Array(long.utf8))]
            }
        }
        let message = NotificationSamples.message(alerts)
        let body = try Self.object(message)
        let text = try #require(body["message"] as? String)
        let title = try #require(body["title"] as? String)
        #expect(text.utf8.count <= NtfyBody.messageMax)
        #expect(title.utf8.count <= NtfyBody.titleMax && !title.contains { $0.isNewline })
        #expect(NtfyBody.bytes(message, topic: "t").count <= 16_384)
        if count > 1 { #expect(text.hasSuffix("and \(count - 1) more")) }
    }

    @Test(arguments: [
        ("https://ntfy.sh/mytopic", "https://ntfy.sh/", "mytopic"),
        ("http://h:8080/a/b/T_0-pic", "http://h:8080/a/b/", "T_0-pic"),
        ("https://ntfy.sh", nil, nil), ("https://ntfy.sh/", nil, nil),
        ("https://ntfy.sh/a.b", nil, nil), ("https://ntfy.sh/topic?auth=x", nil, nil),
        ("https://ntfy.sh/?a=/topic", nil, nil), ("https://ntfy.sh/#/topic", nil, nil),
        ("https://ntfy.sh/\(String(repeating: "a", count: 65))", nil, nil),
    ])
    func `a URL names a server and a topic`(url: String, server: String?, name: String?) {
        let topic = NtfyTopic(url: url)
        #expect(topic?.server == server && topic?.name == name)
    }
}
