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
        clock.observe(Self.running(1_000_000), at: 100, reign: 1, isFresh: true)
        #expect(clock.running(at: 100) == Self.running(1_000_000))
        // 40 ms on its way, then 340 ms.
        clock.observe(Self.running(1_000_500), at: 560, reign: 1, isFresh: true)
        clock.observe(Self.running(1_001_000), at: 1400, reign: 1, isFresh: true)
        #expect(clock.running(at: 1500) == Self.running(1_001_440))
    }

    @Test func `a clock that runs fast is not believed for more than two minutes`() {
        var clock = TurnClock()
        for second in 0..<300 {
            // 1 ms a second, far more than any real one.
            let elapsed = Int64(second) * 1001
            clock.observe(
                Self.running(1_000_000 + Int64(second) * 1000), at: elapsed, reign: 1,
                isFresh: true)
        }
        let elapsed: Int64 = 300 * 1001
        let error = (clock.running(at: elapsed) ?? Self.running(0)).milliseconds - 1_300_000
        #expect((0...130).contains(error), "\(error) ms ahead")
    }

    @Test func `a turn that was read after the fact counts only until one came as it landed`() {
        var clock = TurnClock()
        clock.observe(Self.running(1_000_000), at: 900, reign: 1, isFresh: false)
        clock.observe(Self.running(1_000_500), at: 1000, reign: 1, isFresh: false)
        #expect(clock.running(at: 1000) == Self.running(1_000_500))
        clock.observe(Self.running(1_005_000), at: 4000, reign: 1, isFresh: true)
        clock.observe(Self.running(1_005_100), at: 5200, reign: 1, isFresh: false)
        #expect(clock.running(at: 5200) == Self.running(1_006_200))
    }

    @Test func `in another reign another machine's clock tells it`() {
        var clock = TurnClock()
        clock.observe(Self.running(1_000_000), at: 100, reign: 1, isFresh: true)
        // The one that leads now knew it 600 ms too early.
        clock.observe(Self.running(1_002_400), at: 3100, reign: 2, isFresh: true)
        #expect(clock.running(at: 3100) == Self.running(1_002_400))
        clock.observe(Self.running(1_003_400), at: 4110, reign: 2, isFresh: true)
        #expect(clock.running(at: 4200) == Self.running(1_003_500))
    }
}
