import Testing

@testable import RollcallCore

/// Which message is sent next, when, and what becomes of it (A9).
@Suite struct OutboxTests {
    private typealias Stage = OutboxStage
    private static let pager = [Stage.receiver("oncall", .pagerduty)]
    private static let hook = [Stage.receiver("oncall", .webhook)]

    // MARK: - Orders and ends

    @Test func `a trigger and its resolve go out in order, one at a time`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        #expect(stage.turn() == ["1 fired [1] #1"])
        stage.decide(.fired, [2])
        stage.decide(.resolved, [1])
        #expect(stage.turn() == [])
        #expect(stage.result(1, .delivered) == ["1 delivered", "2 fired [2] #1"])
        #expect(stage.result(2, .delivered) == ["2 delivered", "3 resolved [1] #1"])
        #expect(stage.result(3, .delivered) == ["3 delivered"])
        #expect(stage.outbox.pending == [Array("oncall".utf8): 0])
    }

    @Test func `after a 2xx nothing of a message is sent again, also not by a late result`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        #expect(stage.result(1, .failed) == [])
        stage.wait(seconds: 1_000_000)
        #expect(stage.turn() == [])
        stage.restart(Self.pager)
        #expect(stage.turn() == [])
    }

    @Test func `what is over before its first attempt is dropped, and its resolve with it`() {
        var stage = Stage(Self.hook)
        stage.decide(.fired, [1])
        _ = stage.turn()
        stage.decide(.fired, [2, 3])
        stage.decide(.resolved, [2])
        #expect(stage.turn() == ["3 dropped"])
        // The other member was never in question.
        #expect(stage.result(1, .delivered) == ["1 delivered", "2 fired [3] of [1] #1"])
        #expect(stage.result(2, .delivered) == ["2 delivered"])
        stage.decide(.resolved, [3])
        #expect(stage.turn() == ["4 resolved [3] of [1] #1"])
    }

    @Test func `what may have arrived is not tried again once it is over; its resolve is`() {
        var stage = Stage(Self.hook)
        stage.decide(.fired, [1, 2])
        _ = stage.turn()
        #expect(stage.result(1, .failed) == [])
        stage.decide(.resolved, [1])
        #expect(stage.turn() == [])
        stage.wait(seconds: 2)
        #expect(stage.turn() == ["2 resolved [1] #1"])
        #expect(stage.result(2, .delivered) == ["2 delivered", "1 fired [2] #2"])
        #expect(stage.result(1, .failed) == [])
        stage.decide(.resolved, [2])
        #expect(stage.turn() == ["1 abandoned"])
        stage.wait(seconds: 2)
        #expect(stage.turn() == ["3 resolved [2] #1"])
    }

    @Test func `what is over while it is being sent is not tried again, and its resolve waits`() {
        for verdict in [OutboxVerdict.delivered, .failed, .refused] {
            var stage = Stage(Self.pager)
            stage.decide(.fired, [1])
            _ = stage.turn()
            stage.decide(.resolved, [1])
            #expect(stage.turn() == [])
            let word = verdict == .delivered ? "delivered" : "abandoned"
            var lines = stage.result(1, verdict)
            // Who fails is left alone for a second.
            if verdict == .failed {
                stage.wait(seconds: 2)
                lines += stage.turn()
            }
            #expect(lines == ["1 \(word)", "2 resolved [1] #1"])
        }
    }

    @Test func `a repeat is dropped while the trigger is on its way, and sent once it is there`() {
        var stage = Stage(Self.hook)
        stage.decide(.fired, [1, 2])
        _ = stage.turn()
        stage.decide(.repeated, [1, 2])
        #expect(stage.turn() == ["2 dropped"])
        #expect(stage.result(1, .delivered) == ["1 delivered"])
        stage.decide(.repeated, [1, 2])
        #expect(stage.turn() == ["3 repeated [1 2] #1"])
        #expect(stage.result(3, .failed) == [])
        // It knows by the first message: the resolve goes out although the repeat did not.
        stage.decide(.resolved, [1])
        stage.wait(seconds: 2)
        #expect(stage.turn() == ["4 resolved [1] of [2] #1"])
    }

    @Test func `a repeat that was never tried does not take the resolve with it`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.decide(.fired, [2])
        _ = stage.turn()
        stage.decide(.repeated, [1])
        stage.decide(.resolved, [1])
        #expect(stage.turn() == ["3 dropped"])
        #expect(stage.result(2, .delivered) == ["2 delivered", "4 resolved [1] #1"])
    }

    @Test func `whoever is not told of ends is not told of what is over either`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        stage.decide(.fired, [2])
        stage.outbox.end(incident: 2)
        #expect(stage.turn() == ["2 dropped"])
        stage.outbox.end(incident: 1)
        #expect(stage.result(1, .failed) == ["1 abandoned"])
    }

    @Test func `A9: one that is over before its first attempt takes its resolve with it`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        stage.decide(.fired, [2])
        // As the state writer does it: the alert's end first.
        stage.outbox.end(incident: 2)
        stage.decide(.resolved, [2])
        #expect(stage.turn() == ["2 dropped", "3 dropped"])
        _ = stage.result(1, .delivered)
        stage.outbox.end(incident: 1)
        stage.decide(.resolved, [1])
        #expect(stage.turn() == ["4 resolved [1] #1"])
    }

    @Test func `D11: what is taken back is dropped, but what is on its way may still be taken`() {
        var stage = Stage(Self.pager)
        for incident in 1...3 { stage.decide(.fired, [Int64(incident)]) }
        #expect(stage.turn() == ["1 fired [1] #1"])
        for incident in 1...3 {
            stage.outbox.withdraw(incident: Int64(incident), from: Array("oncall".utf8))
        }
        // Its end comes before anybody knows that it was taken back.
        stage.decide(.resolved, [2])
        #expect(stage.turn() == ["2 dropped", "3 dropped", "4 dropped"])
        #expect(stage.result(1, .delivered) == ["1 delivered"])
        #expect(stage.outbox.reach(of: 1).map(\.state) == [.taken])
    }

    // MARK: - Refusals

    @Test func `a refusal holds up nobody else, and is tried every five minutes`() {
        var stage = Stage(Self.hook)
        stage.decide(.fired, [1])
        stage.decide(.fired, [2])
        #expect(stage.turn() == ["1 fired [1] #1"])
        #expect(stage.result(1, .refused) == ["2 fired [2] #1"])
        #expect(stage.result(2, .delivered) == ["2 delivered"])
        #expect(stage.waitForDue() == 300_000)
        #expect(stage.turn() == ["1 fired [1] of [2] #2"])
        #expect(stage.result(1, .refused, retryAfter: 1000) == [])
        #expect(stage.waitForDue() == 300_000)
    }

    @Test func `a refused end lets the next firing pass, and would end it: it is abandoned`() {
        let first = Stage.member(1, region: "north")
        let second = Stage.member(2, region: "north")
        var stage = Stage(Self.hook)
        stage.decide(.fired, [first])
        _ = stage.turn()
        _ = stage.result(1, .delivered)
        stage.decide(.resolved, [first])
        #expect(stage.turn() == ["2 resolved [1] #1"])
        stage.decide(.fired, [second])
        #expect(stage.turn() == [])
        #expect(stage.result(2, .refused) == ["3 fired [2] #1"])
        #expect(stage.result(3, .delivered) == ["3 delivered", "2 abandoned"])
    }

    @Test func `an end that fails keeps the next firing of the alert behind it, but not a pager's`()
    {
        let first = Stage.member(1, region: "north")
        let second = Stage.member(2, region: "north")
        for (receivers, wanted) in [
            (Self.hook, ["2 resolved [1] #2"]), (Self.pager, ["3 fired [2] #1"]),
        ] {
            var stage = Stage(receivers)
            stage.decide(.fired, [first])
            _ = stage.turn()
            _ = stage.result(1, .delivered)
            stage.decide(.resolved, [first])
            _ = stage.turn()
            _ = stage.result(2, .failed)
            stage.decide(.fired, [second])
            stage.wait(seconds: 2)
            #expect(stage.turn() == wanted)
        }
    }

    // MARK: - What is next, and until when

    @Test func `what is critical is tried before what is not`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        stage.decide(.fired, [2])
        stage.decide(.fired, [Stage.member(3, severity: "critical")])
        #expect(stage.result(1, .delivered) == ["1 delivered", "3 fired [3] #1"])
        #expect(stage.result(3, .delivered) == ["3 delivered", "2 fired [2] #1"])
    }

    @Test func `a trigger is given up after a day, its resolve after three`() {
        var stage = Stage(Self.pager)
        stage.decide(.fired, [1])
        _ = stage.turn()
        #expect(stage.result(1, .failed) == [])
        stage.wait(seconds: 86_399)
        _ = stage.turn()
        #expect(stage.result(1, .failed) == [])
        #expect(stage.waitForDue() <= 1000)
        #expect(stage.turn() == ["1 expired"])
        // It may have arrived: the end is told.
        stage.decide(.resolved, [1])
        #expect(stage.turn() == [])
        stage.wait(seconds: 2)
        #expect(stage.turn() == ["2 resolved [1] #1"])
        #expect(stage.result(2, .failed) == [])
        stage.wait(seconds: 3 * 86_400 - 3)
        #expect(stage.turn() == ["2 resolved [1] #2"])
        #expect(stage.result(2, .failed) == [])
        stage.wait(seconds: 1)
        #expect(stage.turn() == ["2 expired"])
        #expect(stage.outbox.due() == .distantFuture)
    }

    @Test func `an Alertmanager is told as long as it fires`() {
        var stage = Stage([Stage.receiver("oncall", .alertmanager)])
        stage.decide(.fired, [1])
        _ = stage.turn()
        _ = stage.result(1, .failed)
        stage.wait(seconds: 10 * 86_400)
        #expect(stage.turn() == ["1 fired [1] #2"])
    }
}
