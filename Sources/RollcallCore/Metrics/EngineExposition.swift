/// The engine's families of metrics, for a scrape.
///
/// Everything is read from sums that are kept as people change: nobody looks at a responder, and
/// no responder id can get into a label. Series that are known in advance stand at 0 from the
/// first scrape. Source: V1 (the names are literal).
extension Exposition {
    /// Appends all families of the engine.
    ///
    /// `isStoreFailing` is for the turn whose commit failed: the engine shown is the last committed
    /// one and does not know yet that the watch is blind (J6). `alarms` is how alerts about the
    /// store stand, which the engine does not have (A5).
    package mutating func append(
        _ engine: Engine, isStoreFailing: Bool = false, alarms: [AlertName: AlertState] = [:]
    ) {
        appendMemo(engine)
        appendObservation(engine, isStoreFailing: isStoreFailing)
        let regions = RegionLabels(engine)
        appendPeople(engine, regions)
        appendGaps(engine.counters.gaps)
        appendDark(engine, regions)
        appendPromised(engine)
        appendAlerts(engine, regions, alarms)
        appendNudges(engine.counters.nudges, isCell: engine.policy.role == .cell)
        appendDelays(engine.counters)
        appendAges(engine)
        appendServer(engine.counters)
        appendIngest(engine)
    }

    /// The three metrics that the memo names.
    private mutating func appendMemo(_ engine: Engine) {
        family("responders_by_status", .gauge, "Responders expected to report, by status.")
        for status in Status.allCases {
            sample(
                ["status": .word(status.word)],
                Quantity(engine.aggregates.byStatus[Int(status.rawValue)]))
        }
        family(
            "location_update_delay_seconds", .histogram,
            "Time from capture of a location to receipt by the backend.")
        histogram(
            engine.counters.delay, exemplars: engine.delayExemplars, native: engine.nativeDelay)
        family("status_transitions", .counter, "Status changes of responders, whoever saw them.")
        for from in Status.allCases {
            for to in Status.allCases where to != from {
                sample(
                    ["from": .word(from.word), "to": .word(to.word)],
                    Quantity(engine.counters.transitions[Self.pair(from, to)]))
            }
        }
    }

    private static func pair(_ row: Status, _ column: Status) -> Int {
        Int(row.rawValue) * 4 + Int(column.rawValue)
    }

    // MARK: - The watch

    private mutating func appendObservation(_ engine: Engine, isStoreFailing: Bool) {
        let clock = engine.clock
        family(
            "rollcall_watching", .gauge,
            "1 while the watch can see; 0 while it is blind.")
        sample(Quantity(!clock.isBlind && !isStoreFailing))
        family("rollcall_blind", .gauge, "1 while the watch is blind for the reason.")
        for reason in BlindReason.allCases {
            let isOpen = clock.open[Int(reason.rawValue)] != nil
            sample(
                ["reason": .word(reason.word)],
                Quantity(isOpen || (reason == .store && isStoreFailing)))
        }
        family(
            "rollcall_blind_seconds", .counter,
            "Time that the watch was blind for the reason; reasons overlap.")
        for reason in BlindReason.allCases {
            sample(
                ["reason": .word(reason.word)],
                Quantity(Milliseconds(clock.blindMilliseconds(reason))))
        }
        // 0 and not absent before the first: "time() - x > 300" then also holds for a fleet whose
        // backend never sent anything.
        family(
            "rollcall_last_batch_timestamp_seconds", .gauge,
            "When the last batch came from anyone; 0 before any.")
        sample(engine.counters.lastBatchAt.map { Quantity($0) } ?? 0)
        family("rollcall_feed_up", .gauge, "1 while the declared source beats.")
        for source in engine.sight.feed.sources {
            sample(["source": .bytes(source.name)], Quantity(source.downSince == nil))
        }
        family(
            "rollcall_source_skew_seconds", .gauge,
            "By how much the clock of a source that sends sent_at is behind ours.")
        for source in engine.sight.feed.skews.sources {
            sample(["source": .bytes(source.name)], Quantity(source.measured))
        }
    }

    // MARK: - People

    private mutating func appendPeople(_ engine: Engine, _ regions: RegionLabels) {
        let aggregates = engine.aggregates
        family(
            "rollcall_responders", .gauge,
            "Responders expected to report, by region and status.")
        let stencils = Status.allCases.map { status in
            (stencil("region", before: ["status": .word(status.word)]), Int(status.rawValue))
        }
        for row in regions.rows {
            for (stencil, index) in stencils {
                sample(stencil, row.text, Quantity(row.counts[index]))
            }
        }
        family(
            "rollcall_regions_folded", .gauge,
            "Regions without a label of their own, summed as region \"other\".")
        sample(Quantity(regions.foldedCount))
        family(
            "rollcall_names", .gauge,
            "Regions, circles and versions known now; settings under limits bound each.")
        for kind in NameTableKind.allCases {
            sample(["kind": .word(kind.word)], Quantity(engine.people[kind].count))
        }
        family(
            "rollcall_responders_not_expected", .gauge,
            "Responders not expected to report, by first reason.")
        for reason in NotExpected.allCases {
            sample(
                ["reason": .word(reason.word)],
                Quantity(aggregates.notExpected[Int(reason.rawValue)]))
        }
        family(
            "rollcall_telemetry_responders", .gauge,
            "Responders expected to report, by what the phone last said.")
        for (field, counts) in zip(Telemetry.fields, aggregates.telemetry) {
            for (value, count) in zip(field.values, counts) {
                sample(["field": .word(field.name), "value": .word(value)], Quantity(count))
            }
        }
    }

    // MARK: - Locations

    private static var duties: [DutyState] { [.offDuty, .onDuty, .onMission] }

    private mutating func appendDelays(_ counters: Counters) {
        family(
            "rollcall_location_update_delay_seconds", .histogram,
            "Time from capture to receipt by the backend.")
        for duty in Self.duties {
            for platform in Platform.allCases {
                histogram(
                    ["duty_state": .word(duty.word), "platform": .word(platform.word)],
                    counters.delayBy[Int(duty.rawValue) * 4 + Int(platform.rawValue)])
            }
        }
        family(
            "rollcall_update_interval_seconds", .histogram,
            "Time between captures of a responder's locations.")
        for duty in Self.duties {
            histogram(["duty_state": .word(duty.word)], counters.interval[Int(duty.rawValue)])
        }
        family(
            "rollcall_queue_depth", .histogram,
            "Updates that waited in a phone's queue, as told with its batches.")
        histogram(counters.queueDepth)
    }

    private mutating func appendAges(_ engine: Engine) {
        family(
            "rollcall_location_age_seconds", .gaugeHistogram,
            "Watched age of the last location of expected responders.")
        let ages = engine.aggregates.ages.distribution(now: engine.clock.observedNow)
        gaugeHistogram(
            bounds: LocationAges.boundsSeconds.map { Quantity($0) },
            cumulated: ages.cumulated, count: ages.count,
            sum: Quantity(Milliseconds(ages.sumMilliseconds)))
    }

    // MARK: - Input

    private mutating func appendServer(_ counters: Counters) {
        family(
            "rollcall_server_transitions", .counter,
            "Status changes that the server told, as it named them.")
        for from in Status.allCases {
            for to in Status.allCases {
                sample(
                    ["from": .word(from.word), "to": .word(to.word)],
                    Quantity(counters.serverTransitions[Self.pair(from, to)]))
            }
        }
        family(
            "rollcall_disagreements", .counter,
            "Server transitions that the model did not follow.")
        for model in Status.allCases {
            // Of UNKNOWN the server says nothing that could be contradicted (L7).
            for server in Status.allCases where server != model && server != .unknown {
                sample(
                    ["model": .word(model.word), "server": .word(server.word)],
                    Quantity(counters.disagreements[Self.pair(model, server)]))
            }
        }
    }

    private mutating func appendIngest(_ engine: Engine) {
        let counters = engine.counters
        family("rollcall_batches", .counter, "Batches that came, those already known too.")
        sample(Quantity(counters.batches))
        family("rollcall_updates", .counter, "Updates by what became of them.")
        for outcome in UpdateOutcome.allCases {
            sample(
                ["outcome": .word(outcome.word)],
                Quantity(counters.updates[Int(outcome.rawValue)]))
        }
        family(
            "rollcall_clock_skewed_updates", .counter,
            "Updates captured over 2 s after receipt: wrong clocks.")
        sample(Quantity(counters.skewedUpdates))
        family(
            "rollcall_installs_reset", .counter,
            "Installs that took the place of another one of a responder.")
        sample(Quantity(counters.installsReset))
        family("rollcall_journal_events", .counter, "Rows written to the journal.")
        sample(Quantity(engine.journalRows))
    }
}
