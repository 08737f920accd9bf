import RollcallCore
import Testing

/// Bodies as clients send them, written from the facts in their documentation and tests; the places in
/// them are nowhere anybody was. Sources: of each, the one in `InputPreset`.
enum InputBodies {
    /// The instant at which all of them arrive.
    static let arrival = Timestamp(milliseconds: 1_795_230_005_000)

    static let ownTracks = """
        {"_type": "location", "BSSID": "b4:fb:e4:00:00:00", "SSID": "home", "acc": 4, "alt": 154,
         "batt": 87, "bs": 1, "conn": "w", "created_at": 1795230004, "lat": 52.5200066,
         "lon": 13.4049540, "m": 1, "tid": "JJ", "topic": "owntracks/jane/phone", "tst": 1795230000,
         "inregions": ["Home"], "vac": 3, "vel": 0, "p": 101.2, "_id": "5c3e2b1a"}
        """
    static let ownTracksTransition = """
        {"_type": "transition", "wtst": 1795000000, "lat": 52.5200066, "lon": 13.4049540,
         "tst": 1795230001, "acc": 12, "tid": "JJ", "event": "leave", "desc": "Depot", "t": "c",
         "topic": "owntracks/jane/phone/event"}
        """
    static let ownTracksStatus = """
        {"_type": "status", "_id": "x1", "topic": "owntracks/jane/phone/status", "iOS":
         {"version": "26.1.2", "locationManagerAuthorizationStatus": "denied",
          "deviceSystemVersion": "26.0", "deviceModel": "iPhone"}}
        """
    static let ownTracksWill = """
        {"_type": "lwt", "tst": 1795229000, "topic": "owntracks/jane/phone"}
        """

    static let overland = """
        {"locations": [
          {"type": "Feature",
           "geometry": {"type": "Point", "coordinates": [-122.030581, 37.331800]},
           "properties": {"timestamp": "2026-11-21T04:19:55-0700", "altitude": 0, "speed": 4,
            "horizontal_accuracy": 30, "vertical_accuracy": -1, "motion": ["driving"],
            "battery_state": "charging", "battery_level": 0.8, "device_id": "jane", "wifi": ""}},
          {"type": "Feature",
           "geometry": {"type": "Point", "coordinates": [-122.030582, 37.331801]},
           "properties": {"timestamp": "2026-11-21T04:20:00-0700", "battery_level": 0.79,
            "device_id": "jane", "wifi": ""}}],
         "trip": {"distance": 12, "current_location": {"geometry": {"coordinates": [1.5, 2.5]}}}}
        """

    static let transistorsoft = """
        {"location": {"event": "motionchange", "is_moving": false,
          "uuid": "0e9a2473-a9a7-4c00-997b-fb97d2154e75", "timestamp": "2026-11-21T03:00:00.444Z",
          "age": 188, "odometer": 0, "coords": {"latitude": 37.4219983, "longitude": -122.084,
           "accuracy": 3.8, "speed": 18.67, "heading": 63, "altitude": 35.7},
          "activity": {"type": "still", "confidence": 100},
          "battery": {"is_charging": false, "level": 0.79}, "extras": {}}, "device_id": "41"}
        """
    static let transistorsoftBatch = """
        {"user_id": 1234, "location": [
          {"event": "providerchange", "timestamp": "2026-11-21T02:59:50.000Z",
           "coords": {"latitude": 37.4, "longitude": -122.0}, "battery": {"level": 0.5},
           "provider": {"enabled": true, "status": 2, "network": true, "gps": true}},
          {"timestamp": "2026-11-21T02:59:40.000Z", "battery": {"level": 0.51},
           "coords": {"latitude": 37.4, "longitude": -122.0}, "activity": {"type": "on_foot"}},
          {"timestamp": "2026-11-21T02:59:30.000Z", "battery": {"level": -1},
           "coords": {"latitude": 37.4, "longitude": -122.0}}]}
        """
    static let transistorsoftHeartbeat = """
        {"location": {"event": "heartbeat", "timestamp": "2026-11-21T02:00:00.000Z",
          "coords": {"latitude": 37.4, "longitude": -122.0}, "battery": {"level": -1},
          "is_moving": false, "uuid": "u"}, "device_id": "41"}
        """

    static let traccarClient = """
        {"location": {"timestamp": "2026-11-21T03:00:00.862Z", "coords": {"latitude": 37.4219983,
          "longitude": -122.084, "accuracy": 5, "speed": 0, "heading": -1, "altitude": 5},
          "is_moving": false, "odometer": 0, "event": "motionchange",
          "battery": {"level": 1, "is_charging": false}, "activity": {"type": "still"},
          "extras": {}, "_": "&id=48241179&lat=37.4219983&lon=-122.084&"},
         "device_id": "48241179"}
        """
    static let osmAnd =
        "id=861001000719969&lat=41.666667&lon=-0.883333&timestamp=2026-11-21+03%3A00%3A00"
        + "&altitude=350.05&speed=0.000&batt=87"

    static let traccarForward = """
        {"position": {"id": 7, "attributes": {"batteryLevel": 64.0, "motion": false},
          "deviceId": 3, "protocol": "osmand", "serverTime": "2026-11-21T03:00:02.000+00:00",
          "deviceTime": "2026-11-21T03:00:01.000+00:00", "fixTime": "2026-11-21T03:00:00.000+00:00",
          "outdated": false, "valid": true, "latitude": 52.52, "longitude": 13.405,
          "altitude": 34.0, "speed": 0.0, "course": 0.0, "address": null, "accuracy": 5.0},
         "device": {"id": 3, "attributes": {}, "name": "Jane", "uniqueId": "861001000719969",
          "status": "online", "lastUpdate": "2026-11-21T03:00:02.000+00:00"}}
        """

    static let expo = """
        {"device_id": "41", "data": {"locations": [
          {"coords": {"latitude": 37.42, "longitude": -122.08, "altitude": 5, "accuracy": 5,
            "heading": -1, "speed": -1, "altitudeAccuracy": -1}, "timestamp": 1795230000123.4},
          {"coords": {"latitude": 37.42, "longitude": -122.08}, "timestamp": 1795230001000}]},
         "error": null, "executionInfo": {"eventId": "e", "taskName": "background-location-task",
          "appState": "background"}}
        """

    static let homeAssistantLocation = """
        {"type": "update_location", "data": {"gps": [12.34, 56.78], "gps_accuracy": 120,
         "battery": 45, "speed": 0, "altitude": 22, "course": 0, "vertical_accuracy": 2}}
        """
    static let homeAssistantSensors = """
        {"type": "update_sensor_states", "data": [
          {"attributes": {"lat": 1.5}, "icon": "mdi:wifi", "state": "home-network",
           "type": "sensor", "unique_id": "wifi_connection"},
          {"icon": "mdi:battery", "state": 77, "type": "sensor", "unique_id": "battery_level"}]}
        """
    static let homeAssistantRegistration = """
        {"type": "update_registration", "data": {"app_data": {"push_token": "abcdef"},
         "app_version": "2026.11.1", "device_name": "Jane's phone", "manufacturer": "Apple",
         "model": "iPhone XR", "os_version": "26.1"}}
        """

    /// One body of each preset, with what its request says beside it.
    static let all: [(preset: InputPreset, body: String)] = [
        (.owntracks, ownTracks), (.owntracks, ownTracksTransition), (.owntracks, ownTracksStatus),
        (.owntracks, ownTracksWill), (.overland, overland), (.transistorsoft, transistorsoft),
        (.transistorsoft, transistorsoftBatch), (.transistorsoft, transistorsoftHeartbeat),
        (.traccarClient, traccarClient), (.traccarClient, osmAnd),
        (.traccarForward, traccarForward), (.expo, expo), (.homeAssistant, homeAssistantLocation),
        (.homeAssistant, homeAssistantSensors), (.homeAssistant, homeAssistantRegistration),
    ]

    /// Reads a body as the input of a preset does.
    static func read(
        _ preset: InputPreset, _ body: String, isForm: Bool = false,
        _ change: (inout InputRequest) -> Void = { _ in }
    ) throws -> InputReading {
        try read(preset, Array(body.utf8), isForm: isForm, change)
    }

    /// Reads the bytes of a body.
    static func read(
        _ preset: InputPreset, _ body: [UInt8], isForm: Bool = false,
        _ change: (inout InputRequest) -> Void = { _ in }
    ) throws -> InputReading {
        let descriptions = preset.descriptions
        let description = isForm ? descriptions.last : descriptions.first
        let mapping = try InputMapping(try #require(description))
        var request = InputRequest(arrival: arrival)
        change(&request)
        return try InputReader.read(body.span, request, by: mapping)
    }
}

extension InputReading {
    /// Its items as native ones, one a line.
    var lines: [String] {
        (0..<scan.items.count).map { index in
            scan.items.text(index).map { String(decoding: $0, as: UTF8.self) } ?? "damaged"
        }
    }

    /// What was not taken, by pointer and reason.
    var notes: [String] {
        (scan.rejected + scan.problems).map { "\($0.pointer) \($0.fault.word)" }
    }
}
