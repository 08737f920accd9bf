import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallSupport

/// What is different about some people. Source: V13.
@Suite struct DifferenceTableTests {
    private static func least(_ count: Int, _ of: Int, _ rest: Int, _ restOf: Int) -> Double? {
        ShareDifference(count: count, of: of, rest: rest, restOf: restOf).least()
    }

    @Test func `what is more common counts by what is sure of it`() throws {
        // Newcombe's own example of 1998 has 0.0524 at 1.96 deviations; at three of them nothing is
        // sure of it.
        let example = ShareDifference(count: 56, of: 70, rest: 48, restOf: 80)
        #expect(abs((example.least(deviations: 1.96) ?? 0) - 0.0524) < 0.0001)
        #expect(example.least() == nil)
        let many = try #require(Self.least(41, 52, 120, 9948))
        #expect(abs(many - 0.5713) < 0.0001, "\(many)")
        // The same shares of ten times as many are surer.
        let more = try #require(Self.least(410, 520, 1200, 99_480))
        #expect(more > many && more < 410.0 / 520 - 1200.0 / 99_480)
        // All of three come behind most of many.
        let few = try #require(Self.least(3, 3, 1, 9948))
        #expect(few < many)
    }

    @Test func `small numbers, less common ones and an empty rest say nothing`() {
        #expect(Self.least(2, 2, 0, 10_000) == nil)
        #expect(Self.least(3, 3, 0, 10_000) != nil)
        #expect(Self.least(3, 60, 0, 100) == nil)
        #expect(Self.least(10, 100, 10, 100) == nil)
        #expect(Self.least(5, 100, 90, 100) == nil)
        #expect(Self.least(50, 50, 0, 0) == nil)
        #expect(Self.least(0, 0, 5, 5) == nil)
    }

    /// A fleet of `count`: every fifth is in the harbour, and has model Mate there.
    private static func engine(_ count: Int) throws -> Engine {
        var engine = Engine()
        let items = (0..<count).map { number in
            let isThere = number % 5 == 0
            return """
                {"responder_id":"r\(number)","duty_state":"ON_DUTY","app_version":"v\(number)",\
                "region":"\(isThere ? "harbour" : "north")","model":"\(isThere ? "Mate" : "Note")",\
                "updates":[]}
                """
        }
        let event = try HistoryStory.items(.batch, "[\(items.joined(separator: ","))]")
        _ = engine.fold(event, at: RunningTime(milliseconds: HistoryStory.began))
        return engine
    }

    private static func table(
        _ arguments: [(String, String)], _ engine: inout Engine,
        between: (inout Engine) throws -> Void = { _ in }
    ) throws -> JSONTree {
        var table = DifferenceTable(try ResponderQuery.differenceParameters.read(arguments))
        var number = 0
        while number < engine.roster.count {
            number = table.look(from: number, engine, until: ContinuousClock.now)
            try between(&engine)
        }
        return try JSONTree(reading: table.answer(engine).body)
    }

    @Test func `names are counted by their letters, though numbers are given again`() throws {
        var engine = try Self.engine(1000)
        var turn: Int64 = 0
        let table = try Self.table([("region", "harbour")], &engine) { engine in
            // Those of the first slice take other names, whose numbers others may get.
            turn += 1
            let items = (0..<100).map {
                "{\"responder_id\":\"r\($0)\",\"app_version\":\"w\(turn).\($0)\",\"updates\":[]}"
            }
            let event = try HistoryStory.items(.batch, "[\(items.joined(separator: ","))]")
            let now = RunningTime(milliseconds: HistoryStory.began + turn * 1000)
            _ = engine.fold(event, at: now)
            engine.advance(to: now)
        }
        #expect(table["chosen"]?.whole == 200 && table["rest"]?.whole == 800)
        let found = table["differences"]?.elements ?? []
        #expect(found.map { $0["fact"]?.text } == ["model"])
        #expect(found.first?["value"]?.text == "Mate")
        #expect(found.first?["in"]?.whole == 200 && found.first?["of"]?.whole == 200)
        #expect(found.first?["rest"]?.whole == 0 && found.first?["rest_of"]?.whole == 800)
        #expect(table["truncated"]?.isTrue == false)
    }

    @Test func `what follows from a filter is left out`() throws {
        var engine = try Self.engine(300)
        let table = try Self.table([("model", "Mate")], &engine)
        let facts = (table["differences"]?.elements ?? []).compactMap { $0["fact"]?.text }
        #expect(facts == ["region"])
        let everybody = try Self.table([], &engine)
        #expect(everybody["rest"]?.whole == 0)
        #expect(everybody["differences"]?.elements.isEmpty == true)
    }
}
