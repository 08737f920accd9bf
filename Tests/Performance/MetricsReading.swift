/// A scrape, read.
struct MetricsReading {
    /// Bytes of the page.
    let byteCount: Int
    /// How long the scrape took.
    let span: Nanoseconds
    private var samples: [Substring: Double] = [:]

    /// Scrapes.
    init(_ caller: Caller) throws(BenchmarkError) {
        let answer = try caller.ask("GET", "/metrics")
        byteCount = answer.body.count
        span = answer.span
        for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { continue }
            samples[line[..<space]] = value
        }
    }

    /// A sample's value, by its name with its labels as they are written; nil if it is absent.
    func value(_ name: String) -> Double? { samples[name[...]] }

    /// A histogram without labels; nil if it is absent.
    func histogram(_ name: String) -> BucketCounts? {
        let prefix = "\(name)_bucket{le=\""
        var counts: [(bound: Double, count: Double)] = []
        for (sample, count) in samples where sample.hasPrefix(prefix) {
            let text = sample.dropFirst(prefix.count).dropLast(2)
            counts.append((text == "+Inf" ? .infinity : Double(text) ?? .nan, count))
        }
        return counts.isEmpty ? nil : BucketCounts(counts: counts.sorted { $0.bound < $1.bound })
    }
}

/// How many observations were not above each bound: a histogram as Prometheus has it.
struct BucketCounts {
    /// Ascending bounds, cumulated counts.
    let counts: [(bound: Double, count: Double)]

    /// All observations.
    var total: Int { Int(counts.last?.count ?? 0) }

    /// What was observed since an earlier reading.
    func since(_ before: BucketCounts) -> BucketCounts {
        BucketCounts(
            counts: zip(counts, before.counts).map { ($0.bound, $0.count - $1.count) })
    }

    /// Observations beyond a bound, or beyond the next one where it is none itself.
    func count(above bound: Double) -> Int {
        total - Int(counts.first { $0.bound >= bound }?.count ?? 0)
    }

    /// The bound that a share of all observations does not exceed; nil without any.
    func bound(of share: Double) -> Double? {
        guard let all = counts.last?.count, all > 0 else { return nil }
        return counts.first { $0.count >= (share * all).rounded(.up) }?.bound
    }
}
