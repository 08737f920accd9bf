import RollcallCore
import Testing

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

    // MARK: - The others

    @Test func `M1 what Expo gives to a task`() throws {
        #expect(
            try lines(.expo, InputBodies.expo) == [
                #"{"responder_id":"41","received_at":1795230005000,"#
                    + #""telemetry":{"app_state":"background"},"#
                    + #""updates":[{"captured_at":1795230000123},{"captured_at":1795230001000}]}"#
            ])
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
    }
}
