/// Spans of time counted in steps of 0.1 s, of which shares are asked for.
package struct TuneSpans: Equatable, Sendable {
    private var counts: [Int64: Int] = [:]

    /// The number of spans.
    package var count: Int { counts.values.reduce(0, +) }

    mutating func add(_ span: Milliseconds) { counts[(span.count + 50) / 100, default: 0] += 1 }

    mutating func add(_ others: TuneSpans) { counts.merge(others.counts, uniquingKeysWith: +) }

    /// Returns the span that `share` of them did not exceed, in steps of 0.1 s; nil without any.
    package func quantile(_ share: Double) -> Milliseconds? {
        let count = count
        guard count > 0 else { return nil }
        let wanted = min(count, max(1, Int((Double(count) * share).rounded(.up))))
        var passed = 0
        for tenths in counts.keys.sorted() {
            passed += counts[tenths] ?? 0
            if passed >= wanted { return Milliseconds(tenths * 100) }
        }
        return nil
    }
}
