import Testing

@testable import RollcallCore

/// The likelier cause is suspected once enough verdicts say so. Source: P7.
@Suite struct LearnedCauseTests {
    private static let now = RunningTime(milliseconds: 0)

    private func report(
        _ cause: GapCause, _ verdict: GapVerdict?, _ platform: Platform = .android,
        maker: String = ""
    ) -> GapReport {
        var report = GapReport()
        report.suspected = cause
        report.verdict = verdict
        report.facts.platform = platform
        report.facts.manufacturer = Array(maker.utf8)
        return report
    }

    private func note(
        _ past: inout PastGaps, _ count: Int, _ cause: GapCause, _ verdict: GapVerdict,
        _ platform: Platform = .android, maker: String = ""
    ) {
        let report = report(cause, verdict, platform, maker: maker)
        for _ in 0..<count { past.note(report, now: Self.now) }
    }

    private func likelier(
        _ past: PastGaps, _ cause: GapCause, _ platform: Platform = .android, maker: String = "",
        isInFront: Bool = false
    ) -> GapCause? {
        var facts = report(cause, nil, platform, maker: maker).facts
        facts.telemetry.appState = isInFront ? 1 : 0
        return past.likelier(than: cause, facts)
    }

    /// 200 gaps that nothing explains and that were the app's end, and the opening of the next.
    private func timeline(_ policy: String, next cause: String) throws -> Engine {
        var lines = ["0s policy on_duty 60/90/180 \(policy)"]
        for number in 0...200 {
            let at = 400 * number
            let back = number == 0 ? "41 unknown, 41 online" : "41 online, 41 gap closed"
            lines.append("\(at)s 41 reports with \(2 * number + 1) → \(back)")
            lines.append("\(at + 60)s 41 reports with \(2 * number + 2)")
            if number > 0 { lines.append("\(at + 120)s → 41 verdict app_stopped") }
            let suspected = number == 200 ? cause : "unexplained"
            lines.append("\(at + 150)s → 41 degraded, 41 gap open \(suspected)")
            lines.append("\(at + 240)s → 41 offline, 41 gap judged")
        }
        // One that was learned ends like every other, and is kept under what the rules suspect.
        lines.append("80400s 41 reports with 500 → 41 online, 41 gap closed")
        lines.append("80460s 41 reports with 501")
        lines.append("80520s → 41 verdict app_stopped")
        return try RollcallCoreTests.timeline(lines.joined(separator: "\n"), gaps: true)
    }

    @Test func `P7: two hundred verdicts change the first suspicion, with gaps.learn`() throws {
        let engine = try timeline("learn 1", next: "app_suspended")
        let counted = engine.counters.gaps
        #expect(counted.verdicts(.unexplained, .appStopped, .unknown) == 200)
        #expect(counted.verdicts(.appSuspended, .appStopped, .unknown) == 1)
        let facts = GapFacts()
        #expect(engine.pastGaps.likelier(than: .unexplained, facts) == .appSuspended)
        let odds = engine.pastGaps.outlook(
            for: report(.unexplained, nil, .unknown), now: engine.clock.now, kept: .seconds(86_400)
        ).odds
        #expect(odds?.all == 201)
    }

    @Test func `P7: without it nothing is suspected otherwise`() throws {
        let engine = try timeline("", next: "unexplained")
        #expect(engine.counters.gaps.verdicts(.unexplained, .appStopped, .unknown) == 201)
    }

    @Test func `P7: a hundred and ninety-nine are too few; what says nothing does not count`() {
        var past = PastGaps()
        note(&past, 199, .unexplained, .appStopped)
        note(&past, 20, .unexplained, .dutyEnded)
        #expect(likelier(past, .unexplained) == nil)
        note(&past, 1, .unexplained, .network)
        #expect(likelier(past, .unexplained) == .appSuspended)
        #expect(likelier(past, .unexplained, isInFront: true) == .appTerminated)
        var other = PastGaps()
        note(&other, 199, .appSuspended, .network)
        note(&other, 20, .appSuspended, .unexplained)
        #expect(likelier(other, .appSuspended) == nil)
        note(&other, 1, .appSuspended, .network)
        #expect(likelier(other, .appSuspended) == .noNetwork)
    }

    @Test func `P7: a tie is the rules'; what bears them out changes nothing`() {
        var past = PastGaps()
        note(&past, 100, .appTerminated, .network)
        note(&past, 60, .appTerminated, .appStopped)
        note(&past, 40, .appTerminated, .reinstalled)
        #expect(likelier(past, .appTerminated, isInFront: true) == nil)
        note(&past, 1, .appTerminated, .network)
        #expect(likelier(past, .appTerminated, isInFront: true) == .noNetwork)
        for (cause, verdict) in [
            (GapCause.massGap, GapVerdict.network), (.lowPower, .appStopped),
            (.batteryEmpty, .reinstalled), (.neverHeard, .unexplained),
            (.unexplained, .unexplained), (.permissionDenied, .permissionDenied),
            (.locationServicesOff, .locationServicesOff), (.noNetwork, .network),
        ] {
            note(&past, 220, cause, verdict)
            #expect(likelier(past, cause) == nil, "\(cause)")
        }
    }

    @Test func `P7: the kind decides before the platform, and the platform before all phones`() {
        var past = PastGaps()
        note(&past, 250, .appSuspended, .appStopped, .ios, maker: "Apple")
        note(&past, 150, .appSuspended, .network)
        // Of android alone there are too few: on all phones the app was stopped.
        #expect(likelier(past, .appSuspended) == nil)
        note(&past, 50, .appSuspended, .network)
        #expect(likelier(past, .appSuspended) == .noNetwork)
        #expect(likelier(past, .appSuspended, .ios, maker: "Apple") == nil)
        note(&past, 200, .appSuspended, .appStopped, maker: "samsung")
        #expect(likelier(past, .appSuspended, maker: "samsung") == nil)
        #expect(likelier(past, .appSuspended) == .noNetwork)
        // Forgotten with its name, it speaks no more.
        past.forget(maker: Array("Apple".utf8))
        #expect(likelier(past, .appSuspended, .ios, maker: "Apple") == nil)
        var rest = PastGaps()
        note(&rest, 200, .appSuspended, .network)
        note(&rest, 200, .appSuspended, .appStopped, maker: "samsung")
        rest.forget(maker: Array("samsung".utf8))
        #expect(past != rest && likelier(rest, .appSuspended, .other) == .noNetwork)
    }

    @Test func `P7: phones of too many makers are judged with their platform`() {
        var past = PastGaps()
        for maker in 0..<PastGaps.makersMax {
            note(&past, 10, .appSuspended, .appStopped, maker: "m\(maker)")
        }
        note(&past, 250, .appSuspended, .network, maker: "more")
        #expect(likelier(past, .appSuspended, maker: "more") == nil)
    }

    @Test func `P7: a verdict that bears the rules out is one that said something, once`() {
        var past = PastGaps()
        note(&past, 101, .appSuspended, .network)
        note(&past, 98, .appSuspended, .appStopped)
        #expect(likelier(past, .appSuspended) == nil, "199")
        note(&past, 1, .appSuspended, .reinstalled)
        #expect(likelier(past, .appSuspended) == .noNetwork)
        var silent = PastGaps()
        note(&silent, 101, .neverHeard, .network)
        note(&silent, 98, .neverHeard, .unexplained)
        #expect(likelier(silent, .neverHeard) == nil)
        note(&silent, 1, .neverHeard, .unexplained)
        #expect(likelier(silent, .neverHeard) == .noNetwork)
    }

    @Test(
        arguments: zip(
            [1, 5, 2, 4],
            [GapCause.appTerminated, .appTerminated] + [.appSuspended, .appSuspended]))
    func `P7: an app that stopped was terminated in front or by its own word`(
        state: Int, cause: GapCause
    ) {
        var past = PastGaps()
        note(&past, 200, .unexplained, .appStopped)
        var facts = report(.unexplained, nil).facts
        facts.telemetry.appState = UInt8(state)
        #expect(past.likelier(than: .unexplained, facts) == cause)
    }

    @Test func `P7: only the newest count, also after a checkpoint`() {
        var past = PastGaps()
        note(&past, 250, .unexplained, .network)
        #expect(likelier(past, .unexplained) == .noNetwork)
        note(&past, 126, .unexplained, .appStopped)
        #expect(likelier(past, .unexplained) == .appSuspended)
        var copy = past
        let bytes = Archive.bytes { copy.code(&$0) }
        var read = PastGaps()
        #expect(Archive.reads(part: bytes) { read.code(&$0) })
        #expect(read == past && likelier(read, .unexplained) == .appSuspended)
    }

    @Test func `P7: a report keeps what the rules suspect, and tells it as evidence`() throws {
        var learned = report(.appSuspended, nil)
        #expect(GapReport(journalBytes: learned.journalBytes) == learned)
        var output: [UInt8] = []
        GapEvidence.append(learned, to: &output)
        #expect(!String(decoding: output, as: UTF8.self).contains("by_rule"))
        learned.ruled = .unexplained
        #expect(GapReport(journalBytes: learned.journalBytes) == learned)
        output = []
        GapEvidence.append(learned, to: &output)
        #expect(String(decoding: output, as: UTF8.self).contains(#""by_rule":"unexplained""#))
        var policy = Policy()
        policy.learnsGaps = true
        #expect(Policy(journalBytes: policy.journalBytes) == policy)
    }
}
