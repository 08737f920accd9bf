import RollcallCluster
import RollcallCore
import RollcallSupport

/// `EtcdGateway` writes what etcd's JSON gateway takes, and reads what it answers: bytes in Base64,
/// numbers of 64 bits as text, fields without a value left out. Source: etcd's api/v3 (rpc.proto,
/// kv.proto).
enum EtcdGateway {
    static let transactionPath = "/v3/kv/txn"
    static let compactionPath = "/v3/kv/compaction"
    static let watchPath = "/v3/watch"
    static let authenticationPath = "/v3/auth/authenticate"

    // MARK: - Requests

    /// The body of a transaction.
    static func body(of transaction: KeyValueTransaction) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"compare\":[", to: &body)
        append(transaction.comparisons, to: &body) { append(comparison: $0, to: &$1) }
        JSONWriter.raw("],\"success\":[", to: &body)
        append(transaction.operations, to: &body) { append(operation: $0, to: &$1) }
        JSONWriter.raw("],\"failure\":[", to: &body)
        append(transaction.otherwise, to: &body) { append(operation: $0, to: &$1) }
        JSONWriter.raw("]}", to: &body)
        return body
    }

    /// The body that asks for the changes of keys after a revision.
    ///
    /// `fragment`: many large entries would else come as one answer.
    static func watchBody(prefix: [UInt8], after revision: Int64) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"create_request\":{\"key\":", to: &body)
        append(prefix, to: &body)
        JSONWriter.raw(",\"range_end\":", to: &body)
        append(KeyValueRow.behind(prefix), to: &body)
        JSONWriter.raw(",\"start_revision\":\"", to: &body)
        JSONWriter.integer(revision + 1, to: &body)
        JSONWriter.raw("\",\"filters\":[\"NODELETE\"],\"fragment\":true}}", to: &body)
        return body
    }

    /// The body that asks to forget what was before a revision.
    static func compactionBody(before revision: Int64) -> [UInt8] {
        Array("{\"revision\":\"\(revision)\"}".utf8)
    }

    /// The body that asks for a token.
    static func authenticationBody(name: String, password: Secret) -> [UInt8] {
        var body: [UInt8] = []
        JSONWriter.raw("{\"name\":", to: &body)
        JSONWriter.string(name.utf8, to: &body)
        JSONWriter.raw(",\"password\":", to: &body)
        JSONWriter.string(password.bytes, to: &body)
        JSONWriter.raw("}", to: &body)
        return body
    }

    private static func append<Element>(
        _ list: [Element], to body: inout [UInt8], _ append: (Element, inout [UInt8]) -> Void
    ) {
        for (index, element) in list.enumerated() {
            if index > 0 { JSONWriter.raw(",", to: &body) }
            append(element, &body)
        }
    }

    private static func append(_ bytes: [UInt8], to body: inout [UInt8]) {
        JSONWriter.raw("\"", to: &body)
        Base64.append(bytes, to: &body)
        JSONWriter.raw("\"", to: &body)
    }

    private static func append(
        comparison: KeyValueTransaction.Comparison, to body: inout [UInt8]
    ) {
        JSONWriter.raw("{\"result\":\"EQUAL\",\"key\":", to: &body)
        switch comparison {
        case .value(let key, let value):
            append(key, to: &body)
            JSONWriter.raw(",\"target\":\"VALUE\",\"value\":", to: &body)
            append(value, to: &body)
        case .revision(let key, let revision):
            append(key, to: &body)
            JSONWriter.raw(",\"target\":\"MOD\",\"mod_revision\":\"", to: &body)
            JSONWriter.integer(revision, to: &body)
            JSONWriter.raw("\"", to: &body)
        case .absent(let key):
            append(key, to: &body)
            JSONWriter.raw(",\"target\":\"CREATE\",\"create_revision\":\"0\"", to: &body)
        }
        JSONWriter.raw("}", to: &body)
    }

    private static func append(
        operation: KeyValueTransaction.Operation, to body: inout [UInt8]
    ) {
        switch operation {
        case .put(let key, let value):
            JSONWriter.raw("{\"request_put\":{\"key\":", to: &body)
            append(key, to: &body)
            JSONWriter.raw(",\"value\":", to: &body)
            append(value, to: &body)
        case .delete(let from, let to):
            JSONWriter.raw("{\"request_delete_range\":{\"key\":", to: &body)
            append(from, to: &body)
            JSONWriter.raw(",\"range_end\":", to: &body)
            append(to, to: &body)
        case .get(let key):
            JSONWriter.raw("{\"request_range\":{\"key\":", to: &body)
            append(key, to: &body)
        case .range(let from, let to, let limit):
            JSONWriter.raw("{\"request_range\":{\"key\":", to: &body)
            append(from, to: &body)
            JSONWriter.raw(",\"range_end\":", to: &body)
            append(to, to: &body)
            JSONWriter.raw(",\"limit\":\"", to: &body)
            JSONWriter.integer(Int64(limit), to: &body)
            JSONWriter.raw("\"", to: &body)
        }
        JSONWriter.raw("}}", to: &body)
    }

    // MARK: - Answers

    /// The outcome of a transaction by its answer: only a whole one that makes sense is one (S3).
    static func outcome(
        of answer: HTTPCallAnswer, to transaction: KeyValueTransaction
    ) -> KeyValueOutcome {
        guard answer.status == 200 else {
            let refusal = EtcdRefusal(answer)
            return refusal.wasCertainlyNotRun
                ? .notRun(refusal.description) : .unknown(refusal.description)
        }
        guard let tree = try? JSONTree(reading: answer.body), let header = tree["header"],
            let revision = number(header["revision"]), revision > 0
        else { return .unknown("an answer that makes no sense") }
        let isTrue = tree["succeeded"]?.isTrue ?? false
        let asked = isTrue ? transaction.operations : transaction.otherwise
        let responses = tree["responses"]?.elements ?? []
        guard responses.count == asked.count else {
            return .unknown("an answer to something else")
        }
        var found: [[KeyValueRow]] = []
        for (operation, response) in zip(asked, responses) {
            switch operation {
            case .put where response["response_put"] != nil: break
            case .delete where response["response_delete_range"] != nil: break
            case .get, .range:
                guard let range = response["response_range"], let rows = rows(range["kvs"]) else {
                    return .unknown("an answer to something else")
                }
                found.append(rows)
            case .put, .delete: return .unknown("an answer to something else")
            }
        }
        return .answered(KeyValueAnswer(isTrue: isTrue, revision: revision, found: found))
    }

    private static func rows(_ list: JSONTree?) -> [KeyValueRow]? {
        guard let list else { return [] }
        var rows: [KeyValueRow] = []
        for element in list.elements {
            guard let row = row(element) else { return nil }
            rows.append(row)
        }
        return rows
    }

    /// A key as etcd shows it; nil if it makes no sense.
    static func row(_ tree: JSONTree) -> KeyValueRow? {
        guard let key = bytes(tree["key"]), !key.isEmpty, let value = bytes(tree["value"]),
            let revision = number(tree["mod_revision"]), revision > 0
        else { return nil }
        return KeyValueRow(key: key, value: value, revision: revision)
    }

    /// Bytes in Base64, none if the field is missing; nil if it is something else.
    private static func bytes(_ tree: JSONTree?) -> [UInt8]? {
        guard let tree else { return [] }
        guard let text = tree.text else { return nil }
        let letters = Array(text.utf8)
        return Base64.decoded(letters.span, letters.indices)
    }

    /// A number of 64 bits, 0 if the field is missing; nil if it is something else.
    static func number(_ tree: JSONTree?) -> Int64? {
        guard let tree else { return 0 }
        return tree.text.flatMap { Int64($0) }
    }
}
