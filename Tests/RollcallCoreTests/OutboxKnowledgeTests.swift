import Testing

@testable import RollcallCore

/// What the outbox remembers, gives up, and tells again (A8, A9).
@Suite struct OutboxKnowledgeTests {
    private typealias Stage = OutboxStage
    private static let pager = [Stage.receiver("oncall", .pagerduty)]

    // MARK: - Starts

    @Test func `what was being sent when we were killed is sent again at once, as it was`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        #expect(stage.turn() == ["1 fired [1] #1"])
        stage.restart(Self.pager)
        #expect(stage.turn() == ["1 fired [1] #2"])
        stage.restart(Self.pager)
        stage.decide(.resolved, [1])
        #expect(stage.turn() == ["1 abandoned", "2 resolved [1] #1"])
    }

    @Test func `a restart keeps waits, what was dropped, and what the receiver knows`() {
        let hook = [Stage.receiver("oncall", .webhook)]
        var stage = Stage(hook)
        stage.decide(.fired, [1, 2])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.decide(.fired, [3])
        _ = stage.turn()
        _ = stage.result(2, .refused)
        stage.decide(.fired, [4])
        stage.decide(.resolved, [4])
        stage.store()
        stage.restart(hook)
        #expect(stage.turn() == ["3 dropped", "4 dropped"])
        #expect(stage.waitForDue() == 300_000)
        #expect(stage.turn() == ["2 fired [3] of [1 2] #2"])
        stage.decide(.resolved, [2])
        stage.store()
        stage.restart(hook)
        #expect(stage.turn() == ["5 resolved [2] of [1] #1"])
        #expect(stage.result(5, .delivered) == ["5 delivered", "2 fired [3] of [1] #3"])
    }

    @Test func `rows of which something still fires are kept apart from those that are over`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1, 2])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        func states() -> [OutboxMessage.State] {
            stage.rows.values.sorted { $0.number < $1.number }.map(\.state)
        }
        #expect(states() == [.held])
        stage.decide(.repeated, [1])
        _ = stage.turn()
        _ = stage.result(2, .delivered)
        #expect(states() == [.held, .held])
        stage.decide(.resolved, [1])
        _ = stage.turn()
        #expect(states() == [.held, .over, .sending])
        stage.decide(.resolved, [2])
        _ = stage.result(3, .delivered)
        #expect(states() == [.over, .over, .over, .sending])
    }

    @Test func `a row that cannot be is none`() {
        let notice = Notice(
            number: 1, receiver: [], kind: .fired, members: [Stage.member(1), Stage.member(2)])
        func message(left: UInt64, _ state: OutboxMessage.State, _ outcome: NoticeOutcome?)
            -> OutboxMessage?
        {
            OutboxMessage(
                notice, target: 0, decidedAt: Stage.wall, since: RunningTime(milliseconds: 0),
                left: left, state: state, attempts: 0, next: RunningTime(milliseconds: 0),
                outcome: outcome, finishedAt: .distantPast)
        }
        #expect(message(left: 3, .waiting, nil) != nil)
        #expect(message(left: 4, .waiting, nil) == nil)
        #expect(message(left: 3, .waiting, .delivered) == nil)
        #expect(message(left: 3, .held, nil) == nil)
    }

    // MARK: - Settings

    @Test func `a receiver that is gone ends its messages, once what is being sent is back`() {
        let both = [Stage.receiver("oncall", .pagerduty), Stage.receiver("chat", .slack)]
        var stage = Stage(both)
        stage.decide(.fired, [1])
        stage.decide(.fired, [1], to: "chat")
        #expect(stage.turn() == ["2@chat fired [1] #1", "1 fired [1] #1"])
        stage.decide(.fired, [2], to: "chat")
        stage.outbox.follow(Self.pager)
        #expect(stage.turn() == ["3@chat removed"])
        #expect(stage.result(2, .failed, to: "chat") == ["2@chat removed"])
        #expect(stage.outbox.queues.count == 1)
        #expect(stage.rows.values.filter { $0.state == .over }.count == 2)
        #expect(stage.result(1, .delivered) == ["1 delivered"])
    }

    @Test func `fewer addresses end the messages to the others, and a late 2xx still counts`() {
        var stage = Stage([Stage.receiver("oncall", .webhook, targets: 2)])
        stage.decide(.fired, [1])
        #expect(stage.turn() == ["1 fired [1] #1", "1/1 fired [1] #1"])
        stage.outbox.follow([Stage.receiver("oncall", .webhook)])
        #expect(stage.turn() == [])
        #expect(stage.result(1, .delivered, 1) == ["1/1 delivered"])
        #expect(stage.outbox.reach(of: 1).map(\.state) == [.trying, .taken])
        stage.outbox.end(incident: 1)
        #expect(stage.turn() == [])
        #expect(stage.outbox.queues.map(\.key.target) == [0])
    }

    @Test func `D11: a storm's message told of nobody who joined after it was decided`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.wait(seconds: 10)
        let joined = Stage.wall + Milliseconds(stage.now.milliseconds)
        #expect(stage.outbox.reach(of: 1, since: Stage.wall).map(\.state) == [.taken])
        #expect(stage.outbox.reach(of: 1, since: joined) == [])
        stage.wait(seconds: 10)
        stage.decide(.repeated, [1])
        _ = stage.turn()
        #expect(stage.outbox.reach(of: 1, since: Stage.wall).map(\.state) == [.taken])
        #expect(stage.outbox.reach(of: 1, since: joined).map(\.state) == [.trying])
        _ = stage.result(2, .delivered)
        let reach = stage.outbox.reach(of: 1, since: joined)
        #expect(reach.map(\.state) == [.taken])
        #expect(reach.first?.takenAt == joined + .seconds(10))
    }

    @Test(arguments: [false, true])
    func `A8: an Alertmanager that is put back is told each minute again what it took`(
        isKilled: Bool
    ) {
        let receivers = [Stage.receiver("oncall", .alertmanager)]
        var stage = Stage(receivers)
        stage.decide(.fired, [1, 2])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.outbox.follow([])
        #expect(stage.turn() == [])
        #expect(stage.outbox.pending == [:])
        stage.wait(seconds: 90)
        #expect(stage.outbox.due() == .distantFuture)
        // One of them is over meanwhile.
        stage.outbox.end(incident: 1)
        #expect(stage.turn() == [])
        if isKilled { stage.restart([]) }
        #expect(stage.turn() == [])
        if isKilled { stage.restart(receivers) } else { stage.outbox.follow(receivers) }
        for _ in 0..<3 {
            #expect(stage.turn() == ["refresh [2] []"])
            refreshed(&stage)
            #expect(stage.waitForDue() == 60_000)
        }
    }

    @Test func `D1: what was taken stays taken when its receiver leaves, until it is over`() {
        let both = [Stage.receiver("oncall", .pagerduty), Stage.receiver("lines", .log)]
        for left in [[], Array(both.prefix(1)), Array(both.suffix(1))] {
            var stage = Stage(both)
            stage.decide(.fired, [1])
            stage.decide(.fired, [1], to: "lines")
            _ = stage.turn()
            _ = stage.result(1, .delivered)
            _ = stage.result(2, .delivered, to: "lines")
            stage.outbox.follow(left)
            #expect(stage.turn() == [])
            #expect(stage.outbox.reach(of: 1).map(\.state) == [.taken, .taken])
            stage.restart(left)
            #expect(stage.turn() == [])
            #expect(stage.outbox.reach(of: 1).map(\.state) == [.taken, .taken])
            stage.outbox.end(incident: 1)
            #expect(stage.turn() == [])
            #expect(stage.outbox.queues.count == left.count)
            #expect(stage.rows.values.allSatisfy { $0.state == .over })
        }
    }

    @Test func `A11: nobody ends a drill at a receiver that is gone: nothing is left of it`() {
        var drill = Stage.member(-1)
        drill.name = .rollcallDrill
        var stage = Stage(Self.pager)
        stage.decide(.fired, [drill])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.outbox.follow([])
        #expect(stage.turn() == [])
        #expect(stage.outbox.queues.isEmpty)
    }

    @Test func `D11: of a storm that is over nothing is left at a receiver that is gone`() {
        var stage = Stage(Self.pager)
        let member = Stage.member(7)
        var notice = Notice(
            number: 1, receiver: Array("oncall".utf8), kind: .fired, members: [member])
        notice.storm = StormFacts()
        stage.outbox.decide(notice, at: Stage.wall, now: stage.now)
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.outbox.follow([])
        stage.outbox.endStorms(but: [7])
        #expect(stage.turn() == [])
        #expect(stage.outbox.reach(of: 7).map(\.state) == [.taken])
        stage.outbox.endStorms(but: [])
        #expect(stage.turn() == [])
        #expect(stage.outbox.queues.isEmpty)
    }

    @Test func `a notice to somebody whom the settings do not know ends at once`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1], to: "nobody")
        #expect(stage.turn() == ["1@nobody removed"])
        #expect(stage.outbox.due() == .distantFuture)
    }

    // MARK: - Limits

    @Test func `beyond the limit repeats go first, then ends, then triggers, the oldest first`() {
        var stage = Stage(Self.pager, messagesMax: 4)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        for incident in 2...4 {
            stage.decide(.fired, [Int64(incident)])
            _ = stage.turn()
            _ = stage.result(Int64(incident), .refused)
        }
        stage.decide(.repeated, [1])
        _ = stage.turn()
        _ = stage.result(5, .refused)
        #expect(stage.turn() == [])
        stage.decide(.resolved, [9])
        #expect(stage.turn() == ["5 expired", "6 resolved [9] #1"])
        _ = stage.result(6, .refused)
        stage.decide(.fired, [10])
        #expect(stage.turn() == ["6 expired", "7 fired [10] #1"])
        _ = stage.result(7, .refused)
        stage.decide(.fired, [11])
        #expect(stage.turn() == ["2 expired", "8 fired [11] #1"])
    }

    @Test func `the limit is met by the fullest queue, and never by what is being sent`() {
        let both = [Stage.receiver("oncall", .pagerduty), Stage.receiver("chat", .slack)]
        var stage = Stage(both, messagesMax: 2)
        stage.decide(.fired, [1], to: "chat")
        #expect(stage.turn() == ["1@chat fired [1] #1"])
        for incident in 2...3 { stage.decide(.fired, [Int64(incident)], to: "chat") }
        #expect(stage.turn() == [])
        stage.decide(.fired, [4])
        #expect(stage.turn() == ["2@chat expired", "4 fired [4] #1"])
    }

    // MARK: - Alertmanagers

    @Test func `an Alertmanager is told all that fires each minute, and ends for 15 minutes`() {
        let receivers = [Stage.receiver("oncall", .alertmanager)]
        var stage = Stage(receivers)
        stage.decide(.fired, [1])
        _ = stage.turn()
        #expect(stage.result(1, .delivered) == ["1 delivered"])
        stage.wait(seconds: 40)
        stage.decide(.fired, [2])
        _ = stage.turn()
        _ = stage.result(2, .delivered)
        #expect(stage.waitForDue() == 20_000)
        #expect(stage.turn() == ["refresh [1 2] []"])
        stage.decide(.resolved, [1])
        // It waits for nothing but what is being sent.
        #expect(stage.turn() == [])
        refreshed(&stage)
        #expect(stage.turn() == ["3 resolved [1] #1"])
        _ = stage.result(3, .delivered)
        var refreshes: [String] = []
        for _ in 0..<20 {
            #expect(stage.waitForDue() == 60_000)
            refreshes += stage.turn()
            refreshed(&stage)
        }
        let ended = [String](repeating: "refresh [2] [1]", count: 14)
        #expect(refreshes == ended + [String](repeating: "refresh [2] []", count: 6))
        // In memory only: what fires is known by its row, and told at once after a start.
        stage.restart(receivers)
        #expect(stage.turn() == ["refresh [2] []"])
    }

    @Test func `D9: an Alertmanager that keeps what fires for longer is told ends for as long`() {
        var manager = Stage.receiver("oncall", .alertmanager)
        manager.resolveTimeout = .seconds(30 * 60)
        var stage = Stage([manager])
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.decide(.resolved, [1])
        _ = stage.turn()
        _ = stage.result(2, .delivered)
        var notified = 0
        for _ in 0..<40 {
            _ = stage.waitForDue()
            notified += stage.turn().filter { $0 == "refresh [] [1]" }.count
            refreshed(&stage)
        }
        #expect(notified == 29)
    }

    private func refreshed(_ stage: inout Stage) {
        stage.outbox.refreshed(QueueKey(receiver: Array("oncall".utf8), target: 0))
    }

    @Test func `each Alertmanager of a receiver is told what the others know already`() {
        var stage = Stage([Stage.receiver("oncall", .alertmanager)])
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.outbox.follow([Stage.receiver("oncall", .alertmanager, targets: 2)])
        #expect(stage.turn() == ["refresh/1 [1] []"])
        // What is on its way to it is no part of it.
        stage.decide(.fired, [2])
        #expect(stage.turn() == ["2 fired [2] #1"])
        #expect(stage.result(2, .delivered) == ["2 delivered"])
        stage.outbox.refreshed(QueueKey(receiver: Array("oncall".utf8), target: 1))
        #expect(stage.turn() == ["2/1 fired [2] #1"])
        _ = stage.result(2, .refused, 1)
        #expect(stage.waitForDue() == 60_000)
        #expect(stage.turn() == ["refresh [1 2] []", "refresh/1 [1] []"])
    }

    @Test func `only those who are told all of a name are told the rest of it`() {
        for (kind, rest) in [
            (ReceiverKind.webhook, " of [1]"), (.slack, " of [1]"), (.ntfy, " of [1]"),
            (.email, " of [1]"), (.pagerduty, ""), (.opsgenie, ""), (.alertmanager, ""),
            (.log, ""),
        ] {
            var stage = Stage([Stage.receiver("oncall", kind)])
            stage.decide(.fired, [1])
            stage.decide(.fired, [Stage.member(2, name: .noOnlineResponders)])
            for number in [1, 2] {
                _ = stage.turn()
                _ = stage.result(Int64(number), .delivered)
            }
            stage.decide(.fired, [3])
            #expect(stage.turn() == ["3 fired [3]\(rest) #1"])
        }
    }
}
