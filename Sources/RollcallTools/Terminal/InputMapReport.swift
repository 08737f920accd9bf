import Foundation
import RollcallBasis
import RollcallCore
import RollcallSupport

/// The report of `rollcall map`: what an input would take of a recorded body, and what it would answer.
/// Source: M5.
package struct InputMapReport: Sendable {
    /// A `Request` holds what a request says beside its body.
    package struct Request: Sendable {
        /// Header fields, each as `Name: value`.
        package var headers: [String] = []
        /// The user of Basic.
        package var user: String?
        /// A query, as it stands behind the question mark.
        package var query: String?
        /// The part of the path behind the input's name.
        package var path: String?
        /// The topic of a message by a broker.
        package var topic: String?

        /// Nothing.
        package init() {}
    }

    /// A line for each item, problem and answer, for people.
    package let text: String
    /// The report as a JSON document.
    package let json: String
    /// True if anything would be taken.
    package let hasItems: Bool

    /// Reads `body` as `input` would at `now`.
    package init(
        _ body: [UInt8], _ request: Request, input: InputSettings, enrols: Bool, now: Timestamp
    ) {
        var said = InputRequest(arrival: now)
        said.user = request.user.map { Array($0.utf8) }
        said.path = request.path.map { Array($0.utf8) }
        said.topic = request.topic.map { Array($0.utf8) }
        said.isForwarded = request.topic != nil
        said.fixed = input.fixed
        said.enrols = enrols
        said.headers = request.headers.compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        var body = body
        // A file that an editor saved.
        while let last = body.last, last == 0x0A || last == 0x0D { body.removeLast() }
        if let query = request.query { said.query = Self.fields(query) }
        var reading = InputReading()
        if let mapping = input.mapping(of: body) {
            do throws(ScanError) {
                reading = try InputReader.read(body.span, said, by: mapping)
            } catch {
                reading = InputReading(refused: error)
            }
        }
        let items = (0..<reading.scan.items.count).map { index in
            String(decoding: reading.scan.items.text(index) ?? [], as: UTF8.self)
        }
        hasItems = !items.isEmpty
        let answer = input.answer
        text = Self.text(reading, items, answer).map { ConsoleText.safe($0) + "\n" }.joined()
        json = Self.tree(reading, items, answer).printed
    }

    private static func text(
        _ reading: InputReading, _ items: [String], _ answer: InputAnswer
    ) -> [String] {
        var lines = items.map { "taken    \($0)" }
        lines += reading.scan.problems.map { "problem  \(words($0))" }
        lines += reading.scan.rejected.map { "refused  \(words($0))" }
        if reading.skipped > 0 { lines.append("skipped  \(reading.skipped)") }
        let body = answer.body.isEmpty ? "" : " \(answer.body)"
        return lines + ["answer   \(answer.status)\(body)"]
    }

    private static func words(_ note: ItemNote) -> String {
        note.pointer.isEmpty ? note.detail : "\(note.pointer): \(note.detail)"
    }

    private static func tree(
        _ reading: InputReading, _ items: [String], _ answer: InputAnswer
    ) -> JSONTree {
        let note: (ItemNote) -> JSONTree = {
            [
                "pointer": .text($0.pointer), "reason": .text("\($0.fault.word)"),
                "detail": .text($0.detail),
            ]
        }
        return [
            "items": .list(items.compactMap { try? JSONTree(reading: Array($0.utf8)) }),
            "problems": .list(reading.scan.problems.map(note)),
            "rejected": .list(reading.scan.rejected.map(note)),
            "skipped": .integer(Int64(reading.skipped)),
            "answer": ["status": .integer(Int64(answer.status)), "body": .text(answer.body)],
        ]
    }

    /// The fields of a query, which are decoded where they are read.
    private static func fields(_ query: String) -> [(name: String, value: String)] {
        query.split(separator: "&").map { field in
            let halves = field.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (
                decoded(halves[0]), halves.count > 1 ? decoded(halves[1]) : ""
            )
        }
    }

    private static func decoded(_ text: Substring) -> String {
        String(text).replacing("+", with: " ").removingPercentEncoding ?? String(text)
    }
}
