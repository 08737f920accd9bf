import RollcallCore
import Testing

/// What holds of gaps and dark time whatever happens. Source: Contract/Gaps.
@Suite struct GapPropertyTests {
    private static let zero = Timestamp(milliseconds: Script.zero)

    /// Contact-dark time of everybody, in milliseconds.
    private func contactDark(_ engine: Engine) -> Int64 {
        Platform.allCases.reduce(0) { $0 + engine.dark(.contact, region: nil, $1) }
    }

    /// What passed since `then` while the last contact of somebody active was older than the
    /// degraded threshold, looked at from now.
    private func dark(_ engine: Engine, since then: ObservedTime) -> Int64 {
        (0..<engine.roster.count).reduce(0) { sum, number in
            let person = engine.roster[number]
            guard person.isActive else { return sum }
            let from =
                max(person.lastContact, person.activeSince)
                + engine.policy.thresholds(person).degraded
            return sum + max(0, (engine.clock.observedNow - max(from, then)).count)
        }
    }

    @Test(arguments: Effort.seeds(40 as UInt64))
    func `dark time adds up to what everybody's last contact says`(seed: UInt64) {
        var stream = EventStream(seed: seed)
        var engine = Engine()
        var now = RunningTime(milliseconds: Self.zero.milliseconds)
        var expected: Int64 = 0
        for _ in 0..<400 {
            let then = engine.clock.observedNow
            now = now + Milliseconds(Int64(1 + stream.next(60_000)))
            engine.advance(to: now)
            // One whose close decided something takes events a millisecond later.
            engine.advance(to: engine.openInstant)
            now = engine.clock.now
            // Blindness is another test's: observed time runs on here.
            expected += dark(engine, since: then)
            #expect(contactDark(engine) == expected)
            guard let event = stream.event(at: engine.clock.wallNow.milliseconds) else { continue }
            switch event {
            case .items: _ = engine.fold(event, at: now)
            case .policy(var policy):
                policy.forgetAfter = Milliseconds(Int64.max / 8)
                _ = engine.fold(.policy(policy), at: now)
            default: break
            }
        }
        engine.advance(to: now)
        #expect(engine.brokenInvariants() == [])
    }

    /// The verdict's line, and the location-dark time, after a backlog that comes in `requests`.
    private func outcome(of requests: [[Int]], _ captured: [Int64]) throws -> (String, Int64) {
        var replay = Replay(policy: Policy())
        var output: [UInt8] = []
        func tell(_ at: Int64, _ updates: [(Int, Int64)]) throws {
            let list = updates.map { sequence, captured in
                "{\"sequence\":\(sequence),\"captured_at\":\(Script.zero + captured)}"
            }
            let body = "{\"responder_id\":\"41\",\"updates\":[\(list.joined(separator: ","))]}"
            let line = "{\"at\":\(Script.zero + at),\"kind\":\"batch\",\"body\":\(body)}"
            try replay.fold(Array(line.utf8), to: &output)
        }
        try tell(0, [(1, 0)])
        for place in 0..<11 {
            let request = place < requests.count ? requests[place] : []
            try tell(900_000 + Int64(place) * 10_000, request.map { ($0 + 2, captured[$0]) })
        }
        try tell(1_010_000, [(99, 1_010_000)])
        let end = "{\"at\":\(Script.zero + 1_020_000),\"kind\":\"end\"}"
        try replay.fold(Array(end.utf8), to: &output)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        let verdict = lines.last { $0.contains("\"state\":\"verdict\"") }
        let dark = Platform.allCases.reduce(0) {
            $0 + replay.engine.dark(.location, region: nil, $1)
        }
        return (verdict.map(String.init) ?? "", dark)
    }

    @Test(arguments: Effort.seeds(40 as UInt64))
    func `splitting or reordering a backlog changes no verdict and no dark time`(seed: UInt64)
        throws
    {
        var stream = EventStream(seed: seed)
        // Some fleets captured nothing in the gap: the app was stopped.
        let isEmpty = stream.next(3) == 0
        let captured = (0..<12).map { _ in
            isEmpty ? Int64(840_000 + stream.next(60_000)) : Int64(stream.next(900_000))
        }.sorted()
        let whole = try outcome(of: [Array(captured.indices)], captured)
        #expect(whole.0.contains(isEmpty ? "app_stopped" : "network"))
        for _ in 0..<10 {
            var order = Array(captured.indices)
            for place in order.indices.reversed() { order.swapAt(place, stream.next(place + 1)) }
            var requests: [[Int]] = []
            while !order.isEmpty {
                let count = min(order.count, 1 + stream.next(5))
                requests.append(Array(order.prefix(count)))
                order.removeFirst(count)
            }
            // The first request is the return, and ten more fit into its two minutes.
            guard requests.count <= 11 else { continue }
            let parts = try outcome(of: requests, captured)
            #expect(parts.0 == whole.0)
            #expect(parts.1 == whole.1)
        }
    }
}
