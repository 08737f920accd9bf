import RollcallCore

/// The credentials that a client shows to be let in.
enum Credentials {
    /// The token in an `Authorization` field: `Bearer TOKEN`, or `Basic` with the token as the
    /// password, whoever the user is, which is what browsers can do. Nil if it is neither.
    ///
    /// Source: RFC 6750 §2.1, RFC 7617 §2.
    static func token(in authorization: String) -> [UInt8]? {
        let field = Array(authorization.utf8)
        guard let end = field.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let rest = field[end...].drop { $0 == UInt8(ascii: " ") }
        switch String(decoding: field[..<end], as: UTF8.self).lowercased() {
        case "bearer": return Array(rest)
        case "basic": return pair(of: rest)?.password
        default: return nil
        }
    }

    /// The challenge at which a browser asks for a password.
    static let basicChallenge = "Basic realm=\"rollcall\", charset=\"UTF-8\""

    /// Returns true of a field that begins as `Basic` does; what follows is not looked at.
    static func isBasic(_ authorization: String) -> Bool {
        authorization.utf8.prefix(6).elementsEqual("basic ".utf8) { $0 | 0x20 == $1 }
    }

    /// The user and the password of a `Basic` field; nil if it is none.
    static func basic(in authorization: String) -> (user: [UInt8], password: [UInt8])? {
        let field = Array(authorization.utf8)
        guard let end = field.firstIndex(of: UInt8(ascii: " ")),
            String(decoding: field[..<end], as: UTF8.self).lowercased() == "basic"
        else { return nil }
        return pair(of: field[end...].drop { $0 == UInt8(ascii: " ") })
    }

    private static func pair(
        of letters: ArraySlice<UInt8>
    ) -> (user: [UInt8], password: [UInt8])? {
        guard let pair = base64Decoded(letters),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (Array(pair[..<colon]), Array(pair[(colon + 1)...]))
    }

    /// Padding may be missing.
    private static func base64Decoded(_ letters: ArraySlice<UInt8>) -> [UInt8]? {
        var letters = Array(letters)
        while letters.last == UInt8(ascii: "=") { letters.removeLast() }
        while letters.count % 4 != 0 { letters.append(UInt8(ascii: "=")) }
        return Base64.decoded(letters.span, 0..<letters.count)
    }
}
