import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis

/// What Opsgenie gets. Source: A8; docs.opsgenie.com, "Alert API".
@Suite struct OpsgenieAlertTests {
    private static let later = NotificationSamples.time + Milliseconds(125_250)

    private static func object(_ alert: NotificationAlert) throws -> [String: Any] {
        try #require(
            JSONSerialization.jsonObject(with: Data(OpsgenieAlert.bytes(alert))) as? [String: Any])
    }

    @Test func `an alert has everything in its field`() {
        #expect(
            NotificationSamples.text(OpsgenieAlert.bytes(NotificationSamples.alert())) == """
                {"message":"Nobody can be reached in north, 6 of 6 silent",\
                "alias":"rollcall-00000000000000ab-17",\
                "description":"None of 6 is ONLINE.\\nRunbook: https://runbooks/a?b&c\\n\
                Rollcall: https://rollcall.example.org/v1/alerts",\
                "tags":["NoOnlineResponders","critical"],\
                "details":{"causes":"4 low_power, 2 no_network","count":"6","region":"north"},\
                "entity":"north","source":"rollcall","priority":"P1"}
                """)
    }

    @Test func `an alert is closed by its alias`() {
        let alert = NotificationSamples.alert(endsAt: Self.later)
        #expect(
            OpsgenieAlert.url(alert, api: "https://api.eu.opsgenie.com/")
                == "https://api.eu.opsgenie.com/v2/alerts/rollcall-00000000000000ab-17/close"
                + "?identifierType=alias")
        #expect(
            NotificationSamples.text(OpsgenieAlert.bytes(alert))
                == #"{"source":"rollcall","note":"Over: Nobody can be reached in north, 6 of 6 silent"}"#
        )
        #expect(
            OpsgenieAlert.url(NotificationSamples.alert(), api: "https://h/jsm/ops/integration")
                == "https://h/jsm/ops/integration/v2/alerts")
    }

    @Test(arguments: [
        ("critical", "P1"), ("warning", "P3"), ("info", "P5"), ("none", "P5"), ("", "P5"),
    ])
    func `the severity decides the priority`(severity: String, priority: String) throws {
        let alert = NotificationSamples.alert {
            $0.labels = NotificationSamples.labels([("severity", severity)])
        }
        let body = try Self.object(alert)
        #expect(body["priority"] as? String == priority)
        #expect(body["entity"] as? String == "fleet")
        #expect((body["tags"] as? [String])?.count == (severity.isEmpty ? 0 : 1))
    }

    @Test(arguments: [(130, "", 130), (131, "…", 130)])
    func `a message has at most 130 characters, and what is cut stands whole below it`(
        count: Int, end: String, sent: Int
    ) throws {
        let summary = String(repeating: "ü", count: count)
        let alert = NotificationSamples.alert {
            $0.annotations = NotificationSamples.labels([("summary", summary)])
        }
        let body = try Self.object(alert)
        let message = try #require(body["message"] as? String)
        #expect(message.utf16.count == sent && message.hasSuffix(end))
        let description = try #require(body["description"] as? String)
        #expect(description.hasPrefix(summary) == (count > 130))
    }

    @Test(arguments: ["x", "ü", "👩‍🚒", "\u{0}", "\n"])
    func `nothing is longer than Opsgenie takes`(letter: String) throws {
        let long = String(repeating: letter, count: 50_000)
        let alert = NotificationSamples.alert(region: long) {
            $0.annotations = NotificationSamples.labels([
                ("description", long), ("runbook_url", "https://h/"), ("summary", long),
            ])
            $0.details = (0..<20).map { Label(Array("d\($0)".utf8), Array(long.utf8)) }
        }
        let body = try Self.object(alert)
        for (name, most) in [
            ("message", OpsgenieAlert.messageMax), ("description", OpsgenieAlert.descriptionMax),
            ("entity", OpsgenieAlert.entityMax),
        ] {
            let text = try #require(body[name] as? String)
            #expect(!text.isEmpty && text.utf16.count <= most, "\(name)")
        }
        #expect((body["message"] as? String)?.contains { $0.isNewline } == false)
        let details = try #require(body["details"] as? [String: String])
        let count = details.reduce(0) { $0 + $1.key.utf16.count + $1.value.utf16.count }
        #expect(count <= OpsgenieAlert.detailsMax)
        let over = NotificationSamples.alert(endsAt: Self.later) {
            $0.annotations = NotificationSamples.labels([("summary", long)])
        }
        let note = try #require(try Self.object(over)["note"] as? String)
        #expect(note.utf16.count <= OpsgenieAlert.noteMax)
    }

    @Test(arguments: [
        (
            "202 Accepted",
            #"{"result":"Request will be processed","took":0.3,"requestId":"43a29c5c-3dbf"}"#,
            OutboxVerdict.delivered
        ),
        // A proxy's login page, and whatever else says nothing of a request.
        ("200 OK", "<html>log in</html>", .refused), ("200 OK", "", .refused),
        ("202 Accepted", #"{"result":"Request will be processed","requestId":""}"#, .refused),
        ("404 Not Found", #"{"message":"Alert not found","took":0.1}"#, .delivered),
        ("404 Not Found", "<html>nothing here</html>", .refused),
        ("422 Unprocessable", #"{"message":"API Key is not valid!"}"#, .refused),
        ("401 Unauthorized", "", .refused), ("403 Forbidden", "", .refused),
        ("429 Too Many", #"{"message":"You are making too many requests!"}"#, .failed),
        ("503 Busy", "", .failed),
    ])
    func `an end is taken unless it is refused, also where nobody knows the alert`(
        status: String, body: String, kind: OutboxVerdict
    ) throws {
        let address = NotificationSamples.address(.opsgenie, ["https://api.opsgenie.com"])
        let answer = HTTPCallAnswer(
            status: try #require(Int(status.prefix(3))), body: Array(body.utf8))
        func verdict(isEnd: Bool) -> OutboxVerdict {
            AttemptVerdicts.evaluate(
                answer, of: address, from: "https://api.opsgenie.com", isEnd: isEnd,
                now: NotificationSamples.time
            ).kind
        }
        #expect(verdict(isEnd: true) == kind)
        // What fires must not be lost so.
        #expect(verdict(isEnd: false) == (answer.status == 404 ? .refused : kind))
    }

    @Test func `its words are told without the key in them`() throws {
        let address = try NotificationSamples.address(.opsgenie, ["https://api.opsgenie.com"]) {
            $0.apiKey = try NotificationSamples.secret("K3Y-K3Y-K3Y")
        }
        let answer = HTTPCallAnswer(
            status: 422,
            body: Array(#"{"message":"No.","errors":{"b":"K3Y-K3Y-K3Y is wrong","a":"x"}}"#.utf8))
        let result = AttemptVerdicts.evaluate(
            answer, of: address, from: "https://api.opsgenie.com", now: NotificationSamples.time)
        #expect(
            result.error
                == "https://api.opsgenie.com: answered 422: No.; x; <secret> is wrong")
    }
}
