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

/// Makes text of what a fleet tells. Dates are remembered: most are of today.
package struct FleetWriter: Sendable {
    private let clock: FleetClock
    private let people: [[UInt8]]
    private let facts: [[UInt8]]
    private let installs: [[UInt8]]
    private var date: (day: Int64, text: [UInt8]) = (-1, [])

    /// A writer of what `stream` tells, with the times of `clock`.
    package init(_ stream: FleetStream, clock: FleetClock = .own) {
        self.clock = clock
        let all = (0..<stream.settings.responders).map { stream.person($0) }
        people = all.map { person in
            Array(
                "\"responder_id\":\"\(person.id)\",\"platform\":\"\(person.platform.rawValue)\""
                    .utf8)
        }
        let regions = stream.plan.regions
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

    private let versions: [[UInt8]]

    /// Appends `line` as a line of a replay, with its line feed.
    package mutating func append(_ line: FleetLine, to output: inout [UInt8]) {
        append("{\"at\":", to: &output)
        appendTime(line.at.milliseconds, to: &output)
        append(",\"kind\":\"", to: &output)
        append(line.kind, to: &output)
        if let name = line.backend.name {
            append("\",\"source\":\"", to: &output)
            append(name, to: &output)
        }
        append("\",\"body\":", to: &output)
        appendBody(line, to: &output)
        append("}\n", to: &output)
    }

    /// Appends a line without a body: `start`, `end`.
    package mutating func append(kind: StaticString, at: Timestamp, to output: inout [UInt8]) {
        append("{\"at\":", to: &output)
        appendTime(at.milliseconds, to: &output)
        append(",\"kind\":\"", to: &output)
        append(kind, to: &output)
        append("\"}\n", to: &output)
    }

    /// Appends the body of `line` as a backend would send it.
    package mutating func appendBody(_ line: FleetLine, to output: inout [UInt8]) {
        if line.items.count == 1, let only = line.items.first {
            return append(only, to: &output)
        }
        append("[", to: &output)
        for (place, item) in line.items.enumerated() {
            if place > 0 { append(",", to: &output) }
            append(item, to: &output)
        }
        append("]", to: &output)
    }

    /// Appends each item of `line` as a line of NDJSON.
    package mutating func appendItems(_ line: FleetLine, to output: inout [UInt8]) {
        for item in line.items {
            append(item, to: &output)
            append("\n", to: &output)
        }
    }

    private mutating func append(_ report: FleetReport, to output: inout [UInt8]) {
        let number = Int(report.person)
        switch report.content {
        case .batch(let batch): append(batch, number, to: &output)
        case .duty(let duty):
            append("{", to: &output)
            output += people[number]
            output += facts[number]
            append(",\"duty_state\":\"", to: &output)
            switch duty {
            case .onMission: append("ON_MISSION", to: &output)
            case .offDuty: append("OFF_DUTY", to: &output)
            default: append("ON_DUTY", to: &output)
            }
            append("\",\"at\":", to: &output)
            appendTime(report.at, to: &output)
        case .paused(let until):
            append("{", to: &output)
            output += people[number]
            append(",\"sharing\":\"paused\",\"paused_until\":", to: &output)
            appendTime(until, to: &output)
        case .resumed:
            append("{", to: &output)
            output += people[number]
            append(",\"sharing\":\"active\"", to: &output)
        case .transition(let from, let to, let at):
            append("{", to: &output)
            output += people[number]
            append(",\"from\":\"", to: &output)
            append(Self.word(from), to: &output)
            append("\",\"to\":\"", to: &output)
            append(Self.word(to), to: &output)
            append("\",\"at\":", to: &output)
            appendTime(at, to: &output)
        case .heartbeat:
            append("{\"every_seconds\":", to: &output)
            // A beat is promised in whole seconds.
            append(max(1, FleetBackend.beatEvery / clock.speed / 1000), to: &output)
        }
        append("}", to: &output)
    }

    private mutating func append(_ batch: FleetBatch, _ number: Int, to output: inout [UInt8]) {
        append("{", to: &output)
        output += people[number]
        if let received = batch.receivedAt {
            append(",\"received_at\":", to: &output)
            appendTime(received, to: &output)
        }
        if !installs[number].isEmpty {
            output += installs[number]
            append(Int64(batch.install), to: &output)
            append("\"", to: &output)
        }
        if batch.tellsVersions { output += versions[number] }
        if let battery = batch.battery {
            append(",\"battery_level\":", to: &output)
            append(battery >= 100 ? "1" : battery < 10 ? "0.0" : "0.", to: &output)
            if battery < 100 { append(Int64(battery), to: &output) }
        }
        if let telemetry = batch.telemetry { append(telemetry, to: &output) }
        guard !batch.updates.isEmpty else { return }
        append(",\"updates\":[", to: &output)
        for (place, update) in batch.updates.enumerated() {
            append(place > 0 ? ",{\"sequence\":" : "{\"sequence\":", to: &output)
            append(update.sequence, to: &output)
            append(",\"captured_at\":", to: &output)
            appendTime(update.capturedAt, to: &output)
            append(update.isCached ? ",\"fix\":\"cached\"}" : "}", to: &output)
        }
        append("]", to: &output)
    }

    private func append(_ telemetry: FleetTelemetry, to output: inout [UInt8]) {
        append(",\"telemetry\":{\"permission_status\":\"", to: &output)
        append(telemetry.isDenied ? "denied" : "granted", to: &output)
        append("\",\"location_services\":", to: &output)
        append(telemetry.areServicesOff ? "false" : "true", to: &output)
        append(",\"power_mode\":\"", to: &output)
        append(telemetry.savesPower ? "low_power\"" : "normal\"", to: &output)
        if let more = telemetry.more {
            append(",\"app_state\":\"", to: &output)
            append(more.isInForeground ? "foreground" : "background", to: &output)
            append("\",\"queue_depth\":", to: &output)
            append(Int64(more.queueDepth), to: &output)
            append(",\"network_type\":\"", to: &output)
            switch more.network {
            case .cellular: append("cellular\"", to: &output)
            case .wifi: append("wifi\"", to: &output)
            case .none: append("none\"", to: &output)
            }
        }
        append("}", to: &output)
    }

    // MARK: - Pieces

    private static func word(_ status: Status) -> StaticString {
        switch status {
        case .online: "ONLINE"
        case .degraded: "DEGRADED"
        case .offline: "OFFLINE"
        case .unknown: "UNKNOWN"
        }
    }

    private func append(_ text: StaticString, to output: inout [UInt8]) {
        output.append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    private func append(_ number: Int64, to output: inout [UInt8]) {
        if number >= 10 { append(number / 10, to: &output) }
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }

    private mutating func appendTime(_ instant: Int64, to output: inout [UInt8]) {
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
        append("Z\"", to: &output)
    }

    private func appendPair(_ number: Int64, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / 10))
        output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }
}
