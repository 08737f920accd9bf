import Testing

@testable import RollcallCore

/// Masses of people who are in several cells. Source: C1, K2.
@Suite struct FleetMassTests {
    private static let harbour = Array("harbour".utf8)

    private func ids(_ cell: String, _ count: Int) -> [String] {
        (0..<count).map { "\(cell)\($0)" }
    }

    /// The suspicions in a cell, by ids.
    private func causes(_ cell: Engine) -> [String: GapCause] {
        var causes: [String: GapCause] = [:]
        for number in 0..<cell.roster.count {
            let id = String(decoding: cell.roster.id(number), as: UTF8.self)
            causes[id] = cell.gaps.cause(of: number)
        }
        return causes
    }

    private func copy(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    @Test func `C1, K2: those who fall silent together are a mass, in whichever cells they are`() {
        var fleet = SmallFleet()
        // All of b stay, but for two.
        fleet.report(ids("a", 3), to: 0, at: 0)
        fleet.report(ids("b", 2), to: 1, at: 0)
        for second in [0, 60] as [Int64] { fleet.report(ids("c", 10), to: 1, at: second) }
        fleet.pass(to: 89)
        #expect(fleet.fleet.masses.masses == [])
        fleet.pass(to: 91)
        // Five of fifteen.
        let mass = fleet.fleet.masses.masses
        #expect(mass.map(\.members) == [5] && mass.map(\.active) == [15])
        #expect(causes(fleet.cells[0]).values.allSatisfy { $0 == .massGap })
        #expect(causes(fleet.cells[1]) == ["b0": .massGap, "b1": .massGap])
        #expect(fleet.cells[0].gaps[0]?.report.facts.group?.members == 5)
        #expect(fleet.cells[0].gaps[0]?.report.firstSuspected == .unexplained)
        // The fleet cell's alerts say so.
        let said = fleet.fleet.cells.summary(in: nil).causes
        #expect(said.map(\.cause) == [.massGap] && said.map(\.people.absent) == [5])
    }

    @Test func `C1, K2: a mass in one cell is none if most of the region is elsewhere`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 5), to: 0, at: 0)
        for second in [0, 60] as [Int64] { fleet.report(ids("b", 12), to: 1, at: second) }
        fleet.pass(to: 91)
        // Five of seventeen.
        #expect(fleet.fleet.masses.masses == [])
        #expect(causes(fleet.cells[0]).values.allSatisfy { $0 == .unexplained })
    }

    @Test func `C1, K2: it goes on while more fall silent, and those before belong to it`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 4), to: 0, at: 0)
        fleet.report(["late"], to: 1, at: 59)
        fleet.report(["later"], to: 1, at: 118)
        fleet.report(["last"], to: 0, at: 179)
        fleet.pass(to: 150)
        // Four at 90 s and one at 149 s: within 60 s.
        #expect(fleet.fleet.masses.masses.map(\.members) == [5])
        #expect(causes(fleet.cells[0])["a0"] == .massGap)
        fleet.pass(to: 209)
        // One more at 208 s, and the four are 60 s ago.
        #expect(causes(fleet.cells[1]) == ["late": .massGap, "later": .unexplained])
        fleet.pass(to: 270)
        #expect(fleet.fleet.masses.masses.count == 1)
        #expect(causes(fleet.cells[0])["last"] == .unexplained)
    }

    @Test func `C1, K2: somebody who falls silent twice is one of them once`() {
        var fleet = SmallFleet { policy in
            policy.onDuty = Policy.Profile(expected: 5, degradedAfter: 10, offlineAfter: 600)
        }
        fleet.report(ids("a", 2), to: 0, at: 0)
        fleet.report(ids("b", 2), to: 1, at: 0)
        fleet.pass(to: 12)
        // They are back, and silent again from 30 s on.
        fleet.report(ids("a", 2), to: 0, at: 20)
        fleet.report(ids("b", 2), to: 1, at: 20)
        fleet.pass(to: 40)
        #expect(fleet.fleet.masses.masses == [])
        // 60 s after the first time, and not after the second.
        fleet.report(["fifth"], to: 1, at: 70)
        fleet.pass(to: 85)
        #expect(fleet.fleet.masses.masses.map(\.members) == [5])
    }

    @Test
    func
        `K2: who is back, or belongs to a group, is none of it, and the same again changes nothing`()
    {
        var fleet = SmallFleet()
        fleet.report(ids("a", 5), to: 0, at: 0)
        fleet.muted = [0]
        fleet.pass(to: 91)
        fleet.report(["a4"], to: 0, at: 92)
        var mass = FleetMass()
        (mass.number, mass.region) = (7, Self.harbour)
        (mass.since, mass.to) = (fleet.cells[0].clock.wallNow, fleet.cells[0].clock.wallNow)
        (mass.members, mass.active) = (9, 9)
        let now = fleet.cells[0].clock.now
        #expect(fleet.cells[0].fold(.masses([mass]), at: now).accepted == 4)
        #expect(causes(fleet.cells[0])["a4"] == nil)
        mass.number = 8
        #expect(fleet.cells[0].fold(.masses([mass]), at: now).accepted == 0)
        #expect(fleet.cells[0].gaps[0]?.report.facts.group?.id == 7)
        // Elsewhere, and before.
        mass.region = Array("hills".utf8)
        #expect(fleet.cells[0].fold(.masses([mass]), at: now).accepted == 0)
        for role in [FleetRole.whole, .fleet] {
            var policy = Policy()
            policy.role = role
            var other = Engine(policy: policy)
            #expect(other.fold(.masses([mass]), at: now).accepted == 0)
        }
    }

    @Test func `K2: a cell's own groups get numbers behind those of masses`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 5), to: 0, at: 0)
        fleet.muted = [0]
        fleet.pass(to: 91)
        var mass = FleetMass()
        (mass.number, mass.region) = (7000, Self.harbour)
        (mass.since, mass.to) = (fleet.cells[0].clock.wallNow, fleet.cells[0].clock.wallNow)
        (mass.members, mass.active) = (9, 12)
        _ = fleet.cells[0].fold(.masses([mass]), at: fleet.cells[0].clock.now)
        #expect(fleet.cells[0].gaps.mass.takeGroup() == 7001)
        #expect(fleet.cells[0].gaps[0]?.report.facts.group?.active == 12)
        #expect(fleet.cells[0].gaps[0]?.report.facts.group?.members == 9)
    }

    @Test
    func `C1: a mass takes who fell silent within 60 s before it began, and not after it ended`() {
        var mass = FleetMass()
        mass.since = Timestamp(milliseconds: 61_000)
        mass.to = Timestamp(milliseconds: 70_000)
        var clock = ObservationClock()
        clock.now = RunningTime(milliseconds: 100_000)
        let inside = [1000, 1001, 70_000, 70_001].map {
            mass.instants(clock).contains(ObservedTime(milliseconds: $0))
        }
        #expect(inside == [false, true, true, false])
    }

    @Test func `J1, K2: a checkpoint has who fell silent lately, and the masses`() throws {
        var fleet = SmallFleet()
        fleet.report(ids("a", 6), to: 0, at: 0)
        fleet.report(ids("b", 3), to: 1, at: 30)
        fleet.pass(to: 100)
        fleet.fleet = try copy(fleet.fleet)
        let number = fleet.fleet.masses.masses.first?.number
        #expect(fleet.fleet.masses.masses.map(\.members) == [6])
        fleet.pass(to: 121)
        // The three belong to the same, within 60 s of the six.
        #expect(fleet.fleet.masses.masses.map(\.members) == [9])
        #expect(fleet.fleet.masses.masses.map(\.number) == [number])
        fleet.cells[0] = try copy(fleet.cells[0])
        #expect(causes(fleet.cells[0])["a0"] == .massGap)
    }

    @Test func `K2: a fleet cell that was away looks at those who fell silent meanwhile`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 6), to: 0, at: 0)
        fleet.muted = [0, 1]
        fleet.pass(to: 95)
        // It asks for everything.
        fleet.cells[0].sayAll()
        fleet.muted = []
        fleet.pass(to: 96)
        #expect(fleet.fleet.masses.masses.map(\.members) == [6])
        #expect(causes(fleet.cells[0]).values.allSatisfy { $0 == .massGap })
        // Everything again counts nobody twice.
        fleet.cells[0].sayAll()
        fleet.pass(to: 97)
        #expect(fleet.fleet.masses.masses.map(\.members) == [6])
    }

    @Test func `K2: who fell silent before a fleet cell was away is not counted for ever`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 3), to: 0, at: 0)
        fleet.report(ids("b", 2), to: 1, at: 100)
        fleet.pass(to: 95)
        // It was away, and its cells went on; their people are as silent as before.
        let away = Milliseconds.seconds(600)
        for place in fleet.cells.indices {
            fleet.cells[place].advance(to: SmallFleet.instant(95) + away)
            fleet.cells[place].sayAll()
        }
        var said: [Summary] = []
        for place in fleet.cells.indices {
            said.append(
                fleet.cells[place].takeSummary(
                    of: SmallFleet.name(place), position: 10_000,
                    through: SmallFleet.instant(95) + away))
        }
        _ = fleet.fleet.fold(.start(), at: SmallFleet.instant(95) + away)
        _ = fleet.fleet.fold(.summaries(said), at: SmallFleet.instant(95) + away)
        #expect(fleet.fleet.masses.masses == [])
    }

    @Test func `B2, K2: that a cell runs again is no beat of a source`() {
        var policy = Policy()
        policy.role = .cell
        var cell = Engine(policy: policy)
        _ = cell.fold(.start(), at: SmallFleet.instant(0))
        let beat = Event.heartbeat(source: EventSource.standard, every: .seconds(10))
        _ = cell.fold(beat, at: SmallFleet.instant(1))
        func said(_ position: Int64, _ seconds: Int64) -> [Timestamp] {
            cell.takeSummary(
                of: SmallFleet.name(0), position: position, through: SmallFleet.instant(seconds)
            ).sources.map(\.at)
        }
        #expect(said(1, 2) == [cell.clock.wall(SmallFleet.instant(1))])
        _ = cell.fold(.start(), at: SmallFleet.instant(20))
        cell.sayAll()
        #expect(said(2, 21) == [])
        _ = cell.fold(beat, at: SmallFleet.instant(22))
        #expect(said(3, 23).count == 1)
        // One that beats often is not said each time.
        _ = cell.fold(beat, at: SmallFleet.instant(24))
        #expect(said(4, 25) == [])
    }

    @Test func `I11, K2: whoever is erased is one of them no more`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 4), to: 0, at: 0)
        fleet.report(["b0"], to: 1, at: 20)
        fleet.pass(to: 100)
        _ = fleet.cells[0].fold(
            .erase(.id(Array("a0".utf8)), source: EventSource.standard),
            at: SmallFleet.instant(100))
        fleet.pass(to: 111)
        // Four are left.
        #expect(fleet.fleet.masses.masses == [])
    }

    @Test func `K2: a mass is handed out for ten minutes`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 5), to: 0, at: 0)
        fleet.pass(to: 689)
        #expect(fleet.fleet.masses.masses.count == 1)
        fleet.pass(to: 691)
        #expect(fleet.fleet.masses.masses == [])
    }

    /// A clock of which observed time is `behind` seconds less than running time.
    private func clock(_ seconds: Int64, behind: Int64 = 0) -> ObservationClock {
        var clock = ObservationClock()
        clock.now = RunningTime(milliseconds: seconds * 1000)
        clock.lost = .seconds(behind)
        return clock
    }

    private func change(
        _ kind: Summary.Change.Kind, at seconds: Int64, _ silent: [(ago: Int64, people: Int)]
    ) -> Summary.Change {
        var change = Summary.Change()
        (change.kind, change.region) = (kind, Self.harbour)
        change.at = Timestamp(milliseconds: seconds * 1000)
        change.silent = silent.map { SilentPeople(ago: .seconds($0.ago), people: $0.people) }
        return change
    }

    private func hear(
        _ change: Summary.Change, of cell: [UInt8], active: Int, _ clock: ObservationClock,
        _ masses: inout FleetMasses
    ) {
        if masses.take(change, of: cell, clock) {
            masses.look(in: Self.harbour, active: active, clock)
        }
    }

    @Test func `K2: who joins beside a word of everything is told of, though they did before`() {
        var masses = FleetMasses()
        let a = SmallFleet.name(0)
        hear(change(.silent, at: 100, [(0, 5)]), of: a, active: 8, clock(100), &masses)
        #expect(masses.masses.map(\.members) == [5])
        // One of the five again, and the cell says all there is.
        hear(change(.allSilent, at: 130, [(30, 4), (0, 1)]), of: a, active: 8, clock(130), &masses)
        #expect(masses.masses.map(\.members) == [6])
        #expect(masses.masses.map(\.to) == [Timestamp(milliseconds: 130_000)])
        // The same once more tells of nobody.
        hear(change(.allSilent, at: 130, [(30, 4), (0, 1)]), of: a, active: 8, clock(130), &masses)
        #expect(masses.masses.map(\.members) == [6])
    }

    @Test
    func `B1, K2: who fell silent before does not join, though a cell says another instant now`() {
        var masses = FleetMasses()
        let a = SmallFleet.name(0)
        hear(change(.silent, at: 100, [(0, 5)]), of: a, active: 8, clock(100), &masses)
        // It was away for 10 s, and its own observed time stood still.
        hear(change(.allSilent, at: 130, [(20, 5)]), of: a, active: 8, clock(130), &masses)
        masses.look(in: Self.harbour, active: 8, clock(130))
        #expect(masses.masses.map(\.members) == [5])
        // One of them again, and one more.
        hear(change(.allSilent, at: 135, [(25, 4), (0, 2)]), of: a, active: 8, clock(135), &masses)
        #expect(masses.masses.map(\.members) == [7])
    }

    @Test
    func `K2: who joined while nobody was heard is told of, however many are too old by then`() {
        var masses = FleetMasses()
        let a = SmallFleet.name(0)
        hear(change(.silent, at: 100, [(0, 5)]), of: a, active: 12, clock(100), &masses)
        hear(change(.silent, at: 140, [(0, 1)]), of: a, active: 12, clock(140), &masses)
        // Five at 162 s were said, and nobody heard it.
        hear(
            change(.allSilent, at: 165, [(25, 1), (3, 5)]), of: a, active: 12, clock(165), &masses)
        masses.look(in: Self.harbour, active: 12, clock(165))
        #expect(masses.masses.map(\.members) == [11])
        #expect(masses.masses.map(\.to) == [Timestamp(milliseconds: 165_000)])
    }

    @Test func `K2: whoever a word of everything does not name fell silent nowhere`() {
        var masses = FleetMasses()
        let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
        hear(change(.silent, at: 100, [(0, 4)]), of: a, active: 9, clock(100), &masses)
        masses.forget(a, but: [])
        hear(change(.silent, at: 101, [(0, 1)]), of: b, active: 9, clock(101), &masses)
        #expect(masses.masses == [])
        hear(change(.silent, at: 102, [(0, 4)]), of: a, active: 9, clock(102), &masses)
        masses.forget(a, but: [Self.harbour])
        hear(change(.silent, at: 103, [(0, 1)]), of: b, active: 9, clock(103), &masses)
        #expect(masses.masses.map(\.members) == [6])
    }

    @Test func `K2: a word that comes late is of when it was said`() {
        var masses = FleetMasses()
        let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
        // 50 s late.
        hear(change(.silent, at: 100, [(0, 4)]), of: a, active: 9, clock(150), &masses)
        hear(change(.silent, at: 170, [(0, 1)]), of: b, active: 9, clock(170), &masses)
        #expect(masses.masses == [])
    }

    @Test func `C1, K2: who falls silent again is moved among their own cell's`() {
        var masses = FleetMasses()
        let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
        hear(change(.silent, at: 100, [(0, 2)]), of: a, active: 90, clock(100), &masses)
        hear(change(.silent, at: 100, [(0, 3)]), of: b, active: 90, clock(100), &masses)
        hear(change(.silent, at: 110, [(10, -3), (0, 3)]), of: b, active: 90, clock(110), &masses)
        masses.forget(b, but: [])
        // The two of a are left, and 60 s ago at 160 s.
        hear(change(.silent, at: 159, [(0, 3)]), of: b, active: 9, clock(159), &masses)
        #expect(masses.masses.map(\.members) == [5])
    }

    @Test func `K2: more at the same instant join, and each mass has its own number`() {
        var masses = FleetMasses()
        let a = SmallFleet.name(0)
        hear(change(.silent, at: 100, [(0, 5)]), of: a, active: 8, clock(100), &masses)
        hear(change(.allSilent, at: 100, [(0, 7)]), of: a, active: 8, clock(100), &masses)
        #expect(masses.masses.map(\.members) == [7])
        #expect(masses.masses.map(\.number) == [100_000], "no number of another store's")
        // 60 s later it is another one.
        hear(change(.silent, at: 160, [(0, 5)]), of: a, active: 8, clock(160), &masses)
        #expect(masses.masses.map(\.members) == [7, 5])
        #expect(masses.masses.map(\.number) == [100_000, 160_000])
        hear(change(.silent, at: 219, [(0, 1)]), of: a, active: 8, clock(219), &masses)
        #expect(masses.masses.map(\.members) == [7, 6])
        #expect(masses.masses.map(\.active) == [8, 8])
        #expect(masses.masses.map(\.to) == [100, 219].map { Timestamp(milliseconds: $0 * 1000) })
    }

    @Test func `B1, K2: a mass moves with the wall, and one that goes on is told of`() {
        var masses = FleetMasses()
        let a = SmallFleet.name(0)
        hear(change(.silent, at: 100, [(0, 5)]), of: a, active: 8, clock(100), &masses)
        hear(change(.silent, at: 150, [(0, 1)]), of: a, active: 7, clock(150), &masses)
        masses.step(.seconds(-50))
        #expect(masses.masses.map(\.since) == [Timestamp(milliseconds: 50_000)])
        #expect(masses.masses.map(\.to) == [Timestamp(milliseconds: 100_000)])
        #expect(masses.masses.map(\.active) == [7])
        masses.forget(Timestamp(milliseconds: 699_999))
        #expect(masses.masses.count == 1, "somebody joined within ten minutes")
        masses.forget(Timestamp(milliseconds: 700_000))
        #expect(masses.masses == [])
    }

    @Test func `B1, K2: while nothing is seen nobody is remembered for ever`() {
        var masses = FleetMasses()
        let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
        hear(change(.silent, at: 100, [(0, 4)]), of: a, active: 9, clock(100), &masses)
        // Ten minutes that count as nothing.
        let later = clock(700, behind: 600)
        hear(change(.silent, at: 700, [(0, 1)]), of: b, active: 9, later, &masses)
        #expect(masses.masses == [])
    }

    @Test func `B1, K2: those at the instant to which time is set back are of it`() {
        var masses = FleetMasses()
        let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
        hear(change(.silent, at: 100, [(0, 1)]), of: a, active: 9, clock(100), &masses)
        hear(change(.silent, at: 165, [(0, 1)]), of: a, active: 9, clock(165), &masses)
        // The last 100 s were not seen: all who were not too old fell silent at 65 s.
        let later = clock(165, behind: 100)
        masses.clampInstants(to: later.observedNow)
        hear(change(.silent, at: 165, [(0, 4)]), of: b, active: 9, later, &masses)
        #expect(masses.masses.map(\.members) == [5])
    }

    @Test func `B1, K2: who was too old stays so when observed time is set back`() {
        for isKnown in [false, true] {
            var masses = FleetMasses()
            let (a, b) = (SmallFleet.name(0), SmallFleet.name(1))
            hear(change(.silent, at: 100, [(0, 4)]), of: a, active: 9, clock(100), &masses)
            if isKnown {
                // The four are 60 s ago.
                hear(change(.silent, at: 160, [(0, 1)]), of: b, active: 9, clock(160), &masses)
            }
            // The last 30 s were not seen.
            let later = clock(165, behind: 30)
            masses.clampInstants(to: later.observedNow)
            hear(change(.allSilent, at: 165, [(35, 4)]), of: a, active: 9, later, &masses)
            hear(change(.silent, at: 165, [(0, 1)]), of: b, active: 9, later, &masses)
            #expect(masses.masses.map(\.members) == (isKnown ? [] : [5]))
        }
    }

    @Test func `C1, K2: what all cells say of an instant is heard before it is looked for a mass`()
    {
        var fleet = SmallFleet()
        fleet.pass(to: 10)
        let at = fleet.fleet.clock.wall(SmallFleet.instant(11))
        func said(_ cell: Int, active: Int, silent: [SilentPeople]) -> Summary {
            var summary = Summary()
            (summary.cell, summary.position) = (SmallFleet.name(cell), 1_000_000)
            summary.through = at
            var region = RegionSummary()
            region.byStatus[0] = active
            summary.changes = [
                Summary.Change(at: at, region: Self.harbour, summary: region),
                Summary.Change(
                    at: at, kind: .silent, region: Self.harbour, silent: silent),
            ]
            return summary
        }
        let five = [SilentPeople(ago: Milliseconds(0), people: 5)]
        var copy = fleet
        _ = copy.fleet.fold(
            .summaries([said(0, active: 5, silent: five), said(1, active: 12, silent: [])]),
            at: SmallFleet.instant(12))
        // Five of seventeen.
        #expect(copy.fleet.masses.masses == [])
        // Whoever is heard first.
        _ = fleet.fleet.fold(
            .summaries([said(1, active: 11, silent: []), said(0, active: 5, silent: five)]),
            at: SmallFleet.instant(12))
        #expect(fleet.fleet.masses.masses.map(\.members) == [5])
        #expect(fleet.fleet.masses.masses.map(\.active) == [16])
    }

    @Test func `K2: what nobody can have decided is refused`() {
        var mass = FleetMass()
        (mass.number, mass.region) = (1, Self.harbour)
        (mass.since, mass.to) = (Timestamp(milliseconds: 1), Timestamp(milliseconds: 1))
        (mass.members, mass.active) = (5, 0)
        #expect(mass.isCredible)
        #expect(FleetMass.list(journalBytes: FleetMass.journalBytes(of: [mass])) == [mass])
        let changes: [(inout FleetMass) -> Void] = [
            { $0.number = 0 }, { $0.region = [] }, { $0.since = $0.to + Milliseconds(1) },
            { $0.members = 4 },
            { $0.active = -1 }, { $0.to = .distantFuture }, { $0.since = .distantPast },
        ]
        for change in changes {
            var other = mass
            change(&other)
            #expect(!other.isCredible)
            #expect(FleetMass.list(journalBytes: FleetMass.journalBytes(of: [other])) == nil)
        }
    }

    @Test func `K2: what was noted before the wall was set back can be said`() {
        var fleet = SmallFleet()
        fleet.report(ids("a", 2), to: 0, at: 0)
        fleet.cells[0].advance(to: SmallFleet.instant(95))
        _ = fleet.cells[0].fold(.clock(step: .seconds(-86_400)), at: SmallFleet.instant(95))
        let summary = fleet.cells[0].takeSummary(
            of: SmallFleet.name(0), position: 1000, through: SmallFleet.instant(96))
        #expect(summary.changes.contains { $0.kind == .silent })
        #expect(Event.summaries([summary]).isCredible)
    }

    @Test func `K2: an older word of a cell never comes after its newer one`() {
        var fleet = SmallFleet()
        fleet.pass(to: 10)
        var said = Summary()
        (said.cell, said.position) = (SmallFleet.name(0), 1_000_000)
        said.through = fleet.fleet.clock.wall(SmallFleet.instant(12))
        for (seconds, people) in [(5, 9), (11, 7)] as [(Int64, Int)] {
            var summary = RegionSummary()
            summary.byStatus[0] = people
            said.changes.append(
                Summary.Change(
                    at: fleet.fleet.clock.wall(SmallFleet.instant(seconds)), region: Self.harbour,
                    summary: summary))
        }
        // The fleet cell has come to 10 s already: what was so at 5 s counts before what was at 11 s.
        _ = fleet.fleet.fold(.summaries([said]), at: SmallFleet.instant(12))
        #expect(fleet.fleet.aggregates.active == 7)
    }

    @Test func `B2, K2: a write in a cell is a beat of its source at the fleet cell, too`() {
        var fleet = SmallFleet()
        let beat = Event.heartbeat(source: EventSource.standard, every: .seconds(10))
        _ = fleet.fleet.fold(beat, at: SmallFleet.instant(0))
        _ = fleet.cells[0].fold(beat, at: SmallFleet.instant(0))
        for second in stride(from: Int64(5), through: 60, by: 5) {
            fleet.report(["a1"], to: 0, at: second)
        }
        fleet.pass(to: 80)
        #expect(!fleet.fleet.sight.feed.isAllMissing)
        fleet.pass(to: 87)
        #expect(fleet.fleet.sight.feed.isAllMissing)
    }

    @Test func `K2: an alert of a cell names it`() {
        var policy = Policy()
        (policy.role, policy.cell) = (.cell, Array("north-1".utf8))
        var engine = Engine(policy: policy)
        _ = engine.fold(.start(), at: SmallFleet.instant(0))
        _ = engine.fold(.policy(policy), at: SmallFleet.instant(0))
        _ = engine.fold(.fleetCell(isDark: true), at: SmallFleet.instant(20))
        engine.settle()
        let key = AlertKey(name: .fleetDark, subject: .all)
        let labels = engine.alerting.board[key]?.labels ?? []
        #expect(labels.value(of: Label.cell) == Array("north-1".utf8))
    }
}
