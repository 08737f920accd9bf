import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// A story that goes through the real store in virtual time, with whatever an export must carry.
final class ExportStory {
    static let began: Int64 = 1_795_230_000_000

    let path: String
    private(set) var store: StateStore
    private(set) var engine = Engine()
    private(set) var turn: Int64 = 0
    /// Seconds since the beginning.
    private var seconds: Int64 = 0
    /// The walls at which checkpoints were cut.
    private(set) var cuts: [Timestamp] = []

    init(path: String) throws {
        self.path = path
        store = try StateStore(path: path)
        try commit([.start(), .policy(Self.policy(offlineAfter: 180))])
    }

    static func policy(offlineAfter: Int64) -> Policy {
        var policy = Configuration().policy
        policy.onDuty.offlineAfter = .seconds(offlineAfter)
        policy.nudges.sink = .expo
        policy.nudges.mode = .live
        policy.nudges.staleAfter.standard = .seconds(300)
        policy.nudges.minInterval = .seconds(900)
        policy.coverageRegions = [Array("south \"s\"".utf8)]
        policy.alerts.noOnlineResponders.pendingFor = .seconds(20)
        return policy
    }

    /// Where it is.
    var wall: Timestamp { engine.clock.wallNow }

    func items(_ kind: ItemKind, _ body: String) throws -> ItemList {
        try ItemScanner.scan(Array(body.utf8).span, kind: kind).items
    }

    /// A turn `after` so many seconds with these events, and whatever `also` adds to it.
    func commit(
        _ events: [Event], after: Int64 = 5, also: (inout PendingTurn) -> Void = { _ in }
    ) throws {
        seconds += after
        let told = RunningTime(milliseconds: Self.began + seconds * 1000)
        let now = max(told, engine.openInstant)
        var pending = PendingTurn()
        for event in events { _ = pending.fold(event, into: &engine, at: now) }
        engine.advance(to: now)
        pending.take(from: &engine)
        turn += 1
        also(&pending)
        pending.close(number: turn, engine)
        try store.commit([pending])
    }

    func batch(_ body: String, source: String = "default") throws -> Event {
        .items(try items(.batch, body), source: Array(source.utf8))
    }

    func facts(_ body: String) throws -> Event {
        .items(try items(.responder, body), source: EventSource.standard)
    }

    /// Cuts a checkpoint of this turn.
    func checkpoint() throws {
        let cut = Checkpoint(engine)
        try store.journal.begin()
        try store.journal.beginCheckpoint(
            turn: turn, engineVersion: Engine.version, wallMilliseconds: wall.milliseconds)
        for index in 0..<cut.sliceCount {
            try cut.slice(index).withUnsafeBytes {
                try store.journal.appendSlice(turn: turn, index: Int64(index), body: $0)
            }
        }
        try store.journal.completeCheckpoint(turn: turn, slices: Int64(cut.sliceCount))
        try store.journal.commit()
        cuts.append(wall)
    }

    /// Killed and started again: what the store holds is what is known.
    func crash(away: Int64) throws {
        try store.journal.close()
        store = try StateStore(path: path)
        let recovered = try store.recover()
        try #require(recovered.differences == 0)
        engine = recovered.engine
        try commit([.start()], after: away)
    }

    /// Erases somebody, and removes what is left of them.
    func erase(_ id: String, isRemoved: Bool) throws {
        try commit([.erase(.id(Array(id.utf8)), source: EventSource.standard)])
        guard isRemoved else { return }
        try removeErased()
    }

    /// Removes what is left of those who are being erased.
    func removeErased() throws {
        try checkpoint()
        var writer = ErasureWriter(try store.journal.erasures())
        while writer.isBusy(checkpoint: turn) || writer.wantsLogCut {
            if writer.wantsLogCut {
                _ = try store.journal.checkpointWAL(.truncate)
                writer.logWasCut(at: wall)
            }
            try store.journal.begin()
            try writer.write(to: store.journal, checkpoint: turn, engine)
            try store.journal.commit()
            writer.committed()
        }
    }

    func close() throws { try store.journal.close() }

    // MARK: - The story

    /// Some minutes with everything in them.
    func tell() throws {
        let people = (0..<12).map { #"{"responder_id":"r-\#($0)","region":"north"}"# }
        try commit([try batch("[\(people.joined(separator: ","))]", source: "backend-1")])
        try commit([
            try facts(
                #"{"responder_id":"r-1","push_token":"ExponentPushToken[SECRET1]","circles":["c"]}"#
            ),
            try facts(#"{"responder_id":"r-2","push_token":"ExponentPushToken[SECRET2]"}"#),
        ])
        for round in 0..<6 {
            let updates = (0..<8).map {
                #"{"responder_id":"r-\#($0)","updates":[{"sequence":\#(round),"captured_at":"#
                    + "\(wall.milliseconds - 1500)}],\"telemetry\":{\"queue_depth\":\(round)}}"
            }
            try commit([try batch("[\(updates.joined(separator: ","))]")], after: 20)
            try commit([])
            if round == 3 { try checkpoint() }
        }
        try commit([.clock(step: Milliseconds(-4000)), .refused(count: 40)])
        try commit([.heartbeat(source: Array("backend-1".utf8), every: Milliseconds(5000))])
        try commit([], after: 30)
        try commit([.heartbeat(source: Array("backend-1".utf8), every: Milliseconds(0))])
        try roster()
        try commit([.turn(lateness: Milliseconds(40_000))], after: 45)
        try crash(away: 90)
        try checkpoint()
        try nudges()
        try commit([.store(isFailing: true)])
        try commit([.store(isFailing: false)], after: 20)
        try commit([.policy(Self.policy(offlineAfter: 240))])
        try commit([try batch(#"{"responder_id":"r-3","install_id":"i-2"}"#)], after: 200)
        for _ in 0..<40 { try commit([]) }
        try skew()
        try commit([.stop])
        try checkpoint()
        try commit([.start()], after: 300)
        for _ in 0..<5 { try commit([], after: 60) }
    }

    /// A source whose clock turns out to be half a minute behind, and is believed.
    private func skew() throws {
        let source = Array("backend-1".utf8)
        try commit([.skew(source: source, Milliseconds(31_000))])
        try commit([.skew(source: source, Milliseconds(31_200))], after: 60)
        let received = wall.milliseconds - 31_500
        try commit([
            try batch(
                #"{"responder_id":"r-4","received_at":\#(received)}"#, source: "backend-1")
        ])
    }

    private func roster() throws {
        let parts = [(0..<6, true), (6..<12, false)]
        for (numbers, hasMore) in parts {
            let entries = numbers.map { #"{"responder_id":"r-\#($0)","duty_state":"ON_DUTY"}"# }
            let list = try items(.rosterEntry, "[\(entries.joined(separator: ","))]")
            let terms = RosterTerms(id: Array("noon".utf8), hasMore: hasMore)
            try commit([.roster(list, source: EventSource.standard, terms)])
        }
        try commit([
            .roster(
                try items(.rosterEntry, #"{"responder_id":"r-1"}"#), source: EventSource.standard,
                RosterTerms())
        ])
    }

    /// Until somebody was nudged whose token then turns out to be dead.
    private func nudges() throws {
        let token = Array("ExponentPushToken[SECRET1]".utf8)
        let hash = StableHash.of(token.span, 0..<token.count)
        for _ in 0..<12 { try commit([try batch(#"{"responder_id":"r-1"}"#)], after: 40) }
        let end = PushEnd(
            number: 1, person: 1, kind: .nudge, outcome: .unregistered, token: hash)
        let call = WakeCall.circle(Array("c".utf8), viewer: Array("r-9".utf8))
        try commit([.pushed(end), .wake(call, source: EventSource.standard)])
        // The same token once more is not taken; another one is.
        try commit([
            try facts(#"{"responder_id":"r-1","push_token":"ExponentPushToken[SECRET1]"}"#)
        ])
        for _ in 0..<25 { try commit([try batch(#"{"responder_id":"r-1"}"#)], after: 40) }
        try commit([
            try facts(#"{"responder_id":"r-1","push_token":"ExponentPushToken[SECRET3]"}"#)
        ])
        for _ in 0..<4 { try commit([try batch(#"{"responder_id":"r-1"}"#)], after: 40) }
    }
}
