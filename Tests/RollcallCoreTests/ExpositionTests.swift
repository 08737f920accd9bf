import RollcallCore
import Testing

@Suite struct ExpositionTests {
    private static let start = RunningTime(milliseconds: 1_795_230_000_000)

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func post(
        _ kind: ItemKind, _ body: String, to engine: inout Engine, at seconds: Int64 = 0
    ) throws {
        let scan = try ItemScanner.scan(Array(body.utf8).span, kind: kind)
        let instant = Self.start + .seconds(seconds)
        _ = engine.fold(.items(scan.items, source: []), at: instant)
    }

    /// Lines of `page` that begin with `prefix`.
    private func lines(_ prefix: String, _ page: String) -> String {
        page.split(separator: "\n").filter { $0.hasPrefix(prefix) }.joined(separator: "\n")
    }

    private func regions(_ engine: Engine) -> String {
        var page = Exposition(format: .text)
        page.append(engine)
        let text = text(page.finish())
        return lines("rollcall_responders{", text) + "\n" + lines("rollcall_regions_folded", text)
    }

    // MARK: - Nudges

    @Test func `nudges, wakes and pushes are counted by why and by what became of them`() throws {
        var policy = Policy()
        policy.nudges.mode = .live
        policy.nudges.sink = .expo
        var engine = Engine(policy: policy)
        let at = Self.start.milliseconds
        try post(
            .batch,
            #"""
            [{"responder_id":"a","platform":"ios","updates":[{"sequence":1,"captured_at":\#(at)}]},
             {"responder_id":"b","updates":[{"sequence":1,"captured_at":\#(at)}]}]
            """#, to: &engine)
        try post(.responder, #"{"responder_id":"a","push_token":"t"}"#, to: &engine, at: 1)
        engine.advance(to: Self.start + .seconds(4 * 3600 + 1801))
        let end = PushEnd(number: 1, person: 0, kind: .nudge, outcome: .delivered)
        _ = engine.fold(.pushed(end), at: Self.start + .seconds(4 * 3600 + 1801))
        let call = WakeCall.circle(Array("nobody's".utf8), viewer: Array("a".utf8))
        _ = engine.fold(.wake(call, source: []), at: Self.start + .seconds(4 * 3600 + 1801))
        var page = Exposition(format: .text)
        page.append(engine)
        let counted = text(page.finish()).split(separator: "\n").filter { line in
            !line.hasSuffix(" 0")
                && ["nudge", "wakes", "pushes"].contains { line.hasPrefix("rollcall_\($0)") }
        }
        #expect(
            counted == [
                #"rollcall_nudges_total{decision="send",reason="due"} 1"#,
                #"rollcall_nudges_total{decision="hold",reason="no_token"} 1"#,
                #"rollcall_nudge_outcomes_total{outcome="silent",platform="ios"} 1"#,
                #"rollcall_pushes_total{kind="nudge",outcome="delivered"} 1"#,
            ])
    }

    // MARK: - Exemplars

    @Test func `V17: a bucket of delays names the turn of its newest one, and nobody`() throws {
        var engine = Engine()
        let at = Self.start.milliseconds
        func report(_ sequence: Int, _ delay: Int64, turn: Int64) throws {
            engine.turn = turn
            try post(
                .batch,
                #"""
                {"responder_id":"anna",
                 "updates":[{"sequence":\#(sequence),"captured_at":\#(at - delay)}]}
                """#, to: &engine)
        }
        // Without a number, as in a replay, there is none.
        try report(1, 70_000, turn: 0)
        try report(2, 400, turn: 3)
        try report(3, 1250, turn: 4)
        try report(4, 300, turn: 5)
        // Of a clock that is ahead no delay is known.
        try report(5, -5000, turn: 6)
        func delays(_ format: Exposition.Format) -> [String] {
            var page = Exposition(format: format)
            page.append(engine)
            return text(page.finish()).split(separator: "\n").map(String.init)
                .filter { $0.hasPrefix("location_update_delay_seconds_bucket") }
                .filter { !$0.hasSuffix(" 3") }
        }
        #expect(
            delays(.openMetrics) == [
                #"location_update_delay_seconds_bucket{le="0.5"} 2 # {turn="5"} 0.3 1795230000"#,
                #"location_update_delay_seconds_bucket{le="1.0"} 2"#,
                #"location_update_delay_seconds_bucket{le="2.0"} 3 # {turn="4"} 1.25 1795230000"#,
            ] + delays(.text).dropFirst(2))
        #expect(delays(.text).allSatisfy { !$0.contains("#") })
    }

    @Test func `V17: an exemplar takes at most the 128 characters that a reader takes`() {
        var exemplars = Exemplars(of: Histogram(bounds: [100]))
        let histogram = Histogram(bounds: [100])
        exemplars.note(Exemplar(.max, turn: .max, at: Timestamp(milliseconds: 0)), in: histogram)
        exemplars.note(Exemplar(-7, turn: 1, at: Timestamp(milliseconds: 1)), in: histogram)
        var page = Exposition(format: .openMetrics)
        page.family("a", .histogram, "A.")
        page.histogram(histogram, exemplars: exemplars)
        let lines = text(page.finish()).split(separator: "\n").filter { $0.hasPrefix("a_bucket") }
        #expect(
            lines == [
                #"a_bucket{le="0.1"} 0 # {turn="1"} 0 0.001"#,
                #"a_bucket{le="+Inf"} 0 # {turn="9223372036854775807"} 9223372036854775.807 0"#,
            ])
        #expect("turn9223372036854775807".count <= 128)
    }

    @Test(arguments: Exposition.Format.allCases)
    func `a sample of a stencil is the one that it stands for`(format: Exposition.Format) {
        let odd = ["", "north", "q\"uo\\te\n", "日本"].map { Array($0.utf8) }
        var (plain, stenciled) = (Exposition(format: format), Exposition(format: format))
        for name in odd {
            let value = Exposition.LabelValue.bytes(name)
            plain.family("a_seconds", .counter, "A.")
            plain.sample(["x": value], 1)
            plain.sample(["k": .word("w"), "x": value], 2)
            plain.sample(["k": .word("w"), "x": value, "n": .number(3)], Quantity(-5, decimals: 1))
            stenciled.family("a_seconds", .counter, "A.")
            let escaped = Exposition.escaped(name)
            let only = stenciled.stencil("x")
            stenciled.sample(only, escaped, 1)
            let last = stenciled.stencil("x", behind: ["k": .word("w")])
            stenciled.sample(last, escaped, 2)
            let middle = stenciled.stencil(
                "x", behind: ["k": .word("w")], before: ["n": .number(3)])
            stenciled.sample(middle, escaped, Quantity(-5, decimals: 1))
        }
        #expect(text(stenciled.finish()) == text(plain.finish()))
    }

    // MARK: - Formats

    /// One family of each kind, with all that needs escapes.
    private func example(_ format: Exposition.Format) -> String {
        var page = Exposition(format: format)
        page.family("a_seconds", .counter, "Says \"a\\b\",\nin two lines.")
        page.sample(["name": .bytes(Array("é \"q\" \\ \n end".utf8)), "n": .number(503)], 7)
        page.sample(["name": .bytes([]), "n": .number(200)], Quantity(Milliseconds(-1_500)))
        page.family("b", .gauge, "A gauge.")
        page.sample(Quantity(Timestamp(milliseconds: 1_795_230_000_120)))
        page.family("c_seconds", .histogram, "A histogram.")
        var histogram = Histogram(bounds: [100, 15_000, 60_000])
        for value: Int64 in [100, 101, 70_000] { histogram.observe(value) }
        page.histogram(histogram)
        page.histogram(["x": .word("y")], Histogram(bounds: [250, 1_000_000]), decimals: 6)
        page.family("d_bytes", .gaugeHistogram, "Now.")
        page.gaugeHistogram(bounds: [0, 15], cumulated: [1, 3], count: 4, sum: 40)
        page.family("e", .info, "What it is.")
        page.sample(["version": .bytes(Array("1.0".utf8))], 1)
        page.family("f", .gauge, "Nothing yet.")
        return text(page.finish())
    }

    @Test func `text 0,0,4 writes every kind as promtool accepts it`() {
        #expect(
            example(.text) == #"""
                # HELP a_seconds_total Says "a\\b",\nin two lines.
                # TYPE a_seconds_total counter
                a_seconds_total{name="é \"q\" \\ \n end",n="503"} 7
                a_seconds_total{name="",n="200"} -1.5
                # HELP b A gauge.
                # TYPE b gauge
                b 1795230000.12
                # HELP c_seconds A histogram.
                # TYPE c_seconds histogram
                c_seconds_bucket{le="0.1"} 1
                c_seconds_bucket{le="15.0"} 2
                c_seconds_bucket{le="60.0"} 2
                c_seconds_bucket{le="+Inf"} 3
                c_seconds_count 3
                c_seconds_sum 70.201
                c_seconds_bucket{x="y",le="0.00025"} 0
                c_seconds_bucket{x="y",le="1.0"} 0
                c_seconds_bucket{x="y",le="+Inf"} 0
                c_seconds_count{x="y"} 0
                c_seconds_sum{x="y"} 0
                # HELP d_bytes Now.
                # TYPE d_bytes histogram
                d_bytes_bucket{le="0.0"} 1
                d_bytes_bucket{le="15.0"} 3
                d_bytes_bucket{le="+Inf"} 4
                # HELP d_bytes_gcount Now.
                # TYPE d_bytes_gcount gauge
                d_bytes_gcount 4
                # HELP d_bytes_gsum Now.
                # TYPE d_bytes_gsum gauge
                d_bytes_gsum 40
                # HELP e_info What it is.
                # TYPE e_info gauge
                e_info{version="1.0"} 1
                # HELP f Nothing yet.
                # TYPE f gauge

                """#)
    }

    @Test func `OpenMetrics writes every kind as its strict parser accepts it`() {
        #expect(
            example(.openMetrics) == #"""
                # TYPE a_seconds counter
                # UNIT a_seconds seconds
                # HELP a_seconds Says \"a\\b\",\nin two lines.
                a_seconds_total{name="é \"q\" \\ \n end",n="503"} 7
                a_seconds_total{name="",n="200"} -1.5
                # TYPE b gauge
                # HELP b A gauge.
                b 1795230000.12
                # TYPE c_seconds histogram
                # UNIT c_seconds seconds
                # HELP c_seconds A histogram.
                c_seconds_bucket{le="0.1"} 1
                c_seconds_bucket{le="15.0"} 2
                c_seconds_bucket{le="60.0"} 2
                c_seconds_bucket{le="+Inf"} 3
                c_seconds_count 3
                c_seconds_sum 70.201
                c_seconds_bucket{x="y",le="0.00025"} 0
                c_seconds_bucket{x="y",le="1.0"} 0
                c_seconds_bucket{x="y",le="+Inf"} 0
                c_seconds_count{x="y"} 0
                c_seconds_sum{x="y"} 0
                # TYPE d_bytes gaugehistogram
                # UNIT d_bytes bytes
                # HELP d_bytes Now.
                d_bytes_bucket{le="0.0"} 1
                d_bytes_bucket{le="15.0"} 3
                d_bytes_bucket{le="+Inf"} 4
                d_bytes_gcount 4
                d_bytes_gsum 40
                # TYPE e info
                # HELP e What it is.
                e_info{version="1.0"} 1
                # TYPE f gauge
                # HELP f Nothing yet.
                # EOF

                """#)
    }

    @Test(arguments: [
        (Quantity(0), "0", "0.0"), (Quantity(1, decimals: 3), "0.001", "0.001"),
        (Quantity(-1, decimals: 3), "-0.001", "-0.001"),
        (Quantity(15_000, decimals: 3), "15", "15.0"),
        (Quantity(Int64.max, decimals: 3), "9223372036854775.807", "9223372036854775.807"),
        (Quantity(Int64.min), "-9223372036854775808", "-9223372036854775808.0"),
    ])
    func `numbers are exact decimals`(quantity: Quantity, plain: String, canonical: String) {
        var output: [UInt8] = []
        quantity.append(to: &output)
        #expect(text(output) == plain)
        output = []
        quantity.appendCanonical(to: &output)
        #expect(text(output) == canonical)
    }

    @Test func `no bucket reaches the million from which canonical numbers have exponents`() {
        let bounds = Histogram.delayBounds + Histogram.intervalBounds + Histogram.queueBounds
        #expect(bounds.allSatisfy { $0 < 1_000_000_000 })
        #expect(LocationAges.boundsSeconds.allSatisfy { $0 < 1_000_000 })
    }

    // MARK: - Regions

    @Test func `regions beyond the limit are summed as other and counted`() throws {
        var policy = Policy()
        policy.regionLabelsMax = 2
        var engine = Engine(policy: policy)
        for (id, region) in ["north", "south", "south", "west"].enumerated() {
            try post(.batch, #"{"responder_id":"\#(id)","region":"\#(region)"}"#, to: &engine)
        }
        #expect(
            regions(engine) == """
                rollcall_responders{region="default",status="ONLINE"} 0
                rollcall_responders{region="default",status="DEGRADED"} 0
                rollcall_responders{region="default",status="UNKNOWN"} 0
                rollcall_responders{region="default",status="OFFLINE"} 0
                rollcall_responders{region="north",status="ONLINE"} 1
                rollcall_responders{region="north",status="DEGRADED"} 0
                rollcall_responders{region="north",status="UNKNOWN"} 0
                rollcall_responders{region="north",status="OFFLINE"} 0
                rollcall_responders{region="other",status="ONLINE"} 3
                rollcall_responders{region="other",status="DEGRADED"} 0
                rollcall_responders{region="other",status="UNKNOWN"} 0
                rollcall_responders{region="other",status="OFFLINE"} 0
                rollcall_regions_folded 2
                """)
    }

    @Test func `F30: a configured region is never folded and stands there before anybody comes`()
        throws
    {
        var policy = Policy()
        policy.regionLabelsMax = 1
        policy.coverageRegions = [Array("empty".utf8), Array("south".utf8), Array("south".utf8)]
        var engine = Engine(policy: policy)
        for (id, region) in ["north", "south"].enumerated() {
            try post(.batch, #"{"responder_id":"\#(id)","region":"\#(region)"}"#, to: &engine)
        }
        #expect(
            regions(engine) == """
                rollcall_responders{region="south",status="ONLINE"} 1
                rollcall_responders{region="south",status="DEGRADED"} 0
                rollcall_responders{region="south",status="UNKNOWN"} 0
                rollcall_responders{region="south",status="OFFLINE"} 0
                rollcall_responders{region="empty",status="ONLINE"} 0
                rollcall_responders{region="empty",status="DEGRADED"} 0
                rollcall_responders{region="empty",status="UNKNOWN"} 0
                rollcall_responders{region="empty",status="OFFLINE"} 0
                rollcall_responders{region="other",status="ONLINE"} 1
                rollcall_responders{region="other",status="DEGRADED"} 0
                rollcall_responders{region="other",status="UNKNOWN"} 0
                rollcall_responders{region="other",status="OFFLINE"} 0
                rollcall_regions_folded 2
                """)
    }

    @Test func `a region that is called other has no second series`() throws {
        var policy = Policy()
        policy.regionLabelsMax = 1
        policy.coverageRegions = [Array("other".utf8)]
        var engine = Engine(policy: policy)
        for (id, region) in ["other", "north"].enumerated() {
            try post(.batch, #"{"responder_id":"\#(id)","region":"\#(region)"}"#, to: &engine)
        }
        let online = regions(engine).split(separator: "\n").filter { $0.contains("ONLINE") }
        #expect(
            online == [
                "rollcall_responders{region=\"default\",status=\"ONLINE\"} 0",
                "rollcall_responders{region=\"other\",status=\"ONLINE\"} 2",
            ])
        #expect(regions(engine).hasSuffix("rollcall_regions_folded 1"))
    }

    @Test func `a failed commit blinds the page before the engine knows`() {
        var page = Exposition(format: .text)
        page.append(Engine(), isStoreFailing: true)
        let text = text(page.finish())
        #expect(lines("rollcall_watching", text) == "rollcall_watching 0")
        #expect(
            lines("rollcall_blind{reason=\"sto", text).hasSuffix(
                """
                rollcall_blind{reason="stopped"} 0
                rollcall_blind{reason="store"} 1
                """))
    }
}
