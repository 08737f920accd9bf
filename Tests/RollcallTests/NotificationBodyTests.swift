import Foundation
import RollcallCore
import Testing

@testable import RollcallBasis

/// The bodies of each kind, whole.
@Suite struct NotificationBodyTests {
    private static let later = NotificationSamples.time + Milliseconds(125_250)

    private static func object(_ bytes: [UInt8]) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
    }

    // MARK: - Alertmanager

    @Test func `D9: an alertmanager gets firing alerts with an end that each sending moves on`() {
        let body = AlertmanagerBody.bodies(
            NotificationSamples.message([NotificationSamples.alert()]), timeout: .seconds(900),
            now: Self.later)
        #expect(
            body.map(NotificationSamples.text) == [
                """
                [{"labels":{"alertname":"NoOnlineResponders","region":"north",\
                "severity":"critical"},"annotations":{"causes":"4 low_power, 2 no_network",\
                "count":"6","description":"None of 6 is ONLINE.",\
                "runbook_url":"https://runbooks/a?b&c",\
                "summary":"Nobody can be reached in north, 6 of 6 silent"},\
                "startsAt":"2026-11-21T03:00:00.000Z","endsAt":"2026-11-21T03:17:05.250Z",\
                "generatorURL":"https://rollcall.example.org/v1/alerts"}]
                """
            ])
    }

    @Test func `an alertmanager gets the true end of what is over`() {
        let alert = NotificationSamples.alert(endsAt: Self.later) {
            $0.annotations = []
            $0.details = []
            $0.generatorURL = ""
        }
        let body = AlertmanagerBody.bodies(
            NotificationSamples.message([alert], kind: .resolved), timeout: .seconds(900),
            now: Self.later + .seconds(60))
        #expect(
            body.map(NotificationSamples.text) == [
                """
                [{"labels":{"alertname":"NoOnlineResponders","region":"north",\
                "severity":"critical"},"annotations":{},"startsAt":"2026-11-21T03:00:00.000Z",\
                "endsAt":"2026-11-21T03:02:05.250Z"}]
                """
            ])
    }

    @Test(arguments: [(0, []), (1, [1]), (256, [256]), (257, [256, 1])])
    func `an alertmanager gets at most 256 alerts in one request`(
        count: Int, sizes: [Int]
    ) throws {
        let alerts = (0..<count).map { NotificationSamples.alert(region: "r\($0)", incident: $0) }
        let bodies = AlertmanagerBody.bodies(
            NotificationSamples.message(alerts), timeout: .seconds(900), now: Self.later)
        let counts = try bodies.map {
            try #require(JSONSerialization.jsonObject(with: Data($0)) as? [Any]).count
        }
        #expect(counts == sizes)
    }

    @Test(arguments: [
        ("http://am:9093", "http://am:9093/api/v2/alerts"),
        ("http://am:9093/", "http://am:9093/api/v2/alerts"),
        ("https://h/prefix//", "https://h/prefix/api/v2/alerts"),
        ("https://h/prefix/api/v2/alerts", "https://h/prefix/api/v2/alerts"),
        ("https://h/api/v2/alerts/", "https://h/api/v2/alerts"),
        ("https://h/?tenant=a", "https://h/api/v2/alerts?tenant=a"),
    ])
    func `an alertmanager is meant with and without its path`(given: String, asked: String) {
        #expect(AlertmanagerBody.url(given) == asked)
    }

    // MARK: - Webhook

    @Test func `a webhook gets what an alertmanager would send`() {
        let south = NotificationSamples.alert(region: "south", incident: 16) {
            $0.details = NotificationSamples.labels([("count", "2")])
            $0.generatorURL = ""
        }
        let message = NotificationSamples.message(
            [NotificationSamples.alert(endsAt: Self.later), south], kind: .resolved, memberCount: 1)
        #expect(
            NotificationSamples.text(WebhookBody.bytes(message)) == """
                {"receiver":"oncall","status":"firing","alerts":[\
                {"status":"resolved","labels":{"alertname":"NoOnlineResponders",\
                "region":"north","severity":"critical"},\
                "annotations":{"causes":"4 low_power, 2 no_network","count":"6",\
                "description":"None of 6 is ONLINE.","runbook_url":"https://runbooks/a?b&c",\
                "summary":"Over: Nobody can be reached in north, 6 of 6 silent"},\
                "startsAt":"2026-11-21T03:00:00.000Z","endsAt":"2026-11-21T03:02:05.250Z",\
                "generatorURL":"https://rollcall.example.org/v1/alerts",\
                "fingerprint":"f7c52e64bd7dfb2c"},\
                {"status":"firing","labels":{"alertname":"NoOnlineResponders",\
                "region":"south","severity":"critical"},\
                "annotations":{"count":"2","description":"None of 6 is ONLINE.",\
                "runbook_url":"https://runbooks/a?b&c",\
                "summary":"Nobody can be reached in south, 6 of 6 silent"},\
                "startsAt":"2026-11-21T03:00:00.000Z","endsAt":"0001-01-01T00:00:00Z",\
                "generatorURL":"","fingerprint":"980cd0a065cb025e"}],\
                "groupLabels":{"alertname":"NoOnlineResponders"},\
                "commonLabels":{"alertname":"NoOnlineResponders","severity":"critical"},\
                "commonAnnotations":{"description":"None of 6 is ONLINE.",\
                "runbook_url":"https://runbooks/a?b&c"},\
                "externalURL":"https://rollcall.example.org","version":"4",\
                "groupKey":"{}:{alertname=\\"NoOnlineResponders\\"}","truncatedAlerts":0}
                """)
    }

    @Test func `a webhook's group is resolved when everything in it is`() throws {
        let over = [1, 2].map { NotificationSamples.alert(incident: $0, endsAt: Self.later) }
        let body = try Self.object(WebhookBody.bytes(NotificationSamples.message(over)))
        #expect(body["status"] as? String == "resolved")
    }

    @Test(arguments: [(99, 99, 0), (100, 99, 1), (356, 99, 257)])
    func `a webhook gets fewer than a hundred alerts, and the number of the others`(
        count: Int, sent: Int, truncated: Int
    ) throws {
        let alerts = (0..<count).map { NotificationSamples.alert(incident: $0) }
        let body = try Self.object(WebhookBody.bytes(NotificationSamples.message(alerts)))
        #expect((body["alerts"] as? [Any])?.count == sent)
        #expect(body["truncatedAlerts"] as? Int == truncated)
    }

    @Test func `a body stays below half a megabyte, whatever is in it`() throws {
        let long = String(repeating: "x", count: 100_000)
        let alerts = (0..<99).map { number in
            NotificationSamples.alert(incident: number) {
                $0.details = (0..<5).map { Label(Array("d\($0)".utf8), Array(long.utf8)) }
            }
        }
        let bytes = WebhookBody.bytes(NotificationSamples.message(alerts))
        #expect(bytes.count <= 512 << 10)
        let body = try Self.object(bytes)
        let sent = try #require((body["alerts"] as? [Any])?.count)
        #expect(sent > 0 && body["truncatedAlerts"] as? Int == 99 - sent)
    }

    @Test func `a fingerprint is Prometheus' own`() {
        #expect(WebhookBody.fingerprint([]) == "cbf29ce484222325")
    }

    // MARK: - PagerDuty

    @Test func `pagerduty gets a trigger with everything in its field`() throws {
        let body = PagerDutyEvent.bytes(
            NotificationSamples.alert(), routingKey: try NotificationSamples.secret("R0UT1NG"),
            externalURL: "https://rollcall.example.org")
        #expect(
            NotificationSamples.text(body) == """
                {"routing_key":"R0UT1NG","event_action":"trigger",\
                "dedup_key":"rollcall-00000000000000ab-17","client":"Rollcall",\
                "client_url":"https://rollcall.example.org",\
                "payload":{"summary":"Nobody can be reached in north, 6 of 6 silent",\
                "source":"rollcall/north","severity":"critical",\
                "timestamp":"2026-11-21T03:00:00.000+0000","component":"liveness",\
                "group":"north","class":"NoOnlineResponders",\
                "custom_details":{"causes":"4 low_power, 2 no_network","count":"6",\
                "description":"None of 6 is ONLINE.","region":"north"}},\
                "links":[{"href":"https://runbooks/a?b&c","text":"Runbook"},\
                {"href":"https://rollcall.example.org/v1/alerts","text":"Rollcall"}]}
                """)
    }

    @Test func `pagerduty gets a resolve of nothing but its key`() throws {
        let body = PagerDutyEvent.bytes(
            NotificationSamples.alert(endsAt: Self.later),
            routingKey: try NotificationSamples.secret("R0UT1NG"),
            externalURL: "https://rollcall.example.org")
        #expect(
            NotificationSamples.text(body) == """
                {"routing_key":"R0UT1NG","event_action":"resolve",\
                "dedup_key":"rollcall-00000000000000ab-17"}
                """)
    }

    @Test(arguments: [
        ("critical", "critical"), ("warning", "warning"), ("info", "info"), ("none", "error"),
        ("page", "error"), ("", "error"),
    ])
    func `pagerduty gets a severity that it knows`(severity: String, sent: String) throws {
        let alert = NotificationSamples.alert {
            $0.labels = NotificationSamples.labels([
                ("alertname", "Watchdog"), ("severity", severity),
            ])
        }
        let body = try Self.object(
            PagerDutyEvent.bytes(alert, routingKey: nil, externalURL: ""))
        let payload = try #require(body["payload"] as? [String: Any])
        #expect(payload["severity"] as? String == sent)
        #expect(payload["source"] as? String == "rollcall")
        #expect(payload["group"] == nil && body["client_url"] == nil)
    }

    @Test(arguments: [(1024, 1024), (1025, 1024)])
    func `pagerduty gets a summary of at most 1024 characters`(
        count: Int, sent: Int
    ) throws {
        let alert = NotificationSamples.alert {
            $0.annotations = NotificationSamples.labels([
                ("summary", String(repeating: "ü", count: count))
            ])
        }
        let body = try Self.object(
            PagerDutyEvent.bytes(alert, routingKey: nil, externalURL: ""))
        let payload = try #require(body["payload"] as? [String: Any])
        #expect((payload["summary"] as? String)?.count == sent)
    }

    // MARK: - Names from outside

    @Test func `a name that is no text is repaired, and cannot leave its string`() throws {
        let name: [UInt8] = [0x22, 0x2C, 0x0A, 0xFF, 0x5C, 0x00, 0xC3]
        let alert = NotificationSamples.alert {
            $0.labels[1].value = name
            $0.details = [Label(Array("count".utf8), name)]
        }
        let message = NotificationSamples.message([alert])
        let text = "\",\n\u{FFFD}\\\u{0}\u{FFFD}"
        let alerts = try #require(
            try Self.object(WebhookBody.bytes(message))["alerts"] as? [[String: Any]])
        #expect((alerts[0]["labels"] as? [String: String])?["region"] == text)
        let event = try Self.object(
            PagerDutyEvent.bytes(alert, routingKey: nil, externalURL: ""))
        #expect((event["payload"] as? [String: Any])?["group"] as? String == text)
        _ = try Self.object(SlackBody.bytes(message))
    }
}
