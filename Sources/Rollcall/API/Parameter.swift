import RollcallCore
import RollcallSupport

/// The reason why a query makes no sense.
struct ParameterError: Error {
    let detail: String

    /// Nobody knows a parameter of this name; of a long one the beginning is told.
    static func unknown(_ name: String) -> Self {
        Self(
            detail: name.isEmpty
                ? "a parameter without a name" : "unknown parameter: \(name.prefix(64))")
    }

    /// A parameter stands twice: which of the two is meant, nobody can say.
    static func repeated(_ name: String) -> Self { Self(detail: "\(name): given twice") }

    /// A parameter or its value is no text: with another sign in its place it would ask for something
    /// else.
    static func unread(_ name: String) -> Self {
        Self(detail: "\(name.prefix(64)): UTF-8 expected, with percent signs where it is escaped")
    }

    /// The clock of whoever asks may be ahead by as much.
    private static let aheadMax = Milliseconds.seconds(5)

    /// Throws if an instant lies beyond the newest that there is, by more than clocks may differ:
    /// nobody knows anything of it yet.
    static func checkPast(
        _ instant: Timestamp, _ name: String, newest: Timestamp
    ) throws(ParameterError) {
        guard instant > newest + aheadMax else { return }
        throw Self(
            detail: "\(name): lies in the future; the newest instant is "
                + "\(RFC3339.string(newest))")
    }
}

/// A parameter of a query: how the document tells of it, and how its value is read.
struct Parameter<Query: Sendable>: Sendable {
    /// A place in the query.
    typealias Place<Value> = any WritableKeyPath<Query, Value> & Sendable
    /// Reads a value.
    typealias Take = @Sendable (inout Query, String) throws(ParameterError) -> Void

    let name: String
    /// The parameter object of the document.
    let document: JSONTree
    let take: Take

    /// The parameter `name`, which is for what `meaning` says, fits `schema` and is read by `take`.
    init(_ name: String, _ meaning: String, _ schema: JSONTree, take: @escaping Take) {
        self.name = name
        document = [
            "name": .text(name), "in": "query", "description": .text(meaning), "schema": schema,
        ]
        self.take = take
    }

    /// A word of a closed set, which has the name `schema` in the document.
    static func word<Word: Sendable>(
        _ name: String, _ meaning: String, _ words: [Word],
        _ text: @escaping @Sendable (Word) -> StaticString, schema: String? = nil,
        into place: Place<Word?>
    ) -> Parameter {
        // What has no word says nothing, and is asked for by nobody.
        let words = words.filter { text($0).utf8CodeUnitCount > 0 }
        let known = words.map { "\(text($0))" }
        let inline: JSONTree = ["type": "string", "enum": .list(known.map { .text($0) })]
        return Parameter(name, meaning, schema.map { OpenAPI.schema($0) } ?? inline) {
            (query, value) throws(ParameterError) in
            guard let index = known.firstIndex(of: value) else { throw fault(name, known) }
            query[keyPath: place] = words[index]
        }
    }

    /// Some of a set of words with commas between them, each once, and at most `max`.
    static func words<Word: Sendable & Equatable>(
        _ name: String, _ meaning: String, _ words: [Word],
        _ text: @escaping @Sendable (Word) -> StaticString, max: Int, standard: Word? = nil,
        into place: Place<[Word]>
    ) -> Parameter {
        let known = words.map { "\(text($0))" }
        let list = known.map { "`\($0)`" }.joined(separator: ", ")
        let string: JSONTree = ["type": "string"]
        let schema = standard.map { string.with(["default": .text("\(text($0))")]) } ?? string
        return Parameter(name, "\(meaning), with commas between: \(list).", schema) {
            (query, value) throws(ParameterError) in
            var found: [Word] = []
            for part in value.split(separator: ",", omittingEmptySubsequences: false) {
                guard let index = known.firstIndex(of: String(part)) else {
                    throw fault(name, known)
                }
                guard !found.contains(words[index]), found.count < max else {
                    throw ParameterError(detail: "\(name): at most \(max), each once")
                }
                found.append(words[index])
            }
            query[keyPath: place] = found
        }
    }

    private static func fault(_ name: String, _ known: [String]) -> ParameterError {
        ParameterError(detail: "\(name): one of \(known.joined(separator: ", ")) expected")
    }

    /// Any text, which fits `schema`.
    static func text(
        _ name: String, _ meaning: String, _ schema: JSONTree = ["type": "string"],
        into place: Place<[UInt8]?>
    ) -> Parameter {
        Parameter(name, meaning, schema) { query, value in
            query[keyPath: place] = Array(value.utf8)
        }
    }

    /// `true` or `false`.
    static func flag(
        _ name: String, _ meaning: String, standard: Bool, into place: Place<Bool>
    ) -> Parameter {
        Parameter(name, meaning, ["type": "boolean", "default": .boolean(standard)]) {
            (query, value) throws(ParameterError) in
            guard value == "true" || value == "false" else {
                throw ParameterError(detail: "\(name): true or false expected")
            }
            query[keyPath: place] = value == "true"
        }
    }

    /// A whole number from 0 on.
    static func number(
        _ name: String, _ meaning: String,
        take: @escaping @Sendable (inout Query, Int64) -> Void
    ) -> Parameter {
        let schema: JSONTree = ["type": "integer", "format": "int64", "minimum": 0]
        return Parameter(name, meaning, schema) { (query, value) throws(ParameterError) in
            guard let number = Int64(value), number >= 0 else {
                throw ParameterError(detail: "\(name): a number from 0 on expected")
            }
            take(&query, number)
        }
    }

    /// So many of a page at most. Without a `standard` none is told to clients: some send what is,
    /// also where it does not go.
    static func limit(
        _ meaning: String, standard: Int? = nil, into place: Place<Int>
    ) -> Parameter {
        let range = 1...Router.limitMax
        let schema: JSONTree = [
            "type": "integer", "minimum": 1, "maximum": .integer(Int64(range.upperBound)),
        ]
        let more = standard.map { schema.with(["default": .integer(Int64($0))]) }
        return Parameter("limit", meaning, more ?? schema) {
            (query, value) throws(ParameterError) in
            guard let number = Int(value), range.contains(number) else {
                throw ParameterError(
                    detail: "limit: \(range.lowerBound) to \(range.upperBound) expected")
            }
            query[keyPath: place] = number
        }
    }

    /// A wall time: RFC 3339, or milliseconds since 1970. What is seconds in a body (P1) is refused: as
    /// milliseconds it is a day of 1970, and the answer would be about another time than was meant.
    static func time(
        _ name: String, _ meaning: String, into place: Place<Timestamp?>
    ) -> Parameter {
        Parameter(name, meaning, ["type": "string"]) { (query, value) throws(ParameterError) in
            if let count = Int64(value), (0...RFC3339.millisecondsMax).contains(count) {
                guard count == 0 || count >= TimeForm.millisecondsFrom else {
                    throw ParameterError(
                        detail: "\(name): \(count) milliseconds since 1970 are before 1973; for "
                            + "seconds write \(count)000, or RFC 3339")
                }
                query[keyPath: place] = Timestamp(milliseconds: count)
                return
            }
            let bytes = Array(value.utf8)
            guard let time = RFC3339.parse(bytes.span, 0..<bytes.count) else {
                throw ParameterError(
                    detail: "\(name): RFC 3339 or milliseconds since 1970 expected")
            }
            query[keyPath: place] = time
        }
    }

    /// A day from 1970 on, UTC, taken as the number of days since then.
    static func day(_ name: String, _ meaning: String, into place: Place<Int64?>) -> Parameter {
        Parameter(name, meaning, ["type": "string", "format": "date"]) {
            (query, value) throws(ParameterError) in
            let bytes = Array("\(value)T00:00:00Z".utf8)
            guard value.utf8.count == 10, let time = RFC3339.parse(bytes.span, 0..<bytes.count),
                time.milliseconds >= 0
            else { throw ParameterError(detail: "\(name): a day such as 2026-11-21 expected") }
            query[keyPath: place] = time.milliseconds / 86_400_000
        }
    }

    /// The `next` of an answer: `count` numbers from 0 on, with dots between them.
    static func cursor(
        _ name: String = "after", count: Int = 1,
        _ schema: JSONTree = ["type": "string", "pattern": "^[0-9]+(\\.[0-9]+)*$"],
        take: @escaping @Sendable (inout Query, [Int64]) -> Void
    ) -> Parameter {
        Parameter(name, "The `next` of the answer before.", schema) {
            (query, value) throws(ParameterError) in
            let parts = value.split(separator: ".", omittingEmptySubsequences: false)
            let numbers = parts.compactMap { Int64($0) }.filter { $0 >= 0 }
            guard parts.count == count, numbers.count == count else {
                throw ParameterError(detail: "\(name): the next of the answer before expected")
            }
            take(&query, numbers)
        }
    }
}

/// The parameters that a query may have, and how they go together.
struct Parameters<Query: Sendable>: Sendable {
    typealias Check = @Sendable (Query, _ names: [String]) throws(ParameterError) -> Void

    let all: [Parameter<Query>]
    private let start: Query
    private let check: Check

    /// The parameters `all` of a query that is `start` without any of them; `check` looks at what
    /// was read, and at the names that were given.
    init(
        _ start: Query, _ all: [Parameter<Query>],
        check: @escaping Check = { _, _ in }
    ) {
        self.start = start
        self.all = all
        self.check = check
    }

    /// Reads a query; those that are `known` elsewhere are passed by.
    /// - Throws: `ParameterError` if a parameter is unknown, makes no sense, or does not go with the
    ///   others.
    func read(
        _ arguments: [(name: String, value: String)], known: [String] = []
    ) throws(ParameterError) -> Query {
        var query = start
        for (name, value) in arguments {
            if let parameter = all.first(where: { $0.name == name }) {
                try parameter.take(&query, value)
            } else if !known.contains(name) {
                throw ParameterError.unknown(name)
            }
        }
        try check(query, arguments.map(\.name))
        return query
    }
}

/// A query without parameters.
struct NoQuery: Sendable {
    static let parameters = Parameters(NoQuery(), [])
}

extension HTTPResponse {
    /// The answer to a query that makes no sense.
    static func refusal(_ error: ParameterError) -> HTTPResponse {
        .problem(400, "Bad Request", detail: error.detail)
    }
}
