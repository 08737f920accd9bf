import Foundation
import RollcallCore

/// The way to one receiver: made of the settings, never journaled, never shown. What decides about
/// it is `Receiver`. Source: A8.
package struct ReceiverAddress: Equatable, Sendable {
    /// The name that the engine's `Receiver` has too.
    package var name: String
    package var kind: ReceiverKind
    /// One for each target, in the order of the settings; none for `log`. Any part may be secret.
    package var urls: [String] = []
    /// The routing key of `pagerduty`.
    package var routingKey: Secret?
    /// Of `opsgenie`: the key of an API integration.
    package var apiKey: Secret?
    /// Of `webhook`: what its messages are signed with, `whsec_…`. Several while one is replaced by
    /// another: there is a signature for each. None for unsigned ones.
    package var signingKeys: [SigningKey] = []
    /// Of `webhook`, `alertmanager` and `ntfy`: the token for `Authorization: Bearer …`.
    package var bearer: Secret?
    /// Of `email`: who writes to whom.
    package var mail = MailRoute()
    /// Of `ntfy` and `email`: the user whom the server knows us as; empty for nobody.
    package var username = ""
    /// The user's password.
    package var password: Secret?
    /// Of `alertmanager`: how long what fires is to stay there without word of it (D9).
    package var resolveTimeout = Receiver(name: [], kind: .alertmanager).resolveTimeout
    /// The authorities that may vouch for the server.
    package var authorities = Authorities()

    /// An address without URLs and secrets.
    package init(name: String, kind: ReceiverKind) {
        self.name = name
        self.kind = kind
    }

    /// The key under which incidents are opened, where they are kept.
    package var incidentsKey: Secret? { routingKey ?? apiKey }

    /// The user and the password as `Authorization: Basic …` has them.
    var basicCredentials: String {
        Data(Array("\(username):".utf8) + (password?.bytes ?? [])).base64EncodedString()
    }

    /// The user and the password as the words of AUTH PLAIN and LOGIN have them.
    var saslWords: [String] {
        let (user, secret) = (Array(username.utf8), password?.bytes ?? [])
        return [[0] + user + [0] + secret, user, secret].map { Data($0).base64EncodedString() }
    }

    /// Returns what of the way to the URL number `target` differs from that in `old`; a new place
    /// if there was none.
    func change(from old: ReceiverAddress?, target: Int) -> EndpointChange {
        guard let old, old.kind == kind, old.authorities == authorities,
            old.urls.indices.contains(target), old.urls[target] == urls[target], old.mail == mail
        else { return .place }
        let isSame =
            old.incidentsKey == incidentsKey && old.signingKeys == signingKeys
            && old.bearer == bearer && old.username == username && old.password == password
        return isSame ? .same : .secret
    }
}

extension ReceiverAddress: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(kind.word) \(name)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
