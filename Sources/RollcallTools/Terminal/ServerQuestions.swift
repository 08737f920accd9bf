import RollcallBasis
import RollcallCore
import RollcallSupport

/// Asks a running server over HTTP.
package final class ServerQuestions {
    /// Bytes of one answer at most.
    static let answerBytesMax = 16 << 20
    /// Items of one page: the most that a server gives.
    static let pageMax = 1000
    /// Pages that are followed at most. A server looks at so much for one page only, so that some
    /// hold little or nothing.
    static let pagesMax = 1000

    private let address: ServerAddress
    private let caller: HTTPCaller
    /// The time after which a question is given up.
    var patience = Milliseconds.seconds(30)
    /// True once something was answered.
    package private(set) var hasAnswered = false
    /// The cells whose part is missing in what was answered so far.
    package private(set) var missing = MissingCells()

    /// Questions to the server at `address`. Throws `QuestionError` without libcurl.
    package init(_ address: ServerAddress) throws(QuestionError) {
        self.address = address
        do throws(HTTPCallError) {
            caller = try HTTPCaller(authorities: Authorities(extra: address.authorityPath))
        } catch {
            throw .noAnswer(error)
        }
    }

    /// The name of the server in messages.
    var server: String { address.url }

    /// Returns the answer to `GET path?query`.
    /// - Throws: `QuestionError` if there is none, its status is not 200, or it is not JSON.
    func ask(
        _ path: String, _ query: [(String, String)] = []
    ) throws(QuestionError) -> JSONTree {
        let arguments = query.map { "\($0.0)=\(Self.escaped($0.1))" }.joined(separator: "&")
        let target = path + (arguments.isEmpty ? "" : "?\(arguments)")
        let answer = try call(.get, target)
        guard answer.status == 200 else { throw refusal(answer, path, .read) }
        let tree = try read(answer)
        hasAnswered = true
        missing.note(tree)
        return tree
    }

    /// Returns the answer to a request with or without a body, and its status.
    /// - Throws: `QuestionError` if there is none, its status is not 2xx, or it is not JSON.
    func send(
        _ method: HTTPCall.Method, _ path: String, _ body: JSONTree? = nil
    ) throws(QuestionError) -> (status: Int, body: JSONTree) {
        let answer = try call(method, path, body)
        guard (200...299).contains(answer.status) else {
            throw refusal(answer, path, method == .get ? .read : .act)
        }
        return (answer.status, try read(answer))
    }

    private func call(
        _ method: HTTPCall.Method, _ target: String, _ body: JSONTree? = nil
    ) throws(QuestionError) -> HTTPCallAnswer {
        var call = HTTPCall(method, address.url + target)
        // A drill that was asked for twice pages twice.
        call.mayBeSentTwice = method == .get
        body?.append(to: &call.body)
        call.timeout = patience
        call.answerBytesMax = Self.answerBytesMax
        call.headers = [("Accept", "application/json")]
        if body != nil { call.headers.append(("Content-Type", "application/json")) }
        if let field = address.authorization { call.headers.append(("Authorization", field)) }
        call.clientCertificate = address.certificate
        do throws(HTTPCallError) {
            return try caller.answer(to: call)
        } catch {
            throw .noAnswer(error)
        }
    }

    private func read(_ answer: HTTPCallAnswer) throws(QuestionError) -> JSONTree {
        let tree: JSONTree
        do throws(JSONError) {
            tree = try JSONTree(reading: answer.body)
        } catch {
            guard Self.isJSON(answer) else { throw notRollcall(answer) }
            throw .strange(
                server: server, "\(error.message) at byte \(error.offset) of its answer")
        }
        guard case .object = tree else {
            throw .strange(server: server, "no object in its answer")
        }
        return tree
    }

    /// The texts of our own 404s about what there is not; a path that is not there says none of
    /// these.
    private static let missing = [
        "nobody has this id", "no silence", "no such drill", "no receiver", "no member has",
        "watches alone", "no such incident", "nobody has taken it",
    ]

    private func refusal(
        _ answer: HTTPCallAnswer, _ path: String, _ scope: Access.Scope
    ) -> QuestionError {
        let problem = try? JSONTree(reading: answer.body)
        // A proxy in front answers with pages of its own; a redirect needs no body.
        if problem == nil, !Self.isJSON(answer), !(300..<400).contains(answer.status) {
            return notRollcall(answer)
        }
        let detail = problem?["detail"]?.shown ?? ""
        switch answer.status {
        case 401 where address.token == nil: return .noToken(server: server, scope: scope)
        case 401:
            if let user = address.user { return .unknownPassword(server: server, user: user) }
            return .unknownToken(server: server, scope: scope)
        case 403 where detail.contains("lacks the scope"):
            return .tooNarrow(server: server, scope: scope)
        case 404 where !Self.missing.contains(where: { detail.contains($0) }):
            return .tooOld(server: server, path: path)
        default:
            return .refused(
                server: server, status: answer.status, detail: detail, scope: scope)
        }
    }

    private func notRollcall(_ answer: HTTPCallAnswer) -> QuestionError {
        let type = answer.contentType.map { ConsoleText.safe($0) } ?? "no type"
        return .notRollcall(server: server, status: answer.status, type: type)
    }

    /// True for an answer that says that it is JSON, a problem's too (RFC 9457).
    private static func isJSON(_ answer: HTTPCallAnswer) -> Bool {
        let type = answer.contentType?.lowercased() ?? ""
        return type.contains("/json") || type.contains("+json")
    }

    /// Returns everything that the pages under `list` hold, in their order, up to `count`;
    /// `isWhole` is false if there was more. `rest` is the last page without its list and its
    /// cursor.
    /// - Throws: `QuestionError` if there is no answer, or one that is refused or strange.
    func pages(
        _ path: String, _ query: [(String, String)], list: String, count: Int
    ) throws(QuestionError) -> (items: [JSONTree], isWhole: Bool, rest: [JSONTree.Member]) {
        var items: [JSONTree] = []
        var after: String?
        var rest: [JSONTree.Member] = []
        for _ in 0..<Self.pagesMax {
            var more = query
            more.append(("limit", "\(min(Self.pageMax, count - items.count))"))
            if let after { more.append(("after", after)) }
            let page = try ask(path, more)
            guard case .list(let part)? = page[list] else {
                throw .strange(server: server, "\(path) without \(list)")
            }
            items += part
            let next = page["next"]?.text ?? page["next"]?.whole.map { "\($0)" }
            rest = missing.named(in: page.members.filter { $0.name != list && $0.name != "next" })
            // A cursor that stands still would be followed for ever.
            guard let next, next != after else { return (items, next == nil, rest) }
            if items.count >= count { return (Array(items.prefix(count)), false, rest) }
            after = next
        }
        return (items, false, rest)
    }

    /// Percent-encoded as in a path's segment or a query's value. Source: RFC 3986 §2.3.
    static func escaped(_ text: String) -> String {
        var shown = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                shown.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                shown += "%" + (byte < 16 ? "0" : "") + digits
            }
        }
        return shown
    }
}
