extension ConfigurationTree {
    /// Reads the name of an entry of a list: a receiver, an input, a subscription.
    /// - Throws: `ConfigurationError` if it is not 1 to `countMax` letters, digits and `. _ -`.
    mutating func name(atMost countMax: Int) throws(ConfigurationError) -> String {
        var name = ""
        try read("name", .text, &name)
        let isName =
            (1...countMax).contains(name.utf8.count) && name.utf8.allSatisfy(Self.isNameByte)
        guard isName || isWrong("name") else {
            throw fault("name", "must be 1 to \(countMax) letters, digits and . _ -", name)
        }
        return name
    }

    /// True of what a name may hold.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
