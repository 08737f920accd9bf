/// What was measured of other kinds than the rate of a load: a table of its own.
struct ReportPart {
    /// Its name in the JSON document.
    let key: String
    /// The line above its table.
    let title: String
    /// The table, its head first.
    let rows: [[String]]
    /// Lines below the table.
    var notes: [String] = []
    /// The same for machines.
    let json: JSONText

    /// For people.
    var lines: [String] { ["", title] + aligned(rows, leading: 1) + notes }
}
