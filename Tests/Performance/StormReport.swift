/// What telling costs, as tables.
struct StormReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    let tellings: [StormBenchmark.Telling]
    let outages: [StormBenchmark.Outage]
    let overload: StormBenchmark.Overload?
    /// False for a run that only proves that everything runs.
    let isEvaluated: Bool

    /// For people.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        if !tellings.isEmpty { lines += [""] + tellingLines }
        if !outages.isEmpty { lines += [""] + outageLines }
        if let overload { lines += [""] + overloadLines(overload) }
        if isEvaluated, !promises.isEmpty { lines += [""] + promises.map { $0.line() } }
        return lines.joined(separator: "\n")
    }

    private var tellingLines: [String] {
        let base = tellings[0].more
        let rows = tellings.map { telling in
            [
                grouped(Double(telling.alerts)) + (telling.isStorm ? ", as one message" : ""),
                decimal(telling.together, 2),
                decimal(telling.more, 2), decimal(telling.more / base, 2),
                decimal(telling.longestTurn, 0), decimal(telling.start, 2),
            ]
        }
        let head = [
            "alerts firing", "CPU ms a page", "of one more", "× the first", "turn ≤ ms",
            "start after kill -9, s",
        ]
        return aligned([head] + rows, leading: 0)
    }

    private var outageLines: [String] {
        let rows = outages.map { outage in
            [
                grouped(Double(outage.alerts)), decimal(outage.first, 1), decimal(outage.all, 1),
            ]
        }
        let head = ["alerts while the pager was away", "first page after, s", "all after, s"]
        return aligned([head] + rows, leading: 0)
    }

    private func overloadLines(_ overload: StormBenchmark.Overload) -> [String] {
        let rows = [
            [
                "overload, s", "batches taken", "checkpoint's age, s", "rows to fold",
                "start after kill -9, s",
            ],
            [
                "\(overload.seconds)", grouped(Double(overload.batches)),
                overload.checkpointAge.map { decimal($0, 1) } ?? "none",
                overload.rows.map { grouped(Double($0)) } ?? "–", decimal(overload.start, 2),
            ],
        ]
        return aligned(rows, leading: 0)
    }

    private var promises: [Promise] {
        var promises: [Promise] = []
        let singly = tellings.filter { !$0.isStorm }
        if let first = singly.first, let last = singly.last, last.alerts > first.alerts {
            let growth = last.more / first.more
            promises.append(
                Promise(
                    text: "one more page, \(grouped(Double(first.alerts))) to "
                        + "\(grouped(Double(last.alerts))) firing: at most 1.5 ×",
                    found: "\(decimal(growth, 2)) ×", isKept: growth <= 1.5))
            promises.append(
                Promise(
                    text: "start with \(grouped(Double(last.alerts))) firing in less than 3 s",
                    found: "\(decimal(last.start, 2)) s", isKept: last.start < 3))
        }
        if let overload {
            promises.append(
                Promise(
                    text: "start after overload in less than 5 s",
                    found: "\(decimal(overload.start, 2)) s", isKept: overload.start < 5))
        }
        return promises
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            (
                "telling",
                .list(
                    tellings.map {
                        .object([
                            ("alerts", .number(Double($0.alerts))),
                            ("as_one", .boolean($0.isStorm)),
                            ("cpu_ms_a_page", .number($0.together)),
                            ("cpu_ms_one_more", .number($0.more)),
                            ("longest_turn_ms", .number($0.longestTurn)),
                            ("start_s", .number($0.start)),
                        ])
                    })
            ),
            (
                "outage",
                .list(
                    outages.map {
                        .object([
                            ("alerts", .number(Double($0.alerts))), ("first_s", .number($0.first)),
                            ("all_s", .number($0.all)),
                        ])
                    })
            ),
            (
                "overload",
                overload.map {
                    .object([
                        ("seconds", .number(Double($0.seconds))),
                        ("batches", .number(Double($0.batches))),
                        ("checkpoint_age_s", $0.checkpointAge.map { .number($0) } ?? .null),
                        ("rows_to_fold", $0.rows.map { .number(Double($0)) } ?? .null),
                        ("start_s", .number($0.start)),
                    ])
                } ?? .null
            ),
            ("promises", .list(isEvaluated ? promises.map(\.json) : [])),
        ])
    }
}
