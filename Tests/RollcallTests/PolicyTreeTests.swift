import RollcallCore
import Testing

@testable import RollcallBasis
@testable import RollcallTools

/// Settings that an export writes decide as those that the journal holds (F5).
@Suite struct PolicyTreeTests {
    /// Draws settings at the limits and between them.
    private struct Draw {
        private var state: UInt64

        init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

        mutating func next(_ bound: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(bound))
        }

        mutating func flag() -> Bool { next(2) == 0 }

        mutating func span(_ least: Int64 = 1, _ most: Int64 = 366 * 86_400_000) -> Milliseconds {
            let units: [Int64] = [1, 1000, 60_000, 3_600_000, 86_400_000]
            let span = Int64(1 + next(400)) * units[next(units.count)]
            return Milliseconds(min(max(span, least), most))
        }

        /// Without the mark U+FEFF, which the settings' reader drops before we see it.
        mutating func text(_ most: Int) -> [UInt8] {
            let parts = [
                "north", "\"", "\\", "{{x}}", ": ", "#", "é", "日本", "😀", "\u{85}", "\u{2028}",
                "\u{7F}", "'", "- ", "%", "\t", "yes", "null", "~", "1e3",
            ]
            let text = (0...next(5)).map { _ in parts[next(parts.count)] }.joined()
            return Array(text.utf8.prefix(most))
        }

        mutating func profile() -> Policy.Profile {
            var profile = Policy.Profile(expected: 0, degradedAfter: 0, offlineAfter: 0)
            profile.expected = span(1, 300 * 86_400_000)
            profile.degradedAfter = max(profile.expected, span(1, 300 * 86_400_000))
            profile.offlineAfter = profile.degradedAfter
            profile.offlineAfter.count += Int64(1 + next(9_999_999))
            guard flag() else { return profile }
            profile.background.expected = profile.degradedAfter
            profile.background.degradedAfter = profile.offlineAfter
            profile.background.offlineAfter = profile.offlineAfter
            profile.background.offlineAfter.count += Int64(1 + next(999))
            return profile
        }

        mutating func factor() -> Double {
            [0.1, 1.0, 100.0, 1.0 / 3, 0.1 + 0.2, Double(1 + next(999)) / 10][next(6)]
        }

        mutating func rule(_ rule: inout AlertRules.Rule) {
            rule.isEnabled = flag()
            rule.pendingFor = flag() ? Milliseconds(0) : span()
            rule.keepFiringFor = flag() ? Milliseconds(0) : span()
            rule.severity = Severity.allCases[next(Severity.allCases.count)]
            let names = ["team", "_x1", "Z", "summary"].filter { _ in flag() }
            rule.labels = names.map { Label(Array($0.utf8), text(1024)) }.ordered()
            rule.annotations = names.map { Label(Array($0.utf8), text(1024)) }.ordered()
            if flag() {
                let url = "https://wiki.example.org/a?b=\(next(99))#c"
                rule.annotations.append(Label(Array("runbook_url".utf8), Array(url.utf8)))
            }
        }

        mutating func alerts(_ rules: inout AlertRules) {
            rule(&rules.highOfflineRate)
            rules.offlineAbove = Int64(next(10_001))
            rules.isOfflineByRegion = flag()
            rules.offlineMinActive = 1 + next(1_000_000)
            rules.offlineMin = 1 + next(1_000_000)
            rule(&rules.responderFlapping)
            rules.flappingChanges = 2 + next(99)
            rules.flappingWindow = span(1000, 86_400_000)
            rules.flappingClearBelow = 1 + next(rules.flappingChanges - 1)
            rule(&rules.responderOffline)
            rules.offlineDuties = [[.onDuty, .onMission], [.onDuty], [.onMission]][next(3)]
            rules.offlineRegions = (0..<next(4)).map { _ in text(128) }
            rule(&rules.noOnlineResponders)
            rule(&rules.telemetryFeedDown)
            rules.namesMax = next(101)
            rules.storm = next(1_000_001)
        }

        mutating func nudges(_ rules: inout NudgeRules) {
            rules.mode = NudgeRules.Mode.allCases[next(3)]
            rules.sink = NudgeRules.Sink.allCases[next(3)]
            rules.staleAfter.standard = span(1000)
            rules.staleAfter.onDuty = flag() ? span(1000) : nil
            rules.staleAfter.onMission = flag() ? span(1000) : nil
            rules.staleAfter.ios = flag() ? span(1000) : nil
            rules.staleAfter.android = flag() ? span(1000) : nil
            rules.minInterval = span(1000)
            rules.timeToLive = span(1000, 28 * 86_400_000)
            rules.ratePerSecond = 1 + next(600)
            rules.peers = flag() ? .circle : .circleOrRegion
        }

        mutating func policy() -> Policy {
            var policy = Policy()
            policy.onDuty = profile()
            policy.onMission = profile()
            policy.promiseMax = span(0, 172_800_000)
            policy.missionPromiseMax = span(0, 172_800_000)
            policy.lowPowerFactor = factor()
            policy.iosFactor = factor()
            policy.androidFactor = factor()
            policy.serverTransitions = flag() ? .adopt : .observe
            policy.forgetAfter = span()
            policy.retention = span(86_400_000)
            policy.learnsGaps = flag()
            policy.feedMinActive = 1 + next(1_000_000)
            policy.feedStallAfter = span()
            policy.respondersMax = 1 + next(5_000_000)
            policy.regionLabelsMax = 1 + next(1000)
            policy.circleNamesMax = 1 + next(5_000_000)
            policy.regionNamesMax = 2 + next(100_000)
            policy.versionNamesMax = 1 + next(65_000)
            policy.coverageRegions = (0..<next(5)).map { _ in text(128) }
            alerts(&policy.alerts)
            nudges(&policy.nudges)
            return policy
        }
    }

    private func again(_ policy: Policy) throws -> Policy {
        let text = String(decoding: PolicyTree.text(policy), as: UTF8.self)
        var read = try Configuration(yaml: text).policy
        // Who is told decides nothing that a replay prints.
        read.receivers = policy.receivers
        return read
    }

    @Test func `settings written and read decide the same`() throws {
        #expect(try again(Policy()) == Policy())
        #expect(try again(Configuration().policy) == Configuration().policy)
        for seed in 1...300 {
            var draw = Draw(seed: seed)
            let policy = draw.policy()
            let text = String(decoding: PolicyTree.text(policy), as: UTF8.self)
            #expect(try again(policy) == policy, "\(text)")
            #expect(Policy(journalBytes: policy.journalBytes) == policy, "\(text)")
        }
    }

    @Test func `the tree is one line of JSON`() throws {
        for seed in 1...50 {
            var draw = Draw(seed: seed)
            let text = PolicyTree.text(draw.policy())
            #expect(!text.contains(0x0A))
            var cursor = JSONCursor(range: 0..<text.count, depthMax: 16)
            try cursor.skipValue(text.span)
            try cursor.finish(text.span)
        }
    }

    @Test func `an expo sink is told, so that whoever has no token is known`() throws {
        var policy = Policy()
        policy.nudges.sink = .expo
        policy.nudges.mode = .dryRun
        #expect(try again(policy).nudges.sink == .expo)
        #expect(try again(policy).nudges.mode == .dryRun)
    }
}
