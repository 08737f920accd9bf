import RollcallCore
import Yams

/// A mapping of a YAML file of which every key must be read, or it is an error.
struct ConfigurationTree {
    private let path: String
    private let line: Int
    private var entries: [String: Node] = [:]
    private var lines: [String: Int] = [:]
    private var known: Set<String> = []

    /// The top of a file; an empty file is an empty mapping.
    init(yaml: String) throws(ConfigurationError) {
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch let error as YamlError {
            throw ConfigurationError(line: 0, message: "not YAML: \(error)")
        } catch {
            throw ConfigurationError(line: 0, message: "not YAML")
        }
        try self.init(node, path: "", line: 1)
    }

    private init(_ node: Node?, path: String, line: Int) throws(ConfigurationError) {
        self.path = path
        self.line = line
        guard let node, node.null == nil else { return }
        guard case .mapping(let mapping) = node else {
            throw ConfigurationError(
                line: line, message: "\(path.isEmpty ? "the file" : path): a mapping is expected")
        }
        for (key, value) in mapping {
            let keyLine = key.mark?.line ?? line
            guard let name = key.string else {
                throw ConfigurationError(line: keyLine, message: "\(path): a key is no text")
            }
            if entries[name] != nil {
                throw ConfigurationError(line: keyLine, message: "\(full(name)): named twice")
            }
            entries[name] = value
            lines[name] = keyLine
        }
    }

    /// Lets a key pass unread.
    mutating func drop(_ key: String) {
        entries[key] = nil
        known.insert(key)
    }

    /// Reads a mapping below this one, and refuses what `body` did not read of it.
    mutating func section(
        _ key: String, _ body: (inout ConfigurationTree) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        var tree = try ConfigurationTree(node, path: full(key), line: lines[key] ?? line)
        try body(&tree)
        try tree.finish()
    }

    /// Refuses a key that nobody asked for, with the nearest one that somebody did.
    func finish() throws(ConfigurationError) {
        guard let key = entries.keys.min() else { return }
        let nearest = known.sorted().map { (Self.distance($0, key), $0) }.min { $0.0 < $1.0 }
        let hint =
            nearest.map { $0.0 <= 3 ? ", did you mean \"\($0.1)\"?" : "" }
            ?? ""
        throw ConfigurationError(
            line: lines[key] ?? line, message: "\(full(key)): unknown setting\(hint)")
    }

    // MARK: - Values

    mutating func text(
        _ key: String, _ value: inout String, oneOf words: [String] = []
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let text = node.string, !text.isEmpty else { throw fault(key, "must be a text", "") }
        if !words.isEmpty, !words.contains(text) {
            throw fault(key, "must be one of \(words.joined(separator: ", "))", text)
        }
        value = text
    }

    mutating func names(_ key: String, _ value: inout [[UInt8]]) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard case .sequence(let sequence) = node else { throw fault(key, "must be a list", "") }
        value = []
        for element in sequence {
            guard let name = element.string,
                (1...ItemScanner.nameBytesMax).contains(name.utf8.count)
            else { throw fault(key, "must hold names of 1 to 128 bytes", "") }
            value.append(Array(name.utf8))
        }
    }

    mutating func integer(
        _ key: String, in range: ClosedRange<Int>, _ value: inout Int
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let number = node.int, range.contains(number) else {
            throw fault(
                key, "must be an integer from \(range.lowerBound) to \(range.upperBound)",
                node.string ?? "")
        }
        value = number
    }

    mutating func factor(_ key: String, _ value: inout Double) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        guard let number = node.float, number >= 0.1, number <= 100 else {
            throw fault(key, "must be a number from 0.1 to 100", node.string ?? "")
        }
        value = number
    }

    mutating func duration(_ key: String, _ value: inout Milliseconds) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        let units: [(String, Int64)] = [
            ("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
        ]
        let text = node.string ?? ""
        guard let count = Self.quantity(text, units), count >= 1, count <= 366 * 86_400_000 else {
            throw fault(key, "must be a duration such as 1500ms, 90s, 15m, 4h or 30d", text)
        }
        value = Milliseconds(count)
    }

    mutating func size(
        _ key: String, in range: ClosedRange<Int>, _ value: inout Int
    ) throws(ConfigurationError) {
        guard let node = take(key) else { return }
        let units: [(String, Int64)] = [
            ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30),
        ]
        let text = node.string ?? ""
        guard let count = Self.quantity(text, units), range.contains(Int(count)) else {
            throw fault(
                key,
                "must be a size such as 8MiB, from \(range.lowerBound)B to \(range.upperBound)B",
                text)
        }
        value = Int(count)
    }

    /// An error about a key of this mapping.
    func fault(_ key: String, _ rule: String, _ value: String) -> ConfigurationError {
        let shown = value.isEmpty ? "" : " (\(value))"
        return ConfigurationError(line: lines[key] ?? line, message: "\(full(key)) \(rule)\(shown)")
    }

    // MARK: - Parts

    private mutating func take(_ key: String) -> Node? {
        known.insert(key)
        return entries.removeValue(forKey: key)
    }

    private func full(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// A whole number with one of `units`.
    private static func quantity(_ text: String, _ units: [(String, Int64)]) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int64(digits),
            let unit = units.first(where: { $0.0 == text.dropFirst(digits.count) })
        else { return nil }
        let (product, isOverflow) = number.multipliedReportingOverflow(by: unit.1)
        return isOverflow ? nil : product
    }

    /// How many letters must be changed, added or dropped (Levenshtein).
    private static func distance(_ a: String, _ b: String) -> Int {
        let b = Array(b)
        var row = Array(0...b.count)
        for (i, left) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, right) in b.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (left == right ? 0 : 1))
                diagonal = above
            }
        }
        return row[b.count]
    }
}
