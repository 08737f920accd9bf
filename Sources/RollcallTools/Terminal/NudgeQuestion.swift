import RollcallBasis
import RollcallCore
import RollcallSupport

/// A question for the nudge ledger, as `rollcall nudges` asks it.
package struct NudgeQuestion: Sendable {
    /// Entries that are fetched without a `limit`.
    package static let limitStandard = 100
    /// Entries that are fetched at most.
    package static let limitMax = 100_000

    /// The keys by which nudges can be counted.
    package static let keys = ["cause", "platform"] + PhoneName.allCases.map { "\($0.word)" }

    /// The options on the command line; nil where nothing was said.
    package struct Options: Sendable {
        package var id: String?
        package var decision: String?
        package var limit: Int?
        package var by: String?
        package var form = OutputForm.table

        package init() {}
    }

    private let id: String?
    private let filter: [(String, String)]
    private let limit: Int
    private let by: [String]
    private let form: OutputForm
    /// The limit that somebody gave.
    private let wanted: Int?

    /// Reads the options.
    /// - Throws: `QuestionError` if one makes no sense.
    package init(_ options: Options) throws(QuestionError) {
        if let id = options.id, !(1...ItemScanner.nameBytesMax).contains(id.utf8.count) {
            throw .wrongOption("ID: 1 to \(ItemScanner.nameBytesMax) bytes expected")
        }
        id = options.id
        let words = NudgeChoice.allCases.map { "\($0.word)" }
        let choice = try GapQuestion.word("--decision", options.decision, words)
        filter = [("responder_id", options.id), ("decision", choice)]
            .compactMap { name, value in value.map { (name, $0) } }
        by = try GapQuestion.keys(options.by, of: Self.keys)
        if !by.isEmpty, id != nil || choice != nil || options.limit != nil {
            throw .wrongOption("--by: it counts all nudges, so nothing can be given beside it")
        }
        form = options.form
        try GapQuestion.checkIDs(form, by: options.by)
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
        if !by.isEmpty {
            let counts = try server.ask(
                Resource.nudges.path, [("by", by.joined(separator: ","))])
            if counts["rows"]?.elements.isEmpty ?? true,
                let nobody = server.advice(onNobodyIn: counts)
            {
                return .withoutRows(nobody, counts, form, style)
            }
            guard form == .table else {
                return RecordColumns.nudgeCounts(by: by).counted(counts, form, style)
            }
            return Printout.page(NudgeCounts(counts).text(style), of: server, style)
        }
        let now = try id.map { (id) throws(QuestionError) in try self.now(id, server) }
        let (entries, isWhole, rest) = try server.pages(
            Resource.nudges.path, filter, list: "nudges", count: limit)
        let nobody = entries.isEmpty ? server.advice(onNobodyIn: .object(rest)) : nil
        if let nobody, form == .table { return .sentence(nobody, style) }
        let lack =
            nobody
            ?? Printout.lack(
                isWhole, entries.count, of: "entries", limit: wanted,
                advice: "--limit wants the newest of them")
        switch form {
        case .table:
            let listing = NudgeListing(
                entries, isWhole: isWhole, standing: .object(rest), now: now)
            return Printout.page(listing.text(style), of: server, style)
        case .json:
            var members = now.map { [JSONTree.Member(name: "now", value: $0)] } ?? []
            members.append(JSONTree.Member(name: "nudges", value: .list(entries)))
            members.append(JSONTree.Member(name: "truncated", value: .boolean(!isWhole)))
            return Printout(JSONTree.object(members + rest).printed, lack: lack)
        case .csv, .ids: return RecordColumns.nudges.printout(entries, form, style, lack: lack)
        }
    }

    /// Asks whether one person would be nudged now.
    /// - Throws: `QuestionError` if there is no answer, nobody has the id, or the answer is refused
    ///   or strange.
    private func now(
        _ id: String, _ server: ServerQuestions
    ) throws(QuestionError) -> JSONTree {
        do throws(QuestionError) {
            return try server.ask(Resource.nudge.path(ServerQuestions.escaped(id)))
        } catch .refused(_, 404, _, _) {
            throw .nobody(server: server.server, id: id)
        } catch {
            throw error
        }
    }
}
