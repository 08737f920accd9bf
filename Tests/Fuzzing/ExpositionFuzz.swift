import RollcallCore

@testable import RollcallSupport

/// Names of people's making in metrics: whatever a label's value is, the page is read back as the same
/// series with the same values, in both formats.
enum ExpositionFuzz {
    /// A series as a strict reader sees it.
    struct Sample: Equatable {
        var name: [UInt8]
        var labels: [[UInt8]]
        var value: [UInt8]
    }

    static let target = FuzzTarget("exposition", samples: samples) { bytes in
        var input = FuzzInput(bytes)
        let number = Int64(truncatingIfNeeded: input.part().reduce(0) { $0 << 8 | UInt64($1) })
        let choice = input.byte()
        let decimals = Int(choice & 0x1F) % 19
        let first = input.part()
        let second = input.all()
        for format in Exposition.Format.allCases {
            page(format, first, second, Quantity(number, decimals: decimals))
            // A whole page takes a thousand times as long as one of three lines.
            if choice >= 0xF0 { regions(format, [first, second]) }
        }
    }

    private static func page(
        _ format: Exposition.Format, _ first: [UInt8], _ second: [UInt8], _ value: Quantity
    ) {
        var page = Exposition(format: format)
        page.family("a_seconds", .counter, "A \\ \"counter\"\nof two lines.")
        page.sample(["x": .bytes(first), "y": .bytes(second), "n": .number(7)], value)
        page.family("b", .gauge, "A gauge.")
        page.sample(["x": .bytes(second)], 1)
        var digits: [UInt8] = []
        value.append(to: &digits)
        let expected = [
            Sample(
                name: Array("a_seconds_total".utf8), labels: [first, second, Array("7".utf8)],
                value: digits),
            Sample(name: Array("b".utf8), labels: [second], value: Array("1".utf8)),
        ]
        let bytes = page.finish()
        let read = ExpositionReader.samples(bytes)
        require(read == expected, "the same series come back")
        if format == .openMetrics { pushed(bytes, expected, value) }
    }

    /// The same page, as it is read to be pushed.
    private static func pushed(_ page: [UInt8], _ expected: [Sample], _ value: Quantity) {
        let families = MetricsPage.families(page)
        let series = families?.flatMap(\.series) ?? []
        require(series.map { $0.labels.map(\.value) } == expected.map(\.labels), "with all labels")
        guard case .number(let number) = series.first?.value else { fatalError("no number") }
        require(number.difference(from: value)?.units == 0, "with its value")
        let requests = OTLPMetrics.requests(
            families ?? [], at: Timestamp(milliseconds: 1000), .cumulative, of: MetricStreams(),
            resource: [], version: [])
        require(requests.count == 1 && requests[0].points == 2, "in one request")
        require(ProtobufReader.fields(of: requests[0].body) != nil, "which is a message")
        scraped(MetricMessages.page(families ?? [], natives: [:]), expected)
    }

    /// The same page as messages, each with its length in front.
    private static func scraped(_ page: [UInt8], _ expected: [Sample]) {
        var at = 0
        for sample in expected {
            guard let length = Varint.read(page.span, &at, page.count),
                length <= UInt64(page.count - at),
                let family = ProtobufReader.fields(of: Array(page[at..<(at + Int(length))]))
            else { fatalError("no message") }
            at += Int(length)
            require(family.map(\.number) == [1, 2, 3, 4], "a family of one series")
            require(family[0].value == .bytes(sample.name), "under its name")
        }
        require(at == page.count, "and no more")
    }

    /// Regions get here by the scanner, as a backend names them.
    private static func regions(_ format: Exposition.Format, _ names: [[UInt8]]) {
        var engine = Engine()
        _ = engine.fold(.start(), at: EngineSamples.start)
        var known: Set<[UInt8]> = []
        for (place, name) in names.enumerated() {
            var body = Array("{\"responder_id\":\"\(place)\",\"region\":".utf8)
            JSONWriter.string(name, to: &body)
            body += Array("}".utf8)
            guard let scan = try? ItemScanner.scan(body.span, kind: .batch) else { continue }
            _ = engine.fold(.items(scan.items, source: [0x70]), at: EngineSamples.start)
            let region = scan.items.item(0)?.region
            if let region { known.insert(Array(scan.items.bytes[region.indices])) }
        }
        var page = Exposition(format: format)
        page.append(engine)
        // Nothing else on the page depends on the input, and reading it takes longer than making it.
        let prefix = Array("rollcall_responders{".utf8)
        let lines = page.finish().split(separator: 0x0A).filter { $0.starts(with: prefix) }
        guard
            let samples = ExpositionReader.samples(Array(lines.joined(separator: [0x0A])) + [0x0A])
        else { fatalError("not read back") }
        require(known.isSubset(of: Set(samples.flatMap(\.labels))), "each region has its label")
    }

    private static let samples = [
        ("north", "a\\b\"c\nd"), ("", "{}=,# EOF\\"), ("é😀", "\u{85}\u{2028}\r\t\u{0}"),
    ].map { first, second in
        FuzzInput.part([0xFF, 0x0F]) + [first.isEmpty ? 0xF3 : 3]
            + FuzzInput.part(Array(first.utf8)) + Array(second.utf8)
    }
}

/// A strict reader of both text formats, which knows nothing of who wrote the page.
enum ExpositionReader {
    /// The samples of a page; nil if a line is none that may stand there.
    static func samples(_ page: [UInt8]) -> [ExpositionFuzz.Sample]? {
        guard page.last == 0x0A else { return nil }
        var samples: [ExpositionFuzz.Sample] = []
        for line in page.dropLast().split(separator: 0x0A, omittingEmptySubsequences: false) {
            if line.starts(with: Array("# ".utf8)) { continue }
            guard let sample = sample(line) else { return nil }
            samples.append(sample)
        }
        return samples
    }

    private static func sample(_ line: ArraySlice<UInt8>) -> ExpositionFuzz.Sample? {
        var rest = line
        let name = Array(rest.prefix { $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: " ") })
        rest = rest.dropFirst(name.count)
        guard isName(name) else { return nil }
        var labels: [[UInt8]] = []
        if rest.first == UInt8(ascii: "{") {
            repeat {
                rest = rest.dropFirst()
                let label = Array(rest.prefix { $0 != UInt8(ascii: "=") })
                rest = rest.dropFirst(label.count)
                guard isName(label), rest.popFirst() == UInt8(ascii: "="),
                    let value = quoted(&rest)
                else { return nil }
                labels.append(value)
            } while rest.first == UInt8(ascii: ",")
            guard rest.popFirst() == UInt8(ascii: "}") else { return nil }
        }
        guard rest.popFirst() == UInt8(ascii: " "), !rest.isEmpty,
            rest.allSatisfy({ "0123456789.-".utf8.contains($0) })
        else { return nil }
        return ExpositionFuzz.Sample(name: name, labels: labels, value: Array(rest))
    }

    private static func isName(_ name: [UInt8]) -> Bool {
        MatcherText.isName(String(decoding: name, as: UTF8.self))
    }

    private static func quoted(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return value
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case UInt8(ascii: "\\"): value.append(UInt8(ascii: "\\"))
                case UInt8(ascii: "\""): value.append(UInt8(ascii: "\""))
                case UInt8(ascii: "n"): value.append(0x0A)
                default: return nil
                }
            default: value.append(byte)
            }
        }
        return nil
    }
}
