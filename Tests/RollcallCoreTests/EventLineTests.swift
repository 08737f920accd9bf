import Testing

@testable import RollcallCore

/// Events written as lines are read as the same events, and a state as the same state (V7).
@Suite struct EventLineTests {
    private static let at = Timestamp(milliseconds: 1_795_230_000_000)

    private func line(_ event: Event) throws -> [UInt8] {
        var output: [UInt8] = []
        let isWhole = EventLine.append(
            event, at: Self.at, policy: { _ in Array("{}".utf8) }, to: &output)
        try #require(isWhole)
        return output.dropLast()
    }

    private func event(_ line: [UInt8]) throws -> Event? {
        var reader = ReplayReader { _ in Policy() }
        guard case .event(let event, _) = try reader.read(line) else { return nil }
        return event
    }

    private func list(_ body: String, _ kind: ItemKind) throws -> ItemList {
        try ItemScanner.scan(Array(body.utf8).span, kind: kind).items
    }

    private let source = Array("backend \"2\"".utf8)

    @Test func `every event comes back as it was`() throws {
        let standard = Array("default".utf8)
        let batch = try list(#"[{"responder_id":"a"},{"responder_id":"b"}]"#, .batch)
        let facts = try list(#"{"responder_id":"a","paused_until":5}"#, .responder)
        let server = try list(#"{"responder_id":"a","from":"ONLINE","to":"OFFLINE"}"#, .transition)
        let roster = try list(#"[{"responder_id":"a"},{"responder_id":"b"}]"#, .rosterEntry)
        let events: [Event] = [
            .items(batch, source: standard), .items(batch, source: source),
            .items(facts, source: source), .items(server, source: standard),
            .items(ItemList(), source: source), .items(batch, source: []),
            .roster(roster, source: source, RosterTerms()),
            .roster(
                roster, source: standard,
                RosterTerms(allowsShrink: true, id: Array("é\"".utf8), hasMore: true)),
            .roster(ItemList(), source: standard, RosterTerms(allowsShrink: true)),
            .erase(.id(Array("r\"1".utf8)), source: source),
            .erase(.number(nil, hash: .max), source: standard),
            .erase(.number(7, hash: 1), source: source),
            .heartbeat(source: source, every: Milliseconds(10_001)),
            .heartbeat(source: standard, every: Milliseconds(0)),
            .skew(source: source, Milliseconds(-31_000)), .skew(source: standard, Milliseconds(12)),
            .clock(step: Milliseconds(-700)), .clock(step: Milliseconds(3_600_000)),
            .store(isFailing: true), .store(isFailing: false), .refused(count: 12),
            .pushed(
                PushEnd(number: 9, person: 3, kind: .nudge, outcome: .unregistered, token: 77)),
            .pushed(PushEnd(number: .max, person: 0, kind: .wake, outcome: .delivered)),
            .wake(.members([]), source: source), .wake(.members([1, 2, 300]), source: standard),
            .turn(lateness: nil), .turn(lateness: Milliseconds(9000)), .start(),
            .start(isRestored: true), .stop,
        ]
        for event in events {
            let line = try line(event)
            let found = try self.event(line)
            let read = try #require(found)
            // A token leaves as the hash of its hash, each time anew.
            guard case .pushed(let was) = event, case .pushed(let end) = read else {
                #expect("\(read)" == "\(event)")
                continue
            }
            #expect(end.token == ItemText.hash(ofToken: was.token))
            var same = end
            same.token = was.token
            #expect(same == was)
        }
    }

    @Test func `silences, drills and ends of notices are nothing to a replay`() throws {
        for text in ["silence", "drill", "end", "outcome"] {
            let line = Array("{\"at\":0,\"kind\":\"\(text)\"}".utf8)
            #expect(try event(line) == nil, "\(text)")
        }
        var silence = Silence.empty
        silence.author = Array("Mallory".utf8)
        silence.comment = Array("secret".utf8)
        let line = try line(.silence(.begin(silence)))
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"at":"2026-11-21T03:00:00.000Z","kind":"silence"}"#)
        let drill = try self.line(.drill(receiver: Array("oncall".utf8)))
        #expect(!String(decoding: drill, as: UTF8.self).contains("oncall"))
    }

    @Test func `what is left of erased people keeps its place`() throws {
        var list = ItemList()
        func add(_ bytes: [UInt8]) {
            list.bytes += bytes
            list.ends.append(list.bytes.count)
        }
        let others = try self.list(#"[{"responder_id":"a"},{"responder_id":"b"}]"#, .batch)
        add(ItemList.nobody(isEnrolment: true))
        add(Array(others.bytes[others.range(of: 0)]))
        add(ItemList.nobody(isEnrolment: false))
        add(ItemList.nobody(isEnrolment: true))
        add(Array(others.bytes[others.range(of: 1)]))
        add(ItemList.nobody(isEnrolment: false))
        for event in [
            Event.items(list, source: source), .roster(list, source: source, RosterTerms()),
        ] {
            let line = try line(event)
            switch try self.event(line) {
            case .items(let read, _), .roster(let read, _, _):
                #expect(read.ends == list.ends)
                if case .items = event { #expect(read.bytes == list.bytes) }
            default: Issue.record("\(String(decoding: line, as: UTF8.self))")
            }
        }
        for wrong in [#"{"index":3}"#, #"{}"#, #"{"index":1},{"index":1}"#] {
            let line = #"{"at":0,"kind":"batch","erased":[\#(wrong)],"body":[]}"#
            #expect(throws: ReplayError.self) { try event(Array(line.utf8)) }
        }
    }

    @Test func `a line without what it needs is an error with its number`() {
        for line in [
            #"{"at":0,"kind":"erase","body":{"person":1}}"#,
            #"{"at":0,"kind":"erase","body":{"hash":"12"}}"#,
            #"{"at":0,"kind":"outcome","body":{"push":1}}"#,
            #"{"at":0,"kind":"outcome","body":{"push":1,"person":1,"kind":"x","outcome":"failed"}}"#,
            #"{"at":0,"kind":"state"}"#, #"{"at":0,"kind":"state","body":{}}"#,
            #"{"at":0,"kind":"state","body":{"slices":["!"]}}"#,
            #"{"at":0,"kind":"state","body":{"engine_version":99,"slices":["AAAA"]}}"#,
            #"{"at":0,"kind":"state","body":{"engine_version":-1,"slices":["AAAA"]}}"#,
            #"{"at":0,"kind":"turn","body":{"decided":[1}}"#,
        ] {
            #expect(throws: ReplayError.self, "\(line)") { try event(Array(line.utf8)) }
        }
    }

    // MARK: - States

    private func bytes(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    @Test(arguments: 1...20)
    func `a state comes back as it was`(seed: Int) throws {
        var stream = EventStream(seed: UInt64(seed))
        var engine = Engine()
        var now: Int64 = 1_795_230_000_000
        for _ in 0..<100 {
            now += Int64(1 + stream.next(20_000))
            let instant = RunningTime(milliseconds: now)
            let wall = now + engine.clock.wallOffset.count
            if let event = stream.event(at: wall) { _ = engine.fold(event, at: instant) }
            engine.advance(to: instant)
        }
        _ = engine.takeDecisions()
        var line: [UInt8] = []
        StateLine.append(engine, turn: 100, to: &line)
        var reader = ReplayReader()
        guard case .state(let read, let at) = try reader.read(line.dropLast()) else {
            Issue.record("no state")
            return
        }
        #expect(at == engine.clock.now)
        let isSame = bytes(read) == bytes(engine)
        #expect(isSame)
        // Once more is one too many.
        #expect(throws: ReplayError.self) { try reader.read(line.dropLast()) }
    }

    @Test func `a state holds neither tokens nor who silenced what`() throws {
        var engine = Engine()
        let instant = RunningTime(milliseconds: Self.at.milliseconds)
        let token = Array("SECRET-TOKEN".utf8)
        let body = #"{"responder_id":"a","push_token":"SECRET-TOKEN"}"#
        _ = engine.fold(.items(try list(body, .responder), source: []), at: instant)
        let matcher = LabelMatcher(name: Array("region".utf8), values: [Array("north".utf8)])
        let silence = Silence(
            matchers: [matcher], endsAt: Self.at + .seconds(60), author: Array("MALLORY".utf8),
            comment: Array("HUSH".utf8))
        _ = engine.fold(.silence(.begin(silence)), at: instant)
        engine.advance(to: instant)
        var line: [UInt8] = []
        StateLine.append(engine, turn: 1, to: &line)
        var reader = ReplayReader()
        guard case .state(let read, _) = try reader.read(line.dropLast()) else { return }
        let all = bytes(read).joined()
        for word in ["SECRET", "MALLORY", "HUSH"] {
            let isThere = Array(all).firstRange(of: Array(word.utf8)) != nil
            #expect(!isThere, "\(word)")
        }
        #expect(read.alerting.notifications.silences.count == 1)
        let hash = StableHash.of(token.span, 0..<token.count)
        #expect(read.pushToken(0) == ItemText.token(hash))
    }
}
