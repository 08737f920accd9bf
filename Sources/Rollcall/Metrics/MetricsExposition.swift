import RollcallCore
import RollcallStore
import RollcallSupport

/// The stats that the store knows of itself and the engine does not.
package struct StoreStats: Equatable, Sendable {
    /// The version of the product.
    package var version: String
    /// Wall time at which this process opened the store; never before it did.
    package var startedAt = Timestamp.distantPast
    /// Bytes of the store that hold something, as `storage.size` counts them: of some seconds ago.
    package var usedBytes: Int64 = 0
    /// The most that `storage.size` allows them to be; 0 if nothing is stored.
    package var bytesMax: Int64 = 0
    /// Wall time of the oldest row that the journal still holds; nil while it holds none.
    package var journalOldestAt: Timestamp?
    /// The instant at which the newest checkpoint was begun; nil before the first.
    package var checkpointAt: Timestamp?
    /// The age of the newest checkpoint; nil before the first.
    package var checkpointAge: Milliseconds?
    /// Decisions that came out otherwise when they were folded again at a start (J3).
    package var refoldDifferences = 0
    /// Segments of packed history whose rows this start found damaged, and made anew (J12).
    package var segmentsMended = 0
    /// True while a turn's commit has failed: the engine shown is the last committed one, and the
    /// watch is blind although that engine does not know (J6).
    package var isFailing = false
    /// Erased people of whom the store still holds something.
    package var erasuresPending = 0
    /// Messages that wait, by receiver.
    package var messagesPending: [[UInt8]: Int] = [:]
    /// Pushes that the sink has not taken yet.
    package var pushesPending = 0
    /// The alerts that fire and nobody has taken (D1).
    package var unreached = Unreached()
    /// The alarm that tells of its failing.
    package var alarm: StoreAlarm?
    /// The loss with a store; nil if nothing ever was lost.
    package var loss: StateLoss?
    /// The alarm that tells of that loss.
    package var lossAlarm: StoreAlarm?

    /// The alarms about it that the engine does not know.
    var alarms: [StoreAlarm] { [alarm, lossAlarm].compactMap(\.self) }

    /// True above 80 % of that: history goes soon, before its time.
    var isNearlyFull: Bool { bytesMax > 0 && usedBytes > bytesMax / 5 * 4 }

    /// The stats of a store that has nothing yet.
    package init(version: String) { self.version = version }

    /// Appends the families of the store and of the build.
    fileprivate func append(to page: inout Exposition) {
        page.family(
            "rollcall_journal_oldest_timestamp_seconds", .gauge,
            "When the oldest journal row was written, or 0.")
        page.sample(journalOldestAt.map { Quantity($0) } ?? 0)
        page.family(
            "rollcall_store_used_bytes", .gauge,
            "Bytes of the store that hold something, as storage.size counts them: without its log.")
        page.sample(Quantity(Int(usedBytes)))
        page.family(
            "rollcall_store_size_limit_bytes", .gauge,
            "The cap storage.size: from 15/16 of it on the oldest history goes.")
        page.sample(Quantity(Int(bytesMax)))
        page.family(
            "rollcall_erasures_pending", .gauge,
            "Erased people of whom the store still holds something.")
        page.sample(Quantity(erasuresPending))
        // An age has no value for "never": 0 would be the best one. So it is left out.
        page.family(
            "rollcall_checkpoint_age_seconds", .gauge,
            "Age of the newest checkpoint; absent before the first.")
        if let checkpointAge { page.sample(Quantity(checkpointAge)) }
        page.family(
            "rollcall_state_lost_timestamp_seconds", .gauge,
            "When the store was begun anew or found too old, or 0.")
        page.sample(loss.map { Quantity($0.at) } ?? 0)
        page.family(
            "rollcall_store_segments_mended", .gauge,
            "Segments of packed history whose rows the last start found damaged and made anew.")
        page.sample(Quantity(segmentsMended))
        page.family(
            "rollcall_refold_differences", .counter,
            "Decisions that came out otherwise when folded again.")
        page.sample(Quantity(refoldDifferences))
        unreached.append(to: &page)
        page.family("rollcall_build", .info, "What this program is.")
        page.sample(["version": .bytes(Array(version.utf8))], 1)
    }
}

/// The part of the page of metrics that the state writer has to write: what the engine and the store
/// say. The edges tell theirs on any thread, so that the state writer is not held up for it.
package struct StateMetrics: Sendable {
    private let format: Exposition.Format
    private let written: MetricsText
    private let receivers: [[UInt8]]
    private let messagesPending: [[UInt8]: Int]
    private let pushesPending: Int

    /// The engine's and the store's part. `room` is how many bytes are likely to be enough for it.
    ///
    /// Its cost follows the number of regions with labels, not of responders.
    package init(
        engine: Engine, store: StoreStats, format: Exposition.Format, room: Int? = nil
    ) {
        var page = Exposition(format: format, capacity: room ?? 131_072)
        var alarms: [AlertName: AlertState] = [:]
        for alarm in store.alarms { alarms[alarm.subject.name] = alarm.alertState }
        page.append(engine, isStoreFailing: store.isFailing, alarms: alarms)
        store.append(to: &page)
        page.appendReceivers(of: engine.policy)
        page.family(
            "rollcall_snapshot_age_seconds", .gauge,
            "How old this page is: 0 unless the keeper was too busy to write a new one.")
        page.sample(0)
        written = MetricsText(bytes: page.bytes, natives: page.natives)
        self.format = format
        receivers = engine.policy.receivers.map(\.name)
        messagesPending = store.messagesPending
        pushesPending = store.pushesPending
    }

    /// Returns the whole page.
    ///
    /// `listener` is what the listener of everything but probes counted; `member` is nil on one
    /// machine; `process` is nil where nothing outside of the engine may show, as in tests and
    /// simulations.
    package func page(
        edge: EdgeStats, listener: HTTPStats, member: MemberStats?, process: ProcessStats?
    ) -> MetricsText {
        var rest = Exposition(format: format, capacity: 131_072)
        edge.append(
            to: &rest, receivers: receivers, pending: messagesPending, pushes: pushesPending)
        listener.append(to: &rest)
        member?.append(to: &rest)
        process?.append(to: &rest)
        var whole = written
        whole.natives.merge(rest.natives) { $1 }
        whole.bytes += rest.finish()
        // Who may not lead any more does not say that it watches (S6).
        if member?.isPermitted == false { whole.bytes = MetricsExposition.blind(whole.bytes) }
        return whole
    }
}

/// A page of metrics as text, with the histograms that messages tell otherwise.
package struct MetricsText: Sendable {
    /// The page.
    package var bytes: [UInt8]
    /// By the names of their families.
    package var natives: [[UInt8]: NativeHistogram]

    /// This page in protobuf, if it is one in OpenMetrics; nil if a line of it cannot be read.
    package var messages: [UInt8]? {
        MetricsPage.families(bytes).map { MetricMessages.page($0, natives: natives) }
    }
}

/// The page that `GET /metrics` answers.
package enum MetricsExposition {
    /// The whole page at once.
    package static func bytes(
        engine: Engine, edge: EdgeStats, store: StoreStats,
        listener: HTTPStats = HTTPStats(), member: MemberStats? = nil, process: ProcessStats?,
        format: Exposition.Format
    ) -> [UInt8] {
        StateMetrics(engine: engine, store: store, format: format)
            .page(edge: edge, listener: listener, member: member, process: process).bytes
    }

    /// The greatest age of a page that tells a present: whoever stood still for longer does not
    /// watch.
    package static let presentFor = Milliseconds.seconds(5)

    /// A copy of a page as it is told when it is so old: it says its age, and who tells an old
    /// present does not watch.
    package static func aged(_ page: [UInt8], by age: Milliseconds) -> [UInt8] {
        let seconds = Quantity(max(Milliseconds(0), age))
        let page = Self.page(page, with: seconds, of: "rollcall_snapshot_age_seconds")
        return age > presentFor ? blind(page) : page
    }

    /// A copy of a page that does not say that it watches.
    fileprivate static func blind(_ page: [UInt8]) -> [UInt8] {
        Self.page(page, with: 0, of: "rollcall_watching")
    }

    /// The page with another value of a family that has one sample and no labels.
    private static func page(
        _ page: [UInt8], with value: Quantity, of family: StaticString
    ) -> [UInt8] {
        var mark = Array("\n\(family) ".utf8)
        guard let found = page.firstRange(of: mark),
            let end = page[found.upperBound...].firstIndex(of: UInt8(ascii: "\n"))
        else { return page }
        value.append(to: &mark)
        return Array(page[..<found.lowerBound]) + mark + page[end...]
    }
}

extension HTTPStats {
    /// Appends the families of connections.
    fileprivate func append(to page: inout Exposition) {
        page.family("rollcall_http_connections", .gauge, "Connections open now.")
        page.sample(Quantity(connectionsOpen))
        page.family(
            "rollcall_http_connections_max", .gauge, "Connections that may be open at once.")
        page.sample(Quantity(connectionsMax))
        page.family(
            "rollcall_http_connections_cut", .counter,
            "Connections ended because they were slow, too many, or idle while all were in use.")
        for (phase, count) in [
            ("header", headersCut), ("body", bodiesCut), ("answer", responsesCut),
            ("idle", idleCut), ("newcomer", newcomersCut),
        ] as [(StaticString, Int)] {
            page.sample(["phase": .word(phase)], Quantity(count))
        }
    }
}
