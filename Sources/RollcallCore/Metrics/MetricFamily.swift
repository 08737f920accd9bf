/// A family of metrics as a page tells it: `MetricsPage` reads it.
package struct MetricFamily: Equatable, Sendable {
    /// The name, without `_total`; of a fact that does not change with `_info`.
    package var name: [UInt8]
    package var kind: Exposition.Kind
    /// `seconds`, `bytes`, or nothing.
    package var unit: [UInt8]
    package var help: [UInt8]
    package var series: [MetricSeries] = []
}

/// One series of a family, with its value on one page.
package struct MetricSeries: Equatable, Sendable {
    /// The labels as they are written, by which pages are compared; of a histogram without `le`.
    package var key: [UInt8]
    package var labels: [Label]
    package var value: MetricValue
}

/// The value of a series.
package enum MetricValue: Equatable, Sendable {
    case number(Quantity)
    case histogram(HistogramValue)

    /// Returns by how much this is more than `before` was; nil if it has fallen, or cannot be compared.
    func increase(from before: MetricValue) -> MetricValue? {
        switch (self, before) {
        case (.number(let now), .number(let before)):
            guard let more = now.difference(from: before), more.units >= 0 else { return nil }
            return .number(more)
        case (.histogram(let now), .histogram(let before)):
            return now.increase(from: before).map { .histogram($0) }
        default: return nil
        }
    }
}

/// The observations of one series by upper bound.
package struct HistogramValue: Equatable, Sendable {
    package var bounds: [Quantity] = []
    /// Of each bucket alone, the one without a bound last.
    package var counts: [Int64] = []
    package var sum: Quantity = 0
    package var exemplars: [MetricExemplar] = []

    /// All of them.
    package var count: Int64 { counts.reduce(0, +) }

    /// Returns the same series as another histogram has counted it, of the same bounds and in thousandths.
    func counted(by histogram: Histogram) -> HistogramValue {
        var value = self
        value.counts = histogram.counts.map { Int64($0) }
        value.sum = Quantity(histogram.sum, decimals: 3)
        return value
    }

    fileprivate func increase(from before: HistogramValue) -> HistogramValue? {
        guard bounds == before.bounds, counts.count == before.counts.count,
            let more = sum.difference(from: before.sum), more.units >= 0
        else { return nil }
        var increase = self
        increase.counts = zip(counts, before.counts).map { $0 - $1 }
        increase.sum = more
        return increase.counts.allSatisfy { $0 >= 0 } ? increase : nil
    }
}

/// An observation that a page tells beside a bucket.
package struct MetricExemplar: Equatable, Sendable {
    package var labels: [Label]
    package var value: Quantity
    /// Seconds since 1970.
    package var at: Quantity

    /// The wall time of it, in milliseconds.
    var instant: Timestamp {
        let milliseconds = at.difference(from: Quantity(0, decimals: 3))?.units ?? 0
        return Timestamp(milliseconds: milliseconds)
    }
}
