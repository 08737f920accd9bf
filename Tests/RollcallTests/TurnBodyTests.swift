import RollcallCore
import RollcallStore
import Testing

@testable import RollcallBasis
@testable import RollcallSupport

/// S7: a turn goes through the log compressed, and comes out as it was.
@Suite struct TurnBodyTests {
    /// Like a turn's: some of it repeats, some does not.
    private static func sample(_ count: Int) -> [UInt8] {
        var random = UInt64(count) | 1
        return (0..<count).map { index in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return index % 3 == 0 ? UInt8(truncatingIfNeeded: random >> 60) : UInt8(index / 40 % 7)
        }
    }

    @Test("S7: whatever goes in comes out", arguments: [0, 1, 255, 256, 257, 5000, 300_000])
    func roundTrip(_ count: Int) throws {
        let bytes = Self.sample(count)
        let body = TurnBody.packed(bytes)
        #expect(TurnBody.unpacked(body) == bytes)
        #expect(body.count <= bytes.count + 1)
        if count >= 5000 { #expect(body.first == 1 && body.count < bytes.count / 2) }
        // Who has no zlib writes what everybody reads.
        let plain = TurnBody.packed(bytes, nil)
        #expect(plain == [0] + bytes && TurnBody.unpacked(plain) == bytes)
    }

    @Test("S7: what does not get shorter stays as it is")
    func incompressible() {
        var random = UInt64(7)
        let bytes = (0..<1000).map { _ in
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: random >> 33)
        }
        #expect(TurnBody.packed(bytes) == [0] + bytes)
    }

    @Test("S7: a body that is cut, lies about its length, or is of another kind is no turn")
    func damaged() {
        let body = TurnBody.packed(Self.sample(5000))
        for count in 0..<body.count where count != 1 || body[0] == 1 {
            #expect(TurnBody.unpacked(Array(body.prefix(count))) == nil)
        }
        for length: UInt64 in [0, 1, 4999, 5001, 1 << 40, .max] {
            var other: [UInt8] = [1]
            Varint.append(length, to: &other)
            var at = 1
            _ = Varint.read(body.span, &at, body.count)
            #expect(TurnBody.unpacked(other + body[at...]) == nil)
        }
        #expect(TurnBody.unpacked([2] + body.dropFirst()) == nil)
        #expect(TurnBody.turn(of: []) == nil && TurnBody.turn(of: [0]) == nil)
        #expect(TurnBody.turn(of: [0, 1, 2, 3]) == nil)
    }

    @Test("S7: a turn comes out of its body as it went in")
    func turn() throws {
        var engine = Engine()
        var pending = PendingTurn()
        let now = RunningTime(milliseconds: 1_000_000)
        for source in 0..<40 {
            let name = Array("backend-\(source)".utf8)
            _ = pending.fold(.heartbeat(source: name, every: .seconds(30)), into: &engine, at: now)
        }
        engine.advance(to: now)
        pending.take(from: &engine)
        pending.close(number: 1, engine)
        let body = TurnBody.bytes(of: pending)
        #expect(body.first == 1 && body.count < pending.logBytes.count)
        #expect(try #require(TurnBody.turn(of: body)).logBytes == pending.logBytes)
    }
}
