import Glibc

/// Measures what a batch costs at a gateway and in its cells, as cells become more, on the same work; one
/// watch without any of it stands beside. Source: K5.
struct CellBenchmark {
    /// The cost of a batch with so many cells, the median of all runs.
    struct Row {
        /// Cells, 0 for one watch without a gateway.
        let cells: Int
        let batchesPerSecond: Double
        /// Processor time of a batch at the gateway, in all cells, and in the fleet cell meanwhile.
        let gateway, cellsTime, fleetCell: Nanoseconds
    }

    /// Cells of the fleets that are measured.
    static let counts = [0, 1, 2, 4, 8]
    /// The load that gives each cell as much in a request, whatever their number.
    static let evenLoad = "bulk-1000-a-cell"
    /// The loads of so many cells, in the order in which they are measured.
    static func workloads(cells: Int) -> [Workload] {
        [.bulk(1000), .bulk(1000 * max(1, cells), name: evenLoad), .single(64)]
    }

    private let benchmark: Benchmark
    private let product: String

    /// What `benchmark` is asked for.
    init(_ benchmark: Benchmark, product: String) {
        self.benchmark = benchmark
        self.product = product
    }

    /// Measures; the rows of each load, in the order of `counts`.
    func run() throws(BenchmarkError) -> [(workload: Workload, rows: [Row])] {
        func wanted(_ cells: Int) -> [Workload] {
            Self.workloads(cells: cells).filter { benchmark.options.isWanted($0.name) }
        }
        var rows = wanted(1).map { (workload: $0, rows: [Row]()) }
        for count in Self.counts {
            let loads = wanted(count)
            let folder = try benchmark.makeStore("cells-\(count)")
            defer { benchmark.removeStore("cells-\(count)") }
            var source = BatchSource()
            if count == 0 {
                let single = try SingleNode(product: product, folder: folder)
                let process = try single.process()
                try benchmark.enrol(&source, at: process)
                for place in rows.indices {
                    rows[place].rows.append(
                        try measure(loads[place], &source, at: process, [process], nil, 0))
                }
                try single.stop()
            } else {
                let machines = try CellMachines(count, product: product, folder: folder)
                try benchmark.enrol(&source, at: machines.gateway)
                for place in rows.indices {
                    rows[place].rows.append(
                        try measure(
                            loads[place], &source, at: machines.gateway, machines.cells,
                            machines.fleetCell, count))
                }
                try machines.stop()
            }
        }
        return rows
    }

    private func measure(
        _ workload: Workload, _ source: inout BatchSource, at front: ServerProcess,
        _ cells: [ServerProcess], _ fleetCell: ServerProcess?, _ count: Int
    ) throws(BenchmarkError) -> Row {
        var found: [(rate: Double, times: [Int64])] = []
        for _ in 1...benchmark.options.runs {
            let before = times(front, cells, fleetCell)
            let start = Nanoseconds.now()
            var generator = try LoadGenerator(workload, to: front)
            // Without a warm-up, so that all that was sent is all that was worked at.
            let stats = try generator.run(
                &source, warmUp: .milliseconds(0), measured: benchmark.options.measured)
            let span = (Nanoseconds.now() - start).seconds
            let after = times(front, cells, fleetCell)
            let batches = stats.batchesPerSecond * span
            found.append(
                (
                    stats.batchesPerSecond,
                    zip(after, before).map { Int64(Double(($0 - $1).count) / batches) }
                ))
        }
        let row = Row(
            cells: count, batchesPerSecond: median(found.map(\.rate)) ?? 0,
            gateway: count == 0 ? Nanoseconds(count: 0) : Self.middle(found.map { $0.times[0] }),
            cellsTime: Self.middle(found.map { $0.times[1] }),
            fleetCell: Self.middle(found.map { $0.times[2] }))
        tell(
            "\(workload.name), \(count) cells: \(grouped(row.batchesPerSecond)) \(workload.unit), "
                + "\(decimal(row.gateway.microseconds, 2)) µs of the gateway and "
                + "\(decimal(row.cellsTime.microseconds, 2)) µs of cells a batch")
        return row
    }

    private func times(
        _ front: ServerProcess, _ cells: [ServerProcess], _ fleetCell: ServerProcess?
    ) -> [Nanoseconds] {
        let sum = cells.reduce(Int64(0)) { $0 + $1.processorTime.count }
        return [
            front.processorTime, Nanoseconds(count: sum),
            fleetCell?.processorTime ?? Nanoseconds(count: 0),
        ]
    }

    private static func middle(_ counts: [Int64]) -> Nanoseconds {
        Nanoseconds(count: Int64(median(counts.map { Double($0) }) ?? 0))
    }
}

/// The cost of a batch as cells become more, as a table.
struct CellReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    let results: [(workload: Workload, rows: [CellBenchmark.Row])]
    /// False for a run that only proves that everything runs.
    let isEvaluated: Bool

    /// For people.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        for (workload, rows) in results {
            let head = [
                "\(workload.name), µs of CPU a batch", "gateway", "cells", "fleet cell",
                "cells/1 cell", "all/alone", workload.unit,
            ]
            let base = rows.first { $0.cells == 1 }?.cellsTime.microseconds ?? 0
            let alone = rows.first { $0.cells == 0 }?.cellsTime.microseconds ?? 0
            let body = rows.map { row in
                let all = row.gateway.microseconds + row.cellsTime.microseconds
                return [
                    row.cells == 0
                        ? "one watch, no gateway" : count(row.cells, "cell", "cells"),
                    decimal(row.gateway.microseconds, 2), decimal(row.cellsTime.microseconds, 2),
                    decimal(row.fleetCell.microseconds, 2),
                    base > 0 && row.cells > 0
                        ? decimal(row.cellsTime.microseconds / base, 2) : "–",
                    alone > 0 ? decimal(all / alone, 2) : "–", grouped(row.batchesPerSecond),
                ]
            }
            lines += [""] + aligned([head] + body, leading: 1)
        }
        if isEvaluated, !promises.isEmpty { lines += [""] + promises.map { $0.line() } }
        return lines.joined(separator: "\n")
    }

    private func count(_ count: Int, _ one: String, _ many: String) -> String {
        "\(count) \(count == 1 ? one : many)"
    }

    /// The one about what a cell more costs: nothing.
    private var promises: [Promise] {
        guard let rows = results.first(where: { $0.workload.name == CellBenchmark.evenLoad })?.rows,
            let first = rows.first(where: { $0.cells == 1 })
        else { return [] }
        let base = first.gateway.microseconds + first.cellsTime.microseconds
        let worst = rows.filter { $0.cells > 1 }.map {
            ($0.gateway.microseconds + $0.cellsTime.microseconds) / base
        }.max()
        guard let worst else { return [] }
        return [
            Promise(
                text:
                    "where each cell gets as much, a batch costs at most 1.2 times what it does with one",
                found: decimal(worst, 2), isKept: worst <= 1.2)
        ]
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            (
                "loads",
                .object(
                    results.map { workload, rows in
                        (workload.name, .list(rows.map(Self.json)))
                    })
            ),
            ("promises", .list(isEvaluated ? promises.map(\.json) : [])),
        ])
    }

    private static func json(_ row: CellBenchmark.Row) -> JSONText {
        .object([
            ("cells", .number(Double(row.cells))),
            ("batches_per_second", .number(row.batchesPerSecond)),
            ("gateway_us", .number(row.gateway.microseconds)),
            ("cells_us", .number(row.cellsTime.microseconds)),
            ("fleet_cell_us", .number(row.fleetCell.microseconds)),
        ])
    }
}
