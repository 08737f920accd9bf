import RollcallCore
import Testing

/// Mappings: what they may name, and what happens to bodies that are not what they should be.
/// Source: M1, M2, M4.
@Suite struct InputMappingTests {
    private typealias Place = InputDescription.Place

    private func place(_ text: String, isOfRoot: Bool = false) throws -> Place {
        Place(try InputPointer(text), isOfRoot: isOfRoot)
    }

    private func read(
        _ description: InputDescription, _ body: String,
        _ change: (inout InputRequest) -> Void = { _ in }
    ) throws -> InputReading {
        var request = InputRequest(arrival: InputBodies.arrival)
        change(&request)
        return try InputReader.read(
            Array(body.utf8).span, request, by: InputMapping(description))
    }

    /// The example of the contract.
    private func ours() throws -> InputDescription {
        var ours = InputDescription()
        ours.ids = [
            .place(try place("/device_id", isOfRoot: true)), .user, .header("X-Device"),
        ]
        ours.items = [try InputPointer("/points")]
        ours.capture = .at([try place("/t")], .seconds)
        ours.facts = [
            .init(.batteryLevel, [try place("/batt")], scale: 0.01),
            .init(
                .networkType, [try place("/conn")],
                values: [("w", "wifi"), ("m", "cellular"), ("o", "none")]),
        ]
        return ours
    }

    // MARK: - What may be named

    @Test(arguments: [
        "/lat", "/position/longitude", "/location", "/coords", "/a/Latitude", "/a/gps_lat/speed",
        "/gps", "/device_latitude", "/geometry/coordinates", "/data/[unique_id=geo]", "/GeoHash",
    ])
    func `M2 a pointer whose last part is a coordinate's name is refused`(text: String) throws {
        let pointer = try InputPointer(text)
        #expect(pointer.isPlace)
        var description = try ours()
        description.facts.append(.init(.appVersion, [Place(pointer)]))
        #expect(throws: InputFault.self) { try InputMapping(description) }
        description = try ours()
        description.ids = [.place(Place(pointer, isOfRoot: true))]
        #expect(throws: InputFault.self) { try InputMapping(description) }
    }

    @Test func `M2 pointers through a place, and names of a query and of a header`() throws {
        #expect(try !InputPointer("/location/timestamp").isPlace)
        #expect(try !InputPointer("/location/battery/level").isPlace)
        var description = try ours()
        for identity in [
            InputDescription.Identity.query("lat"), .header("X-Longitude"), .header(""),
        ] {
            description.ids = [identity]
            #expect(throws: InputFault.self) { try InputMapping(description) }
        }
    }

    @Test(arguments: [
        "a", "a/b", "/~", "/a~2b", "/[=x]", "/[x]", String(repeating: "/a", count: 13),
    ])
    func `M1 what is no pointer is refused`(text: String) {
        #expect(throws: InputFault.self) { try InputPointer(text) }
    }

    @Test func `M1 values and scales only where they mean something`() throws {
        let here = [try place("/x")]
        for fact: InputDescription.Fact in [
            .init(.batteryLevel, here, values: [("a", "b")]), .init(.appVersion, here, scale: 2),
            .init(.networkType, here, values: [("x", "wire")]),
            .init(.batteryLevel, here, scale: 0),
            .init(.batteryLevel, here, scale: .infinity),
        ] {
            var description = try ours()
            description.facts = [fact]
            #expect(throws: InputFault.self) { try InputMapping(description) }
        }
    }

    // MARK: - Where things stand

    @Test func `M1 the example of the contract, with the id behind the items`() throws {
        let reading = try read(
            ours(),
            #"{"points":[{"t":1795230000,"batt":50,"conn":"o","lat":1},{"t":1795230001.5,"#
                + #""batt":"49","conn":"m"}],"device_id":41}"#)
        #expect(
            reading.lines == [
                #"{"responder_id":"41","received_at":1795230005000,"battery_level":0.49,"#
                    + #""telemetry":{"network_type":"cellular"},"#
                    + #""updates":[{"captured_at":1795230000000},{"captured_at":1795230001500}]}"#
            ])
        #expect(reading.notes == [])
    }

    @Test func `M1 the first source of an id that is there`() throws {
        func id(_ body: String, _ change: (inout InputRequest) -> Void = { _ in }) throws -> String
        {
            try read(ours(), body, change).lines.first ?? "none"
        }
        let empty = #"{"points":[]}"#
        #expect(try id(empty) { $0.user = Array("u".utf8) }.contains(#""u""#))
        #expect(
            try id(empty) {
                $0.user = []
                $0.headers = [("x-device", "h")]
            }.contains(#""h""#))
        #expect(
            try id(#"{"points":[],"device_id":"d"}"#) { $0.user = Array("u".utf8) }
                .contains(#""d""#))
        let none = try read(ours(), empty)
        #expect(none.lines == [] && none.notes == [" missing"])
        #expect(none.scan.rejected.first?.detail.contains("/device_id, the user of Basic") == true)
    }

    @Test func `M1 root and item override where a value stands`() throws {
        var description = try ours()
        description.capture = .at([try place("/t", isOfRoot: true)], .auto)
        description.ids = [.place(try place("/who"))]
        description.facts = [.init(.appVersion, [try place("/v", isOfRoot: true)])]
        let reading = try read(
            description, #"{"points":[{"who":"a"},{"who":"b"}],"t":1795230000,"v":"1.0"}"#)
        let rest =
            #""received_at":1795230005000,"app_version":"1.0","#
            + #""updates":[{"captured_at":1795230000000}]}"#
        #expect(
            reading.lines == [
                #"{"responder_id":"a",\#(rest)"#, #"{"responder_id":"b",\#(rest)"#,
            ])
    }

    @Test func `M1 a sequence is a native update`() throws {
        var description = try ours()
        description.sequence = try place("/n")
        let reading = try read(
            description, #"{"device_id":"a","points":[{"t":1795230000,"n":7},{"t":1,"n":-1}]}"#)
        #expect(
            reading.lines == [
                #"{"responder_id":"a","received_at":1795230005000,"#
                    + #""updates":[{"sequence":7,"captured_at":1795230000000}]}"#
            ])
        #expect(reading.notes == ["/points/1/n malformed"])
    }

    @Test func `M1 facts that hold for all win, and stand once`() throws {
        var description = try ours()
        description.facts.append(.init(.region, [try place("/region")]))
        let reading = try read(
            description, #"{"device_id":"a","points":[{"t":1795230000,"region":"south"}]}"#
        ) {
            $0.fixed.region = Array("north".utf8)
            $0.fixed.duty = .onMission
        }
        #expect(
            reading.lines == [
                #"{"responder_id":"a","received_at":1795230005000,"region":"north","#
                    + #""duty_state":"ON_MISSION","updates":[{"captured_at":1795230000000}]}"#
            ])
    }

    @Test func `M1 what is to be skipped`() throws {
        var description = try ours()
        description.rules = [.init(try place("/kind"), [("ping", .skip), ("true", .skip)])]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"kind":"ping","t":1},{"kind":true},{"t":1795230000}]}"#)
        #expect(reading.skipped == 2 && reading.lines.count == 1 && reading.notes == [])
    }

    @Test func `M3 only the person whose key it came with`() throws {
        let body = #"{"device_id":"a","points":[{"t":1795230000}]}"#
        let own = try read(ours(), body) { $0.only = Array("a".utf8) }
        #expect(own.lines.count == 1 && !own.isForeign)
        let foreign = try read(ours(), body) { $0.only = Array("b".utf8) }
        #expect(foreign.lines == [] && foreign.isForeign)
    }

    // MARK: - Problems

    @Test(arguments: [
        (#""t":{}"#, "/points/0/t malformed"), (#""t":[1]"#, "/points/0/t malformed"),
        (#""t":true"#, "/points/0/t malformed"), (#""t":"soon""#, "/points/0/t malformed"),
        (#""t":1795230000000"#, "/points/0/t malformed"), (#""t":-1"#, "/points/0/t malformed"),
        (#""t":1,"t":2"#, "/points/0/t duplicate_key"), (#""x":1"#, "/points/0/t missing"),
        (#""t":1795230000,"batt":{"lat":52.5}"#, "/points/0/batt malformed"),
        (#""t":1795230000,"batt":"0x10""#, "/points/0/batt malformed"),
        (#""t":1795230000,"batt":"nan""#, "/points/0/batt malformed"),
        (#""t":1795230000,"batt":101"#, "/points/0/batt out_of_range"),
        (#""t":1795230000,"batt":1e999"#, "/points/0/batt malformed"),
        (#""t":1795230000,"conn":"w\u0069fi""#, "/points/0/conn unknown_value"),
        (#""t":1795230000,"conn":["w"]"#, "/points/0/conn malformed"),
    ])
    func `M2 what cannot be taken is named by its pointer, and the phone was heard`(
        members: String, note: String
    ) throws {
        let reading = try read(ours(), #"{"device_id":"a","points":[{\#(members)}]}"#)
        #expect(reading.notes == [note])
        #expect(reading.lines.count == 1)
        #expect(reading.lines.first?.contains("52.5") == false)
    }

    @Test(arguments: [
        (#"{"device_id":{"lat":1},"points":[{"t":1}]}"#, "/device_id malformed"),
        (#"{"device_id":true,"points":[{"t":1}]}"#, "/device_id malformed"),
        (#"{"device_id":1.5,"points":[{"t":1}]}"#, "/device_id malformed"),
        (#"{"device_id":"52.5200, 13.4050","points":[{"t":1}]}"#, "/device_id coordinate"),
        (#"{"device_id":"a","device_id":"b","points":[{"t":1}]}"#, "/device_id malformed"),
        (#"{"points":[{"t":1}]}"#, " missing"), ("7", "/points missing"), ("[]", "/points missing"),
        (#"{"device_id":"a"}"#, "/points missing"),
        (#"{"device_id":"a","points":7}"#, "/points malformed"),
        (#"{"device_id":"a","points":[7]}"#, "/points/0 malformed"),
    ])
    func `M2 a body of which nothing can be taken`(body: String, note: String) throws {
        let reading = try read(ours(), body)
        #expect(reading.lines == [] && reading.notes == [note])
    }

    @Test func `M2 an id of more than 128 bytes or with a control character is refused`() throws {
        for id in [String(repeating: "a", count: 129), "a\\n", "\\u0000"] {
            let reading = try read(ours(), #"{"device_id":"\#(id)","points":[{"t":1}]}"#)
            #expect(reading.lines == [] && reading.notes == ["/device_id out_of_range"])
        }
    }

    @Test func `M4 more items than a body may hold are counted, and the first are taken`() throws {
        var description = try ours()
        description.ids = [.place(try place("/who"))]
        let items = (0..<8).map { #"{"who":"\#($0)","t":1795230000}"# }.joined(separator: ",")
        let reading = try InputReader.read(
            Array(#"{"points":[\#(items)]}"#.utf8).span, InputRequest(arrival: InputBodies.arrival),
            by: InputMapping(description), limits: ScanLimits(itemsMax: 3))
        #expect(reading.lines.count == 3 && reading.scan.problemCount(.outOfRange) == 5)
    }

    // MARK: - Hostile bodies

    @Test func `M2 a preset's body cut anywhere is no JSON or less of the same, and never a place`()
        throws
    {
        for (preset, body) in InputBodies.all {
            let bytes = Array(body.utf8)
            for end in 0..<bytes.count {
                let isForm = body.first != "{"
                guard
                    let reading = try? InputBodies.read(
                        preset, Array(bytes[..<end]), isForm: isForm)
                else { continue }
                try expectSound(reading)
            }
        }
    }

    @Test func `M2 whatever stands in the place of a value, nothing of it is kept but the named`()
        throws
    {
        var seeded = Seeded(seed: 25)
        let replacements = [
            "{}", "[]", "null", "true", "-1", "1e400", #""52.520006,13.404954""#,
            #"{"lat":52.520006,"lng":13.404954}"#, "[52.520006,13.404954]", #""\ud83d\ude00""#, "x",
            #""a","a":1"#, String(repeating: "[", count: 80),
            #"{"a":{"lat":[52.520006,13.404954]}}"#, "\u{1}",
        ]
        for (preset, body) in InputBodies.all {
            let bytes = Array(body.utf8)
            for _ in 0..<400 {
                var mutated = bytes
                let start = Int(seeded.next() % UInt64(bytes.count))
                let end = min(bytes.count, start + Int(seeded.next() % 12))
                let with = replacements[Int(seeded.next() % UInt64(replacements.count))]
                mutated.replaceSubrange(start..<end, with: Array(with.utf8))
                let isForm = body.first != "{"
                guard let reading = try? InputBodies.read(preset, mutated, isForm: isForm) else {
                    continue
                }
                try expectSound(reading)
            }
        }
    }

    /// What must hold whatever comes.
    private func expectSound(_ reading: InputReading) throws {
        for index in 0..<reading.scan.items.count {
            let item = try #require(reading.scan.items.item(index))
            #expect((1...128).contains(item.responderID.indices.count))
        }
        for line in reading.lines {
            #expect(!line.contains("520006") && !line.contains("404954"), "\(line)")
        }
        for note in reading.scan.rejected + reading.scan.problems {
            #expect(!"\(note)".contains("520006"), "\(note)")
        }
    }
}
