import RollcallCluster
import RollcallCore
import Testing

/// S14: how a member that does not lead knows what time it is in the watch.
@Suite struct TurnClockTests {
    private static func running(_ milliseconds: Int64) -> RunningTime {
        RunningTime(milliseconds: milliseconds)
    }

    @Test func `without a turn nobody knows`() {
        #expect(TurnClock().running(at: 5) == nil)
    }

    @Test func `the turn that came fastest tells it best`() {
        var clock = TurnClock()
        clock.observe(Self.running(1_000_000), at: 100)
        #expect(clock.running(at: 100) == Self.running(1_000_000))
        // 40 ms on its way, then 340 ms.
        clock.observe(Self.running(1_000_500), at: 560)
        clock.observe(Self.running(1_001_000), at: 1400)
        #expect(clock.running(at: 1500) == Self.running(1_001_440))
    }

    @Test func `a clock that runs fast is not believed for more than two minutes`() {
        var clock = TurnClock()
        for second in 0..<300 {
            // 1 ms a second, far more than any real one.
            let elapsed = Int64(second) * 1001
            clock.observe(Self.running(1_000_000 + Int64(second) * 1000), at: elapsed)
        }
        let elapsed: Int64 = 300 * 1001
        let error = (clock.running(at: elapsed) ?? Self.running(0)).milliseconds - 1_300_000
        #expect((0...130).contains(error), "\(error) ms ahead")
    }
}
