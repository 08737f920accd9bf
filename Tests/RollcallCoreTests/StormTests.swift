import Testing

@testable import RollcallCore

/// Many alerts that wait for one of people's receivers become one. Source: D11.
@Suite struct StormTests {
    private static let pager = Receiver.named("pager", .pagerduty)
    private static let chat = Receiver.named("chat", .slack)
    private static let hook = Receiver.named("hook")

    @Test func `D11: as many as alerts.storm go singly, one more makes all of them one`() throws {
        var few = try StormStage([Self.pager])
        try few.report(1...5, at: 0)
        few.pass(to: 100)
        #expect(few.notified.count == 5)
        #expect(few.texts == [])
        var many = try StormStage([Self.pager])
        try many.report(1...6, at: 0)
        many.pass(to: 100)
        try many.report(1...6, at: 110)
        many.pass(to: 120)
        #expect(
            many.notified == ["90 pager fired storm of 6", "110 pager resolved storm of 6"])
        #expect(many.open["pager"] == [])
        #expect(few.broken + many.broken == [])
    }

    @Test func `D11: programs get every alert, and alerts.storm 0 means that people do too`()
        throws
    {
        var stage = try StormStage([Self.hook, Self.pager])
        try stage.report(1...6, at: 0)
        stage.pass(to: 100)
        #expect(
            stage.notified == [
                "90 hook fired r-1 r-2 r-3 r-4 r-5 r-6", "90 pager fired storm of 6",
            ])
        var off = try StormStage([Self.pager], storm: 0)
        try off.report(1...60, at: 0)
        off.pass(to: 100)
        #expect(off.notified.count == 60)
        #expect(stage.broken + off.broken == [])
    }

    @Test func `D11: what waits is taken back; what was tried may be known, and has its own end`()
        throws
    {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .fails
        try stage.report(1...3, at: 0)
        try stage.report(4...6, at: 30)
        // 1, 2 and 3 are tried in turns from 90 s on, the others are not before the storm.
        stage.pass(to: 121)
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count == 1)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 6") == true)
        try stage.report(1...6, at: 210)
        stage.pass(to: 220)
        #expect(
            stage.notified.dropFirst().sorted() == [
                "210 pager resolved r-1", "210 pager resolved r-2", "210 pager resolved r-3",
                "210 pager resolved storm of 6",
            ])
        #expect(stage.open["pager"] == [])
        #expect(stage.broken == [])
    }

    @Test func `D11: what is on its way when the storm begins keeps its key and its end`() throws {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .waits
        try stage.report(1...3, at: 0)
        try stage.report(4...6, at: 30)
        stage.pass(to: 125)
        stage.answers["pager"] = .takes
        stage.pass(to: 130)
        #expect(stage.notified == ["125 pager fired r-1", "125 pager fired storm of 6"])
        try stage.report([1], at: 140)
        try stage.report(2...6, at: 150)
        stage.pass(to: 160)
        #expect(
            stage.notified.dropFirst(2) == [
                "140 pager resolved r-1", "150 pager resolved storm of 6",
            ])
        #expect(stage.broken == [])
    }

    @Test func `D11: a page that fails after the storm began is not tried again`() throws {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .waits
        try stage.report(1...3, at: 0)
        try stage.report(4...6, at: 30)
        stage.pass(to: 125)
        stage.answers["pager"] = .fails
        stage.pass(to: 126)
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count == 1)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 6") == true)
        try stage.report(1...6, at: 210)
        stage.pass(to: 230)
        // Nobody knows whether the first page arrived.
        #expect(
            stage.notified.dropFirst().sorted() == [
                "210 pager resolved r-1", "210 pager resolved storm of 6",
            ])
    }

    @Test func `D11: what was taken singly stays so, whatever storm comes`() throws {
        var stage = try StormStage([Self.pager])
        try stage.report(1...3, at: 0)
        stage.pass(to: 100)
        stage.answers["pager"] = .fails
        try stage.report(4...9, at: 100)
        stage.pass(to: 200)
        stage.answers["pager"] = .takes
        stage.pass(to: 300)
        try stage.report(1...9, at: 400)
        stage.pass(to: 410)
        #expect(
            stage.notified.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") } == [
                "fired r-1", "fired r-2", "fired r-3", "fired storm of 6", "resolved r-1",
                "resolved r-2", "resolved r-3", "resolved storm of 6",
            ])
        #expect(stage.broken == [])
    }

    @Test func `D11: members join and leave in silence; it is told again when they have doubled`()
        throws
    {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        try stage.report(7...11, at: 10)
        try stage.report([12], at: 20)
        try stage.report([13], at: 30)
        stage.pass(to: 200)
        #expect(
            stage.notified == ["90 pager fired storm of 6", "110 pager repeated storm of 12"])
        try stage.report(1...12, at: 210)
        stage.pass(to: 220)
        #expect(stage.notified.count == 2)
        try stage.report([13], at: 230)
        stage.pass(to: 240)
        #expect(stage.notified.dropFirst(2) == ["230 pager resolved storm of 13"])
        #expect(stage.broken == [])
    }

    @Test func `D11: it doubles while nobody takes it: the next message tells the number of then`()
        throws
    {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .fails
        try stage.report(1...6, at: 0)
        try stage.report(7...50, at: 10)
        stage.pass(to: 130)
        stage.answers["pager"] = .takes
        stage.pass(to: 300)
        #expect(
            stage.notified.map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") } == [
                "fired storm of 6", "repeated storm of 50",
            ])
    }

    @Test func `D11: 15 min after the last one nobody joins any more`() throws {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        // It fires 899 s after the storm began, the next one 900 s after that.
        try stage.report([7], at: 899)
        try stage.report([8], at: 1799)
        try stage.report([9], at: 1800)
        stage.pass(to: 2000)
        #expect(
            stage.notified == [
                "90 pager fired storm of 6", "1889 pager fired r-8", "1890 pager fired r-9",
            ])
        try stage.report(1...9, at: 2010)
        stage.pass(to: 2020)
        #expect(
            stage.notified.dropFirst(3) == [
                "2010 pager resolved r-8", "2010 pager resolved r-9",
                "2010 pager resolved storm of 7",
            ])
        #expect(stage.broken == [])
    }

    @Test func `D11: below half of alerts.storm nobody joins any more, and another may begin`()
        throws
    {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        try stage.report(1...4, at: 100)
        stage.pass(to: 180)
        // Two of six are left: less than half of five.
        stage.pass(to: 191)
        #expect(
            stage.notified == [
                "90 pager fired storm of 6", "190 pager fired r-1", "190 pager fired r-2",
                "190 pager fired r-3", "190 pager fired r-4",
            ])
        try stage.report(11...16, at: 200)
        stage.pass(to: 300)
        #expect(stage.notified.dropFirst(5) == ["290 pager fired storm of 6"])
        let known = try #require(stage.open["pager"])
        #expect(known.count == 6)
        try stage.report(Array(1...6) + Array(11...16), at: 310)
        stage.pass(to: 320)
        #expect(stage.open["pager"] == [])
        #expect(stage.notified.count { $0.hasSuffix("resolved storm of 6") } == 2)
        #expect(stage.broken == [])
    }

    @Test func `D11: what is muted makes no storm, and one that is unmuted joins it`() throws {
        var stage = try StormStage([Self.pager])
        stage.silence([.of("region", "r-5", "r-6", "r-7")], from: 0, until: 300)
        try stage.report(1...7, at: 10)
        stage.pass(to: 200)
        #expect(stage.notified.count == 4)
        #expect(stage.texts == [])
        var joins = try StormStage([Self.pager])
        joins.silence([.of("region", "r-7")], from: 0, until: 300)
        try joins.report(1...7, at: 10)
        joins.pass(to: 400)
        #expect(joins.notified == ["100 pager fired storm of 6"])
        try joins.report(1...7, at: 410)
        joins.pass(to: 420)
        #expect(joins.notified.dropFirst() == ["410 pager resolved storm of 7"])
        #expect(stage.broken + joins.broken == [])
    }

    @Test func `D11: it is told again by repeat_interval, unless all of it is muted`() throws {
        var pager = Self.pager
        pager.repeatInterval = .seconds(600)
        var stage = try StormStage([pager])
        try stage.report(1...6, at: 0)
        stage.pass(to: 1000)
        #expect(
            stage.notified == ["90 pager fired storm of 6", "690 pager repeated storm of 6"])
        stage.silence([.of("region", "r-1")], from: 1000, until: 1500)
        stage.pass(to: 1400)
        #expect(stage.notified.dropFirst(2) == ["1290 pager repeated storm of 5"])
        stage.silence([], from: 1500, until: 2200)
        stage.pass(to: 2300)
        #expect(stage.notified.count == 3)
        stage.pass(to: 2500)
        #expect(stage.notified.dropFirst(3) == ["2490 pager repeated storm of 6"])
        #expect(stage.broken == [])
    }

    @Test func `D11: each receiver has storms of its own, by its matchers and what it took`() throws
    {
        var south = Self.chat
        south.match = [.of("region", "r-1", "r-2", "r-3", "r-4", "r-5", "r-6")]
        var stage = try StormStage([Self.pager, south])
        stage.answers["pager"] = .fails
        try stage.report(1...4, at: 0)
        try stage.report(5...9, at: 60)
        stage.pass(to: 151)
        stage.answers["pager"] = .takes
        stage.pass(to: 300)
        try stage.report(1...9, at: 310)
        stage.pass(to: 330)
        #expect(
            stage.notified.filter { $0.contains("chat") } == [
                "90 chat fired r-1 r-2 r-3 r-4", "150 chat fired r-5 r-6",
                "310 chat resolved r-1 r-2 r-3 r-4 r-5 r-6",
            ])
        #expect(stage.notified.count { $0.contains("pager fired") } == 1)
        #expect(stage.open["pager"] == [])
        #expect(stage.broken == [])
    }

    @Test func `D11: settings that change amid a storm leave it its end`() throws {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        stage.change(at: 100) { $0.alerts.storm = 0 }
        try stage.report([7], at: 100)
        stage.pass(to: 200)
        #expect(stage.notified == ["90 pager fired storm of 6", "190 pager fired r-7"])
        // Gone and back again: as with single pages, what it was told has its end.
        stage.change(at: 210) { $0.receivers = [] }
        stage.change(at: 220) { $0.receivers = [Self.pager] }
        try stage.report(1...7, at: 230)
        stage.pass(to: 240)
        #expect(
            stage.notified.dropFirst(2) == [
                "230 pager resolved r-7", "230 pager resolved storm of 6",
            ])
        #expect(stage.broken == [])
    }

    @Test func `D11: fewer are allowed than wait already: they become one`() throws {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .fails
        try stage.report(1...4, at: 0)
        stage.change(at: 95) { $0.alerts.storm = 3 }
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count == 1)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 4") == true)
        #expect(stage.broken == [])
    }

    @Test func `D11: a receiver that becomes a program is told of each alert`() throws {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        stage.pass(to: 100)
        stage.change(at: 110) { $0.receivers = [.named("pager", .webhook)] }
        stage.pass(to: 120)
        #expect(
            stage.notified.dropFirst() == [
                "110 pager resolved storm of 6", "110 pager fired r-1 r-2 r-3 r-4 r-5 r-6",
            ])
        #expect(stage.broken == [])
    }

    @Test func `D11: who wants no ends is told of none`() throws {
        var pager = Self.pager
        pager.sendsResolved = false
        var stage = try StormStage([pager])
        try stage.report(1...6, at: 0)
        try stage.report(1...6, at: 100)
        stage.pass(to: 130)
        #expect(stage.notified == ["90 pager fired storm of 6"])
        #expect(stage.engine.alerting.notifications.storms.isEmpty)
    }

    @Test func `D11: it says how many there are, and names the ten with the most people`() throws {
        var stage = try StormStage([Self.pager], storm: 10)
        try stage.report(1...12, at: 0)
        stage.pass(to: 100)
        let words = "The most people: "
        let parts = stage.texts.first?.split(separator: words).map(String.init) ?? []
        #expect(
            parts.first == "Nobody can be reached in 12 regions, 12 of 12 out of contact | "
                + "12 alerts of NoOnlineResponders fire as of 00:01:30 UTC and are told as one. ")
        let places = parts.last?.split(separator: ";").compactMap { $0.split(separator: " ").first }
        #expect(
            places == [
                "r-1", "r-10", "r-11", "r-12", "r-2", "r-3", "r-4", "r-5", "r-6", "r-7", "and",
            ])
        #expect(parts.last?.hasSuffix("; and 2 more.") == true)
        try stage.report(1...12, at: 200)
        stage.pass(to: 210)
        #expect(
            stage.texts.last?.hasPrefix("Over: NoOnlineResponders in none of 12 regions any more")
                == true)
    }
}
