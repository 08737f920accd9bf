import RollcallCore

/// The object that tells about one person. Source: L11, §9.
enum ResponderJSON {
    /// Appends one person's object, with what usually follows a gap of theirs that is open.
    static func appendWhole(_ number: Int, _ engine: Engine, to body: inout [UInt8]) {
        append(number, engine, to: &body)
        guard let (report, outlook) = engine.outlook(of: number) else { return }
        body.removeLast()
        JSONWriter.raw(",\"gap\":{\"gap\":", to: &body)
        JSONWriter.integer(report.number, to: &body)
        time("opened_at", report.openedAt, to: &body)
        word("suspected", report.suspected.word, to: &body)
        OutlookJSON.append(outlook, to: &body)
        JSONWriter.raw("}}", to: &body)
    }

    /// Appends one person's object.
    static func append(_ number: Int, _ engine: Engine, to body: inout [UInt8]) {
        let person = engine.roster[number]
        JSONWriter.raw("{\"responder_id\":", to: &body)
        JSONWriter.string(engine.roster.id(number), to: &body)
        word("status", person.isActive ? person.status.word : "NOT_EXPECTED", to: &body)
        if let reason = person.notExpected { word("not_expected", reason.word, to: &body) }
        time("since", person.since, to: &body)
        time("as_of", engine.clock.wallNow, to: &body)
        JSONWriter.raw(
            engine.isConfirmed(person) ? ",\"confirmed\":true" : ",\"confirmed\":false", to: &body)
        word("reachable", engine.reachable(person).word, to: &body)
        time("last_contact_at", person.lastContactAt, to: &body)
        if let since = engine.silentSince(person) {
            GapJSON.seconds("silent_seconds", engine.clock.observedNow - since, to: &body)
        }
        if let suspicion = engine.suspicion(of: number) {
            word("suspected", suspicion.cause.word, to: &body)
        }
        if let until = engine.policy.promisedUntil(person) {
            time("promised_until", until, to: &body)
        }
        time("last_location_at", person.lastLocationAt, to: &body)
        let dark = engine.darkSoFar(person)
        if dark.count > 0 { GapJSON.seconds("dark_seconds", dark, to: &body) }
        if person.duty != .none { word("duty_state", person.duty.word, to: &body) }
        name("region", engine.regions[person.region], to: &body)
        appendCircles(engine.circles[person.circles], to: &body)
        word("sharing", person.sharing.word, to: &body)
        if let until = engine.pausedUntil(number) { time("paused_until", until, to: &body) }
        word("platform", person.platform.word, to: &body)
        name("manufacturer", engine.versions[UInt32(person.manufacturer)], to: &body)
        name("model", engine.versions[UInt32(person.model)], to: &body)
        name("os_version", engine.versions[UInt32(person.osVersion)], to: &body)
        name("app_version", engine.versions[UInt32(person.appVersion)], to: &body)
        if person.battery >= 0 {
            JSONWriter.raw(",\"battery_level\":", to: &body)
            body.append(contentsOf: "\(Double(person.battery) / 10_000)".utf8)
        }
        if engine.hasTelemetry(number) { appendTelemetry(person, to: &body) }
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
        JSONWriter.raw(",\"circles\":", to: &body)
        JSONWriter.list(CircleNames.names(packed), to: &body) { JSONWriter.string($0, to: &$1) }
    }

    /// Appends what the phone last said of itself; what it did not say is left out.
    private static func appendTelemetry(_ person: Responder, to body: inout [UInt8]) {
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
