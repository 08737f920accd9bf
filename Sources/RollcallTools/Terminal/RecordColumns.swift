import RollcallSupport

/// The columns of a list's records as CSV, and which member of a record is its id.
struct RecordColumns {
    /// A column: its heading, and where its value stands in a record.
    struct Column: ExpressibleByStringLiteral {
        let heading: String
        /// The names of members, one in another; none for all that no other column shows.
        let path: [String]

        /// A column for all that no other one shows.
        static let details = Column("details", at: [])

        init(_ heading: String, at path: String...) { self.init(heading, at: path) }

        private init(_ heading: String, at path: [String]) {
            self.heading = heading
            self.path = path
        }

        /// Whoever writes a name means the member of that name.
        init(stringLiteral name: String) { (heading, path) = (name, [name]) }
    }

    private let columns: [Column]
    private let id: String?
    private let nameInFleet: (@Sendable (JSONTree) -> String?)?

    /// Columns in their order; `id` names the member that other commands take. In a list of several cells,
    /// whose numbers are each cell's own, `nameInFleet` tells what they take.
    init(
        _ columns: [Column], id: String? = nil,
        inFleet nameInFleet: (@Sendable (JSONTree) -> String?)? = nil
    ) {
        self.columns = columns
        self.id = id
        self.nameInFleet = nameInFleet
    }

    /// Returns records as CSV or as ids, and what they lack beside `lack`.
    func printout(
        _ records: [JSONTree], _ form: OutputForm, _ style: ConsoleStyle, lack: String?
    ) -> Printout {
        guard form == .ids else {
            return Printout(head + records.map { row($0, style) }.joined(), lack: lack)
        }
        var seen: Set<String> = []
        let all = records.compactMap { name(of: $0) }.filter { seen.insert($0).inserted }
        let lines = all.compactMap { Self.line($0, style) }
        let left = all.count - lines.count
        return Printout(lines.joined(), lack: lack ?? (left > 0 ? Self.noLine(left) : nil))
    }

    /// The line of the headings.
    var head: String { CSVText.line(columns.map { CSVText.quoted($0.heading) }) }

    /// Returns a record as a line.
    func row(_ record: JSONTree, _ style: ConsoleStyle) -> String {
        CSVText.line(
            columns.map { column in
                guard !column.path.isEmpty else { return Self.cell(rest(of: record), style) }
                let value = column.path.reduce(Optional(record)) { $0?[$1] }
                return value.map { Self.cell($0, style) } ?? ""
            })
    }

    /// Returns the id of a record; nil if it has none.
    func name(of record: JSONTree) -> String? {
        if let nameInFleet, Self.isOfFleet(record) { return nameInFleet(record) }
        return id.flatMap { record[$0]?.responderID }
    }

    /// True of a record that says whose it is among cells: null of the fleet cell's. Source: K5.
    static func isOfFleet(_ record: JSONTree) -> Bool {
        record.members.contains { $0.name == "cell" }
    }

    /// Returns an id as a line; nil for one that holds a control character, a line's end among them:
    /// whoever reads lines would take it for others.
    static func line(_ id: String, _ style: ConsoleStyle) -> String? {
        let isLine = id.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: false
            default: true
            }
        }
        return isLine ? (style.isTerminal ? ConsoleText.safe(id) : id) + "\n" : nil
    }

    /// Returns the sentence on ids that are no line.
    static func noLine(_ count: Int) -> String {
        "the list is not whole: \(GapListing.count(count, "id")) with control characters cannot be "
            + "a line. -o json has all"
    }

    private func rest(of record: JSONTree) -> JSONTree {
        let shown = Set(columns.compactMap(\.path.first))
        return .object(record.members.filter { !shown.contains($0.name) })
    }

    private static func cell(_ value: JSONTree, _ style: ConsoleStyle) -> String {
        func shown(_ text: String) -> String { style.isTerminal ? ConsoleText.safe(text) : text }
        if case .text(let text) = value { return CSVText.cell(shown(text)) }
        return value == .null ? "" : CSVText.quoted(shown(String(value.printed.dropLast())))
    }
}
