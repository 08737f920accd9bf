import RollcallCore
import Testing

@testable import Rollcall
@testable import RollcallStore
@testable import RollcallSupport

/// Who is said to be told, and when it is said that nobody is (D1).
@Suite struct UnreachedTests {
    /// A region that must be staffed and is not, its alert, and what is on its way.
    private struct Scene {
        var engine: Engine
        var outbox = Outbox(store: 1, now: RunningTime(milliseconds: 0))

        init(_ receivers: [Receiver]) throws {
            var policy = Policy()
            policy.receivers = receivers
            policy.coverageRegions = [Array("empty".utf8)]
            policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
            engine = Engine(policy: policy)
            outbox.follow(receivers)
            pass(to: 0, [.start(), try HistoryStory.batches(["a"], sequence: 1, captured: 0)])
        }

        mutating func pass(to second: Int64, _ events: [Event] = []) {
            let now = RunningTime(milliseconds: second * 1000)
            var pending = PendingTurn()
            for event in events { _ = pending.fold(event, into: &engine, at: now) }
            engine.advance(to: now)
            pending.take(from: &engine)
            for decision in pending.decisions {
                guard case .notice(let at, let notice) = decision.decision else { continue }
                outbox.decide(notice, at: at, now: now)
            }
        }

        /// An attempt of whatever is due, and what comes of it.
        mutating func attempt(_ verdict: OutboxVerdict, at second: Int64) {
            let now = RunningTime(milliseconds: second * 1000)
            for sending in outbox.begin(now: now) {
                guard case .message(let message, _, _) = sending.content else { continue }
                _ = outbox.end(
                    message.number, in: message.queue, verdict, error: "timed out", now: now,
                    wall: engine.clock.wall(now))
            }
            _ = outbox.settle(now: now, wall: engine.clock.wall(now))
        }

        func unreached(at second: Int64, by committed: Timestamp = .distantFuture) -> String {
            let now = RunningTime(milliseconds: second * 1000)
            let tree = Unreached(engine.viewed(at: now), outbox, [], by: committed).tree
            var bytes: [UInt8] = []
            tree.append(to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static let pager = Receiver(name: Array("oncall".utf8), kind: .pagerduty)
    private static func text(_ reason: String, _ since: Timestamp) -> String {
        "{\"alerts\":1,\"since\":\"\(RFC3339.string(since))\",\"incidents\":[1],"
            + "\"reason\":\"\(reason)\"}"
    }

    @Test
    func `D1: after a minute it is said that nobody took a critical alert, until somebody does`()
        throws
    {
        var scene = try Scene([Self.pager])
        let since = scene.engine.clock.wall(RunningTime(milliseconds: 0))
        #expect(scene.unreached(at: 59) == "null")
        #expect(scene.unreached(at: 60) == Self.text("not_taken", since))
        scene.attempt(.failed, at: 61)
        scene.attempt(.refused, at: 100)
        #expect(scene.unreached(at: 101) == Self.text("not_taken", since))
        scene.attempt(.delivered, at: 500)
        #expect(scene.unreached(at: 501) == "null")
        // While the store fails only what it holds counts.
        let before = scene.engine.clock.wall(RunningTime(milliseconds: 499_000))
        #expect(scene.unreached(at: 501, by: before) == Self.text("not_taken", since))
    }

    @Test func `D1: without a receiver that wants it, no receiver is what is missing`() throws {
        var chat = Receiver(name: Array("chat".utf8), kind: .slack)
        chat.match = [LabelMatcher(name: Array("severity".utf8), values: [Array("info".utf8)])]
        for receivers in [[], [chat]] {
            let scene = try Scene(receivers)
            let since = scene.engine.clock.wall(RunningTime(milliseconds: 0))
            #expect(scene.unreached(at: 60) == Self.text("no_receiver", since))
        }
    }

    @Test func `D1: a line of the log reaches nobody, unless there is nothing else`() throws {
        let lines = Receiver(name: Array("lines".utf8), kind: .log)
        for (receivers, isReached) in [([lines], true), ([Self.pager, lines], false)] {
            var scene = try Scene(receivers)
            let since = scene.engine.clock.wall(RunningTime(milliseconds: 0))
            for sending in scene.outbox.begin(now: RunningTime(milliseconds: 1000)) {
                guard case .message(let message, _, _) = sending.content else { continue }
                let isLine = message.queue.receiver == lines.name
                _ = scene.outbox.end(
                    message.number, in: message.queue, isLine ? .delivered : .failed,
                    error: "timed out", now: RunningTime(milliseconds: 1000),
                    wall: scene.engine.clock.wallNow)
            }
            let text = isReached ? "null" : Self.text("not_taken", since)
            #expect(scene.unreached(at: 60) == text)
        }
    }

    @Test func `D1: who was reached stays reached when the receivers are others`() throws {
        var scene = try Scene([Self.pager])
        scene.attempt(.delivered, at: 1)
        scene.outbox.follow([Receiver(name: Array("other".utf8), kind: .pagerduty)])
        scene.attempt(.failed, at: 2)
        #expect(scene.unreached(at: 100) == "null")
        #expect(scene.outbox.reach(of: 1).map(\.state) == [.taken])
    }

    @Test func `D1: what is silenced waits for nobody`() throws {
        var scene = try Scene([Self.pager])
        let silence = Silence(
            matchers: [LabelMatcher(name: Array("region".utf8), values: [Array("empty".utf8)])],
            endsAt: scene.engine.clock.wallNow + .seconds(3600), author: Array("kim".utf8),
            comment: Array("exercise".utf8))
        scene.pass(to: 10, [.silence(.begin(silence))])
        #expect(scene.unreached(at: 100) == "null")
    }

    @Test func `D3: whom the fallback reaches is reached`() throws {
        var oncall = Self.pager
        oncall.fallback = Array("duty".utf8)
        var duty = Receiver(name: Array("duty".utf8), kind: .pagerduty)
        duty.match = [.never]
        var scene = try Scene([oncall, duty])
        scene.attempt(.failed, at: 1)
        let since = scene.engine.clock.wall(RunningTime(milliseconds: 0))
        #expect(scene.unreached(at: 60) == Self.text("not_taken", since))
        scene.pass(to: 60)
        #expect(scene.outbox.pending == [Array("oncall".utf8): 1, Array("duty".utf8): 1])
        for sending in scene.outbox.begin(now: RunningTime(milliseconds: 60_000)) {
            guard case .message(let message, _, _) = sending.content else { continue }
            let isDuty = message.queue.receiver == duty.name
            _ = scene.outbox.end(
                message.number, in: message.queue, isDuty ? .delivered : .failed,
                error: "HTTP 500", now: RunningTime(milliseconds: 60_100),
                wall: scene.engine.clock.wallNow)
        }
        #expect(scene.unreached(at: 61) == "null")
    }

    @Test func `D1: the page says it without JavaScript too, before all else`() throws {
        let scene = try Scene([Self.pager])
        let engine = scene.engine.viewed(at: RunningTime(milliseconds: 60_000))
        var stats = StoreStats(version: "1")
        func page() -> String {
            let view = StateView(
                engine: engine, store: stats, outbox: scene.outbox, committedAt: .distantFuture,
                erasures: [:], peopleErased: [])
            return String(decoding: StatusPageShell(root: "").bytes(view), as: UTF8.self)
        }
        #expect(!page().contains("NOBODY"))
        stats.unreached = Unreached(engine, scene.outbox, [], by: .distantFuture)
        let since = RFC3339.string(engine.clock.wall(RunningTime(milliseconds: 0)))
        let words =
            "<p><strong>NOBODY HAS BEEN REACHED: no receiver has taken 1 critical alert, firing "
            + "since \(since).</strong></p>\n<h1>"
        #expect(page().contains(words))
        #expect(page().contains("<p>Watching.</p>"))
    }

    @Test func `D1: each address stands with its state, its attempts and what went wrong`() throws {
        var scene = try Scene([Self.pager])
        func reach() throws -> Reach { try #require(scene.outbox.reach(of: 1).first) }
        #expect(try reach().state == .waiting && reach().attempts == 0)
        scene.attempt(.failed, at: 1)
        #expect(try reach().state == .trying && reach().lastError == "timed out")
        let next = try #require(try reach().nextAttemptAt)
        #expect((1800...2200).contains(next.milliseconds))
        scene.attempt(.refused, at: 3)
        #expect(try reach().state == .refused && reach().takenAt == nil)
        scene.attempt(.delivered, at: 400)
        #expect(try reach().state == .taken && reach().attempts == 3)
        #expect(try reach().takenAt == scene.engine.clock.wall(RunningTime(milliseconds: 400_000)))
        #expect(try reach().lastError == nil && reach().nextAttemptAt == nil)
    }

    @Test func `D1: what nobody took is counted from the first scrape on, at 0`() throws {
        var page = Exposition(format: .openMetrics, capacity: 1024)
        Unreached().append(to: &page)
        let text = String(decoding: page.finish(), as: UTF8.self)
        for severity in ["critical", "warning", "info"] {
            #expect(text.contains("rollcall_alerts_unreached{severity=\"\(severity)\"} 0"))
        }
    }
}
