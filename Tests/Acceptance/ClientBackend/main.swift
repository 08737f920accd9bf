import Foundation
import RollcallClient

// A backend in Swift that does what it is told: a line of JSON on standard input is one call of the
// client, a line on standard output its outcome, or what the client reported. For the acceptance tests.

/// What is told.
struct Call: Decodable {
    var `do`: String
    var url: String?
    var source: String?
    var token: String?
    var heartbeat: Int?
    var queue_items: Int?
    var queue_bytes: Int?
    var body_items: Int?
    var linger: Double?
    var timeout: Double?
    var pause_max: Double?
    var within: Double?
    /// JSON in JSON: it reaches the client as it is.
    var item: String?
}

/// A value of the backend's own, in which all that Rollcall does not want has its place too.
struct Own: Encodable {
    let responder_id: String
    let received_at: Date
    let updates: [RollcallClient.Update]
}

/// Values for the types that the client brings.
func typed() -> RollcallClient.Batch {
    var batch = RollcallClient.Batch(
        responderID: "typed", updates: [.init(sequence: 7, capturedAt: Date())])
    batch.installID = "install-1"
    batch.dutyState = "ON_DUTY"
    batch.region = "north"
    batch.circles = ["c-1"]
    batch.sharing = "active"
    batch.platform = "ios"
    batch.osVersion = "18.1"
    batch.appVersion = "3.2"
    batch.batteryLevel = 0.5
    batch.nextExpectedIn = 600
    var telemetry = RollcallClient.Telemetry()
    telemetry.permissionStatus = "granted"
    telemetry.locationServices = true
    telemetry.powerMode = "normal"
    telemetry.appState = "background"
    telemetry.networkType = "wifi"
    telemetry.queueDepth = 2
    batch.telemetry = telemetry
    return batch
}

func say(_ values: [String: Any]) {
    var line = (try? JSONSerialization.data(withJSONObject: values)) ?? Data("{}".utf8)
    line.append(0x0A)
    FileHandle.standardOutput.write(line)
}

func text(_ items: [Data]) -> [String] { items.map { String(decoding: $0, as: UTF8.self) } }

func made(_ call: Call) throws -> RollcallClient {
    var options = RollcallClient.Options()
    options.heartbeatSeconds = call.heartbeat
    options.queueItems = call.queue_items ?? options.queueItems
    options.queueBytes = call.queue_bytes ?? options.queueBytes
    options.bodyItems = call.body_items ?? options.bodyItems
    options.linger = call.linger.map { .seconds($0) } ?? options.linger
    options.timeout = call.timeout.map { .seconds($0) } ?? options.timeout
    options.pauseMax = call.pause_max.map { .seconds($0) } ?? options.pauseMax
    let token = call.token
    return try RollcallClient(
        URL(string: call.url ?? "") ?? URL(fileURLWithPath: "/"), source: call.source ?? "",
        token: { token }, options: options
    ) { report in
        switch report {
        case .dropped(let reason, let items, _):
            say(["report": "dropped", "reason": reason.rawValue, "items": text(items)])
        case .problem(let pointer, let detail, _):
            say(["report": "problem", "pointer": pointer, "detail": detail])
        case .failing: say(["report": "failing", "text": "\(report)"])
        }
    }
}

func outcome(_ client: RollcallClient, _ call: Call) async throws -> [String: Any] {
    let item = Data((call.item ?? "").utf8)
    switch call.do {
    case "batch": return ["value": try client.batch(json: item)]
    case "transition":
        let fields = try JSONDecoder().decode([String: String].self, from: item)
        return ["value": try client.transition(fields)]
    case "facts":
        let fields = try JSONDecoder().decode([String: String].self, from: item)
        return ["value": try client.facts(fields)]
    case "typed":
        let transition = RollcallClient.Transition(
            responderID: "typed", from: "ONLINE", to: "DEGRADED")
        var facts = RollcallClient.Facts(responderID: "typed")
        facts.region = "south"
        let own = Own(
            responder_id: "own", received_at: Date(timeIntervalSinceNow: -7),
            updates: [.init(sequence: 1, capturedAt: Date(timeIntervalSinceNow: -8))])
        let all = [
            try client.batch(typed()), try client.transition(transition), try client.facts(facts),
            try client.batch(own),
        ]
        return ["value": all.allSatisfy { $0 }]
    case "counts":
        let counts = client.counts
        return [
            "value": [
                "given": counts.given, "accepted": counts.accepted,
                "duplicates": counts.duplicates, "waiting": counts.waiting,
                "waiting_bytes": counts.waitingBytes, "attempts": counts.attempts,
                "failures": counts.failures,
                "dropped": Dictionary(
                    uniqueKeysWithValues: counts.dropped.map { ($0.key.rawValue, $0.value) }),
            ] as [String: Any]
        ]
    case "close": return ["value": await client.close(within: .seconds(call.within ?? 5))]
    default: return ["error": "unknown"]
    }
}

let (lines, input) = AsyncStream.makeStream(of: String.self)
// It blocks, which no task may.
Thread.detachNewThread {
    while let line = readLine() { input.yield(line) }
    input.finish()
}
var client: RollcallClient?
for await line in lines {
    do {
        let call = try JSONDecoder().decode(Call.self, from: Data(line.utf8))
        if call.do == "make" {
            client = try made(call)
            say(["value": true])
        } else if let client {
            say(try await outcome(client, call))
        }
    } catch { say(["error": "\(error)"]) }
}
