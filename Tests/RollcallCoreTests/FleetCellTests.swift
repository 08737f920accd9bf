import Testing

@testable import RollcallCore

/// Two cells and the fleet cell over them. Source: K2, K4.
@Suite struct FleetCellTests {
    @Test func `K4: a cell tells that the fleet cell is dark, and nobody else does`() {
        for (role, fires) in [(FleetRole.cell, true), (.whole, false), (.fleet, false)] {
            var policy = Policy()
            policy.role = role
            var engine = Engine(policy: policy)
            _ = engine.fold(.start(), at: SmallFleet.instant(0))
            _ = engine.fold(.fleetCell(isDark: true), at: SmallFleet.instant(20))
            engine.settle()
            let key = AlertKey(name: .fleetDark, subject: .all)
            #expect((engine.alerting.board[key]?.state == .firing) == fires, "\(role)")
            let checkpoint = Checkpoint(engine)
            var reader = CheckpointReader()
            for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
            #expect(reader.finish()?.isFleetCellDark == fires, "\(role)")
            _ = engine.fold(.fleetCell(isDark: false), at: SmallFleet.instant(30))
            engine.settle()
            #expect(engine.alerting.board[key]?.state != .firing)
        }
    }

    @Test func `K2: somebody of another cell can be reached`() {
        var fleet = SmallFleet()
        for second in stride(from: Int64(0), through: 300, by: 30) {
            if second == 0 { fleet.report(["a1", "a2"], to: 0, at: second) }
            fleet.report(["b1"], to: 1, at: second)
        }
        // Those of a are OFFLINE since 180 s.
        #expect(fleet.alerts() == [])
        fleet.pass(to: 391)
        // The last of b is DEGRADED 90 s after 300.
        #expect(fleet.alerts() == ["390s NoOnlineResponders firing"])
        fleet.report(["a2"], to: 0, at: 400)
        #expect(fleet.alerts() == ["400s NoOnlineResponders resolved"])
        #expect(fleet.alertsOfCells() == [])
    }

    @Test func `K2: what it fires for says why people are silent, and names nobody`() throws {
        var fleet = SmallFleet()
        fleet.report(["a1", "a2"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.pass(to: 100)
        let board = fleet.fleet.alerting.board
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("harbour".utf8)))
        let facts = try #require(board[key]).facts
        #expect(facts.stats == AlertStats(count: 3, total: 3))
        #expect(facts.causes == [AlertFacts.Cause(cause: .unexplained, count: 3)])
        #expect(facts.people.isEmpty)
        #expect(fleet.fleet.roster.count == 0)
    }

    @Test func `K4: nothing fires or ends because a cell is dark`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.muted = [1]
        fleet.pass(to: 200)
        // a1 is OFFLINE since 180 s; of b1 nobody knows.
        #expect(fleet.alerts() == ["15s CellDark firing"])
        fleet.muted = []
        fleet.pass(to: 201)
        #expect(fleet.alerts() == ["201s NoOnlineResponders firing", "201s CellDark resolved"])
        fleet.muted = [0]
        fleet.report(["b1"], to: 1, at: 230)
        // Whatever became of a1, b1 is ONLINE.
        #expect(fleet.alerts() == ["216s CellDark firing", "230s NoOnlineResponders resolved"])
    }

    @Test func `K4: one that fires goes on while it is not known whether it is over`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.pass(to: 100)
        #expect(fleet.alerts() == ["90s NoOnlineResponders firing"])
        fleet.muted = [1]
        fleet.report(["b1"], to: 1, at: 110)
        fleet.pass(to: 130)
        #expect(fleet.alerts() == ["115s CellDark firing"])
        fleet.muted = []
        fleet.pass(to: 131)
        #expect(fleet.alerts() == ["131s NoOnlineResponders resolved", "131s CellDark resolved"])
    }

    @Test func `K4: what was pending and could not be decided starts anew`() {
        var fleet = SmallFleet { $0.alerts.noOnlineResponders.pendingFor = .seconds(60) }
        fleet.report(["a1"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.pass(to: 100)
        #expect(fleet.alerts() == ["90s NoOnlineResponders pending"])
        fleet.muted = [1]
        fleet.pass(to: 160)
        #expect(fleet.alerts() == ["115s CellDark firing"])
        fleet.muted = []
        fleet.pass(to: 240)
        #expect(fleet.alerts() == ["161s CellDark resolved", "221s NoOnlineResponders firing"])
    }

    @Test func `K4: before every cell was heard nothing is decided about people`() {
        var fleet = SmallFleet()
        fleet.muted = [1]
        fleet.report(["a1"], to: 0, at: 0)
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("harbour".utf8)))
        #expect(fleet.fleet.knownCondition(key).isTrue == nil)
        fleet.pass(to: 16)
        #expect(fleet.fleet.knownCondition(key).isTrue == false)
    }

    @Test func `K2: an older summary is ignored, and one that says everything replaces all`() throws
    {
        var fleet = SmallFleet()
        fleet.report(["a1", "a2"], to: 0, at: 0)
        let known = try #require(fleet.fleet.cells[SmallFleet.name(0)])
        #expect(known.active == 2)
        var old = Summary()
        (old.cell, old.position) = (SmallFleet.name(0), known.position - 1)
        old.through = known.through
        old.changes = [Summary.Change(at: known.through, region: Array("harbour".utf8))]
        #expect(fleet.fleet.fold(.summaries([old]), at: SmallFleet.instant(1)).accepted == 0)
        #expect(fleet.fleet.cells[SmallFleet.name(0)]?.active == 2)
        old.isWhole = true
        old.changes = []
        #expect(fleet.fleet.fold(.summaries([old]), at: SmallFleet.instant(1)).accepted == 1)
        #expect(fleet.fleet.cells[SmallFleet.name(0)]?.active == 0)
        #expect(fleet.fleet.aggregates.active == 0)
    }

    @Test
    func `J5: a checkpoint holds what the cells said, and the cells' causes are counted anew`()
        throws
    {
        var fleet = SmallFleet()
        fleet.report(["a1", "a2"], to: 0, at: 0)
        fleet.pass(to: 200)
        for engine in [fleet.fleet, fleet.cells[0]] {
            let checkpoint = Checkpoint(engine)
            var reader = CheckpointReader()
            for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
            var copy = try #require(reader.finish())
            #expect(copy.aggregates.byStatus == engine.aggregates.byStatus)
            #expect(
                copy.cells[SmallFleet.name(0)]?.active == engine.cells[SmallFleet.name(0)]?.active)
            #expect(copy.policy.role == engine.policy.role)
            var original = engine
            original.sayAll()
            let name = Array("x".utf8)
            let said = copy.takeSummary(of: name, position: 1, through: SmallFleet.instant(200))
            #expect(
                said
                    == original.takeSummary(of: name, position: 1, through: SmallFleet.instant(200))
            )
        }
    }

    @Test func `J1: summaries are events of the journal, and nobody can have said nonsense`() throws
    {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.cells[0].sayAll()
        let said = fleet.cells[0].takeSummary(
            of: SmallFleet.name(0), position: 7, through: SmallFleet.instant(1))
        #expect(
            Summary.list(journalBytes: Summary.journalBytes(of: [said, said])) == [said, said])
        #expect(Summary(journalBytes: said.journalBytes) == said)
        #expect(Summary(journalBytes: Array(said.journalBytes.dropLast(2))) == nil)
        #expect(Event.summaries([said]).isCredible)
        var late = said
        late.through = said.through - .seconds(1)
        var nobody = said
        nobody.cell = []
        var negative = said
        negative.changes[2].summary.byStatus[0] = -1
        #expect(Summary.list(journalBytes: Summary.journalBytes(of: [said, negative])) == nil)
        for wrong in [late, nobody, negative] { #expect(!Event.summaries([wrong]).isCredible) }
    }

    @Test func `K2: what is said after a whole one is not taken away by it`() {
        var fleet = SmallFleet(cells: 1)
        fleet.report(["a1"], to: 0, at: 0)
        let at = fleet.fleet.clock.wallNow
        var whole = Summary()
        (whole.cell, whole.position, whole.isWhole) = (SmallFleet.name(0), 1000, true)
        whole.through = at + .seconds(1)
        var next = whole
        (next.position, next.isWhole) = (1001, false)
        next.through = at + .seconds(2)
        var summary = RegionSummary()
        summary.byStatus[0] = 7
        next.changes = [
            Summary.Change(at: at + .seconds(2), region: Array("harbour".utf8), summary: summary)
        ]
        _ = fleet.fleet.fold(.summaries([whole, next]), at: SmallFleet.instant(2))
        #expect(fleet.fleet.aggregates.active == 7)
    }

    @Test func `K4: a cell that is heard again is not judged by its old numbers`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.pass(to: 100)
        #expect(fleet.alerts() == ["90s NoOnlineResponders firing"])
        fleet.muted = [0]
        fleet.report(["a1"], to: 0, at: 105)
        fleet.pass(to: 119)
        #expect(fleet.alerts() == ["115s CellDark firing"])
        // One event brings b's ONLINE and a's later silence; in between a's old numbers are not known.
        fleet.muted = []
        fleet.report(["b1"], to: 1, at: 120)
        #expect(
            fleet.alerts() == ["120s NoOnlineResponders resolved", "120s CellDark resolved"])
    }

    @Test func `B1: a fleet cell whose store took nothing calls no cell dark for that`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        _ = fleet.fleet.fold(.store(isFailing: true), at: SmallFleet.instant(1))
        fleet.fleet.settle()
        _ = fleet.fleet.fold(.store(isFailing: false), at: SmallFleet.instant(60))
        fleet.fleet.settle()
        fleet.pass(to: 62)
        #expect(fleet.alerts() == [])
    }
}
