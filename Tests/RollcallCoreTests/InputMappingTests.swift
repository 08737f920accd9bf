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
        "/latitudeE7", "/longitudeE7", "/latE7", "/lat_e7", "/lat_deg", "/latDeg", "/latitude_deg",
        "/latlong", "/lat1", "/latitude2", "/geopoint", "/geojson", "/coords_1", "/latitud", "/ｌａｔ",
        "/la%74", "/gps/0", "/coords/[type=latitude]/v", "/[name=lat]/value",
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
        #expect(try !InputPointer("/late7/deg").isPlace && !InputPointer("/plate1").isPlace)
        var description = try ours()
        for identity in [
            InputDescription.Identity.query("lat"), .header("X-Longitude"), .header(""),
            // Secrets are no ids.
            .header("Authorization"), .header("cookie"), .query("token"),
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

    @Test func `M1 a pointer through the entry of a list, however that is written`() throws {
        var description = try ours()
        description.facts = [.init(.appVersion, [try place("/list/[k=v]/x")])]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"t":1,"list":[{"other":"v","x":"1"},"#
                + #"{"\u006b":"\u0076","x":"2"},7]}]}"#)
        #expect(reading.lines.first?.contains(#""app_version":"2""#) == true)
        #expect(reading.notes == [])
    }

    @Test func `M1 names that a word cannot hold are told apart`() throws {
        var description = try ours()
        description.facts = [
            .init(.appVersion, [try place("/version_of_the_app_that_runs")]),
            .init(.osVersion, [try place("/version_of_the_system_below")]),
        ]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"t":1,"version_of_the_app_before_it":"0","#
                + #""version_of_the_app_that_runs":"1","version_of_the_system_below":"2"}]}"#)
        #expect(
            reading.lines.first?.contains(#""app_version":"1","os_version":"2""#) == true,
            "\(reading.lines)")
        #expect(reading.notes == [])
    }

    @Test func `M1 64 pointers, and a scale up to 1000`() throws {
        var description = try ours()
        let facts = description.facts
        let slots = 4
        for (more, isTaken) in [(64 - slots, true), (65 - slots, false)] {
            let places = try (0..<more).map { try place("/p\($0)") }
            description.facts = facts + [.init(.appVersion, places)]
            #expect(((try? InputMapping(description)) != nil) == isTaken, "\(more)")
        }
        for (scale, isTaken) in [(1000, true), (1000.5, false), (-1, false)] {
            description.facts = [.init(.batteryLevel, [try place("/b")], scale: scale)]
            #expect(((try? InputMapping(description)) != nil) == isTaken, "\(scale)")
        }
        description = try ours()
        for identity in [
            InputDescription.Identity.header("X Device"), .query("a\u{7F}"),
            .place(try place("", isOfRoot: true)),
        ] {
            description.ids = [identity]
            #expect(throws: InputFault.self) { try InputMapping(description) }
        }
    }

    // MARK: - What is one batch

    @Test func `M1 neighbours have the facts of the one captured last`() throws {
        var description = try ours()
        description.rules = [.init(try place("/kind"), [("ping", .contact)])]
        func battery(_ points: String) throws -> String? {
            let reading = try read(description, #"{"device_id":"a","points":[\#(points)]}"#)
            #expect(reading.lines.count == 1)
            return reading.lines.first?.split(separator: ",").first {
                $0.hasPrefix(#""battery_level""#)
            }.map(String.init)
        }
        #expect(
            try battery(#"{"t":1795230000,"batt":50},{"t":1795230000,"batt":49}"#)
                == #""battery_level":0.49"#, "at one instant: the one told last")
        // One without a time is as new as what stands before it, and lets nothing older pass.
        #expect(
            try battery(
                #"{"t":1795230000,"batt":50},{"kind":"ping","batt":49},{"t":1795229000,"batt":48}"#)
                == #""battery_level":0.49"#)
    }

    @Test func `M1 a batch stands where its first item does`() throws {
        var description = try ours()
        description.ids = [.place(try place("/who"))]
        let reading = try read(
            description,
            #"{"points":[{"who":"a","t":1},{"who":"a","t":2},{"who":"b","t":3},{"who":"a","t":4}]}"#
        )
        #expect(reading.scan.places == [0, 2, 3])
        let empty = try read(description, #"{"points":[]}"#)
        #expect(empty.lines == [] && empty.notes == [] && empty.skipped == 0)
    }

    @Test func `M1 M3 who is not to be enrolled is marked, and so is who is only told of`() throws {
        var description = try ours()
        for enrols in [true, false] {
            let reading = try read(description, #"{"device_id":"a","points":[{"t":1}]}"#) {
                $0.enrols = enrols
            }
            #expect(reading.scan.items.item(0)?.isKnownOnly == !enrols)
        }
        description.rules = [.init(try place("/kind"), [("will", .fact)])]
        let told = try read(description, #"{"device_id":"a","points":[{"kind":"will"}]}"#)
        #expect(told.scan.items.item(0)?.isKnownOnly == true)
    }

    @Test func `M1 what stands behind the items is known with them`() throws {
        var description = try ours()
        description.ids = [.place(try place("/who"))]
        let points = #"{"points":[{"who":"a","t":1},{"who":"b","t":2}],"#
        var told = description
        told.facts = [.init(.appVersion, [try place("/v", isOfRoot: true)])]
        var lines = try read(told, points + #""v":"1.0"}"#).lines
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""app_version":"1.0""#) })
        told = description
        told.isForwarded = true
        told.sent = [try place("/s", isOfRoot: true)]
        lines = try read(told, points + #""s":1795230003}"#).lines
        #expect(
            lines.count == 2 && lines.allSatisfy { $0.contains(#""received_at":1795230003000"#) })
        told = description
        told.rules = [.init(try place("/kind", isOfRoot: true), [("ping", .skip)])]
        #expect(try read(told, points + #""kind":"ping"}"#).skipped == 2)
        #expect(try read(told, #"{"points":7,"kind":"ping"}"#).notes == ["/points malformed"])
    }

    @Test func `M8 a batch of several was heard when the last of them was made`() throws {
        var description = try ours()
        description.isForwarded = true
        description.sent = [try place("/s")]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"t":1795230000,"s":1795230003},"#
                + #"{"t":1795230001,"s":1795230002}]}"#)
        #expect(reading.lines.first?.contains(#""received_at":1795230003000,"#) == true)
        #expect(reading.scan.receivedAt?.milliseconds == 1_795_230_003_000)
    }

    @Test(arguments: [InputDescription.Treatment.contact, .fact])
    func `M8 of what may be old each item is skipped`(treatment: InputDescription.Treatment) throws
    {
        var description = try ours()
        description.isForwarded = true
        description.rules = [.init(try place("/kind"), [("ping", treatment)])]
        let body = #"{"device_id":"a","points":[{"kind":"ping"},{"kind":"ping"}]}"#
        let reading = try read(description, body) { $0.isFresh = false }
        #expect(reading.lines == [] && reading.notes == [] && reading.skipped == 2)
    }

    // MARK: - Values

    @Test func `M1 null and an empty text are no value: the next place is asked`() throws {
        var description = try ours()
        description.capture = .at([try place("/t"), try place("/u")], .seconds)
        description.facts.append(.init(.appVersion, [try place("/v"), try place("/w")]))
        for none in ["null", #""""#] {
            let reading = try read(
                description,
                #"{"device_id":"a","points":[{"t":\#(none),"u":1795230000,"batt":\#(none),"#
                    + #""conn":\#(none),"v":\#(none),"w":"2"}]}"#)
            #expect(
                reading.lines == [
                    #"{"responder_id":"a","received_at":1795230005000,"app_version":"2","#
                        + #""updates":[{"captured_at":1795230000000}]}"#
                ])
            #expect(reading.notes == [])
        }
        description.ids = [.query("u"), .header("X-Device")]
        let reading = try read(description, #"{"points":[]}"#) {
            $0.query = [("u", "")]
            $0.headers = [("X-Device", "h")]
        }
        #expect(reading.lines.first?.contains(#""responder_id":"h""#) == true)
    }

    @Test(
        arguments: [
            (#""2026-11-21T05:00:00+0200""#, InputDescription.Unit.auto, 1_795_230_000_000),
            (#""2026-11-21T03:00:00""#, .auto, nil),
            (#""2026-11-21T03:00:00""#, .osmand, 1_795_230_000_000),
            ("1795230000000", .milliseconds, 1_795_230_000_000),
            ("100000000000000", .milliseconds, nil), ("1795230000.125", .auto, 1_795_230_000_125),
        ] as [(String, InputDescription.Unit, Int64?)])
    func `M1 P1 a time by its unit, or with the offset that formatters write`(
        text: String, unit: InputDescription.Unit, milliseconds: Int64?
    ) throws {
        var description = try ours()
        description.capture = .at([try place("/t")], unit)
        let reading = try read(description, #"{"device_id":"a","points":[{"t":\#(text)}]}"#)
        let updates = milliseconds.map { #""updates":[{"captured_at":\#($0)}]"# }
        #expect(reading.lines.first?.contains(updates ?? "received_at") == true)
        #expect(reading.lines.first?.contains("updates") == (updates != nil))
        #expect(reading.notes == (updates == nil ? ["/points/0/t malformed"] : []))
    }

    @Test func `P1 the forms of times are counted`() throws {
        var description = try ours()
        description.capture = .at([try place("/t")], .auto)
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"t":"2026-11-21T03:00:00Z"},{"t":1},{"t":2},"#
                + #"{"t":1795230000000},{"t":1795230000001},{"t":1795230000002}]}"#)
        let counts = TimeForm.allCases.map { reading.scan.timesRead[Int($0.rawValue)] }
        #expect(counts == [1, 2, 3])
    }

    @Test(arguments: [
        (#""batt":0"#, #""battery_level":0,"#), (#""batt":"0.0""#, #""battery_level":0,"#),
        (#""batt":49.996"#, #""battery_level":0.5,"#), (#""batt":100"#, #""battery_level":1,"#),
        (#""q":0"#, #""queue_depth":0}"#), (#""q":"3""#, #""queue_depth":6}"#),
        (#""q":1e12"#, #""queue_depth":4294967294}"#), (#""v":12"#, #""app_version":"12","#),
        (#""power":"low_power""#, #""power_mode":"low_power""#),
        (#""conn":"\u0077""#, #""network_type":"wifi""#),
    ])
    func `M1 I9 a fact is what a native batch would write`(member: String, fact: String) throws {
        var description = try ours()
        description.facts += [
            .init(.queueDepth, [try place("/q")], scale: 2),
            .init(.appVersion, [try place("/v")]), .init(.powerMode, [try place("/power")]),
        ]
        let reading = try read(
            description, #"{"device_id":"a","points":[{"t":1795230000,\#(member)}]}"#)
        #expect(reading.lines.first?.contains(fact) == true, "\(reading.lines)")
        #expect(reading.notes == [])
    }

    @Test(arguments: [
        (#""conn":"wide""#, #""network_type":"other""#), (#""os":"tizen""#, #""platform":"other""#),
        (#""power":"turbo""#, #""power_mode":"other""#),
    ])
    func `M2 I9 a word that nobody knows is noted, and is other`(member: String, fact: String)
        throws
    {
        var description = try ours()
        description.facts += [
            .init(.platform, [try place("/os")]), .init(.powerMode, [try place("/power")]),
            .init(.dutyState, [try place("/duty")]),
        ]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"t":1795230000,\#(member),"duty":"ON"}]}"#)
        #expect(reading.lines.first?.contains(fact) == true, "\(reading.lines)")
        #expect(reading.lines.first?.contains("duty") == false)
        #expect(reading.notes.count == 2 && reading.scan.problemCount(.unknownValue) == 2)
    }

    @Test func `M1 platform and duty of the input win over the body's`() throws {
        var description = try ours()
        description.facts = [
            .init(.platform, [try place("/os")]), .init(.dutyState, [try place("/duty")]),
        ]
        let body = #"{"device_id":"a","points":[{"t":1,"os":"android","duty":"ON_DUTY"}]}"#
        let own = try read(description, body).lines.first
        #expect(own?.contains(#""platform":"android""#) == true)
        #expect(own?.contains(#""duty_state":"ON_DUTY""#) == true)
        let fixed = try read(description, body) {
            $0.fixed.platform = .ios
            $0.fixed.duty = .onMission
        }.lines.first
        #expect(fixed?.contains(#""platform":"ios""#) == true)
        #expect(fixed?.contains(#""duty_state":"ON_MISSION""#) == true)
        #expect(fixed?.contains("android") == false && fixed?.contains("ON_DUTY") == false)
    }

    @Test func `M1 rules compare texts however they are written`() throws {
        var description = try ours()
        description.rules = [.init(try place("/kind"), [("ping", .skip)])]
        let reading = try read(
            description,
            #"{"device_id":"a","points":[{"kind":"p\u0069ng"},{"kind":"pings","t":1795230000}]}"#)
        #expect(reading.skipped == 1 && reading.lines.count == 1)
        #expect(reading.lines.first?.contains("updates") == true)
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

    @Test func `M2 a text of a fact has 128 bytes, is UTF-8 and no place`() throws {
        var description = try ours()
        description.facts = [.init(.appVersion, [try place("/v")])]
        for (text, notes) in [
            (String(repeating: "v", count: 128), []),
            (String(repeating: "v", count: 129), ["/points/0/v out_of_range"]),
            ("52.5200, 13.4050", ["/points/0/v coordinate"]),
        ] {
            let reading = try read(
                description, #"{"device_id":"a","points":[{"t":1795230000,"v":"\#(text)"}]}"#)
            #expect(reading.notes == notes && reading.lines.count == 1)
        }
        description.ids = [.path]
        let reading = try read(description, #"{"points":[]}"#) { $0.path = [0x61, 0xFF] }
        #expect(reading.lines == [] && reading.notes == ["path out_of_range"])
    }

    @Test func `M2 a problem is named by a JSON pointer (RFC 6901)`() throws {
        var description = try ours()
        description.facts = [.init(.batteryLevel, [try place("/a~1b~0c")])]
        let reading = try read(
            description, #"{"device_id":"a","points":[{"t":1795230000,"a/b~c":true}]}"#)
        #expect(reading.notes == ["/points/0/a~1b~0c malformed"])
    }

    @Test func `M4 rejections are counted all and listed up to a number`() throws {
        var description = try ours()
        description.ids = [.place(try place("/who"))]
        let count = ItemScanner.notesMax + 3
        let items = Array(repeating: #"{"t":1}"#, count: count).joined(separator: ",")
        let reading = try read(description, #"{"points":[\#(items)]}"#)
        #expect(reading.scan.rejectedCount == count)
        #expect(reading.scan.rejected.count == ItemScanner.notesMax)
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

    @Test func `M2 of a body that brings no update a bounded number of items is read`() throws {
        var listed = InputDescription()
        listed.ids = [.place(try place("/who"))]
        listed.capture = .at([try place("/t")], .seconds)
        func read(_ body: String, _ description: InputDescription) throws -> InputReading {
            try InputReader.read(
                Array(body.utf8).span, InputRequest(arrival: InputBodies.arrival),
                by: InputMapping(description), limits: ScanLimits(itemsMax: 3))
        }
        for item in ["{}", "7", #"{"who":"a"}"#] {
            let few = "[\(Array(repeating: item, count: 4).joined(separator: ","))]"
            _ = try read(few, listed)
            let many = "[\(Array(repeating: item, count: 5).joined(separator: ","))]"
            #expect(throws: ScanError.tooManyItems(limit: 3)) { try read(many, listed) }
        }
        // Updates are worth their reading.
        let updates = (0..<50).map { #"{"t":\#(1_795_230_000 + $0)}"# }.joined(separator: ",")
        let reading = try read(#"{"device_id":"a","points":[\#(updates)]}"#, ours())
        #expect(reading.lines.count == 1 && reading.notes == [])
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
