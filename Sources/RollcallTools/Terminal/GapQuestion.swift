import RollcallBasis
import RollcallCore
import RollcallSupport

/// A question for gaps, as `rollcall gaps` asks it: which, since when, and how they are told.
package struct GapQuestion: Sendable {
    /// Gaps that are fetched without a `limit`.
    package static let limitStandard = 1000
    /// Gaps that are fetched at most.
    package static let limitMax = 100_000
    /// The keys by which gaps can be counted.
    static let keys =
        ["cause", "verdict", "region", "platform"] + PhoneName.allCases.map { "\($0.word)" }

    /// The options on the command line; nil where nothing was said.
    package struct Options: Sendable {
        package var state: String?
        package var cause: String?
        package var verdict: String?
        package var region: String?
        package var platform: String?
        package var since: String?
        package var until: String?
        package var at: String?
        package var limit: Int?
        package var by: String?
        package var form = OutputForm.table

        package init() {}
    }

    private let filter: [(String, String)]
    private let limit: Int
    private let by: [String]
    private let form: OutputForm
    /// The limit that somebody gave.
    private let wanted: Int?
    private let since: Timestamp?
    private let until: Timestamp?
    /// The instant at which these people were silent.
    private let at: Timestamp?

    /// Reads the options; a span as `since`, `until` or `at` ends `now`.
    /// - Throws: `QuestionError` if one makes no sense, or does not go with the others.
    package init(_ options: Options, now: Timestamp) throws(QuestionError) {
        let causes = GapCause.allCases.map { "\($0.word)" }
        let verdicts = GapVerdict.allCases.map { "\($0.word)" }
        let platforms = Platform.allCases.map { "\($0.word)" }
        since = try Self.instant("--since", options.since, now)
        until = try Self.instant("--until", options.until, now)
        at = try Self.instant("--at", options.at, now)
        filter = [
            ("state", try Self.word("--state", options.state, ["open", "closed"])),
            ("cause", try Self.word("--cause", options.cause, causes)),
            ("verdict", try Self.word("--verdict", options.verdict, verdicts)),
            ("region", options.region),
            ("platform", try Self.word("--platform", options.platform, platforms)),
            ("since", since.map { RFC3339.string($0) }),
            ("until", until.map { RFC3339.string($0) }),
            ("at", at.map { RFC3339.string($0) }),
        ].compactMap { name, value in value.map { (name, $0) } }
        by = try Self.keys(options.by, of: Self.keys)
        form = options.form
        wanted = options.limit
        limit = form.count(options.limit, standard: Self.limitStandard, most: Self.limitMax)
        guard (1...Self.limitMax).contains(limit) else {
            throw .wrongOption("--limit: 1 to \(Self.limitMax) expected (\(limit))")
        }
        if options.by != nil, options.limit != nil {
            throw .wrongOption("--limit: --by counts them all, so it cannot be given beside it")
        }
        try Self.checkIDs(form, by: options.by)
        if let since, let until, since >= until {
            throw .wrongOption("--until: must be later than --since")
        }
    }

    /// Checks that what is counted is not asked for by its ids.
    /// - Throws: `QuestionError` if it is.
    static func checkIDs(_ form: OutputForm, by: String?) throws(QuestionError) {
        if form == .ids, by != nil {
            throw .wrongOption("-o ids: what --by counts has no ids; take json, table or csv")
        }
    }

    /// Returns the keys of `--by`; none without a value.
    /// - Throws: `QuestionError` if there is none in the value, one is unknown, or stands twice.
    static func keys(_ value: String?, of known: [String]) throws(QuestionError) -> [String] {
        guard let value else { return [] }
        let keys = try value.split(separator: ",").map { (key) throws(QuestionError) in
            try word("--by", String(key), known) ?? ""
        }
        if keys.isEmpty || Set(keys).count < keys.count {
            throw .wrongOption("--by: one or more of \(known.joined(separator: ", ")) expected")
        }
        return keys
    }

    /// Returns one of `words`, or nil without a value.
    /// - Throws: `QuestionError` if the value is none of them.
    static func word(
        _ flag: String, _ value: String?, _ words: [String]
    ) throws(QuestionError) -> String? {
        guard let value else { return nil }
        guard words.contains(value) else {
            throw .wrongOption(
                "\(flag): one of \(words.joined(separator: ", ")) expected "
                    + "(\(ConsoleText.safe(value)))")
        }
        return value
    }

    /// Returns an instant as it is, or the one that lies a span before `now`; nil without a value.
    /// - Throws: `QuestionError` if the value is neither a time nor a span.
    static func instant(
        _ flag: String, _ value: String?, _ now: Timestamp
    ) throws(QuestionError) -> Timestamp? {
        guard let value else { return nil }
        if let span = SettingText.duration(value), span.count <= now.milliseconds {
            return now - span
        }
        let bytes = Array(value.utf8)
        guard let at = RFC3339.parse(bytes.span, 0..<bytes.count) else {
            throw .wrongOption(
                "\(flag): a span like 24h or a time like 2026-11-21T03:00:00Z expected "
                    + "(\(ConsoleText.safe(value)))")
        }
        return at
    }

    /// Asks, and returns what is to be printed.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    package func answer(
        from server: ServerQuestions, style: ConsoleStyle
    ) throws(QuestionError) -> Printout {
        let path = Resource.gaps.path
        if !by.isEmpty {
            let counts = try server.ask(path, filter + [("by", by.joined(separator: ","))])
            if counts["rows"]?.elements.isEmpty ?? true,
                let nobody = server.advice(onNobodyIn: counts)
            {
                return .withoutRows(nobody, counts, form, style)
            }
            guard form == .table else {
                return RecordColumns.gapCounts(by: by).counted(counts, form, style)
            }
            let status = try server.ask(Resource.status.path)
            let text = GapCounts(counts, status: status, words: span(style)).text(style)
            return Printout.page(text, of: server, style)
        }
        let (gaps, isWhole, rest) = try server.pages(path, filter, list: "gaps", count: limit)
        let nobody = gaps.isEmpty ? server.advice(onNobodyIn: .object(rest)) : nil
        if let nobody, form == .table { return .sentence(nobody, style) }
        let lack = nobody ?? Self.lack(isWhole, gaps.count, limit: wanted)
        switch form {
        case .table:
            let text = GapListing(gaps, isWhole: isWhole, words: span(style)).text(style)
            return Printout.page(text, of: server, style)
        case .json:
            let list = JSONTree.object([JSONTree.Member(name: "gaps", value: .list(gaps))])
            let more = JSONTree.Member(name: "truncated", value: .boolean(!isWhole))
            return Printout(list.with(.object([more] + rest)).printed, lack: lack)
        case .csv, .ids: return RecordColumns.gaps.printout(gaps, form, style, lack: lack)
        }
    }

    /// Returns what a list of so many gaps lacks.
    static func lack(_ isWhole: Bool, _ count: Int, limit: Int?) -> String? {
        Printout.lack(
            isWhole, count, of: "gaps", limit: limit, advice: "--since and --until choose")
    }

    /// ` since 2026-11-20 20:41:07 UTC`, or nothing.
    private func span(_ style: ConsoleStyle) -> String {
        [("at", at), ("since", since), ("until", until)].compactMap { word, instant in
            instant.map { " \(word) \(style.moment($0)) \(style.zone($0))" }
        }.joined()
    }
}
