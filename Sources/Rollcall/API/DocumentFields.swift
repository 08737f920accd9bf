import RollcallCore
import RollcallSupport

/// The members of a small document, such as a silence, that its route does not know, or that are there
/// twice. Source: P3.
struct DocumentFields {
    /// A member that is wrong, as an answer names it.
    struct Fault: Equatable {
        let pointer: String
        let detail: String
    }

    /// Those that are named: a few.
    private(set) var named: [Fault] = []
    /// A known one that is there twice, so that nobody knows what is meant: the document is refused.
    private(set) var twice: Fault?
    /// The counts of them, and of names like a place.
    private(set) var stats = InputStats()

    /// Looks at a body of which `known` may be in.
    init(_ body: JSONTree, known: [String]) {
        for name in body.names where !known.contains(name) && !UnknownField.isPlace(name) {
            if named.count < UnknownField.namedMax {
                let field = UnknownField(name: Array(name.utf8), among: known)
                named.append(Fault(pointer: field.pointer, detail: field.detail))
            }
            stats.addProblem(.unknownField)
        }
        lookForTwins(body, known)
        stats.addPrivateFields(Self.places(body))
    }

    private mutating func lookForTwins(_ body: JSONTree, _ known: [String]) {
        var given: Set<String> = []
        for member in body.members where member.value != .null && known.contains(member.name) {
            if given.insert(member.name).inserted { continue }
            let fault = Fault(pointer: "/\(member.name)", detail: ItemScanner.twice)
            // When it was sent is no reason to refuse anything (D10).
            if member.name == "sent_at" {
                if !named.contains(fault) { named.append(fault) }
                stats.addProblem(.duplicateKey)
            } else {
                twice = twice ?? fault
            }
        }
    }

    private static func places(_ tree: JSONTree) -> Int {
        let own = tree.names.count { UnknownField.isPlace($0) }
        let members = tree.members.reduce(0) { $0 + places($1.value) }
        return own + tree.elements.reduce(members) { $0 + places($1) }
    }

    /// The answer with what is named behind its own members, or among the problems that it has.
    func answer(_ response: HTTPResponse) -> HTTPResponse {
        guard !named.isEmpty, let end = response.body.lastIndex(of: UInt8(ascii: "}")) else {
            return response
        }
        var list: [UInt8] = []
        JSONTree.list(
            named.map { ["index": 0, "pointer": .text($0.pointer), "detail": .text($0.detail)] }
        ).append(to: &list)
        var response = response
        // No text can hold this: its quotes would be escaped.
        let key = Array("\"problems\":[".utf8)
        if let own = response.body.firstRange(of: key) {
            response.body.insert(
                contentsOf: list.dropFirst().dropLast() + [UInt8(ascii: ",")], at: own.upperBound)
        } else {
            response.body.insert(contentsOf: Array(",\"problems\":".utf8) + list, at: end)
        }
        return response
    }
}

extension HTTPEdge {
    /// Answers by `answer`, and names what of a body is none of `known`; nil, and a refusal, if the
    /// request is strict about that, or one of them is there twice.
    func noting(
        _ known: [String], _ request: HTTPRequest, _ answer: @escaping Router.Answer
    ) -> Router.Answer? {
        guard request.body.count <= Router.documentBytesMax,
            let body = try? JSONTree(reading: request.body)
        else { return answer }
        let fields = DocumentFields(body, known: known)
        if let twice = fields.twice {
            var input = InputStats()
            input.addRejection(.duplicateKey)
            answer(fields.answer(Router.unprocessable("\(twice.pointer): \(twice.detail)")), input)
            return nil
        }
        if let first = fields.named.first, Router.isStrict(request) {
            var input = InputStats()
            input.addRejection(.unknownField)
            answer(fields.answer(Router.unprocessable("\(first.pointer): \(first.detail)")), input)
            return nil
        }
        if fields.stats.isEmpty { return answer }
        return { response, input in
            var input = input
            // What is sent again is counted then.
            if response.status != 503 { input.add(fields.stats) }
            answer(fields.answer(response), input)
        }
    }

    /// Returns what `make` makes of a body of one object; nil if it is too large, or cannot be read,
    /// which is answered.
    func document<Made>(
        _ request: HTTPRequest, _ answer: Router.Answer,
        _ make: (JSONTree) throws(RequestFault) -> Made
    ) -> Made? {
        var input = InputStats()
        if let refusal = Router.bulk(request) {
            answer(refusal, input)
            return nil
        }
        let body: JSONTree
        do throws(JSONError) {
            body = try JSONTree(reading: request.body)
        } catch {
            answer(Router.notJSON(error), input)
            return nil
        }
        do throws(RequestFault) {
            return try make(body)
        } catch {
            if error.isPlace { input.addProblem(.coordinate) }
            answer(Router.unprocessable(error.text), input)
            return nil
        }
    }
}

extension SilenceRequest {
    /// The fields that a body may have, in our words and in Alertmanager's.
    static let fields = [
        "matchers", "ends_at", "duration", "author", "comment", "id", "starts_at", "endsAt",
        "createdBy", "startsAt",
    ]
}
