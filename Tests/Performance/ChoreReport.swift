/// The load beside each chore, a column each.
struct ChoreReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    /// People in the store.
    let people: Int
    /// The first without a chore.
    let results: [ChoreBenchmark.Result]

    private struct Row: Sendable {
        let text: String
        let key: String
        let decimals: Int
        let value: @Sendable (ChoreBenchmark.Result) -> Double
    }

    private static let rows = [
        Row(text: "looked at, s", key: "seconds", decimals: 1) { $0.span.seconds },
        Row(text: "batches/s", key: "batches_per_second", decimals: 0) { $0.batchesPerSecond },
        Row(text: "p50 ms", key: "p50_ms", decimals: 2) { $0.latency50 },
        Row(text: "p99 ms", key: "p99_ms", decimals: 2) { $0.latency99 },
        Row(text: "longest ms", key: "longest_ms", decimals: 2) { $0.longest },
        Row(text: "a turn, ms", key: "turn_ms", decimals: 2) { $0.turn },
        Row(text: "turns over 20 ms", key: "long_turns", decimals: 0) { Double($0.longTurns) },
        Row(text: "longest turn ≤ ms", key: "longest_turn_ms", decimals: 0) { $0.longestTurn },
        Row(text: "CPU of the server, µs a batch", key: "cpu_us_per_batch", decimals: 1) {
            $0.processor
        },
    ]

    /// For people.
    var table: String {
        let head = ["\(grouped(Double(people))) people"] + results.map(\.text)
        var rows = [head]
        for row in Self.rows {
            rows.append([row.text] + results.map { Self.cell(row.value($0), row.decimals) })
        }
        let share = results.first.map { quiet in
            results.map { percent($0.batchesPerSecond / quiet.batchesPerSecond) }
        }
        rows.append(["batches/s beside without"] + (share ?? []))
        let lines = machine.lines(othersShare: othersShare) + [""] + aligned(rows, leading: 1)
        let words =
            "single batches over \(ChoreLoad.connections) connections, each as soon as the one "
            + "before is answered"
        return (lines + ["", words]).joined(separator: "\n")
    }

    private static func cell(_ value: Double, _ decimals: Int) -> String {
        guard value.isFinite else { return "beyond" }
        return decimals == 0 ? grouped(value) : decimal(value, decimals)
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            ("people", .number(Double(people))),
            (
                "chores",
                .object(
                    results.map { result in
                        (
                            result.key,
                            .object(Self.rows.map { ($0.key, .number($0.value(result))) })
                        )
                    })
            ),
        ])
    }
}
