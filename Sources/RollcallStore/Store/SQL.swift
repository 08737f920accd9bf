/// SQL that stands in the code: of literals, numbers of enums and names of columns, so that nothing from
/// outside gets into it.
package struct SQL: ExpressibleByStringInterpolation, CustomStringConvertible {
    package let description: String

    /// Takes SQL that stands in the code as it is.
    package init(stringLiteral text: StaticString) { description = "\(text)" }
    /// Takes SQL that was put together of `parts`.
    package init(stringInterpolation parts: Parts) { description = parts.text }

    /// The pieces that it is put together of.
    package struct Parts: StringInterpolationProtocol {
        package typealias Table = RowChecksum.Table

        fileprivate var text = ""

        /// The compiler begins with no text; both counts are only hints.
        package init(literalCapacity: Int, interpolationCount: Int) {}

        /// Appends SQL that stands in the code.
        package mutating func appendLiteral(_ literal: StaticString) { text += "\(literal)" }

        /// The number that stands for a state, a kind or a table.
        package mutating func appendInterpolation<Code: RawRepresentable>(
            _ code: Code
        ) where Code.RawValue: FixedWidthInteger { text += "\(code.rawValue)" }

        mutating func appendInterpolation(name table: Table) { text += table.name }

        /// Columns of a table, or all of it: `SELECT … FROM …`.
        package mutating func appendInterpolation(select table: Table, _ columns: StoreColumn...) {
            // "If there is no AS clause then the name of the column is unspecified and may change
            // from one release of SQLite to the next", sqlite3_column_name().
            let names = (columns.isEmpty ? table.columns + [.checksum] : columns).map(\.name)
            text += "SELECT \(list(names.map { "\($0) AS \($0)" })) FROM \(table.name)"
        }

        /// A whole row with its checksum, of parameters named like columns: `INTO … VALUES(…)`.
        package mutating func appendInterpolation(into table: Table) {
            let values = table.columns.map { ":\($0.name)" }
            append(into: table, sum: checksum(table, values) ?? ":checksum")
        }

        private mutating func append(into table: Table, sum: String) {
            let names = table.columns.map(\.name)
            text += "INTO \(table.name)(\(list(names)), checksum) "
            text += "VALUES(\(list(names.map { ":\($0)" })), \(sum))"
        }

        /// Appends as many whole rows, of which we reckon the checksums: parameters of the first are
        /// named like columns, and those of each other follow in the same order.
        mutating func appendInterpolation(into table: Table, rows: Int) {
            append(into: table, sum: ":checksum")
            let row = list([String](repeating: "?", count: table.columns.count + 1))
            text += String(repeating: ", (\(row))", count: rows - 1)
        }

        /// Appends what changes in a row, and its checksum by as much: `SET …`. Parameters that are
        /// named like columns take the place of what stands in those, or are added to it.
        mutating func appendInterpolation(
            set table: Table, _ columns: StoreColumn..., adding sums: StoreColumn...
        ) {
            var changed = [StoreColumn: String]()
            for column in columns { changed[column] = ":\(column.name)" }
            for column in sums { changed[column] = "\(column.name) + :\(column.name)" }
            append(set: table, columns + sums, changed)
        }

        /// Appends the same of what an INSERT has brought for a row that is there.
        mutating func appendInterpolation(set table: Table, excluded columns: StoreColumn...) {
            let pairs = columns.map { ($0, "excluded.\($0.name)") }
            append(set: table, columns, Dictionary(uniqueKeysWithValues: pairs))
        }

        private mutating func append(
            set table: Table, _ columns: [StoreColumn], _ changed: [StoreColumn: String]
        ) {
            let before = checksum(table, table.columns.map(\.name))
            let after = checksum(table, table.columns.map { changed[$0] ?? $0.name })
            let sum = before.flatMap { before in after.map { "checksum - \(before) + \($0)" } }
            let settings = columns.compactMap { column in
                changed[column].map { "\(column.name) = \($0)" }
            }
            text += "SET \(list(settings + ["checksum = \(sum ?? ":checksum")"]))"
        }

        /// The checksum that SQL reckons; nil of a table of which we do.
        private func checksum(_ table: Table, _ values: [String]) -> String? {
            Table.partly.contains(table)
                ? "row_checksum(\(table.rawValue), \(list(values)))" : nil
        }

        private func list(_ parts: [String]) -> String { parts.joined(separator: ", ") }
    }
}
