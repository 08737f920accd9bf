extension Story {
    /// The story as a file for `rollcall replay`. Source: V7.
    func replayFile() -> String {
        var text = ""
        if policy != StoryPolicy(), let first = lines.first {
            var at = first.at
            // A line's time is the wall after its step, and this one comes before it.
            if case .clock(let step) = first.event { at -= step }
            text += StoryLine(at: at, event: .policy(policy)).replayLine() + "\n"
        }
        for line in lines { text += line.replayLine() + "\n" }
        return text
    }
}

extension StoryLine {
    /// The line as it stands in a replay file, without its line feed. Source: F5.
    func replayLine() -> String {
        var members = ["\"at\":" + JSON.time(at), "\"kind\":" + JSON.string(event.kind)]
        if let source { members.append("\"source\":" + JSON.string(source)) }
        if case .roster(_, let note) = event {
            if note.allowsShrink { members.append("\"shrink\":\"allow\"") }
            if !note.id.isEmpty { members.append(JSON.member("roster", note.id)) }
            if note.hasMore { members.append("\"more\":true") }
        }
        let body = body()
        if !body.isEmpty { members.append("\"body\":" + body) }
        return JSON.object(members)
    }

    /// The body alone, as a backend would send it; empty if the kind has none.
    func body() -> String {
        switch event {
        case .batch(let items): JSON.list(items.map { $0.json() })
        case .transition(let items): JSON.list(items.map { $0.json() })
        case .responder(let items): JSON.list(items.map { $0.json() })
        case .roster(let items, _): JSON.array(items.map { $0.json() })
        case .erase(let id): JSON.object([JSON.member("responder_id", id)])
        case .heartbeat(let every): JSON.object(["\"every_seconds\":\(every)"])
        case .skew(let skew): JSON.object(["\"skew_ms\":\(skew)"])
        case .clock(let step): JSON.object(["\"step_ms\":\(step)"])
        case .store(let isFailing):
            JSON.object([JSON.member("state", isFailing ? "failing" : "ok")])
        case .refused(let count): JSON.object(["\"count\":\(count)"])
        case .policy(let policy): policy.json()
        case .turn(let late?): JSON.object(["\"late_ms\":\(late)"])
        case .ask(let ask): ask.json()
        case .turn(nil), .start, .stop, .silence, .silenceEnd, .take, .giveBack: ""
        }
    }
}

extension StoryEvent {
    /// The journal's name for it. Source: J1.
    var kind: String {
        switch self {
        case .batch: "batch"
        case .transition: "transition"
        case .responder: "responder"
        case .roster: "roster"
        case .erase: "erase"
        case .heartbeat: "heartbeat"
        case .skew: "skew"
        case .clock: "clock"
        case .store: "store"
        case .refused: "refused"
        case .policy: "policy"
        case .start: "start"
        case .stop: "stop"
        case .silence, .silenceEnd: "silence"
        case .take, .giveBack: "take"
        case .ask: "ask"
        case .turn: "turn"
        }
    }
}

extension BatchItem {
    /// The item as the body of `POST /v1/batches` has it. Source: I9.
    func json() -> String {
        var members = [JSON.member("responder_id", responderID)]
        if let receivedAt { members.append("\"received_at\":" + JSON.time(receivedAt)) }
        if let dutyState { members.append(JSON.member("duty_state", dutyState)) }
        if let region { members.append(JSON.member("region", region)) }
        if let circles { members.append("\"circles\":" + JSON.array(circles.map(JSON.string))) }
        if let sharing { members.append(JSON.member("sharing", sharing)) }
        if let platform { members.append(JSON.member("platform", platform)) }
        if let installID { members.append(JSON.member("install_id", installID)) }
        if let battery { members.append("\"battery_level\":\(Double(battery) / 10_000)") }
        if let nextExpectedIn { members.append("\"next_expected_in\":\(nextExpectedIn)") }
        if telemetry.isSent { members.append("\"telemetry\":" + telemetry.json()) }
        if !updates.isEmpty {
            members.append("\"updates\":" + JSON.array(updates.map { $0.json() }))
        }
        return JSON.object(members)
    }
}

extension StoryTelemetry {
    /// The members that are sent, as an object. Source: I9.
    func json() -> String {
        var members: [String] = []
        if let permissionStatus {
            members.append(JSON.member("permission_status", permissionStatus))
        }
        if let locationServices { members.append("\"location_services\":\(locationServices)") }
        if let powerMode { members.append(JSON.member("power_mode", powerMode)) }
        if let appState { members.append(JSON.member("app_state", appState)) }
        if let queueDepth { members.append("\"queue_depth\":\(queueDepth)") }
        if let networkType { members.append(JSON.member("network_type", networkType)) }
        return JSON.object(members)
    }
}

extension StoryUpdate {
    /// The update as an object.
    func json() -> String {
        var members = sequence.map { ["\"sequence\":\($0)"] } ?? []
        if let capturedAt { members.append("\"captured_at\":" + JSON.time(capturedAt)) }
        if isCached { members.append("\"fix\":\"cached\"") }
        return JSON.object(members)
    }
}

extension TransitionItem {
    /// The item as the body of `POST /v1/transitions` has it. Source: I10.
    func json() -> String {
        var members = [
            JSON.member("responder_id", responderID), JSON.member("from", from),
            JSON.member("to", to),
        ]
        if let at { members.append("\"at\":" + JSON.time(at)) }
        if let id { members.append(JSON.member("id", id)) }
        return JSON.object(members)
    }
}

extension FactItem {
    /// The item as the body of `POST /v1/responders` has it. Source: I11.
    func json() -> String {
        var members = [JSON.member("responder_id", responderID)]
        if let dutyState { members.append(JSON.member("duty_state", dutyState)) }
        if let region { members.append(JSON.member("region", region)) }
        if let circles { members.append("\"circles\":" + JSON.array(circles.map(JSON.string))) }
        if let sharing { members.append(JSON.member("sharing", sharing)) }
        if let pausedUntil { members.append("\"paused_until\":" + JSON.time(pausedUntil)) }
        if let platform { members.append(JSON.member("platform", platform)) }
        if let pushToken { members.append(JSON.member("push_token", pushToken)) }
        if let at { members.append("\"at\":" + JSON.time(at)) }
        return JSON.object(members)
    }
}

extension StoryPolicy {
    /// The settings as a configuration tree. Source: V8.
    func json() -> String {
        let platforms = ["\"ios\":\(iosFactor)", "\"android\":\(androidFactor)"]
        var others: [String] = []
        if !coverage.isEmpty {
            let regions = JSON.array(coverage.map(JSON.string))
            others.append("\"coverage\":" + JSON.object(["\"regions\":" + regions]))
        }
        if nudges != StoryNudges() { others.append("\"nudges\":" + nudges.json()) }
        if alerts != StoryAlerts() { others.append("\"alerts\":" + alerts.json()) }
        let first = [
            "\"liveness\":"
                + JSON.object([
                    "\"on_duty\":" + onDuty.json(behind: onDutyBehind),
                    "\"on_mission\":"
                        + onMission.json(
                            behind: onMissionBehind,
                            more: JSON.member("promise_max", "\(missionPromiseMax)ms")),
                    JSON.member("promise_max", "\(promiseMax)ms"),
                    "\"low_power_factor\":\(lowPowerFactor)",
                    "\"platform_factors\":" + JSON.object(platforms),
                    JSON.member(
                        "server_transitions", adoptsServerTransitions ? "adopt" : "observe"),
                    JSON.member("forget_after", "\(forgetAfter)ms"),
                ]),
            "\"feed\":"
                + JSON.object([
                    "\"min_active\":\(feedMinActive)",
                    JSON.member("stall_after", "\(feedStallAfter)ms"),
                ]),
        ]
        return JSON.object(first + others)
    }
}

extension StoryPolicy.Profile {
    /// The thresholds as durations.
    func json(behind: Self? = nil, more: String? = nil) -> String {
        let background = behind.map { "\"background\":" + $0.json() }
        return JSON.object(
            [
                JSON.member("expected", "\(expected)ms"),
                JSON.member("degraded_after", "\(degradedAfter)ms"),
                JSON.member("offline_after", "\(offlineAfter)ms"),
            ] + [background, more].compactMap { $0 })
    }
}

/// The pieces of JSON text.
enum JSON {
    /// An object of members that are written already.
    static func object(_ members: [String]) -> String {
        "{" + members.joined(separator: ",") + "}"
    }

    /// An array of values that are written already.
    static func array(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }

    /// One value alone, several as an array.
    static func list(_ values: [String]) -> String {
        if values.count == 1, let only = values.first { return only }
        return array(values)
    }

    /// A member whose value is a string.
    static func member(_ name: String, _ value: String) -> String {
        "\"" + name + "\":" + string(value)
    }

    /// A string with its escapes.
    static func string(_ text: String) -> String {
        let needsNone = text.utf8.allSatisfy {
            $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
        if needsNone { return "\"" + text + "\"" }
        var escaped = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": escaped += "\\\""
            case "\\": escaped += "\\\\"
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped + "\""
    }

    /// A share as a fraction of 1 with at most four digits, cut.
    static func share(_ part: Int, of whole: Int) -> String {
        guard whole > 0 else { return "0" }
        let digits = String(10_000 + part * 10_000 / whole % 10_000).dropFirst()
        let last = digits.lastIndex { $0 != "0" }
        return "\(part / whole)" + (last.map { "." + digits[...$0] } ?? "")
    }

    /// A time as RFC 3339 in UTC; as an integer where the year has not four digits.
    static func time(_ milliseconds: Int64) -> String {
        guard (-62_135_596_800_000..<253_402_300_800_000).contains(milliseconds) else {
            return "\(milliseconds)"
        }
        let day = (milliseconds + 62_135_596_800_000) / 86_400_000 - 719_162
        let rest = milliseconds - day * 86_400_000
        let (year, month, dayOfMonth) = date(day)
        let numbers =
            [
                (year, 4, "-"), (month, 2, "-"), (dayOfMonth, 2, "T"), (rest / 3_600_000, 2, ":"),
                (rest / 60_000 % 60, 2, ":"), (rest / 1000 % 60, 2, "."), (rest % 1000, 3, "Z"),
            ] as [(Int64, Int, Unicode.Scalar)]
        // A quarter of the campaign's time goes into writing; most of what is written is times.
        return String(unsafeUninitializedCapacity: 26) { buffer in
            buffer[0] = UInt8(ascii: "\"")
            var end = 1
            for (number, width, mark) in numbers {
                var rest = number
                for place in (end..<(end + width)).reversed() {
                    buffer[place] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                end += width + 1
                buffer[end - 1] = UInt8(ascii: mark)
            }
            buffer[end] = UInt8(ascii: "\"")
            return end + 1
        }
    }

    /// Year, month and day of the days since 1970, by the Gregorian rule of 400 years.
    private static func date(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        // Counted from 1 March of the year 0, so that the leap day ends a year.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let leaps = dayOfEra / 1460 - dayOfEra / 36_524 + dayOfEra / 146_096
        let yearOfEra = (dayOfEra - leaps) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * march + 2) / 5 + 1)
    }
}
