import Testing

@testable import RollcallCore

/// What becomes of a push that is sent once at most (N7).
@Suite struct PushBoxTests {
    private static let ticket = PushVerdict.ticketed(Array("t-1".utf8))
    private static let refused = PushVerdict.refused(retryAfter: nil)

    @Test func `a push is claimed, then sent, then over`() {
        var stage = PushStage()
        stage.decide(1)
        #expect(stage.box.pendingCount == 1)
        #expect(stage.turn() == ["send 1"])
        #expect(stage.state(1) == "sending")
        #expect(stage.box.isSending)
        stage.end(.delivered, token: 9)
        #expect(stage.turn() == ["1 delivered"])
        #expect(stage.state(1) == "delivered")
        #expect(stage.rows[1]?.token == 9)
        #expect(stage.box.due() == .distantFuture)
        #expect(stage.box.pendingCount == 0 && !stage.box.isSending)
    }

    @Test(arguments: [
        (PushVerdict.delivered, "delivered"), (.unregistered, "unregistered"),
        (.unknown, "unknown"), (.ticketed([]), "unknown"),
    ])
    func `a verdict that leaves nothing open is the end`(_ verdict: PushVerdict, _ end: String) {
        var stage = PushStage(.expo)
        stage.decide(1)
        #expect(stage.turn() == ["send 1"])
        stage.end(verdict)
        #expect(stage.turn() == ["1 \(end)"])
        #expect(stage.next() == [])
        #expect(stage.sent == [1: 1])
    }

    @Test func `what certainly did not go out is tried again until its time is over`() {
        var stage = PushStage()
        stage.decide(1, life: .seconds(600))
        #expect(stage.turn() == ["send 1"])
        var waits: [Int64] = []
        var last: [String] = []
        while true {
            let began = stage.now
            stage.end(Self.refused)
            #expect(stage.turn() == [])
            #expect(stage.state(1) == "waiting")
            last = stage.next()
            guard last == ["send 1"] else { break }
            waits.append((stage.now - began).count)
        }
        #expect(last == ["1 expired"])
        #expect(stage.now.milliseconds == 600_000)
        #expect(waits.count > 5 && waits.allSatisfy { (800...300_000).contains($0) })
    }

    @Test func `D2: a sink that wants to be left alone is, for up to five minutes`() {
        var stage = PushStage()
        stage.decide(1, life: .seconds(86_400))
        _ = stage.turn()
        stage.end(.refused(retryAfter: .seconds(7200)))
        // Not even what was never tried goes there.
        stage.decide(2, life: .seconds(86_400))
        #expect(stage.turn() == [])
        #expect(stage.next() == ["send 2"])
        #expect(stage.now.milliseconds == 300_000)
    }

    @Test func `while nobody knows what becomes of pushes, the others wait`() {
        var stage = PushStage()
        for number in 1...20 as ClosedRange<Int64> { stage.decide(number) }
        #expect(stage.turn() == ["send 1", "send 2", "send 3", "send 4"])
        for _ in 0..<4 { stage.end(.unknown) }
        #expect(stage.turn().allSatisfy { $0.hasSuffix("unknown") })
        #expect(stage.turn() == [])
        #expect(stage.next() == ["send 5"])
        #expect(stage.now.milliseconds >= 800)
        // One that is taken opens the door.
        stage.end(.delivered)
        #expect(stage.turn() == ["5 delivered", "send 6", "send 7", "send 8", "send 9"])
    }

    @Test
    func `D2: while a sink is away one push probes it, and the first that is taken frees all`() {
        var stage = PushStage()
        stage.decide(1)
        _ = stage.turn()
        stage.end(Self.refused)
        #expect(stage.turn() == [])
        for number in 2...4 as ClosedRange<Int64> { stage.decide(number) }
        #expect(stage.turn() == [])
        #expect(stage.next() == ["send 2"])
        stage.end(Self.refused)
        #expect(stage.next() == ["send 3"])
        stage.end(.delivered)
        #expect(stage.turn() == ["3 delivered", "send 4", "send 1", "send 2"])
    }

    @Test(arguments: [1, 4, 30] as [Int64])
    func `D2: a sink's waits follow its outage, not the number of pushes that met it`(count: Int64)
    {
        var stage = PushStage()
        for number in 1...count { stage.decide(number, life: .seconds(86_400)) }
        _ = stage.turn()
        while !stage.inFlight.isEmpty { stage.end(Self.refused) }
        var waits: [Int64] = []
        for _ in 0..<8 {
            let from = stage.now
            #expect(stage.next().count == 1)
            waits.append((stage.now - from).count)
            stage.end(Self.refused)
        }
        for (wait, wanted) in zip(waits, [1, 2, 4, 8, 15, 30, 60, 120] as [Int64]) {
            #expect((wanted * 800...wanted * 1200).contains(wait))
        }
    }

    @Test func `what is not wanted any more is dropped, and never sent`() {
        var stage = PushStage()
        stage.decide(1)
        stage.decide(2)
        stage.unwanted = [1]
        #expect(stage.turn() == ["send 2"])
        #expect(stage.state(1) == "waiting")
        #expect(stage.box.due() == .distantPast)
        #expect(stage.turn() == ["1 dropped"])
        stage.end(Self.refused)
        stage.unwanted = [2]
        #expect(stage.turn() == [])
        #expect(stage.next() == [])
        #expect(stage.next() == ["2 dropped"])
        #expect(stage.sent == [2: 1])
    }

    @Test func `a wake goes before nudges, and is worth nothing a minute later`() {
        var stage = PushStage(.expo)
        stage.decide(1)
        stage.decide(2, .wake, life: PushTimes().wakeFor)
        #expect(stage.turn() == ["send 2", "send 1"])
        stage.end(Self.refused)
        stage.wait(.seconds(60))
        #expect(stage.turn() == ["2 expired"])
    }

    // MARK: - Kills

    /// Plays a push until it is over, with a kill after so many turns.
    private func play(_ verdict: PushVerdict, killedAfter turns: Int) -> PushStage {
        var stage = PushStage(.expo)
        stage.decide(1)
        for turn in 0..<100 {
            _ = stage.next()
            if turn == turns { stage.restart() }
            guard let first = stage.inFlight.first else { continue }
            if first.queue.load == .receipts {
                stage.tell([.delivered])
            } else {
                stage.end(turn == 0 ? verdict : .delivered)
            }
            // A result that no commit knows of.
            if turn == turns - 10 { stage.restart() }
        }
        return stage
    }

    @Test func `a kill anywhere on the way sends nothing twice`() {
        let verdicts = [PushVerdict.delivered, Self.ticket, Self.refused, .unregistered, .unknown]
        for verdict in verdicts {
            for turns in 0..<14 {
                let stage = play(verdict, killedAfter: turns)
                let isRefused = verdict == Self.refused && turns != 0 && turns != 10
                #expect(stage.sent == [1: isRefused ? 2 : 1], "\(verdict) \(turns)")
                #expect(stage.rows[1]?.state == .over, "\(verdict) \(turns)")
            }
        }
    }

    @Test func `what was being sent at a kill is over, and nobody knows how`() {
        var stage = PushStage()
        stage.decide(1)
        stage.decide(2)
        _ = stage.turn()
        stage.restart()
        #expect(stage.box.pendingCount == 0)
        // Killed again before that is stored: it is as before.
        stage.restart()
        #expect(stage.turn() == ["1 unknown", "2 unknown"])
        #expect([stage.state(1), stage.state(2)] == ["unknown", "unknown"])
        stage.restart()
        #expect(stage.next() == [])
    }

    @Test func `in a store that was restored even what waits may have been sent`() {
        var stage = PushStage(.expo)
        stage.decide(1)
        stage.decide(2, .wake)
        _ = stage.turn()
        stage.end(Self.ticket)
        stage.end(Self.refused)
        _ = stage.turn()
        #expect([stage.state(1), stage.state(2)] == ["waiting", "ticketed"])
        stage.restart(isRestored: true)
        #expect(stage.turn() == ["1 unknown"])
        #expect(stage.next() == ["ask 2"])
    }

    @Test func `a box made of its rows goes on as the one before`() {
        var stage = PushStage(.expo)
        for number in 1...3 as ClosedRange<Int64> { stage.decide(number) }
        _ = stage.turn()
        stage.end(.delivered, [2: Self.ticket, 3: Self.refused])
        _ = stage.turn()
        var other = stage
        other.restart()
        while stage.box.due() < .distantFuture {
            #expect(stage.next() == other.next())
            #expect(stage.now == other.now)
            if stage.inFlight.first?.queue.load == .receipts {
                stage.tell([.delivered])
                other.tell([.delivered])
            } else if !stage.inFlight.isEmpty {
                stage.end(.delivered)
                other.end(.delivered)
            }
        }
        #expect(stage.rows == other.rows)
    }

    @Test func `rows that cannot be are refused`() {
        let decided = PushMessage(
            number: 1, kind: .nudge, person: 0, decidedAt: PushStage.wall,
            now: RunningTime(milliseconds: 0), life: .seconds(1))
        var row = decided.row
        #expect(PushMessage(decided, as: row) == decided)
        row.state = .sending
        #expect(PushMessage(decided, as: row) == nil)
        row.attempts = 1
        #expect(PushMessage(decided, as: row) != nil)
        row.state = .ticketed
        #expect(PushMessage(decided, as: row) == nil)
        row.ticket = [1]
        #expect(PushMessage(decided, as: row) != nil)
        row.state = .over
        #expect(PushMessage(decided, as: row) == nil)
        row.outcome = .failed
        #expect(PushMessage(decided, as: row) != nil)
    }

    // MARK: - Reloads

    /// A stage with a push that was refused so often that it waits for half a minute at least.
    private func refusedStage(ago: Int64 = 10) -> PushStage {
        var stage = PushStage()
        stage.decide(1, life: .seconds(86_400))
        repeat {
            _ = stage.next()
            stage.end(Self.refused)
            _ = stage.turn()
        } while stage.box.due() < stage.now + .seconds(30)
        stage.wait(.seconds(ago))
        return stage
    }

    @Test func `after a reload what certainly was not sent is tried at once`() {
        for change in [EndpointChange.secret, .place] {
            var stage = refusedStage()
            #expect(stage.turn() == [])
            #expect(stage.box.retrySoon(change, now: stage.now) == 1)
            #expect(stage.box.hasChanges)
            #expect(stage.turn() == ["send 1"])
            stage.end(Self.refused)
            _ = stage.turn()
            // Another place has not refused it before.
            let wait = stage.box.due() - stage.now
            #expect(change != .place || wait <= .seconds(2))
        }
        var stage = refusedStage()
        let wait = stage.box.due() - stage.now
        stage.box.retrySoon(.same, now: stage.now)
        #expect(stage.box.due() - stage.now == min(wait, .seconds(50)))
    }

    @Test func `reloads in a loop are no flood`() {
        // At another place the waits begin with a second.
        for (change, sendsMax) in [(EndpointChange.same, 40), (.secret, 150), (.place, 450)] {
            var stage = PushStage()
            stage.decide(1, life: .seconds(86_400))
            for _ in 0..<600 {
                stage.box.retrySoon(change, now: stage.now)
                if !stage.turn().isEmpty { stage.end(Self.refused) }
                stage.wait(.seconds(1))
            }
            #expect(stage.sent[1] ?? 0 <= sendsMax, "\(change)")
        }
    }

    @Test func `a sink that wants to be left alone still does, but not another one`() {
        for change in [EndpointChange.same, .secret, .place] {
            var stage = PushStage()
            stage.decide(1, life: .seconds(86_400))
            _ = stage.turn()
            stage.end(.refused(retryAfter: .seconds(1000)))
            _ = stage.turn()
            var killed = stage
            killed.restart()
            stage.wait(.seconds(100))
            stage.box.retrySoon(change, now: stage.now)
            #expect(stage.turn() == (change == .place ? ["send 1"] : []))
            // A start does not know why it waits.
            killed.wait(.seconds(100))
            killed.box.retrySoon(change, now: killed.now)
            #expect(killed.turn() == (change == .place ? ["send 1"] : []))
        }
    }

    @Test func `a reload sends nothing that may have gone out, nor what is over`() {
        for change in [EndpointChange.same, .secret, .place] {
            var stage = PushStage()
            for number in 1...3 as ClosedRange<Int64> { stage.decide(number, life: .seconds(60)) }
            _ = stage.turn()
            stage.box.retrySoon(change, now: stage.now)
            stage.end(.unknown)
            stage.end(.delivered)
            stage.end(Self.refused)
            #expect(stage.turn() == ["1 unknown", "2 delivered"])
            stage.wait(.seconds(60))
            #expect(stage.turn() == ["3 expired"])
            stage.box.retrySoon(change, now: stage.now)
            #expect(stage.next() == [])
            #expect(stage.sent == [1: 1, 2: 1, 3: 1])
        }
    }

    @Test func `a push that was under way during a reload is tried again soon`() {
        var stage = refusedStage()
        _ = stage.next()
        stage.box.retrySoon(.secret, now: stage.now)
        stage.end(Self.refused)
        _ = stage.turn()
        #expect(stage.box.due() - stage.now <= .seconds(5))
        #expect(stage.next() == ["send 1"])
    }

    @Test func `what a reload retries soon is stored: a kill changes nothing of it`() throws {
        for (change, wait) in [(EndpointChange.same, 60), (.secret, 5), (.place, 5)] {
            var stage = refusedStage(ago: 0)
            let soonest = stage.now + .seconds(Int64(wait))
            stage.box.retrySoon(change, now: stage.now)
            #expect(stage.turn() == [])
            #expect(stage.box.due() <= soonest)
            let next = try #require(stage.rows[1]?.next)
            #expect(next <= soonest)
            stage.restart()
            #expect(stage.box.due() == next)
            #expect(stage.next() == ["send 1"])
        }
    }

    // MARK: - Bounds

    @Test func `a webhook gets four pushes at once, each in a call of its own`() {
        var stage = PushStage()
        for number in 1...5 as ClosedRange<Int64> { stage.decide(number) }
        #expect(stage.turn() == ["send 1", "send 2", "send 3", "send 4"])
        #expect(stage.turn() == [])
        stage.end(.delivered)
        #expect(stage.turn() == ["1 delivered", "send 5"])
    }

    @Test func `expo gets 100 messages in a call, and the 101st in the next`() {
        var stage = PushStage(.expo)
        for number in 1...101 as ClosedRange<Int64> { stage.decide(number) }
        #expect(stage.turn() == ["send 1...100"])
        #expect(stage.turn() == [])
        stage.end(Self.ticket)
        #expect(stage.turn() == ["send 101"])
    }

    @Test func `what a call does not tell of is not known`() {
        var stage = PushStage(.expo)
        for number in 1...3 as ClosedRange<Int64> { stage.decide(number) }
        _ = stage.turn()
        let queue = stage.inFlight[0].queue
        stage.box.end(queue, [PushAttempt(2, .delivered)], now: stage.now)
        #expect(stage.turn() == ["1 unknown", "2 delivered", "3 unknown"])
        // A call that came back already tells nothing more.
        stage.box.end(queue, [PushAttempt(1, .delivered)], now: stage.now)
        #expect(stage.turn() == [])
    }

    @Test func `of too many the oldest expire, wakes before nudges`() {
        var stage = PushStage(.none, waitingMax: 3)
        stage.box.follow(.webhook)
        for number in 1...3 as ClosedRange<Int64> { stage.decide(number) }
        stage.decide(4, .wake)
        #expect(stage.box.settle(now: stage.now, wall: PushStage.wall).map(\.number) == [4])
        #expect(stage.box.settle(now: stage.now, wall: PushStage.wall) == [])
        stage.decide(5)
        let ends = stage.box.settle(now: stage.now, wall: PushStage.wall)
        #expect(ends.map(\.number) == [1] && ends.map(\.outcome) == [.expired])
    }

    @Test func `without a sink what waits is removed, and receipts are asked of nobody`() {
        var stage = PushStage(.expo)
        stage.decide(1)
        _ = stage.turn()
        stage.end(Self.ticket)
        stage.decide(2)
        _ = stage.turn()
        stage.decide(3)
        stage.box.follow(.none)
        #expect(stage.turn() == ["3 removed", "1 unknown"])
        // What was on its way comes back.
        stage.end(Self.refused)
        #expect(stage.turn() == ["2 removed"])
        #expect(stage.box.due() == .distantFuture)
    }
}
