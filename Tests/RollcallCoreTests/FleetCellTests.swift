import Testing

@testable import RollcallCore

/// Two cells and the fleet cell over them. Source: K2, K4.
@Suite struct FleetCellTests {
    /// A small fleet with one clock: what cells say arrives at once.
    private struct Fleet {
        var cells: [Engine]
        var fleet: Engine
        private var position: Int64 = 0
        /// Cells that say nothing at present.
        var muted: Set<Int> = []

        init(cells count: Int = 2, _ change: (inout Policy) -> Void = { _ in }) {
            var policy = Policy()
            policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
            policy.alerts.noOnlineResponders.keepFiringFor = Milliseconds(0)
            policy.alerts.highOfflineRate.isEnabled = false
            change(&policy)
            func engine(_ role: FleetRole) -> Engine {
                policy.role = role
                return Engine(policy: policy)
            }
            cells = (0..<count).map { _ in engine(.cell) }
            fleet = engine(.fleet)
            let zero = Self.instant(0)
            _ = fleet.fold(.start(), at: zero)
            for place in cells.indices {
                _ = cells[place].fold(.start(), at: zero)
                fleet.cells.await(Self.name(place), since: zero)
            }
        }

        static func instant(_ seconds: Int64) -> RunningTime {
            RunningTime(milliseconds: 1_795_219_200_000 + seconds * 1000)
        }

        static func name(_ cell: Int) -> [UInt8] { [UInt8(ascii: "a") + UInt8(cell)] }

        /// People of a cell report from a region.
        mutating func report(
            _ ids: [String], in region: String = "harbour", to cell: Int, at seconds: Int64
        ) {
            pass(to: seconds)
            let items = ids.map {
                #"{"responder_id":"\#($0)","region":"\#(region)","duty_state":"ON_DUTY"}"#
            }
            let body = Array("[\(items.joined(separator: ","))]".utf8)
            guard let list = try? ItemScanner.scan(body.span, kind: .batch).items else { return }
            _ = cells[cell].fold(
                .items(list, source: EventSource.standard), at: Self.instant(seconds))
            exchange(at: seconds)
        }

        /// Time passes; each second the cells say what they have to say.
        mutating func pass(to seconds: Int64) {
            let now = (fleet.clock.now.milliseconds - Self.instant(0).milliseconds) / 1000
            guard now < seconds else { return }
            for second in (now + 1)...seconds { exchange(at: second) }
        }

        private mutating func exchange(at seconds: Int64) {
            let now = Self.instant(seconds)
            var said: [Summary] = []
            for place in cells.indices {
                cells[place].advance(to: now)
                if muted.contains(place) { continue }
                position += 1
                said.append(
                    cells[place].takeSummary(of: Self.name(place), position: position, through: now)
                )
            }
            _ = fleet.fold(.summaries(said), at: now)
            fleet.settle()
        }

        /// Alerts that the fleet cell decided, as `NAME state` with the seconds.
        mutating func alerts() -> [String] {
            fleet.takeDecisions().compactMap { numbered in
                guard case .alert(let at, let report) = numbered.decision else { return nil }
                let seconds = (at.milliseconds - Self.instant(0).milliseconds) / 1000
                return "\(seconds)s \(report.key.name.word) \(report.state.word)"
            }
        }

        /// Alerts that cells decided.
        mutating func alertsOfCells() -> [AlertName] {
            var names: [AlertName] = []
            for place in cells.indices {
                for numbered in cells[place].takeDecisions() {
                    if case .alert(_, let report) = numbered.decision {
                        names.append(report.key.name)
                    }
                }
            }
            return names
        }
    }

    @Test func `K4: a cell tells that the fleet cell is dark, and nobody else does`() {
        for (role, fires) in [(FleetRole.cell, true), (.whole, false), (.fleet, false)] {
            var policy = Policy()
            policy.role = role
            var engine = Engine(policy: policy)
            _ = engine.fold(.start(), at: Fleet.instant(0))
            _ = engine.fold(.fleetCell(isDark: true), at: Fleet.instant(20))
            engine.settle()
            let key = AlertKey(name: .fleetDark, subject: .all)
            #expect((engine.alerting.board[key]?.state == .firing) == fires, "\(role)")
            let checkpoint = Checkpoint(engine)
            var reader = CheckpointReader()
            for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
            #expect(reader.finish()?.isFleetCellDark == fires, "\(role)")
            _ = engine.fold(.fleetCell(isDark: false), at: Fleet.instant(30))
            engine.settle()
            #expect(engine.alerting.board[key]?.state != .firing)
        }
    }

    @Test func `K2: somebody of another cell can be reached`() {
        var fleet = Fleet()
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
        var fleet = Fleet()
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
        var fleet = Fleet()
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
        var fleet = Fleet()
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
        var fleet = Fleet { $0.alerts.noOnlineResponders.pendingFor = .seconds(60) }
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
        var fleet = Fleet()
        fleet.muted = [1]
        fleet.report(["a1"], to: 0, at: 0)
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("harbour".utf8)))
        #expect(fleet.fleet.knownCondition(key).isTrue == nil)
        fleet.pass(to: 16)
        #expect(fleet.fleet.knownCondition(key).isTrue == false)
    }

    @Test func `K2: an older summary is ignored, and one that says everything replaces all`() throws
    {
        var fleet = Fleet()
        fleet.report(["a1", "a2"], to: 0, at: 0)
        let known = try #require(fleet.fleet.cells[Fleet.name(0)])
        #expect(known.active == 2)
        var old = Summary()
        (old.cell, old.position) = (Fleet.name(0), known.position - 1)
        old.through = known.through
        old.changes = [Summary.Change(at: known.through, region: Array("harbour".utf8))]
        #expect(fleet.fleet.fold(.summaries([old]), at: Fleet.instant(1)).accepted == 0)
        #expect(fleet.fleet.cells[Fleet.name(0)]?.active == 2)
        old.isWhole = true
        old.changes = []
        #expect(fleet.fleet.fold(.summaries([old]), at: Fleet.instant(1)).accepted == 1)
        #expect(fleet.fleet.cells[Fleet.name(0)]?.active == 0)
        #expect(fleet.fleet.aggregates.active == 0)
    }

    @Test
    func `J5: a checkpoint holds what the cells said, and the cells' causes are counted anew`()
        throws
    {
        var fleet = Fleet()
        fleet.report(["a1", "a2"], to: 0, at: 0)
        fleet.pass(to: 200)
        for engine in [fleet.fleet, fleet.cells[0]] {
            let checkpoint = Checkpoint(engine)
            var reader = CheckpointReader()
            for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
            var copy = try #require(reader.finish())
            #expect(copy.aggregates.byStatus == engine.aggregates.byStatus)
            #expect(copy.cells[Fleet.name(0)]?.active == engine.cells[Fleet.name(0)]?.active)
            #expect(copy.policy.role == engine.policy.role)
            var original = engine
            original.sayAll()
            let name = Array("x".utf8)
            let said = copy.takeSummary(of: name, position: 1, through: Fleet.instant(200))
            #expect(
                said == original.takeSummary(of: name, position: 1, through: Fleet.instant(200)))
        }
    }

    @Test func `J1: summaries are events of the journal, and nobody can have said nonsense`() throws
    {
        var fleet = Fleet()
        fleet.report(["a1"], to: 0, at: 0)
        fleet.cells[0].sayAll()
        let said = fleet.cells[0].takeSummary(
            of: Fleet.name(0), position: 7, through: Fleet.instant(1))
        #expect(
            Summary.list(journalBytes: Summary.journalBytes(of: [said, said])) == [said, said])
        #expect(Summary(journalBytes: said.journalBytes) == said)
        #expect(Summary(journalBytes: Array(said.journalBytes.dropLast())) == nil)
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
        var fleet = Fleet(cells: 1)
        fleet.report(["a1"], to: 0, at: 0)
        let at = fleet.fleet.clock.wallNow
        var whole = Summary()
        (whole.cell, whole.position, whole.isWhole) = (Fleet.name(0), 1000, true)
        whole.through = at + .seconds(1)
        var next = whole
        (next.position, next.isWhole) = (1001, false)
        next.through = at + .seconds(2)
        var summary = RegionSummary()
        summary.byStatus[0] = 7
        next.changes = [
            Summary.Change(at: at + .seconds(2), region: Array("harbour".utf8), summary: summary)
        ]
        _ = fleet.fleet.fold(.summaries([whole, next]), at: Fleet.instant(2))
        #expect(fleet.fleet.aggregates.active == 7)
    }

    @Test func `K4: a cell that is heard again is not judged by its old numbers`() {
        var fleet = Fleet()
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
        var fleet = Fleet()
        fleet.report(["a1"], to: 0, at: 0)
        _ = fleet.fleet.fold(.store(isFailing: true), at: Fleet.instant(1))
        fleet.fleet.settle()
        _ = fleet.fleet.fold(.store(isFailing: false), at: Fleet.instant(60))
        fleet.fleet.settle()
        fleet.pass(to: 62)
        #expect(fleet.alerts() == [])
    }
}
