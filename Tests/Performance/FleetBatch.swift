import Glibc
import RollcallCore

/// Writes batches of a fleet: 12-byte ids, one install each, circles of four, 32 regions.
///
/// As `BatchSource`, but of any size and with a round and a time of receipt for each batch: the
/// deadline that it sets.
struct FleetBatch {
    /// The length of each batch in bytes.
    let byteCount: Int

    /// `#` the responder, `%` when the backend heard it, `~` the region, `@` the circle, `&` the
    /// install, `*` the sequence, `$` when the phone took the fix.
    private let template: [UInt8]
    private let responder, receivedAt, region, circle, install, sequence, capturedAt: TemplateField

    /// So that ten digits have no leading zero, which JSON forbids.
    private static let firstSequence = 1_000_000_000
    /// How long before the backend the phone had the fix.
    private static let delay: Int64 = 2000
    private static let membersOfCircle = 4
    private let regions: Int

    /// Batches of people on duty.
    static let onDuty = FleetBatch("ON_DUTY", regions: 32)
    /// Batches of people on a mission, who have deadlines that a benchmark can wait for.
    static let onMission = FleetBatch("ON_MISSION", regions: 32)

    /// Batches of people on duty in so many regions.
    static func onDuty(regions: Int) -> FleetBatch { FleetBatch("ON_DUTY", regions: regions) }

    /// Batches of people on a mission in so many regions.
    static func onMission(regions: Int) -> FleetBatch { FleetBatch("ON_MISSION", regions: regions) }

    private init(_ duty: String, regions: Int) {
        self.regions = regions
        let regionDigits = "\(regions - 1)".count
        let marks = String(repeating: "~", count: regionDigits)
        template = Array(
            """
            {"responder_id":"r-##########","received_at":%%%%%%%%%%%%%,"duty_state":"\(duty)",\
            "region":"g-\(marks)","circles":["c-@@@@@@@@"],"install_id":"i-&&&&&&&&","platform":"ios",\
            "telemetry":{"permission_status":"granted","power_mode":"normal",\
            "app_state":"background","queue_depth":0,"network_type":"cellular"},\
            "updates":[{"sequence":**********,"captured_at":$$$$$$$$$$$$$}]}
            """.utf8)
        byteCount = template.count
        responder = TemplateField("#", 10, in: template)
        receivedAt = TemplateField("%", 13, in: template)
        region = TemplateField("~", regionDigits, in: template)
        circle = TemplateField("@", 8, in: template)
        install = TemplateField("&", 8, in: template)
        sequence = TemplateField("*", 10, in: template)
        capturedAt = TemplateField("$", 13, in: template)
    }

    /// The id that people of this number have.
    static func id(_ person: Int) -> String {
        let digits = "\(person)"
        return "r-" + String(repeating: "0", count: 10 - digits.count) + digits
    }

    /// Writes what is the same in all batches.
    func prepare(_ bytes: UnsafeMutableRawBufferPointer) { bytes.copyBytes(from: template) }

    /// Makes `bytes`, which was prepared, a person's batch of a round, received at a time.
    func write(
        _ person: Int, round: Int, receivedAt time: Timestamp,
        to bytes: UnsafeMutableRawBufferPointer
    ) {
        responder.write(person, to: bytes)
        receivedAt.write(Int(time.milliseconds), to: bytes)
        region.write(person % regions, to: bytes)
        circle.write(person / Self.membersOfCircle, to: bytes)
        install.write(person, to: bytes)
        sequence.write(Self.firstSequence + round, to: bytes)
        capturedAt.write(Int(time.milliseconds - Self.delay), to: bytes)
    }

    /// A body of one batch of each person.
    func lines(_ people: Range<Int>, round: Int, receivedAt time: Timestamp) -> [UInt8] {
        var lines: [UInt8] = []
        for person in people {
            var line = template
            line.withUnsafeMutableBytes {
                write(person, round: round, receivedAt: time, to: $0)
            }
            lines += line + [UInt8(ascii: "\n")]
        }
        return lines
    }
}

/// Posts batches of a fleet as NDJSON over one connection, a body at a time.
struct FleetPoster {
    private let caller: Caller
    private let batch: FleetBatch
    private var request: [UInt8] = []
    private var headBytes = 0
    private var count = 0
    private let demand: Demand

    /// What is expected of an answer.
    enum Demand {
        /// Everything is taken at once.
        case all
        /// Everything is taken, though a gateway may say that it is to be sent again.
        case allInTheEnd
        /// A cell may be away that the gateway cannot reach.
        case some
    }

    /// Times that a body is sent again at most, and milliseconds in between.
    private static let retriesMax = 100
    private static let retryAfter: UInt32 = 200_000

    /// Connects.
    init(_ batch: FleetBatch, to port: UInt16, demand: Demand = .all) throws(BenchmarkError) {
        self.demand = demand
        self.batch = batch
        caller = try Caller(port: port)
    }

    /// Posts one batch of each person. Errors: an answer that is not 200 or did not take all.
    mutating func post(
        _ people: some Collection<Int>, round: (Int) -> Int, receivedAt: (Int) -> Timestamp
    ) throws(BenchmarkError) {
        prepare(people.count)
        let step = batch.byteCount + 1
        request.withUnsafeMutableBytes { bytes in
            for (place, person) in people.enumerated() {
                let start = headBytes + place * step
                batch.write(
                    person, round: round(person), receivedAt: receivedAt(person),
                    to: UnsafeMutableRawBufferPointer(
                        rebasing: bytes[start..<(start + batch.byteCount)]))
            }
        }
        var answer = try caller.ask(request)
        for _ in 0..<Self.retriesMax where demand == .allInTheEnd && answer.status == 503 {
            usleep(Self.retryAfter)
            answer = try caller.ask(request)
        }
        // The first "accepted" is that of the items; that of the updates comes after it.
        let accepted = answer.number(after: "\"accepted\":") ?? 0
        let known = demand == .all ? 0 : answer.number(after: "\"duplicates\":") ?? 0
        guard answer.status == 200, demand == .some || accepted + known == people.count else {
            throw .answer("expected \(people.count) accepted, got \(answer.status): \(answer.text)")
        }
    }

    /// Makes room for so many batches; for as many as the last time it costs nothing.
    private mutating func prepare(_ count: Int) {
        guard count != self.count else { return }
        self.count = count
        let step = batch.byteCount + 1
        request = Array(
            """
            POST /v1/batches\(demand == .some ? "?partial=true" : "") HTTP/1.1\r\nHost: 127.0.0.1\r\n\
            Content-Type: application/x-ndjson\r\nContent-Length: \(count * step)\r\n\r\n
            """.utf8)
        headBytes = request.count
        request += [UInt8](repeating: UInt8(ascii: "\n"), count: count * step)
        request.withUnsafeMutableBytes { bytes in
            for start in stride(from: headBytes, to: bytes.count, by: step) {
                batch.prepare(
                    UnsafeMutableRawBufferPointer(
                        rebasing: bytes[start..<(start + batch.byteCount)]))
            }
        }
    }
}

/// The wall clock, as backends stamp what they hear.
func wallNow() -> Timestamp {
    Timestamp(milliseconds: Nanoseconds.now(of: CLOCK_REALTIME).count / 1_000_000)
}
