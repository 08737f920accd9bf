/// What one kind of work costs at each value of what grows.
struct CurveLine {
    let text: String
    let key: String
    let decimals: Int
    /// True for what must grow with the work, such as a page with a line for each region: judged by
    /// the piece. All others are costs of one batch, one page, one person and must stand still.
    let isByPiece: Bool
    /// In the order of the curve's values.
    var costs: [Double] = []

    /// A line without costs.
    init(_ text: String, _ key: String, decimals: Int = 2, isByPiece: Bool = false) {
        self.text = text
        self.key = key
        self.decimals = decimals
        self.isByPiece = isByPiece
    }
}

/// What things cost while one of them grows about fourfold each time and the rest stands still.
struct Curve {
    /// Growth of a cost per unit from one value to the next beyond which a line bends: less than
    /// work that grows with the power 0.3 of what there is, as a deeper tree or a colder cache does.
    static let stepMax = 1.5
    /// Growth over the whole curve beyond which it bends, however slowly it came.
    static let wholeMax = 2.5
    /// The rule in words.
    static let rule =
        "bends: where the cost per unit is over \(decimal(stepMax, 1)) times that at the value "
        + "before, or over \(decimal(wholeMax, 1)) times that at the first. Medians of the runs; "
        + "(piece): divided by how many there are."

    let name: String
    let key: String
    private(set) var values: [Int] = []
    private(set) var lines: [CurveLine]

    /// A curve without values.
    init(_ name: String, _ key: String, _ lines: [CurveLine]) {
        self.name = name
        self.key = key
        self.lines = lines
    }

    /// Adds what was measured at a value, in the order of the lines.
    mutating func add(_ value: Int, _ costs: [Double]) {
        precondition(costs.count == lines.count, "a cost for each line")
        values.append(value)
        for index in lines.indices { lines[index].costs.append(costs[index]) }
    }

    /// A line's costs per unit, as multiples of the first; nil where there is no unit.
    func relative(_ line: CurveLine) -> [Double?] {
        let units = zip(values, line.costs).map { value, cost -> Double? in
            if !line.isByPiece { return cost }
            return value > 0 ? cost / Double(value) : nil
        }
        guard let first = units.compactMap(\.self).first, first > 0 else {
            return units.map { _ in nil }
        }
        return units.map { $0.map { $0 / first } }
    }

    /// The first value at which a line bends; nil if it does not.
    func bend(_ line: CurveLine) -> Int? {
        var before: Double?
        for (value, cost) in zip(values, relative(line)) {
            guard let cost else { continue }
            if let before, cost > Self.stepMax * before || cost > Self.wholeMax { return value }
            before = cost
        }
        return nil
    }
}

/// The curves, one below the other.
struct CurveReport {
    let machine: Machine
    /// The share of the machine that others used meanwhile.
    let othersShare: Double
    let curves: [Curve]
    /// False for a run that only proves that everything runs.
    let isEvaluated: Bool

    /// For people.
    var table: String {
        var lines = machine.lines(othersShare: othersShare)
        for curve in curves {
            lines.append("")
            let head =
                [curve.name] + curve.values.map { grouped(Double($0)) }
                + ["per unit, first = 1"] + (isEvaluated ? ["bends"] : [])
            lines += aligned([head] + curve.lines.map { row($0, of: curve) }, leading: 1)
        }
        return (lines + ["", Curve.rule]).joined(separator: "\n")
    }

    private func row(_ line: CurveLine, of curve: Curve) -> [String] {
        let last = curve.relative(line).compactMap(\.self).last
        let bend = curve.bend(line).map { "YES at \(grouped(Double($0)))" } ?? "no"
        return [line.text + (line.isByPiece ? " (piece)" : "")]
            + line.costs.map { decimal($0, line.decimals) }
            + [last.map { decimal($0, 2) } ?? "–"] + (isEvaluated ? [bend] : [])
    }

    /// For machines.
    var json: JSONText {
        .object([
            ("machine", machine.json(othersShare: othersShare)),
            ("curves", .list(curves.map { json($0) })),
        ])
    }

    private func json(_ curve: Curve) -> JSONText {
        .object([
            ("curve", .text(curve.key)),
            ("values", .list(curve.values.map { .number(Double($0)) })),
            (
                "costs",
                .object(
                    curve.lines.map { line in
                        (
                            line.key,
                            .object([
                                ("costs", .list(line.costs.map { .number($0) })),
                                (
                                    "per_unit",
                                    .list(
                                        curve.relative(line).map { $0.map { .number($0) } ?? .null }
                                    )
                                ),
                                (
                                    "bends_at",
                                    curve.bend(line).map { .number(Double($0)) } ?? .null
                                ),
                            ])
                        )
                    })
            ),
        ])
    }
}
