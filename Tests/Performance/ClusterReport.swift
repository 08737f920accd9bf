/// Three members beside one machine, as a table.
struct ClusterReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    /// Members of etcd.
    let etcds: Int
    let figures: [ClusterBenchmark.Figure]
    /// False for a run that only proves that everything runs.
    let isEvaluated: Bool

    /// For people.
    var table: String {
        let head = ["three members, etcd of \(etcds)", "cluster", "alone", "cluster/alone"]
        let rows = figures.map { figure in
            [
                figure.text, Self.cell(figure.cluster, figure.decimals),
                Self.cell(figure.alone, figure.decimals), Self.ratio(figure),
            ]
        }
        var lines =
            machine.lines(othersShare: othersShare) + [""] + aligned([head] + rows, leading: 1)
        lines += [
            "",
            "alone, where a member dies, ends or was away: the one server, started again at once",
        ]
        if isEvaluated, !promises.isEmpty { lines += [""] + promises.map { $0.line() } }
        return lines.joined(separator: "\n")
    }

    private static func cell(_ value: Double, _ decimals: Int) -> String {
        decimals == 0 ? grouped(value) : decimal(value, decimals)
    }

    private static func ratio(_ figure: ClusterBenchmark.Figure) -> String {
        figure.alone > 0 ? decimal(figure.cluster / figure.alone, 2) : "–"
    }

    private func figure(_ key: String) -> ClusterBenchmark.Figure? {
        figures.first { $0.key == key }
    }

    /// The three that hold for several machines.
    private var promises: [Promise] {
        var promises: [Promise] = []
        if let single = figure("single-64_per_second"), single.alone > 0 {
            let ratio = single.cluster / single.alone
            promises.append(
                Promise(
                    text: "single-64 at least 35 % of the single node", found: percent(ratio),
                    isKept: ratio >= 0.35))
        }
        if let bulk = figure("bulk-1000_per_second") {
            promises.append(
                Promise(
                    text: "bulk at least 150 000 batches/s", found: grouped(bulk.cluster),
                    isKept: bulk.cluster >= 150_000))
        }
        if let longest = figure("takeover_longest_s") {
            promises.append(
                Promise(
                    text: "take-over in at most 3 s", found: "\(decimal(longest.cluster, 2)) s",
                    isKept: longest.cluster <= 3))
        }
        return promises
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            ("etcds", .number(Double(etcds))),
            (
                "figures",
                .object(
                    figures.map { figure in
                        (
                            figure.key,
                            .object([
                                ("cluster", .number(figure.cluster)),
                                ("alone", .number(figure.alone)),
                                (
                                    "ratio",
                                    figure.alone > 0
                                        ? .number(figure.cluster / figure.alone) : .null
                                ),
                            ])
                        )
                    })
            ),
            ("promises", .list(isEvaluated ? promises.map(\.json) : [])),
        ])
    }
}
