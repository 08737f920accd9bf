/// Observations since the process began: by the bounds of the histogram beside it, and by powers of
/// 2^(1/8), as a native histogram of Prometheus has them. They decide nothing, and are in no checkpoint.
///
/// Both are counted together, so that they agree at any instant. Bucket `i` is from above 2^((i-1)/8)
/// up to and including 2^(i/8) of the unit; what is 0 has a bucket of its own.
/// Source: V22; prometheus/client_golang, histogram.go, `observe` and `makeBuckets`.
package struct NativeHistogram: Equatable, Sendable {
    /// A run of buckets that follow one another.
    package struct Span: Equatable, Sendable {
        /// The number of its first bucket; behind another run, how many buckets are left out between them.
        package var offset: Int
        package var length: Int
    }

    /// Each power of two is divided into 2^3 buckets.
    package static let schema: Int64 = 3
    /// The width of the bucket of zeros: Prometheus' usual one. No observation but 0 is as small.
    package static let zeroThreshold = 0x1p-128

    /// 2^(-8/8), 2^(-7/8) … 2^(-1/8): all bounds are one of these times a power of two.
    private static let fractions: [Double] = [
        0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
        0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711,
    ]
    /// From the bucket of 0.001 to that of the greatest number of thousandths that 64 bits hold: 505.
    private static let buckets = bucket(of: 1)...bucket(of: .max)
    /// Empty buckets between two that are told, rather than a run of their own for the second.
    private static let gapMax = 2

    /// All of them by upper bound, their number and their sum.
    package private(set) var classic: Histogram
    /// Those of 0.
    package private(set) var zeroCount = 0
    private var counts = [Int](repeating: 0, count: buckets.count)

    /// No observation yet, by the bounds of another histogram, which are in thousandths.
    package init(beside histogram: Histogram) { classic = Histogram(bounds: histogram.bounds) }

    /// Observes a value in thousandths of the unit; less than zero counts as zero.
    package mutating func observe(_ value: Int64, times: Int = 1) {
        classic.observe(value, times: times)
        if value > 0 {
            counts[Self.bucket(of: value) - Self.buckets.lowerBound] += times
        } else {
            zeroCount += times
        }
    }

    /// Returns the number of the bucket of a value above 0, in thousandths of the unit.
    package static func bucket(of value: Int64) -> Int {
        // The nearest binary fraction, as a page tells it; a bound itself belongs to the bucket below.
        let number = Double(value) / 1000
        let fraction = number.significand / 2
        let place = fractions.firstIndex { fraction <= $0 } ?? fractions.count
        return place + Int(number.exponent) * fractions.count
    }

    /// The runs of buckets that are told, and by how much each bucket's count differs from the one before.
    package var runs: (spans: [Span], deltas: [Int64]) {
        var spans: [Span] = []
        var deltas: [Int64] = []
        var last: Int64 = 0
        // The bucket behind the last one that is told.
        var next = 0
        func append(_ count: Int) {
            deltas.append(Int64(count) - last)
            last = Int64(count)
        }
        for (count, bucket) in zip(counts, Self.buckets) where count > 0 {
            let gap = bucket - next
            if spans.isEmpty || gap > Self.gapMax {
                spans.append(Span(offset: gap, length: 0))
            } else {
                for _ in 0..<gap { append(0) }
                spans[spans.count - 1].length += gap
            }
            append(count)
            spans[spans.count - 1].length += 1
            next = bucket + 1
        }
        return (spans, deltas)
    }
}
