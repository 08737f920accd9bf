import RollcallCore

@testable import RollcallBasis
@testable import RollcallSupport

/// Files of replay lines, as `rollcall replay` reads them. Whatever they say, the engine stays whole,
/// unless they hand over another one, which is taken at its word as a checkpoint is; and every
/// decision is a line of JSON.
enum ReplayFuzz {
    /// More lines say nothing new.
    private static let linesMax = 64

    static let target = FuzzTarget("replay", texts: samples) { bytes in
        var replay = Replay(policy: Policy(), reportsUpdates: true, decodePolicy: policy)
        var check = ReplayCheck(decodePolicy: policy)
        var output: [UInt8] = []
        var isOurs = true
        for line in bytes.split(separator: 0x0A).prefix(linesMax) {
            guard (try? replay.fold(Array(line), to: &output)) != nil else { break }
            require((try? check.fold(Array(line))) != nil, "both take the same lines")
            isOurs = isOurs && !isState(Array(line))
        }
        replay.finish(to: &output)
        check.finish()
        let broken = replay.engine.brokenInvariants()
        require(broken.isEmpty || !isOurs, "\(broken)")
        for line in output.split(separator: 0x0A) {
            require((try? JSONTree(reading: Array(line))) != nil, "a decision is JSON")
        }
    }

    private static func isState(_ line: [UInt8]) -> Bool {
        guard case .object(let members) = try? JSONTree(reading: line) else { return false }
        return members.contains { $0.name == "kind" && $0.value == .text("state") }
    }

    private static func policy(_ body: [UInt8]) throws -> Policy {
        try Configuration(yaml: String(decoding: body, as: UTF8.self)).policy
    }

    private static func line(_ at: String, _ kind: String, _ more: String = "") -> String {
        #"{"at":"2026-11-21T\#(at)Z","kind":"\#(kind)"\#(more)}"#
    }

    private static let samples: [String] = {
        let story = [
            line("03:00:00", "start"),
            line("03:00:01", "batch", #","source":"pod","body":[\#(ItemSamples.batch)]"#),
            line("03:00:02", "responder", #","body":[\#(ItemSamples.fact)]"#),
            line("03:00:03", "transition", #","body":\#(ItemSamples.transition)"#),
            line("03:00:04", "heartbeat", #","body":{"every_seconds":30.5}"#),
            line("03:00:05", "clock", #","body":{"step_ms":-90000}"#),
            line("03:00:05", "turn", #","body":{"late_ms":7000}"#),
            line("03:20:00", "turn"), line("03:20:00", "stop"),
            line("03:30:00", "start", #","body":{"restored":true}"#), line("09:00:00", "end"),
        ]
        let roster =
            #","shrink":"allow","roster":"r","more":true,"erased":[{"index":1,"enrols":true}],"#
            + #""body":[\#(ItemSamples.fact),{"responder_id":"b"}]"#
        let strange = [
            line("03:00:00", "roster", roster),
            line("03:00:01", "erase", #","body":{"responder_id":"41"}"#),
            line("03:00:01", "erase", #","body":{"person":0,"hash":"00000000000000aa"}"#),
            line("03:00:02", "wake", #","body":{"people":[0,1,2]}"#),
            line("03:00:02", "company", #","body":{"people":[0],"alone":[1,2]}"#),
            line("03:00:03", "fleet_cell", #","body":{"state":"dark"}"#),
            line("03:00:03", "refused", #","body":{"count":12}"#),
            line("03:00:04", "store", #","body":{"state":"failing"}"#),
            line("03:00:09", "store", #","body":{"state":"ok"}"#),
            line("03:00:10", "policy", #","body":{"liveness":{"on_duty":{"expected":"20s"}}}"#),
            line(
                "03:00:11", "outcome",
                #","body":{"push":1,"person":0,"kind":"nudge","outcome":"delivered","#
                    + #""token":"00000000000000aa"}"#),
            line("03:00:12", "silence"), line("03:00:12", "drill"),
            line("03:01:00", "turn", #","body":{"number":3,"engine_version":6,"decided":[{}]}"#),
        ]
        var cells: [UInt8] = []
        if let map = EngineSamples.cellMap {
            let at = Timestamp(milliseconds: EngineSamples.start.milliseconds)
            _ = EventLine.append(.cells(map), at: at, policy: { _ in [] }, to: &cells)
        }
        var state: [UInt8] = []
        StateLine.append(EngineSamples.engine(), turn: 7, to: &state)
        let after = line("09:00:00", "turn") + "\n" + line("10:00:00", "end")
        return [
            story.joined(separator: "\n"), strange.joined(separator: "\n"),
            String(decoding: state, as: UTF8.self) + after, String(decoding: cells, as: UTF8.self),
        ]
    }()
}

/// Engines that know something.
enum EngineSamples {
    static let start = RunningTime(milliseconds: 1_795_230_000_000)

    /// The map of two cells.
    static let cellMap = CellMap(
        first: ["a", "b"].map { name in
            CellMap.Cell(name: Array(name.utf8), urls: [Array("http://\(name)".utf8)])
        })

    /// A mass of the harbour's people.
    static let mass: FleetMass = {
        var mass = FleetMass()
        (mass.number, mass.region) = (1, Array("harbour".utf8))
        mass.since = Timestamp(milliseconds: start.milliseconds)
        mass.to = Timestamp(milliseconds: start.milliseconds + 60_000)
        (mass.members, mass.active) = (5, 9)
        return mass
    }()

    /// Some people, a gap, an alert, a nudge, a silence, a map.
    static func engine() -> Engine {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = .expo
        var engine = Engine(policy: policy)
        _ = engine.fold(.start(), at: start)
        _ = engine.fold(.heartbeat(source: [0x70], every: .seconds(30)), at: start)
        for (kind, body) in [
            (ItemKind.batch, "[\(ItemSamples.batch),{\"responder_id\":\"b\",\"region\":\"n\"}]"),
            (.responder, ItemSamples.fact), (.transition, ItemSamples.transition),
        ] {
            if let scan = try? ItemScanner.scan(Array(body.utf8).span, kind: kind) {
                _ = engine.fold(.items(scan.items, source: [0x70]), at: start + .seconds(1))
            }
        }
        let silence = Silence(
            matchers: [LabelMatcher(name: [0x72], isEqual: true, values: [[0x6E]])],
            endsAt: Timestamp(milliseconds: start.milliseconds + 90_000_000), author: [0x61],
            comment: [0x63])
        _ = engine.fold(.silence(.begin(silence)), at: start + .seconds(2))
        if let cellMap { _ = engine.fold(.cells(cellMap), at: start + .seconds(3)) }
        engine.advance(to: start + .seconds(5 * 3600))
        _ = engine.takeDecisions()
        return engine
    }
}
