import RollcallCore

@testable import RollcallStore

/// Rows of a store, and of its decisions, whatever stands in them: they are read, or make no
/// sense. What a damaged one means to the engine is not asked.
enum JournalFuzz {
    /// More rows say nothing new.
    private static let rowsMax = 64

    static let target = FuzzTarget("journal", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        var replay = JournalReplay()
        var rows = 0
        while !input.rest.isEmpty, rows < rowsMax {
            rows += 1
            let kind = input.byte()
            let body = input.part()
            let isKnown = body.withUnsafeBytes { body in
                decision(kind, body)
                return replay.take(
                    JournalRow(
                        id: Int64(rows), kind: kind, responder: 0, previous: 0, body: body))
            }
            if !isKnown { return }
        }
        _ = replay.finish()
    }

    private static func decision(_ kind: UInt8, _ body: UnsafeRawBufferPointer) {
        let row = DecisionRow(
            id: 1, turn: 1, kind: kind, responder: 1, previous: 0,
            atMilliseconds: EngineSamples.start.milliseconds, body: body)
        _ = DecisionCode.decision(row)
    }

    private static let samples: [[UInt8]] = {
        func items(_ kind: ItemKind, _ body: String) -> ItemList {
            let scan = try? ItemScanner.scan(Array(body.utf8).span, kind: kind)
            return scan?.items ?? ItemList()
        }
        let silence = EngineSamples.engine().alerting.notifications.silences.first
        var roster = RosterTerms()
        roster.id = [0x72]
        let push = PushEnd(number: 1, person: 0, kind: .nudge, outcome: .delivered)
        var all: [Event] = [
            .start(isRestored: true), .items(items(.batch, ItemSamples.batch), source: [0x70]),
            .items(items(.responder, ItemSamples.fact), source: EventSource.standard),
            .items(items(.transition, ItemSamples.transition), source: [0x70]),
            .roster(items(.rosterEntry, "[\(ItemSamples.fact)]"), source: [0x70], roster),
            .erase(.number(0, hash: 7), source: [0x70]),
            .heartbeat(source: [0x70], every: .seconds(20)), .skew(source: [0x70], .seconds(31)),
            .skew(source: [0x70], .seconds(31)), .clock(step: .seconds(-90)),
            .store(isFailing: true), .store(isFailing: false), .refused(count: 3),
            .policy(Policy()), .silence(.end(1)), .drill(receiver: [0x70]), .pushed(push),
            .wake(.members([0, 1]), source: [0x70]), .turn(lateness: .seconds(9)),
            .action(ActionReport(.reload, author: [0x70])),
            .subscription(SubscriptionMark(name: [0x70], number: 3)),
            .peersElsewhere(.people(accompanied: [0], alone: [1])), .fleetCell(isDark: true),
            .masses([EngineSamples.mass]), .stop,
        ]
        if let silence { all.append(.silence(.begin(silence))) }
        if let map = EngineSamples.cellMap {
            all.append(.cells(map))
            all.append(.split(CellSplit(map, own: map.cells[0].name, isNew: false)))
        }
        let each = all.map { rows([$0]) }
        return each + [rows(all)]
    }()

    private static func rows(_ events: [Event]) -> [UInt8] {
        var engine = EngineSamples.engine()
        var turn = PendingTurn()
        let instant = engine.clock.now
        for event in events { _ = turn.fold(event, into: &engine, at: instant) }
        turn.take(from: &engine)
        var input: [UInt8] = []
        for row in turn.rows {
            input += [row.kind] + FuzzInput.part(Array(turn.bytes[row.body]))
        }
        for decision in turn.decisions {
            let code = DecisionCode(decision.decision)
            input += [code.kind.rawValue] + FuzzInput.part(code.body)
        }
        return input
    }
}

/// Checkpoints, whatever stands in their slices. What is read as an engine must be one that can be
/// written: the same bytes come back.
enum CheckpointFuzz {
    static let target = FuzzTarget("checkpoint", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        let version = Int64(input.byte() % UInt8(Engine.version)) + 1
        var reader = CheckpointReader(version: version)
        while !input.rest.isEmpty { reader.take(input.part()) }
        guard let engine = reader.finish() else { return }
        let slices = slices(engine)
        var again = CheckpointReader()
        for slice in slices { again.take(slice) }
        guard let same = again.finish() else { fatalError("what was written cannot be read") }
        require(Self.slices(same) == slices, "the same comes back")
        goesOn(engine)
    }

    /// Whatever it knows, time passes.
    private static func goesOn(_ engine: Engine) {
        var engine = engine
        let instant = engine.clock.now
        _ = engine.fold(.start(), at: instant + .seconds(1))
        engine.advance(to: instant + .seconds(600))
    }

    private static func slices(_ engine: Engine) -> [[UInt8]] {
        let checkpoint = Checkpoint(engine)
        return (0..<checkpoint.sliceCount).map(checkpoint.slice)
    }

    private static let samples = [Engine(), EngineSamples.engine()].map { engine in
        slices(engine).reduce([UInt8(Engine.version) - 1]) { $0 + FuzzInput.part($1) }
    }
}
