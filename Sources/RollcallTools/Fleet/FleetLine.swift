import RollcallCore

/// The items that reach Rollcall in one request, or one line.
package struct FleetLine: Sendable {
    /// The instant at which they do, by the fleet's own time.
    package let at: Timestamp
    /// The backend that forwards them.
    package let backend: FleetBackend
    var items: [FleetReport]

    init(_ report: FleetReport, _ backend: FleetBackend) {
        at = Timestamp(milliseconds: report.at)
        self.backend = backend
        items = [report]
    }

    /// The journal's word for it.
    package var kind: StaticString {
        switch items.first?.content {
        case .batch, nil: "batch"
        case .duty, .paused, .resumed: "responder"
        case .transition: "transition"
        case .heartbeat: "heartbeat"
        }
    }

    /// The scanner's word for it; nil for a heartbeat, which it does not read.
    package var itemKind: ItemKind? {
        switch items.first?.content {
        case .batch, nil: .batch
        case .duty, .paused, .resumed: .responder
        case .transition: .transition
        case .heartbeat: nil
        }
    }

    /// The route that takes it.
    var path: String {
        switch itemKind {
        case .batch: "/v1/batches"
        case .transition: "/v1/transitions"
        case .responder, .rosterEntry, .nobody: "/v1/responders"
        case nil: "/v1/heartbeat"
        }
    }

    /// The number of batches that it holds.
    package var batchCount: Int { itemKind == .batch ? items.count : 0 }
}

/// The clock by which the fleet's time becomes the time that is written. A fleet that lives sixty
/// times faster than we do says so in every time that it tells.
package struct FleetClock: Sendable {
    /// The instant of the fleet's time …
    package var origin: Timestamp
    /// … that is this one of ours.
    package var base: Timestamp
    /// The number of its milliseconds in one of ours.
    package var speed: Int64

    /// A clock that meets ours at `base`.
    package init(origin: Timestamp, base: Timestamp, speed: Int64) {
        self.origin = origin
        self.base = base
        self.speed = speed
    }

    /// The clock of a fleet that lives in its own time.
    package static let own = FleetClock(
        origin: Timestamp(milliseconds: 0), base: Timestamp(milliseconds: 0), speed: 1)

    /// Our time at an instant of the fleet's.
    package func written(_ milliseconds: Int64) -> Int64 {
        if speed == 1 { return base.milliseconds + milliseconds - origin.milliseconds }
        let passed = milliseconds - origin.milliseconds
        return base.milliseconds + passed / speed
    }
}

/// Makes text of what a fleet tells: the one place where a batch of a simulated phone is written.
/// Dates are remembered: most are of today.
package struct FleetWriter: Sendable {
    private let clock: FleetClock
    private let people: [[UInt8]]
    private let facts: [[UInt8]]
    private let installs: [[UInt8]]
    private let versions: [[UInt8]]
    private var date: (day: Int64, text: [UInt8]) = (-1, [])

    /// A writer of what `stream` tells, with the times of `clock`.
    package init(_ stream: FleetStream, clock: FleetClock = .own) {
        self.init(
            (0..<stream.settings.responders).map { stream.person($0) },
            regions: stream.plan.regions, clock: clock)
    }

    /// A writer of what is told of `all`, who work in `regions`.
    init(_ all: [FleetPerson], regions: [String], clock: FleetClock = .own) {
        self.clock = clock
        people = all.map { person in
            Array(
                "\"responder_id\":\"\(person.id)\",\"platform\":\"\(person.platform.rawValue)\""
                    .utf8)
        }
        facts = all.map { person in
            var text = ",\"region\":\"\(regions[person.region])\""
            if let circle = person.circle { text += ",\"circles\":[\"c-\(circle + 1)\"]" }
            return Array(text.utf8)
        }
        installs = all.map { person in
            person.sendsInstallID ? Array(",\"install_id\":\"\(person.id)/".utf8) : []
        }
        versions = all.map { person in
            let system: String =
                person.platform == .ios
                ? "18.\(person.number % 3)" : "\(13 + person.number % 3)"
            return Array(
                ",\"os_version\":\"\(system)\",\"app_version\":\"\(person.app.version)\"".utf8)
        }
    }

    /// Appends `line` as a line of a replay, with its line feed.
    package mutating func append(_ line: FleetLine, to output: inout [UInt8]) {
        appendHead(line.kind, line.at, to: &output)
        if let name = line.backend.name { word("source", name, to: &output) }
        key("body", to: &output)
        appendBody(line, to: &output)
        JSONWriter.raw("}\n", to: &output)
    }

    /// Appends a line without a body: `start`, `end`.
    package mutating func append(kind: StaticString, at: Timestamp, to output: inout [UInt8]) {
        appendHead(kind, at, to: &output)
        JSONWriter.raw("}\n", to: &output)
    }

    private mutating func appendHead(
        _ kind: StaticString, _ at: Timestamp, to output: inout [UInt8]
    ) {
        JSONWriter.raw("{", to: &output)
        time("at", at.milliseconds, to: &output)
        word("kind", kind, to: &output)
    }

    /// Appends the body of `line` as a backend would send it.
    package mutating func appendBody(_ line: FleetLine, to output: inout [UInt8]) {
        if line.items.count == 1, let only = line.items.first {
            return append(only, to: &output)
        }
        JSONWriter.raw("[", to: &output)
        for (place, item) in line.items.enumerated() {
            if place > 0 { JSONWriter.raw(",", to: &output) }
            append(item, to: &output)
        }
        JSONWriter.raw("]", to: &output)
    }

    /// Appends each item of `line` as a line of NDJSON.
    package mutating func appendItems(_ line: FleetLine, to output: inout [UInt8]) {
        for item in line.items {
            append(item, to: &output)
            JSONWriter.raw("\n", to: &output)
        }
    }

    private mutating func append(_ report: FleetReport, to output: inout [UInt8]) {
        let number = Int(report.person)
        JSONWriter.raw("{", to: &output)
        if case .heartbeat = report.content {} else { output += people[number] }
        switch report.content {
        case .batch(let batch): append(batch, number, to: &output)
        case .duty(let duty):
            append(duty, number, to: &output)
            time("at", report.at, to: &output)
        case .paused(let until):
            word("sharing", "paused", to: &output)
            time("paused_until", until, to: &output)
        case .resumed: word("sharing", "active", to: &output)
        case .transition(let from, let to, let at):
            word("from", from.word, to: &output)
            word("to", to.word, to: &output)
            time("at", at, to: &output)
        case .heartbeat:
            // A beat is promised in whole seconds.
            integer(
                "every_seconds", max(1, FleetBackend.beatEvery / clock.speed / 1000), to: &output)
        }
        JSONWriter.raw("}", to: &output)
    }

    private func append(_ duty: DutyState, _ number: Int, to output: inout [UInt8]) {
        output += facts[number]
        word("duty_state", duty.word, to: &output)
    }

    private mutating func append(_ batch: FleetBatch, _ number: Int, to output: inout [UInt8]) {
        if let duty = batch.duty { append(duty, number, to: &output) }
        if let received = batch.receivedAt { time("received_at", received, to: &output) }
        if !installs[number].isEmpty {
            output += installs[number]
            JSONWriter.integer(Int64(batch.install), to: &output)
            JSONWriter.raw("\"", to: &output)
        }
        if batch.reportsVersions { output += versions[number] }
        if let battery = batch.battery {
            key("battery_level", to: &output)
            JSONWriter.raw(battery >= 100 ? "1" : battery < 10 ? "0.0" : "0.", to: &output)
            if battery < 100 { JSONWriter.integer(Int64(battery), to: &output) }
        }
        if let telemetry = batch.telemetry { append(telemetry, to: &output) }
        guard !batch.updates.isEmpty else { return }
        key("updates", to: &output)
        JSONWriter.raw("[", to: &output)
        for (place, update) in batch.updates.enumerated() {
            JSONWriter.raw(place > 0 ? ",{" : "{", to: &output)
            integer("sequence", update.sequence, to: &output)
            time("captured_at", update.capturedAt, to: &output)
            if update.isCached { word("fix", "cached", to: &output) }
            JSONWriter.raw("}", to: &output)
        }
        JSONWriter.raw("]", to: &output)
    }

    private func append(_ telemetry: FleetTelemetry, to output: inout [UInt8]) {
        key("telemetry", to: &output)
        JSONWriter.raw("{", to: &output)
        word("permission_status", telemetry.isDenied ? "denied" : "granted", to: &output)
        key("location_services", to: &output)
        JSONWriter.raw(telemetry.areServicesOff ? "false" : "true", to: &output)
        word("power_mode", telemetry.savesPower ? "low_power" : "normal", to: &output)
        if let more = telemetry.more {
            word("app_state", more.isInForeground ? "foreground" : "background", to: &output)
            integer("queue_depth", Int64(more.queueDepth), to: &output)
            key("network_type", to: &output)
            JSONWriter.string(more.network.rawValue.utf8, to: &output)
        }
        JSONWriter.raw("}", to: &output)
    }

    // MARK: - Members

    private func key(_ name: StaticString, to output: inout [UInt8]) {
        if output.last != UInt8(ascii: "{") { output.append(UInt8(ascii: ",")) }
        JSONWriter.word(name, to: &output)
        output.append(UInt8(ascii: ":"))
    }

    private func word(_ name: StaticString, _ word: StaticString, to output: inout [UInt8]) {
        key(name, to: &output)
        JSONWriter.word(word, to: &output)
    }

    private func integer(_ name: StaticString, _ value: Int64, to output: inout [UInt8]) {
        key(name, to: &output)
        JSONWriter.integer(value, to: &output)
    }

    private mutating func time(
        _ name: StaticString, _ instant: Int64, to output: inout [UInt8]
    ) {
        key(name, to: &output)
        let milliseconds = clock.written(instant)
        let day = milliseconds / FleetPlan.day
        if day != date.day || date.text.isEmpty {
            let text = RFC3339.string(Timestamp(milliseconds: day * FleetPlan.day))
            date = (day, Array(text.utf8.prefix(11)))
        }
        let rest = milliseconds - day * FleetPlan.day
        output.append(UInt8(ascii: "\""))
        output += date.text
        appendPair(rest / 3_600_000, to: &output)
        output.append(UInt8(ascii: ":"))
        appendPair(rest / 60_000 % 60, to: &output)
        output.append(UInt8(ascii: ":"))
        appendPair(rest / 1000 % 60, to: &output)
        output.append(UInt8(ascii: "."))
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 1000 / 100))
        appendPair(rest % 100, to: &output)
        JSONWriter.raw("Z\"", to: &output)
    }

    private func appendPair(_ number: Int64, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10))
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
