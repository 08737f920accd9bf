import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore
@testable import RollcallSupport

/// Sorted pages of people against everybody sorted naively. Source: V12.
@Suite struct ResponderListingTests {
    private static let people = 400

    /// A fleet that is drawn.
    private struct Fleet {
        var engine = Engine()
        private let now = HistoryStory.began
        private var sequence = 0
        private var dice: SplitMix

        init(seed: UInt64, people: Int) throws {
            dice = SplitMix(seed: seed)
            for start in stride(from: 0, to: people, by: 500) {
                try report((start..<min(people, start + 500)).map { "r\($0 * 7919 % 10_007)" })
            }
        }

        /// These are heard, with facts that are drawn anew.
        mutating func report(_ ids: [String]) throws {
            sequence += 1
            let items = ids.map { id in
                let region = ["a", "b", "c", "d", "e", "f\(sequence)"][Int(dice.next() % 6)]
                let battery = dice.next() % 5 == 0 ? "" : ",\"battery_level\":0.\(dice.next() % 9)"
                let model = dice.next() % 3 == 0 ? "" : ",\"model\":\"m\(dice.next() % 7)\""
                return """
                    {"responder_id":"\(id)","region":"\(region)","duty_state":"ON_DUTY"\
                    \(battery)\(model),"updates":[{"sequence":\(sequence),"captured_at":\(now)}]}
                    """
            }
            let event = try HistoryStory.items(.batch, "[\(items.joined(separator: ","))]")
            // All at one instant, which nothing closes: what time does to them is not asked here.
            _ = engine.fold(event, at: RunningTime(milliseconds: now))
        }
    }

    /// Numbers that are drawn by a seed.
    private struct SplitMix {
        private var state: UInt64
        init(seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }

    private static func query(_ arguments: [(String, String)]) throws -> ResponderQuery {
        try ResponderQuery.parameters.read(arguments)
    }

    /// Everybody who fits, sorted at once.
    private static func naive(_ query: ResponderQuery, _ engine: Engine) throws -> [String] {
        let order = try #require(query.orderInForce)
        var filter = ResponderFilter(query)
        filter.begin(engine)
        let rows = (0..<engine.roster.count).compactMap { number in
            filter.match(number, engine).map {
                (order.key(number, foundAt: $0, engine), Array(engine.roster.id(number)))
            }
        }
        return rows.sorted { order.precedes($0.0, $0.1, $1.0, $1.1) }
            .map { String(decoding: $0.1, as: UTF8.self) }
    }

    /// A page that is read in slices.
    private static func page(
        _ query: ResponderQuery, _ fleet: Fleet
    ) throws -> (ids: [String], next: String?, total: Int64?) {
        let order = try #require(query.orderInForce)
        let after = query.after.flatMap { ResponderCursor($0) }
        var listing = ResponderListing(query, order, after: after)
        var number = 0
        var slices = 0
        while number < fleet.engine.roster.count {
            number = listing.look(from: number, fleet.engine, until: ContinuousClock.now)
            slices += 1
        }
        #expect(slices > 1)
        let body = try JSONTree(reading: listing.answer(fleet.engine).body)
        let ids = (body["responders"]?.elements ?? []).compactMap { $0["responder_id"]?.text }
        return (ids, body["next"]?.text, body["total"]?.whole)
    }

    @Test(arguments: ResponderSort.allCases.filter { $0 != .relevance })
    func `all pages together are everybody sorted at once`(_ sort: ResponderSort) throws {
        let fleet = try Fleet(seed: 5, people: Self.people)
        for (sign, limit) in [("", 1000), ("-", 101)] {
            var arguments = [("sort", "\(sign)\(sort.word)"), ("limit", "\(limit)")]
            let wanted = try Self.naive(try Self.query(arguments), fleet.engine)
            var found: [String] = []
            for _ in 0..<100 {
                let page = try Self.page(try Self.query(arguments), fleet)
                found += page.ids
                #expect(page.total == Int64(Self.people))
                arguments.removeAll { $0.0 == "after" }
                guard let next = page.next else { break }
                arguments.append(("after", next))
            }
            #expect(found == wanted, "\(sign)\(sort.word) \(limit)")
        }
    }

    @Test func `a cursor is what it was, and nothing else is one`() throws {
        let order = ResponderOrder(sort: .model, isDescending: true)
        for key in [
            ResponderKey.missing, .number(-7), .number(.max), .name(Array("Mate + ü".utf8)),
        ] {
            let cursor = ResponderCursor(order: order, key: key, id: Array("r/1?".utf8))
            #expect(ResponderCursor(cursor.text) == cursor)
            let letters = Set(Array("+/=&".utf8))
            #expect(!cursor.text.contains(where: letters.contains))
        }
        let long = ResponderCursor(
            order: order, key: .name([UInt8](repeating: 7, count: 300)), id: [1])
        #expect(ResponderCursor(long.text) == long)
        for text in ["", "A", "AAAA", "r-17", "////", String(repeating: "_", count: 40)] {
            #expect(ResponderCursor(Array(text.utf8)) == nil, "\(text)")
        }
        let answer = try Self.query([("sort", "-battery")])
        #expect(answer.orderInForce == ResponderOrder(sort: .battery, isDescending: true))
        #expect(try Self.query([]).orderInForce == nil)
        #expect(try Self.query([("q", "x")]).orderInForce?.sort == .relevance)
    }

    @Test func `names are one of several, a beginning, or none`() {
        func fits(_ choice: String, _ name: String, isWhole: Bool = false) -> Bool {
            NameChoice(choice).fits(Array(name.utf8), isWhole: isWhole)
        }
        #expect(fits("a,b", "a") && fits("a,b", "b") && !fits("a,b", "a,b"))
        #expect(fits("a,b", "a,b", isWhole: true) && !fits("a,b", "a", isWhole: true))
        #expect(fits("hua*", "Huawei Mate") && !fits("Hua", "Huawei") && !fits("A", "a"))
        #expect(fits("", "") && !fits("", "a") && fits("a,", "") && fits("*", "") && fits("*", "x"))
        #expect(ASCIIText.place(of: Array("b-1".utf8), in: Array("AB-1".utf8)[...]) == 1)
        #expect(ASCIIText.place(of: Array("ab-12".utf8), in: Array("AB-1".utf8)[...]) == nil)
        #expect(ASCIIText.place(of: [], in: Array("x".utf8)[...]) == 0)
    }
}
