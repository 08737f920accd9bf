import Testing

@testable import RollcallCore

/// Silences, settings and ends that meet a storm. Source: D11, A7, A9.
///
/// Regions are without anybody 90 s after they reported, and more than five are a storm.
@Suite struct StormCaseTests {
    private static let pager = Receiver.named("pager", .pagerduty)

    @Test func `A7, D11: a silence takes nothing back that a storm gathers`() throws {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .fails
        try stage.report(1...4, at: 0)
        try stage.report(5...6, at: 10)
        stage.silence([.of("region", "r-1", "r-2", "r-3", "r-4")], from: 95, until: 1000)
        stage.pass(to: 101)
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count == 1)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 6") == true)
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `D1, D11: whom a silence keeps out of a repeat is not told by it, until another tells`(
        restores: Bool
    ) throws {
        var pager = Self.pager
        pager.repeatInterval = .seconds(300)
        var stage = try StormStage([pager])
        stage.restores = restores
        func mutes(_ region: String) -> [MuteReason] {
            let key = AlertKey(name: .noOnlineResponders, subject: .region(Array(region.utf8)))
            return stage.engine.alerting.board[key]?.muted.map(\.reason) ?? []
        }
        func told(_ region: String) -> [Reach.State] {
            let key = AlertKey(name: .noOnlineResponders, subject: .region(Array(region.utf8)))
            guard let alert = stage.engine.alerting.board[key],
                let notified = alert.notified.first, !alert.isAwaited(by: pager.name)
            else { return [] }
            return stage.outbox.reach(
                of: notified.storm, since: alert.startsAt, from: notified.at
            ).map(\.state)
        }
        try stage.report(1...6, at: 0)
        try stage.report([7], at: 20)
        stage.pass(to: 112)
        let storm = try #require(stage.engine.storms.first)
        #expect(mutes("r-1") == [] && told("r-1") == [.taken])
        #expect(mutes("r-7") == [.storm(storm)] && told("r-7") == [])
        stage.silence([.of("region", "r-1", "r-7")], from: 115, until: 300)
        try stage.report(8...12, at: 120)
        stage.pass(to: 250)
        #expect(stage.notified == ["90 pager fired storm of 6", "210 pager repeated storm of 10"])
        // The first message told of one of them.
        #expect(mutes("r-1") == [] && told("r-1") == [.taken])
        #expect(mutes("r-7") == [.silence(1)] && told("r-7") == [])
        #expect(mutes("r-8") == [] && told("r-8") == [.taken])
        stage.pass(to: 310)
        #expect(mutes("r-7") == [.storm(storm)])
        stage.answers["pager"] = .fails
        stage.pass(to: 513)
        #expect(mutes("r-7") == [] && told("r-7") == [.trying])
        stage.answers["pager"] = .takes
        stage.pass(to: 600)
        #expect(stage.notified.count == 3 && told("r-7") == [.taken])
        let reasons = stage.stored.compactMap { decision -> MuteReason? in
            guard case .mute(_, let mute) = decision, mute.key.subject == .region(Array("r-7".utf8))
            else { return nil }
            return mute.reason
        }
        #expect(reasons == [.storm(storm), .silence(1), .storm(storm)])
        #expect(stage.broken == [])
    }

    @Test func `J4, D11: another version knows from the store whom a storm left out`() throws {
        var stage = try StormStage([Self.pager])
        let ledger = stage.engine.alertLedger
        try stage.report(1...6, at: 0)
        try stage.report([7], at: 20)
        stage.pass(to: 112)
        stage.silence([.of("region", "r-7")], from: 115, until: 3000)
        try stage.report(8...13, at: 120)
        stage.pass(to: 250)
        var engine = stage.engine
        engine.take(ledger, stored: stage.stored)
        #expect(engine.brokenInvariants() == [])
        for number in 1...13 {
            let key = AlertKey(
                name: .noOnlineResponders, subject: .region(Array("r-\(number)".utf8)))
            let alert = try #require(engine.alerting.board[key])
            let notified = try #require(alert.notified.first)
            #expect(alert.muted.map(\.reason) == (number == 7 ? [.silence(1)] : []))
            let reach = stage.outbox.reach(
                of: notified.storm, since: alert.startsAt, from: notified.at)
            #expect(number == 7 || reach.map(\.state) == [.taken], "\(number)")
        }
    }

    @Test func `A7, D11: what a silence covers when it becomes a storm is told as one`() throws {
        var stage = try StormStage([Self.pager])
        stage.answers["pager"] = .fails
        try stage.report(1...4, at: 0)
        stage.silence([], from: 95, until: 1000)
        stage.change(at: 100) { $0.alerts.storm = 3 }
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count == 1)
        #expect(stage.notified.last?.hasSuffix("pager fired storm of 4") == true)
        #expect(stage.broken == [])
    }

    @Test(arguments: [false, true])
    func `A9, D11: a storm that is over is told to nobody later, whoever wants ends`(
        wantsEnds: Bool
    ) throws {
        var pager = Self.pager
        pager.sendsResolved = wantsEnds
        var stage = try StormStage([pager])
        stage.answers["pager"] = .fails
        try stage.report(1...6, at: 0)
        try stage.report(1...6, at: 150)
        stage.pass(to: 160)
        stage.answers["pager"] = .takes
        stage.pass(to: 230)
        // It was tried and may have arrived, so its end is told.
        #expect(stage.notified.filter { $0.contains("fired") } == [])
        #expect(stage.notified.count == (wantsEnds ? 1 : 0))
        #expect(stage.open["pager"] ?? [] == [])
        #expect(stage.outbox.queues.allSatisfy { $0.waitingCount == 0 })
        #expect(stage.broken == [])
    }

    @Test func `D11: what waits while storms are off is one when they are on`() throws {
        var stage = try StormStage([Self.pager], storm: 0)
        stage.answers["pager"] = .fails
        try stage.report(1...6, at: 0)
        stage.change(at: 95) { $0.alerts.storm = 5 }
        stage.answers["pager"] = .takes
        stage.pass(to: 200)
        #expect(stage.notified.count { $0.contains("storm of 6") } == 1)
        #expect(stage.notified.count <= 2)
        #expect(stage.broken == [])
    }

    @Test func `D11: a storm that has doubled unheard is told at once when its receiver is back`()
        throws
    {
        var stage = try StormStage([Self.pager])
        try stage.report(1...6, at: 0)
        stage.pass(to: 100)
        #expect(stage.notified == ["90 pager fired storm of 6"])
        stage.answers["pager"] = .fails
        try stage.report(7...20, at: 105)
        stage.pass(to: 220)
        stage.change(at: 220) { $0.receivers = [] }
        stage.answers["pager"] = .takes
        stage.change(at: 230) { $0.receivers = [Self.pager] }
        stage.pass(to: 300)
        #expect(stage.notified.count == 2)
        #expect(stage.notified.last?.hasSuffix("pager repeated storm of 20") == true)
        #expect(stage.broken == [])
    }

    @Test(arguments: ReceiverKind.allCases.filter(\.isChannel))
    func `A9, D11: in a channel a storm does not overtake the end of the one before`(
        kind: ReceiverKind
    ) throws {
        var stage = try StormStage([Receiver.named("channel", kind)])
        try stage.report(1...6, at: 0)
        stage.pass(to: 100)
        stage.answers["channel"] = .fails
        try stage.report(1...6, at: 150)
        stage.pass(to: 250)
        stage.answers["channel"] = .takes
        stage.pass(to: 400)
        let words = stage.notified.map {
            $0.split(separator: " ").dropFirst().joined(separator: " ")
        }
        #expect(
            words == [
                "channel fired storm of 6", "channel resolved storm of 6",
                "channel fired storm of 6",
            ])
        #expect(stage.open["channel"]?.count == 1)
        #expect(stage.broken == [])
    }

    @Test(arguments: ReceiverKind.allCases.filter(\.isChannel))
    func `A9, D11: in a channel a storm does not overtake the ends of single alerts`(
        kind: ReceiverKind
    ) throws {
        var stage = try StormStage([Receiver.named("channel", kind)])
        try stage.report(1...2, at: 0)
        stage.pass(to: 100)
        stage.answers["channel"] = .fails
        try stage.report(1...9, at: 150)
        stage.pass(to: 250)
        stage.answers["channel"] = .takes
        stage.pass(to: 400)
        let words = stage.notified.map {
            $0.split(separator: " ").dropFirst(2).joined(separator: " ")
        }
        #expect(words == ["fired r-1 r-2", "resolved r-1 r-2", "fired storm of 9"])
        #expect(stage.broken == [])
    }

    @Test func `D7, D11: a channel's storm counts as many alerts among what fires besides`() throws
    {
        var stage = try StormStage([Receiver.named("channel", .slack)])
        try stage.report(1...2, at: 0)
        stage.pass(to: 100)
        try stage.report(3...9, at: 100)
        stage.pass(to: 200)
        let known = stage.outbox.queues[0].known
        // Two were told singly, and seven by a storm.
        #expect(known.known(.noOnlineResponders, but: [], count: 10).count == 9)
        let storm = try #require(stage.engine.storms.first)
        #expect(known.known(.noOnlineResponders, but: [storm], count: 10).count == 2)
        #expect(stage.outbox.incidentsOpened(by: Array("channel".utf8)) == 3)
    }
}
