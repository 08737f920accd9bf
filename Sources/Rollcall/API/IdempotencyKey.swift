import RollcallCore
import RollcallSupport

/// The name that a client gives a request, so that sending it again does nothing again. Source: S19.
///
/// A quoted string, as the draft says, or the same without quotes, as clients of Stripe's and others
/// send it. Source: draft-ietf-httpapi-idempotency-key-header-07 §2.1, RFC 8941 §3.3.3.
struct IdempotencyKey: Equatable {
    /// The field of the head that holds it.
    static let field = "Idempotency-Key"
    /// The field of an answer that says that nothing was done again; Stripe has the same.
    static let replayedField = "Idempotent-Replayed"
    /// Bytes of a name at most.
    static let bytesMax = 255

    /// A name that cannot be read.
    struct Fault: Error {
        static let detail =
            "\(IdempotencyKey.field): 1 to \(IdempotencyKey.bytesMax) visible ASCII characters "
            + "expected, such as a UUID, in quotes or without"
    }

    let bytes: [UInt8]

    /// Reads a field's value.
    /// - Throws: `Fault` if it is no such name.
    init(_ value: String) throws(Fault) {
        let given = Array(value.utf8)
        let quote = UInt8(ascii: "\"")
        let read = given.first == quote ? try Self.quoted(given) : given
        let isQuoted = given.first == quote
        guard (1...Self.bytesMax).contains(read.count),
            read.allSatisfy({ (isQuoted ? 0x20...0x7E : 0x21...0x7E).contains($0) }),
            isQuoted || !read.contains(where: { $0 == quote || $0 == UInt8(ascii: ",") })
        else { throw Fault() }
        bytes = read
    }

    /// Returns what stands between quotes, with `\"` and `\\` for themselves.
    private static func quoted(_ given: [UInt8]) throws(Fault) -> [UInt8] {
        guard given.count >= 2, given.last == UInt8(ascii: "\"") else { throw Fault() }
        var read: [UInt8] = []
        var rest = given.dropFirst().dropLast()
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { throw Fault() }
            guard byte == UInt8(ascii: "\\") else {
                read.append(byte)
                continue
            }
            guard let next = rest.popFirst(), next == byte || next == UInt8(ascii: "\"") else {
                throw Fault()
            }
            read.append(next)
        }
        return read
    }

    /// Returns the name as the engine keeps it: hashes of who asks with it, and of what is asked for
    /// by a method, a target and the bytes of a body.
    func key(
        _ kind: RequestKey.Kind, of request: HTTPRequest, by holder: [UInt8], body: [UInt8]
    ) -> RequestKey {
        let name = SHA256.digest(of: Self.parts([holder, bytes]))
        let query = request.query.flatMap { [Array($0.name.utf8), Array($0.value.utf8)] }
        let asked = SHA256.digest(
            of: Self.parts([Array(request.method.utf8), Array(request.path.utf8)] + query + [body]))
        return RequestKey(
            name: RequestKey.Name(high: Self.number(name[..<8]), low: Self.number(name[8..<16])),
            request: Self.number(asked[..<8]), kind: kind)
    }

    /// Each part with its length before it, so that no two lists are the same bytes.
    private static func parts(_ parts: [[UInt8]]) -> [UInt8] {
        parts.flatMap { part in
            (0..<8).map { UInt8(truncatingIfNeeded: part.count >> (8 * $0)) } + part
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension Router {
    /// Returns the name of a request as the engine keeps it; nil without one. `body` is what stands
    /// for what is asked for, instead of the bytes that were sent.
    /// - Throws: `IdempotencyKey.Fault` if it cannot be read.
    func key(
        _ kind: RequestKey.Kind, of request: HTTPRequest, body: [UInt8]? = nil
    ) throws(IdempotencyKey.Fault) -> RequestKey? {
        guard let value = request.idempotencyKey else { return nil }
        let key: IdempotencyKey
        do throws(IdempotencyKey.Fault) {
            key = try IdempotencyKey(value)
        } catch {
            edge.keyed(.malformed)
            throw error
        }
        return key.key(kind, of: request, by: holder(request), body: body ?? request.body)
    }

    /// Counts what became of a name, and answers the request whose name is another's; nil if it was
    /// answered. What is returned says of a repeat that it is one.
    func replaying(_ receipt: Receipt, _ answer: @escaping Answer) -> Answer? {
        if receipt.isKeyKept { edge.keyed(.kept) }
        if receipt.keysForgotten > 0 { edge.keyed(.forgotten, receipt.keysForgotten) }
        if receipt.isOtherRequest {
            edge.keyed(.otherRequest)
            answer(
                Self.unprocessable(
                    "\(IdempotencyKey.field): something else was asked for under this name: take "
                        + "another"), InputStats())
            return nil
        }
        guard receipt.repeated != nil else { return answer }
        edge.keyed(.repeated)
        return { response, input in
            var response = response
            if response.status < 500 {
                response.headers.append((IdempotencyKey.replayedField, "true"))
            }
            answer(response, input)
        }
    }

    /// The answer to a name that cannot be read.
    static var badKey: HTTPResponse {
        .problem(400, "Bad Request", detail: IdempotencyKey.Fault.detail)
    }
}
