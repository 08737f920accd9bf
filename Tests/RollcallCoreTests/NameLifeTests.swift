import Testing

@testable import RollcallCore

/// Names from the first who tells them to the last who leaves them. Source: I7, style 15.
@Suite struct NameLifeTests {
    private static let began: Int64 = 1_795_230_000_000

    private static func items(_ body: String, _ kind: ItemKind = .batch) throws -> Event {
        .items(
            try ItemScanner.scan(Array(body.utf8).span, kind: kind).items,
            source: EventSource.standard)
    }

    private static func copy(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    private static func bytes(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    // MARK: - Against a model

    /// What somebody told last.
    private struct Told: Equatable {
        var region = "default"
        var circles: Set<String> = []
        var versions: [String] = ["", ""]
    }

    private static func told(_ engine: Engine, _ number: Int) -> Told {
        let person = engine.roster[number]
        func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }
        return Told(
            region: text(engine.regions[person.region]),
            circles: Set(CircleNames.names(engine.circles[person.circles]).map(text)),
            versions: [
                text(engine.versions[UInt32(person.osVersion)]),
                text(engine.versions[UInt32(person.appVersion)]),
            ])
    }

    /// One that tells names at random: few, so that each is freed and told again many times.
    private struct Crowd {
        var random: Seeded
        var people: [String: Told] = [:]

        mutating func event() throws -> Event {
            let id = "r\(Int.random(in: 0..<9, using: &random))"
            if Int.random(in: 0..<40, using: &random) == 0 {
                people[id] = nil
                return .erase(.id(Array(id.utf8)), source: EventSource.standard)
            }
            var told = people[id] ?? Told()
            var body = "{\"responder_id\":\"\(id)\""
            if chance(3) {
                told.region = "g\(Int.random(in: 0..<20, using: &random))"
                body += ",\"region\":\"\(told.region)\""
            }
            if chance(2) {
                let count = Int.random(in: 0..<4, using: &random)
                let names = (0..<count).map { _ in "c\(Int.random(in: 0..<12, using: &random))" }
                told.circles = Set(names)
                body += ",\"circles\":[\(names.map { "\"\($0)\"" }.joined(separator: ","))]"
            }
            for (place, field) in ["os_version", "app_version"].enumerated() where chance(4) {
                told.versions[place] = "v\(Int.random(in: 0..<15, using: &random))"
                body += ",\"\(field)\":\"\(told.versions[place])\""
            }
            people[id] = told
            // Whoever was erased is named again by the backend alone.
            return try NameLifeTests.items(body + "}", .responder)
        }

        private mutating func chance(_ of: Int) -> Bool {
            Int.random(in: 0..<of, using: &random) == 0
        }
    }

    @Test(arguments: Effort.seeds(6 as UInt64))
    func `over thousands of turns and restarts the names are those that people have`(
        seed: UInt64
    ) throws {
        // Versions are facts of batches alone, and who was erased does not come back by those.
        var crowd = Crowd(random: Seeded(seed: seed))
        var policy = Policy()
        policy.regionLabelsMax = 3
        policy.coverageRegions = [Array("g1".utf8)]
        var straight = Engine(policy: policy)
        var restarted = straight
        var now = Self.began
        for turn in 0..<1500 {
            now += Int64.random(in: 0...40_000, using: &crowd.random)
            let instant = max(RunningTime(milliseconds: now), straight.openInstant)
            for _ in 0..<Int.random(in: 0...3, using: &crowd.random) {
                let event = try crowd.event()
                let receipt = straight.fold(event, at: instant)
                #expect(restarted.fold(event, at: instant) == receipt)
            }
            straight.advance(to: instant)
            restarted.advance(to: instant)
            #expect(straight.takeDecisions() == restarted.takeDecisions())
            if turn % 5 == 0 { restarted = try Self.copy(restarted) }
            guard turn % 10 == 0 else { continue }
            for (id, told) in crowd.people {
                let number = try #require(straight.roster.number(of: Array(id.utf8)))
                var found = Self.told(straight, number)
                found.versions = told.versions
                #expect(found == told)
            }
            let broken = straight.brokenInvariants() + restarted.brokenInvariants()
            #expect(broken.isEmpty, "\(broken)")
            let isSame = Self.bytes(straight) == Self.bytes(restarted)
            #expect(isSame, "the same numbers after a restart")
            // Nine people, and what their gaps hold on to.
            #expect(straight.regions.names.count <= 20 + 3 + 1)
            let circles = Set(crowd.people.values.flatMap(\.circles))
            let sets = Set(crowd.people.values.map(\.circles).filter { $0.count > 1 })
            #expect(straight.circles.count == circles.count + sets.count)
        }
    }

    @Test func `one person with ever new names takes the room of a few`() throws {
        var engine = Engine()
        for turn in 0..<Int(Effort.count(5000)) {
            let body = """
                {"responder_id":"a","region":"g\(turn)","circles":["c\(turn)","d\(turn)"],
                 "os_version":"o\(turn)","app_version":"v\(turn)"}
                """
            let instant = RunningTime(milliseconds: Self.began + Int64(turn) * 10)
            _ = engine.fold(try Self.items(body), at: instant)
            engine.advance(to: instant)
        }
        #expect(engine.circles.count == 3 && engine.circles.names.count <= 8)
        #expect(engine.versions.count == 2 && engine.versions.names.count <= 6)
        // Regions with a label of their own keep it: their counters must not begin anew.
        let labels = engine.policy.regionLabelsMax
        #expect((labels...(labels + 2)).contains(engine.regions.names.count - 1))
        #expect(engine.circles.names.room < 4096 && engine.regions.names.room < 16_384)
        let slices = Self.bytes(engine).reduce(0) { $0 + $1.count }
        #expect(slices < 16_384)
    }

    // MARK: - Limits

    private func receipt(_ engine: inout Engine, _ body: String, at seconds: Int64) throws
        -> Receipt
    {
        let instant = RunningTime(milliseconds: Self.began + seconds * 1000)
        let receipt = engine.fold(try Self.items(body), at: instant)
        engine.advance(to: instant)
        return receipt
    }

    @Test func `a name beyond the limit is refused by name, and its person keeps what they had`()
        throws
    {
        var policy = Policy()
        (policy.regionNamesMax, policy.circleNamesMax, policy.versionNamesMax) = (2, 3, 2)
        var engine = Engine(policy: policy)
        let full =
            #"{"responder_id":"a","region":"n","circles":["x","y"],"os_version":"1","app_version":"2"}"#
        let first = try receipt(&engine, full, at: 1)
        #expect(first.namesRefusedCount == 0)
        let more = """
            [{"responder_id":"b"},
             {"responder_id":"c","region":"s","circles":["x","z"],"app_version":"3"},
             {"responder_id":"d","region":"n","circles":["y"],"app_version":"2"}]
            """
        let second = try receipt(&engine, more, at: 2)
        #expect(second.accepted == 3 && second.namesRefusedCount == 3)
        #expect(second.namesRefused.map(\.item) == [1, 1, 1])
        #expect(second.namesRefused.map(\.kind) == [.regions, .circles, .versions])
        let number = try #require(engine.roster.number(of: Array("c".utf8)))
        #expect(Self.told(engine, number) == Told())
        let other = try #require(engine.roster.number(of: Array("d".utf8)))
        #expect(Self.told(engine, other) == Told(region: "n", circles: ["y"], versions: ["", "2"]))
        // It is known again once there is room: the telling that found none does not count.
        _ = engine.fold(
            .erase(.id(Array("a".utf8)), source: EventSource.standard),
            at: RunningTime(milliseconds: Self.began + 3000))
        engine.advance(to: RunningTime(milliseconds: Self.began + 3000))
        let circle = #"{"responder_id":"c","circles":["z"],"app_version":"3"}"#
        let third = try receipt(&engine, circle, at: 4)
        #expect(third.namesRefusedCount == 0)
        #expect(Self.told(engine, number).circles == ["z"])
        #expect(engine.brokenInvariants().isEmpty)
    }

    @Test func `a hundred refused names are listed, and all are counted`() throws {
        var policy = Policy()
        policy.regionNamesMax = 2
        var engine = Engine(policy: policy)
        _ = try receipt(&engine, #"{"responder_id":"a","region":"n"}"#, at: 1)
        let many = (0..<250).map { #"{"responder_id":"p\#($0)","region":"g\#($0)"}"# }
        let receipt = try receipt(&engine, "[\(many.joined(separator: ","))]", at: 2)
        #expect(receipt.namesRefusedCount == 250 && receipt.namesRefused.count == 100)
        #expect(engine.regions.count == 2)
    }

    // MARK: - Who still speaks of them

    /// F29, A4: the region's number is given up while nobody may evaluate its alerts.
    @Test func `an alert about a region that everybody left while blind is judged by its name`()
        throws
    {
        var policy = Policy()
        policy.regionLabelsMax = 1
        policy.alerts.noOnlineResponders.pendingFor = .seconds(0)
        policy.alerts.noOnlineResponders.keepFiringFor = .seconds(0)
        var engine = Engine(policy: policy)
        // Never heard: no gap holds the region.
        func tell(_ id: String, _ region: String, at seconds: Int64) throws {
            let fact = #"{"responder_id":"\#(id)","region":"\#(region)","duty_state":"ON_DUTY"}"#
            let instant = RunningTime(milliseconds: Self.began + seconds * 1000)
            _ = engine.fold(try Self.items(fact, .responder), at: instant)
            engine.advance(to: instant)
        }
        try tell("a", "far", at: 1)
        let key = AlertKey(name: .noOnlineResponders, subject: .region(Array("far".utf8)))
        engine.advance(to: RunningTime(milliseconds: Self.began + 120_000))
        #expect(engine.alerting.board[key]?.state == .firing)
        let far = engine.regions.known(Array("far".utf8))
        let blind = RunningTime(milliseconds: Self.began + 121_000)
        _ = engine.fold(.store(isFailing: true), at: blind)
        try tell("a", "near", at: 122)
        #expect(far != nil && engine.regions.known(Array("far".utf8)) == nil)
        // Its number is another region's by now.
        try tell("b", "new", at: 123)
        #expect(engine.regions.known(Array("new".utf8)) == far)
        #expect(engine.alerting.board[key]?.state == .firing)
        _ = engine.takeDecisions()
        var restarted = try Self.copy(engine)
        for seconds in [124, 400] as [Int64] {
            let instant = RunningTime(milliseconds: Self.began + seconds * 1000)
            _ = engine.fold(.store(isFailing: false), at: instant)
            _ = restarted.fold(.store(isFailing: false), at: instant)
            engine.advance(to: instant)
            restarted.advance(to: instant)
            #expect(engine.alerting.board[key] == nil && restarted.alerting.board[key] == nil)
        }
        #expect(engine.takeDecisions() == restarted.takeDecisions())
    }

    /// C1: who falls silent in a region, and the region's number, three hours later.
    @Test func `a gap never counts among the people of another region that got its number`()
        throws
    {
        var policy = Policy()
        policy.regionLabelsMax = 1
        var engine = Engine(policy: policy)
        _ = try receipt(&engine, #"{"responder_id":"a","region":"far"}"#, at: 1)
        let far = try #require(engine.regions.known(Array("far".utf8)))
        engine.advance(to: RunningTime(milliseconds: Self.began + 100_000))
        let number = try #require(engine.roster.number(of: Array("a".utf8)))
        var gap = try #require(engine.gaps[number])
        #expect(engine.people.region(of: gap) == far)
        // The gap itself, and those who fell silent there, hold on to the name.
        _ = try receipt(&engine, #"{"responder_id":"a","region":"near"}"#, at: 101)
        #expect(engine.regions.known(Array("far".utf8)) == far)
        // Three hours later somebody falls silent elsewhere, and what is older is forgotten.
        _ = try receipt(&engine, #"{"responder_id":"a","region":"near"}"#, at: 12_000)
        engine.advance(to: RunningTime(milliseconds: Self.began + 12_300_000))
        #expect(engine.regions.known(Array("far".utf8)) == nil)
        _ = try receipt(&engine, #"{"responder_id":"b","region":"new"}"#, at: 12_301)
        #expect(engine.regions.known(Array("new".utf8)) == far)
        gap.report.facts.region = Array("far".utf8)
        #expect(engine.people.region(of: gap) == nil)
        #expect(engine.brokenInvariants().isEmpty)
    }

    // MARK: - Older stores

    @Test func `names that an older version left behind are gone after a start`() throws {
        var engine = Engine()
        _ = try receipt(&engine, #"{"responder_id":"a","region":"n","circles":["x"]}"#, at: 1)
        for number in 0..<3000 {
            _ = engine.circles.number(of: CircleNames.pack([Array("old\(number)".utf8)]))
            _ = engine.regions.number(of: Array("old\(number)".utf8))
            _ = engine.versions.number(of: Array("old\(number)".utf8))
        }
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader(version: 5)
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        let restored = try #require(reader.finish())
        #expect(restored.circles.count == 1 && restored.versions.count == 0)
        #expect(restored.regions.count == restored.policy.regionLabelsMax)
        #expect(restored.regions.known(Array("n".utf8)) == engine.regions.known(Array("n".utf8)))
        #expect(restored.brokenInvariants().isEmpty)
    }

    /// An erasure takes names out of older checkpoints, also of sets that others still have there.
    @Test func `a number without a name goes to nobody else while a checkpoint is read`() throws {
        var engine = Engine()
        let people =
            #"[{"responder_id":"a","circles":["x","y"]},{"responder_id":"b","circles":["x"]}]"#
        _ = try receipt(&engine, people, at: 1)
        let one = CircleNames.pack([Array("x".utf8)])
        let number = try #require(engine.circles.known(one))
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount {
            var slice = checkpoint.slice(index)
            if index > 0, var names = NamesSlice(slice), names.table == .circles {
                names.names[Int(number) - names.first] = []
                slice = names.bytes
            }
            reader.take(slice)
        }
        let restored = try #require(reader.finish())
        let (a, b) = (restored.roster[0], restored.roster[1])
        #expect(b.circles == number && restored.circles[number].isEmpty)
        #expect(CircleNames.names(restored.circles[a.circles]).count == 2)
        #expect(restored.circles.known(one) != number)
    }
}
