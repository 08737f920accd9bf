/// Everything of an engine but the names, the people, and what is counted from them: slice 0 of a
/// checkpoint.
struct CheckpointHead {
    var engine: Engine
    /// People that follow.
    private(set) var people: Int

    /// The head of `engine`; of a new one if the archive is to be read.
    init(_ engine: Engine) {
        self.engine = engine
        people = engine.roster.count
    }

    /// A stored head of this version without the alerts about regions that `known` has forgotten;
    /// nil if it has none, or cannot be read.
    static func bytes(
        _ stored: [UInt8], forgetting erased: ErasedRegions, as known: Engine
    ) -> [UInt8]? {
        var archive = Archive(reading: stored, version: Engine.version)
        var head = CheckpointHead(Engine())
        head.code(&archive)
        guard !archive.isDamaged, archive.isAtEnd,
            head.engine.alerting.board.drop(where: { known.hasForgotten($0, of: erased) })
        else { return nil }
        var copy = Archive()
        head.code(&copy)
        return copy.bytes
    }

    mutating func code(_ archive: inout Archive) {
        if archive.isReading { dropNames() }
        archive.codePart { engine.policy.code(&$0) }
        if archive.isReading {
            engine.people.aggregates = Aggregates(PacePolicy(engine.policy))
        }
        archive.codePart { engine.clock.code(&$0) }
        engine.sight.code(&archive)
        archive.codePart { engine.liveness.declaredWorse.code(&$0) }
        archive.codePart { engine.counters.code(&$0) }
        if archive.version == 1 { codeNamesOfVersion1(&archive) }
        archive.codePart { archive in
            archive.code(&engine.nextRow)
            archive.code(&engine.nextDecision)
            engine.sight.codeStore(&archive)
            archive.code(&engine.hasBegun)
        }
        if archive.version == 1 { return codeTablesOfVersion1(&archive) }
        archive.codePart { engine.erasures.code(&$0) }
        archive.codePart { engine.rosters.code(&$0) }
        archive.codePart { $0.code(&people) }
        if archive.isReading && archive.version < 3 { return }
        archive.codePart { engine.gaps.mass.code(&$0) }
        archive.codePart { engine.gaps.stall.code(&$0) }
        archive.codePart { archive in
            archive.code(&engine.gaps.nextNumber)
            engine.gaps.past.code(&archive)
        }
        if archive.isReading && archive.version < 4 { return }
        archive.codePart { engine.alerting.board.code(&$0) }
        archive.codePart { engine.alerting.notifications.code(&$0) }
        if archive.version >= 5 { archive.codePart { engine.nudges.code(&$0) } }
        codeRest(&archive)
        // The board's timers are as the rules say.
        guard archive.isReading else { return }
        engine.alerting.board.armAgain(engine.policy.alerts)
        engine.alerting.restoreStorms()
        engine.alerting.restoreHolds(engine.clock)
        engine.alerting.board.armRepeats(engine.policy.receivers)
    }

    /// Codes what not every store has: without it there is nothing to be read or written. Only a
    /// cluster has reigns (S16), only whose clients name requests has such names (S19), and only whose
    /// settings name subscriptions has marks of theirs (E2), only a cell has a map (K1), only a fleet
    /// cell hears of cells (K2), and only a cell knows of company in others (K3), and of a fleet cell that is
    /// dark (K4). Each has what stands before it.
    private mutating func codeRest(_ archive: inout Archive) {
        let isOfCell =
            archive.version >= 8
            && !(engine.nudges.peerAnswers.isEmpty && engine.counters.nudges.isWithoutCells
                && !engine.isFleetCellDark)
        let hasCells = archive.version >= 8 && !engine.cells.isEmpty || isOfCell
        let hasMap = archive.version >= 8 && engine.cellMap != nil || hasCells
        let hasMarks = archive.version >= 8 && !engine.subscriptions.isEmpty || hasMap
        let hasKeys = archive.version >= 7 && !engine.requestKeys.isEmpty || hasMarks
        if archive.isReading ? !archive.isAtEnd : !engine.liveness.reigns.isEmpty || hasKeys {
            archive.codePart { archive in
                engine.liveness.reigns.code(&archive)
                engine.membership.code(&archive)
            }
        }
        if archive.version >= 7, archive.isReading ? !archive.isAtEnd : hasKeys {
            archive.codePart { engine.requestKeys.code(&$0) }
        }
        if archive.version >= 8, archive.isReading ? !archive.isAtEnd : hasMarks {
            archive.codePart { engine.subscriptions.code(&$0) }
        }
        if archive.version >= 8, archive.isReading ? !archive.isAtEnd : hasMap {
            archive.codePart { archive in
                archive.code(&engine.cellMap, empty: .none) { $1.code(&$0) }
                // Without a split there is nothing behind.
                if archive.isReading ? !archive.isAtEnd : engine.ownCell != nil {
                    var own = engine.ownCell ?? []
                    archive.code(&own)
                    engine.ownCell = own
                }
            }
        }
        if archive.version >= 8, archive.isReading ? !archive.isAtEnd : hasCells {
            archive.codePart { archive in
                engine.cells.code(&archive)
                // Before somebody fell silent there is nothing behind.
                if archive.isReading ? !archive.isAtEnd : !engine.masses.isEmpty {
                    engine.masses.code(&archive)
                }
            }
        }
        if archive.version >= 8, archive.isReading ? !archive.isAtEnd : isOfCell {
            archive.codePart { archive in
                archive.code(&engine.isFleetCellDark)
                engine.nudges.codePeersElsewhere(&archive)
                engine.counters.nudges.codePendingPeers(&archive)
            }
        }
    }

    /// A new engine knows a region already; a checkpoint brings all of them.
    private mutating func dropNames() {
        for table in NameTableKind.allCases {
            engine.people[table] = engine.people[table].emptied()
        }
    }

    // MARK: - Version 1

    /// Names were part of the head.
    private mutating func codeNamesOfVersion1(_ archive: inout Archive) {
        for table in NameTableKind.allCases {
            var names: [[UInt8]] = []
            archive.code(&names)
            if !engine.people[table].restore(Array(names.dropFirst()), from: 1) {
                archive.refuse()
            }
        }
    }

    /// So was what few people have.
    private mutating func codeTablesOfVersion1(_ archive: inout Archive) {
        archive.code(&engine.ledgers, empty: SequenceLedger()) { $1.code(&$0) }
        archive.code(&engine.liveness.pauses, empty: .distantPast) { $0.code(&$1) }
        archive.code(&engine.liveness.adopted, empty: Adoption()) { $1.code(&$0) }
        archive.code(&engine.liveness.retired, empty: .distantPast) { $0.code(&$1) }
        archive.code(&engine.liveness.transitionIDs, empty: []) { archive, ids in
            archive.code(&ids, empty: 0) { $0.code(&$1) }
        }
        archive.code(&engine.nudges.tokens, empty: []) { $0.code(&$1) }
        var hashes: [UInt64] = []
        archive.code(&hashes, empty: 0) { $0.code(&$1) }
        for hash in hashes { engine.erasures.note(hash, row: 0, now: engine.clock.now) }
    }
}

extension Counters {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&transitions)
        archive.code(&serverTransitions)
        archive.code(&disagreements)
        archive.code(&batches)
        archive.code(&updates)
        archive.code(&skewedUpdates)
        archive.code(&installsReset)
        delay.code(&archive)
        for index in delayBy.indices { delayBy[index].code(&archive) }
        for index in interval.indices { interval[index].code(&archive) }
        queueDepth.code(&archive)
        archive.code(&lastBatchAt, empty: .distantPast) { $0.code(&$1) }
        if archive.isReading && archive.version < 3 { return }
        gaps.code(&archive)
        dark.code(&archive)
        notifications.code(&archive)
        nudges.code(&archive)
        notifications.codeFallbacks(&archive)
        // Since version 7; what is older ends here.
        dark.codePromised(&archive)
        gaps.codeMakers(&archive)
        // Since version 8; what is older ends here.
        nudges.codeAsks(&archive)
    }
}

extension Policy {
    fileprivate mutating func code(_ archive: inout Archive) {
        onDuty.code(&archive)
        onMission.code(&archive)
        archive.code(&lowPowerFactor)
        archive.code(&iosFactor)
        archive.code(&androidFactor)
        archive.code(&serverTransitions)
        archive.code(&forgetAfter)
        archive.code(&feedMinActive)
        archive.code(&feedStallAfter)
        archive.code(&respondersMax)
        archive.code(&regionLabelsMax)
        archive.code(&coverageRegions)
        // Version 1 ends here: its rows and checkpoints remember erased ids for 30 days.
        if archive.isReading && archive.version == 1 { return }
        archive.code(&retention)
        alerts.code(&archive)
        archive.code(&receivers, empty: .empty) { $1.code(&$0) }
        nudges.code(&archive)
        archive.code(&circleNamesMax)
        archive.code(&regionNamesMax)
        archive.code(&versionNamesMax)
        // Since version 6; what is older ends here.
        var timeouts = receivers.map(\.resolveTimeout)
        archive.code(&timeouts, empty: Milliseconds(0)) { $0.code(&$1) }
        for (place, timeout) in zip(receivers.indices, timeouts) {
            receivers[place].resolveTimeout = timeout
        }
        var fallbacks = receivers.map { Fallback(receiver: $0.fallback, after: $0.fallbackAfter) }
        archive.code(&fallbacks, empty: Fallback()) { $1.code(&$0) }
        for (place, fallback) in zip(receivers.indices, fallbacks) {
            receivers[place].fallback = fallback.receiver
            receivers[place].fallbackAfter = fallback.after
        }
        archive.code(&alerts.storm)
        // Since version 7; what is older ends here.
        guard archive.version >= 7 else { return }
        onDuty.background.code(&archive)
        onMission.background.code(&archive)
        archive.code(&promiseMax)
        archive.code(&missionPromiseMax)
        archive.code(&learnsGaps)
        // Since version 8; what is older ends here.
        guard archive.version >= 8 else { return }
        var escalations = receivers.map(\.escalateAfter)
        archive.code(&escalations, empty: Milliseconds(0)) { $0.code(&$1) }
        for (place, after) in zip(receivers.indices, escalations) {
            receivers[place].escalateAfter = after
        }
        alerts.codeOffline(&archive)
        // Without cells there is nothing behind (K7).
        if archive.isReading ? !archive.isAtEnd : role != .whole { archive.code(&role) }
        if archive.isReading ? !archive.isAtEnd : !cell.isEmpty { archive.code(&cell) }
    }

    /// The policy as the journal keeps it.
    package var journalBytes: [UInt8] {
        var copy = self
        return Archive.bytes { copy.code(&$0) }
    }

    /// The policy that `journalBytes` were made of, by this version or an older one; nil if they
    /// are damaged.
    package init?(journalBytes: [UInt8]) {
        self.init()
        if !Archive.reads(part: journalBytes, { code(&$0) }) { return nil }
    }
}

extension AlertRules {
    fileprivate mutating func code(_ archive: inout Archive) {
        highOfflineRate.code(&archive)
        archive.code(&offlineAbove)
        archive.code(&isOfflineByRegion)
        archive.code(&offlineMinActive)
        archive.code(&offlineMin)
        responderFlapping.code(&archive)
        archive.code(&flappingChanges)
        archive.code(&flappingWindow)
        archive.code(&flappingClearBelow)
        noOnlineResponders.code(&archive)
        telemetryFeedDown.code(&archive)
        archive.code(&namesMax)
    }

    /// Behind what older versions wrote.
    fileprivate mutating func codeOffline(_ archive: inout Archive) {
        responderOffline.code(&archive)
        archive.code(&offlineDuties, empty: .none) { $0.code(&$1) }
        archive.code(&offlineRegions)
    }
}

extension AlertRules.Rule {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&isEnabled)
        archive.code(&pendingFor)
        archive.code(&keepFiringFor)
        archive.code(&severity)
        archive.code(&labels, empty: Label([], [])) { $1.code(&$0) }
        archive.code(&annotations, empty: Label([], [])) { $1.code(&$0) }
    }
}

extension Policy.Profile {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&expected)
        archive.code(&degradedAfter)
        archive.code(&offlineAfter)
    }
}

extension Policy.Background {
    fileprivate mutating func code(_ archive: inout Archive) {
        archive.code(&expected)
        archive.code(&degradedAfter)
        archive.code(&offlineAfter)
    }
}

extension Archive {
    /// A table by its numbers, as version 1 wrote it.
    mutating func code<Value>(
        _ table: inout SideTable<Value>, empty: Value,
        _ body: (inout Archive, inout Value) -> Void
    ) {
        var keys: [Int] = []
        code(&keys)
        for key in keys where !isDamaged {
            var value = empty
            body(&self, &value)
            // A number from outside must not make room for itself.
            if (0..<Int(UInt32.max)).contains(key) { table[key] = value } else { refuse() }
        }
    }
}
