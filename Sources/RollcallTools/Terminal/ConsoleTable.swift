import RollcallSupport

/// A table for people: each column as wide as its widest cell. Where a terminal has no room, the
/// blanks between columns become fewer first, then cells of those that may are cut.
struct ConsoleTable {
    /// A column and how it may be laid out.
    struct Column {
        let heading: String
        var isRight = false
        /// Columns that are left of a cell that is cut; nil if none may be.
        var least: Int?

        init(_ heading: String, isRight: Bool = false, least: Int? = nil) {
            self.heading = heading
            self.isRight = isRight
            self.least = least
        }
    }

    private let columns: [Column]
    private let widths: [Int]
    private let gutter: String

    /// A table that holds `rows`, beside which so many columns of a line stay free. Cells are safe
    /// for a terminal already.
    init(_ columns: [Column], _ rows: [[String]], _ style: ConsoleStyle, free: Int = 0) {
        var widths = columns.map { ConsoleText.columns($0.heading) }
        for row in rows {
            for (place, cell) in row.enumerated() {
                widths[place] = max(widths[place], ConsoleText.columns(cell))
            }
        }
        func excess(_ gutter: Int) -> Int {
            widths.reduce(0, +) + gutter * (widths.count - 1) + free - style.columns
        }
        var gutter = 2
        if style.isCut, excess(2) > 0 {
            gutter = 1
            for (place, column) in columns.enumerated() where excess(1) > 0 {
                guard let least = column.least else { continue }
                widths[place] = min(widths[place], max(least, widths[place] - excess(1)))
            }
        }
        self.columns = columns
        self.widths = widths
        self.gutter = String(repeating: " ", count: gutter)
    }

    /// Columns that a line takes at most.
    var width: Int { widths.reduce(0, +) + gutter.count * (widths.count - 1) }

    /// The line of the headings.
    var head: String { line(columns.map(\.heading)) }

    /// A row as a line, without blanks at its end.
    func line(_ cells: [String]) -> String {
        var text = filled(cells)
        while text.last == " " { text.removeLast() }
        return text
    }

    /// A row as wide as the table, for what follows it.
    func filled(_ cells: [String]) -> String {
        zip(cells, zip(columns, widths)).map { cell, column in
            ConsoleText.fitted(cell, column.1, isRight: column.0.isRight)
        }.joined(separator: gutter)
    }
}
