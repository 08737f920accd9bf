import Testing

@testable import RollcallCore

/// What was no decision before and is one for the sake of events: who came and left, who did what, what
/// became of messages. Source: E1, E2.
@Suite struct EventDecisionTests {
    private static let begin = RunningTime(milliseconds: 1_795_230_000_000)

    private func items(_ kind: ItemKind, _ ids: [String]) throws -> ItemList {
        let body = "[\(ids.map { #"{"responder_id":"\#($0)"}"# }.joined(separator: ","))]"
        return try ItemScanner.scan(Array(body.utf8).span, kind: kind).items
    }

    /// An engine in which people of these ids have reported.
    private func engine(_ ids: [String]) throws -> Engine {
        var engine = Engine()
        _ = engine.fold(.start(), at: Self.begin)
        _ = engine.fold(.items(try items(.batch, ids), source: []), at: Self.begin)
        return engine
    }

    private func people(_ engine: inout Engine) -> [PersonReport] {
        engine.takeDecisions().compactMap {
            guard case .person(_, let report) = $0.decision else { return nil }
            return report
        }
    }

    @Test func `E1: whoever comes is enrolled once, before anything else is decided about them`()
        throws
    {
        var engine = try engine(["a", "b"])
        _ = engine.fold(.items(try items(.batch, ["a"]), source: []), at: Self.begin)
        let decisions = engine.takeDecisions().map(\.decision)
        let reports = decisions.compactMap { decision -> PersonReport? in
            guard case .person(_, let report) = decision else { return nil }
            return report
        }
        #expect(
            reports == [PersonReport(.enrolled, number: 0), PersonReport(.enrolled, number: 1)])
        guard case .person = decisions.first else { return #expect(Bool(false), "it is the first") }
    }

    @Test func `E1: whom a roster does not name any more is retired, once`() throws {
        var engine = try engine(["a", "b", "c"])
        _ = people(&engine)
        for _ in 0..<2 {
            let roster = try items(.rosterEntry, ["a", "b"])
            _ = engine.fold(.roster(roster, source: [], RosterTerms()), at: Self.begin)
        }
        #expect(people(&engine) == [PersonReport(.retired, number: 2)])
    }

    @Test func `E1 F17: an erasure leads to nobody, and one of a stranger is none`() throws {
        var engine = try engine(["a"])
        _ = people(&engine)
        for id in ["stranger", "a", "a"] {
            _ = engine.fold(.erase(.id(Array(id.utf8)), source: []), at: Self.begin)
        }
        let hash = StableHash.of(Array("a".utf8).span, 0..<1)
        #expect(people(&engine) == [PersonReport(erased: hash)])
        #expect(PersonReport(erased: hash).number == nil && PersonReport(erased: hash).hash == hash)
    }

    @Test func `E1: what became of a message is told, and is in nobody's chain`() throws {
        var engine = try engine(["a"])
        let last = engine.takeDecisions().last { $0.decision.isStatus }?.id
        let end = NoticeEnd(
            notice: 3, receiver: [0x6F], target: 0, outcome: .delivered, took: Milliseconds(7))
        _ = engine.fold(.outcome(end), at: Self.begin)
        let push = PushEnd(number: 4, person: 0, kind: .nudge, outcome: .delivered, token: 9)
        _ = engine.fold(.pushed(push), at: Self.begin)
        var action = ActionReport(.drill, author: Array("kim".utf8))
        action.subject = [0x6F]
        _ = engine.fold(.action(action), at: Self.begin)
        let told = engine.takeDecisions()
        var without = push
        without.token = 0
        let wall = engine.clock.wallNow
        #expect(
            told.map(\.decision) == [
                .delivery(at: wall, end), .push(at: wall, without), .action(at: wall, action),
            ], "the token of a phone is in none")
        #expect(told.allSatisfy { $0.previous == 0 })
        #expect(engine.roster[0].lastDecision == last)
    }

    // MARK: - Subscribers

    @Test func `E2: a subscriber goes on and never back, and is forgotten at last`() {
        var subscriptions = Subscriptions()
        let (a, b) = (Array("a".utf8), Array("b".utf8))
        for (name, number) in [(b, 7), (a, 3), (b, 5), (a, 4)] as [([UInt8], Int64)] {
            subscriptions.take(SubscriptionMark(name: name, number: number))
        }
        #expect(subscriptions.names == [a, b])
        #expect(subscriptions.number(of: a) == 4 && subscriptions.number(of: b) == 7)
        subscriptions.take(SubscriptionMark(name: a, number: -1))
        subscriptions.take(SubscriptionMark(name: Array("c".utf8), number: -1))
        #expect(subscriptions.names == [b] && subscriptions.number(of: a) == nil)
        for number in 0..<100 {
            subscriptions.take(SubscriptionMark(name: Array("n\(number)".utf8), number: 0))
        }
        #expect(subscriptions.names.count == Subscriptions.countMax)
        #expect(subscriptions.number(of: b) == 7)
    }

    @Test(arguments: [true, false])
    func `E2: a checkpoint keeps how far subscribers have come`(hasMarks: Bool) throws {
        var engine = try engine(["a"])
        if hasMarks {
            let mark = SubscriptionMark(name: Array("dispatcher".utf8), number: 41)
            _ = engine.fold(.subscription(mark), at: Self.begin)
        }
        var head = CheckpointHead(engine)
        var written = Archive()
        head.code(&written)
        var read = Archive(reading: written.bytes)
        var again = CheckpointHead(Engine())
        again.code(&read)
        #expect(read.isAtEnd && !read.isDamaged)
        #expect(again.engine.subscriptions == engine.subscriptions)
        #expect(again.engine.subscriptions.isEmpty != hasMarks)
    }
}

extension Decision {
    fileprivate var isStatus: Bool {
        if case .status = self { true } else { false }
    }
}
