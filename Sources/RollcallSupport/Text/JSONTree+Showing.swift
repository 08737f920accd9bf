extension JSONTree {
    /// This text as it may be shown on a terminal.
    package var shown: String? { text.map(ConsoleText.safe) }

    /// This document for standard output, with a line feed. JSON lets the control characters
    /// beyond ASCII, which a terminal may obey, stand as they are; here they are escaped too.
    package var printed: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
            if (0x7F...0x9F).contains(scalar.value) {
                text += "\\u00\(String(scalar.value, radix: 16))"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text + "\n"
    }
}
