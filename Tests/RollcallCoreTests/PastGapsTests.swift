import Testing

@testable import RollcallCore

/// What usually follows a gap: when people return, and what it turns out to be. Source: P7.
@Suite struct PastGapsTests {
    private static let month = Milliseconds.seconds(30 * 86_400)

    /// A gap that is over, or open without a verdict.
    private func gap(
        _ cause: GapCause = .appSuspended, _ verdict: GapVerdict? = nil, seconds: Int64 = 0,
        platform: Platform = .android, maker: String = "HUAWEI"
    ) -> GapReport {
        var report = GapReport()
        report.number = 1
        report.suspected = cause
        report.verdict = verdict
        report.length = .seconds(seconds)
        report.facts.platform = platform
        report.facts.manufacturer = Array(maker.utf8)
        return report
    }

    private func at(hour: Int64) -> RunningTime { RunningTime(milliseconds: hour * 3_600_000) }

    private func outlook(
        _ past: PastGaps, _ report: GapReport, hour: Int64 = 0, kept: Milliseconds = month
    ) -> GapOutlook {
        past.outlook(for: report, now: at(hour: hour), kept: kept)
    }

    private func bytes(_ past: PastGaps) -> [UInt8] {
        var copy = past
        return Archive.bytes { copy.code(&$0) }
    }

    /// One person's gaps, one after the other, of 250 s and 350 s in turn; the longer ones are of the
    /// network. The last one is open.
    private func timeline(of verdicts: Int) throws -> Engine {
        let phone =
            #"{"platform":"android","manufacturer":"HUAWEI","telemetry":{"app_state":"background"}}"#
        var lines = ["0s policy on_duty 60/90/180"]
        var at = 0
        for number in 0...verdicts {
            let isNetwork = number > 0 && number.isMultiple(of: 2)
            let captured = isNetwork ? " captured \(at - 200)s" : ""
            let back = number == 0 ? "41 unknown, 41 online" : "41 online, 41 gap closed"
            lines.append("\(at)s 41 reports with \(2 * number + 1)\(captured) \(phone) → \(back)")
            lines.append("\(at + 60)s 41 reports with \(2 * number + 2)")
            if number > 0 {
                lines.append("\(at + 120)s → 41 verdict \(isNetwork ? "network" : "app_stopped")")
            }
            lines.append("\(at + 150)s → 41 degraded, 41 gap open app_suspended")
            lines.append("\(at + 240)s → 41 offline, 41 gap judged")
            at += number.isMultiple(of: 2) ? 400 : 500
        }
        return try RollcallCoreTests.timeline(lines.joined(separator: "\n"), gaps: true)
    }

    @Test func `P7: the usual time and the odds of an open gap rest on twenty like it`() throws {
        let engine = try timeline(of: 20)
        let number = try #require(engine.roster.number(of: Array("41".utf8)))
        let (report, outlook) = try #require(engine.outlook(of: number))
        #expect(report.number == 21)
        let usual = try #require(outlook.usualReturn)
        #expect(usual.basis == .phones && usual.gaps == 20)
        #expect(usual.median == .seconds(300))
        let odds = try #require(outlook.odds)
        #expect(odds.basis == .manufacturer && odds.all == 20)
        #expect(odds.verdicts.map(\.verdict) == [.network, .appStopped])
        #expect(odds.verdicts.map(\.count) == [10, 10])
    }

    @Test func `P7: nineteen are too few, and who is back has none`() throws {
        var engine = try timeline(of: 19)
        let number = try #require(engine.roster.number(of: Array("41".utf8)))
        #expect(engine.outlook(of: number)?.outlook == GapOutlook())
        let now = engine.clock.now + Milliseconds(1)
        let item = Array(#"{"responder_id":"41"}"#.utf8)
        let scan = try ItemScanner.scan(item.span, kind: .batch)
        _ = engine.fold(.items(scan.items, source: EventSource.standard), at: now)
        engine.advance(to: now)
        #expect(engine.outlook(of: number) == nil)
    }

    @Test func `P7: a checkpoint keeps what it rests on, and goes on alike`() throws {
        var engine = try timeline(of: 20)
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        var copy = try #require(reader.finish())
        #expect(copy.pastGaps == engine.pastGaps && engine.pastGaps != PastGaps())
        // Off duty ends a gap of its own verdict in both.
        let item = Array(#"{"responder_id":"41","duty_state":"OFF_DUTY"}"#.utf8)
        let scan = try ItemScanner.scan(item.span, kind: .responder)
        let event = Event.items(scan.items, source: EventSource.standard)
        let now = engine.clock.now + Milliseconds(1)
        _ = engine.fold(event, at: now)
        _ = copy.fold(event, at: now)
        #expect(copy.pastGaps == engine.pastGaps)
        let phones = outlook(engine.pastGaps, gap(), hour: now.milliseconds / 3_600_000)
        #expect(phones.odds?.count(.dutyEnded) == 1)
        // Who left did not return.
        #expect(phones.usualReturn?.gaps == 20)
    }

    @Test func `P7: of what is not the same phone no usual time is told, and wider odds are`() {
        var past = PastGaps()
        for _ in 0..<20 {
            past.note(gap(.appSuspended, .network, seconds: 60), now: at(hour: 0))
        }
        #expect(outlook(past, gap()).usualReturn?.gaps == 20)
        #expect(outlook(past, gap()).odds?.basis == .manufacturer)
        let other = outlook(past, gap(maker: "samsung"))
        #expect(other.usualReturn == nil && other.odds?.basis == .platform)
        let silent = outlook(past, gap(maker: ""))
        #expect(silent.usualReturn == nil && silent.odds?.basis == .platform)
        let apple = outlook(past, gap(platform: .ios, maker: "Apple"))
        #expect(apple.usualReturn == nil && apple.odds?.basis == .suspicion)
        #expect(outlook(past, gap(.noNetwork)) == GapOutlook())
    }

    @Test func `P7: phones that tell no manufacturer are alike; those of too many are not`() {
        var past = PastGaps()
        for _ in 0..<20 { past.note(gap(.lowPower, .appStopped, maker: ""), now: at(hour: 0)) }
        #expect(outlook(past, gap(.lowPower, maker: "")).usualReturn?.gaps == 20)
        for maker in 0..<PastGaps.makersMax {
            past.note(gap(.noNetwork, .network, maker: "m\(maker)"), now: at(hour: 0))
        }
        for place in 0..<20 {
            past.note(gap(.lowPower, .network, maker: "more\(place % 2)"), now: at(hour: 0))
        }
        let more = outlook(past, gap(.lowPower, maker: "more0"))
        #expect(more.usualReturn == nil)
        #expect(more.odds?.basis == .platform && more.odds?.all == 40)
    }

    @Test func `P7: the newest 250 of a kind count, as long as history is kept`() {
        var past = PastGaps()
        for place in 0..<300 {
            let verdict = place < 100 ? GapVerdict.network : .appStopped
            past.note(
                gap(.appSuspended, verdict, seconds: Int64(place)), now: at(hour: Int64(place)))
        }
        let all = outlook(past, gap(), hour: 299)
        #expect(all.odds?.all == PastGaps.keptMax)
        #expect(all.odds?.count(.network) == 50 && all.odds?.count(.appStopped) == 200)
        // The middle of 50…299.
        #expect(all.usualReturn?.median == Milliseconds(174_500))
        let day = outlook(past, gap(), hour: 299, kept: .seconds(86_400))
        #expect(day.odds?.all == 25 && day.odds?.count(.network) == 0)
        #expect(outlook(past, gap(), hour: 299, kept: .seconds(19 * 3600)).odds?.all == 20)
        #expect(outlook(past, gap(), hour: 299, kept: .seconds(18 * 3600)) == GapOutlook())
    }

    @Test func `P7, D5: of which too much was blind counts for nothing`() {
        var past = PastGaps()
        var blind = gap(.appSuspended, .network, seconds: 100)
        blind.blind = .seconds(50)
        past.note(blind, now: at(hour: 0))
        past.note(gap(), now: at(hour: 0))
        #expect(past == PastGaps())
    }

    @Test func `P7: with the last phone of a maker, once somebody was erased, its name goes`() {
        var past = PastGaps()
        for maker in ["HUAWEI", "samsung"] {
            for _ in 0..<20 {
                past.note(gap(.appSuspended, .network, maker: maker), now: at(hour: 0))
            }
        }
        past.forget(maker: Array("HUAWEI".utf8))
        past.forget(maker: [])
        #expect(!bytes(past).contains(Array("HUAWEI".utf8)))
        #expect(bytes(past).contains(Array("samsung".utf8)))
        #expect(outlook(past, gap()).odds?.all == 20)
        #expect(outlook(past, gap(maker: "samsung")).usualReturn?.gaps == 20)
        // Its place is free for another.
        past.note(gap(.appSuspended, .network, maker: "Xiaomi"), now: at(hour: 0))
        #expect(outlook(past, gap(maker: "samsung")).usualReturn?.gaps == 20)
        #expect(outlook(past, gap(maker: "Xiaomi")).odds?.all == 21)
    }

    @Test func `P7: the place of a maker that is gone is free for another`() {
        var past = PastGaps()
        for maker in 0..<PastGaps.makersMax {
            past.note(gap(.lowPower, .network, maker: "m\(maker)"), now: at(hour: 0))
        }
        past.forget(maker: Array("m3".utf8))
        for _ in 0..<20 { past.note(gap(.lowPower, .network, maker: "new"), now: at(hour: 0)) }
        #expect(outlook(past, gap(.lowPower, maker: "new")).usualReturn?.gaps == 20)
        #expect(past.makersKnown.count == PastGaps.makersMax)
    }

    @Test func `P7: odds have what followed most often first`() {
        var past = PastGaps()
        for place in 0..<21 {
            let verdict = place < 5 ? GapVerdict.network : place < 13 ? .unexplained : .appStopped
            past.note(gap(.lowPower, verdict), now: at(hour: 0))
        }
        let odds = outlook(past, gap(.lowPower)).odds
        #expect(odds?.verdicts.map(\.count) == [8, 8, 5])
        #expect(odds?.verdicts.last?.verdict == .network)
    }

    @Test func `P7: bytes come back as they were; what cannot be is refused`() {
        var past = PastGaps()
        for place in 0..<40 {
            past.note(
                gap(.noNetwork, .network, seconds: 7, maker: "m\(place)"), now: at(hour: 3))
        }
        var read = PastGaps()
        #expect(Archive.reads(part: bytes(past)) { read.code(&$0) })
        #expect(read == past)
        // What an older engine did not write stays as it is.
        #expect(Archive.reads(part: []) { read.code(&$0) })
        #expect(read == past)
        var strange = Archive()
        var makers: [[UInt8]] = []
        strange.code(&makers)
        // A place behind the last maker.
        var kinds = [(UInt8(0), UInt8(0), UInt8(1))]
        strange.code(&kinds, empty: (0, 0, 0)) { archive, kind in
            archive.code(&kind.0)
            archive.code(&kind.1)
            archive.code(&kind.2)
            var outcomes: [Int] = []
            archive.code(&outcomes)
        }
        #expect(!Archive.reads(part: strange.bytes) { read.code(&$0) })
        #expect(read == PastGaps())
    }
}
