/// A client whose bodies are known: what each of them says where, what it does with an answer, and
/// what it sends for ever if it is refused. Source: M1; of each client, what stands beside it.
package enum InputPreset: String, CaseIterable, Sendable {
    /// OwnTracks for iOS and Android, in HTTP mode or by a broker.
    case owntracks
    /// Overland for iOS and Android.
    case overland
    /// Background Geolocation of Transistor Software, in any of its frameworks.
    case transistorsoft
    /// Traccar Client: JSON since version 9, before that the OsmAnd protocol.
    case traccarClient = "traccar_client"
    /// A Traccar server with `forward.type` json.
    case traccarForward = "traccar_forward"
    /// An app of one's own on Expo that posts what its location task is given.
    case expo
    /// The companion apps of Home Assistant, whose webhook is mirrored.
    case homeAssistant = "home_assistant"

    /// Returns the descriptions of its bodies, in the order in which they are tried: a form comes
    /// last.
    package var descriptions: [InputDescription] {
        switch self {
        case .owntracks: [.ownTracks]
        case .overland: [.overland]
        case .transistorsoft: [.transistorsoft]
        case .traccarClient: [.traccarClient, .osmAnd]
        case .traccarForward: [.traccarForward]
        case .expo: [.expo]
        case .homeAssistant: [.homeAssistant]
        }
    }

    /// Returns what a client is answered once its body was taken.
    package var answer: InputAnswer {
        switch self {
        // "it will typically return an empty JSON payload array []" (OwnTracks, HTTP mode).
        case .owntracks: InputAnswer(body: "[]")
        // "Your server must reply with a JSON response containing" this (Overland, README).
        case .overland: InputAnswer(body: "{\"result\":\"ok\"}")
        case .transistorsoft, .expo, .homeAssistant: InputAnswer(body: "{}")
        case .traccarClient, .traccarForward: InputAnswer(body: "")
        }
    }

    /// True of a client that takes each member of an answer for something of its own: of Home
    /// Assistant's to a list of sensors, each is a sensor.
    package var readsEachMember: Bool { self == .homeAssistant }

    /// The client in the words of its makers.
    package var title: String {
        switch self {
        case .owntracks: "OwnTracks"
        case .overland: "Overland"
        case .transistorsoft: "Background Geolocation"
        case .traccarClient: "Traccar Client"
        case .traccarForward: "a Traccar server"
        case .expo: "an app on Expo"
        case .homeAssistant: "Home Assistant's apps"
        }
    }
}

/// An `InputAnswer` holds what a client is answered. Source: M4.
package struct InputAnswer: Equatable, Sendable {
    /// 200 to 299.
    package var status: Int
    package var body: String

    /// The answer of `body`, JSON unless it is empty.
    package init(status: Int = 200, body: String = "") {
        self.status = status
        self.body = body
    }
}

// MARK: - OwnTracks

extension InputDescription {
    /// Source: owntracks/booklet, docs/tech/json.md and http.md (8a5a150): `tst` "in seconds of the
    /// location fix", `batt` in percent, `conn` w, o, m; "topic (only in HTTP payloads)"; the header
    /// `X-Limit-U` "to identify the user"; "it is best to ignore zero-length payloads". The apps put
    /// a body that is not answered by a 2xx into their queue.
    static var ownTracks: InputDescription {
        var description = InputDescription()
        description.ids = [
            .topic(part: 2), .user, .header("X-Limit-U"), .topicIn(.item("/topic"), part: 2),
            .place(.item("/tid")),
        ]
        description.capture = .at([.item("/tst")], .seconds)
        description.sent = [.item("/created_at"), .item("/tst")]
        description.sentUnit = .seconds
        description.rules = [
            Rule(
                .item("/_type"),
                [
                    ("location", .location), ("transition", .location), ("status", .contact),
                    ("waypoint", .contact), ("waypoints", .contact), ("steps", .contact),
                    ("beacon", .contact), ("configuration", .contact), ("encrypted", .contact),
                    // "published automatically by the MQTT broker when it loses contact".
                    ("lwt", .fact),
                ],
                // Commands and cards go to a phone, or come from a friend.
                other: .skip, missing: .skip)
        ]
        description.facts = [
            Fact(.batteryLevel, [.item("/batt")], scale: 0.01),
            Fact(
                .networkType, [.item("/conn")],
                values: [("w", "wifi"), ("m", "cellular"), ("o", "none")]),
            Fact(
                .permissionStatus, [.item("/iOS/locationManagerAuthorizationStatus")],
                values: authorizations + [
                    ("authorizedAlways", "granted"), ("authorizedWhenInUse", "granted"),
                    ("notDetermined", "unknown"),
                    ("kCLAuthorizationStatusAuthorizedAlways", "granted"),
                    ("kCLAuthorizationStatusAuthorizedWhenInUse", "granted"),
                    ("kCLAuthorizationStatusDenied", "denied"),
                    ("kCLAuthorizationStatusRestricted", "denied"),
                    ("kCLAuthorizationStatusNotDetermined", "unknown"),
                ]),
            Fact(.appVersion, [.item("/iOS/version")]),
            // UIDevice's `model`: owntracks/ios, OwnTracksAppDelegate.m.
            Fact(.model, [.item("/iOS/deviceModel")]),
            Fact(.osVersion, [.item("/iOS/deviceSystemVersion")]),
            // `ps` is "phone power save mode": 0 is the number of what is not set.
            Fact(
                .powerMode, [.item("/android/ps")],
                values: [("0", "normal"), ("1", "low_power")]),
        ]
        return description
    }

    /// Apple's and Transistor Software's words for a permission.
    private static var authorizations: [(text: String, word: String)] {
        [
            ("denied", "denied"), ("restricted", "denied"), ("always", "granted"),
            ("when_in_use", "granted"), ("whenInUse", "granted"), ("not_determined", "unknown"),
        ]
    }
}

// MARK: - Transistor Software

extension InputDescription {
    /// Source: transistorsoft/react-native-background-geolocation, help/http.md and
    /// src/declarations/interfaces/{Location,HttpEvent,ProviderChangeEvent}.d.ts (f50a1c1): records
    /// below `location`, one or with `batchSync` a list; `params` beside it; `timestamp` in ISO 8601;
    /// `battery.level` from 0 to 1, −1 if unknown; `provider` where its change made the record. "If
    /// your server does not return a 20x response, the SDK will UNLOCK that record" and send it again.
    static var transistorsoft: InputDescription {
        var description = records
        description.ids = [
            .place(.root("/device_id")), .place(.root("/user_id")),
            .place(.root("/responder_id")), .place(.root("/params/device_id")),
            .place(.root("/params/user_id")), .user, .header("X-Device-Id"), .path,
        ]
        // `params` may be the SDK's `transistorTrackerParams`, which is `{device: getDeviceInfo()}`.
        for (field, names) in [
            (InputField.manufacturer, ["/device/manufacturer", "/params/device/manufacturer"]),
            (.model, ["/device/model", "/params/device/model"]),
            (.osVersion, ["/device/version", "/params/device/version"]),
        ] as [(InputField, [StaticString])] {
            description.facts.append(Fact(field, names.map { .root($0) }))
        }
        let platforms: [StaticString] = ["/device/platform", "/params/device/platform"]
        description.facts.append(
            Fact(
                .platform, platforms.map { .root($0) },
                values: [("iOS", "ios"), ("Android", "android")]))
        return description
    }

    /// The records of the SDK, which Traccar Client once was built upon as well.
    fileprivate static var records: InputDescription {
        var description = InputDescription()
        description.items = [InputPointer(preset: "/location")]
        description.capture = .at([.item("/timestamp")], .auto)
        // A heartbeat of Traccar Client has a time and no place.
        description.located = [InputPointer(preset: "/coords")]
        description.rules = [
            // "you should not persist these samples".
            Rule(.item("/sample"), [("true", .contact)])
        ]
        description.facts = [
            Fact(.batteryLevel, [.item("/battery/level")]),
            // TSLocationManager's AUTHORIZATION_STATUS_…, from NOT_DETERMINED to WHEN_IN_USE.
            Fact(
                .permissionStatus, [.item("/provider/status")],
                values: [
                    ("0", "unknown"), ("1", "denied"), ("2", "denied"), ("3", "granted"),
                    ("4", "granted"),
                ]),
            Fact(.locationServices, [.item("/provider/enabled")]),
        ]
        return description
    }
}

// MARK: - Traccar

extension InputDescription {
    /// Source: traccar/traccar, OsmAndProtocolDecoder.decodeJson and its test (9e5c458): `device_id`,
    /// `location.timestamp`, `coords`, `battery.level` from 0 to 1 (below 0 unknown). The client keeps
    /// what is not answered by a 2xx.
    static var traccarClient: InputDescription {
        var description = records
        description.ids = [.place(.root("/device_id"))]
        return description
    }

    /// Source: the same, decodeQuery: `id` or `deviceid`; `timestamp` in seconds, milliseconds, ISO 8601
    /// or `yyyy-MM-dd HH:mm:ss` in UTC, now if it is missing; `lat` and `lon`, or `location`, or none
    /// of them; `batt` in percent.
    static var osmAnd: InputDescription {
        var description = InputDescription()
        description.isForm = true
        description.ids = [.place(.item("/id")), .place(.item("/deviceid"))]
        description.capture = .at([.item("/timestamp")], .osmand)
        description.isCapturedOnArrival = true
        description.located = [InputPointer(preset: "/lat"), InputPointer(preset: "/location")]
        description.facts = [Fact(.batteryLevel, [.item("/batt")], scale: 0.01)]
        return description
    }

    /// Source: traccar/traccar, forward/PositionData.java and model/Position.java (9e5c458):
    /// `position` and `device`; `serverTime` is when the server was told, `fixTime` when the place was
    /// found, and `outdated` is true of a message without a place. It sends again only with
    /// `forward.retry.enable`.
    static var traccarForward: InputDescription {
        var description = InputDescription()
        description.isForwarded = true
        description.ids = [.place(.item("/device/uniqueId"))]
        description.capture = .at(
            [.item("/position/fixTime"), .item("/position/deviceTime")], .auto)
        description.sent = [
            .item("/position/serverTime"), .item("/position/deviceTime"),
            .item("/position/fixTime"),
        ]
        description.rules = [
            Rule(.item("/position/outdated"), [("true", .contact)])
        ]
        description.facts = [
            Fact(.batteryLevel, [.item("/position/attributes/batteryLevel")], scale: 0.01)
        ]
        return description
    }
}

// MARK: - The others

extension InputDescription {
    /// Source: aaronpk/Overland-iOS, README.md (5f2a5be), "API": GeoJSON features below `locations`,
    /// and the newest beside them as `current` if many wait; `properties` with `timestamp`, `device_id`
    /// ("or an empty string"), `unique_id` and `battery_level` from 0 to 1. "If the app receives any
    /// other response, it will keep the data locally and try to send it again".
    static var overland: InputDescription {
        var description = InputDescription()
        description.ids = [
            .place(.item("/properties/device_id")), .place(.item("/properties/unique_id")),
            .user, .query("device_id"),
        ]
        description.items = [
            InputPointer(preset: "/locations"), InputPointer(preset: "/current"),
        ]
        description.capture = .at([.item("/properties/timestamp")], .auto)
        description.located = [InputPointer(preset: "/geometry")]
        description.facts = [Fact(.batteryLevel, [.item("/properties/battery_level")])]
        return description
    }

    /// Source: docs.expo.dev, sdk/location, "Background location" and LocationObject: a task is given
    /// `{"data": {"locations": [{"coords", "timestamp"}]}, "error", "executionInfo"}`, `timestamp` in
    /// milliseconds. Who posts it adds whose it is. A task that is called with an error has no data.
    static var expo: InputDescription {
        var description = InputDescription()
        description.ids = [
            .place(.root("/device_id")), .place(.root("/user_id")),
            .place(.root("/responder_id")), .user, .header("X-Device-Id"), .path,
        ]
        description.items = [
            InputPointer(preset: "/data/locations"), InputPointer(preset: "/locations"),
        ]
        description.isContactWithoutItems = true
        description.capture = .at([.item("/timestamp")], .auto)
        description.located = [InputPointer(preset: "/coords")]
        description.facts = [
            Fact(.batteryLevel, [.root("/battery_level"), .root("/data/battery_level")]),
            Fact(
                .appState, [.root("/executionInfo/appState")],
                values: [
                    ("active", "foreground"), ("inactive", "foreground"),
                    ("background", "background"),
                ]),
            Fact(.manufacturer, [.root("/manufacturer")]), Fact(.model, [.root("/model")]),
        ]
        return description
    }

    /// Source: developers.home-assistant.io, "Sending data home" and "Sensors": `type` and `data`; of
    /// `update_location` `gps` and `battery` in percent, and no time; of `update_sensor_states` a list
    /// of `unique_id` and `state`; of `update_registration` what the phone is. The webhook's id, the last part of its path, is the phone's.
    static var homeAssistant: InputDescription {
        var description = InputDescription()
        description.ids = [.path, .query("webhook_id"), .header("X-Webhook-Id")]
        description.capture = .arrival
        description.rules = [
            Rule(.item("/type"), [("update_location", .location)], other: .contact)
        ]
        description.located = [InputPointer(preset: "/data/gps")]
        let sensors: [StaticString] = [
            "/data/battery", "/data/[unique_id=battery_level]/state",
        ]
        description.facts = [
            Fact(.batteryLevel, sensors.map { .item($0) }, scale: 0.01),
            Fact(.osVersion, [.item("/data/os_version")]),
            Fact(.appVersion, [.item("/data/app_version")]),
            Fact(.manufacturer, [.item("/data/manufacturer")]),
            Fact(.model, [.item("/data/model")]),
        ]
        return description
    }
}
