import RollcallCore

/// The reason why a query makes no sense.
struct ParameterError: Error {
    let detail: String
}

/// Reads the values of queries' parameters.
enum Parameters {
    /// Reads a word of a closed set.
    /// - Throws: `ParameterError` if it is none of `words`.
    static func word<Word>(
        _ name: String, _ value: String, _ words: [Word], _ text: (Word) -> StaticString
    ) throws(ParameterError) -> Word {
        guard let word = words.first(where: { "\(text($0))" == value }) else {
            let known = words.map { "\(text($0))" }.joined(separator: ", ")
            throw ParameterError(detail: "\(name): one of \(known) expected")
        }
        return word
    }

    /// Reads a number in a range.
    /// - Throws: `ParameterError` if it is no number, or beyond the range.
    static func number(
        _ name: String, _ value: String, _ range: ClosedRange<Int>
    ) throws(ParameterError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw ParameterError(
                detail: "\(name): \(range.lowerBound) to \(range.upperBound) expected")
        }
        return number
    }

    /// Reads a wall time: RFC 3339, or milliseconds since 1970.
    /// - Throws: `ParameterError` if it is neither.
    static func time(_ name: String, _ value: String) throws(ParameterError) -> Timestamp {
        if let milliseconds = Int64(value), (0...RFC3339.millisecondsMax).contains(milliseconds) {
            return Timestamp(milliseconds: milliseconds)
        }
        let bytes = Array(value.utf8)
        guard let time = RFC3339.parse(bytes.span, 0..<bytes.count) else {
            throw ParameterError(detail: "\(name): RFC 3339 or milliseconds since 1970 expected")
        }
        return time
    }

    /// Reads a day, UTC, as the number of days since 1970.
    /// - Throws: `ParameterError` if it is no day such as 2026-11-21, or before 1970.
    static func day(_ name: String, _ value: String) throws(ParameterError) -> Int64 {
        let bytes = Array("\(value)T00:00:00Z".utf8)
        guard value.utf8.count == 10, let time = RFC3339.parse(bytes.span, 0..<bytes.count),
            time.milliseconds >= 0
        else { throw ParameterError(detail: "\(name): a day such as 2026-11-21 expected") }
        return time.milliseconds / 86_400_000
    }

    /// Reads the numbers that a `next` consists of, with dots between them.
    /// - Throws: `ParameterError` if they are not `count` numbers from 0 on.
    static func cursor(
        _ name: String, _ value: String, count: Int
    ) throws(ParameterError) -> [Int64] {
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Int64($0) }.filter { $0 >= 0 }
        guard parts.count == count, numbers.count == count else {
            throw ParameterError(detail: "\(name): the next of the answer before expected")
        }
        return numbers
    }

    /// Reads some of a set of words with commas between them, each once.
    /// - Throws: `ParameterError` if there is another word, one twice, or more than `max`.
    static func words<Word: Equatable>(
        _ name: String, _ value: String, _ words: [Word], max: Int, _ text: (Word) -> StaticString
    ) throws(ParameterError) -> [Word] {
        var found: [Word] = []
        for part in value.split(separator: ",", omittingEmptySubsequences: false) {
            let word = try word(name, String(part), words, text)
            guard !found.contains(word), found.count < max else {
                throw ParameterError(detail: "\(name): at most \(max), each once")
            }
            found.append(word)
        }
        return found
    }
}

extension HTTPResponse {
    /// The answer to a query that makes no sense.
    static func refusal(_ error: ParameterError) -> HTTPResponse {
        .problem(400, "Bad Request", detail: error.detail)
    }
}
