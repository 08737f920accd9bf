import Foundation
import RollcallCore
import Synchronization
import Testing

@testable import Rollcall

/// A process that is killed anywhere on a push's way to a phone: nobody is nudged twice (N2, N7).
@Suite struct PushFailpointTests {
    /// Where a kill is, and what the sink does until then.
    private struct Kill: CustomStringConvertible {
        let verdict: PushVerdict
        let point: PushCrashStory.Point
        /// Which time the point is come to.
        let time: Int

        var description: String { "\(verdict), killed at \(point) \(time)" }
        var isRefused: Bool { verdict == .refused(retryAfter: nil) }

        /// True if the kill leaves a claim of which nobody knows what became.
        var isLost: Bool {
            switch point {
            case .decided, .claimed, .endStored: false
            // What is decided is claimed in the same turn, and so by the same commit.
            case .decisionStored, .claimStored, .sending, .sent, .ended: true
            }
        }

        /// Pushes that reach the phone in all.
        var arrivals: Int {
            if !isLost { return 1 }
            return !isRefused && (point == .sent || point == .ended) ? 1 : 0
        }

        var outcome: PushOutcome {
            if isLost { return .unknown }
            switch verdict {
            case .unknown: return .unknown
            case .unregistered: return .unregistered
            case .delivered, .refused, .ticketed: return .delivered
            }
        }

        /// Every one that can be: what is refused is tried again.
        static var all: [Kill] {
            let verdicts: [PushVerdict] = [
                .delivered, .unknown, .unregistered, .refused(retryAfter: nil),
            ]
            return verdicts.flatMap { verdict in
                PushCrashStory.Point.allCases.flatMap { point in
                    (1...2).map { Kill(verdict: verdict, point: point, time: $0) }
                }
            }.filter {
                $0.time == 1
                    || ($0.isRefused && $0.point != .decided && $0.point != .decisionStored)
            }
        }
    }

    @Test func `whenever we are killed, nobody is nudged twice, and a lost one is counted`() {
        #expect(Kill.all.count == 38)
        #expect(Kill.all.flatMap(Self.faults) == [])
    }

    /// One person, one nudge, one kill; what went wrong.
    private static func faults(_ kill: Kill) -> [String] {
        let passed = Mutex(0)
        let attempts = Mutex(0)
        let story = PushCrashStory(
            verdict: { _ in
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                return kill.isRefused && attempt > 2 ? .delivered : kill.verdict
            },
            isKilled: { point in
                guard point == kill.point else { return false }
                return passed.withLock { passed in
                    passed += 1
                    return passed == kill.time
                }
            })
        if story.live(["a"]) != nil { story.note("it was never killed") }
        guard let counters = story.live(["a"])?.counters.nudges else {
            return ["\(kill): it was killed twice"]
        }
        if story.arrived["a", default: 0] != kill.arrivals {
            story.note("\(story.arrived) arrived")
        }
        if counters.sent != 1 { story.note("\(counters.sent) decided") }
        for outcome in PushOutcome.allCases {
            let count = counters.pushed(.nudge, outcome)
            if count != (outcome == kill.outcome ? 1 : 0) {
                story.note("\(count) \(outcome.word)")
            }
        }
        return story.faults.map { "\(kill): \($0)" }
    }

    /// Dice that fall the same each time.
    private final class Dice: Sendable {
        private let state = Mutex<UInt64>(0x5EED)

        func roll(_ sides: UInt64) -> UInt64 {
            state.withLock { state in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return (state >> 33) % sides
            }
        }
    }

    /// As many restarts as `ROLLCALL_PUSH_RESTARTS` says; 200 without, or as many as 20 s allow.
    @Test func `restarts without end during a wave of nudges: nobody is nudged twice`() {
        let environment = ProcessInfo.processInfo.environment
        let wanted = environment["ROLLCALL_PUSH_RESTARTS"].flatMap { Int($0) }
        let dice = Dice()
        // Now and then one lives to its orderly end, which leaves a checkpoint and no log.
        let isSafe = Mutex(false)
        let story = PushCrashStory(
            verdict: { _ in
                switch dice.roll(20) {
                case 0..<10: .delivered
                case 10..<14: .unknown
                case 14..<19: .refused(retryAfter: nil)
                default: .unregistered
                }
            },
            isKilled: { _ in !isSafe.withLock { $0 } && dice.roll(8) == 0 })
        let began = ContinuousClock.now
        var lives = 0
        var people: [String] = []
        while lives < wanted ?? 200 {
            if wanted == nil, ContinuousClock.now - began > .seconds(20) { break }
            lives += 1
            isSafe.withLock { $0 = lives % 20 == 0 }
            // Who had no answer reports again.
            people = people.suffix(30) + (0..<3).map { "p-\(lives)-\($0)" }
            _ = story.live(people)
        }
        isSafe.withLock { $0 = true }
        let counters = story.live(people)?.counters.nudges ?? NudgeCounters()
        #expect(story.faults == [])
        #expect(lives >= 20 && story.kills > lives / 2)
        #expect(story.arrived.filter { $0.value > 1 } == [:])
        let outcomes = PushOutcome.allCases.map { counters.pushed(.nudge, $0) }
        #expect(counters.sent == outcomes.reduce(0, +))
        #expect(story.arrived.count >= counters.pushed(.nudge, .delivered))
        #expect(counters.pushed(.nudge, .unknown) > 0)
        // Everybody was nudged, or lost; nobody is left out.
        #expect(counters.sent == lives * 3)
    }
}
