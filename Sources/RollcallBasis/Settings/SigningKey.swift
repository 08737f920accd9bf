import Foundation
import RollcallCore
import RollcallSupport

/// The key with which messages to a webhook are signed, as Standard Webhooks 1.0.0 writes it:
/// `whsec_` and the base64 of 24 to 64 bytes.
package struct SigningKey: Equatable, Sendable {
    /// The prefix of a key's text.
    package static let prefix = "whsec_"
    /// "between 24 bytes (192 bits) and 64 bytes (512 bits)".
    package static let bytesMin = 24
    /// The most bytes of a key: "64 bytes (512 bits)".
    package static let bytesMax = 64

    private let bytes: [UInt8]

    /// The key that `secret` writes; nil if it writes none.
    package init?(_ secret: Secret) {
        let prefix = Array(Self.prefix.utf8)
        guard secret.bytes.starts(with: prefix),
            let decoded = Data(base64Encoded: Data(secret.bytes.dropFirst(prefix.count))),
            (Self.bytesMin...Self.bytesMax).contains(decoded.count)
        else { return nil }
        bytes = Array(decoded)
    }

    /// `v1,` and the base64 of the HMAC-SHA256 of id, time and body, with full stops between them.
    func signature(id: String, seconds: Int64, body: [UInt8]) -> String {
        let code = SHA256.hmac(of: Array("\(id).\(seconds).".utf8) + body, key: bytes)
        return "v1,\(Data(code).base64EncodedString())"
    }

    /// The header fields of a signed message. The id stays over retries, the time is the attempt's;
    /// a signature for each key, so that the receiver may change to a new one.
    static func fields(
        id: String, now: Timestamp, body: [UInt8], keys: [SigningKey]
    ) -> [(name: String, value: String)] {
        let seconds = now.milliseconds / 1000
        let signatures = keys.map { $0.signature(id: id, seconds: seconds, body: body) }
        let signed = [("webhook-signature", signatures.joined(separator: " "))]
        return [("webhook-id", id), ("webhook-timestamp", "\(seconds)")]
            + (keys.isEmpty ? [] : signed)
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
