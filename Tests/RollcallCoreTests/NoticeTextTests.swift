import RollcallCore
import Testing

/// What messages say of an alert whose numbers change. Source: D7.
@Suite struct NoticeTextTests {
    @Test func `D7: numbers and causes are of one instant, and an end has those of the end`()
        throws
    {
        var receiver = Receiver.named("chat")
        receiver.repeatInterval = .seconds(60)
        var stage = try NoticeStage([receiver])
        try stage.report("a,b,c", at: 0)
        stage.pass(to: 211)
        // The repeat of 210 s has the numbers of the firing, of 150 s.
        let fired = "Nobody can be reached in north, 3 of 3 out of contact: 3 unexplained"
        #expect(stage.summaries == [fired, fired])
        let leave = Array("{\"responder_id\":\"c\",\"duty_state\":\"OFF_DUTY\"}".utf8)
        let scan = try ItemScanner.scan(leave.span, kind: .responder)
        _ = stage.fold(.items(scan.items, source: []), at: 220)
        stage.pass(to: 271)
        #expect(stage.summaries.last == "Nobody can be reached in north, 2 of 2 out of contact")
        for second in [300, 360, 420] as [Int64] { try stage.report("a", at: second) }
        stage.pass(to: 440)
        #expect(stage.notified.last == "420 chat resolved NoOnlineResponders#1(north)")
        #expect(stage.summaries.last == "Over: north: 1 of 2 out of contact")
    }
}
