import Foundation

/// What messages to a webhook are signed with, as Standard Webhooks 1.0.0 writes it:
/// `whsec_` and the base64 of 24 to 64 bytes.
package struct SigningKey: Equatable, Sendable {
    /// What it begins with.
    package static let prefix = "whsec_"
    /// "between 24 bytes (192 bits) and 64 bytes (512 bits)".
    package static let bytesMin = 24
    /// See `bytesMin`.
    package static let bytesMax = 64

    /// The key itself.
    let bytes: [UInt8]

    /// The key that `secret` writes; nil if it writes none.
    package init?(_ secret: Secret) {
        let prefix = Array(Self.prefix.utf8)
        guard secret.bytes.starts(with: prefix),
            let decoded = Data(base64Encoded: Data(secret.bytes.dropFirst(prefix.count))),
            (Self.bytesMin...Self.bytesMax).contains(decoded.count)
        else { return nil }
        bytes = Array(decoded)
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
