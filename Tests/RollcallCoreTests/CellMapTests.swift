import Testing

@testable import RollcallCore

/// The slots of people, and the map that says whose they are.
@Suite struct CellMapTests {
    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func cell(_ name: String, _ urls: String...) -> CellMap.Cell {
        let urls = urls.isEmpty ? ["http://\(name):10112"] : urls
        return CellMap.Cell(name: bytes(name), urls: urls.map(bytes))
    }

    private static func map(_ names: String...) throws -> CellMap {
        try #require(CellMap(first: names.map { cell($0) }))
    }

    private static func read(_ text: String) throws(JSONError) -> CellMap {
        let bytes = bytes(text)
        return try CellMap(json: bytes.span, bytes.indices)
    }

    // MARK: - Slots

    @Test(arguments: [
        ("r-17", 1648), ("5f0c2e6a-93d1-4b7e-8c43-d2a6f5a01b9e", 3071), ("4711", 2019),
        ("Zo\u{EB}", 2951),
    ])
    func `K1: a slot follows from the id alone, as the contract's examples say`(
        id: String, slot: Int
    ) {
        #expect(PersonSlot.of(Self.bytes(id)) == slot)
    }

    private enum Kind: String, CaseIterable {
        case sequential, padded, numbers, thousands, uuids, mails

        /// 100 000 ids of this kind, the same ones each time.
        var ids: [String] {
            var state: UInt64 = 41
            func draw() -> UInt64 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return state >> 32
            }
            func hex(_ value: UInt64, _ digits: Int) -> String {
                let text = String(value, radix: 16)
                return String(repeating: "0", count: max(0, digits - text.count))
                    + text.suffix(digits)
            }
            return (0..<100_000).map { number in
                switch self {
                case .sequential: "r-\(number)"
                case .padded: "responder-" + hex(UInt64(number), 8)
                case .numbers: "\(4_000_000 + number)"
                case .thousands: "\(number * 1000)"
                case .uuids:
                    "\(hex(draw(), 8))-\(hex(draw(), 4))-4\(hex(draw(), 3))-8\(hex(draw(), 3))"
                        + "-\(hex(draw(), 6))\(hex(draw(), 6))"
                case .mails: "user\(number)@example.org"
                }
            }
        }
    }

    /// Chi-square over all slots, and over three cells of them: five standard deviations of what chance
    /// does would be a flaw of the hash.
    @Test(arguments: Kind.allCases)
    private func `K1: people of any kind of ids are spread evenly`(kind: Kind) throws {
        var counts = [Int](repeating: 0, count: PersonSlot.count)
        for id in kind.ids { counts[PersonSlot.of(Self.bytes(id))] += 1 }
        #expect(abs(Self.deviation(counts)) < 5)
        let map = try Self.map("a", "b", "c")
        let shares = map.cells.indices.map { place in
            (people: map.ranges(of: place).joined().reduce(0) { $0 + counts[$1] }, place: place)
        }
        for (people, place) in shares {
            let expected = Double(map.share(of: place)) * 10
            #expect(abs(Double(people) - expected) < 1000, "a hundredth of all")
        }
    }

    private static func deviation(_ counts: [Int]) -> Double {
        let expected = Double(counts.reduce(0, +)) / Double(counts.count)
        let chi = counts.reduce(0) { sum, count in
            sum + (Double(count) - expected) * (Double(count) - expected) / expected
        }
        let freedom = Double(counts.count - 1)
        return (chi - freedom) / (2 * freedom).squareRoot()
    }

    @Test func `K1: the evenness test sees a fold that takes too few bits`() {
        var counts = [Int](repeating: 0, count: PersonSlot.count)
        for id in Kind.padded.ids {
            let bytes = Self.bytes(id)
            counts[Int(StableHash.of(bytes.span, bytes.indices) >> 52)] += 1
        }
        #expect(Self.deviation(counts) > 5)
    }

    // MARK: - The first map and those that follow

    @Test func `K1: the first map gives each cell a range of slots, by the order of names`() throws
    {
        let map = try Self.map("b", "c", "a")
        #expect(map.version == 1 && map.isCredible)
        #expect(map.cells.map(\.name) == ["a", "b", "c"].map(Self.bytes))
        #expect(
            map.cells.indices.map { map.ranges(of: $0) } == [
                [0...1365], [1366...2730], [2731...4095],
            ])
        #expect(map.cells.indices.map { map.share(of: $0) } == [3335, 3333, 3333])
        #expect(map.cell(of: 1365)?.name == Self.bytes("a"))
        #expect(map.cell(of: 4096) == nil && map.cell(of: -1) == nil)
        #expect(map.place(of: Self.bytes("c")) == 2 && map.place(of: Self.bytes("d")) == nil)
    }

    @Test func `K1: there is room for 256 cells, each with slots, and for no more`() throws {
        let all = (0...256).map { Self.cell("c\($0)") }
        let map = try #require(CellMap(first: Array(all.prefix(256))))
        #expect(map.cells.indices.allSatisfy { map.ranges(of: $0).joined().count == 16 })
        #expect(CellMap(first: all) == nil && CellMap(first: []) == nil)
        #expect(CellMap(first: [Self.cell("a"), Self.cell("a")]) == nil)
        #expect(CellMap(first: [Self.cell("a/b")]) == nil)
        for url in ["ftp://a", "http://u:p@a", "http://a?b", "http://a#b", "http://a b", ""] {
            #expect(CellMap(first: [Self.cell("a", url)]) == nil)
        }
    }

    @Test func `K1: a fleet cell that lost its store goes on behind what its cells hold`() throws {
        let cells = ["a", "b"].map {
            CellMap.Cell(name: Array($0.utf8), urls: [Array("http://\($0)".utf8)])
        }
        let first = try #require(CellMap(first: cells))
        #expect(first.following(first) == nil)
        let later = CellMap(version: 7, cells: first.cells, owners: first.owners)
        #expect(first.following(later) == later)
        #expect(later.following(first) == nil, "an older one says nothing")
        var moved = cells
        moved[0].urls = [Array("http://c".utf8)]
        let other = CellMap(version: 7, cells: moved, owners: first.owners)
        #expect(first.following(other)?.version == 8)
        #expect(first.following(other)?.cells == first.cells)
        let turned = CellMap(version: 7, cells: first.cells, owners: first.owners.map { 1 - $0 })
        #expect(first.following(turned) == nil, "slots move by a split alone")
        // Nobody could read a version beyond.
        let last = CellMap(version: CellMap.versionMax, cells: moved, owners: first.owners)
        #expect(first.following(last) == nil)
        #expect(last.following(cells) == nil)
    }

    @Test func `K1: addresses follow the settings by a new version, slots stay`() throws {
        let map = try Self.map("a", "b")
        #expect(map.following([Self.cell("a"), Self.cell("b")]) == nil)
        #expect(map.following([Self.cell("c")]) == nil, "a new cell gets no slots")
        let next = try #require(
            map.following([Self.cell("b", "http://x", "http://y"), Self.cell("c")]))
        #expect(next.version == 2 && next.owners == map.owners)
        #expect(next.cells == [Self.cell("a"), Self.cell("b", "http://x", "http://y")])
    }

    // MARK: - What is taken

    private static func fold(_ map: CellMap, into engine: inout Engine) -> CellMapFault? {
        let now = engine.clock.now + Milliseconds(1)
        return engine.fold(.cells(map), at: max(now, RunningTime(milliseconds: 1))).cellMapFault
    }

    @Test func `K1: only a greater version is taken, and one version has one content`() throws {
        let first = try Self.map("a", "b")
        let second = try #require(first.following([Self.cell("a", "http://x")]))
        let other = try #require(first.following([Self.cell("a", "http://z")]))
        var engine = Engine()
        #expect(engine.cellMap == nil)
        #expect(Self.fold(second, into: &engine) == nil)
        #expect(Self.fold(second, into: &engine) == nil, "the same again is no fault")
        #expect(Self.fold(first, into: &engine) == .older)
        #expect(Self.fold(other, into: &engine) == .differs)
        #expect(engine.cellMap == second)
        #expect(engine.takeDecisions().isEmpty, "nobody is decided about")
    }

    @Test func `K1: a map is the same after its journal and a checkpoint`() throws {
        let map = try Self.map("a", "b", "c")
        #expect(CellMap(journalBytes: map.journalBytes) == map)
        #expect(CellMap(journalBytes: map.journalBytes + [0]) == nil)
        for count in 0..<map.journalBytes.count {
            #expect(CellMap(journalBytes: Array(map.journalBytes.prefix(count))) == nil)
        }
        var engine = Engine()
        _ = Self.fold(map, into: &engine)
        #expect(try Self.again(engine).cellMap == map)
        #expect(try Self.again(Engine()).cellMap == nil)
    }

    private static func again(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    @Test func `K7: a checkpoint without a map is what it was before there were any`() {
        func head(_ engine: Engine) -> [UInt8] {
            var archive = Archive()
            var head = CheckpointHead(engine)
            head.code(&archive)
            return archive.bytes
        }
        let without = head(Engine())
        var engine = Engine()
        engine.cellMap = CellMap(first: [Self.cell("a")])
        #expect(head(engine).starts(with: without) && head(engine).count > without.count)
    }

    @Test func `K1: what nobody can have made is no map`() throws {
        let map = try Self.map("a", "b")
        var owners = map.owners
        owners[7] = 2
        let wrong = [
            CellMap(version: 0, cells: map.cells, owners: map.owners),
            CellMap(version: CellMap.versionMax + 1, cells: map.cells, owners: map.owners),
            CellMap(version: 1, cells: map.cells, owners: owners),
            CellMap(version: 1, cells: map.cells.reversed(), owners: map.owners),
            CellMap(version: 1, cells: map.cells, owners: Array(map.owners.dropLast())),
            CellMap(version: 1, cells: map.cells + [Self.cell("c")], owners: map.owners),
            CellMap(version: 1, cells: [Self.cell("a"), Self.cell("b c")], owners: map.owners),
            CellMap(
                version: 1, cells: [map.cells[0], CellMap.Cell(name: Self.bytes("b"), urls: [])],
                owners: map.owners),
        ]
        for map in wrong {
            #expect(!map.isCredible && !Event.cells(map).isCredible)
            #expect(CellMap(journalBytes: map.journalBytes) == nil)
        }
    }

    // MARK: - JSON

    @Test func `K1: a map is the same after its JSON`() throws {
        let map = try Self.map("a", "b", "c")
        #expect(
            String(decoding: map.json, as: UTF8.self)
                == #"{"version":1,"slots":4096,"cells":["#
                + #"{"name":"a","urls":["http://a:10112"],"slots":["0-1365"],"share":0.3335},"#
                + #"{"name":"b","urls":["http://b:10112"],"slots":["1366-2730"],"share":0.3333},"#
                + #"{"name":"c","urls":["http://c:10112"],"slots":["2731-4095"],"share":0.3333}]}"#)
        #expect(try CellMap(json: map.json.span, map.json.indices) == map)
        var owners = map.owners
        owners[9] = 2
        let scattered = CellMap(version: 4, cells: map.cells, owners: owners)
        #expect(scattered.ranges(of: 2) == [9...9, 2731...4095])
        #expect(try CellMap(json: scattered.json.span, scattered.json.indices) == scattered)
    }

    @Test(arguments: [
        (#"{"version":1,"slots":4095,"cells":[]}"#, "slots must be 4096"),
        (#"{"version":1,"slots":4096,"cells":[]}"#, "slot 0 is of no cell"),
        (#"{"version":1,"slots":4096,"cells":[CELL"0-4096"]}]}"#, "slots must be like \"0-1365\""),
        (#"{"version":1,"slots":4096,"cells":[CELL"9-3"]}]}"#, "slots must be like \"0-1365\""),
        (#"{"version":1,"slots":4096,"cells":[CELL"0-4095","7"]}]}"#, "slot 7 is of two cells"),
        (#"{"version":1,"slots":4096,"cells":[CELL"0-4094"]}]}"#, "slot 4095 is of no cell"),
        (
            #"{"version":0,"slots":4096,"cells":[CELL"0-4095"]}]}"#,
            "a version, a name, an address or slots of a cell"
        ), (#"{"version":1,"slots":4096}x"#, "more after the end of the value"),
        ("[]", "unexpected value"),
    ])
    func `K1: what is no map is refused with a reason`(text: String, reason: String) {
        let cell = #"{"name":"a","urls":["http://a"],"slots":["#
        let error = #expect(throws: JSONError.self) {
            try Self.read(text.replacing("CELL", with: cell))
        }
        #expect(error?.message == reason)
    }

    @Test func `K1: a replay reads the map that an export wrote`() throws {
        let map = try Self.map("a", "b")
        var line: [UInt8] = []
        let at = Timestamp(milliseconds: 1_795_230_001_000)
        #expect(EventLine.append(.cells(map), at: at, policy: { _ in [] }, to: &line))
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        let start = #"{"at":"2026-11-21T03:00:00Z","kind":"start"}"#
        try replay.fold(Self.bytes(start), to: &output)
        try replay.fold(Array(line.dropLast()), to: &output)
        #expect(replay.engine.cellMap == map)
        #expect(throws: ReplayError.self) {
            try replay.fold(
                Self.bytes(#"{"at":"2026-11-21T03:00:02Z","kind":"cells","body":{}}"#), to: &output)
        }
        #expect(throws: ReplayError.self) {
            try replay.fold(
                Self.bytes(#"{"at":"2026-11-21T03:00:02Z","kind":"cells"}"#), to: &output)
        }
    }
}
