import RollcallSupport

/// The name of a silence on a command line: its number, and in a fleet of cells `CELL/NUMBER`, as numbers
/// are each cell's own; without a cell it is the fleet cell's. Source: K5.
struct SilenceName: Equatable, Sendable {
    let number: Int64
    let cell: String?

    /// The one of a record; nil without a number.
    init?(_ record: JSONTree) {
        guard let number = record["id"]?.whole else { return nil }
        self.number = number
        cell = record["cell"]?.text
    }

    /// The one that somebody wrote, beside `--cell` or without it.
    /// - Throws: `QuestionError` if it is none, or two cells are named.
    init(_ text: String, cell: String?) throws(QuestionError) {
        let slash = text.lastIndex(of: "/")
        let digits = slash.map { text[text.index(after: $0)...] } ?? text[...]
        guard let number = Int64(digits), slash != text.startIndex else {
            throw .wrongOption(
                "ID: a number, or CELL/NUMBER, expected (\(ConsoleText.safe(text)))")
        }
        let own = slash.map { String(text[..<$0]) }
        if let own, let cell, own != cell {
            throw .wrongOption("--cell: ID names another cell (\(ConsoleText.safe(own)))")
        }
        self.number = number
        self.cell = own ?? cell
    }

    /// It as it is written.
    var text: String { (cell.map { "\($0)/" } ?? "") + "\(number)" }
}
