import RollcallCore

/// A sign-in of a browser, as its cookie holds it. Its text is signed by a key that is made of the token,
/// so that every member of a watch and the next start know it, nobody has to keep it, and it ends with
/// its token. Source: R7.
package struct Session: Sendable, Equatable {
    /// A sign-in that nobody uses ends so soon.
    package static let idleMax = Milliseconds.seconds(12 * 3600)
    /// A sign-in ends so soon, however much it is used.
    package static let wholeMax = Milliseconds.seconds(30 * 24 * 3600)
    /// A sign-in is prolonged no more often than that.
    static let prolongedEvery = Milliseconds.seconds(15 * 60)
    /// The scopes that a session opens, if its token does.
    package static let scopes: [Access.Scope] = [.read, .act]

    /// The name of the token that was shown.
    package let name: String
    /// The number of the sign-in, by which its end is remembered; it is no secret.
    package let number: UInt64
    /// The instant at which the token was shown.
    package let beganAt: Timestamp
    /// The instant at which it ends, unless it is prolonged.
    package let until: Timestamp

    /// A session that begins `now`, of the token of this name.
    package init(of name: String, number: UInt64, now: Timestamp) {
        self.init(name: name, number: number, beganAt: now, until: now + Self.idleMax)
    }

    private init(name: String, number: UInt64, beganAt: Timestamp, until: Timestamp) {
        self.name = name
        self.number = number
        self.beganAt = beganAt
        self.until = until
    }

    /// Returns the same sign-in with a later end; nil if it was prolonged a short while ago, or has
    /// lasted for long enough.
    package func prolonged(at now: Timestamp) -> Session? {
        let end = min(now + Self.idleMax, beganAt + Self.wholeMax)
        guard end - until >= Self.prolongedEvery else { return nil }
        return Session(name: name, number: number, beganAt: beganAt, until: end)
    }

    // MARK: - As text

    private static let version = "1"

    /// Returns the value of its cookie.
    package func text(signedBy key: SessionKey) -> String {
        let signed = signedText
        return "\(signed).\(Self.digits(key.code(of: signed)))"
    }

    private var signedText: String {
        let numbers = [
            String(number, radix: 16), "\(beganAt.milliseconds)", "\(until.milliseconds)",
        ]
        return ([Self.version, Self.digits(Array(name.utf8))] + numbers).joined(separator: ".")
    }

    /// Reads a cookie's value; nil if it is none that one of `tokens` has signed, or is over at `now`.
    /// How long that takes tells nothing of what would be right.
    static func read(
        _ text: Substring, signedBy tokens: [Access.Token], at now: Timestamp
    ) -> (session: Session, token: Access.Token)? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == version, let name = bytes(parts[1]),
            let token = tokens.first(where: { Array($0.name.utf8) == name }),
            let number = UInt64(parts[2], radix: 16), let began = Int64(parts[3]),
            let until = Int64(parts[4]), let code = bytes(parts[5])
        else { return nil }
        let session = Session(
            name: token.name, number: number, beganAt: Timestamp(milliseconds: began),
            until: Timestamp(milliseconds: until))
        // What it would be written as: another spelling of the same numbers is nobody's.
        let signed = session.signedText
        guard token.sessionKey.fits(code, signed), text.hasPrefix("\(signed)."),
            session.until > now, session.beganAt + wholeMax > now
        else { return nil }
        return (session, token)
    }

    private static func digits(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let halves = digits.utf8.map { Int8(hexDigit: $0) }
        guard halves.count % 2 == 0, !halves.contains(-1) else { return nil }
        return stride(from: 0, to: halves.count, by: 2).map {
            UInt8(halves[$0]) << 4 | UInt8(halves[$0 + 1])
        }
    }
}

extension Int8 {
    /// The value of a digit in lower case; -1 of what is none.
    fileprivate init(hexDigit byte: UInt8) {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self = Int8(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self = Int8(byte - UInt8(ascii: "a") + 10)
        default: self = -1
        }
    }
}

/// The key by which a token signs sessions. The token cannot be found out from what it signs but by
/// trying all tokens that there can be.
package struct SessionKey: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    private let bytes: [UInt8]

    /// The key of a token of these bytes.
    init(ofToken token: [UInt8]) {
        bytes = SHA256.hmac(of: Array("rollcall session 1".utf8), key: token)
    }

    /// Returns the code by which `text` is signed.
    func code(of text: String) -> [UInt8] { SHA256.hmac(of: Array(text.utf8), key: bytes) }

    /// Returns true if `code` signs `text`, without a branch on where it differs.
    func fits(_ code: [UInt8], _ text: String) -> Bool {
        let expected = self.code(of: text)
        var difference = UInt8(code.count == expected.count ? 0 : 1)
        for (a, b) in zip(code, expected) { difference |= a ^ b }
        return difference == 0
    }

    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
