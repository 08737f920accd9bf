import Testing

@testable import RollcallCore

/// The page of metrics in protobuf, as Prometheus takes native histograms. Source: V22.
@Suite struct MetricMessagesTests {
    /// The messages of a page, which is written in OpenMetrics and read again.
    private func messages(_ write: (inout Exposition) -> Void) throws -> [[UInt8]] {
        var page = Exposition(format: .openMetrics)
        write(&page)
        let natives = page.natives
        let families = try #require(MetricsPage.families(page.finish()))
        let bytes = MetricMessages.page(families, natives: natives)
        var messages: [[UInt8]] = []
        var at = 0
        while at < bytes.count {
            let length = Int(try #require(Varint.read(bytes.span, &at, bytes.count)))
            try #require(length <= bytes.count - at)
            messages.append(Array(bytes[at..<(at + length)]))
            at += length
        }
        return messages
    }

    /// The fields of a message that have a number.
    private func fields(_ message: [UInt8], _ number: Int) throws -> [ProtobufReader.Value] {
        try #require(ProtobufReader.fields(of: message)).filter { $0.number == number }.map(\.value)
    }

    /// The messages at the end of a path of field numbers.
    private func parts(_ message: [UInt8], _ path: Int...) throws -> [[UInt8]] {
        var found = [message]
        for number in path {
            found = try found.flatMap { part in
                try fields(part, number).map { value in
                    guard case .bytes(let bytes) = value else { throw Unexpected() }
                    return bytes
                }
            }
        }
        return found
    }

    private struct Unexpected: Error {}

    private func double(_ number: Double) -> ProtobufReader.Value { .fixed64(number.bitPattern) }

    @Test func `V22: the bytes of a small family are those of the definitions`() throws {
        let message = try messages { page in
            page.family("u", .counter, "h")
            page.sample(["a": .word("b")], 2)
        }
        let label: [UInt8] = [0x0A, 0x06, 0x0A, 0x01, 0x61, 0x12, 0x01, 0x62]
        let counter: [UInt8] = [0x1A, 0x09, 0x09, 0, 0, 0, 0, 0, 0, 0, 0x40]
        let metric = label + counter
        #expect(
            message == [
                [0x0A, 0x07] + Array("u_total".utf8) + [0x12, 0x01, 0x68, 0x18, 0x00]
                    + [0x22, UInt8(metric.count)] + metric
            ])
    }

    @Test func `V22: names and types are those of text, and what has no samples is left out`()
        throws
    {
        let all = try messages { page in
            page.family("c_seconds", .counter, "Some.")
            page.sample(1)
            page.family("none", .gauge, "Some.")
            page.family("g", .gauge, "Some \\ \"of\"\nit.")
            page.sample(3)
            page.family("b", .info, "Some.")
            page.sample(["version": .word("1")], 1)
            page.family("age_seconds", .gaugeHistogram, "Some.")
            page.gaugeHistogram(bounds: [60], cumulated: [1], count: 3, sum: 900)
            page.family("h", .histogram, "Some.")
            page.histogram(Histogram(bounds: [1000]))
        }
        let names = try all.map { String(decoding: try parts($0, 1)[0], as: UTF8.self) }
        #expect(
            names == [
                "c_seconds_total", "g", "b_info", "age_seconds_bucket", "age_seconds_gcount",
                "age_seconds_gsum", "h",
            ])
        let types = try all.map { try fields($0, 3) }
        let known: [UInt64] = [0, 1, 1, 1, 1, 1, 4]
        #expect(types == known.map { [.varint($0)] })
        #expect(try parts(all[1], 2) == [Array("Some \\ \"of\"\nit.".utf8)])
        // A gauge is field 2, a counter 3, a histogram 7.
        #expect(try fields(parts(all[0], 4, 3)[0], 1) == [double(1)])
        #expect(try fields(parts(all[5], 4, 2)[0], 1) == [double(900)])
        let classic = try parts(all[6], 4, 7)[0]
        #expect(try fields(classic, 1) == [.varint(0)])
        #expect(try fields(classic, 2) == [double(0)])
        let bounds = try parts(classic, 3).map { try fields($0, 2) }
        #expect(bounds == [[double(1)], [double(.infinity)]])
        // Without a schema and a width of zero nobody takes it for a native one.
        #expect(try (4...16).flatMap { try fields(classic, $0) } == [])
    }

    @Test func `V22: a native histogram is told beside its buckets, since the process began`()
        throws
    {
        var counted = Histogram(bounds: [500, 2000])
        var exemplars = Exemplars(of: counted)
        var native = NativeHistogram(beside: counted)
        // From before the start, which the engine goes on to count.
        for value in [100, 90_000] as [Int64] { counted.observe(value) }
        for value in [0, 2000, 2001, 9999] as [Int64] {
            counted.observe(value)
            native.observe(value)
            exemplars.note(
                Exemplar(value, turn: value, at: Timestamp(milliseconds: 5_000_250)), in: counted)
        }
        let all = try messages { page in
            page.family("h_seconds", .histogram, "Some.")
            page.histogram(counted, exemplars: exemplars, native: native)
        }
        let histogram = try parts(all[0], 4, 7)[0]
        #expect(try fields(histogram, 1) == [.varint(4)])
        #expect(try fields(histogram, 2) == [double(14)])
        let buckets = try parts(histogram, 3)
        let counts = try buckets.map { try fields($0, 1) }
        #expect(counts == [[.varint(1)], [.varint(2)], [.varint(4)]])
        #expect(
            try buckets.map { try fields($0, 2) } == [
                [double(0.5)], [double(2)], [double(.infinity)],
            ])
        // An exemplar stands in the bucket that it is of.
        let told = try buckets.map { try parts($0, 3) }
        #expect(told.map(\.count) == [1, 1, 1])
        #expect(
            try told.map { try fields($0[0], 2) } == [[double(0)], [double(2)], [double(9.999)]])
        #expect(try parts(told[2][0], 1, 1) == [Array("turn".utf8)])
        #expect(try parts(told[2][0], 1, 2) == [Array("9999".utf8)])
        let time = try parts(told[2][0], 3)[0]
        #expect(try fields(time, 1) == [.varint(5000)])
        #expect(try fields(time, 2) == [.varint(250_000_000)])
        // Schema 3 with its sign at the end, the width of zero, those of 0.
        #expect(try fields(histogram, 5) == [.varint(6)])
        #expect(try fields(histogram, 6) == [double(0x1p-128)])
        #expect(try fields(histogram, 7) == [.varint(1)])
        // 2 and 2.001 are neighbours, 9.999 is in bucket 27 (9.51 to 10.37).
        let spans = try parts(histogram, 12)
        #expect(try spans.map { try fields($0, 1) } == [[.varint(16)], [.varint(34)]])
        #expect(try spans.map { try fields($0, 2) } == [[.varint(2)], [.varint(1)]])
        #expect(try fields(histogram, 13) == [.varint(2), .varint(0), .varint(0)])
    }

    @Test func `V22: an exemplar without those of the buckets before it finds its own`() throws {
        var histogram = Histogram(bounds: [500, 2000, 3000])
        var exemplars = Exemplars(of: histogram)
        var native = NativeHistogram(beside: histogram)
        for (value, isNoted) in [(100, false), (2000, true), (2001, false), (9999, true)] {
            histogram.observe(Int64(value))
            native.observe(Int64(value))
            if isNoted {
                exemplars.note(
                    Exemplar(Int64(value), turn: 1, at: Timestamp(milliseconds: 1)), in: histogram)
            }
        }
        let all = try messages { page in
            page.family("h", .histogram, "Some.")
            page.histogram(histogram, exemplars: exemplars, native: native)
        }
        #expect(try parts(all[0], 4, 7, 3).map { try fields($0, 3).count } == [0, 1, 0, 1])
    }

    /// The fields of `google.protobuf.Timestamp` have no presence; all others of a page have it.
    @Test(
        arguments: [
            (5_000_250, [0x08, 0x88, 0x27, 0x10, 0x80, 0xE5, 0x9A, 0x77]),
            (5_000_000, [0x08, 0x88, 0x27]),
            (250, [0x10, 0x80, 0xE5, 0x9A, 0x77]), (0, []), (-1, []),
        ] as [(Int64, [UInt8])])
    func `V22: an instant at a whole second tells no nanoseconds`(at: Int64, told: [UInt8]) throws {
        var histogram = Histogram(bounds: [500])
        var exemplars = Exemplars(of: histogram)
        histogram.observe(0)
        exemplars.note(Exemplar(0, turn: 1, at: Timestamp(milliseconds: at)), in: histogram)
        let all = try messages { page in
            page.family("h", .histogram, "Some.")
            page.histogram(histogram, exemplars: exemplars)
        }
        let exemplar = try parts(all[0], 4, 7, 3, 3)
        #expect(exemplar.count == 1)
        #expect(try parts(exemplar[0], 3) == [told])
        // What is 0 and has presence is told.
        #expect(try fields(exemplar[0], 2) == [double(0)])
    }
}
