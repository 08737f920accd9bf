import RollcallCore
import Testing

/// A seeded stream of events that hits what checkpoints must keep (style 17).
struct EventStream {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func next(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }

    /// An event at the wall `at`; nil makes time pass only.
    mutating func event(at: Int64) -> Event? {
        let id = "r-\(next(12))"
        switch next(20) {
        case 0...9: return items(.batch, batch(id, at))
        case 10:
            return items(.responder, "{\"responder_id\":\"\(id)\",\"duty_state\":\"\(duty())\"}")
        case 11:
            let until = at + Int64(next(120_000))
            return items(.responder, "{\"responder_id\":\"\(id)\",\"paused_until\":\(until)}")
        case 12, 13:
            let words = ["ONLINE", "DEGRADED", "OFFLINE", "UNKNOWN"]
            let told = at - Int64(next(60_000))
            return items(
                .transition,
                "{\"responder_id\":\"\(id)\",\"from\":\"\(words[next(4)])\",\"to\":\"\(words[next(4)])\","
                    + "\"at\":\(told),\"id\":\"t\(next(40))\"}")
        case 14:
            return .heartbeat(
                source: Array("s\(next(2))".utf8), every: Milliseconds(Int64(next(2) * 10_000)))
        case 15: return .refused(count: next(8))
        case 16: return .store(isFailing: next(3) == 0)
        case 17: return .clock(step: Milliseconds(Int64(next(7_200_000) - 3_600_000)))
        case 18:
            var policy = Policy()
            policy.onDuty.degradedAfter = .seconds(Int64(30 + next(90)))
            policy.onDuty.offlineAfter = .seconds(Int64(130 + next(90)))
            policy.lowPowerFactor = Double(1 + next(3))
            policy.forgetAfter = .seconds(Int64(300 + next(600)))
            return .policy(policy)
        default: return nil
        }
    }

    private mutating func duty() -> String { ["ON_DUTY", "ON_MISSION", "OFF_DUTY"][next(3)] }

    private mutating func batch(_ id: String, _ at: Int64) -> String {
        var updates: [String] = []
        for _ in 0..<next(4) {
            let captured = at - Int64(next(400_000)) + 3000
            updates.append("{\"sequence\":\(next(400)),\"captured_at\":\(captured)}")
        }
        let received = next(2) == 0 ? ",\"received_at\":\(at - Int64(next(200_000)))" : ""
        let install = next(4) == 0 ? ",\"install_id\":\"i\(next(7))\"" : ""
        let power = next(3) == 0 ? ",\"telemetry\":{\"power_mode\":\"low_power\"}" : ""
        let region = next(3) == 0 ? ",\"region\":\"g\(next(3))\"" : ""
        return "{\"responder_id\":\"\(id)\",\"updates\":[\(updates.joined(separator: ","))]"
            + received + install + power + region + "}"
    }

    private func items(_ kind: ItemKind, _ body: String) -> Event? {
        let bytes = Array(body.utf8)
        guard let scan = try? ItemScanner.scan(bytes.span, kind: kind) else { return nil }
        return .items(scan.items, source: Array("default".utf8))
    }
}

@Suite struct CheckpointTests {
    private func copy(_ engine: Engine) throws -> Engine {
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        return try #require(reader.finish())
    }

    private func bytes(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map { checkpoint.slice($0) }
    }

    /// J5, INV-27, INV-34: a restart of no length at any turn changes nothing.
    @Test(arguments: Effort.seeds(60))
    func `an engine put together from a checkpoint decides as the one it was cut from`(
        seed: Int
    ) throws {
        var stream = EventStream(seed: UInt64(seed))
        var straight = Engine()
        var restarted = Engine()
        var now: Int64 = 1_795_230_000_000
        for turn in 0..<300 {
            now += Int64(1 + stream.next(20_000))
            let instant = RunningTime(milliseconds: now)
            let wall = now + straight.clock.wallOffset.count
            if let event = stream.event(at: wall) {
                let receipt = straight.fold(event, at: instant)
                #expect(restarted.fold(event, at: instant) == receipt)
            }
            straight.advance(to: instant)
            restarted.advance(to: instant)
            #expect(straight.takeDecisions() == restarted.takeDecisions())
            if turn % 7 == 0 { restarted = try copy(restarted) }
        }
        let isSame = bytes(straight) == bytes(restarted)
        #expect(isSame)
        #expect(straight.aggregates.byStatus == restarted.aggregates.byStatus)
        // A region that everybody left keeps its zeros until a restart.
        let regions = zip(straight.aggregates.byRegion, restarted.aggregates.byRegion)
        #expect(regions.allSatisfy { $0 == $1 })
        #expect(
            straight.aggregates.byRegion.reduce(0, +) == restarted.aggregates.byRegion.reduce(0, +))
        #expect(straight.aggregates.telemetry == restarted.aggregates.telemetry)
        #expect(straight.aggregates.notExpected == restarted.aggregates.notExpected)
    }

    /// `advance(a)` then `advance(b)` equals `advance(b)` (J0).
    @Test(arguments: Effort.seeds(40))
    func `looking at the clock more often decides nothing else`(seed: Int) {
        var stream = EventStream(seed: UInt64(seed) + 1000)
        var rarely = Engine()
        var often = Engine()
        var now: Int64 = 1_795_230_000_000
        for _ in 0..<200 {
            for _ in 0..<3 {
                now += Int64(1 + stream.next(9000))
                often.advance(to: RunningTime(milliseconds: now))
            }
            now += 1
            let instant = RunningTime(milliseconds: now)
            if let event = stream.event(at: now + rarely.clock.wallOffset.count) {
                _ = rarely.fold(event, at: instant)
                _ = often.fold(event, at: instant)
            }
            rarely.advance(to: instant)
            often.advance(to: instant)
            #expect(rarely.takeDecisions() == often.takeDecisions())
        }
    }

    /// What arrives at D itself is in time (F1), however many turns a millisecond has.
    @Test(arguments: Effort.seeds(40))
    func `turns within one instant decide what one turn would have`(seed: Int) {
        var stream = EventStream(seed: UInt64(seed) + 2000)
        var turns = Engine()
        var stamped: [(event: Event, at: RunningTime)] = []
        var decided: [Decision] = []
        var now: Int64 = 1_795_230_000_000
        for _ in 0..<600 {
            now += stream.next(3) > 0 ? 0 : Int64(1 + stream.next(9000))
            guard let event = stream.event(at: now + turns.clock.wallOffset.count) else { continue }
            let instant = max(RunningTime(milliseconds: now), turns.openInstant)
            now = instant.milliseconds
            stamped.append((event, instant))
            _ = turns.fold(event, at: instant)
            turns.advance(to: instant)
            decided += turns.takeDecisions().map(\.decision)
        }
        var whole = Engine()
        for (place, (event, instant)) in stamped.enumerated() {
            _ = whole.fold(event, at: instant)
            if place + 1 == stamped.count || stamped[place + 1].at > instant {
                whole.advance(to: instant)
            }
        }
        #expect(whole.takeDecisions().map(\.decision) == decided)
        let together = zip(stamped, stamped.dropFirst()).count { $0.at == $1.at }
        #expect(together > 100)
    }

    /// Of two engines that saw the same but for that: one part more, and it is read again.
    @Test func `S16: reigns are in a checkpoint only where there were some`() throws {
        var stream = EventStream(seed: 11)
        var alone = Engine()
        let begin: Int64 = 1_795_230_000_000
        for turn in 0..<100 {
            if let event = stream.event(at: begin + Int64(turn) * 1000) {
                _ = alone.fold(event, at: RunningTime(milliseconds: begin + Int64(turn) * 1000))
            }
        }
        var cluster = alone
        let now = RunningTime(milliseconds: begin + 200_000)
        _ = alone.fold(.start(), at: now)
        let reign = Reign(number: 7, member: Array("b".utf8), unobserved: Milliseconds(101_000))
        _ = cluster.fold(.reign(reign), at: now)
        cluster.advance(to: now)
        alone.advance(to: now)
        let (without, with) = (Checkpoint(alone).slice(0), Checkpoint(cluster).slice(0))
        #expect(without.count < with.count)
        #expect(with.starts(with: without), "what a cluster adds stands at the end")
        var again = try copy(cluster)
        for second in 1...300 {
            let later = RunningTime(milliseconds: begin + 200_000 + Int64(second) * 1000)
            cluster.advance(to: later)
            again.advance(to: later)
        }
        cluster.decisions = []
        again.decisions = []
        #expect(bytes(cluster) == bytes(again))
    }

    @Test func `a checkpoint holds on to its turn while the engine goes on`() throws {
        var stream = EventStream(seed: 7)
        var engine = Engine()
        var now: Int64 = 1_795_230_000_000
        func run(_ turns: Int) {
            for _ in 0..<turns {
                now += 1000
                if let event = stream.event(at: now) {
                    _ = engine.fold(event, at: RunningTime(milliseconds: now))
                }
                engine.advance(to: RunningTime(milliseconds: now))
            }
        }
        run(200)
        engine.decisions = []
        let checkpoint = Checkpoint(engine)
        let before = bytes(engine)
        run(200)
        let isHeld = (0..<checkpoint.sliceCount).map { checkpoint.slice($0) } == before
        #expect(isHeld)
        let hasMoved = bytes(engine) != before
        #expect(hasMoved)
    }

    @Test func `damaged slices give no engine and no trap`() throws {
        var stream = EventStream(seed: 3)
        var engine = Engine()
        for turn in 0..<300 {
            let now = 1_795_230_000_000 + Int64(turn) * 5000
            if let event = stream.event(at: now) {
                _ = engine.fold(event, at: RunningTime(milliseconds: now))
            }
            engine.advance(to: RunningTime(milliseconds: now))
        }
        let slices = bytes(engine)
        for cut in stride(from: 0, to: slices[0].count, by: 7) {
            var reader = CheckpointReader()
            reader.take(Array(slices[0].prefix(cut)))
            let isDamaged = reader.finish() == nil
            #expect(isDamaged)
        }
        for (index, slice) in slices.enumerated() {
            for place in stride(from: 0, to: slice.count, by: 11) {
                var damaged = slices
                damaged[index][place] ^= UInt8(1 << stream.next(8))
                var reader = CheckpointReader()
                for slice in damaged { reader.take(slice) }
                _ = reader.finish()
            }
        }
    }
}
