/// A page for a scraper, appended family by family in one of the two text formats.
///
///     var page = Exposition(format: .openMetrics)
///     page.family("rollcall_updates", .counter, "Updates by what became of them.")
///     page.sample(["outcome": .word("accepted")], 41)
///     let bytes = page.finish()
///
/// A family is named as OpenMetrics does, without `_total` and `_info`; samples belong to the
/// family that was begun last, so families cannot interleave. Its unit stands in its name and is
/// read from there. Timestamps and `_created` are left out: Prometheus stamps samples itself, and
/// `_created` would be one more series for each. Exemplars are in OpenMetrics alone: text 0.0.4 has none.
/// Source: OpenMetrics 1.0.
package struct Exposition: Sendable {
    /// The languages that scrapers understand.
    package enum Format: CaseIterable, Sendable {
        /// Prometheus text 0.0.4, which everything reads.
        case text
        /// OpenMetrics 1.0.0, which Prometheus asks for by name.
        case openMetrics

        /// The `Content-Type`; Prometheus 3 fails a scrape without it.
        package var contentType: StaticString {
            switch self {
            case .text: "text/plain; version=0.0.4; charset=utf-8"
            case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
        }
    }

    /// The types of metrics that we have.
    package enum Kind: Sendable {
        /// Only grows; its samples end in `_total`.
        case counter
        /// Goes up and down.
        case gauge
        /// Observations by upper bound, which only grow.
        case histogram
        /// A distribution of what is now: its counts go up and down.
        case gaugeHistogram
        /// A fact that does not change while the process runs; its samples end in `_info` and are
        /// 1.
        case info
    }

    /// The value of a label. What people named is `bytes`.
    package enum LabelValue: Sendable {
        /// A word of ours that needs no escapes.
        case word(StaticString)
        /// A code.
        case number(Int)
        /// UTF-8, escaped when written.
        case bytes([UInt8])
    }

    /// Labels in the order in which they are written.
    package typealias Labels = KeyValuePairs<StaticString, LabelValue>

    /// The format being written.
    package let format: Format
    /// The bytes written so far.
    package private(set) var bytes: [UInt8] = []

    /// The histograms that another language tells otherwise, by the names of their families.
    package private(set) var natives: [[UInt8]: NativeHistogram] = [:]

    private var name: StaticString = ""
    private var help: StaticString = ""
    private var suffix: StaticString = ""

    /// An exposition without families. `capacity` spares it the growing.
    package init(format: Format, capacity: Int = 4096) {
        self.format = format
        bytes.reserveCapacity(capacity)
    }

    /// Ends the exposition and gives its bytes.
    package consuming func finish() -> [UInt8] {
        if format == .openMetrics { raw("# EOF\n") }
        return bytes
    }

    // MARK: - Families

    /// Begins a family. One without samples shows scrapers its name all the same.
    package mutating func family(_ name: StaticString, _ kind: Kind, _ help: StaticString) {
        self.name = name
        self.help = help
        switch kind {
        case .counter: suffix = "_total"
        case .info: suffix = "_info"
        case .gauge, .histogram, .gaugeHistogram: suffix = ""
        }
        switch format {
        case .text:
            metadata("HELP", suffix)
            escape(help, quotes: false)
            metadata("TYPE", suffix, line: true)
            raw(textType(kind))
            raw("\n")
        case .openMetrics:
            metadata("TYPE", "")
            raw(openMetricsType(kind))
            if let unit {
                metadata("UNIT", "", line: true)
                raw(unit)
            }
            metadata("HELP", "", line: true)
            escape(help, quotes: true)
            raw("\n")
        }
    }

    private mutating func metadata(
        _ keyword: StaticString, _ suffix: StaticString, line: Bool = false
    ) {
        raw(line ? "\n# " : "# ")
        raw(keyword)
        raw(" ")
        raw(name)
        raw(suffix)
        raw(" ")
    }

    private func textType(_ kind: Kind) -> StaticString {
        switch kind {
        case .counter: "counter"
        case .gauge, .info: "gauge"
        case .histogram, .gaugeHistogram: "histogram"
        }
    }

    private func openMetricsType(_ kind: Kind) -> StaticString {
        switch kind {
        case .counter: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        case .gaugeHistogram: "gaugehistogram"
        case .info: "info"
        }
    }

    /// "UNIT … MUST be a suffix of the MetricFamily name, separated by an underscore."
    private var unit: StaticString? {
        if ends(name, in: "_seconds") { return "seconds" }
        if ends(name, in: "_bytes") { return "bytes" }
        return nil
    }

    private func ends(_ name: StaticString, in ending: StaticString) -> Bool {
        let name = UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        let ending = UnsafeBufferPointer(start: ending.utf8Start, count: ending.utf8CodeUnitCount)
        return name.count > ending.count && name.suffix(ending.count).elementsEqual(ending)
    }

    // MARK: - Samples

    /// The one sample of a counter or gauge family without labels.
    package mutating func sample(_ value: Quantity) { sample([:], value) }

    /// One sample of a counter, gauge or info family.
    package mutating func sample(_ labels: Labels, _ value: Quantity) {
        raw(name)
        raw(suffix)
        if !labels.isEmpty {
            raw("{")
            write(labels)
            raw("}")
        }
        raw(" ")
        value.append(to: &bytes)
        raw("\n")
    }

    /// The labels of many samples, of which one has another value in each: what is written before and
    /// behind that value.
    package struct Stencil: Sendable {
        fileprivate let before: [UInt8]
        fileprivate let after: [UInt8]
    }

    /// Returns the stencil of samples of the family that was begun last: one piece where a sample is a
    /// dozen, for what there is once for each region.
    package mutating func stencil(
        _ varying: StaticString, behind before: Labels = [:], before after: Labels = [:]
    ) -> Stencil {
        let start = bytes.count
        raw(name)
        raw(suffix)
        raw("{")
        write(before)
        if !before.isEmpty { raw(",") }
        raw(varying)
        raw("=\"")
        let middle = bytes.count
        raw(after.isEmpty ? "\"" : "\",")
        write(after)
        raw("} ")
        defer { bytes.removeLast(bytes.count - start) }
        return Stencil(before: Array(bytes[start..<middle]), after: Array(bytes[middle...]))
    }

    /// One sample of a stencil, with what `escaped` made of the label's value.
    package mutating func sample(_ stencil: Stencil, _ escaped: [UInt8], _ value: Quantity) {
        bytes += stencil.before
        bytes += escaped
        bytes += stencil.after
        value.append(to: &bytes)
        raw("\n")
    }

    /// Returns the value of a label as it is written.
    package static func escaped(_ value: [UInt8]) -> [UInt8] {
        var page = Exposition(format: .text, capacity: value.count)
        for byte in value { page.escape(byte, quotes: true) }
        return page.bytes
    }

    /// The one series of a histogram family without labels; `native` is what was counted beside it.
    package mutating func histogram(
        _ histogram: Histogram, decimals: Int = 3, exemplars: Exemplars? = nil,
        native: NativeHistogram? = nil
    ) {
        self.histogram([:], histogram, decimals: decimals, exemplars: exemplars)
        if let native { natives[name.bytes] = native }
    }

    /// One series of a histogram family. Its numbers have so many `decimals`: 3 if they are
    /// thousandths of the unit.
    package mutating func histogram(
        _ labels: Labels, _ histogram: Histogram, decimals: Int = 3, exemplars: Exemplars? = nil
    ) {
        var total = 0
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let isLast = index == histogram.bounds.count
            bucket(
                labels, isLast ? nil : Quantity(histogram.bounds[index], decimals: decimals), total)
            if format == .openMetrics, let exemplar = exemplars?.newest[index] {
                bytes.removeLast()
                append(exemplar, decimals)
            }
        }
        summary(labels, "_count", Quantity(total))
        summary(labels, "_sum", Quantity(histogram.sum, decimals: decimals))
    }

    /// The one series of a gauge histogram family: counts up to and including each of `bounds`,
    /// the count of all, and their sum.
    ///
    /// Text 0.0.4 has no such type. Written as a gauge, promtool rejects `_bucket` and `le`; as a
    /// plain histogram with `_count` and `_sum`, series would have other names than in OpenMetrics
    /// and Prometheus would take every fall for a restart. So we do what the Python client does:
    /// the buckets are a histogram, `_gcount` and `_gsum` are gauges. Names are the same in both
    /// formats, `histogram_quantile` works, promtool and both parsers accept it. Since the gauges
    /// are families of their own there, the family cannot have a second series.
    package mutating func gaugeHistogram(
        bounds: [Quantity], cumulated: [Int], count: Int, sum: Quantity
    ) {
        for (bound, count) in zip(bounds, cumulated) { bucket([:], bound, count) }
        bucket([:], nil, count)
        gaugeOfDistribution("_gcount", Quantity(count))
        gaugeOfDistribution("_gsum", sum)
    }

    private mutating func gaugeOfDistribution(_ suffix: StaticString, _ value: Quantity) {
        if format == .text {
            metadata("HELP", suffix)
            escape(help, quotes: false)
            metadata("TYPE", suffix, line: true)
            raw("gauge\n")
        }
        summary([:], suffix, value)
    }

    /// Nil stands for +Inf.
    private mutating func bucket(_ labels: Labels, _ bound: Quantity?, _ count: Int) {
        raw(name)
        raw("_bucket{")
        write(labels)
        raw(labels.isEmpty ? "le=\"" : ",le=\"")
        if let bound { bound.appendCanonical(to: &bytes) } else { raw("+Inf") }
        raw("\"} ")
        JSONWriter.integer(Int64(count), to: &bytes)
        raw("\n")
    }

    /// "An Exemplar … MUST consist of a LabelSet and a value", of 128 characters at most.
    private mutating func append(_ exemplar: Exemplar, _ decimals: Int) {
        raw(" # {")
        write(["turn": .number(Int(exemplar.turn))])
        raw("} ")
        Quantity(exemplar.value, decimals: decimals).append(to: &bytes)
        raw(" ")
        Quantity(exemplar.at).append(to: &bytes)
        raw("\n")
    }

    private mutating func summary(
        _ labels: Labels, _ ending: StaticString, _ value: Quantity
    ) {
        let familySuffix = suffix
        suffix = ending
        sample(labels, value)
        suffix = familySuffix
    }

    // MARK: - Bytes

    private mutating func write(_ labels: Labels) {
        var isFirst = true
        for (name, value) in labels {
            if !isFirst { raw(",") }
            isFirst = false
            raw(name)
            raw("=\"")
            switch value {
            case .word(let word): raw(word)
            case .number(let number): JSONWriter.integer(Int64(number), to: &bytes)
            case .bytes(let value): for byte in value { escape(byte, quotes: true) }
            }
            raw("\"")
        }
    }

    /// Label values escape `\`, `"` and line feeds in both formats; help texts escape `"` in
    /// OpenMetrics only, and 0.0.4 would show the backslash.
    private mutating func escape(_ byte: UInt8, quotes: Bool) {
        switch byte {
        case UInt8(ascii: "\\"): raw("\\\\")
        case UInt8(ascii: "\n"): raw("\\n")
        case UInt8(ascii: "\"") where quotes: raw("\\\"")
        default: bytes.append(byte)
        }
    }

    private mutating func escape(_ text: StaticString, quotes: Bool) {
        for byte in UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) {
            escape(byte, quotes: quotes)
        }
    }

    private mutating func raw(_ text: StaticString) { JSONWriter.raw(text, to: &bytes) }
}
