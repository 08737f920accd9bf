import RollcallCore

/// What the store knows of itself and the engine does not.
package struct StoreFigures: Equatable, Sendable {
    /// The version of the product.
    package var version: String
    /// Wall time at which this process opened the store; never before it did.
    package var startedAt = Timestamp.distantPast
    /// Bytes of the store that hold something, as `storage.size` counts them: of some seconds ago.
    package var usedBytes: Int64 = 0
    /// Wall time of the oldest row that the journal still holds; nil while it holds none.
    package var journalOldestAt: Timestamp?
    /// When the newest checkpoint was begun; nil before the first.
    package var checkpointAt: Timestamp?
    /// How old the newest checkpoint is; nil before the first.
    package var checkpointAge: Milliseconds?
    /// Decisions that came out otherwise when they were folded again at a start (J3).
    package var refoldDifferences = 0
    /// True while a turn's commit has failed: the engine shown is the last committed one, and the
    /// watch is blind although that engine does not know (J6).
    package var isFailing = false
    /// Erased people of whom the store still holds something.
    package var erasuresPending = 0
    /// Messages that wait, by receiver.
    package var messagesPending: [[UInt8]: Int] = [:]
    /// Pushes that the sink has not taken yet.
    package var pushesPending = 0
    /// What is told of its failing.
    package var alarm: StoreAlarm?
    /// What was lost with a store; nil if nothing ever was.
    package var loss: StateLoss?
    /// What is told of that.
    package var lossAlarm: StoreAlarm?

    /// The alarms about it that the engine does not know.
    var alarms: [StoreAlarm] { [alarm, lossAlarm].compactMap(\.self) }

    /// The figures of a store that has nothing yet.
    package init(version: String) { self.version = version }

    /// Appends the families of the store and of the build.
    fileprivate func append(to page: inout Exposition) {
        page.family(
            "rollcall_journal_oldest_timestamp_seconds", .gauge,
            "When the oldest journal row was written, or 0.")
        page.sample(journalOldestAt.map { Quantity($0) } ?? 0)
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
            "rollcall_refold_differences", .counter,
            "Decisions that came out otherwise when folded again.")
        page.sample(Quantity(refoldDifferences))
        page.family("rollcall_build", .info, "What this program is.")
        page.sample(["version": .bytes(Array(version.utf8))], 1)
    }
}

/// The page that `GET /metrics` answers.
package enum MetricsPage {
    /// The whole page.
    ///
    /// Its cost follows the number of regions with labels, not of responders. `listener` is what
    /// the listener of everything but probes counted; `process` is nil where nothing outside of the
    /// engine may show, as in tests and simulations.
    package static func bytes(
        engine: Engine, edge: EdgeFigures, store: StoreFigures,
        listener: HTTPFigures = HTTPFigures(), process: ProcessFigures?,
        format: Exposition.Format
    ) -> [UInt8] {
        var page = Exposition(format: format, capacity: 131_072)
        var alarms: [AlertName: AlertState] = [:]
        for alarm in store.alarms { alarms[alarm.subject.name] = alarm.alertState }
        page.append(engine, isStoreFailing: store.isFailing, alarms: alarms)
        store.append(to: &page)
        edge.append(
            to: &page, receivers: engine.policy.receivers.map(\.name),
            pending: store.messagesPending, pushes: store.pushesPending)
        listener.append(to: &page)
        process?.append(to: &page)
        return page.finish()
    }
}

extension HTTPFigures {
    /// Appends the families of connections.
    fileprivate func append(to page: inout Exposition) {
        page.family("rollcall_http_connections", .gauge, "Connections open now.")
        page.sample(Quantity(connectionsOpen))
        page.family(
            "rollcall_http_connections_max", .gauge, "Connections that may be open at once.")
        page.sample(Quantity(connectionsMax))
        page.family(
            "rollcall_http_connections_cut", .counter,
            "Connections ended because they were slow, or idle while all were in use.")
        for (phase, count) in [
            ("header", headersCut), ("body", bodiesCut), ("answer", responsesCut),
            ("idle", idleCut),
        ] as [(StaticString, Int)] {
            page.sample(["phase": .word(phase)], Quantity(count))
        }
    }
}
