/// What readers of events cost, as tables.
struct EventReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    /// Events that a reader is behind.
    let all: Int
    let readings: [EventBenchmark.Reading]
    let standings: [EventBenchmark.Standing]
    let telling: EventBenchmark.Telling?

    /// For people.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        if !readings.isEmpty { lines += [""] + readingLines }
        if !standings.isEmpty { lines += [""] + standingLines }
        if let telling { lines += [""] + tellingLines(telling) }
        return lines.joined(separator: "\n")
    }

    // MARK: - A reader who is far behind

    private var readingLines: [String] {
        let head = [
            "a reader \(grouped(Double(all))) events behind", "µs a batch", "× without", "p50 ms",
            "p99 ms", "events/s", "nobody posting",
        ]
        let rows = readings.map { reading in
            [
                reading.kind?.text ?? "nobody", decimal(Self.cost(reading), 1),
                decimal(ratio(reading), 2), decimal(Self.middle(reading, \.latency50), 2),
                decimal(Self.middle(reading, \.latency99), 2),
                reading.kind == nil ? "" : grouped(Self.middle(reading, \.eventsPerSecond)),
                reading.alone.map { grouped($0) } ?? "",
            ]
        }
        return aligned([head] + rows, leading: 1) + [
            "µs a batch: time by acknowledged POST, single batches over \(ChoreLoad.connections) "
                + "connections. × without: to the one without a reader of the same run; medians of "
                + "\(readings.first?.turns.count ?? 0)."
        ]
    }

    private static func middle(
        _ reading: EventBenchmark.Reading, _ value: (EventBenchmark.Turn) -> Double
    ) -> Double { median(reading.turns.map(value)) ?? 0 }

    private static func cost(_ reading: EventBenchmark.Reading) -> Double {
        middle(reading) { 1_000_000 / $0.batchesPerSecond }
    }

    /// The median of what a batch took, to what it took without a reader in the same run.
    private func ratio(_ reading: EventBenchmark.Reading) -> Double {
        let without = readings.first?.turns ?? []
        let ratios = zip(without, reading.turns).map { $0.batchesPerSecond / $1.batchesPerSecond }
        return median(ratios) ?? 0
    }

    // MARK: - Open streams

    private var standingLines: [String] {
        let nothing = standings.first { $0.count == 0 }
        func more(_ standing: EventBenchmark.Standing) -> (bytes: Double, processor: Double) {
            let count = Double(max(1, standing.count))
            return (
                Double(standing.residentBytes - (nothing?.residentBytes ?? 0)) / count,
                (standing.processor - (nothing?.processor ?? 0)) * 1000 / count
            )
        }
        let idle = standings.first { $0.key == "connections" }.map(more)
        let head = [
            "open", "", "MB", "kB each", "× a connection", "CPU ms/s", "µs/s each",
            "× a connection",
        ]
        let rows = standings.map { standing in
            let each = more(standing)
            let begin = [
                grouped(Double(standing.count)), standing.text, megabytes(standing.residentBytes),
            ]
            if standing.count == 0 {
                return begin + ["", "", decimal(standing.processor, 2), "", ""]
            }
            return begin + [
                decimal(each.bytes / 1000, 1), Self.times(each.bytes, idle?.bytes),
                decimal(standing.processor, 2), decimal(each.processor, 1),
                Self.times(each.processor, idle?.processor),
            ]
        }
        return aligned([head] + rows, leading: 2)
    }

    private static func times(_ value: Double, _ other: Double?) -> String {
        guard let other, other > 0, value > 0 else { return "–" }
        return decimal(value / other, 2)
    }

    private func tellingLines(_ telling: EventBenchmark.Telling) -> [String] {
        let head = ["one event", "answered after ms", "the last stream has it after ms", "longest"]
        let row = [
            "to \(grouped(Double(telling.streams))) streams", decimal(telling.answered, 2),
            decimal(telling.last, 2), decimal(telling.longest, 2),
        ]
        return aligned([head, row], leading: 1) + ["medians of \(telling.events) events"]
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            ("events_behind", .number(Double(all))),
            (
                "readers",
                .list(
                    readings.map { reading in
                        .object([
                            ("reader", .text(reading.kind?.rawValue ?? "nobody")),
                            ("us_per_batch", .number(Self.cost(reading))),
                            ("ratio", .number(ratio(reading))),
                            ("p50_ms", .number(Self.middle(reading, \.latency50))),
                            ("p99_ms", .number(Self.middle(reading, \.latency99))),
                            ("events_per_second", .number(Self.middle(reading, \.eventsPerSecond))),
                            ("events_per_second_alone", reading.alone.map { .number($0) } ?? .null),
                        ])
                    })
            ),
            (
                "open",
                .list(
                    standings.map { standing in
                        .object([
                            ("kind", .text(standing.key)),
                            ("count", .number(Double(standing.count))),
                            ("resident_mb", .number(Double(standing.residentBytes) / 1e6)),
                            ("cpu_ms_per_second", .number(standing.processor)),
                        ])
                    })
            ),
            (
                "one_event",
                telling.map {
                    .object([
                        ("streams", .number(Double($0.streams))),
                        ("answered_ms", .number($0.answered)),
                        ("last_ms", .number($0.last)), ("longest_ms", .number($0.longest)),
                    ])
                } ?? .null
            ),
        ])
    }
}
