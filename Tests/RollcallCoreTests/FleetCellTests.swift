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

    @Test
    func `K4, K6: of whom a cell left to one that is dark nothing is known, and they are counted`()
        throws
    {
        var fleet = SmallFleet(cells: 1)
        let cell = { (name: String) in
            CellMap.Cell(name: Array(name.utf8), urls: [Array("http://\(name)".utf8)])
        }
        let first = try #require(CellMap(first: [cell("a")]))
        let second = try #require(first.splitting(Array("a".utf8), into: cell("b")))
        _ = fleet.fleet.fold(.cells(first), at: SmallFleet.instant(0))
        _ = fleet.cells[0].fold(.cells(first), at: SmallFleet.instant(0))
        let ids = (0..<20).map { "r-\($0)" }
        fleet.report(ids, to: 0, at: 0)
        fleet.pass(to: 10)
        _ = fleet.fleet.fold(.cells(second), at: SmallFleet.instant(10))
        let moved = ids.count { PersonSlot.of(Array($0.utf8)) >= 2048 }
        #expect(0 < moved && moved < ids.count)
        var new = fleet.cells[0]
        for (name, isNew) in [("a", false), ("b", true)] {
            let split = Event.split(CellSplit(second, own: Array(name.utf8), isNew: isNew))
            if isNew {
                _ = new.fold(split, at: SmallFleet.instant(10))
            } else {
                _ = fleet.cells[0].fold(split, at: SmallFleet.instant(10))
            }
        }
        fleet.cells.append(new)
        // What the old one says is kept until the new one has said something, or is dark.
        fleet.muted = [0, 1]
        fleet.pass(to: 25)
        #expect(fleet.alerts() == ["25s CellDark firing"])
        fleet.muted = [1]
        fleet.pass(to: 30)
        #expect(fleet.fleet.cells[SmallFleet.name(0)]?.active == ids.count - moved)
        #expect(fleet.fleet.cells[SmallFleet.name(1)]?.active == moved)
        #expect(fleet.fleet.aggregates.active == ids.count)
        #expect(fleet.fleet.unlit.byStatus[Int(Status.online.rawValue)] == moved)
        // Those of a are DEGRADED; of those of b nobody knows.
        fleet.pass(to: 100)
        #expect(fleet.alerts() == [])
        // Who goes off duty from now on has not left for b, also where the fleet cell begins anew.
        fleet.fleet.cells.listenAnew(SmallFleet.instant(100))
        let one = try #require(ids.first { PersonSlot.of(Array($0.utf8)) < 2048 })
        let body = Array(#"[{"responder_id":"\#(one)","duty_state":"OFF_DUTY"}]"#.utf8)
        let list = try ItemScanner.scan(body.span, kind: .batch).items
        _ = fleet.cells[0].fold(
            .items(list, source: EventSource.standard), at: SmallFleet.instant(100))
        fleet.pass(to: 101)
        #expect(fleet.fleet.cells[SmallFleet.name(1)]?.active == moved)
        #expect(fleet.fleet.aggregates.active == ids.count - 1)
        fleet.muted = []
        fleet.pass(to: 102)
        #expect(
            fleet.alerts() == ["102s NoOnlineResponders firing", "102s CellDark resolved"])
        #expect(fleet.fleet.aggregates.active == ids.count - 1)
    }

    /// A fleet cell, and both halves of a cell that was split at 10 s; nothing was heard of them since.
    private func halves(
        _ origin: String, _ new: String
    ) throws -> (fleet: Engine, old: Engine, new: Engine, moved: Int) {
        let cell = { (name: String) in
            CellMap.Cell(name: Array(name.utf8), urls: [Array("http://\(name)".utf8)])
        }
        let first = try #require(CellMap(first: [cell(origin)]))
        let second = try #require(first.splitting(Array(origin.utf8), into: cell(new)))
        var policy = Policy()
        policy.role = .cell
        var old = Engine(policy: policy)
        policy.role = .fleet
        var fleet = Engine(policy: policy)
        for seconds in [Int64(0), 10] {
            let instant = SmallFleet.instant(seconds)
            _ = fleet.fold(seconds == 0 ? .start() : .cells(second), at: instant)
            if seconds == 0 {
                _ = fleet.fold(.cells(first), at: instant)
                _ = old.fold(.start(), at: instant)
                _ = old.fold(.cells(first), at: instant)
                let items = (0..<20).map {
                    #"{"responder_id":"r-\#($0)","region":"r\#($0 % 2)","duty_state":"ON_DUTY"}"#
                }
                let body = Array("[\(items.joined(separator: ","))]".utf8)
                let list = try ItemScanner.scan(body.span, kind: .batch).items
                _ = old.fold(.items(list, source: EventSource.standard), at: instant)
                let said = old.takeSummary(of: Array(origin.utf8), position: 1, through: instant)
                _ = fleet.fold(.summaries([said]), at: instant)
            }
        }
        var half = old
        let instant = SmallFleet.instant(10)
        _ = old.fold(.split(CellSplit(second, own: Array(origin.utf8), isNew: false)), at: instant)
        _ = half.fold(.split(CellSplit(second, own: Array(new.utf8), isNew: true)), at: instant)
        fleet.advance(to: SmallFleet.instant(40))
        fleet.settle()
        #expect(fleet.cells[Array(new.utf8)]?.isDark == true)
        #expect(fleet.aggregates.active == 20)
        let moved = (0..<20).count { PersonSlot.of(Array("r-\($0)".utf8)) >= 2048 }
        return (fleet, old, half, moved)
    }

    @Test(arguments: [("a", "b"), ("b", "a")])
    func `K6: in the word in which a dark new cell speaks nobody is counted twice`(
        origin: String, new: String
    ) throws {
        for isWhole in [false, true] {
            var (fleet, old, half, moved) = try halves(origin, new)
            let (oldName, newName) = (Array(origin.utf8), Array(new.utf8))
            old.advance(to: SmallFleet.instant(42))
            half.advance(to: SmallFleet.instant(41))
            if isWhole { old.sayAll() }
            half.sayAll()
            let first = half.takeSummary(
                of: newName, position: 1, through: SmallFleet.instant(41))
            let last = old.takeSummary(of: oldName, position: 2, through: SmallFleet.instant(42))
            _ = fleet.fold(.summaries([first, last]), at: SmallFleet.instant(42))
            fleet.settle()
            #expect(fleet.cells[newName]?.active == moved, "\(isWhole)")
            #expect(fleet.aggregates.active == 20, "\(isWhole)")
            #expect(fleet.cells[newName]?.isLit == true && fleet.cells[oldName]?.isLit == true)
        }
    }

    @Test(arguments: [("a", "b"), ("b", "a")])
    func `K6: a new cell that is dark for long speaks for itself from its first word on`(
        origin: String, new: String
    ) throws {
        var (fleet, old, half, moved) = try halves(origin, new)
        let (oldName, newName) = (Array(origin.utf8), Array(new.utf8))
        for seconds in Int64(41)...60 {
            let instant = SmallFleet.instant(seconds)
            old.advance(to: instant)
            let said = old.takeSummary(of: oldName, position: seconds, through: instant)
            _ = fleet.fold(.summaries([said]), at: instant)
        }
        #expect(fleet.cells[newName]?.active == moved)
        #expect(fleet.aggregates.active == 20)
        // In the word in which it is heard one of the old cell goes off duty.
        half.advance(to: SmallFleet.instant(61))
        half.sayAll()
        let first = half.takeSummary(of: newName, position: 1, through: SmallFleet.instant(61))
        let one = try #require(
            (0..<20).first { PersonSlot.of(Array("r-\($0)".utf8)) < 2048 })
        let body = Array(#"[{"responder_id":"r-\#(one)","duty_state":"OFF_DUTY"}]"#.utf8)
        let list = try ItemScanner.scan(body.span, kind: .batch).items
        _ = old.fold(.items(list, source: EventSource.standard), at: SmallFleet.instant(62))
        old.advance(to: SmallFleet.instant(62))
        let last = old.takeSummary(of: oldName, position: 62, through: SmallFleet.instant(62))
        _ = fleet.fold(.summaries([first, last]), at: SmallFleet.instant(62))
        #expect(fleet.cells[newName]?.active == moved)
        #expect(fleet.aggregates.active == 19)
        // Neither is dark at once again.
        fleet.advance(to: SmallFleet.instant(70))
        fleet.settle()
        #expect(fleet.cells[newName]?.isLit == true && fleet.cells[oldName]?.isLit == true)
    }

    @Test func `K6: who left is counted as they were, and who changed meanwhile has not left`() {
        var before = RegionSummary()
        before.byStatus = [10, 4, 3, 6]
        (before.flapping, before.unheard) = (3, 2)
        var silent = RegionSummary.Cause()
        (silent.offline, silent.absent) = (6, 6)
        before.add(silent, of: .unexplained, times: 1)
        var after = RegionSummary()
        after.byStatus = [5, 3, 1, 4]
        let left = before.left(by: after)
        #expect(left.byStatus == [5, 1, 2, 2] && left.flapping == 3 && left.unheard == 2)
        let cause = left.causes.first?.people
        #expect(cause?.offline == 2 && cause?.absent == 5)
        // One of the ten is late by now, and one more left.
        after.byStatus = [8, 5, 3, 6]
        #expect(before.left(by: after).byStatus == [1, 0, 0, 0])
        #expect(before.left(by: after).causes.isEmpty, "nobody who is OFFLINE left")
        after.byStatus = [12, 4, 3, 6]
        #expect(before.left(by: after).isEmpty, "who came")
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

    private static let reports = stride(from: Int64(0), through: 600, by: 30)

    @Test func `K4: a rate that the dark could keep up does not end`() {
        var fleet = SmallFleet { policy in
            policy.alerts.highOfflineRate.isEnabled = true
            policy.alerts.noOnlineResponders.isEnabled = false
        }
        fleet.report((0..<10).map { "a\($0)" }, to: 0, at: 0)
        fleet.report((0..<10).map { "b\($0)" }, to: 1, at: 0)
        fleet.pass(to: 900)
        #expect(fleet.alerts().contains { $0.hasSuffix("HighOfflineRate firing") })
        fleet.muted = [1]
        fleet.pass(to: 920)
        for second in Self.reports {
            fleet.report((0..<10).map { "a\($0)" }, to: 0, at: 930 + second)
        }
        // All of a are ONLINE, and of b nobody knows.
        #expect(fleet.alerts() == ["915s CellDark firing"])
        fleet.muted = []
        for second in Self.reports {
            fleet.report((0..<10).map { "a\($0)" }, to: 0, at: 1600 + second)
            fleet.report((0..<10).map { "b\($0)" }, to: 1, at: 1600 + second)
        }
        #expect(fleet.alerts().contains { $0.hasSuffix("HighOfflineRate resolved") })
    }

    @Test func `K4: that somebody flaps is not over because their cell is dark`() {
        var fleet = SmallFleet { $0.alerts.responderFlapping.pendingFor = Milliseconds(0) }
        fleet.report(["a1"], to: 0, at: 0)
        func says(_ flapping: Int, at seconds: Int64, _ position: Int64) -> Summary {
            var said = Summary()
            (said.cell, said.position) = (SmallFleet.name(1), position)
            said.through = fleet.fleet.clock.wall(SmallFleet.instant(seconds))
            var region = RegionSummary()
            region.byStatus[0] = 5
            region.flapping = flapping
            said.changes = [
                Summary.Change(at: said.through, region: Array("hills".utf8), summary: region)
            ]
            return said
        }
        _ = fleet.fleet.fold(.summaries([says(1, at: 1, 1_000_000)]), at: SmallFleet.instant(1))
        fleet.fleet.settle()
        let key = AlertKey(name: .responderFlapping, subject: .region(Array("hills".utf8)))
        #expect(fleet.fleet.knownCondition(key).isTrue == true)
        fleet.muted = [1]
        fleet.pass(to: 60)
        #expect(fleet.fleet.cells[SmallFleet.name(1)]?.isDark == true)
        #expect(fleet.fleet.knownCondition(key).isTrue == nil)
        #expect(!fleet.alerts().contains { $0.hasSuffix("ResponderFlapping resolved") })
        _ = fleet.fleet.fold(.summaries([says(0, at: 61, 1_000_001)]), at: SmallFleet.instant(61))
        fleet.fleet.settle()
        #expect(fleet.fleet.knownCondition(key).isTrue == false)
    }

    @Test func `K2, K4: a cell that is blind says so in all that it says`() {
        var policy = Policy()
        policy.role = .cell
        var cell = Engine(policy: policy)
        _ = cell.fold(.start(), at: SmallFleet.instant(0))
        func first(_ position: Int64, _ seconds: Int64) -> Summary.Change.Kind? {
            cell.sayAll()
            return cell.takeSummary(
                of: SmallFleet.name(0), position: position, through: SmallFleet.instant(seconds)
            ).changes.first?.kind
        }
        #expect(first(1, 1) == .sees)
        _ = cell.fold(.store(isFailing: true), at: SmallFleet.instant(2))
        cell.settle()
        #expect(cell.clock.isBlind && first(2, 3) == .blind)
    }

    @Test func `K4: what a blind cell could change is undecided in the same turn`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.report(["b1"], to: 1, at: 0)
        fleet.pass(to: 60)
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("harbour".utf8)))
        fleet.report(["a1"], to: 0, at: 61)
        #expect(fleet.fleet.knownCondition(key).isTrue == false)
        var said = Summary()
        (said.cell, said.position) = (SmallFleet.name(1), 1_000_000)
        said.through = fleet.fleet.clock.wall(SmallFleet.instant(62))
        said.changes = [Summary.Change(at: said.through, kind: .blind)]
        _ = fleet.fleet.fold(.summaries([said]), at: SmallFleet.instant(62))
        fleet.pass(to: 300)
        // Nobody knows of b1; of a1 it is known that they are OFFLINE.
        #expect(fleet.fleet.knownCondition(key).isTrue != true)
    }

    @Test func `K2: what is said of later than now counts now, and no clock goes ahead`() {
        var fleet = SmallFleet()
        fleet.pass(to: 10)
        var said = Summary()
        (said.cell, said.position) = (SmallFleet.name(0), 1_000_000)
        said.through = fleet.fleet.clock.wall(SmallFleet.instant(40))
        said.lastBatchAt = said.through
        var region = RegionSummary()
        region.byStatus[0] = 3
        said.changes = [
            Summary.Change(at: said.through, region: Array("harbour".utf8), summary: region)
        ]
        _ = fleet.fleet.fold(.summaries([said]), at: SmallFleet.instant(12))
        #expect(fleet.fleet.clock.now == SmallFleet.instant(12))
        #expect(fleet.fleet.aggregates.active == 3)
        #expect(fleet.fleet.counters.lastBatchAt == fleet.fleet.clock.wall(SmallFleet.instant(12)))
    }

    @Test func `B1: a fleet cell whose store took nothing calls no cell dark for that`() {
        var fleet = SmallFleet()
        fleet.report(["a1"], to: 0, at: 0)
        _ = fleet.fleet.fold(.store(isFailing: true), at: SmallFleet.instant(1))
        fleet.fleet.settle()
        fleet.fleet.advance(to: SmallFleet.instant(30))
        fleet.fleet.settle()
        #expect(fleet.fleet.cells[SmallFleet.name(0)]?.isDark == false)
        _ = fleet.fleet.fold(.store(isFailing: false), at: SmallFleet.instant(60))
        fleet.fleet.settle()
        fleet.pass(to: 62)
        #expect(fleet.alerts() == [])
    }
}
