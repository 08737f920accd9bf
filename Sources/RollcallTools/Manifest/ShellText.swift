import RollcallSupport

/// Arguments as a shell reads them, for commands that people copy out of a manifest.
enum ShellText {
    /// `argument`, in quotes if anything of it means something to a shell. A control character, which
    /// no line can hold, is shown by its number.
    static func quoted(_ argument: String) -> String {
        let text = ConsoleText.safe(argument)
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (0x30...0x3A).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || "-._/=,+@%".utf8.contains(byte)
            }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }
}
