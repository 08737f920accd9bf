/// Writes metrics as OpenTelemetry's collectors take them: `ExportMetricsServiceRequest` of
/// opentelemetry-proto 1, whose field numbers stand here. Source: V21.
package enum OTLPMetrics {
    /// A request, and what is known once it was taken.
    package struct Request: Sendable {
        package var body: [UInt8]
        /// Points in it.
        package var points: Int
        package var reports: [MetricStreams.Report]
    }

    /// Bytes of a request at most, before they are packed, but for a family that has more by itself. A server is to take 20 MiB.
    package static let requestBytesMax = 8 << 20

    /// Returns the requests that tell a page of the instant `now`: one, unless it is longer than
    /// `bytesMax`. `resource` are the attributes of whoever tells.
    package static func requests(
        _ families: [MetricFamily], at now: Timestamp, _ temporality: MetricTemporality,
        of streams: MetricStreams, resource: [Label], version: [UInt8],
        bytesMax: Int = requestBytesMax
    ) -> [Request] {
        var requests: [Request] = []
        var metrics: [[UInt8]] = []
        var reports: [MetricStreams.Report] = []
        var bytes = 0
        func end() {
            guard !reports.isEmpty else { return }
            requests.append(
                Request(
                    body: request(metrics, resource, version),
                    points: reports.reduce(0) { $0 + $1.points.count }, reports: reports))
            (metrics, reports, bytes) = ([], [], 0)
        }
        for family in families {
            let report = streams.report(family, at: now, temporality)
            let metric = report.points.isEmpty ? [] : Self.metric(report, at: now)
            if bytes + metric.count > bytesMax { end() }
            if !metric.isEmpty { metrics.append(metric) }
            reports.append(report)
            bytes += metric.count
        }
        end()
        return requests
    }

    private static func request(
        _ metrics: [[UInt8]], _ resource: [Label], _ version: [UInt8]
    ) -> [UInt8] {
        var request = ProtobufWriter()
        request.message(1) { ofResource in
            ofResource.message(1) { message in
                for label in resource { attribute(1, label, to: &message) }
            }
            ofResource.message(2) { ofScope in
                ofScope.message(1) { scope in
                    scope.text(1, Array("rollcall".utf8))
                    scope.text(2, version)
                }
                for metric in metrics { ofScope.bytes(2, metric) }
            }
        }
        return request.bytes
    }

    // MARK: - A family

    private static func metric(_ report: MetricStreams.Report, at now: Timestamp) -> [UInt8] {
        let family = report.family
        var metric = ProtobufWriter()
        metric.text(1, family.name)
        metric.text(2, family.help)
        if let unit = unit(family.unit) { metric.text(3, unit) }
        let temporality: UInt64 = report.temporality == .delta ? 1 : 2
        switch family.kind {
        // `Gauge`: points.
        case .gauge, .gaugeHistogram:
            metric.message(5) { points(report, at: now, to: &$0) }
        // `Sum`: points, the temporality, and whether it only grows.
        case .counter, .info:
            metric.message(7) { sum in
                points(report, at: now, to: &sum)
                sum.varint(2, temporality)
                if family.kind == .counter { sum.varint(3, 1) }
            }
        // `Histogram`: points and the temporality.
        case .histogram:
            metric.message(9) { histogram in
                points(report, at: now, to: &histogram)
                histogram.varint(2, temporality)
            }
        }
        attribute(12, Label("prometheus.type", word(family.kind)), to: &metric)
        return metric.bytes
    }

    /// Returns a unit as UCUM has it.
    private static func unit(_ word: [UInt8]) -> [UInt8]? {
        switch String(decoding: word, as: UTF8.self) {
        case "seconds": Array("s".utf8)
        case "bytes": Array("By".utf8)
        default: nil
        }
    }

    private static func word(_ kind: Exposition.Kind) -> [UInt8] {
        let word: StaticString =
            switch kind {
            case .counter: "counter"
            case .gauge, .gaugeHistogram: "gauge"
            case .histogram: "histogram"
            case .info: "info"
            }
        return word.bytes
    }

    // MARK: - Points

    private static func points(
        _ report: MetricStreams.Report, at now: Timestamp, to data: inout ProtobufWriter
    ) {
        for point in report.points {
            data.message(1) { message in
                if let start = point.start { message.fixed64(2, nanoseconds(start)) }
                message.fixed64(3, nanoseconds(now))
                switch point.value {
                case .number(let number):
                    message.double(4, number.double)
                    for label in point.labels { attribute(7, label, to: &message) }
                case .histogram(let histogram):
                    append(histogram, to: &message)
                    for label in point.labels { attribute(9, label, to: &message) }
                }
            }
        }
    }

    private static func append(_ histogram: HistogramValue, to message: inout ProtobufWriter) {
        if histogram.count > 0 { message.fixed64(4, UInt64(histogram.count)) }
        message.double(5, histogram.sum.double)
        message.packed(6, histogram.counts.map { UInt64(max(0, $0)) })
        message.packed(7, histogram.bounds.map { $0.double.bitPattern })
        for exemplar in histogram.exemplars {
            message.message(8) { message in
                message.fixed64(2, nanoseconds(exemplar.instant))
                message.double(3, exemplar.value.double)
                for label in exemplar.labels { attribute(7, label, to: &message) }
            }
        }
    }

    /// `KeyValue`: a key, and an `AnyValue` that is a text.
    private static func attribute(
        _ field: Int, _ label: Label, to message: inout ProtobufWriter
    ) {
        message.message(field) { pair in
            pair.text(1, label.name)
            pair.message(2) { $0.text(1, label.value) }
        }
    }

    private static func nanoseconds(_ time: Timestamp) -> UInt64 {
        UInt64(min(max(0, time.milliseconds), 9_000_000_000_000)) * 1_000_000
    }
}

/// The answer of a collector. Source: opentelemetry-proto, `ExportMetricsServiceResponse`; google.rpc,
/// `Status`.
package struct OTLPAnswer: Equatable, Sendable {
    /// Points that it did not take, although it took the request.
    package var rejected: Int64 = 0
    /// Its words about that, or without that; of a request that it did not take, the reason.
    package var message: [UInt8] = []

    /// The answer to a request that was taken; one that says nothing if the bytes are no such answer.
    package init(taken body: [UInt8]) {
        for field in ProtobufReader.fields(of: body) ?? [] where field.number == 1 {
            guard case .bytes(let partial) = field.value else { continue }
            for field in ProtobufReader.fields(of: partial) ?? [] {
                switch (field.number, field.value) {
                case (1, .varint(let count)): rejected = max(0, Int64(bitPattern: count))
                case (2, .bytes(let text)): message = text
                default: break
                }
            }
        }
    }

    /// The answer to a request that was not taken.
    package init(refused body: [UInt8]) {
        for field in ProtobufReader.fields(of: body) ?? [] where field.number == 2 {
            if case .bytes(let text) = field.value { message = text }
        }
    }
}
