import Testing

@testable import RollcallCore

/// What a push service tells later of what it took (N7).
@Suite struct PushReceiptTests {
    private static let ticket = PushVerdict.ticketed(Array("t".utf8))

    /// So many pushes with their tickets.
    private func stage(_ count: Int64, ticketsMax: Int = PushBox.ticketsMax) -> PushStage {
        var stage = PushStage(.expo, ticketsMax: ticketsMax)
        for number in 1...count { stage.decide(number) }
        while true {
            let did = stage.turn()
            if did.isEmpty { return stage }
            if !stage.inFlight.isEmpty { stage.end(Self.ticket) }
        }
    }

    @Test func `a receipt is asked for 15 minutes after the ticket`() {
        var stage = stage(4)
        #expect(stage.state(1) == "ticketed")
        #expect(stage.box.pendingCount == 0)
        #expect(stage.next() == ["ask 1...4"])
        #expect(stage.now.milliseconds == 900_000)
        #expect(!stage.box.isSending)
        stage.tell([.delivered, .unregistered, .failed, .notReady])
        #expect(stage.turn() == ["1 delivered", "2 unregistered", "3 failed"])
        #expect(stage.rows[1]?.ticket == [])
        #expect(stage.next() == ["ask 4"])
        #expect(stage.now.milliseconds == 1_800_000)
    }

    @Test func `after a day without a receipt nobody knows`() {
        var stage = stage(1)
        var questions = 0
        while stage.next() == ["ask 1"] {
            questions += 1
            stage.tell([.notReady])
        }
        #expect(questions == 95)
        #expect(stage.state(1) == "unknown")
        #expect(stage.now.milliseconds == 86_400_000)
    }

    @Test func `a question that fails is asked again, and a kill does no harm`() {
        var stage = stage(2)
        #expect(stage.next() == ["ask 1 2"])
        stage.tell(nil)
        #expect(stage.next() == ["ask 1 2"])
        #expect((901_000...910_000).contains(stage.now.milliseconds))
        // An answer of another shape is none.
        stage.tell([.delivered])
        #expect(stage.next() == ["ask 1 2"])
        stage.tell(nil, retryAfter: .seconds(60))
        let before = stage.now
        #expect(stage.next() == ["ask 1 2"])
        #expect(stage.now - before >= .seconds(60))
        stage.restart()
        #expect(stage.turn() == ["ask 1 2"])
        stage.tell([.delivered, .delivered])
        #expect(stage.turn() == ["1 delivered", "2 delivered"])
        #expect(stage.sent == [1: 1, 2: 1])
    }

    @Test func `a question is for 300 receipts at most`() {
        var stage = stage(301)
        #expect(stage.next() == ["ask 1...300"])
        #expect(stage.turn() == [])
        stage.tell([ReceiptVerdict](repeating: .notReady, count: 300))
        #expect(stage.turn() == ["ask 301"])
    }

    @Test func `of too many tickets the oldest are not asked for`() {
        var stage = stage(3, ticketsMax: 3)
        #expect(stage.state(1) == "ticketed")
        stage.decide(4)
        _ = stage.turn()
        stage.end(Self.ticket)
        #expect(stage.turn() == ["1 unknown"])
        #expect(stage.next() == ["ask 2...4"])
    }
}
