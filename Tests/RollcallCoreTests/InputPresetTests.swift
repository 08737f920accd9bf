import Testing

@testable import RollcallCore

/// What known clients send, read. Source: M1, M2, M8.
@Suite struct InputPresetTests {
    private func lines(
        _ preset: InputPreset, _ body: String, isForm: Bool = false,
        _ change: (inout InputRequest) -> Void = { _ in }
    ) throws -> [String] {
        let reading = try InputBodies.read(preset, body, isForm: isForm, change)
        #expect(reading.notes == [])
        return reading.lines
    }

    // MARK: - OwnTracks

    @Test func `M1 a location of OwnTracks is contact, a location and facts`() throws {
        #expect(
            try lines(.owntracks, InputBodies.ownTracks) == [
                #"{"responder_id":"jane","received_at":1795230005000,"battery_level":0.87,"#
                    + #""telemetry":{"network_type":"wifi"},"#
                    + #""updates":[{"captured_at":1795230000000}]}"#
            ])
    }

    @Test func `M1 OwnTracks' id is the user of the topic, of Basic, of the header, or the tid`()
        throws
    {
        func id(_ body: String, _ change: (inout InputRequest) -> Void) throws -> String? {
            let reading = try InputBodies.read(.owntracks, body, change)
            return reading.lines.first.flatMap {
                $0.split(separator: "\"").dropFirst(3).first.map(String.init)
            }
        }
        let tid = #"{"_type":"location","tst":1795230000,"tid":"JJ"}"#
        #expect(try id(tid) { _ in } == "JJ")
        #expect(
            try id(tid) { $0.headers = [("X-LIMIT-U", "jolie"), ("x-limit-d", "p")] } == "jolie")
        #expect(try id(tid) { $0.user = Array("basic".utf8) } == "basic")
        #expect(try id(tid) { $0.topic = Array("owntracks/mia/phone".utf8) } == "mia")
        #expect(try id(InputBodies.ownTracks) { $0.headers = [("X-Limit-U", "")] } == "jane")
    }

    @Test func `M1 a status of OwnTracks is contact with a permission, and no location`() throws {
        #expect(
            try lines(.owntracks, InputBodies.ownTracksStatus) == [
                #"{"responder_id":"jane","received_at":1795230005000,"app_version":"26.1.2","#
                    + #""model":"iPhone","os_version":"26.0","telemetry":{"permission_status":"denied"}}"#
            ])
    }

    @Test func `M8 a last will is a fact and no contact, and says nothing if it is an old one`()
        throws
    {
        #expect(
            try lines(.owntracks, InputBodies.ownTracksWill)
                == [#"{"responder_id":"jane","at":1795230005000}"#])
        let old = try InputBodies.read(.owntracks, InputBodies.ownTracksWill) { $0.isFresh = false }
        #expect(old.lines == [] && old.skipped == 1)
    }

    @Test(arguments: ["cmd", "card", "request", "somewhat"])
    func `M1 what OwnTracks sends to phones is nobody's contact`(type: String) throws {
        let body = #"{"_type":"\#(type)","tst":1795230000,"tid":"JJ"}"#
        let reading = try InputBodies.read(.owntracks, body)
        #expect(reading.lines == [] && reading.notes == [] && reading.skipped == 1)
        let bare = try InputBodies.read(.owntracks, #"{"tst":1795230000,"tid":"JJ"}"#)
        #expect(bare.skipped == 1)
        #expect(try InputBodies.read(.owntracks, "").skipped == 1)
    }

    @Test(arguments: [
        "status", "waypoint", "waypoints", "steps", "beacon", "configuration", "encrypted",
    ])
    func `M1 what OwnTracks' phones send without a location is contact alone`(type: String) throws {
        let body = #"{"_type":"\#(type)","tst":1795230000,"tid":"JJ"}"#
        #expect(
            try lines(.owntracks, body)
                == [#"{"responder_id":"JJ","received_at":1795230005000}"#])
    }

    @Test(arguments: [
        (#""conn":"w""#, #""network_type":"wifi""#),
        (#""conn":"m""#, #""network_type":"cellular""#),
        (#""conn":"o""#, #""network_type":"none""#),
        (#""android":{"ps":0}"#, #""power_mode":"normal""#),
        (#""android":{"ps":1}"#, #""power_mode":"low_power""#),
    ])
    func `M1 OwnTracks' words for network and power`(member: String, fact: String) throws {
        let body = #"{"_type":"location","tst":1795230000,"tid":"JJ",\#(member)}"#
        #expect(try lines(.owntracks, body).first?.contains(fact) == true)
    }

    @Test(arguments: [
        ("denied", "denied"), ("restricted", "denied"), ("always", "granted"),
        ("when_in_use", "granted"), ("whenInUse", "granted"), ("authorizedAlways", "granted"),
        ("authorizedWhenInUse", "granted"), ("notDetermined", nil), ("not_determined", nil),
        ("kCLAuthorizationStatusAuthorizedAlways", "granted"),
        ("kCLAuthorizationStatusAuthorizedWhenInUse", "granted"),
        ("kCLAuthorizationStatusDenied", "denied"), ("kCLAuthorizationStatusRestricted", "denied"),
        ("kCLAuthorizationStatusNotDetermined", nil),
    ])
    func `M1 OwnTracks' words for a permission`(text: String, word: String?) throws {
        let line = try lines(
            .owntracks, InputBodies.ownTracksStatus.replacing(#""denied""#, with: #""\#(text)""#))
        let told = word.map { #""permission_status":"\#($0)""# }
        #expect(line.first?.contains(told ?? "responder_id") == true)
        #expect(line.first?.contains("permission_status") == (told != nil))
    }

    // MARK: - Overland

    @Test func `M1 a batch of Overland is one batch, with what its newest location says`() throws {
        #expect(
            try lines(.overland, InputBodies.overland) == [
                #"{"responder_id":"jane","received_at":1795230005000,"battery_level":0.79,"#
                    + #""updates":[{"captured_at":1795259995000},{"captured_at":1795260000000}]}"#
            ])
    }

    @Test func `M1 Overland's batch of several devices is a batch for each`() throws {
        let body = """
            {"locations": [
              {"geometry": {}, "properties": {"timestamp": 1795230000, "device_id": "a"}},
              {"geometry": {}, "properties": {"timestamp": 1795230001, "device_id": "a"}},
              {"geometry": {}, "properties": {"timestamp": 1795230002, "device_id": "",
                "unique_id": "b"}},
              {"geometry": {}, "properties": {"timestamp": 1795230003}}],
             "current": {"geometry": {}, "properties":
               {"timestamp": 1795230004, "device_id": "a", "battery_level": 0.4}}}
            """
        let reading = try InputBodies.read(.overland, body)
        let heard = #""received_at":1795230005000,"#
        #expect(
            reading.lines == [
                #"{"responder_id":"a",\#(heard)"updates":[{"captured_at":1795230000000},"#
                    + #"{"captured_at":1795230001000}]}"#,
                #"{"responder_id":"b",\#(heard)"updates":[{"captured_at":1795230002000}]}"#,
                #"{"responder_id":"a",\#(heard)"battery_level":0.4,"#
                    + #""updates":[{"captured_at":1795230004000}]}"#,
            ])
        #expect(reading.notes == ["/locations/3 missing"])
    }

    @Test func `M1 Overland's id may be a parameter of the query`() throws {
        let body = #"{"locations":[{"geometry":{},"properties":{"timestamp":1795230000}}]}"#
        let line = try lines(.overland, body) { $0.query = [("device_id", "q-1")] }.first
        #expect(line?.contains(#""responder_id":"q-1""#) == true)
    }

    // MARK: - Transistor Software

    @Test func `M1 a record of Background Geolocation`() throws {
        #expect(
            try lines(.transistorsoft, InputBodies.transistorsoft) == [
                #"{"responder_id":"41","received_at":1795230005000,"battery_level":0.79,"#
                    + #""updates":[{"captured_at":1795230000444}]}"#
            ])
    }

    @Test(arguments: ["", "\"params\":{"])
    func `P6 M1 the SDK's own parameters tell what the phone is`(within: String) throws {
        let device = """
            "device":{"manufacturer":"HUAWEI","model":"ELE-L29","version":"10","platform":"Android",
            "framework":"react-native","uuid":"ELE-L29"}
            """
        let body = """
            {"location":{"timestamp":1795230000444,"coords":{"latitude":37.4},"battery":{"level":-1}},
            "device_id":"41",\(within)\(device)\(within.isEmpty ? "" : "}")}
            """
        #expect(
            try lines(.transistorsoft, body) == [
                #"{"responder_id":"41","received_at":1795230005000,"manufacturer":"HUAWEI","#
                    + #""model":"ELE-L29","os_version":"10","platform":"android","#
                    + #""updates":[{"captured_at":1795230000444}]}"#
            ])
    }

    @Test func `P6 M1 the make of a phone is 1 to 64 bytes of text`() throws {
        func notes(_ manufacturer: String) throws -> [String] {
            let body =
                #"{"device_id":"41","manufacturer":\#(manufacturer),"locations":[{"timestamp":1}]}"#
            return try InputBodies.read(.expo, body).notes
        }
        #expect(try notes("\"\(String(repeating: "N", count: 64))\"") == [])
        #expect(
            try notes("\"\(String(repeating: "N", count: 65))\"") == ["/manufacturer out_of_range"])
        #expect(try notes("52.520008") == ["/manufacturer malformed"])
    }

    @Test func `M1 a batch of records, newest first, says what its newest one says`() throws {
        #expect(
            try lines(.transistorsoft, InputBodies.transistorsoftBatch) == [
                #"{"responder_id":"1234","received_at":1795230005000,"battery_level":0.5,"#
                    + #""telemetry":{"permission_status":"denied","location_services":true},"#
                    + #""updates":[{"captured_at":1795229990000},{"captured_at":1795229980000},"#
                    + #"{"captured_at":1795229970000}]}"#
            ])
    }

    @Test func `M1 a heartbeat is contact now with a location of then, and no battery`() throws {
        #expect(
            try lines(.transistorsoft, InputBodies.transistorsoftHeartbeat) == [
                #"{"responder_id":"41","received_at":1795230005000,"#
                    + #""updates":[{"captured_at":1795226400000}]}"#
            ])
    }

    @Test(arguments: [(0, nil), (1, "denied"), (2, "denied"), (3, "granted"), (4, "granted")])
    func `M1 the SDK's numbers for a permission`(status: Int, word: String?) throws {
        let body = """
            {"location":{"timestamp":1795230000,"coords":{},"provider":{"status":\(status)}},
            "params":{"device_id":"41"}}
            """
        let line = try #require(try lines(.transistorsoft, body).first)
        #expect(line.contains(#""responder_id":"41""#))
        let told = word.map { #""telemetry":{"permission_status":"\#($0)"}"# }
        #expect(line.contains(told ?? "responder_id"))
        #expect(line.contains("permission_status") == (told != nil))
    }

    @Test func `M1 a sample is contact and no location`() throws {
        let body =
            #"{"location":{"timestamp":1795230000,"coords":{},"sample":true},"device_id":"41"}"#
        #expect(
            try lines(.transistorsoft, body)
                == [#"{"responder_id":"41","received_at":1795230005000}"#])
    }

    @Test func `M1 httpRootProperty: another name, or none`() throws {
        var description = try #require(InputPreset.transistorsoft.descriptions.first)
        description.items = [try InputPointer("")]
        let mapping = try InputMapping(description)
        let body = Array(
            #"{"coords":{},"timestamp":1795230000,"battery":{"level":0.3},"device_id":"41"}"#.utf8)
        let reading = try InputReader.read(
            body.span, InputRequest(arrival: InputBodies.arrival), by: mapping)
        #expect(
            reading.lines == [
                #"{"responder_id":"41","received_at":1795230005000,"battery_level":0.3,"#
                    + #""updates":[{"captured_at":1795230000000}]}"#
            ])
    }

    // MARK: - Traccar

    @Test func `M1 Traccar Client, in JSON and as OsmAnd, in a query and in a form`() throws {
        #expect(
            try lines(.traccarClient, InputBodies.traccarClient) == [
                #"{"responder_id":"48241179","received_at":1795230005000,"battery_level":1,"#
                    + #""updates":[{"captured_at":1795230000862}]}"#
            ])
        let expected = [
            #"{"responder_id":"861001000719969","received_at":1795230005000,"battery_level":0.87,"#
                + #""updates":[{"captured_at":1795230000000}]}"#
        ]
        #expect(try lines(.traccarClient, InputBodies.osmAnd, isForm: true) == expected)
        let query: [(name: String, value: String)] = [
            ("id", "861001000719969"), ("lat", "41.6"), ("timestamp", "1795230000"), ("batt", "87"),
        ]
        #expect(try lines(.traccarClient, "", isForm: true) { $0.query = query } == expected)
    }

    @Test(arguments: ["1795230000", "1795230000000", "2026-11-21T03:00:00Z", "2026-11-21 03:00:00"])
    func `M1 OsmAnd's time is seconds, milliseconds, ISO 8601 or a date in UTC`(text: String)
        throws
    {
        let reading = try InputBodies.read(.traccarClient, "", isForm: true) {
            $0.query = [("deviceid", "7"), ("lat", "1"), ("timestamp", text)]
        }
        #expect(
            reading.lines == [
                #"{"responder_id":"7","received_at":1795230005000,"#
                    + #""updates":[{"captured_at":1795230000000}]}"#
            ])
    }

    @Test func `M1 OsmAnd without a time was captured when it came`() throws {
        let line = try lines(.traccarClient, "", isForm: true) {
            $0.query = [("id", "7"), ("lat", "1")]
        }
        #expect(
            line == [
                #"{"responder_id":"7","received_at":1795230005000,"#
                    + #""updates":[{"captured_at":1795230005000}]}"#
            ])
    }

    @Test func `M1 a heartbeat of Traccar Client without a place is contact alone`() throws {
        let body = #"{"location":{"timestamp":"2026-11-21T03:00:00Z"},"device_id":"7"}"#
        #expect(
            try lines(.traccarClient, body)
                == [#"{"responder_id":"7","received_at":1795230005000}"#])
    }

    @Test func `M8 what a Traccar server forwards was heard when that server heard it`() throws {
        #expect(
            try lines(.traccarForward, InputBodies.traccarForward) == [
                #"{"responder_id":"861001000719969","received_at":1795230002000,"#
                    + #""battery_level":0.64,"updates":[{"captured_at":1795230000000}]}"#
            ])
        let ahead = InputBodies.traccarForward.replacing("03:00:02", with: "03:09:00")
        #expect(
            try lines(.traccarForward, ahead).first?.contains(#""received_at":1795230005000,"#)
                == true, "at most the arrival")
        let outdated = InputBodies.traccarForward
            .replacing(#""outdated": false"#, with: #""outdated": true"#)
        #expect(try lines(.traccarForward, outdated).first?.contains("updates") == false)
    }

    @Test func `M1 a form is decoded as the URL standard has it`() throws {
        func id(_ text: String) throws -> String? {
            try lines(.traccarClient, "id=\(text)", isForm: true).first.flatMap {
                $0.split(separator: "\"").dropFirst(3).first.map(String.init)
            }
        }
        #expect(try id("%41") == "A" && id("a%4") == "a%4" && id("a+b%2Bc") == "a b+c")
        #expect(try id("%c3%bc") == "ü" && id("%C3%BC") == "ü")
        #expect(try id("a%FF") == "a\u{FFFD}", "what is no UTF-8 is repaired")
        // The 256th field is the last.
        for (before, count) in [(255, 1), (256, 0)] {
            let body = String(repeating: "a=1&", count: before) + "id=7"
            let reading = try InputBodies.read(.traccarClient, body, isForm: true)
            #expect(reading.lines.count == count)
        }
    }

    @Test func `M1 without a fix Traccar's location is of the device's time`() throws {
        let body = InputBodies.traccarForward.replacing(#""fixTime""#, with: #""noTime""#)
        #expect(
            try lines(.traccarForward, body).first?
                .contains(#""updates":[{"captured_at":1795230001000}]"#) == true)
    }

    // MARK: - The others

    @Test func `M1 what Expo gives to a task`() throws {
        #expect(
            try lines(.expo, InputBodies.expo) == [
                #"{"responder_id":"41","received_at":1795230005000,"#
                    + #""telemetry":{"app_state":"background"},"#
                    + #""updates":[{"captured_at":1795230000123},{"captured_at":1795230001000}]}"#
            ])
    }

    @Test(arguments: [
        #"{"device_id":"41","error":{"code":0},"executionInfo":{"appState":"background"}}"#,
        #"{"device_id":"41","data":{},"executionInfo":{"appState":"background"}}"#,
        #"{"device_id":"41","data":{"locations":[]},"executionInfo":{"appState":"background"}}"#,
    ])
    func `M1 a task of Expo without locations is contact all the same`(body: String) throws {
        #expect(
            try lines(.expo, body) == [
                #"{"responder_id":"41","received_at":1795230005000,"#
                    + #""telemetry":{"app_state":"background"}}"#
            ])
    }

    @Test func `M1 an empty list of Overland is contact of whom Basic names`() throws {
        #expect(
            try lines(.overland, #"{"locations":[]}"#) { $0.user = Array("jane".utf8) }
                == [#"{"responder_id":"jane","received_at":1795230005000}"#])
        #expect(try lines(.overland, #"{"locations":[]}"#) == [])
    }

    @Test(arguments: [
        ("active", "foreground"), ("inactive", "foreground"), ("background", "background"),
    ])
    func `M1 Expo's states of an app, and a battery from 0 to 1`(state: String, word: String) throws
    {
        let body = """
            {"device_id":"41","locations":[{"timestamp":1795230000,"coords":{}}],
            "battery_level":0.5,"executionInfo":{"appState":"\(state)"}}
            """
        let line = try lines(.expo, body).first
        #expect(line?.contains(#""app_state":"\#(word)""#) == true)
        #expect(line?.contains(#""battery_level":0.5"#) == true)
    }

    @Test func `M1 Home Assistant's webhook may stand in the query or in a header`() throws {
        let body = InputBodies.homeAssistantLocation
        let query = try lines(.homeAssistant, body) { $0.query = [("webhook_id", "h-1")] }.first
        #expect(query?.contains(#""responder_id":"h-1""#) == true)
        let header = try lines(.homeAssistant, body) { $0.headers = [("X-Webhook-Id", "h-2")] }
        #expect(header.first?.contains(#""responder_id":"h-2""#) == true)
    }

    @Test(
        arguments: zip(InputPreset.allCases, ["[]", #"{"result":"ok"}"#, "{}", "", "", "{}", "{}"]))
    func `M4 each client is answered what it waits for`(preset: InputPreset, body: String) {
        #expect(preset.answer == InputAnswer(status: 200, body: body))
    }

    @Test func `P5 I9 an unknown state of the app is other, and no background`() throws {
        let body = """
            {"device_id":"41","locations":[{"timestamp":1795230000,"coords":{}}],
            "executionInfo":{"appState":"extension"}}
            """
        let reading = try InputBodies.read(.expo, body)
        #expect(reading.lines.first?.contains(#""app_state":"other""#) == true, "\(reading.lines)")
        #expect(reading.scan.items.item(0)?.telemetry?.isBehind == false)
        for field in InputField.allCases {
            if let code = field.other, let words = field.words {
                #expect(words.first { $0.code == code }?.word == "other", "\(field)")
            }
        }
    }

    @Test func `M1 Home Assistant's webhook is known by its path`() throws {
        func read(_ body: String) throws -> [String] {
            try lines(.homeAssistant, body) { $0.path = Array("hook-41".utf8) }
        }
        let head = #"{"responder_id":"hook-41","received_at":1795230005000"#
        #expect(
            try read(InputBodies.homeAssistantLocation)
                == [head + #","battery_level":0.45,"updates":[{"captured_at":1795230005000}]}"#])
        #expect(try read(InputBodies.homeAssistantSensors) == [head + #","battery_level":0.77}"#])
        #expect(
            try read(InputBodies.homeAssistantRegistration)
                == [
                    head
                        + #","os_version":"26.1","app_version":"2026.11.1","manufacturer":"Apple","#
                        + #""model":"iPhone XR"}"#
                ])
        #expect(
            try read(#"{"type":"encrypted","encrypted":true,"encrypted_data":"eA=="}"#)
                == [head + "}"])
    }

    // MARK: - When a phone was heard

    @Test func `M8 a message by a broker was heard when it was made, at most at its arrival`()
        throws
    {
        func heard(_ body: String, _ change: (inout InputRequest) -> Void) throws -> String {
            let reading = try InputBodies.read(.owntracks, body) {
                $0.isForwarded = true
                change(&$0)
            }
            let line = reading.lines.first ?? "nothing"
            return line.split(separator: ",").first { $0.hasPrefix(#""received_at""#) }
                .map { String($0.dropFirst(14)) } ?? line
        }
        #expect(try heard(InputBodies.ownTracks) { _ in } == "1795230004000", "created_at")
        #expect(
            try heard(InputBodies.ownTracks) { $0.isFresh = false } == "1795230004000",
            "a retained one, too, if it says when")
        #expect(try heard(InputBodies.ownTracksTransition) { _ in } == "1795230001000", "tst")
        #expect(
            try heard(#"{"_type":"status","tid":"JJ"}"#) { _ in } == "1795230005000}",
            "none: now")
        #expect(
            try heard(#"{"_type":"status","tid":"JJ"}"#) { $0.isFresh = false } == "nothing",
            "none, and perhaps an old one: no contact")
        #expect(
            try heard(#"{"_type":"location","tst":1795239999,"tid":"JJ"}"#) { _ in }
                == "1795230005000", "a clock that is ahead")
        #expect(
            try heard(#"{"_type":"location","tst":1795230007,"tid":"JJ"}"#) { $0.isFresh = false }
                == "1795230005000", "ahead by 2 s, and perhaps an old one")
        #expect(
            try heard(#"{"_type":"location","tst":1795230008,"tid":"JJ"}"#) { $0.isFresh = false }
                == "nothing", "further ahead, and perhaps an old one: nobody knows how old (F13)")
    }

    @Test func `M8 the arrival of an old message does not say when it was made`() throws {
        func lines(_ isFresh: Bool) throws -> [String] {
            try InputBodies.read(.homeAssistant, InputBodies.homeAssistantLocation) {
                $0.path = Array("hook".utf8)
                $0.isForwarded = true
                $0.isFresh = isFresh
            }.lines
        }
        #expect(try lines(true).count == 1)
        #expect(try lines(false) == [])
    }
}
