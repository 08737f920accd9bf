/// The form in which what has been counted is sent.
package enum MetricTemporality: Sendable, Equatable, CaseIterable {
    /// All since the start of a stream.
    case cumulative
    /// The part that was added since the last page that was acknowledged.
    case delta

    /// The word of the setting.
    package var word: StaticString { self == .cumulative ? "cumulative" : "delta" }
}

/// The streams of metrics that somebody else keeps, as far as they acknowledged them: since when each
/// series is counted, and what was added since.
///
/// Nobody knows when our counters were 0: those of the engine are older than the process. So a stream
/// begins with the first page that is acknowledged, at an unknown start, which is a point without duration;
/// and so does a series that falls. One that appears was 0 when the page before was acknowledged, unless
/// another one of its family has fallen or gone: then labels were cut otherwise, and it may be older.
///
///     acknowledged      1 at 10     4 at 20           7 at 40      2 at 50       3 at 60
///     cumulative        1 (10,10]   4 (10,20]  lost   7 (10,40]    2 (50,50]     3 (50,60]
///     delta             –           3 (10,20]  lost   3 (20,40]    –             1 (50,60]
///
/// Source: V21; OpenTelemetry, metrics data model, "Resets and gaps".
package struct MetricStreams: Sendable {
    /// A series, as it was acknowledged.
    struct Entry: Sendable {
        var start: Timestamp
        var value: MetricValue
    }

    /// The series of a family by their labels, as they were acknowledged.
    struct Book: Sendable {
        var at: Timestamp
        var series: [[UInt8]: Entry] = [:]
    }

    /// A value to be sent, of the time after `start` up to the page's; nil where there is no such time.
    package struct Point: Equatable, Sendable {
        package var labels: [Label]
        package var start: Timestamp?
        package var value: MetricValue
    }

    /// The points of a family, and what is known once they are acknowledged.
    package struct Report: Sendable {
        /// Without its series.
        package var family: MetricFamily
        package var points: [Point] = []
        package var temporality: MetricTemporality
        var book: Book
    }

    private var books: [[UInt8]: Book] = [:]

    /// Streams of which nothing is acknowledged.
    package init() {}

    /// Notes that somebody has taken a report.
    package mutating func acknowledge(_ report: Report) {
        if report.family.kind != .gauge { books[report.family.name] = report.book }
    }

    /// Returns what is to be sent of a family as a page of the instant `now` has it.
    package func report(
        _ family: MetricFamily, at now: Timestamp, _ temporality: MetricTemporality
    ) -> Report {
        var header = family
        header.series = []
        var report = Report(family: header, temporality: temporality, book: Book(at: now))
        // Facts are not added up over time.
        if family.kind == .info { report.temporality = .cumulative }
        if family.kind == .gauge {
            report.points = family.series.map { Point(labels: $0.labels, value: $0.value) }
            return report
        }
        // A wall clock that was set back begins all anew.
        let before = books[family.name].flatMap { $0.at < now ? $0 : nil }
        let began = before.map { Self.isCut(family, since: $0) ? now : $0.at } ?? now
        for series in family.series {
            let old = before?.series[series.key]
            let increase = old.flatMap { series.value.increase(from: $0.value) }
            let start = old.map { increase == nil ? now : $0.start } ?? began
            report.book.series[series.key] = Entry(start: start, value: series.value)
            if report.temporality == .cumulative {
                report.points.append(
                    Point(labels: series.labels, start: start, value: series.value))
            } else if start < now {
                let since = before?.at ?? start
                let value = Self.unsent(increase ?? series.value, after: since)
                report.points.append(Point(labels: series.labels, start: since, value: value))
            }
        }
        return report
    }

    /// True if a series has fallen, or is gone.
    private static func isCut(_ family: MetricFamily, since before: Book) -> Bool {
        var goneOnes = before.series.count
        for series in family.series {
            guard let old = before.series[series.key] else { continue }
            goneOnes -= 1
            if series.value.increase(from: old.value) == nil { return true }
        }
        return goneOnes > 0
    }

    /// Leaves out exemplars of an earlier interval, which were sent with it.
    private static func unsent(_ value: MetricValue, after since: Timestamp) -> MetricValue {
        guard case .histogram(var histogram) = value else { return value }
        histogram.exemplars.removeAll { $0.instant <= since }
        return .histogram(histogram)
    }
}
