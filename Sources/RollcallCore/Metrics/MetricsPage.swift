/// Reads the page of metrics that we write ourselves, in OpenMetrics, for whoever is told of metrics in
/// another language: it then tells what a scrape tells, of the same instant, and forgets no family.
///
/// A distribution of what is now has no counterpart elsewhere: its parts are gauges here, under the names
/// and with the label `le` that they have on the page.
package struct MetricsPage {
    /// The family whose lines come.
    private var header = MetricFamily(name: [], kind: .gauge, unit: [], help: [])
    private var families: [MetricFamily] = []

    /// Returns the families that have samples, in their order; nil if a line is not one of ours.
    package static func families(_ page: [UInt8]) -> [MetricFamily]? {
        var reader = MetricsPage()
        for line in page.split(separator: UInt8(ascii: "\n")) {
            let isRead =
                line.first == UInt8(ascii: "#")
                ? reader.takeMetadata(line) : reader.takeSample(line)
            guard isRead else { return nil }
        }
        return reader.families
    }

    // MARK: - Metadata

    private mutating func takeMetadata(_ line: ArraySlice<UInt8>) -> Bool {
        let words = line.split(
            separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count == 4 else {
            return words.count == 2 && words[1].elementsEqual("EOF".utf8)
        }
        switch String(decoding: words[1], as: UTF8.self) {
        case "TYPE":
            guard let kind = Self.kind(words[3]) else { return false }
            header = MetricFamily(name: Array(words[2]), kind: kind, unit: [], help: [])
        case "UNIT": header.unit = Array(words[3])
        case "HELP": header.help = Self.unescaped(words[3])
        default: return false
        }
        return words[2].elementsEqual(header.name)
    }

    private static func kind(_ word: ArraySlice<UInt8>) -> Exposition.Kind? {
        switch String(decoding: word, as: UTF8.self) {
        case "counter": .counter
        case "gauge": .gauge
        case "histogram": .histogram
        case "gaugehistogram": .gaugeHistogram
        case "info": .info
        default: nil
        }
    }

    // MARK: - Samples

    private mutating func takeSample(_ line: ArraySlice<UInt8>) -> Bool {
        var rest = line
        let name = Array(rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: " ") })
        rest = rest.dropFirst(name.count)
        guard name.starts(with: header.name), var labels = Self.takeLabels(&rest),
            let value = Self.takeNumber(&rest)
        else { return false }
        let exemplar: MetricExemplar?
        if rest.isEmpty {
            exemplar = nil
        } else {
            guard let read = Self.exemplar(rest) else { return false }
            exemplar = read
        }
        let suffix = String(decoding: name.dropFirst(header.name.count), as: UTF8.self)
        switch (header.kind, suffix) {
        case (.counter, "_total"), (.gauge, ""):
            append(labels, .number(value), to: header)
        case (.info, "_info"):
            var family = header
            family.name = name
            append(labels, .number(value), to: family)
        case (.gaugeHistogram, "_bucket"), (.gaugeHistogram, "_gcount"),
            (.gaugeHistogram, "_gsum"):
            var family = header
            (family.name, family.kind) = (name, .gauge)
            if suffix != "_gsum" { family.unit = [] }
            append(labels, .number(value), to: family)
        case (.histogram, "_bucket"):
            guard let bound = labels.all.popLast(), bound.name.elementsEqual("le".utf8) else {
                return false
            }
            labels.cutLast()
            return appendBucket(labels, bound.value, value, exemplar)
        case (.histogram, "_count"): return true
        case (.histogram, "_sum"): return changeLast(labels) { $0.sum = value }
        default: return false
        }
        return true
    }

    private mutating func append(
        _ labels: Labels, _ value: MetricValue, to family: MetricFamily
    ) {
        if families.last?.name != family.name { families.append(family) }
        families[families.count - 1].series.append(
            MetricSeries(key: labels.text, labels: labels.all, value: value))
    }

    /// Counts on a page go up to a bound and include what is below.
    private mutating func appendBucket(
        _ labels: Labels, _ bound: [UInt8], _ count: Quantity, _ exemplar: MetricExemplar?
    ) -> Bool {
        guard count.decimals == 0 else { return false }
        if families.last?.name != header.name || families.last?.series.last?.key != labels.text {
            append(labels, .histogram(HistogramValue()), to: header)
        }
        let number = Quantity(bound)
        guard number != nil || bound.elementsEqual("+Inf".utf8) else { return false }
        return changeLast(labels) { histogram in
            histogram.counts.append(count.units - histogram.count)
            if let number { histogram.bounds.append(number) }
            if let exemplar { histogram.exemplars.append(exemplar) }
        }
    }

    private mutating func changeLast(
        _ labels: Labels, _ change: (inout HistogramValue) -> Void
    ) -> Bool {
        let place = families.count - 1
        guard let series = families.last?.series.last, families[place].name == header.name,
            series.key == labels.text, case .histogram(var histogram) = series.value
        else { return false }
        change(&histogram)
        families[place].series[families[place].series.count - 1].value = .histogram(histogram)
        return true
    }

    // MARK: - Parts of a line

    /// Labels as they are written, and read.
    private struct Labels {
        var text: [UInt8] = []
        var all: [Label] = []
        /// The places in the text at which labels begin.
        var begins: [Int] = []

        /// Takes the last one out of the text, with the comma before it.
        mutating func cutLast() {
            let begin = begins.popLast() ?? 0
            text.removeLast(text.count - max(0, begin - 1))
        }
    }

    /// Takes `{name="value",…}`, if it is there.
    private static func takeLabels(_ rest: inout ArraySlice<UInt8>) -> Labels? {
        var labels = Labels()
        guard rest.first == UInt8(ascii: "{") else { return labels }
        rest = rest.dropFirst()
        let whole = rest
        while rest.first != UInt8(ascii: "}") {
            if !labels.all.isEmpty {
                guard rest.first == UInt8(ascii: ",") else { return nil }
                rest = rest.dropFirst()
            }
            labels.begins.append(rest.startIndex - whole.startIndex)
            guard let equals = rest.firstIndex(of: UInt8(ascii: "=")),
                rest[(equals + 1)...].first == UInt8(ascii: "\"")
            else { return nil }
            var end = equals + 2
            while end < rest.endIndex, rest[end] != UInt8(ascii: "\"") {
                end += rest[end] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard end < rest.endIndex else { return nil }
            labels.all.append(
                Label(Array(rest[..<equals]), unescaped(rest[(equals + 2)..<end])))
            rest = rest[(end + 1)...]
        }
        labels.text = Array(whole[..<rest.startIndex])
        rest = rest.dropFirst()
        return labels
    }

    /// Takes ` 61.5`.
    private static func takeNumber(_ rest: inout ArraySlice<UInt8>) -> Quantity? {
        guard rest.first == UInt8(ascii: " ") else { return nil }
        let digits = rest.dropFirst().prefix { $0 != UInt8(ascii: " ") }
        rest = rest[digits.endIndex...]
        return Quantity(digits)
    }

    /// Reads ` # {name="value"} 0.5 1795230000.12`.
    private static func exemplar(_ text: ArraySlice<UInt8>) -> MetricExemplar? {
        guard text.starts(with: " # ".utf8) else { return nil }
        var rest = text.dropFirst(3)
        guard let labels = takeLabels(&rest), let value = takeNumber(&rest),
            let at = takeNumber(&rest), rest.isEmpty
        else { return nil }
        return MetricExemplar(labels: labels.all, value: value, at: at)
    }

    /// Returns what was escaped as `\\`, `\"` and `\n`.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        var isEscaped = false
        for byte in text {
            if isEscaped {
                plain.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else {
                plain.append(byte)
            }
        }
        return plain
    }
}
