import Logging
import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallBasis

/// What the log tells of what was decided, and of whom. Source: D4.
@Suite struct DecisionLogTests {
    private static let wall: Int64 = 1_795_219_200_000

    private let capture = LogCapture()

    /// A fleet whose people report once.
    private func fleet(_ count: Int, policy: Policy = Policy()) throws -> Engine {
        var engine = Engine(policy: policy)
        _ = engine.fold(.clock(step: Milliseconds(Self.wall)), at: RunningTime(milliseconds: 0))
        for number in 0..<count {
            let body = Array("{\"responder_id\":\"secret-\(number)\",\"region\":\"north\"}".utf8)
            let scan = try ItemScanner.scan(body.span, kind: .batch)
            _ = engine.fold(.items(scan.items, source: []), at: RunningTime(milliseconds: 0))
        }
        engine.settle()
        return engine
    }

    private func report(_ id: Int, to engine: inout Engine, at: Int64) throws {
        let body = Array("{\"responder_id\":\"secret-\(id)\"}".utf8)
        let scan = try ItemScanner.scan(body.span, kind: .batch)
        _ = engine.fold(.items(scan.items, source: []), at: RunningTime(milliseconds: at))
    }

    private func lines(_ word: String) -> [String] { capture.lines.filter { $0.contains(word) } }

    @Test func `D4: who goes OFFLINE and who is back is told by the gap's number, not by an id`()
        throws
    {
        var engine = try fleet(2)
        var log = DecisionLog(capture.logger)
        engine.advance(to: RunningTime(milliseconds: 180_000))
        log.writeLog(engine.takeDecisions(), of: engine, at: 180_000)
        #expect(
            lines("OFFLINE") == [
                "info a responder went OFFLINE gap=1 region=north suspected=unexplained",
                "info a responder went OFFLINE gap=2 region=north suspected=unexplained",
            ])
        try report(0, to: &engine, at: 240_000)
        engine.settle()
        log.writeLog(engine.takeDecisions(), of: engine, at: 240_000)
        #expect(
            lines("is back") == [
                "info a responder who was OFFLINE is back after_ms=150000 gap=1 region=north "
                    + "status=ONLINE suspected=unexplained"
            ])
        #expect(!capture.lines.contains { $0.contains("secret") })
    }

    @Test func `D4: 20 lines about people a second, then one that counts the rest`() throws {
        var engine = try fleet(50)
        var log = DecisionLog(capture.logger)
        engine.advance(to: RunningTime(milliseconds: 180_000))
        log.writeLog(engine.takeDecisions(), of: engine, at: 180_000)
        #expect(lines("a responder went OFFLINE").count == DecisionLog.peoplePerSecond)
        #expect(lines("more people").isEmpty)
        log.pass(at: 180_999)
        #expect(lines("more people").isEmpty)
        log.pass(at: 181_000)
        #expect(lines("more people") == ["info more people went OFFLINE or are back offline=30"])
        log.pass(at: 182_000)
        #expect(lines("more people").count == 1)
        try report(0, to: &engine, at: 190_000)
        engine.settle()
        log.writeLog(engine.takeDecisions(), of: engine, at: 190_000)
        #expect(lines("is back").count == 1)
    }

    @Test func `D4: each change of an alert and each blind window is told`() throws {
        var engine = try fleet(3)
        var log = DecisionLog(capture.logger)
        engine.advance(to: RunningTime(milliseconds: 160_000))
        log.writeLog(engine.takeDecisions(), of: engine, at: 160_000)
        #expect(
            lines("an alert") == [
                "info an alert is pending alertname=NoOnlineResponders count=3 region=north "
                    + "severity=critical total=3",
                "info an alert fires alertname=NoOnlineResponders count=3 incident=1 region=north "
                    + "severity=critical total=3",
            ])
        _ = engine.fold(.stop, at: RunningTime(milliseconds: 170_000))
        _ = engine.fold(.start(), at: RunningTime(milliseconds: 175_000))
        engine.settle()
        log.writeLog(engine.takeDecisions(), of: engine, at: 175_000)
        #expect(
            lines("blind window") == [
                "info a blind window began reason=stopped since=2026-11-21T00:02:50.000Z",
                "info a blind window ended for_ms=5000 reason=stopped "
                    + "since=2026-11-21T00:02:50.000Z watching=true",
            ])
    }

    @Test func `D4: a delivery says which alert, and a start how long it was down`() throws {
        let directory = TemporaryDirectory()
        let pager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 202) }
        let first = try NotifyingStateWriter(directory, ["oncall": pager])
        _ = first.drill("oncall")
        #expect(isTrueSoon { pager.log.count == 2 })
        first.stop()
        let told = first.log.lines.filter { $0.contains("receiver told") }
        #expect(told.first?.contains(" alertname=RollcallDrill ") == true, "\(first.log.lines)")
        #expect(told.first?.contains(" receiver=oncall state=firing ") == true, "\(told)")
        let again = try NotifyingStateWriter(directory, ["oncall": pager])
        again.stop()
        let started = again.log.lines.filter { $0.hasPrefix("info started again down_ms=") }
        #expect(started.count == 1 && started[0].contains(" last_turn_at=20"), "\(again.log.lines)")
        #expect(!first.log.lines.contains { $0.contains("started again") })
    }

    @Test func `D4: what is delivered names region, state and incident`() throws {
        var member = NoticeMember()
        member.name = .noOnlineResponders
        member.incident = 7
        member.labels = [Label(Array("region".utf8), Array("north\n\u{1B}".utf8))]
        member.endsAt = Timestamp(milliseconds: Self.wall)
        var other = member
        other.incident = 8
        let notice = Notice(
            number: 1, receiver: Array("chat".utf8), kind: .fired, members: [member, other])
        var outbox = Outbox(store: 1, now: RunningTime(milliseconds: 0))
        outbox.follow([Receiver(name: Array("chat".utf8), kind: .webhook)])
        outbox.decide(
            notice, at: Timestamp(milliseconds: Self.wall), now: RunningTime(milliseconds: 0))
        let sending = try #require(outbox.begin(now: RunningTime(milliseconds: 0)).first)
        let about = DecisionLog.about(NotificationPayload(sending, store: 1) { _ in nil })
        #expect(
            about == [
                "alertname": "NoOnlineResponders", "state": "resolved", "incident": "7",
                "region": "north\n\u{1B}", "alerts": "2",
            ])
    }
}
