import Synchronization

/// The front of a server as its web configuration says it: TLS, the passwords of users, and fields that
/// stand in every answer.
package final class WebFront: Sendable {
    /// The passwords that are looked at before anything else of a request.
    package let passwords: PasswordGate

    private struct State {
        var tls: ServerTLS?
        /// Counts the settings of TLS that were followed.
        var generation = 0
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
    /// spoken none begins. Returns the generation of these settings, for `renew`.
    package func follow(_ tls: ServerTLS?) -> Int {
        state.withLock {
            if $0.tls != nil, let tls { $0.tls = tls }
            $0.generation += 1
            return $0.generation
        }
    }

    /// Shakes hands by `tls`, which has the files of a generation of settings as they are now; the first is
    /// 0. Returns false, and changes nothing, if other settings are followed already.
    package func renew(_ tls: ServerTLS, of generation: Int) -> Bool {
        state.withLock {
            guard $0.generation == generation else { return false }
            if $0.tls != nil { $0.tls = tls }
            return true
        }
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
