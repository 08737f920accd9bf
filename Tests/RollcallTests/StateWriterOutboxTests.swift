import Glibc
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall
@testable import RollcallBasis
@testable import RollcallStore

/// What the state writer does with what is on its way to receivers (A9, A11).
@Suite struct StateWriterOutboxTests {
    private let directory = TemporaryDirectory()

    @Test func `a drill is sent, told to be over, and everybody learns what became of it`() throws {
        let pager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 202) }
        let paging = try NotifyingStateWriter(directory, ["oncall": pager])
        let number = paging.drill("oncall")
        #expect(number == 1)
        let deliveryStatus = try #require(paging.deliveryStatus(of: number))
        #expect(deliveryStatus.targets.map(\.outcome) == [.delivered])
        #expect(deliveryStatus.targets[0].attempts.map(\.status) == [202])
        #expect(deliveryStatus.targets[0].attempts.map(\.attempt) == [1])
        #expect(deliveryStatus.took != nil)
        #expect(isTrueSoon { pager.log.count == 2 })
        #expect(pager.log == ["1 fired 1", "2 resolved 1"])
        #expect(paging.deliveryStatus(of: 2)?.targets.map(\.outcome) == [.delivered])
        let members = pager.messages.flatMap { Array($0.members) }
        #expect(Set(members.map(\.key)).count == 1)
        let first = try #require(pager.messages.first?.members.first)
        #expect(
            first.generatorURL
                == "https://rollcall.example.org/alerts")
        #expect(first.isFiring && first.endsAt == nil)
        #expect(paging.drill("nobody") == 0)
        paging.stop()
        // A restart sends nothing.
        let again = try NotifyingStateWriter(directory, ["oncall": pager])
        #expect(again.deliveryStatus(of: 1)?.targets.map(\.outcome) == [.delivered])
        #expect(pager.log.count == 2)
        again.stop()
    }

    @Test func `what fails is sent again under the same id, and each attempt is kept`() throws {
        let pager = ScriptedReceiver { attempt in
            switch attempt.place {
            case 0: AttemptResult(.failed, error: "timed out")
            case 1: AttemptResult(.failed, status: 503, error: "503")
            default: AttemptResult(.delivered, status: 200)
            }
        }
        let paging = try NotifyingStateWriter(directory, ["oncall": pager])
        let deliveryStatus = try #require(paging.deliveryStatus(of: paging.drill("oncall")))
        #expect(deliveryStatus.targets.map(\.outcome) == [.delivered])
        let attempts = deliveryStatus.targets[0].attempts
        #expect(attempts.map(\.attempt) == [1, 2, 3])
        #expect(attempts.map(\.status) == [nil, 503, 200])
        #expect(attempts.map(\.error) == ["timed out", "503", ""])
        #expect(Set(pager.messages.prefix(3).map(\.id)).count == 1)
        paging.stop()
    }

    @Test func `a receiver that does not answer holds up neither the state writer nor another one`()
        throws
    {
        let isFree = Mutex(false)
        let slow = ScriptedReceiver { _ in
            while !isFree.withLock({ $0 }) { usleep(1000) }
            return AttemptResult(.failed, error: "timed out")
        }
        let quick = ScriptedReceiver { _ in AttemptResult(.delivered, status: 200) }
        let paging = try NotifyingStateWriter(directory, ["slow": slow, "quick": quick])
        let held = paging.drill("slow")
        for _ in 0..<5 {
            #expect(
                paging.deliveryStatus(of: paging.drill("quick"))?.targets[0].outcome == .delivered)
        }
        // Nobody waits for longer than their patience.
        let unknown = paging.deliveryStatus(of: held, patience: Milliseconds(50))
        let target = try #require(unknown?.targets.first)
        #expect(target.outcome == nil)
        #expect(target.attempts.count == 1 && target.attempts[0].took == nil)
        #expect(isTrueSoon { slow.log.count == 1 })
        isFree.withLock { $0 = true }
        paging.stop()
    }

    @Test func `after a kill nobody knows what became of an attempt, and it is made again`() throws
    {
        let isFree = Mutex(false)
        let hanging = ScriptedReceiver { _ in
            while !isFree.withLock({ $0 }) { usleep(1000) }
            return AttemptResult(.delivered, status: 200)
        }
        let paging = try NotifyingStateWriter(directory, ["oncall": hanging])
        let number = paging.drill("oncall")
        #expect(isTrueSoon { hanging.log.count == 1 })
        let killed = TemporaryDirectory()
        directory.copy("rollcall.db", to: killed)
        directory.copy("rollcall.db-wal", to: killed)
        let pager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 200) }
        let again = try NotifyingStateWriter(killed, ["oncall": pager])
        let deliveryStatus = try #require(again.deliveryStatus(of: number))
        let isKnown = deliveryStatus.targets[0].attempts.map { $0.took != nil }
        #expect(isKnown == [false, true])
        #expect(pager.messages.first == hanging.messages.first)
        again.stop()
        isFree.withLock { $0 = true }
        paging.stop()
    }

    @Test func `B1: a start with something firing to an Alertmanager is not late`() throws {
        let unstaffed: (inout Policy) -> Void = { policy in
            policy.coverageRegions = [Array("empty".utf8)]
            policy.alerts.noOnlineResponders.pendingFor = Milliseconds(0)
        }
        let manager = ScriptedReceiver { _ in AttemptResult(.delivered, status: 200) }
        var paging = try NotifyingStateWriter(
            directory, ["am": manager], kind: .alertmanager, unstaffed)
        let batch = try HistoryStory.batches(["a"], sequence: 1, captured: 0)
        _ = paging.write(batch)
        #expect(isTrueSoon { manager.log.contains { $0.contains("fired") } })
        paging.stop()
        for _ in 0..<2 {
            let seen = manager.log.count
            paging = try NotifyingStateWriter(
                directory, ["am": manager], kind: .alertmanager, unstaffed)
            // It is told again at once what fires.
            #expect(isTrueSoon { manager.log.count > seen })
            paging.stop()
            #expect(!paging.log.lines.contains { $0.contains("a turn came late") })
        }
    }

    @Test func `a stop leaves what is being sent two seconds to come back`() throws {
        #expect(DeliveryEndpoints().sendingLeaveMax == .seconds(2))
        let isFree = Mutex(false)
        let answers = Mutex(0)
        let pager = ScriptedReceiver { _ in
            while !isFree.withLock({ $0 }) { usleep(1000) }
            answers.withLock { $0 += 1 }
            return AttemptResult(.delivered, status: 200)
        }
        let paging = try NotifyingStateWriter(directory, ["oncall": pager])
        let number = paging.drill("oncall")
        #expect(isTrueSoon { pager.log.count == 1 })
        paging.stop(release: { isFree.withLock { $0 = true } })
        #expect(answers.withLock { $0 } == 1)
        let store = try StateStore(path: directory.store)
        #expect(
            try store.journal.notices.deliveryStatus(of: number)?.targets.map(\.outcome) == [
                .delivered
            ])
        // What its end decided waits for the next start, and `stop` came last.
        #expect(try store.journal.messages().map(\.notice.kind) == [.resolved])
        var last: UInt8?
        try store.journal.replayTail(afterTurn: 0) {
            last = $0.kind
        } turn: { _ in
        }
        #expect(last == EventCode.stop)
        try store.journal.close()
    }

    @Test func `a receiver that leaves the settings ends its messages`() throws {
        let pager = ScriptedReceiver { _ in AttemptResult(.refused, status: 403, error: "403") }
        let paging = try NotifyingStateWriter(directory, ["oncall": pager])
        let number = paging.drill("oncall")
        #expect(isTrueSoon { pager.log.count == 1 })
        #expect(paging.write(.policy(Policy())) != nil)
        let deliveryStatus = try #require(paging.deliveryStatus(of: number))
        #expect(deliveryStatus.targets.map(\.outcome) == [.removed])
        paging.stop()
    }

    // MARK: - Reloads

    /// Refuses until it takes what comes.
    private final class Rotated: Sendable {
        private let isTaking = Mutex(false)

        func take() { isTaking.withLock { $0 = true } }

        var pager: ScriptedReceiver {
            ScriptedReceiver { [self] _ in
                isTaking.withLock { $0 }
                    ? AttemptResult(.delivered, status: 202)
                    : AttemptResult(.refused, status: 403, error: "403")
            }
        }
    }

    private func refusals(_ paging: NotifyingStateWriter) -> Int {
        paging.log.lines.count { $0.contains("receiver refuses") }
    }

    @Test(arguments: [EndpointChange.same, .secret, .place])
    func `a reload retries soon what was refused, and each attempt is kept`(change: EndpointChange)
        throws
    {
        let rotated = Rotated()
        let pager = rotated.pager
        let paging = try NotifyingStateWriter(directory, ["oncall": pager], times: .slow)
        let number = paging.drill("oncall")
        #expect(isTrueSoon { refusals(paging) == 1 })
        paging.reload(change)
        #expect(isTrueSoon { refusals(paging) == 2 })
        rotated.take()
        #expect(
            paging.deliveryStatus(of: number, patience: Milliseconds(100))?.targets[0].outcome
                == nil)
        paging.reload(change)
        let deliveryStatus = try #require(paging.deliveryStatus(of: number))
        #expect(deliveryStatus.targets.map(\.outcome) == [.delivered])
        #expect(deliveryStatus.targets[0].attempts.map(\.attempt) == [1, 2, 3])
        #expect(deliveryStatus.targets[0].attempts.map(\.status) == [403, 403, 202])
        #expect(Set(pager.messages.prefix(3).map(\.id)).count == 1)
        paging.stop()
    }

    @Test func `once a reload is answered, a kill changes nothing of what it retries soon`() throws
    {
        let rotated = Rotated()
        let pager = rotated.pager
        var times = OutboxTimes.slow
        times.changedAfter = .seconds(1800)
        let paging = try NotifyingStateWriter(directory, ["oncall": pager], times: times)
        let number = paging.drill("oncall")
        #expect(isTrueSoon { refusals(paging) == 1 })
        paging.reload(.secret)
        let killed = TemporaryDirectory()
        directory.copy("rollcall.db", to: killed)
        directory.copy("rollcall.db-wal", to: killed)
        let store = try StateStore(path: killed.store)
        let message = try #require(try store.journal.messages().first)
        #expect(message.number == number && message.state == .refused)
        #expect(message.next - message.since < .seconds(1900))
        try store.journal.close()
        paging.stop()
    }

    @Test func `a start retries soon what was refused before it`() throws {
        let rotated = Rotated()
        let pager = rotated.pager
        var paging = try NotifyingStateWriter(directory, ["oncall": pager], times: .slow)
        let number = paging.drill("oncall")
        #expect(isTrueSoon { refusals(paging) == 1 })
        paging.stop()
        rotated.take()
        paging = try NotifyingStateWriter(directory, ["oncall": pager], times: .slow)
        #expect(paging.deliveryStatus(of: number)?.targets.map(\.outcome) == [.delivered])
        paging.stop()
    }

    @Test func `more questions than may wait are answered at once`() throws {
        let isFree = Mutex(false)
        let slow = ScriptedReceiver { _ in
            while !isFree.withLock({ $0 }) { usleep(1000) }
            return AttemptResult(.delivered, status: 200)
        }
        let paging = try NotifyingStateWriter(directory, ["oncall": slow])
        let number = paging.drill("oncall")
        let answers = Mutex<[Bool]>([])
        for _ in 0..<StateWriter.noticeWaitsMax + 1 {
            paging.writer.waitForNotice(number, patience: Milliseconds(60_000)) { deliveryStatus in
                answers.withLock { $0.append(deliveryStatus?.targets[0].outcome == .delivered) }
            }
        }
        #expect(isTrueSoon { answers.withLock { $0.count == 1 } })
        isFree.withLock { $0 = true }
        #expect(isTrueSoon { answers.withLock { $0.count == StateWriter.noticeWaitsMax + 1 } })
        let wanted = [false] + [Bool](repeating: true, count: StateWriter.noticeWaitsMax)
        #expect(answers.withLock { $0 } == wanted)
        paging.stop()
    }
}
