import Testing

@testable import RollcallCore

/// Metrics in the language of OpenTelemetry, and the page that they are read from. Source: V21.
@Suite struct OTLPMetricsTests {
    // MARK: - The page

    private func families(_ write: (inout Exposition) -> Void) -> [MetricFamily]? {
        var page = Exposition(format: .openMetrics)
        write(&page)
        return MetricsPage.families(page.finish())
    }

    private func family(
        _ name: String, _ kind: Exposition.Kind, _ series: [MetricSeries], unit: String = "",
        help: String = "Some."
    ) -> MetricFamily {
        MetricFamily(
            name: Array(name.utf8), kind: kind, unit: Array(unit.utf8), help: Array(help.utf8),
            series: series)
    }

    private func series(_ key: String, _ labels: [(String, String)], _ value: Quantity)
        -> MetricSeries
    {
        MetricSeries(
            key: Array(key.utf8), labels: labels.map { Label(Array($0.utf8), Array($1.utf8)) },
            value: .number(value))
    }

    @Test func `V21: a page is read as it was written, names with every sign in them too`() {
        let name = "a\\b\"c\n}ö,x=\"y\\"
        let read = families { page in
            page.family("c_seconds", .counter, "With \"quotes\" \\ and\nlines.")
            page.sample(
                ["r": .bytes(Array(name.utf8)), "n": .number(7)], Quantity(-61_500, decimals: 3))
            page.family("without", .gauge, "Some.")
            page.family("g", .gauge, "Some.")
            page.sample(3)
            let stencil = page.stencil("r", behind: ["s": .word("up")])
            page.sample(stencil, Exposition.escaped(Array("}".utf8)), 4)
            page.family("b", .info, "Some.")
            page.sample(["version": .word("1")], 1)
        }
        #expect(
            read == [
                family(
                    "c_seconds", .counter,
                    [
                        series(
                            #"r="a\\b\"c\n}ö,x=\"y\\",n="7""#, [("r", name), ("n", "7")],
                            Quantity(-615, decimals: 1))
                    ], unit: "seconds", help: "With \"quotes\" \\ and\nlines."),
                family(
                    "g", .gauge,
                    [
                        series("", [], 3),
                        series(#"s="up",r="}""#, [("s", "up"), ("r", "}")], 4),
                    ]),
                family("b_info", .info, [series(#"version="1""#, [("version", "1")], 1)]),
            ])
    }

    @Test func `V21: buckets are told one by one, with what was seen in them`() throws {
        var histogram = Histogram(bounds: [500, 2000])
        var exemplars = Exemplars(of: histogram)
        for value in [100, 2000, 2001, 9999] as [Int64] {
            histogram.observe(value)
            exemplars.note(
                Exemplar(value, turn: value, at: Timestamp(milliseconds: 5_000_250)), in: histogram)
        }
        let read = families { page in
            page.family("h_seconds", .histogram, "Some.")
            page.histogram(["a": .word("x")], histogram, exemplars: exemplars)
            page.histogram(["a": .word("y")], Histogram(bounds: [500, 2000]))
        }
        let all = try #require(read?.first).series
        #expect(all.map { $0.key } == [Array(#"a="x""#.utf8), Array(#"a="y""#.utf8)])
        guard case .histogram(let first) = all[0].value, case .histogram(let second) = all[1].value
        else {
            Issue.record("no histograms")
            return
        }
        #expect(first.bounds.map(\.double) == [0.5, 2] && first.counts == [1, 1, 2])
        #expect(first.count == 4 && first.sum.double == 14.1)
        #expect(first.exemplars.map(\.value.double) == [0.1, 2, 9.999])
        #expect(first.exemplars[0].labels == [Label(Array("turn".utf8), Array("100".utf8))])
        #expect(second.counts == [0, 0, 0] && second.sum.double == 0 && second.exemplars == [])
    }

    @Test func `V21: a distribution of what is now becomes gauges of the page's names`() {
        let read = families { page in
            page.family("age_seconds", .gaugeHistogram, "Some.")
            page.gaugeHistogram(bounds: [60], cumulated: [1], count: 3, sum: 900)
        }
        #expect(
            read == [
                family(
                    "age_seconds_bucket", .gauge,
                    [
                        series(#"le="60.0""#, [("le", "60.0")], 1),
                        series(#"le="+Inf""#, [("le", "+Inf")], 3),
                    ]),
                family("age_seconds_gcount", .gauge, [series("", [], 3)]),
                family("age_seconds_gsum", .gauge, [series("", [], 900)], unit: "seconds"),
            ])
    }

    @Test(arguments: [
        "a 1\n", "# TYPE a counter\na 1\n", "# TYPE a gauge\na{ 1\n", "# TYPE a gauge\na{b=\"1 1\n",
        "# TYPE a gauge\na x\n", "# TYPE a gauge\na\n", "# TYPE a nothing\n", "# HELP b c\n",
        "# TYPE a histogram\na_bucket 1\n", "# TYPE a histogram\na_sum 1\n",
        "# TYPE a gauge\na 1 # {} 1\n", "# TYPE a gauge\na{b=\"\\\"} 1\n",
    ])
    func `V21: a line that is none of ours is not guessed at`(page: String) {
        #expect(MetricsPage.families(Array(page.utf8)) == nil)
    }

    @Test func `V21: numbers come back as they were written, and are subtracted exactly`() {
        for (units, decimals) in [
            (0, 0), (61_500, 3), (-1, 3), (5, 6), (Int64.max, 0), (Int64.min, 0), (100, 2),
        ] {
            let quantity = Quantity(units, decimals: decimals)
            var text: [UInt8] = []
            quantity.append(to: &text)
            let read = Quantity(text)
            #expect(read?.double == quantity.double)
            #expect(read.flatMap { quantity.difference(from: $0) }?.units == 0)
            // Bounds are smaller than what 64 bits hold.
            if units.magnitude > 1 << 60 { continue }
            text = []
            quantity.appendCanonical(to: &text)
            #expect(Quantity(text)?.double == quantity.double)
        }
        #expect(Quantity(Array("0.3".utf8))?.double == 0.3)
        let tenth = Quantity(3, decimals: 1).difference(from: Quantity(20, decimals: 2))
        #expect(tenth == Quantity(10, decimals: 2))
        for text in ["", "-", ".", "1.", ".5", "1e3", "NaN", "1.2.3", "9223372036854775808", "+1"] {
            #expect(Quantity(Array(text.utf8)) == nil, "\(text)")
        }
        #expect(Quantity(Int64.max).difference(from: Quantity(1, decimals: 1)) == nil)
    }

    // MARK: - The message

    /// Reads fields of a message below another one, by their numbers from the top.
    private func fields(_ bytes: [UInt8], _ path: Int...) throws -> [[UInt8]] {
        var found = [bytes]
        for number in path {
            found = try found.flatMap { message in
                try #require(ProtobufReader.fields(of: message)).compactMap { field in
                    guard field.number == number, case .bytes(let value) = field.value else {
                        return nil
                    }
                    return value
                }
            }
        }
        return found
    }

    private func requests(
        _ families: [MetricFamily], _ temporality: MetricTemporality = .cumulative,
        bytesMax: Int = OTLPMetrics.requestBytesMax
    ) -> [OTLPMetrics.Request] {
        OTLPMetrics.requests(
            families, at: Timestamp(milliseconds: 1000), temporality, of: MetricStreams(),
            resource: [Label(Array("service.name".utf8), Array("r".utf8))],
            version: Array("1".utf8), bytesMax: bytesMax)
    }

    @Test func `V21: the bytes of a small request are those of the definitions`() {
        let request = requests([
            family("u_bytes", .gauge, [series("", [("a", "b")], 2)], unit: "bytes", help: "h")
        ])[0]
        let type: [UInt8] =
            [0x62, 0x1A, 0x0A, 0x0F] + Array("prometheus.type".utf8) + [0x12, 0x07, 0x0A, 0x05]
            + Array("gauge".utf8)
        let point: [UInt8] =
            [0x19, 0x00, 0xCA, 0x9A, 0x3B, 0, 0, 0, 0] + [0x21, 0, 0, 0, 0, 0, 0, 0, 0x40]
            + [0x3A, 0x08, 0x0A, 0x01, 0x61, 0x12, 0x03, 0x0A, 0x01, 0x62]
        let metric: [UInt8] =
            [0x0A, 0x07] + Array("u_bytes".utf8) + [0x12, 0x01, 0x68]
            + [0x1A, 0x02] + Array("By".utf8)
            + [0x2A, UInt8(point.count + 2), 0x0A, UInt8(point.count)] + point + type
        let resource: [UInt8] =
            [0x0A, 0x13, 0x0A, 0x0C] + Array("service.name".utf8) + [0x12, 0x03, 0x0A, 0x01, 0x72]
        let scope: [UInt8] =
            [0x0A, 0x0D, 0x0A, 0x08] + Array("rollcall".utf8) + [0x12, 0x01, 0x31]
            + [0x12, UInt8(metric.count)] + metric
        let whole: [UInt8] =
            [0x0A, UInt8(resource.count)] + resource + [0x12, UInt8(scope.count)] + scope
        #expect(request.body == [0x0A, UInt8(whole.count)] + whole)
        #expect(request.points == 1)
    }

    @Test func `V21: what a collector would refuse as text is mended`() throws {
        let odd = series("", [("a", "b")], 1)
        var broken = odd
        broken.labels[0].value = [0x66, 0xFF]
        let body = requests([family("f", .gauge, [broken])])[0].body
        let value = try fields(body, 1, 2, 2, 5, 1, 7, 2, 1)
        #expect(value == [Array("f\u{FFFD}".utf8)])
    }

    @Test func `V21: what has no points is not sent, and a long page becomes several requests`()
        throws
    {
        let many = (1...5).map { family("f\($0)", .gauge, [series("", [], 1)]) }
        let empty = family("e", .gauge, [])
        let one = requests([empty] + many)
        #expect(one.count == 1 && one[0].points == 5)
        let names = try fields(one[0].body, 1, 2, 2, 1)
        #expect(names == (1...5).map { Array("f\($0)".utf8) })
        let size = try fields(one[0].body, 1, 2, 2)[0].count
        let split = requests(many, bytesMax: 2 * size)
        #expect(split.map(\.points) == [2, 2, 1])
        #expect(requests(many, bytesMax: 2 * size - 1).map(\.points) == [1, 1, 1, 1, 1])
        let all = try split.flatMap { try fields($0.body, 1, 2, 2, 1) }
        #expect(all == names)
    }

    // MARK: - Answers

    @Test func `V21: an answer says how much was rejected, and why`() {
        var partial = ProtobufWriter()
        partial.message(1) { message in
            message.varint(1, 3)
            message.text(2, Array("too old".utf8))
            message.fixed64(9, 1)
        }
        #expect(OTLPAnswer(taken: partial.bytes).rejected == 3)
        #expect(OTLPAnswer(taken: partial.bytes).message == Array("too old".utf8))
        #expect(OTLPAnswer(taken: []).rejected == 0)
        var status = ProtobufWriter()
        status.varint(1, 3)
        status.text(2, Array("bad data".utf8))
        #expect(OTLPAnswer(refused: status.bytes).message == Array("bad data".utf8))
        for noise in ["{}", "<html>", "\u{0A}\u{7F}a"] {
            #expect(OTLPAnswer(taken: Array(noise.utf8)).rejected == 0)
        }
    }

    @Test func `V21: a message that is cut anywhere is none, or a shorter one`() {
        var writer = ProtobufWriter()
        writer.varint(1, 300)
        writer.double(2, 0.5)
        writer.text(3, Array("text".utf8))
        writer.packed(4, [1, 2])
        let whole = writer.bytes
        #expect(ProtobufReader.fields(of: whole)?.map(\.number) == [1, 2, 3, 4])
        let ends = (0..<whole.count).filter {
            ProtobufReader.fields(of: Array(whole[..<$0])) != nil
        }
        #expect(ends == [0, 3, 12, 18])
        // A length beyond everything, group tags, field 0.
        let wrong: [[UInt8]] = [
            [0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], [0x0B], [0x02, 0],
        ]
        #expect(wrong.allSatisfy { ProtobufReader.fields(of: $0) == nil })
    }
}
