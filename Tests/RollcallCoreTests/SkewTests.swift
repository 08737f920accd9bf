import Testing

@testable import RollcallCore

/// Clocks of sources that are off: what is added to their times, and when. Source: D10.
@Suite struct SkewTests {
    @Test func `D10: two minutes that agree are enough, one is not`() throws {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 31.4s                   → skew b1 corrected 31.4s 31s
            120s     skew b1 31.2s
            """, skews: true)
    }

    @Test func `D10: minutes that do not agree, or do not follow each other, prove nothing`() throws
    {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 32.001s
            120s     skew b1 40s
            210s     skew b1 40s
            270s     skew b1 40s                     → skew b1 corrected 40s 40s
            """, skews: true)
    }

    @Test func `D10: what is within two seconds is the way, not the clock`() throws {
        try timeline(
            """
            0s       skew b1 2s
            0s       skew b2 -2s
            60s      skew b1 2.001s
            60s      skew b2 -2s
            120s     skew b1 2.001s                  → skew b1 corrected 2.001s 2.001s
            """, skews: true)
    }

    @Test func `D10: beyond five minutes it is only told`() throws {
        try timeline(
            """
            0s       skew b1 300.001s                → skew b1 too_far 300.001s 0s
            60s      skew b1 300.001s
            120s     skew b1 300s                    → skew b1 corrected 300s 300s
            180s     skew b1 -400s
            240s     skew b1 -400s                   → skew b1 too_far -400s 0s
            """, skews: true)
    }

    @Test func `D10: a correction that no longer holds goes by the same rule`() throws {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 31s                     → skew b1 corrected 31s 31s
            120s     skew b1 32s
            180s     skew b1 10s
            240s     skew b1 10s                     → skew b1 corrected 10s 10s
            300s     skew b1 0.003s
            360s     skew b1 0.005s                  → skew b1 right 0.005s 0s
            """, skews: true)
    }

    @Test func `D10: a backend behind us makes nobody OFFLINE once its clock is known`() throws {
        try timeline(
            """
            0s       skew b1 31s
            55s      41 goes on mission              → 41 unknown
            60s      skew b1 31s
            61s      41 reports received 31s ago through b1 with 1   → 41 online
            91s                                      → 41 degraded
            121s                                     → 41 offline
            121.001s 41 reports received 31s ago through b2 with 2   → 41 degraded by contact
            """)
    }

    @Test func `D10: one that is ahead hides no delay`() throws {
        try timeline(
            """
            0s       41 reports                      → 41 unknown, 41 online
            0s       skew b1 -40s
            60s      skew b1 -40s
            60s      41 reports received 20s ahead through b1
            130s                                     → 41 degraded
            """)
    }

    @Test func `D10: facts and the server's own changes are corrected, captures are not`() throws {
        let engine = try timeline(
            """
            0s       skew b1 31s
            40s      41 is told on duty through b2   → 41 unknown
            60s      skew b1 31s
            61s      41 is told off duty at 30s through b1           → 41 not expected
            62s      42 reports received 31s through b1 with 1 captured 40s → 42 unknown, 42 online
            """)
        let number = try #require(engine.roster.number(of: Array("42".utf8)))
        #expect(engine.roster[number].lastLocationAt.milliseconds == Script.zero + 40_000)
        #expect(engine.counters.skewedUpdates == 0)
        // Of 62 s and 40 s: received 22 s after it was captured.
        #expect(engine.counters.delay.sum == 22_000)
    }

    @Test func `D10: without sent_at nothing is corrected`() throws {
        try timeline(
            """
            0s       41 goes on mission              → 41 unknown
            30s      41 reports received 61s ago through b1
            60s                                      → 41 offline
            """)
    }

    @Test func `D10: our own step moves what is known to be off by as much`() throws {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 31s                     → skew b1 corrected 31s 31s
            70s      skew b2 0s
            40s      clock steps -31s                → skew b1 right 0s 0s
            45s      skew b2 -31s                    → skew b2 unsure -31s 0s
            105s     skew b2 -31s                    → skew b2 corrected -31s -31s
            85s      clock steps -20s                → skew b2 corrected -51s -51s
            """, skews: true)
    }

    @Test func `D10: what nobody measured for a quarter of an hour holds no longer`() throws {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 31s                     → skew b1 corrected 31s 31s
            60s      skew b2 0.1s
            890s     41 reports                      → 41 unknown, 41 online
            959.999s
            960s                                     → skew b1 unmeasured 31s 0s
            961s     41 reports received 31s ago through b1
            1020s                                    → 41 degraded
            """, skews: true)
    }

    @Test func `D10: a start keeps what is known, and drops what is too old`() throws {
        try timeline(
            """
            0s       skew b1 31s                     → skew b1 unsure 31s 0s
            60s      skew b1 31s                     → skew b1 corrected 31s 31s
            70s      stop
            80s      start                           → blind stopped since 70s, \
            blind stopped ended since 70s
            120s     skew b1 31s
            130s     stop
            2000s    start                           → skew b1 unmeasured 31s 0s, \
            blind stopped since 130s, blind stopped ended since 130s
            """, skews: true)
    }

    @Test func `D10: it stands in a checkpoint, and in the store's row`() throws {
        var engine = Engine()
        let source = Array("backend 1".utf8)
        let start = RunningTime(milliseconds: 1_795_219_200_000)
        for minute in 0..<2 {
            _ = engine.fold(
                .skew(source: source, Milliseconds(31_000)),
                at: start + Milliseconds(Int64(minute) * 60_000))
        }
        engine.settle()
        let decided = engine.takeDecisions().compactMap { decision -> SkewReport? in
            guard case .skew(_, let report) = decision.decision else { return nil }
            return report
        }
        #expect(decided.map(\.state) == [.unsure, .corrected])
        for report in decided { #expect(SkewReport(journalBytes: report.journalBytes) == report) }
        #expect(SkewReport(journalBytes: [7, 1]) == nil)
        let checkpoint = Checkpoint(engine)
        var reader = CheckpointReader()
        for index in 0..<checkpoint.sliceCount { reader.take(checkpoint.slice(index)) }
        let again = try #require(reader.finish())
        #expect(again.sight.feed.skews.sources == engine.sight.feed.skews.sources)
        #expect(again.sight.feed.skews.correction(of: source) == Milliseconds(31_000))
    }

    @Test func `D10: at most 64 sources are kept, and a century is the most`() {
        var skews = SourceSkews()
        let now = RunningTime(milliseconds: 0)
        for number in 0..<70 {
            _ = skews.measure([UInt8(number)], Milliseconds(5000), now: now)
        }
        #expect(skews.sources.count == Feed.sourcesMax)
        let limit = SourceSkews.skewMax
        #expect(Event.skew(source: [1], Milliseconds(-limit)).isCredible)
        #expect(!Event.skew(source: [1], Milliseconds(limit + 1)).isCredible)
        #expect(!Event.skew(source: [1], Milliseconds(.min)).isCredible)
        _ = skews.step(Milliseconds(.min))
        #expect(skews.sources.allSatisfy { $0.measured.count.magnitude <= UInt64(limit) })
    }

    // MARK: - When a request was sent

    private func scan(
        _ text: String, _ format: BodyFormat = .json, kind: ItemKind = .batch
    ) throws -> ScanResult {
        try ItemScanner.scan(Array(text.utf8).span, kind: kind, format: format)
    }

    @Test func `D10: the first of several objects may say when they are sent`() throws {
        for (text, format) in [
            (#"[{"sent_at":1795219200.25},{"responder_id":"a"}]"#, BodyFormat.json),
            ("{\"sent_at\":1795219200250}\n{\"responder_id\":\"a\"}\n", .lines),
            (#" [ { "sent_at" : "2026-11-21T00:00:00.25Z" } , {"responder_id":"a"}]"#, .json),
        ] {
            let result = try scan(text, format)
            #expect(result.sentAt.time?.milliseconds == 1_795_219_200_250, "\(text)")
            #expect(result.items.count == 1 && result.itemCount == 1 && result.places == [1])
            #expect(result.problems.isEmpty && result.rejected.isEmpty)
        }
        #expect(try scan(#"[{"sent_at":null},{"responder_id":"a"}]"#).sentAt == .untold)
    }

    @Test func `D10: one that cannot be read is a problem and costs nothing else`() throws {
        for value in [#""yesterday""#, "-1", "100000000000000", "true", "{}", "[1]"] {
            let result = try scan("[{\"sent_at\":\(value)},{\"responder_id\":\"a\"}]")
            #expect(result.sentAt == .unreadable && result.items.count == 1, "\(value)")
            #expect(result.problems.map(\.pointer) == ["/sent_at"])
            #expect(result.problems.map(\.index) == [0] && result.rejectedCount == 0)
        }
    }

    @Test func `D10: what a phone says of its own sending is nothing of the source's`() throws {
        let one = try scan(#"{"sent_at":5,"responder_id":"a"}"#)
        #expect(one.sentAt == .untold && one.problems.map(\.fault) == [.unknownField])
        let several = try scan(#"[{"sent_at":5,"responder_id":"a"},{"sent_at":5}]"#)
        #expect(several.sentAt == .untold && several.items.count == 1)
        #expect(several.problems.map(\.index) == [0, 1])
        #expect(several.rejected.map(\.index) == [1])
        for text in [#"[{},{"sent_at":5}]"#, #"[7,{"sent_at":5}]"#] {
            #expect(try scan(text).sentAt == .untold, "\(text)")
        }
        let alone = try scan(#"{"sent_at":5}"#)
        #expect(alone.sentAt == .untold && alone.rejectedCount == 1)
    }

    @Test func `D10: the newest time of receipt of a body is known, of batches alone`() throws {
        let batches = try scan(
            #"[{"responder_id":"a","received_at":7000},{"responder_id":"b","received_at":9000},"#
                + #"{"responder_id":"c"}]"#)
        #expect(batches.receivedAt?.milliseconds == 9_000_000)
        let facts = try scan(#"[{"responder_id":"a","at":7000}]"#, kind: .responder)
        #expect(facts.receivedAt == nil)
    }

    @Test func `D10: a header takes the forms of a body`() {
        let time = Timestamp(milliseconds: 1_795_219_200_250)
        #expect(SentAt(field: "2026-11-21T00:00:00.250Z") == .at(time, .rfc3339))
        #expect(SentAt(field: "1795219200.25") == .at(time, .seconds))
        #expect(SentAt(field: "1795219200250") == .at(time, .milliseconds))
        #expect(SentAt(field: "1.79521920025e9") == .at(time, .seconds))
        #expect(SentAt(field: nil) == .untold)
        for text in ["", " ", "now", "-5", "1e", "1795219200 ", "2026-11-21", "\u{7f}", "0x10"] {
            #expect(SentAt(field: text) == .unreadable, "\(text)")
        }
    }

    @Test func `D10: a heartbeat says it in its body`() throws {
        func read(_ value: String) throws -> SentAt {
            let body = Array("{\"every_seconds\":10,\"sent_at\":\(value)}".utf8)
            return try ReplayBody(body.span, 0..<body.count).sentAt
        }
        let time = Timestamp(milliseconds: 1_795_219_200_000)
        #expect(try read("1795219200") == .at(time, .seconds))
        #expect(try read(#""2026-11-21T00:00:00Z""#) == .at(time, .rfc3339))
        #expect(try read("null") == .untold)
        for value in ["true", "false", "{}", "[]", "-1", #""soon""#] {
            #expect(try read(value) == .unreadable, "\(value)")
        }
    }

    @Test(arguments: [BodyFormat.json, .lines])
    func `D10: what says when a body was sent is none of its items`(format: BodyFormat) throws {
        let all = [#"{"sent_at":5}"#, #"{"responder_id":"a"}"#, #"{"responder_id":"b"}"#]
        let body =
            format == .json ? "[\(all.joined(separator: ","))]" : all.joined(separator: "\n")
        let result = try ItemScanner.scan(
            Array(body.utf8).span, kind: .batch, format: format,
            limits: ScanLimits(itemsMax: 2))
        #expect(result.items.count == 2)
        #expect(result.places == [1, 2])
    }
}
