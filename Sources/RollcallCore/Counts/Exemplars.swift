/// One observation of a histogram, told beside the count of its bucket: by which turn it came, and of
/// nobody. Source: V17.
package struct Exemplar: Equatable, Sendable {
    /// The value that was observed, in thousandths of the unit; not below zero.
    package let value: Int64
    /// The number of the turn (J2).
    package let turn: Int64
    /// Wall time of the observation.
    package let at: Timestamp

    /// A value that a turn brought at an instant; less than zero counts as zero, as in its histogram.
    package init(_ value: Int64, turn: Int64, at: Timestamp) {
        self.value = max(0, value)
        self.turn = turn
        self.at = at
    }
}

/// The newest observation of each bucket of a histogram. They begin with the process, and decide
/// nothing.
package struct Exemplars: Equatable, Sendable {
    /// By bucket; nil where there was none yet.
    package private(set) var newest: [Exemplar?]

    /// Those of a histogram, none yet.
    package init(of histogram: Histogram) {
        newest = [Exemplar?](repeating: nil, count: histogram.counts.count)
    }

    /// Notes what a histogram observes.
    package mutating func note(_ exemplar: Exemplar, in histogram: Histogram) {
        newest[histogram.bucket(of: exemplar.value)] = exemplar
    }
}
