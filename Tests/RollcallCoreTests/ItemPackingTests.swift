import Testing

@testable import RollcallCore

/// Items in fewer bytes come back as they were, byte by byte (J12).
@Suite struct ItemPackingTests {
    private static func items(_ kind: ItemKind, _ body: String) throws -> [[UInt8]] {
        let list = try ItemScanner.scan(Array(body.utf8).span, kind: kind).items
        return (0..<list.count).map { Array(list.bytes[list.range(of: $0)]) }
    }

    /// Packs bodies, each of the person it is given with, and returns what comes back.
    private static func round(_ bodies: [(person: Int, body: [UInt8])]) -> (
        packed: [UInt8], again: [[UInt8]?]
    ) {
        var packing = ItemPacking()
        var packed: [UInt8] = []
        var isPacked: [Bool] = []
        var last = -1
        for (person, body) in bodies {
            if person != last { packing.beginPerson() }
            last = person
            isPacked.append(packing.append(body, to: &packed))
        }
        var unpacking = ItemPacking()
        var at = 0
        last = -1
        let again = packed.withUnsafeBufferPointer { buffer in
            zip(bodies, isPacked).map { given, isPacked -> [UInt8]? in
                if given.person != last { unpacking.beginPerson() }
                last = given.person
                guard isPacked else { return given.body }
                var body: [UInt8] = []
                guard unpacking.read(buffer.span, &at, packed.count, to: &body) else { return nil }
                return body
            }
        }
        return (packed, at == packed.count ? again : [])
    }

    @Test func `J12: a report a minute takes some bytes`() throws {
        var bodies: [(person: Int, body: [UInt8])] = []
        for minute in 0..<60 {
            let at = 1_795_230_000_000 + Int64(minute) * 60_000 + Int64(minute * 37 % 400)
            let body = """
                {"responder_id":"a1b2c3d4e5f6","received_at":\(at + 800),"battery_level":0.8,
                "telemetry":{"permission_status":"granted","queue_depth":0},
                "updates":[{"sequence":\(minute + 1),"captured_at":\(at)}]}
                """
            bodies += try Self.items(.batch, body).map { (1, $0) }
        }
        let plain = bodies.map(\.body.count).reduce(0, +)
        let (packed, again) = Self.round(bodies)
        #expect(again == bodies.map(\.body))
        // The form, the times and the number of the updates are told; nothing else is.
        #expect(packed.count < plain / 5)
        #expect(packed.count < 60 * 8 + 60)
    }

    @Test func `J12: whatever can be written comes back as it was`() throws {
        let bodies = try [
            Self.items(
                .batch,
                """
                [{"responder_id":"a"},{"responder_id":"b","updates":[]},
                {"responder_id":"b","updates":[{"captured_at":1795230000000},
                {"captured_at":1795230001000},{"sequence":9,"captured_at":1795230000001},
                {"sequence":3}]},
                {"responder_id":"a","region":"north","circles":["x","y"],"os_version":"17.1"},
                {"responder_id":"a","region":"south","circles":["x"],"next_expected_in":"15m"},
                {"responder_id":"a","region":"","telemetry":{"queue_depth":400}}]
                """),
            Self.items(
                .transition,
                """
                [{"responder_id":"a","from":"ONLINE","to":"OFFLINE","at":1795230000000,"id":"t1"},
                {"responder_id":"a","from":"OFFLINE","to":"ONLINE","at":1795230009000,"id":"t2"}]
                """),
            Self.items(
                .responder,
                """
                [{"responder_id":"a","push_token":"ExponentPushToken[abc]","sharing":"paused",
                "paused_until":1795240000000},{"responder_id":"c","duty_state":"OFF_DUTY"}]
                """),
            [ItemList.nobody(isEnrolment: true), ItemList.nobody(isEnrolment: false)],
        ].joined()
        let numbered = bodies.enumerated().map { (person: $0.offset / 3, body: $0.element) }
        let (_, again) = Self.round(numbered + numbered)
        #expect(again == numbered.map(\.body) + numbered.map(\.body))
    }

    @Test func `J12: bytes that no item has are not packed, and nothing is left of them`() throws {
        let item = try Self.items(.batch, #"{"responder_id":"a","received_at":1795230000000}"#)[0]
        var strange: [[UInt8]] = [[], [0], [200, 1], [ItemKind.batch.rawValue, 99]]
        // A number with a byte too many, a field twice, a text that is longer than what is there.
        strange.append([1, ItemTag.battery.rawValue, 0x85, 0])
        strange.append([1, ItemTag.battery.rawValue, 5, ItemTag.battery.rawValue, 5])
        strange.append([1, ItemTag.region.rawValue, 5, 65])
        strange.append([1, ItemTag.updates.rawValue, 2, 1, 2])
        strange.append([1, ItemTag.reportedAt.rawValue] + [UInt8](repeating: 0xFF, count: 9) + [1])
        for bytes in strange {
            var packing = ItemPacking()
            var output: [UInt8] = [7]
            #expect(!packing.append(bytes, to: &output))
            #expect(output == [7])
        }
        let all = strange.map { (person: 1, body: $0) } + [(person: 1, body: item)]
        #expect(Self.round(all).again == all.map(\.body))
    }

    @Test func `J12: damaged bytes are refused, or read as other ones, and never beyond the end`()
        throws
    {
        var dice = Seeded(seed: 7)
        let bodies = try Self.items(
            .batch,
            """
            [{"responder_id":"a","region":"n","updates":[{"sequence":1,"captured_at":1795230000000}]},
            {"responder_id":"b","region":"s","telemetry":{"queue_depth":3}}]
            """)
        let (packed, _) = Self.round(bodies.map { (1, $0) })
        for _ in 0..<2000 {
            var damaged = packed
            let place = Int.random(in: 0..<packed.count, using: &dice)
            damaged[place] = .random(in: 0...255, using: &dice)
            damaged.removeLast(Int.random(in: 0...3, using: &dice))
            var packing = ItemPacking()
            var at = 0
            damaged.withUnsafeBufferPointer { buffer in
                for _ in 0..<2 {
                    var body: [UInt8] = []
                    guard packing.read(buffer.span, &at, damaged.count, to: &body) else { break }
                }
            }
            #expect(at <= damaged.count)
        }
    }

    @Test(arguments: [0, 1, -1, 63, -64, 64, .max, .min] as [Int64])
    func `a number with a sign comes back`(_ number: Int64) {
        var bytes: [UInt8] = []
        Varint.appendSigned(number, to: &bytes)
        var at = 0
        let again = bytes.withUnsafeBufferPointer {
            Varint.readSigned($0.span, &at, bytes.count)
        }
        #expect(again == number && at == bytes.count)
        #expect(bytes.count <= 1 || number.magnitude > 63)
    }
}
