import RollcallCore

/// What is told about one person. Source: design §4 L11, §9.
enum ResponderJSON {
    /// Appends one person's object.
    static func append(_ number: Int, _ engine: Engine, to body: inout [UInt8]) {
        let person = engine.roster[number]
        JSONWriter.raw("{\"responder_id\":", to: &body)
        JSONWriter.string(engine.roster.id(number), to: &body)
        word("status", person.isActive ? person.status.word : "NOT_EXPECTED", to: &body)
        if let reason = person.notExpected { word("not_expected", reason.word, to: &body) }
        time("since", person.since, to: &body)
        time("as_of", engine.watch.wallNow, to: &body)
        JSONWriter.raw(
            engine.isConfirmed(person) ? ",\"confirmed\":true" : ",\"confirmed\":false", to: &body)
        word("reachable", engine.reachable(person).word, to: &body)
        time("last_contact_at", person.lastContactAt, to: &body)
        time("last_location_at", person.lastLocationAt, to: &body)
        if person.duty != .none { word("duty_state", person.duty.word, to: &body) }
        name("region", engine.regions[person.region], to: &body)
        appendCircles(engine.circles[person.circles], to: &body)
        word("sharing", person.sharing.word, to: &body)
        if let until = engine.pausedUntil(number) { time("paused_until", until, to: &body) }
        word("platform", person.platform.word, to: &body)
        name("os_version", engine.versions[UInt32(person.osVersion)], to: &body)
        name("app_version", engine.versions[UInt32(person.appVersion)], to: &body)
        if person.battery >= 0 {
            JSONWriter.raw(",\"battery_level\":", to: &body)
            body.append(contentsOf: "\(Double(person.battery) / 10_000)".utf8)
        }
        appendTelemetry(person, to: &body)
        body.append(UInt8(ascii: "}"))
    }

    /// Appends `,"key":"value"` for a word that needs no escapes.
    static func word(_ key: StaticString, _ value: StaticString, to body: inout [UInt8]) {
        begin(key, to: &body)
        JSONWriter.word(value, to: &body)
    }

    /// Appends `,"key":"2026-…"`, or null for never.
    static func time(_ key: StaticString, _ value: Timestamp, to body: inout [UInt8]) {
        begin(key, to: &body)
        guard value > .distantPast else { return JSONWriter.raw("null", to: &body) }
        body.append(UInt8(ascii: "\""))
        RFC3339.append(value, to: &body)
        body.append(UInt8(ascii: "\""))
    }

    /// Appends `,"key":"value"` for a name; nothing for an empty one.
    static func name(_ key: StaticString, _ value: [UInt8], to body: inout [UInt8]) {
        guard !value.isEmpty else { return }
        begin(key, to: &body)
        JSONWriter.string(value, to: &body)
    }

    private static func begin(_ key: StaticString, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.word(key, to: &body)
        body.append(UInt8(ascii: ":"))
    }

    /// Appends `,"circles":[…]`.
    static func appendCircles(_ packed: [UInt8], to body: inout [UInt8]) {
        JSONWriter.raw(",\"circles\":[", to: &body)
        for (place, name) in CircleNames.names(packed).enumerated() {
            if place > 0 { body.append(UInt8(ascii: ",")) }
            JSONWriter.string(name, to: &body)
        }
        body.append(UInt8(ascii: "]"))
    }

    /// What the phone last said of itself; what it did not say is left out.
    private static func appendTelemetry(_ person: Responder, to body: inout [UInt8]) {
        guard person.telemetryAt > .distantPast else { return }
        var members: [UInt8] = []
        append(person.telemetry, to: &members)
        JSONWriter.raw(",\"telemetry\":{", to: &body)
        body.append(contentsOf: members.dropFirst())
        body.append(UInt8(ascii: "}"))
    }

    /// Appends what a phone said of itself, each member with a comma before it.
    static func append(_ telemetry: Telemetry, to body: inout [UInt8]) {
        for field in Telemetry.fields {
            let value = Int(field.value(telemetry))
            guard value > 0 else { continue }
            let isBoolean = field.values.count == 3
            if isBoolean {
                begin(field.name, to: &body)
                JSONWriter.raw(field.values[value], to: &body)
            } else {
                word(field.name, field.values[value], to: &body)
            }
        }
        if telemetry.queueDepth != Telemetry.queueDepthUnknown {
            begin("queue_depth", to: &body)
            JSONWriter.integer(Int64(telemetry.queueDepth), to: &body)
        }
    }
}

/// What is told about the watch itself.
enum StatusJSON {
    /// Appends the object of `GET /v1/status`.
    static func append(_ view: KeeperView, to body: inout [UInt8]) {
        let engine = view.engine
        JSONWriter.raw("{\"version\":\"", to: &body)
        body.append(contentsOf: BuildInformation.version.utf8)
        JSONWriter.raw("\"", to: &body)
        ResponderJSON.time("as_of", engine.watch.wallNow, to: &body)
        JSONWriter.raw(
            engine.watch.isBlind ? ",\"watching\":false" : ",\"watching\":true", to: &body)
        if let onset = engine.watch.onset {
            ResponderJSON.time("not_watching_since", engine.watch.wall(onset), to: &body)
        }
        appendBlind(engine, to: &body)
        JSONWriter.raw(",\"responders\":{\"active\":", to: &body)
        JSONWriter.integer(Int64(engine.tally.active), to: &body)
        for status in Status.allCases {
            count(status.word, engine.tally.byStatus[Int(status.rawValue)], to: &body)
        }
        JSONWriter.raw("},\"not_expected\":{\"all\":", to: &body)
        JSONWriter.integer(Int64(engine.tally.notExpected.reduce(0, +)), to: &body)
        for reason in NotExpected.allCases {
            count(reason.word, engine.tally.notExpected[Int(reason.rawValue)], to: &body)
        }
        JSONWriter.raw("}", to: &body)
        ResponderJSON.time(
            "last_batch_at", engine.counters.lastBatchAt ?? .distantPast, to: &body)
        appendSources(engine, to: &body)
        JSONWriter.raw("}\n", to: &body)
    }

    private static func count(_ key: StaticString, _ value: Int, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.word(key, to: &body)
        body.append(UInt8(ascii: ":"))
        JSONWriter.integer(Int64(value), to: &body)
    }

    private static func appendBlind(_ engine: Engine, to body: inout [UInt8]) {
        JSONWriter.raw(",\"blind\":[", to: &body)
        var isFirst = true
        for reason in BlindReason.allCases {
            guard let since = engine.watch.open[Int(reason.rawValue)] else { continue }
            JSONWriter.raw(isFirst ? "{\"reason\":" : ",{\"reason\":", to: &body)
            isFirst = false
            JSONWriter.word(reason.word, to: &body)
            ResponderJSON.time("since", engine.watch.wall(since), to: &body)
            JSONWriter.raw("}", to: &body)
        }
        JSONWriter.raw("]", to: &body)
    }

    private static func appendSources(_ engine: Engine, to body: inout [UInt8]) {
        JSONWriter.raw(",\"sources\":[", to: &body)
        for (place, source) in engine.feed.sources.enumerated() {
            JSONWriter.raw(place == 0 ? "{\"source\":" : ",{\"source\":", to: &body)
            JSONWriter.string(source.name, to: &body)
            JSONWriter.raw(source.downSince == nil ? ",\"up\":true" : ",\"up\":false", to: &body)
            JSONWriter.raw(",\"every_seconds\":", to: &body)
            body.append(contentsOf: "\(Double(source.every.count) / 1000)".utf8)
            ResponderJSON.time("last_beat_at", engine.watch.wall(source.lastBeat), to: &body)
            JSONWriter.raw("}", to: &body)
        }
        JSONWriter.raw("]", to: &body)
    }
}
