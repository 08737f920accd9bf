import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// An `MQTTIntake` takes the messages that an input gets from its broker: its mapping reads them,
/// and they are committed and counted. Source: M4, M6, M8.
final class MQTTIntake: Sendable {
    /// The state writer and what stands around it.
    struct Parts: Sendable {
        let writer: StateWriter
        let edge: EdgeStats
        let admission: Admission
        let limits: BodyLimits
    }

    /// So often a broker that is there counts as a beat, at most.
    private static let beatEvery: Int64 = 4_500
    /// The promise of those beats: two and a half of them missing, and the source is (B2). So the watch
    /// is blind after 15 s, before anybody is late who is on a mission.
    static let promise = Milliseconds(6_000)

    private let name: String
    private let source: [UInt8]
    private let parts: Parts
    private let beats: Bool
    private let lastBeat = Mutex(Int64.min / 4)

    /// The intake of the input `name`. `beats` tells that the broker's being there is a heartbeat of
    /// the input.
    init(_ name: String, _ parts: Parts, beats: Bool) {
        self.name = name
        self.parts = parts
        self.beats = beats
        source = Self.source(of: name)
    }

    /// The source of what an input gets from its broker (F10): no other one's, since its absence says
    /// that the broker is away.
    static func source(of name: String) -> [UInt8] { sourcePrefix + Array(name.utf8) }

    /// The beginning of the names of such sources.
    static let sourcePrefix = Array("mqtt:".utf8)

    /// The broker has shown that it is there.
    func heard() {
        let now = ClockReading.now().elapsed
        let isDue = lastBeat.withLock { last in
            guard now - last >= Self.beatEvery else { return false }
            last = now
            return true
        }
        guard beats, isDue else { return }
        // One that is refused is missed, as everybody's would be.
        parts.writer.write(.heartbeat(source: source, every: Self.promise)) { _ in }
    }

    /// Takes a message; `done` is called once with what became of it, after the commit if there is one.
    func take(
        _ arrival: MQTTClient.Arrival, _ done: @escaping @Sendable (MQTTClient.Outcome) -> Void
    ) {
        // "A PUBLISH Packet with a RETAIN flag set to 1 and a payload containing zero bytes" only makes
        // the broker forget (MQTT 3.1.1 §3.3.1.3).
        if arrival.payload.isEmpty, arrival.bytesSkipped == 0 { return done(.skipped) }
        guard let entry = parts.edge.inputs.entry(name) else { return done(.returned) }
        // Bounded by what a connection may have waiting: no share of others' is taken.
        let place: Admission.Place
        do throws(Admission.Refusal) {
            place = try parts.admission.reserve(
                source, bytes: arrival.payload.count, isShared: false)
        } catch {
            return done(.returned)
        }
        let reading = read(arrival, entry)
        guard reading.scan.items.count > 0 else {
            parts.admission.release(place)
            count(reading, Receipt(), arrival.at)
            let hasProblem = !reading.scan.rejected.isEmpty || !reading.scan.problems.isEmpty
            return done(hasProblem ? .refused : .skipped)
        }
        if let refusal = parts.edge.cells.refusal(of: reading.scan.items) {
            parts.admission.release(place)
            guard refusal != .noMap else { return done(.returned) }
            count(reading, Receipt(), arrival.at)
            return done(.refused)
        }
        parts.writer.write(.items(reading.scan.items, source: source)) { [self] outcome in
            parts.admission.release(place)
            guard case .committed(let receipt) = outcome else { return done(.returned) }
            count(reading, receipt, arrival.at)
            done(receipt.accepted + receipt.duplicates > 0 ? .committed : .refused)
        }
    }

    private func read(
        _ arrival: MQTTClient.Arrival, _ entry: InputBook.Entry
    ) -> InputReading {
        if arrival.bytesSkipped > 0 {
            var reading = InputReading()
            reading.scan.note(
                ItemNote(
                    index: 0, pointer: "", fault: .outOfRange,
                    detail: "a message of \(arrival.bytesSkipped) bytes is too long"))
            return reading
        }
        var said = InputRequest(arrival: arrival.at)
        said.topic = arrival.topic
        said.isForwarded = true
        said.isFresh = arrival.isFresh
        said.enrols = entry.enrols
        said.fixed = entry.settings.fixed
        guard let mapping = entry.settings.mapping(of: arrival.payload) else {
            return InputReading()
        }
        do throws(ScanError) {
            return try InputReader.read(
                arrival.payload.span, said, by: mapping, limits: parts.limits.current)
        } catch {
            return InputReading(refused: error)
        }
    }

    private func count(_ reading: InputReading, _ receipt: Receipt, _ at: Timestamp) {
        var input = InputStats()
        input.add(reading.scan)
        input.add(receipt)
        parts.edge.read(input)
        parts.edge.inputs.count(name, reading, receipt, at: at)
    }
}
