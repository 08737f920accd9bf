import Synchronization

/// The front of a server as its web configuration says it: TLS, the passwords of users, and fields that
/// stand in every answer.
package final class WebFront: Sendable {
    /// The passwords that are looked at before anything else of a request.
    package let passwords: PasswordGate

    private struct State {
        var tls: ServerTLS?
        var fields: [(name: String, value: String)] = []
    }

    private let policy: AccessPolicy
    private let hasFields: Atomic<Bool>
    private let state: Mutex<State>

    /// A front with `tls`, nil for none, and `fields`, whose users are those of `policy`.
    package init(
        _ policy: AccessPolicy, tls: ServerTLS? = nil, fields: [(name: String, value: String)] = []
    ) {
        self.policy = policy
        passwords = PasswordGate(policy)
        hasFields = Atomic(!fields.isEmpty)
        state = Mutex(State(tls: tls, fields: fields))
    }

    /// The TLS of handshakes that begin now; nil where none is spoken.
    package var tls: ServerTLS? { state.withLock { $0.tls } }

    /// Follows other fields, and other users of the policy. Passwords that were right are looked at again.
    package func follow(fields: [(name: String, value: String)]) {
        state.withLock { $0.fields = fields }
        hasFields.store(!fields.isEmpty, ordering: .relaxed)
        passwords.follow()
    }

    /// Shakes hands by `tls` from now on; connections that stand go on by what they have. Where no TLS is
    /// spoken none begins.
    package func follow(_ tls: ServerTLS) {
        state.withLock { if $0.tls != nil { $0.tls = tls } }
    }

    /// Ends the thread that looks at passwords.
    package func close() { passwords.close() }

    /// The answer with the fields that it does not have itself: the page's own policy is stricter than
    /// one for everything can be.
    func dressed(_ response: HTTPResponse) -> HTTPResponse {
        guard hasFields.load(ordering: .relaxed) else { return response }
        var response = response
        for field in state.withLock({ $0.fields })
        where !response.headers.contains(where: { $0.0 == field.name }) {
            response.headers.append((field.name, field.value))
        }
        return response
    }

    /// Counts a client whose certificate is missing, or not good.
    func countCertificate() { policy.count(.certificate) }
}
