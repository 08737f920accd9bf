/// Passwords as bcrypt keeps them: `$2y$10$` with 22 letters of salt and 31 of the hash.
package enum Bcrypt {
    /// The costs that a hash may have: a look at one of the dearest takes a second, and a request waits for
    /// a few of them at most.
    package static let costs = 4...14
    private static let kinds = ["$2a$", "$2b$", "$2y$"]
    private static let byteCount = 60
    /// Bytes before the letters of the hash alone.
    private static let saltEnd = 29

    /// Returns the cost of a hash, two to the power of which rounds it takes; nil of what is none that
    /// libxcrypt knows.
    package static func cost(of hash: String) -> Int? {
        let letters = Array(hash.utf8)
        guard letters.count == byteCount, kinds.contains(where: { hash.hasPrefix($0) }),
            letters[6] == UInt8(ascii: "$"), letters[7...].allSatisfy(isLetter),
            letters[4...5].allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int(String(decoding: letters[4...5], as: UTF8.self))
    }

    /// Returns true if a password is the one of `hash`. Of nobody's it is never right, and it takes as
    /// long to say so as of the one that is looked at instead. Nil if there was no memory for it, which
    /// says nothing of the password.
    static func isRight(_ password: [UInt8], for hash: (text: String, isSomebodys: Bool)) -> Bool? {
        // The last user may just have been taken out.
        guard !hash.text.isEmpty else { return false }
        let shown = password.contains(0) ? [] : password
        guard let hashed = CryptLibrary.shared?.hashed(shown, as: hash.text) else { return nil }
        let (made, kept) = (Array(hashed.utf8), Array(hash.text.utf8))
        guard made.count == byteCount, kept.count == byteCount else { return false }
        // The last letter of a salt has four bits more than a salt, and libxcrypt writes them as zeros.
        var difference: UInt8 = 0
        for (a, b) in zip(made[saltEnd...], kept[saltEnd...]) { difference |= a ^ b }
        return difference == 0 && hash.isSomebodys && !password.contains(0)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
