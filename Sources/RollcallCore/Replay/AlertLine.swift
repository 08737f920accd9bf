/// An alert's members in a decision's line. Source: F5.
package enum AlertLine {
    /// Appends what follows the line's kind.
    package static func append(_ report: AlertReport, to output: inout [UInt8]) {
        JSONWriter.raw(",\"alertname\":", to: &output)
        JSONWriter.word(report.key.name.word, to: &output)
        JSONWriter.raw(",\"state\":", to: &output)
        JSONWriter.word(report.state.word, to: &output)
        JSONWriter.raw(",\"labels\":", to: &output)
        labels(report.key.subject, to: &output)
        JSONWriter.raw(",\"value\":", to: &output)
        output.append(contentsOf: value(report))
    }

    /// The labels of the identity, as an object.
    static func labels(_ subject: AlertSubject, to output: inout [UInt8]) {
        var object = ObjectWriter(&output)
        switch subject {
        case .all: break
        case .region(let name): object.text("region", name)
        case .source(let name): object.text("source", name)
        case .cell(let name): object.text("cell", name)
        case .suspected: object.word("suspected", "true")
        }
        object.end()
        output = object.bytes
    }

    /// A rate as a fraction of 1, everything else as a count.
    private static func value(_ report: AlertReport) -> [UInt8] {
        var digits: [UInt8] = []
        let stats = report.stats
        guard report.key.name == .highOfflineRate else {
            JSONWriter.integer(Int64(stats.count), to: &digits)
            return digits
        }
        let tenThousandths =
            stats.total == 0 ? 0 : (Int64(stats.count) * 10_000 / Int64(stats.total))
        JSONWriter.fraction(tenThousandths, to: &digits)
        return digits
    }
}
