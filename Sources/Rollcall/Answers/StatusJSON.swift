import RollcallBasis
import RollcallCore
import RollcallStore
import RollcallSupport

/// The object that tells about the watch itself.
enum StatusJSON {
    /// Appends the object of `GET /v1/status`; `edge` knows how the settings were read.
    static func append(_ view: StateView, _ edge: EdgeStats, to body: inout [UInt8]) {
        let engine = view.engine
        JSONWriter.raw("{\"version\":\"", to: &body)
        body.append(contentsOf: BuildInformation.version.utf8)
        JSONWriter.raw("\"", to: &body)
        ResponderJSON.time("as_of", engine.clock.wallNow, to: &body)
        ResponderJSON.time("started_at", view.store.startedAt, to: &body)
        JSONWriter.raw(
            engine.clock.isBlind ? ",\"watching\":false" : ",\"watching\":true", to: &body)
        if let onset = engine.clock.onset {
            ResponderJSON.time("not_watching_since", engine.clock.wall(onset), to: &body)
        }
        appendBlind(engine, to: &body)
        JSONWriter.raw(",\"responders\":{\"active\":", to: &body)
        JSONWriter.integer(Int64(engine.aggregates.active), to: &body)
        for status in Status.allCases {
            count(status.word, engine.aggregates.byStatus[Int(status.rawValue)], to: &body)
        }
        JSONWriter.raw("},\"not_expected\":{\"all\":", to: &body)
        JSONWriter.integer(Int64(engine.aggregates.notExpected.reduce(0, +)), to: &body)
        for reason in NotExpected.allCases {
            count(reason.word, engine.aggregates.notExpected[Int(reason.rawValue)], to: &body)
        }
        JSONWriter.raw("}", to: &body)
        appendGaps(engine.aggregates.openGaps, to: &body)
        ResponderJSON.time(
            "last_batch_at", engine.counters.lastBatchAt ?? .distantPast, to: &body)
        appendSources(engine, to: &body)
        for member in parts(view, edge).members { append(member.name, member.value, to: &body) }
        if let subscriptions = edge.subscriptions.answer(now: engine.clock.wallNow) {
            append("subscriptions", subscriptions, to: &body)
        }
        // On one machine there is none (S16).
        if let cluster = view.cluster { append("cluster", cluster, to: &body) }
        JSONWriter.raw("}\n", to: &body)
    }

    private static func append(_ name: String, _ value: JSONTree, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.string(name.utf8, to: &body)
        body.append(UInt8(ascii: ":"))
        value.append(to: &body)
    }

    // MARK: - The parts beside the watch

    /// The store, alerts, nudges, receivers and settings, each in a few numbers.
    private static func parts(_ view: StateView, _ edge: EdgeStats) -> JSONTree {
        let standing = NudgeStanding(view.engine, store: 0)
        let settings = edge.settings
        let sentence = Sentence(view)
        return [
            "sentence": sentence.tree, "reachable": sentence.reachable,
            "clocks": ClockJSON.list(view.engine, edge), "store": store(view.store),
            "alerts": alerts(view),
            "nobody_reached": view.store.unreached.tree,
            // The fleet cell knows nobody: its cells nudge.
            "nudges": view.engine.policy.role == .fleet
                ? nil
                : [
                    "mode": AlertJSON.word(standing.mode.word),
                    "sink": AlertJSON.word(standing.sink.word),
                    "frozen_until": standing.frozenUntil.map { AlertJSON.time($0) } ?? nil,
                    "pending": .integer(Int64(view.store.pushesPending)),
                ],
            "receivers": .list(
                view.engine.policy.receivers.map { receiver in
                    let pending = view.store.messagesPending[receiver.name] ?? 0
                    return [
                        "name": AlertJSON.text(receiver.name),
                        "kind": AlertJSON.word(receiver.kind.word),
                        "pending": .integer(Int64(pending)),
                    ]
                }),
            "settings": [
                "loaded_at": AlertJSON.time(settings.loadedAt),
                "last_reload_ok": .boolean(settings.isReloadSuccessful),
            ],
        ]
    }

    private static func store(_ store: StoreStats) -> JSONTree {
        [
            "state": store.isFailing ? "failing" : "ok", "size_bytes": .integer(store.usedBytes),
            "size_max_bytes": .integer(store.bytesMax),
            "nearly_full": .boolean(store.isNearlyFull),
            "oldest_at": AlertJSON.time(store.journalOldestAt ?? .distantPast),
            "checkpoint_at": AlertJSON.time(store.checkpointAt ?? .distantPast),
            "lost": store.loss.map { lost($0) } ?? nil,
        ]
    }

    private static func lost(_ loss: StateLoss) -> JSONTree {
        [
            "at": AlertJSON.time(loss.at), "cause": AlertJSON.word(loss.cause.word),
            "kept": .list(loss.kept.map { .text($0) }),
        ]
    }

    /// Without the watchdog: it fires for as long as all is well (A5).
    private static func alerts(_ view: StateView) -> JSONTree {
        var (firing, pending) = (Int64(0), Int64(0))
        func count(_ state: AlertState) {
            if state == .firing { firing += 1 } else { pending += 1 }
        }
        view.engine.alerting.board.forEach { key, alert in
            if key.name != .watchdog { count(alert.state) }
        }
        for alarm in view.store.alarms { alarm.alertState.map(count) }
        let silences = Int64(view.engine.alerting.notifications.silences.count)
        return [
            "firing": .integer(firing), "pending": .integer(pending),
            "silences": .integer(silences),
        ]
    }

    /// Appends `,"key":value`.
    static func count(_ key: StaticString, _ value: Int, to body: inout [UInt8]) {
        body.append(UInt8(ascii: ","))
        JSONWriter.word(key, to: &body)
        body.append(UInt8(ascii: ":"))
        JSONWriter.integer(Int64(value), to: &body)
    }

    /// Appends why the silent are silent, as of the same instant as their number (D7).
    private static func appendGaps(_ gaps: OpenGaps, to body: inout [UInt8]) {
        JSONWriter.raw(",\"gaps\":{\"open\":", to: &body)
        JSONWriter.integer(Int64(gaps.all), to: &body)
        JSONWriter.raw(",\"suspected\":{", to: &body)
        var isFirst = true
        for cause in GapCause.allCases where gaps.count(cause) > 0 {
            if !isFirst { body.append(UInt8(ascii: ",")) }
            isFirst = false
            JSONWriter.word(cause.word, to: &body)
            body.append(UInt8(ascii: ":"))
            JSONWriter.integer(Int64(gaps.count(cause)), to: &body)
        }
        JSONWriter.raw("}}", to: &body)
    }

    private static func appendBlind(_ engine: Engine, to body: inout [UInt8]) {
        JSONWriter.raw(",\"blind\":[", to: &body)
        var isFirst = true
        for reason in BlindReason.allCases {
            guard let since = engine.clock.open[Int(reason.rawValue)] else { continue }
            JSONWriter.raw(isFirst ? "{\"reason\":" : ",{\"reason\":", to: &body)
            isFirst = false
            JSONWriter.word(reason.word, to: &body)
            ResponderJSON.time("since", engine.clock.wall(since), to: &body)
            JSONWriter.raw("}", to: &body)
        }
        JSONWriter.raw("]", to: &body)
    }

    private static func appendSources(_ engine: Engine, to body: inout [UInt8]) {
        JSONWriter.raw(",\"sources\":", to: &body)
        JSONWriter.list(engine.sight.feed.sources, to: &body) { source, body in
            JSONWriter.raw("{\"source\":", to: &body)
            JSONWriter.string(source.name, to: &body)
            JSONWriter.raw(source.downSince == nil ? ",\"up\":true" : ",\"up\":false", to: &body)
            JSONWriter.raw(",\"every_seconds\":", to: &body)
            body.append(contentsOf: "\(Double(source.every.count) / 1000)".utf8)
            ResponderJSON.time("last_beat_at", engine.clock.wall(source.lastBeat), to: &body)
            JSONWriter.raw("}", to: &body)
        }
    }
}
