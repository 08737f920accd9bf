/// Writes a page of metrics in protobuf, as Prometheus takes native histograms: one
/// `io.prometheus.client.MetricFamily` after the other, each with its length in front. Source: V22;
/// prometheus/client_model, metrics.proto, whose field numbers stand here.
package enum MetricMessages {
    /// The type by which a scraper names it, and its parameters.
    package static let type = "application/vnd.google.protobuf"
    package static let proto = "io.prometheus.client.MetricFamily"
    package static let encoding = "delimited"
    /// The `Content-Type`.
    package static let contentType = "\(type); proto=\(proto); encoding=\(encoding)"

    /// The values of `MetricType` that we have.
    private enum Kind: UInt64 {
        case counter = 0
        case gauge = 1
        case histogram = 4
    }

    /// Returns the page that has `families`; those that `natives` names are told as these have them.
    package static func page(
        _ families: [MetricFamily], natives: [[UInt8]: NativeHistogram]
    ) -> [UInt8] {
        var page: [UInt8] = []
        for family in families {
            let message = Self.message(family, natives[family.name])
            Varint.append(UInt64(message.count), to: &page)
            page += message
        }
        return page
    }

    // MARK: - A family

    private static func message(_ family: MetricFamily, _ native: NativeHistogram?) -> [UInt8] {
        var message = ProtobufWriter()
        let kind: Kind =
            switch family.kind {
            case .counter: .counter
            case .gauge, .gaugeHistogram, .info: .gauge
            case .histogram: .histogram
            }
        // The names are those of text 0.0.4.
        message.text(1, kind == .counter ? family.name + "_total".utf8 : family.name)
        message.text(2, family.help)
        message.varint(3, kind.rawValue)
        for series in family.series {
            message.message(4) { metric in
                for label in series.labels { append(label, to: &metric) }
                switch series.value {
                case .number(let number):
                    metric.message(kind == .counter ? 3 : 2) { $0.double(1, number.double) }
                case .histogram(let histogram):
                    metric.message(7) { append(histogram, native, to: &$0) }
                }
            }
        }
        return message.bytes
    }

    /// `LabelPair`: a name and a value.
    private static func append(_ label: Label, to message: inout ProtobufWriter) {
        message.message(1) { pair in
            pair.text(1, label.name)
            pair.text(2, label.value)
        }
    }

    // MARK: - Histograms

    private static func append(
        _ written: HistogramValue, _ native: NativeHistogram?, to message: inout ProtobufWriter
    ) {
        let histogram = native.map { written.counted(by: $0.classic) } ?? written
        message.varint(1, UInt64(max(0, histogram.count)))
        message.double(2, histogram.sum.double)
        var exemplars = histogram.exemplars[...]
        var cumulated: Int64 = 0
        for (place, count) in histogram.counts.enumerated() {
            let bound = place < histogram.bounds.count ? histogram.bounds[place] : nil
            cumulated += count
            message.message(3) { bucket in
                bucket.varint(1, UInt64(max(0, cumulated)))
                bucket.double(2, bound?.double ?? .infinity)
                // There is one for a bucket at most, in their order.
                if let exemplar = exemplars.first,
                    exemplar.value.double <= bound?.double ?? .infinity
                {
                    append(exemplar, to: &bucket)
                    exemplars.removeFirst()
                }
            }
        }
        if let native { append(native, to: &message) }
    }

    private static func append(_ native: NativeHistogram, to message: inout ProtobufWriter) {
        message.signed(5, NativeHistogram.schema)
        message.double(6, NativeHistogram.zeroThreshold)
        message.varint(7, UInt64(max(0, native.zeroCount)))
        let (spans, deltas) = native.runs
        for span in spans {
            message.message(12) { message in
                message.signed(1, Int64(span.offset))
                message.varint(2, UInt64(span.length))
            }
        }
        for delta in deltas { message.signed(13, delta) }
    }

    private static func append(_ exemplar: MetricExemplar, to bucket: inout ProtobufWriter) {
        bucket.message(3) { message in
            for label in exemplar.labels { append(label, to: &message) }
            message.double(2, exemplar.value.double)
            let milliseconds = UInt64(max(0, exemplar.instant.milliseconds))
            // `google.protobuf.Timestamp`: seconds and nanoseconds. Its fields are the only ones here without
            // presence: what is 0 is left out.
            message.message(3) { time in
                let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
                if seconds > 0 { time.varint(1, seconds) }
                if rest > 0 { time.varint(2, rest * 1_000_000) }
            }
        }
    }
}
