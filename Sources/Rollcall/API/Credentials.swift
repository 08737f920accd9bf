/// What a client shows to be let in.
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
        case "basic":
            guard let pair = base64Decoded(rest),
                let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return Array(pair[(colon + 1)...])
        default: return nil
        }
    }

    /// RFC 4648 §4; nil for a letter that is none of it. Padding may be missing.
    static func base64Decoded(_ letters: ArraySlice<UInt8>) -> [UInt8]? {
        var letters = letters
        while letters.last == UInt8(ascii: "=") { letters.removeLast() }
        guard letters.count % 4 != 1 else { return nil }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(letters.count / 4 * 3 + 2)
        var bits: UInt32 = 0
        var count = 0
        for letter in letters {
            guard let value = sextet(letter) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            decoded.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
        }
        return decoded
    }

    private static func sextet(_ letter: UInt8) -> UInt8? {
        switch letter {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): letter - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): letter - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): letter - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
