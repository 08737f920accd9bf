import Testing

@testable import RollcallCore

/// Since when series are counted, and what was added since somebody took it. Source: V21.
///
/// A line is a page: its instant in seconds, `lost` if nobody takes it, its series; behind the arrow what is
/// sent, with the time that it is of.
@Suite struct MetricStreamsTests {
    private func check(
        _ temporality: MetricTemporality, _ story: String, kind: Exposition.Kind = .counter,
        _ place: SourceLocation = #_sourceLocation
    ) {
        var streams = MetricStreams()
        for line in story.split(separator: "\n") {
            let parts = line.split(separator: "→", omittingEmptySubsequences: false)
            var words = parts[0].split(separator: " ").map(String.init)
            let now = Int64(words.removeFirst()) ?? 0
            let isLost = words.first == "lost"
            if isLost { words.removeFirst() }
            var family = MetricFamily(
                name: Array("f".utf8), kind: kind, unit: [], help: [], series: [])
            for word in words {
                let pair = word.split(separator: "=").map { Array($0.utf8) }
                family.series.append(
                    MetricSeries(
                        key: pair[0], labels: [Label(Array("l".utf8), pair[0])],
                        value: .number(Quantity(pair[1]) ?? -1)))
            }
            let report = streams.report(
                family, at: Timestamp(milliseconds: now * 1000), temporality)
            let sent = report.points.map { point in
                var digits: [UInt8] = []
                if case .number(let number) = point.value { number.append(to: &digits) }
                let name = String(decoding: point.labels[0].value, as: UTF8.self)
                let since = point.start.map { "(\($0.milliseconds / 1000),\(now)]" } ?? "\(now)"
                return "\(name)=\(String(decoding: digits, as: UTF8.self)) \(since)"
            }
            let expected = parts[1].split(separator: " ").joined(separator: " ")
            #expect(sent.joined(separator: " ") == expected, "\(line)", sourceLocation: place)
            if !isLost { streams.acknowledge(report) }
        }
    }

    @Test func `V21: a sum begins with the first page that is taken, without duration`() {
        check(
            .cumulative,
            """
            10 lost a=1     → a=1 (10,10]
            20 lost a=2     → a=2 (20,20]
            30 a=3          → a=3 (30,30]
            40 a=4          → a=4 (30,40]
            50 lost a=5     → a=5 (30,50]
            60 a=6.5        → a=6.5 (30,60]
            """)
    }

    @Test
    func `V21: what was added is counted from what was taken last, whatever was lost between`() {
        check(
            .delta,
            """
            10 lost a=1 b=5     →
            20 a=1 b=5          →
            30 a=4 b=5          → a=3 (20,30] b=0 (20,30]
            40 lost a=5 b=5     → a=1 (30,40] b=0 (30,40]
            50 lost a=5 b=6     → a=1 (30,50] b=1 (30,50]
            60 a=7 b=6.25       → a=3 (30,60] b=1.25 (30,60]
            """)
    }

    @Test func `V21: a series that falls begins anew, and the others go on`() {
        check(
            .cumulative,
            """
            10 a=4 b=1      → a=4 (10,10] b=1 (10,10]
            20 a=3 b=2      → a=3 (20,20] b=2 (10,20]
            30 a=5 b=2      → a=5 (20,30] b=2 (10,30]
            """)
        check(
            .delta,
            """
            10 a=4 b=1      →
            20 a=3 b=2      → b=1 (10,20]
            30 a=5 b=2      → a=2 (20,30] b=0 (20,30]
            """)
    }

    @Test func `V21: a series that appears was 0 before`() {
        check(
            .cumulative,
            """
            10 a=4          → a=4 (10,10]
            20 a=4 b=2      → a=4 (10,20] b=2 (10,20]
            """)
        check(
            .delta,
            """
            10 a=4          →
            20 lost a=4 b=2 → a=0 (10,20] b=2 (10,20]
            30 a=4 b=3      → a=0 (10,30] b=3 (10,30]
            """)
    }

    @Test func `V21: one that appears where another has gone or fallen may be older`() {
        check(
            .delta,
            """
            10 a=4 other=9      →
            20 a=4 b=7 other=2  → a=0 (10,20]
            30 a=4 b=8 other=2  → a=0 (20,30] b=1 (20,30] other=0 (20,30]
            40 other=7          → other=5 (30,40]
            50 c=9 other=7      → c=9 (40,50] other=0 (40,50]
            60 d=9 other=7      → other=0 (50,60]
            """)
    }

    @Test func `V21: a wall clock that is set back begins all anew`() {
        check(
            .delta,
            """
            10 a=4      →
            5 a=5       →
            8 a=7       → a=2 (5,8]
            """)
    }

    @Test func `V21: what is now has no start, and a fact is never a difference`() {
        check(
            .delta,
            """
            10 a=4      → a=4 10
            20 a=3      → a=3 20
            """, kind: .gauge)
        check(
            .delta,
            """
            10 a=1      → a=1 (10,10]
            20 a=1      → a=1 (10,20]
            """, kind: .info)
    }

    @Test
    func `V21: of a histogram each bucket is a difference, and old exemplars are not told again`() {
        func family(_ counts: [Int64], sum: Quantity, exemplarAt: Int64) -> MetricFamily {
            let exemplar = MetricExemplar(
                labels: [], value: 1, at: Quantity(exemplarAt * 1000 + 500, decimals: 3))
            let value = HistogramValue(
                bounds: [1, 5], counts: counts, sum: sum, exemplars: [exemplar])
            return MetricFamily(
                name: Array("f".utf8), kind: .histogram, unit: [], help: [],
                series: [MetricSeries(key: [], labels: [], value: .histogram(value))])
        }
        func report(_ family: MetricFamily, at seconds: Int64) -> HistogramValue? {
            let report = streams.report(family, at: Timestamp(milliseconds: seconds * 1000), .delta)
            streams.acknowledge(report)
            guard case .histogram(let value) = report.points.first?.value else { return nil }
            return value
        }
        var streams = MetricStreams()
        #expect(report(family([1, 2, 0], sum: 9, exemplarAt: 8), at: 10) == nil)
        let second = report(
            family([1, 4, 1], sum: Quantity(185, decimals: 1), exemplarAt: 8), at: 20)
        #expect(second?.counts == [0, 2, 1] && second?.sum == Quantity(95, decimals: 1))
        #expect(second?.exemplars == [] && second?.bounds == [1, 5])
        let third = report(
            family([1, 5, 1], sum: Quantity(195, decimals: 1), exemplarAt: 25), at: 30)
        #expect(third?.counts == [0, 1, 0] && third?.exemplars.count == 1)
        #expect(report(family([1, 4, 1], sum: 30, exemplarAt: 25), at: 40) == nil)
    }
}
