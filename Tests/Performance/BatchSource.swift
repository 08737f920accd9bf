import Glibc
import RollcallCore

/// Writes batches as backends forward them: 10 000 responders in rotation, each with one update
/// whose sequence is one higher every time.
///
/// All batches have the same length: the fields that differ are written over a template.
struct BatchSource {
    /// Responders in rotation.
    static let responders = 10_000

    /// The length of each batch in bytes.
    static var batchBytes: Int { template.count }

    /// Design §3's example without what phones seldom send anew; `#` the responder, `~` the region,
    /// `%` when the backend heard it, `$` when the phone took the fix, `*` the sequence.
    private static let template = Array(
        """
        {"responder_id":"r-#####","received_at":"%%%%%%%%%%%%%%%%%%%%%%%%","duty_state":"ON_DUTY",\
        "region":"region-~","platform":"ios","telemetry":{"permission_status":"granted",\
        "power_mode":"normal","app_state":"background","queue_depth":5,\
        "network_type":"cellular"},\
        "updates":[{"sequence":**********,"captured_at":"$$$$$$$$$$$$$$$$$$$$$$$$"}]}
        """.utf8)

    private static let responder = TemplateField("#", 5, in: template)
    private static let region = TemplateField("~", 1, in: template)
    private static let receivedAt = TemplateField("%", 24, in: template)
    private static let capturedAt = TemplateField("$", 24, in: template)
    private static let sequence = TemplateField("*", 10, in: template)

    /// So that ten digits have no leading zero, which JSON forbids.
    private static let firstSequence = 1_000_000_000
    private static let regions = 8
    /// How long before the backend the phone had the fix.
    private static let delay = Milliseconds(2000)

    /// Responders of this source, up to 100 000.
    let people: Int

    private var position = 0
    private var now = Timestamp(milliseconds: 0)
    private var receivedText: [UInt8] = []
    private var capturedText: [UInt8] = []

    /// Batches of so many responders in rotation.
    init(people: Int = responders) { self.people = people }

    /// Reads the wall clock, for all batches until it is read again.
    mutating func readClock() {
        let wall = Timestamp(milliseconds: Nanoseconds.now(of: CLOCK_REALTIME).count / 1_000_000)
        guard wall != now else { return }
        now = wall
        receivedText.removeAll(keepingCapacity: true)
        RFC3339.append(wall, to: &receivedText)
        capturedText.removeAll(keepingCapacity: true)
        RFC3339.append(wall - Self.delay, to: &capturedText)
    }

    /// Makes `bytes`, which is `batchBytes` long, a batch. What is the same in all is written by
    /// `prepare` once.
    mutating func writeNext(_ bytes: UnsafeMutableRawBufferPointer) {
        let number = position % people
        Self.responder.write(number, to: bytes)
        Self.region.write(number % Self.regions, to: bytes)
        Self.sequence.write(Self.firstSequence + position / people, to: bytes)
        Self.receivedAt.write(receivedText, to: bytes)
        Self.capturedAt.write(capturedText, to: bytes)
        position += 1
    }

    /// Makes `bytes`, which is `GroupPush.request`, the push of the next responder.
    mutating func writeNextPush(_ bytes: UnsafeMutableRawBufferPointer) {
        let number = position % people
        GroupPush.write(number, region: number % Self.regions, lastSeen: now, to: bytes)
        position += 1
    }

    /// Makes `bytes`, which is `RowUpsert.request`, the row of the next responder.
    mutating func writeNextRow(_ bytes: UnsafeMutableRawBufferPointer) {
        let number = position % people
        RowUpsert.write(
            number, region: number % Self.regions,
            sequence: Self.firstSequence + position / people, receivedAt: receivedText,
            capturedAt: capturedText, to: bytes)
        position += 1
    }

    /// Writes what is the same in all batches.
    static func prepare(_ bytes: UnsafeMutableRawBufferPointer) { bytes.copyBytes(from: template) }

    /// Whole batches for a body, the last line without a line feed.
    mutating func body(batches: Int) -> [UInt8] {
        readClock()
        var body: [UInt8] = []
        for _ in 0..<batches {
            if !body.isEmpty { body.append(UInt8(ascii: "\n")) }
            var batch = Self.template
            batch.withUnsafeMutableBytes { writeNext($0) }
            body += batch
        }
        return body
    }
}
