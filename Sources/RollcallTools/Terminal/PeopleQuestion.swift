import RollcallBasis
import RollcallCore
import RollcallSupport

/// A question for people, as `rollcall people` asks it: which, in which order, and how they are told.
package struct PeopleQuestion: Sendable {
    /// People who are fetched without a `limit`.
    static let limitStandard = 100
    /// People who are fetched at most.
    static let limitMax = 100_000
    /// The order without another: who has been silent for the longest first.
    private static let orderStandard = "-silent_for"

    /// The options on the command line; nil where nothing was said.
    package struct Options: Sendable {
        /// The text that is searched for in ids.
        package var text: String?
        /// Filters by their names in the API.
        package var filters: KeyValuePairs<String, String?> = [:]
        package var silentSince: String?
        package var silentUntil: String?
        package var sort: String?
        package var limit: Int?
        package var form = OutputForm.table

        package init() {}
    }

    private let query: [(String, String)]
    private let limit: Int
    private let form: OutputForm
    /// The limit that somebody gave.
    private let wanted: Int?

    /// Reads the options; a span as `silentSince` or `silentUntil` ends `now`. Words are the server's
    /// to judge.
    /// - Throws: `QuestionError` if one makes no sense.
    package init(_ options: Options, now: Timestamp) throws(QuestionError) {
        let since = try GapQuestion.instant("--silent-since", options.silentSince, now)
        let until = try GapQuestion.instant("--silent-until", options.silentUntil, now)
        let order = options.sort ?? (options.text == nil ? Self.orderStandard : nil)
        var query = options.filters.compactMap { name, value in value.map { (name, $0) } }
        for (name, value) in [
            ("q", options.text), ("silent_since", since.map { RFC3339.string($0) }),
            ("silent_until", until.map { RFC3339.string($0) }), ("sort", order),
        ] {
            if let value { query.append((name, value)) }
        }
        self.query = query
        form = options.form
        wanted = options.limit
        limit = form.count(options.limit, standard: Self.limitStandard, most: Self.limitMax)
        guard (1...Self.limitMax).contains(limit) else {
            throw .wrongOption("--limit: 1 to \(Self.limitMax) expected (\(limit))")
        }
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> Printout {
        let (people, isWhole, rest) = try server.pages(
            Resource.responders.path, query, list: "responders", count: limit)
        let nobody = people.isEmpty ? server.advice(onNobodyIn: .object(rest)) : nil
        if let nobody, form == .table { return .sentence(nobody, style) }
        let lack =
            nobody
            ?? Printout.lack(
                isWhole, people.count, of: "people", limit: wanted, advice: "a filter chooses")
        switch form {
        case .table:
            return Printout.page(PeopleListing(people, rest: rest).text(style), of: server, style)
        case .json:
            let list = JSONTree.object([JSONTree.Member(name: "responders", value: .list(people))])
            let more = JSONTree.Member(name: "truncated", value: .boolean(!isWhole))
            return Printout(list.with(.object([more] + rest)).printed, lack: lack)
        case .csv, .ids: return RecordColumns.people.printout(people, form, style, lack: lack)
        }
    }
}
