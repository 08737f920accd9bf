import Glibc
import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The inputs that subscribe at brokers: a client for each, as the settings have them. Of a watch on
/// several machines only the leader subscribes: the broker knows them all by the same client id. Source:
/// M6.
package final class MQTTInputs: Sendable {
    /// Seconds between two tries to disarm what an earlier start armed.
    private static let disarmEvery: UInt32 = 5

    private let parts: MQTTIntake.Parts
    private let book: MQTTBook
    private let log: Logger
    private let closed = Mutex(false)

    /// No subscriptions yet.
    package init(
        writer: StateWriter, edge: EdgeStats, admission: Admission, limits: BodyLimits,
        log: Logger
    ) {
        parts = MQTTIntake.Parts(
            writer: writer, edge: edge, admission: admission, limits: limits)
        book = edge.mqtt
        self.log = log
    }

    /// Has the subscriptions that the settings name: what is the same stays connected.
    package func follow(_ configuration: Configuration) {
        guard !closed.withLock({ $0 }) else { return }
        let old = book.all
        var entries: [MQTTBook.Entry] = []
        for input in configuration.inputs {
            guard let settings = input.mqtt else { continue }
            let same = old.first { $0.name == input.name && $0.settings == settings }
            if let entry = same ?? start(input.name, settings) { entries.append(entry) }
        }
        for entry in old where !entries.contains(where: { $0.client === entry.client }) {
            entry.client.close()
        }
        book.follow(entries)
        disarm()
    }

    /// Ends all subscriptions, and does not wait for that.
    package func close() {
        closed.withLock { $0 = true }
        for entry in book.all { entry.client.close() }
    }

    private func start(_ name: String, _ settings: MQTTSettings) -> MQTTBook.Entry? {
        let intake = MQTTIntake(name, parts, beats: settings.beats)
        let writer = parts.writer
        let client = MQTTClient(
            input: name, settings, log: log,
            mayConnect: {
                guard writer.isTakingWrites else { return false }
                return writer.board.map { $0.standing.role == .leading } ?? true
            },
            onHeard: { intake.heard() }, deliver: { intake.take($0, $1) })
        guard let client, client.start() else {
            log.error(
                "the system has no thread or descriptor left: nobody is heard by this input",
                metadata: ["input": "\(name)"])
            return nil
        }
        return MQTTBook.Entry(name: name, settings: settings, client: client)
    }

    /// Disarms the switches of inputs that beat no more: else their absence would be a fault of the
    /// watch (B2). A member that follows tries again: it may lead by then.
    private func disarm() {
        let writer = parts.writer
        writer.ask { [self] view in
            let beating = book.all.filter(\.settings.beats).map { MQTTIntake.source(of: $0.name) }
            for name in view.engine.sight.feed.sources.map(\.name)
            where name.starts(with: MQTTIntake.sourcePrefix) && !beating.contains(name) {
                writer.write(.heartbeat(source: name, every: Milliseconds(0))) { [self] outcome in
                    if case .unavailable = outcome { disarmLater() }
                }
            }
        }
    }

    private func disarmLater() {
        _ = DetachedThread.start { [self] in
            sleep(Self.disarmEvery)
            if !closed.withLock({ $0 }) { disarm() }
        }
    }
}
