import Testing

@testable import RollcallCore

/// What the simulation's oracle taught the alerts. Source: Contract/Alerts, F27 to F29.
struct AlertCaseTests {
    /// The alerts that a replay of `lines` prints, without their stamps.
    private func alerts(_ policy: Policy, _ lines: String...) throws -> [String] {
        try alerts(policy, lines)
    }

    private func alerts(_ policy: Policy, _ lines: [String]) throws -> [String] {
        var replay = Replay(policy: policy)
        var output: [UInt8] = []
        for line in lines {
            let words = line.split(separator: " ", maxSplits: 1)
            let at = try Script.span(words[0]) + Script.zero
            try replay.fold(Array("{\"at\":\(at),\(words[1])}".utf8), to: &output)
        }
        replay.finish(to: &output)
        let mark = #""kind":"alert","alertname":"#
        return String(decoding: output, as: UTF8.self).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: mark, maxSplits: 1)
            return parts.count == 2 ? String(parts[1].dropLast()) : nil
        }
    }

    /// Alerts that neither wait nor linger.
    private var prompt: Policy {
        var policy = Policy()
        policy.alerts.noOnlineResponders.pendingFor = .seconds(0)
        policy.alerts.noOnlineResponders.keepFiringFor = .seconds(0)
        policy.alerts.highOfflineRate.isEnabled = false
        return policy
    }

    private static func end(_ at: String) -> String { at + #" "kind":"end""# }

    @Test func `an alert ends with a region whose last person is erased`() throws {
        let lines = try alerts(
            prompt,
            #"0s "kind":"batch","body":{"responder_id":"41","region":"north"}"#,
            #"100s "kind":"erase","body":{"responder_id":"41"}"#, Self.end("101s"))
        #expect(
            lines == [
                #""NoOnlineResponders","state":"firing","labels":{"region":"north"},"value":1"#,
                #""NoOnlineResponders","state":"resolved","labels":{"region":"north"},"value":1"#,
            ])
    }

    @Test func `an alert ends with a region that an erasure elsewhere takes away`() throws {
        let lines = try alerts(
            prompt,
            #"0s "kind":"batch","body":{"responder_id":"41","region":"north"}"#,
            #"0s "kind":"batch","body":{"responder_id":"42","duty_state":"OFF_DUTY"}"#,
            #"100s "kind":"responder","body":{"responder_id":"41","duty_state":"OFF_DUTY"}"#,
            #"100s "kind":"responder","body":{"responder_id":"41","region":"south"}"#,
            #"100s "kind":"erase","body":{"responder_id":"42"}"#, Self.end("101s"))
        #expect(
            lines == [
                #""NoOnlineResponders","state":"firing","labels":{"region":"north"},"value":1"#,
                #""NoOnlineResponders","state":"resolved","labels":{"region":"north"},"value":1"#,
            ])
    }

    @Test func `the server's transitions alone make no region unstaffed`() throws {
        var policy = prompt
        policy.coverageRegions = [Array("north".utf8)]
        let unstaffed =
            #""NoOnlineResponders","state":"firing","labels":{"region":"north"},"value":0"#
        let opinion = #"{"responder_id":"41","from":"OFFLINE","to":"ONLINE"}"#
        let server = #""kind":"transition","body":\#(opinion)"#
        #expect(try alerts(policy, "0s \(server)", Self.end("10s")) == [])
        let fact = #""kind":"responder","body":{"responder_id":"41"}"#
        #expect(try alerts(policy, "0s \(server)", "5s \(fact)", Self.end("10s")) == [unstaffed])
        let roster = #""kind":"roster","body":[]"#
        #expect(try alerts(policy, "0s \(roster)", Self.end("10s")) == [unstaffed])
    }

    @Test func `a silence is judged by its age after blindness that was noticed later`() throws {
        var policy = prompt
        policy.alerts.telemetryFeedDown.isEnabled = false
        let beat = #""kind":"heartbeat","source":"a","body":{"every_seconds":10}"#
        let body = #"{"responder_id":"41","duty_state":"ON_MISSION"}"#
        let lines = [
            "0s \(beat)", #"0s "kind":"responder","body":"# + body, "10s \(beat)", "20s \(beat)",
        ]
        let labels = #""labels":{"region":"default"},"value":1"#
        let firing = #""NoOnlineResponders","state":"firing","# + labels
        let resolved = firing.replacing("firing", with: "resolved")
        #expect(try alerts(policy, lines + [Self.end("29.999s")]) == [])
        #expect(try alerts(policy, lines + [Self.end("30s")]) == [firing])
        // Blind from 20 s, which is noticed at 45 s: at 46 s the silence is one of 20 s.
        let seen = lines + ["46s \(beat)"]
        #expect(try alerts(policy, seen + [Self.end("55.999s")]) == [firing, resolved])
        #expect(try alerts(policy, seen + [Self.end("56s")]) == [firing, resolved, firing])
    }

    @Test func `changes leave the window sooner when observed time is set back`() throws {
        var policy = prompt
        policy.alerts.noOnlineResponders.isEnabled = false
        policy.alerts.telemetryFeedDown.isEnabled = false
        policy.alerts.flappingChanges = 2
        policy.alerts.flappingClearBelow = 1
        policy.alerts.flappingWindow = .seconds(60)
        let beat = #""kind":"heartbeat","source":"a","body":{"every_seconds":20}"#
        let report = #""kind":"batch","body":{"responder_id":"41","duty_state":"ON_MISSION"}"#
        // Blind from 40 s, which is noticed at 90 s, to 91 s: both changes count as of 40 s.
        let lines = [
            "0s \(beat)", "0s \(report)", "40s \(beat)", "70s \(report)", "91s \(beat)",
            "100s \(report)", "130s \(beat)", "130s \(report)",
        ]
        let labels = #""labels":{"region":"default"},"value":1"#
        let firing = #""ResponderFlapping","state":"firing","# + labels
        let resolved = firing.replacing("firing", with: "resolved")
        #expect(try alerts(policy, lines + [Self.end("150.999s")]) == [firing])
        #expect(try alerts(policy, lines + [Self.end("151s")]) == [firing, resolved])
    }

    @Test func `whoever flaps by the rules at the end of an instant flaps`() throws {
        var policy = prompt
        policy.alerts.noOnlineResponders.isEnabled = false
        policy.alerts.flappingChanges = 2
        policy.alerts.flappingClearBelow = 1
        var stricter = policy
        stricter.alerts.flappingChanges = 5
        stricter.alerts.flappingClearBelow = 4
        var engine = Engine(policy: policy)
        func report(at seconds: Int64) throws {
            let body = Array(#"{"responder_id":"41","duty_state":"ON_MISSION"}"#.utf8)
            let items = try ItemScanner.scan(body.span, kind: .batch).items
            _ = engine.fold(
                .items(items, source: []), at: RunningTime(milliseconds: seconds * 1000))
        }
        try report(at: 0)
        engine.settle()
        try report(at: 70)
        engine.advance(to: RunningTime(milliseconds: 140_000))
        _ = engine.takeDecisions()
        // Three changes so far; the fourth comes with the rule that asks for it.
        _ = engine.fold(.policy(stricter), at: RunningTime(milliseconds: 141_000))
        try report(at: 141)
        engine.settle()
        let alerts = engine.takeDecisions().filter {
            if case .alert = $0.decision { true } else { false }
        }
        #expect(alerts.isEmpty)
    }

    @Test func `rules that ask for more changes count those made under the old ones`() {
        var rules = AlertRules()
        rules.flappingChanges = 1
        rules.flappingClearBelow = 1
        var flapping = Flapping()
        for second in 0..<3 { flapping.change(at: .init(milliseconds: Int64(second)), rules) }
        rules.flappingChanges = 4
        rules.flappingClearBelow = 3
        flapping.evaluate(.init(milliseconds: 3), rules)
        #expect(flapping.isFlapping)
        rules.flappingClearBelow = 4
        flapping.evaluate(.init(milliseconds: 3), rules)
        #expect(!flapping.isFlapping)
    }

    @Test func `no more changes are remembered than settings can ask for`() {
        var flapping = Flapping()
        for count in 1...Flapping.changesMax + 1 {
            flapping.change(at: .init(milliseconds: Int64(count)), AlertRules())
            #expect(flapping.changes.count == min(count, Flapping.changesMax))
        }
        #expect(flapping.changes.first?.milliseconds == 2)
    }
}
