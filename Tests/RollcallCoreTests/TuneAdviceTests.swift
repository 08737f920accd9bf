import Testing

@testable import RollcallCore

@Suite struct TuneAdviceTests {
    /// A day with so many false alarms and minutes of delay; 100 long gaps.
    private func outcome(
        healed: Int, minutes: Int64 = 0, missed: Int = 0, hours: Int64 = 24,
        longest: Milliseconds = .seconds(180), missedNotifications: Int = 0
    ) -> TuneOutcome {
        var counts = TuneCounts()
        counts[.onDuty, .ios].healed = healed
        var stats = TuneComparison.Stats()
        stats.long = 100
        stats.undetected = .seconds(minutes * 60)
        stats.missed = missed
        stats.missedNotifications = missedNotifications
        return TuneOutcome(
            counts: counts, stats: stats, observed: .seconds(hours * 3600),
            longestOnDuty: longest)
    }

    private func advice(_ outcomes: TuneOutcome..., isEvaluated: Bool = true) -> TuneAdvice {
        TuneAdvice.about(
            Array(1..<outcomes.count), of: outcomes, TuneWeights(), isEvaluated: isEvaluated)
    }

    @Test func `the cheapest is taken`() {
        let now = outcome(healed: 900, minutes: 100)
        #expect(
            advice(now, outcome(healed: 400, minutes: 200), outcome(healed: 300, minutes: 500))
                == .take(1, saves: 0.4))
    }

    @Test func `a cost is what it says`() {
        var weights = TuneWeights()
        weights.falseAlarm = 2
        weights.lateMinute = 3
        weights.missed = 5
        let costly = outcome(healed: 10, minutes: 4, missed: 2, missedNotifications: 1)
        #expect(costly.cost(weights) == 20 + 12 + 10 + 5)
        // Half a day makes twice as much of a day.
        #expect(outcome(healed: 10, hours: 12).cost(TuneWeights()) == 20)
        #expect(outcome(healed: 10, hours: 0).cost(TuneWeights()) == 0)
    }

    @Test func `what misses gaps or pages, is slow, or fits nowhere is never taken`() {
        let now = outcome(healed: 900)
        func reason(_ other: TuneOutcome) -> TuneAdvice { advice(now, other) }
        #expect(reason(outcome(healed: 0, missed: 1)) == .keep(.refused(1, .misses(1))))
        #expect(
            reason(outcome(healed: 0, missedNotifications: 2))
                == .keep(.refused(1, .missesNotifications(2))))
        #expect(
            reason(outcome(healed: 0, longest: Milliseconds(180_001)))
                == .keep(.refused(1, .slow(Milliseconds(180_001)))))
        var misfit = outcome(healed: 0)
        misfit.isMisfit = true
        #expect(reason(misfit) == .keep(.refused(1, .misfit)))
        // The next one is taken if nothing speaks against it.
        #expect(
            advice(now, outcome(healed: 0, missed: 1), outcome(healed: 450))
                == .take(2, saves: 0.5))
    }

    @Test func `who is slow already may stay so, and be no slower`() {
        let now = outcome(healed: 900, longest: .seconds(400))
        #expect(
            advice(now, outcome(healed: 450, longest: .seconds(400))) == .take(1, saves: 0.5))
        #expect(
            advice(now, outcome(healed: 450, longest: .seconds(401)))
                == .keep(.refused(1, .slow(.seconds(401)))))
    }

    @Test func `alerts that fire for more than half as long again are not taken`() {
        var now = outcome(healed: 900)
        now.counts.notifications[0].firing = .seconds(1000)
        var other = outcome(healed: 0)
        other.counts.notifications[0].firing = .seconds(1500)
        #expect(advice(now, other) == .take(1, saves: 1))
        other.counts.notifications[0].firing = .seconds(2000)
        #expect(advice(now, other) == .keep(.refused(1, .rings(2))))
    }

    @Test func `a small gain, a short history and few events change nothing`() {
        let now = outcome(healed: 1000)
        #expect(advice(now, outcome(healed: 1001)) == .keep(.best))
        #expect(advice(now, outcome(healed: 951)) == .keep(.small(0.049)))
        #expect(advice(now, outcome(healed: 950)) == .take(1, saves: 0.05))
        #expect(
            advice(outcome(healed: 1000, hours: 19), outcome(healed: 0, hours: 19))
                == .keep(.short(.seconds(19 * 3600))))
        var few = outcome(healed: 19)
        few.stats.long = 0
        #expect(advice(few, outcome(healed: 0)) == .keep(.few(19)))
        few.stats.long = 1
        #expect(advice(few, outcome(healed: 0)) == .take(1, saves: 1))
    }

    @Test func `nothing is said about what is not evaluated`() {
        #expect(
            advice(outcome(healed: 900), outcome(healed: 0), isEvaluated: false) == .keep(.unjudged)
        )
    }

    @Test func `delays are told in tenths of a second by shares`() {
        var counts = TuneCounts()
        for tenths in 1...100 { counts.note(delay: Milliseconds(Int64(tenths) * 100), .onDuty) }
        counts.note(delay: .seconds(60), .onMission)
        #expect(counts.delay(0.5, .onDuty) == .seconds(5))
        #expect(counts.delay(0.99, .onDuty) == Milliseconds(9900))
        #expect(counts.delay(1, .onDuty) == .seconds(10))
        #expect(counts.delay(1) == .seconds(60))
    }
}
