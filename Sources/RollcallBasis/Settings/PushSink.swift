import RollcallCore
import RollcallSupport

/// The sink that carries pushes to phones, and how it is reached: made of the settings, never
/// journaled, never shown. What decides about it is `NudgeRules.Sink`. Source: N7.
package struct PushSink: Equatable, Sendable {
    /// The kinds of sink, by how they are talked to.
    package enum Kind: Sendable {
        /// A backend of one's own, which knows the phones' tokens.
        case webhook
        /// Expo's push service, which is told the token.
        case expo

        /// The sink as the engine has to know it.
        package var rule: NudgeRules.Sink { self == .webhook ? .webhook : .expo }
    }

    /// The URL of Expo's push service.
    package static let expoURL = "https://exp.host"
    /// The notification channel that Expo makes on Android if the app makes none.
    package static let channelStandard = "default"

    package var kind: Kind
    /// Of `webhook` the whole URL, of `expo` where its paths begin. Any part may be secret.
    package var url: String
    /// Of `webhook`: as a receiver's.
    package var signingKeys: [SigningKey] = []
    /// The secret that is sent as `Authorization: Bearer …`; of `expo` its access token.
    package var bearer: Secret?
    /// Of `expo`: the notification channel on Android. One that the app does not have is not shown.
    package var channel = Self.channelStandard
    /// The authorities that may vouch for the server.
    package var authorities = Authorities()
    /// The texts of the pushes.
    package var texts = NudgeTexts()

    /// A sink at `url`, without secrets.
    package init(_ kind: Kind, url: String) {
        self.kind = kind
        self.url = url
    }

    /// Returns what of the way to it differs from that to `old`; a new place if there was none.
    func change(from old: PushSink?) -> EndpointChange {
        guard let old, old.kind == kind, old.authorities == authorities, old.url == url
        else { return .place }
        return old.signingKeys == signingKeys && old.bearer == bearer ? .same : .secret
    }

    /// The place of it, as far as that may be shown: scheme, host and port.
    var place: String { Destination(url: url)?.text ?? "" }
}

extension PushSink: CustomStringConvertible, CustomReflectable {
    package var description: String { "\(kind.rule.word) \(place)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
