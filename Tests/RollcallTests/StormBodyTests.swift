import RollcallCore
import Testing

@testable import RollcallBasis

/// One message of many alerts, as people get it. Source: D11, D7, D8.
@Suite struct StormBodyTests {
    private static func notice(_ kind: Notice.Kind) -> Notice {
        var member = NoticeMember()
        member.name = .noOnlineResponders
        member.incident = 417
        member.labels = NotificationSamples.labels([
            ("alertname", "NoOnlineResponders"), ("severity", "critical"), ("storm", "417"),
        ])
        member.annotations = NotificationSamples.labels([("runbook_url", "https://runbooks/nobody")]
        )
        member.startsAt = NotificationSamples.time
        if kind == .resolved { member.endsAt = NotificationSamples.time + .seconds(600) }
        member.facts.stats = AlertStats(count: 18, total: 20)
        var notice = Notice(
            number: 5, receiver: Array("oncall".utf8), kind: kind, members: [member])
        var storm = StormFacts()
        (storm.count, storm.at) = (52, NotificationSamples.time)
        for (region, count) in [("north", 9), ("south", 7)] {
            var one = NoticeMember()
            one.name = .noOnlineResponders
            one.labels = NotificationSamples.labels([("region", region)])
            one.facts.stats = AlertStats(count: count, total: 10)
            one.facts.causes = [.init(cause: .massGap, count: count)]
            storm.top.append(one)
        }
        notice.storm = storm
        return notice
    }

    private static func message(_ kind: Notice.Kind) throws -> NotificationMessage {
        try message(notice(kind))
    }

    private static func message(_ notice: Notice) throws -> NotificationMessage {
        // As the store keeps it.
        let notice = try #require(Notice(journalBytes: notice.journalBytes))
        var outbox = Outbox(store: 0xAB, now: RunningTime(milliseconds: 0))
        outbox.follow([Receiver(name: Array("oncall".utf8), kind: .pagerduty)])
        outbox.decide(notice, at: NotificationSamples.time, now: RunningTime(milliseconds: 0))
        let sending = try #require(outbox.begin(now: RunningTime(milliseconds: 0)).first)
        return NotificationPayload(sending, store: 0xAB) { _ in nil }
            .message(externalURL: "https://rollcall.example.org")
    }

    @Test func `D11: a pager gets one key by name and number, and a resolve under it`() throws {
        let fired = try #require(try Self.message(.fired).members.first)
        #expect(
            NotificationSamples.text(
                PagerDutyEvent.bytes(
                    fired, routingKey: try NotificationSamples.secret("k"),
                    externalURL: "https://rollcall.example.org")) == """
                    {"routing_key":"k","event_action":"trigger",\
                    "dedup_key":"rollcall-00000000000000ab-NoOnlineResponders-417",\
                    "client":"Rollcall","client_url":"https://rollcall.example.org","payload":{\
                    "summary":"Nobody can be reached in 52 regions, 18 of 20 out of contact",\
                    "source":"rollcall","severity":"critical",\
                    "timestamp":"2026-11-21T03:00:00.000+0000","component":"liveness",\
                    "class":"NoOnlineResponders","custom_details":{"alerts":"52","count":"18",\
                    "description":"52 alerts of NoOnlineResponders fire as of 03:00:00 UTC and are \
                    told as one. The most people: north 9 of 10: 9 mass_gap; south 7 of 10: \
                    7 mass_gap; and 50 more.","storm":"417","total":"20"}},"links":[\
                    {"href":"https://runbooks/nobody","text":"Runbook"},\
                    {"href":"https://rollcall.example.org/alerts?alertname=NoOnlineResponders",\
                    "text":"Rollcall"}]}
                    """)
        let over = try #require(try Self.message(.resolved).members.first)
        #expect(
            NotificationSamples.text(PagerDutyEvent.bytes(over, routingKey: nil, externalURL: ""))
                == """
                {"routing_key":"","event_action":"resolve",\
                "dedup_key":"rollcall-00000000000000ab-NoOnlineResponders-417"}
                """)
    }

    @Test func `D3, D11: a storm has one key, also where somebody is told in another's place`()
        throws
    {
        var fired = Self.notice(.fired)
        fired.members[0].fallback = Fallback(
            receiver: Array("pager".utf8), after: .seconds(60))
        let keys = try [fired, Self.notice(.resolved)].map {
            try Self.message($0).members.first?.key
        }
        #expect(keys[0] != nil && keys[0] == keys[1])
    }

    @Test func `D11: a channel gets one headline, and what is over when it is`() throws {
        let fired = NotificationSamples.text(SlackBody.bytes(try Self.message(.fired)))
        #expect(fired.contains("*Nobody can be reached in 52 regions, 18 of 20 out of contact*"))
        #expect(
            fired.contains(
                "<https://rollcall.example.org/alerts?alertname=NoOnlineResponders|Rollcall>"))
        let over = NotificationSamples.text(SlackBody.bytes(try Self.message(.resolved)))
        #expect(
            over.hasPrefix(
                #"{"text":"RESOLVED: NoOnlineResponders in none of 52 regions any more","#))
    }

    @Test func `I11, D11: regions that nobody has any more are forgotten in it too`() throws {
        let engine = Engine()
        let notice = try #require(engine.forgetting(Self.notice(.fired), of: .any))
        let labels = notice.storm?.top.map(\.labels)
        #expect(
            labels == [
                NotificationSamples.labels([("region", "")]),
                NotificationSamples.labels([("region", "")]),
            ])
    }
}
