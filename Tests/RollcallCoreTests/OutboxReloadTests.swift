import Testing

@testable import RollcallCore

/// What settings that are read again do to what waits (N-09).
@Suite struct OutboxReloadTests {
    private typealias Stage = OutboxStage
    private static let pager = [Stage.receiver("oncall", .pagerduty)]
    private static let hook = [Stage.receiver("oncall", .webhook)]

    /// A stage with a message that was tried once a minute ago.
    private func stage(
        _ verdict: OutboxVerdict, retryAfter: Int64? = nil, receivers: [Receiver] = pager
    ) -> OutboxStage {
        var stage = Stage(receivers)
        stage.decide(.fired, [1])
        #expect(stage.turn() == ["1 fired [1] #1"])
        #expect(stage.result(1, verdict, retryAfter: retryAfter) == [])
        stage.wait(seconds: 60)
        return stage
    }

    @Test(arguments: [EndpointChange.same, .secret, .place])
    func `what was refused is tried at once, and counts on`(change: EndpointChange) {
        var stage = stage(.refused)
        #expect(stage.turn() == [])
        #expect(stage.reload(change) == 1)
        #expect(stage.turn() == ["1 fired [1] #2"])
        #expect(stage.result(1, .refused) == [])
        #expect(stage.waitForDue() == 300_000)
        #expect(stage.turn() == ["1 fired [1] #3"])
        #expect(stage.result(1, .delivered) == ["1 delivered"])
        // What is told is not told again.
        #expect(stage.reload(change) == 0)
        #expect(stage.waitForDue() == 1_000_000_000)
    }

    @Test(arguments: [
        (EndpointChange.same, 60_000, 5), (.secret, 5000, 60), (.place, 5000, 60),
    ])
    func `reloads in a loop are no flood`(change: EndpointChange, wanted: Int64, attemptsMax: Int) {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .refused)
        // It is as far off as it was, however often they are read.
        for _ in 0..<3 { stage.reload(change) }
        #expect(stage.waitForDue() == wanted)
        var attempts = 0
        for _ in 0..<300 {
            stage.reload(change)
            for _ in stage.turn() {
                attempts += 1
                _ = stage.result(1, .refused)
            }
            stage.wait(seconds: 1)
        }
        #expect(attempts == attemptsMax)
    }

    @Test func `a new URL in each second is no flood for who fails either`() {
        var stage = Stage(Self.pager)
        for incident in 1...20 { stage.decide(.fired, [Int64(incident)]) }
        var attempts = 0
        for _ in 0..<300 {
            stage.reload(.place)
            var lines = stage.turn()
            while let line = lines.first {
                attempts += 1
                lines = stage.result(Int64(line.split(separator: " ")[0]) ?? 0, .failed)
            }
            stage.wait(seconds: 1)
        }
        #expect((60...220).contains(attempts))
    }

    @Test(arguments: [EndpointChange.same, .secret])
    func `a failure is waited for, unless its URL is no more`(change: EndpointChange) {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        for _ in 0..<12 {
            _ = stage.turn()
            _ = stage.result(1, .failed)
            _ = stage.waitForDue()
        }
        // The longest waits are anything up to five minutes.
        while stage.waitForDue(seconds: 30) < 30_000 {
            _ = stage.turn()
            _ = stage.result(1, .failed)
        }
        let due = stage.outbox.due()
        #expect(stage.reload(change) == 0)
        #expect(stage.outbox.due() == due)
        #expect(stage.reload(.place) == 1)
        #expect(stage.turn().count == 1)
        // At the new one it has failed once.
        #expect(stage.result(1, .failed) == [])
        #expect(stage.waitForDue() <= 2000)
    }

    @Test func `a receiver's own wish holds as long as it is the same one`() {
        for verdict in [OutboxVerdict.failed, .refused] {
            var stage = stage(verdict, retryAfter: 600)
            #expect(stage.reload(.same) == 0)
            #expect(stage.reload(.secret) == 0)
            #expect(stage.turn() == [])
            #expect(stage.waitForDue() == 240_000)
            stage = self.stage(verdict, retryAfter: 600)
            #expect(stage.reload(.place) == 1)
            #expect(stage.turn() == ["1 fired [1] #2"])
        }
    }

    @Test func `what was under way may have left by the old way`() {
        for (verdict, change, wait) in [
            (OutboxVerdict.refused, EndpointChange.secret, 5000), (.refused, .same, 60_000),
            (.refused, .place, 5000),
        ] {
            var stage = Stage(Self.pager)
            stage.decide(.fired, [1])
            _ = stage.turn()
            #expect(stage.reload(change) == 0)
            stage.reload(.same)
            stage.wait(seconds: 3)
            #expect(stage.result(1, verdict) == [])
            #expect(stage.waitForDue() == wait)
            _ = stage.turn()
            // Once: what is refused now was sent by the new one.
            #expect(stage.result(1, .refused) == [])
            #expect(stage.waitForDue() == 300_000)
        }
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        stage.reload(.place)
        #expect(stage.result(1, .failed, retryAfter: 600) == [])
        #expect(stage.waitForDue() <= 5000)
    }

    @Test func `each address is judged by itself`() {
        var stage = Stage([Stage.receiver("oncall", .webhook, targets: 2)])
        stage.decide(.fired, [1])
        #expect(stage.turn() == ["1 fired [1] #1", "1/1 fired [1] #1"])
        _ = stage.result(1, .failed, retryAfter: 100)
        _ = stage.result(1, .failed, retryAfter: 100, to: "oncall", 1)
        stage.wait(seconds: 10)
        #expect(stage.reload(.place, target: 1) == 1)
        #expect(stage.turn() == ["1/1 fired [1] #2"])
        #expect(stage.waitForDue() == 90_000)
    }

    @Test func `the order of an alert stays, and what was given up`() {
        let first = Stage.member(1, region: "north")
        let second = Stage.member(2, region: "north")
        var stage = Stage(Self.hook)
        stage.decide(.fired, [first])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.decide(.resolved, [first])
        _ = stage.turn()
        _ = stage.result(2, .failed, retryAfter: 3600)
        stage.decide(.fired, [second])
        stage.wait(seconds: 10)
        #expect(stage.turn() == [])
        #expect(stage.reload(.place) == 1)
        #expect(stage.turn() == ["2 resolved [1] #2"])
        #expect(stage.result(2, .delivered) == ["2 delivered", "3 fired [2] #1"])
        _ = stage.result(3, .refused)
        stage.wait(seconds: 86_400)
        #expect(stage.turn() == ["3 expired"])
        #expect(stage.reload(.place) == 0)
        #expect(stage.turn() == [])
    }

    // MARK: - Starts

    @Test func `what is retried soon is stored: a kill changes nothing of it`() {
        for change in [EndpointChange.same, .secret, .place] {
            var stage = Stage(Self.pager)
            stage.decide(.fired, [1])
            _ = stage.turn()
            _ = stage.result(1, .refused)
            #expect(stage.reload(change) == 1)
            #expect(stage.outbox.hasChanges)
            stage.store()
            #expect(!stage.outbox.hasChanges)
            var other = stage
            other.restart(Self.pager)
            #expect(stage.waitForDue() == other.waitForDue())
            #expect(stage.turn() == other.turn())
            #expect(stage.now == other.now)
        }
    }

    @Test func `after a start what was refused is tried a minute after the last that is known`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .refused)
        stage.restart(Self.pager)
        #expect(stage.reload(.same) == 1)
        #expect(stage.waitForDue() == 60_000)
        #expect(stage.turn() == ["1 fired [1] #2"])
        #expect(stage.result(1, .refused) == [])
        stage.restart(Self.pager)
        // Down for longer than that.
        stage.wait(seconds: 70)
        #expect(stage.reload(.same) == 1)
        #expect(stage.turn() == ["1 fired [1] #3"])
    }

    // MARK: - Whatever happens

    @Test(arguments: Effort.seeds(60 as UInt64))
    func `no attempt comes sooner than all that was said allows`(seed: UInt64) {
        var world = OutboxReloads(seed: seed)
        for _ in 0..<400 { world.step() }
        #expect(world.faults.first == nil)
        #expect(world.attempts > 50)
    }
}
