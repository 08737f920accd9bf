import RollcallCore
import Testing

/// Who is told of which alert, when. Source: A6 to A9, A11.
@Suite struct NoticeTests {
    @Test func `an alert is told once, and its end once`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off")
        try stage.report("1,2", at: 0)
        stage.pass(to: 300)
        try stage.report("1", at: 400)
        stage.pass(to: 450)
        try stage.report("1", at: 480)
        stage.pass(to: 560)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "520 hook resolved NoOnlineResponders#1(north)",
            ])
    }

    @Test func `a pending alert that ends is nobody's business`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off")
        try stage.report("1", at: 0)
        stage.pass(to: 120)
        try stage.report("1", at: 130)
        stage.pass(to: 200)
        #expect(stage.notified == [])
    }

    @Test func `matchers choose by labels, and the watchdog goes only to who names it`() throws {
        var stage = try NoticeStage(
            [
                .named("critical", .webhook, [.of("severity", "critical")]),
                .named("others", .webhook, [.of("severity", "critical", isEqual: false)]),
                .named("south", .webhook, [.of("region", "south", "west")]),
                .named("dog", .webhook, [.of("alertname", "Watchdog")]),
            ], "rate for=0s")
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        #expect(
            stage.notified == [
                "0 dog fired Watchdog#1",
                "150 critical fired NoOnlineResponders#2(north)",
                "180 others fired HighOfflineRate#3",
            ])
    }

    @Test func `who was told is told again after the interval, and not before`() throws {
        var hook = Receiver.named("hook")
        hook.repeatInterval = .seconds(3600)
        var stage = try NoticeStage([hook], "rate off")
        try stage.report("1", at: 0)
        stage.pass(to: 150 + 2 * 3600)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "3750 hook repeated NoOnlineResponders#1(north)",
                "7350 hook repeated NoOnlineResponders#1(north)",
            ])
    }

    @Test func `alerts of one name and instant are one notice, and one each for PagerDuty`()
        throws
    {
        var stage = try NoticeStage([.named("hook"), .named("pager", .pagerduty)], "rate off")
        try stage.report("1", in: "north", at: 0)
        try stage.report("2", in: "south", at: 0)
        stage.pass(to: 200)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north) NoOnlineResponders#2(south)",
                "150 pager fired NoOnlineResponders#1(north)",
                "150 pager fired NoOnlineResponders#2(south)",
            ])
    }

    @Test func `who is muted is told at the silence's end, who was told is not told again`()
        throws
    {
        var stage = try NoticeStage([.named("hook")], "rate off")
        #expect(stage.silence([.of("region", "north")], from: 0, until: 300).silence == 1)
        try stage.report("1", in: "north", at: 10)
        try stage.report("2", in: "south", at: 10)
        stage.pass(to: 200)
        #expect(stage.silence([.of("region", "south")], from: 210, until: 400).silence == 2)
        stage.pass(to: 500)
        #expect(
            stage.notified == [
                "160 hook not told NoOnlineResponders#1: silence 1",
                "160 hook fired NoOnlineResponders#2(south)",
                "300 hook fired NoOnlineResponders#1(north)",
            ])
    }

    @Test func `what was told and ends while muted still sends its resolve`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off flapping off noonline keep=0s")
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        _ = stage.silence([.of("alertname", "NoOnlineResponders")], from: 210, until: 900)
        try stage.report("1", at: 300)
        stage.pass(to: 600)
        try stage.report("1", at: 700)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "300 hook resolved NoOnlineResponders#1(north)",
                "450 hook not told NoOnlineResponders#2: silence 1",
            ])
    }

    @Test func `a silence can be ended, once, and its end must lie ahead`() throws {
        var stage = try NoticeStage([.named("hook")])
        #expect(stage.silence([], from: 100, until: 100).silenceFault == .over)
        #expect(stage.silence([], from: 100, until: 200).silence == 1)
        #expect(stage.fold(.silence(.end(1)), at: 150).silence == 1)
        #expect(stage.fold(.silence(.end(1)), at: 160).silenceFault == .unknown)
        #expect(stage.engine.alerting.notifications.pastSilences.map(\.number) == [1])
    }

    @Test func `A7: a silence asked for again under its id is the same one, over a checkpoint too`()
        throws
    {
        var stage = try NoticeStage([.named("hook")])
        func asked(_ id: String, _ fingerprint: Int64, until second: Int64) -> Event {
            var silence = Silence(
                matchers: [],
                endsAt: Timestamp(milliseconds: NoticeStage.zero.milliseconds)
                    + .seconds(second), author: Array("kim".utf8), comment: [])
            (silence.requestID, silence.fingerprint) = (Array(id.utf8), fingerprint)
            // As it comes out of the journal.
            let read = Silence(journalBytes: silence.journalBytes)
            #expect(read == silence)
            return .silence(.begin(read ?? silence))
        }
        #expect(stage.fold(asked("a", 1, until: 100), at: 0).silence == 1)
        #expect(stage.fold(asked("a", 1, until: 100), at: 1).silence == 1)
        #expect(stage.fold(asked("a", 2, until: 100), at: 2).silenceFault == .otherRequest)
        #expect(stage.fold(asked("b", 2, until: 100), at: 3).silence == 2)
        #expect(stage.fold(asked("", 1, until: 100), at: 4).silence == 3)
        #expect(stage.fold(asked("", 1, until: 100), at: 5).silence == 4)
        // Once it is over it is still the one, and not in force again.
        #expect(stage.fold(.silence(.end(1)), at: 6).silence == 1)
        #expect(stage.fold(asked("a", 1, until: 100), at: 7).silence == 1)
        #expect(stage.engine.alerting.notifications.silences.map(\.number) == [2, 3, 4])
        // Also when its end has passed, and while as many are in force as may be.
        #expect(stage.fold(asked("b", 2, until: 100), at: 200).silence == 2)
        let checkpoint = Checkpoint(stage.engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        let restored = try #require(reader.finish())
        #expect(
            restored.alerting.notifications.pastSilences
                == stage.engine.alerting.notifications.pastSilences)
        #expect(
            restored.alerting.notifications.pastSilences.contains {
                $0.requestID == Array("b".utf8)
            })
        // A day later nobody remembers.
        stage.pass(to: 90_000)
        #expect(stage.fold(asked("a", 2, until: 99_999), at: 90_001).silence == 5)
    }

    @Test func `so many silences are in force at most`() throws {
        var stage = try NoticeStage([.named("hook")])
        for number in 1...Int64(Silence.countMax) {
            #expect(stage.silence([], from: 0, until: 100).silence == number)
        }
        #expect(stage.silence([], from: 0, until: 100).silenceFault == .tooMany)
        stage.pass(to: 100)
        #expect(stage.silence([], from: 101, until: 200).silence != nil)
    }

    @Test func `nobody online inhibits the rate of the same region until it is over`() throws {
        var stage = try NoticeStage(
            [.named("hook")], "rate by=region,for=0s,above=0.4 noonline for=0s,keep=0s")
        try stage.report("1,2", at: 0)
        stage.pass(to: 200)
        try stage.report("1", at: 210)
        try stage.report("2", at: 220)
        #expect(
            stage.notified == [
                "90 hook fired NoOnlineResponders#1(north)",
                "180 hook not told HighOfflineRate#2: by NoOnlineResponders",
                "210 hook fired HighOfflineRate#2(north)",
                "210 hook resolved NoOnlineResponders#1(north)",
                "220 hook resolved HighOfflineRate#2(north)",
            ])
    }

    @Test func `A6: nobody online in one region mutes no rate of another`() throws {
        var stage = try NoticeStage(
            [.named("hook")], "rate by=region,for=0s,above=0.4 noonline for=0s,keep=0s")
        try stage.report("1,2", in: "north", at: 0)
        try stage.report("3,4,5", in: "south", at: 0)
        for second in stride(from: Int64(60), through: 300, by: 60) {
            try stage.report("5", in: "south", at: second)
        }
        try stage.report("1", in: "north", at: 310)
        #expect(
            stage.notified == [
                "90 hook fired NoOnlineResponders#1(north)",
                "180 hook not told HighOfflineRate#2: by NoOnlineResponders",
                "180 hook fired HighOfflineRate#3(south)",
                "310 hook fired HighOfflineRate#2(north)",
                "310 hook resolved NoOnlineResponders#1(north)",
            ])
    }

    @Test func `F11: all sources missing says no more than a feed that is suspected after them`()
        throws
    {
        var stage = try NoticeStage([.named("hook")], "rate off flapping off noonline off")
        var policy = stage.engine.policy
        policy.alerts.telemetryFeedDown.keepFiringFor = .seconds(600)
        policy.feedMinActive = 1
        _ = stage.fold(.policy(policy), at: 0)
        try stage.report("1", at: 0)
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(10)), at: 1)
        stage.pass(to: 399)
        // Nobody declares a source any more, and nothing came for long.
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(0)), at: 400)
        stage.pass(to: 1000)
        #expect(
            stage.notified == [
                "26 hook not told TelemetryFeedDown#2: by TelemetryFeedDown",
                "26 hook fired TelemetryFeedDown#1", "400 hook fired TelemetryFeedDown#3",
                "1000 hook resolved TelemetryFeedDown#1",
            ])
    }

    @Test func `F11: all sources missing says more than each of them, one of them no more`()
        throws
    {
        var stage = try NoticeStage([.named("hook")])
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(10)), at: 0)
        _ = stage.fold(.heartbeat(source: Array("b".utf8), every: .seconds(100)), at: 0)
        stage.pass(to: 260)
        _ = stage.fold(.heartbeat(source: Array("b".utf8), every: .seconds(100)), at: 270)
        #expect(
            stage.notified == [
                "25 hook fired TelemetryFeedDown#1(a)",
                "250 hook not told TelemetryFeedDown#3: by TelemetryFeedDown",
                "250 hook fired TelemetryFeedDown#2",
                "270 hook resolved TelemetryFeedDown#2",
            ])
    }

    @Test func `A7: a silence of one region and name leaves the others to be told`() throws {
        var stage = try NoticeStage(
            [.named("hook")], "rate by=region,for=0s,above=0.4 noonline for=10m")
        let both: [LabelMatcher] = [
            .of("region", "north"), .of("alertname", "HighOfflineRate"),
        ]
        _ = stage.silence(both, from: 0, until: 800)
        try stage.report("1", in: "north", at: 0)
        try stage.report("2", in: "south", at: 0)
        stage.pass(to: 700)
        #expect(
            stage.notified == [
                "180 hook not told HighOfflineRate#1: silence 1",
                "180 hook fired HighOfflineRate#2(south)",
                "690 hook not told HighOfflineRate#1: by NoOnlineResponders",
                "690 hook fired NoOnlineResponders#3(north) NoOnlineResponders#4(south)",
            ])
    }

    @Test func `A8: each receiver is told again by its own interval`() throws {
        var often = Receiver.named("often")
        often.repeatInterval = .seconds(100)
        var seldom = Receiver.named("seldom")
        seldom.repeatInterval = .seconds(250)
        var stage = try NoticeStage([often, seldom], "rate off")
        try stage.report("1", at: 0)
        stage.pass(to: 450)
        #expect(
            stage.notified == [
                "150 often fired NoOnlineResponders#1(north)",
                "150 seldom fired NoOnlineResponders#1(north)",
                "250 often repeated NoOnlineResponders#1(north)",
                "350 often repeated NoOnlineResponders#1(north)",
                "400 seldom repeated NoOnlineResponders#1(north)",
                "450 often repeated NoOnlineResponders#1(north)",
            ])
    }

    @Test func `A8: a group is repeated as a whole, once an interval`() throws {
        var receivers = [ReceiverKind.webhook, .pagerduty].map { kind in
            Receiver.named(kind == .webhook ? "hook" : "pager", kind)
        }
        for place in receivers.indices { receivers[place].repeatInterval = .seconds(300) }
        var stage = try NoticeStage(receivers, "rate off")
        try stage.report("1", in: "north", at: 0)
        try stage.report("2", in: "south", at: 100)
        stage.pass(to: 800)
        #expect(stage.engine.brokenInvariants() == [])
        let (north, south) = ("NoOnlineResponders#1(north)", "NoOnlineResponders#2(south)")
        #expect(
            stage.notified == [
                "150 hook fired \(north)", "150 pager fired \(north)",
                "250 hook fired \(south)", "250 pager fired \(south)",
                "450 hook repeated \(north) \(south)", "450 pager repeated \(north)",
                "550 pager repeated \(south)",
                "750 hook repeated \(north) \(south)", "750 pager repeated \(north)",
            ])
    }

    @Test func `B2: alerts that come and go by the hundred leave nothing behind`() throws {
        var stage = try NoticeStage(
            [.named("hook")], "rate off flapping off feed off noonline keep=0s")
        let regions = (0..<200).map { "r\($0)" }
        for round in 0..<3 {
            for region in regions { try stage.report(region, in: region, at: Int64(round) * 200) }
            stage.pass(to: Int64(round) * 200 + 199)
            #expect(stage.engine.alerting.board.all.count == 200)
            #expect(stage.engine.brokenInvariants() == [])
        }
        for region in regions { try stage.report(region, in: region, at: 600) }
        #expect(stage.engine.alerting.board.all.isEmpty)
        #expect(stage.engine.brokenInvariants() == [])
        // All that fire at one instant are told in messages of 64, and they end one by one.
        #expect(stage.notified.count == 3 * 4 + 3 * 200)
    }

    @Test func `A7: a silence mutes what fires in each region, and its end tells of all`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off")
        _ = stage.silence([.of("alertname", "NoOnlineResponders")], from: 0, until: 400)
        try stage.report("1", in: "north", at: 10)
        try stage.report("2", in: "south", at: 110)
        stage.pass(to: 500)
        #expect(
            stage.notified == [
                "160 hook not told NoOnlineResponders#1: silence 1",
                "260 hook not told NoOnlineResponders#2: silence 1",
                "400 hook fired NoOnlineResponders#1(north) NoOnlineResponders#2(south)",
            ])
    }

    @Test func `an alert keeps the labels with which it fired, and no setting pages again`() throws
    {
        var stage = try NoticeStage([.named("hook")], "rate off")
        var policy = stage.engine.policy
        policy.alerts.noOnlineResponders.labels = [
            Label(Array("team".utf8), Array("a".utf8))
        ]
        _ = stage.fold(.policy(policy), at: 0)
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        policy.alerts.noOnlineResponders.severity = .info
        policy.alerts.noOnlineResponders.labels = []
        _ = stage.fold(.policy(policy), at: 210)
        stage.pass(to: 300)
        let alert = stage.engine.alerting.board.all[0].alert
        #expect(
            alert.labels.map { String(decoding: $0.name + [61] + $0.value, as: UTF8.self) } == [
                "alertname=NoOnlineResponders", "region=north", "severity=critical", "team=a",
            ])
        #expect(stage.notified == ["150 hook fired NoOnlineResponders#1(north)"])
    }

    @Test func `a new receiver learns what fires, one that left learns nothing`() throws {
        var stage = try NoticeStage([.named("old")], "rate off noonline keep=0s")
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        var policy = stage.engine.policy
        policy.receivers = [.named("new")]
        _ = stage.fold(.policy(policy), at: 210)
        try stage.report("1", at: 220)
        #expect(
            stage.notified == [
                "150 old fired NoOnlineResponders#1(north)",
                "210 new fired NoOnlineResponders#1(north)",
                "220 new resolved NoOnlineResponders#1(north)",
            ])
    }

    @Test func `A8: who is put back is told anew of what it had not taken, and of nothing else`()
        throws
    {
        var stage = try NoticeStage([.named("hook"), .named("pager", .pagerduty)], "rate off")
        let receivers = stage.engine.policy.receivers
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        stage.take(1, "hook", at: 200)
        var policy = stage.engine.policy
        policy.receivers = []
        _ = stage.fold(.policy(policy), at: 210)
        let end = NoticeEnd(
            notice: 2, receiver: Array("pager".utf8), target: 0, outcome: .removed,
            took: Milliseconds(5))
        _ = stage.fold(.outcome(end), at: 211)
        #expect(stage.engine.brokenInvariants() == [])
        try stage.restore()
        policy.receivers = receivers
        _ = stage.fold(.policy(policy), at: 220)
        stage.pass(to: 1000)
        #expect(stage.engine.brokenInvariants() == [])
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "150 pager fired NoOnlineResponders#1(north)",
                "220 pager fired NoOnlineResponders#1(north)",
            ])
    }

    @Test func `while blind one page stands in, and the others wait for sight`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off noonline keep=0s")
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(120)), at: 0)
        _ = stage.silence([.of("alertname", "NoOnlineResponders")], from: 0, until: 400)
        try stage.report("1", at: 10)
        stage.pass(to: 500)
        _ = stage.fold(.heartbeat(source: Array("a".utf8), every: .seconds(3600)), at: 600)
        #expect(
            stage.notified == [
                "160 hook not told NoOnlineResponders#1: silence 1",
                "300 hook not told TelemetryFeedDown#3: by TelemetryFeedDown",
                "300 hook fired TelemetryFeedDown#2",
                "400 hook not told NoOnlineResponders#1: blind",
                "600 hook fired NoOnlineResponders#1(north)",
                "600 hook resolved TelemetryFeedDown#2",
            ])
    }

    @Test func `S9: leaders that change again and again are a page, until three changes are left`()
        throws
    {
        var stage = try NoticeStage([.named("hook")])
        for (number, second) in [0, 10, 20, 30, 31].enumerated() {
            let reign = Reign(
                number: Int64(number) + 1, member: Array("a".utf8), unobserved: .seconds(2))
            _ = stage.fold(.reign(reign), at: Int64(second))
        }
        stage.pass(to: 309)
        #expect(stage.notified == ["30 hook fired RollcallUnsteady#1"])
        // Those of 0 s and 10 s lie further back than five minutes.
        stage.pass(to: 320)
        #expect(
            stage.notified == [
                "30 hook fired RollcallUnsteady#1", "310 hook resolved RollcallUnsteady#1",
            ])
    }

    @Test func `overload is a page of its own`() throws {
        var stage = try NoticeStage([.named("hook")])
        _ = stage.fold(.refused(count: 10), at: 0)
        stage.pass(to: 20)
        #expect(
            stage.notified == [
                "0 hook fired RollcallOverloaded#1", "15 hook resolved RollcallOverloaded#1",
            ])
    }

    @Test func `our own absence is told with the next page, once`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off")
        try stage.report("1", in: "north", at: 0)
        _ = stage.fold(.start(), at: 60)
        stage.pass(to: 120)
        let instant = NoticeStage.zero + .seconds(300)
        stage.engine.advance(to: instant)
        let facts = stage.engine.takeDecisions().compactMap { numbered -> AlertFacts? in
            guard case .notice(_, let notice) = numbered.decision else { return nil }
            return notice.members[0].facts
        }
        #expect(facts.count == 1)
        #expect(facts.first?.absentFrom == Timestamp(milliseconds: NoticeStage.zero.milliseconds))
        #expect(
            facts.first?.absentTo == Timestamp(milliseconds: NoticeStage.zero.milliseconds + 60_000)
        )
    }

    @Test func `a drill goes to one receiver and ends itself once it arrived`() throws {
        let pager = Receiver.named("pager", .pagerduty, [.of("severity", "critical")])
        var stage = try NoticeStage([.named("hook"), pager])
        let name = Array("pager".utf8)
        #expect(stage.fold(.drill(receiver: name), at: 0).drill == 1)
        #expect(stage.fold(.drill(receiver: Array("nobody".utf8)), at: 1).drill == nil)
        let end = NoticeEnd(
            notice: 1, receiver: name, target: 0, outcome: .delivered, took: Milliseconds(5))
        _ = stage.fold(.outcome(end), at: 2)
        _ = stage.fold(.outcome(end), at: 3)
        #expect(
            stage.notified == [
                "0 pager fired RollcallDrill#-1", "2 pager resolved RollcallDrill#-1",
            ])
        #expect(stage.engine.counters.notifications.count(name, .delivered) == 2)
    }

    @Test func `who was told is known after a restart`() throws {
        var stage = try NoticeStage([.named("hook")], "rate off noonline keep=0s")
        _ = stage.silence([.of("region", "south")], from: 0, until: 1000)
        try stage.report("1", at: 0)
        stage.pass(to: 200)
        try stage.restore()
        _ = stage.fold(.start(), at: 205)
        try stage.report("1", at: 300)
        #expect(
            stage.notified == [
                "150 hook fired NoOnlineResponders#1(north)",
                "300 hook resolved NoOnlineResponders#1(north)",
            ])
        #expect(stage.engine.alerting.notifications.silences.map(\.number) == [1])
    }
}
