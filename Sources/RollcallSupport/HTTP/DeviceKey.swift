/// The key from which each phone's password is made, so that a phone can only speak for itself: the
/// password is the HMAC-SHA256 of the person's id under the key, in hexadecimal digits. Source: M3.
package struct DeviceKey: Equatable, Sendable, CustomStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    /// The key of these bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The password of a phone.
    package func password(of id: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let code = SHA256.hmac(of: id, key: bytes)
        return String(
            decoding: code.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] },
            as: UTF8.self)
    }

    /// The id for which an `Authorization` field holds the password; nil if it holds none that is right.
    /// How long that takes tells nothing of it.
    package func holder(_ authorization: String?) -> [UInt8]? {
        guard let authorization, let shown = Credentials.basic(in: authorization),
            !shown.user.isEmpty
        else { return nil }
        let expected = Array(password(of: shown.user).utf8)
        var difference = UInt8(shown.password.count == expected.count ? 0 : 1)
        for (a, b) in zip(shown.password, expected) {
            // Digits in capitals are the same digits.
            let lower = (0x41...0x46).contains(a) ? a | 0x20 : a
            difference |= lower ^ b
        }
        return difference == 0 ? shown.user : nil
    }

    /// Bytes of a key at least.
    package static let bytesMin = 16

    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPRequest {
    /// The user of Basic authentication; nil without one.
    package var user: [UInt8]? {
        authorization.flatMap { Credentials.basic(in: $0) }.map(\.user)
    }

    /// The first field of a name, of a request to an input.
    package func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name }?.value
    }
}
