/// The error of a configuration that is wrong.
package struct ConfigurationError: Error, Equatable, CustomStringConvertible {
    /// The source of the wrong value.
    package var origin: SettingOrigin
    /// A text that says what failed, the value, the limit, and what to do.
    package var message: String
    /// The other faults, in the order of the file; no entry has more of its own.
    package var more: [ConfigurationError] = []
    /// The setting that it is about, from the top on; empty for the file as a whole.
    var key: String
    /// Settings that were compared with it.
    var others: [String]

    init(origin: SettingOrigin, message: String, key: String = "", others: [String] = []) {
        self.origin = origin
        self.message = message
        self.key = key
        self.others = others
    }

    /// An error of the file at `line`, from 1; 0 when unknown.
    init(line: Int, message: String, key: String = "") {
        self.init(origin: .file(line: line), message: message, key: key)
    }

    /// Itself and what else is wrong.
    package var all: [ConfigurationError] { [self] + more }

    /// This error alone.
    package var description: String {
        switch origin {
        case .file(let line) where line > 0: "line \(line): \(message)"
        case .file: message
        case .variable(let name), .flag(let name): "\(name): \(message)"
        }
    }
}

/// All that is wrong with a file, found by reading it again without what was found so far: who
/// mends one mistake a start would start ten times.
struct ConfigurationFaults {
    /// Errors told at most.
    static let countMax = 20

    /// The settings that are passed over in the next reading.
    private(set) var skipped: Set<String> = []
    /// False once another reading would find nothing.
    private(set) var mayBeMore = true
    private var found: [ConfigurationError] = []

    /// Takes what a reading ended with.
    mutating func take(_ error: ConfigurationError) {
        var key = error.key[...]
        if skipped.contains(error.key) {
            // It is missing because it was passed over, which is not the file's mistake: what it
            // would stand in cannot be read without it.
            while !key.isEmpty, skipped.contains(String(key)) { key = Self.parent(of: key) }
        } else if !follows(error) {
            found.append(error)
        }
        skipped.insert(String(key))
        mayBeMore = !key.isEmpty && found.count < Self.countMax
    }

    /// True if what is wrong may only be so because something was passed over: a value that it was
    /// compared with, or a part of it.
    private func follows(_ error: ConfigurationError) -> Bool {
        error.others.contains { skipped.contains($0) }
            || skipped.contains { $0.hasPrefix(error.key + ".") || $0.hasPrefix(error.key + "[") }
    }

    /// The first error in the order of the file, with the others; nil if there is none.
    var all: ConfigurationError? {
        let ordered = found.enumerated().sorted {
            (Self.line($0.element), $0.offset) < (Self.line($1.element), $1.offset)
        }
        guard var first = ordered.first?.element else { return nil }
        first.more = ordered.dropFirst().map(\.element)
        return first
    }

    /// Variables and flags come behind the file.
    private static func line(_ error: ConfigurationError) -> Int {
        if case .file(let line) = error.origin { line } else { .max }
    }

    /// Of `receivers[1].name` it is `receivers[1]`, of that `receivers`.
    private static func parent(of key: Substring) -> Substring {
        key.lastIndex { $0 == "." || $0 == "[" }.map { key[..<$0] } ?? ""
    }
}
