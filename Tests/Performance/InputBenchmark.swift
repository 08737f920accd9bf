import Glibc
import RollcallCore

/// What it costs to read the bodies of inputs, beside native bodies of the same size: in this process,
/// in turns, medians. Reading is all that differs; what is folded and stored is the same.
struct InputBenchmark {
    /// One body and what reading it and a native one takes.
    struct Result {
        let name: String
        let bytes: Int
        let inputNanoseconds: Double
        let nativeNanoseconds: Double

        /// By how much it costs more than a native body.
        var ratio: Double { inputNanoseconds / nativeNanoseconds }
    }

    /// One run of few rounds: proves that everything runs.
    let isShort: Bool

    private static let arrival = Timestamp(milliseconds: 1_795_230_005_000)
    private static let runs = 9

    /// Measures each client's body, and a batch of fifty records.
    func run() throws(BenchmarkError) -> [Result] {
        var results: [Result] = []
        for (name, preset, isForm, body) in Self.bodies {
            let descriptions = preset.descriptions
            guard let description = isForm ? descriptions.last : descriptions.first,
                let mapping = try? InputMapping(description)
            else { throw .server("\(name): no mapping") }
            results.append(try measure(name, Array(body.utf8), mapping))
        }
        return results
    }

    private func measure(
        _ name: String, _ body: [UInt8], _ mapping: InputMapping
    ) throws(BenchmarkError) -> Result {
        let native = Self.native(bytes: body.count)
        var request = InputRequest(arrival: Self.arrival)
        request.path = Array("41".utf8)
        guard let reading = try? InputReader.read(body.span, request, by: mapping),
            reading.scan.items.count > 0
        else { throw .server("\(name): nothing is taken") }
        let rounds = (isShort ? 200_000 : 20_000_000) / body.count + 1
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<(isShort ? 3 : Self.runs) {
            ours.append(
                Self.time(rounds) {
                    (try? InputReader.read(body.span, request, by: mapping))?.scan.items.count ?? 0
                })
            theirs.append(
                Self.time(rounds) {
                    (try? ItemScanner.scan(native.span, kind: .batch))?.items.count ?? 0
                })
        }
        return Result(
            name: name, bytes: body.count, inputNanoseconds: ours.sorted()[ours.count / 2],
            nativeNanoseconds: theirs.sorted()[theirs.count / 2])
    }

    /// Nanoseconds of one round.
    private static func time(_ rounds: Int, _ body: () -> Int) -> Double {
        let began = Nanoseconds.now(of: CLOCK_MONOTONIC)
        var count = 0
        for _ in 0..<rounds { count += body() }
        precondition(count >= rounds, "each body is taken")
        let taken = Nanoseconds.now(of: CLOCK_MONOTONIC).count - began.count
        return Double(taken) / Double(rounds)
    }

    /// A native batch of about so many bytes: with as many updates as it takes.
    private static func native(bytes: Int) -> [UInt8] {
        var text = """
            {"responder_id":"r-00041","received_at":"2026-11-21T03:00:05.120Z","telemetry":\
            {"app_state":"background","network_type":"wifi"},"battery_level":0.87,"updates":[
            """
        var sequence = 1_000_000_000
        repeat {
            let comma = sequence == 1_000_000_000 ? "" : ","
            text +=
                "\(comma){\"sequence\":\(sequence),\"captured_at\":\"2026-11-21T03:00:00.000Z\"}"
            sequence += 1
        } while text.utf8.count + 2 < bytes
        return Array((text + "]}").utf8)
    }

    /// A line for each body.
    static func table(_ results: [Result]) -> String {
        let head = "reading a body        bytes       ns   native ns   ratio (at most 2.0)"
        let lines = results.map { result in
            padded(result.name, 18) + padded("\(result.bytes)", -9)
                + padded("\(Int(result.inputNanoseconds))", -9)
                + padded("\(Int(result.nativeNanoseconds))", -12)
                + padded("\((result.ratio * 100).rounded() / 100)", -8)
        }
        return ([head] + lines).joined(separator: "\n")
    }

    /// One JSON document.
    static func json(_ results: [Result]) -> String {
        let rows = results.map { result in
            "{\"name\":\"\(result.name)\",\"bytes\":\(result.bytes),"
                + "\"ns\":\(Int(result.inputNanoseconds)),"
                + "\"native_ns\":\(Int(result.nativeNanoseconds)),"
                + "\"ratio\":\((result.ratio * 1000).rounded() / 1000)}"
        }
        return "{\"inputs\":[\(rows.joined(separator: ","))]}"
    }

    /// A text on so many columns, to the right if they are negative.
    private static func padded(_ text: String, _ columns: Int) -> String {
        let spaces = String(repeating: " ", count: max(0, abs(columns) - text.count))
        return columns < 0 ? spaces + text : text + spaces
    }

    /// The bodies of clients, of the sizes that they have.
    private static let bodies: [(String, InputPreset, isForm: Bool, String)] = [
        (
            "owntracks", .owntracks, false,
            """
            {"_type":"location","BSSID":"b4:fb:e4:00:00:00","SSID":"home","acc":4,"alt":154,\
            "batt":87,"bs":1,"conn":"w","created_at":1795230004,"lat":52.5200066,"lon":13.404954,\
            "m":1,"tid":"JJ","topic":"owntracks/jane/phone","tst":1795230000,"vac":3,"vel":0}
            """
        ),
        ("overland 50", .overland, false, "{\"locations\":[\(many(feature))]}"),
        ("transistorsoft", .transistorsoft, false, "{\"location\":\(record),\"device_id\":\"41\"}"),
        (
            "transistorsoft 50", .transistorsoft, false,
            "{\"device_id\":\"41\",\"location\":[\(many(record))]}"
        ),
        ("traccar_client", .traccarClient, false, "{\"location\":\(record),\"device_id\":\"41\"}"),
        (
            "osmand", .traccarClient, true,
            "id=861001000719969&lat=41.666667&lon=-0.883333&timestamp=1795230000&altitude=350.059479"
                + "&speed=0.000000&batt=87"
        ),
        (
            "traccar_forward", .traccarForward, false,
            """
            {"position":{"id":7,"attributes":{"batteryLevel":64.0,"motion":false,"distance":12.1},\
            "deviceId":3,"protocol":"osmand","serverTime":"2026-11-21T03:00:02.000+00:00",\
            "deviceTime":"2026-11-21T03:00:01.000+00:00","fixTime":"2026-11-21T03:00:00.000+00:00",\
            "outdated":false,"valid":true,"latitude":52.52,"longitude":13.405,"altitude":34.0,\
            "speed":0.0,"course":0.0,"address":null,"accuracy":5.0},"device":{"id":3,\
            "attributes":{},"name":"Jane","uniqueId":"861001000719969","status":"online"}}
            """
        ),
        (
            "expo", .expo, false,
            """
            {"device_id":"41","data":{"locations":[{"coords":{"latitude":37.42,"longitude":-122.08,\
            "altitude":5,"accuracy":5,"heading":-1,"speed":-1},"timestamp":1795230000123.4}]},\
            "error":null,"executionInfo":{"taskName":"task","appState":"background"}}
            """
        ),
        (
            "home_assistant", .homeAssistant, false,
            """
            {"type":"update_location","data":{"gps":[12.34,56.78],"gps_accuracy":120,"battery":45,\
            "speed":0,"altitude":22,"course":0,"vertical_accuracy":2}}
            """
        ),
    ]

    private static func many(_ text: String) -> String {
        (0..<50).map { _ in text }.joined(separator: ",")
    }

    private static let record = """
        {"event":"motionchange","is_moving":false,"uuid":"0e9a2473-a9a7-4c00-997b-fb97d2154e75",\
        "timestamp":"2026-11-21T03:00:00.444Z","age":188,"odometer":0,"coords":\
        {"latitude":37.4219983,"longitude":-122.084,"accuracy":3.8,"speed":18.67,"heading":63,\
        "altitude":35.7},"activity":{"type":"still","confidence":100},\
        "battery":{"is_charging":false,"level":0.79},"extras":{}}
        """
    private static let feature = """
        {"type":"Feature","geometry":{"type":"Point","coordinates":[-122.030581,37.3318]},\
        "properties":{"timestamp":"2026-11-21T03:00:00Z","altitude":0,"speed":4,\
        "horizontal_accuracy":30,"vertical_accuracy":-1,"motion":["driving","stationary"],\
        "battery_state":"charging","battery_level":0.8,"device_id":"jane","wifi":""}}
        """
}
