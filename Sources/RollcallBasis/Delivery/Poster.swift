import RollcallCore
import RollcallSupport

/// Posts JSON to whom the settings name, one request at a time.
///
/// It blocks its thread for ten seconds a request at most and belongs to one thread at a time, as
/// `HTTPCaller` does, whose connection it keeps.
package final class Poster {
    /// Until a connection stands.
    package static let connectTimeout = Milliseconds(3000)
    /// Until the answer is whole, however steadily it drips.
    package static let timeout = Milliseconds(10_000)
    /// Bytes of an answer's body at most, if nothing else is said.
    package static let answerBytesMax = 64 << 10

    private let library: Result<CurlLibrary, CurlMissing>
    private let patience: Milliseconds
    private let permit: SendingPermit?
    /// With the authorities of whom was called last.
    private var caller: (authorities: Authorities, caller: HTTPCaller)?

    /// A poster without connections; `patience` is how long it waits for a whole answer. Without its
    /// permit nothing goes out.
    init(
        library: Result<CurlLibrary, CurlMissing>, patience: Milliseconds,
        permit: SendingPermit? = nil
    ) {
        self.library = library
        self.patience = patience
        self.permit = permit
    }

    /// Returns the request that carries `body`.
    static func call(
        _ url: String, _ body: [UInt8], fields: [(name: String, value: String)] = [],
        bearer: Secret? = nil, mayBeSentTwice: Bool = false
    ) -> HTTPCall {
        var call = HTTPCall(.post, url)
        call.headers = [("Content-Type", "application/json")] + fields
        if let bearer {
            let token = String(decoding: bearer.bytes, as: UTF8.self)
            call.headers.append(("Authorization", "Bearer \(token)"))
        }
        call.body = body
        call.connectTimeout = connectTimeout
        call.answerBytesMax = answerBytesMax
        call.mayBeSentTwice = mayBeSentTwice
        return call
    }

    /// Sends a request, and returns the whole answer. `authorities` may vouch for the server. Unless it
    /// `needsPermit` it goes out in any case.
    func answer(
        to call: HTTPCall, _ authorities: Authorities, needsPermit: Bool = true
    ) throws(HTTPCallError) -> HTTPCallAnswer {
        var call = call
        call.timeout = patience
        call.permit = needsPermit ? permit : nil
        if let caller, caller.authorities == authorities {
            return try caller.caller.answer(to: call)
        }
        let made = try HTTPCaller(library: library, authorities: authorities)
        caller = (authorities, made)
        return try made.answer(to: call)
    }
}
