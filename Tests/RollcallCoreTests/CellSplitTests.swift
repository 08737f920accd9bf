import Testing

@testable import RollcallCore

/// A cell gives half of its slots to a new one. Source: K6.
@Suite struct CellSplitTests {
    private static let ids = (0..<40).map { "r-\($0)" }

    private static func instant(_ seconds: Int64) -> RunningTime {
        RunningTime(milliseconds: 1_795_219_200_000 + seconds * 1000)
    }

    private static func cell(_ name: String) -> CellMap.Cell {
        CellMap.Cell(name: Array(name.utf8), urls: [Array("http://\(name)".utf8)])
    }

    private static func list(_ ids: [String], sequence: Int) throws -> ItemList {
        let items = ids.map {
            #"{"responder_id":"\#($0)","region":"harbour","duty_state":"ON_DUTY","#
                + #""updates":[{"sequence":\#(sequence),"captured_at":"2026-11-20T00:00:00Z"}]}"#
        }
        let body = Array("[\(items.joined(separator: ","))]".utf8)
        return try ItemScanner.scan(body.span, kind: .batch).items
    }

    /// A cell of forty people who have reported once, and its map.
    private static func fleet() throws -> (engine: Engine, map: CellMap) {
        var policy = Policy()
        policy.role = .cell
        policy.alerts.responderOffline.isEnabled = true
        policy.alerts.responderOffline.pendingFor = Milliseconds(0)
        var engine = Engine(policy: policy)
        let map = try #require(CellMap(first: [cell("a")]))
        _ = engine.fold(.start(), at: instant(0))
        _ = engine.fold(.cells(map), at: instant(0))
        let source = EventSource.standard
        _ = engine.fold(.items(try list(ids, sequence: 1), source: source), at: instant(1))
        engine.settle()
        return (engine, map)
    }

    /// Both halves at an instant.
    private static func split(
        _ engine: Engine, _ map: CellMap, at seconds: Int64
    ) throws -> (old: Engine, new: Engine, map: CellMap) {
        let next = try #require(map.splitting(Array("a".utf8), into: cell("b")))
        var (old, new) = (engine, engine)
        for (name, isNew) in [("a", false), ("b", true)] {
            let split = CellSplit(next, own: Array(name.utf8), isNew: isNew)
            // As the journal keeps it.
            let kept = try #require(CellSplit(journalBytes: split.journalBytes))
            #expect(kept == split)
            if isNew {
                #expect(new.fold(.split(kept), at: instant(seconds)).accepted == 1)
            } else {
                #expect(old.fold(.split(kept), at: instant(seconds)).accepted == 1)
            }
        }
        old.settle()
        new.settle()
        return (old, new, next)
    }

    private static func people(_ engine: Engine) -> Set<String> {
        Set(
            (0..<engine.roster.count).compactMap { number in
                let id = engine.roster.id(number)
                return id.isEmpty ? nil : String(decoding: id, as: UTF8.self)
            })
    }

    // MARK: - The map

    @Test func `K6: the later half of a cell's slots becomes a new cell's, and all others stay`()
        throws
    {
        let map = try #require(CellMap(first: [Self.cell("a"), Self.cell("c")]))
        let next = try #require(map.splitting(Array("a".utf8), into: Self.cell("b")))
        #expect(next.version == 2 && next.isCredible)
        #expect(next.cells.map { String(decoding: $0.name, as: UTF8.self) } == ["a", "b", "c"])
        #expect(next.ranges(of: 0) == [0...1023])
        #expect(next.ranges(of: 1) == [1024...2047])
        #expect(next.ranges(of: 2) == [2048...4095])
        let (a, b, c) = (Array("a".utf8), Array("b".utf8), Array("c".utf8))
        #expect(next.takesSlots(of: a, since: map) == true)
        #expect(next.takesSlots(of: c, since: map) == false)
        #expect(next.takesSlots(of: b, since: map) == nil, "a cell is given nothing by a map")
        #expect(map.takesSlots(of: a, since: next) == nil)
        let turned = CellMap(
            version: 3, cells: next.cells, owners: next.owners.map { $0 == 0 ? 2 : $0 })
        #expect(turned.takesSlots(of: a, since: next) == nil, "nobody holds them there")
        #expect(map.splitting(a, into: Self.cell("c")) == nil, "it has slots")
        #expect(map.splitting(b, into: Self.cell("d")) == nil, "it has none")
    }

    @Test func `K6: a cell of one slot is not split, and another one is down to that`() throws {
        var map = try #require(CellMap(first: [Self.cell("a")]))
        for place in 0..<12 {
            map = try #require(map.splitting(Array("a".utf8), into: Self.cell("b\(place)")))
        }
        #expect(map.ranges(of: 0) == [0...0])
        #expect(map.splitting(Array("a".utf8), into: Self.cell("z")) == nil)
    }

    // MARK: - The people

    @Test func `K6: everybody is in one half, as they were`() throws {
        let (engine, map) = try Self.fleet()
        let (old, new, next) = try Self.split(engine, map, at: 5)
        let moved = Set(Self.ids.filter { next.owners[PersonSlot.of(Array($0.utf8))] == 1 })
        #expect(!moved.isEmpty && moved.count < Self.ids.count)
        #expect(Self.people(new) == moved)
        #expect(Self.people(old) == Set(Self.ids).subtracting(moved))
        for id in moved {
            let number = try #require(new.roster.number(of: Array(id.utf8)))
            #expect(new.roster[number].status == .online)
            #expect(new.roster[number].lastContact == engine.roster[number].lastContact)
        }
        for half in [old, new] { #expect(half.brokenInvariants() == []) }
        #expect(old.aggregates.active == Self.ids.count - moved.count)
        #expect(new.aggregates.active == moved.count)
    }

    @Test func `K6: nothing is decided about anybody`() throws {
        var (engine, map) = try Self.fleet()
        _ = engine.takeDecisions()
        var (old, new, _) = try Self.split(engine, map, at: 5)
        #expect(old.takeDecisions().isEmpty && new.takeDecisions().isEmpty)
    }

    @Test
    func `K6: each half has its own name and its share of the nudges, also by other settings`()
        throws
    {
        var (engine, map) = try Self.fleet()
        var policy = engine.policy
        policy.cell = Array("a".utf8)
        _ = engine.fold(.policy(policy), at: Self.instant(3))
        #expect(engine.nudges.share == NudgeShare(map, own: 0))
        var (old, new, next) = try Self.split(engine, map, at: 5)
        #expect(old.alerting.cell == Array("a".utf8) && new.alerting.cell == Array("b".utf8))
        #expect(old.nudges.share == NudgeShare(next, own: 0))
        #expect(new.nudges.share == NudgeShare(next, own: 1))
        // The new one's settings name it, and the old one's.
        _ = new.fold(.policy(policy), at: Self.instant(6))
        #expect(new.alerting.cell == Array("b".utf8))
        #expect(new.nudges.share == NudgeShare(next, own: 1))
        _ = old.fold(.policy(policy), at: Self.instant(6))
        #expect(old.nudges.share == NudgeShare(next, own: 0))
    }

    @Test func `K6: those who are not here any more are known by number`() throws {
        let (engine, map) = try Self.fleet()
        #expect(!engine.isOfSplit)
        let (old, new, _) = try Self.split(engine, map, at: 5)
        for half in [old, new] {
            #expect(half.isOfSplit)
            let gone = half.peopleGone()
            for number in 0..<half.roster.count {
                #expect(gone.contains(number) == half.roster.id(number).isEmpty)
            }
            #expect(!gone.contains(half.roster.count))
        }
    }

    @Test func `K6: what was counted stays with the old half`() throws {
        let (engine, map) = try Self.fleet()
        let (old, new, _) = try Self.split(engine, map, at: 5)
        #expect(old.counters.batches == Self.ids.count && new.counters.batches == 0)
        #expect(new.counters.lastBatchAt == engine.counters.lastBatchAt)
    }

    @Test func `K6: an update that came before is a repeated one in the half that has them`() throws
    {
        let (engine, map) = try Self.fleet()
        var (_, new, _) = try Self.split(engine, map, at: 5)
        let list = try Self.list(Self.people(new).sorted(), sequence: 1)
        let receipt = new.fold(.items(list, source: EventSource.standard), at: Self.instant(6))
        #expect(receipt.accepted == 0 && receipt.duplicates == list.count)
    }

    @Test func `K6: what was on its way to the old half is not taken, and its sender is told so`()
        throws
    {
        let (engine, map) = try Self.fleet()
        var (old, new, _) = try Self.split(engine, map, at: 5)
        let source = EventSource.standard
        let list = try Self.list(Self.ids, sequence: 2)
        let receipt = old.fold(.items(list, source: source), at: Self.instant(6))
        #expect(receipt.isElsewhere && receipt.accepted == Self.people(old).count)
        #expect(Self.people(old).count < Self.ids.count, "nobody comes back")
        let moved = try #require(Self.people(new).first)
        // As the journal keeps it: without the id.
        let hash = StableHash.of(Array(moved.utf8).span, 0..<moved.utf8.count)
        let erased = old.fold(.erase(.number(nil, hash: hash), source: source), at: Self.instant(7))
        #expect(erased.isElsewhere && erased.accepted == 0 && erased.erasure == nil)
        let there = new.fold(.erase(.id(Array(moved.utf8)), source: source), at: Self.instant(7))
        #expect(!there.isElsewhere && there.accepted == 1)
        #expect(!Self.people(new).contains(moved))
    }

    @Test func `K6: an older split changes nothing`() throws {
        let (engine, map) = try Self.fleet()
        var (old, _, next) = try Self.split(engine, map, at: 5)
        let again = CellSplit(next, own: Array("a".utf8), isNew: false)
        let people = Self.people(old)
        #expect(old.fold(.split(again), at: Self.instant(6)).cellMapFault == nil)
        #expect(Self.people(old) == people)
        let stale = try #require(CellMap(first: [Self.cell("a"), Self.cell("b")]))
        let older = CellSplit(stale, own: Array("b".utf8), isNew: true)
        #expect(old.fold(.split(older), at: Self.instant(6)).cellMapFault == .older)
        #expect(Self.people(old) == people)
    }

    @Test func `K6: who is OFFLINE is told of anew by the half that has them, once`() throws {
        let (engine, map) = try Self.fleet()
        var before = engine
        before.advance(to: Self.instant(3000))
        #expect(before.alerting.board.count > 0)
        let (old, new, _) = try Self.split(before, map, at: 3001)
        for half in [old, new] {
            #expect(half.alerting.board.all.contains { $0.key.name == .responderOffline })
        }
        // Numbers that stand in its store are not given again.
        #expect(
            new.alerting.notifications.nextIncident > before.alerting.notifications.nextIncident)
        #expect(new.brokenInvariants() == [] && old.brokenInvariants() == [])
    }

    @Test func `K6: a checkpoint holds which half it is`() throws {
        let (engine, map) = try Self.fleet()
        let (old, _, _) = try Self.split(engine, map, at: 5)
        let checkpoint = Checkpoint(old)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        var copy = try #require(reader.finish())
        #expect(copy.cellMap == old.cellMap)
        let list = try Self.list(Self.ids, sequence: 2)
        let receipt = copy.fold(.items(list, source: EventSource.standard), at: Self.instant(6))
        #expect(receipt.isElsewhere && receipt.accepted == Self.people(old).count)
    }
}
