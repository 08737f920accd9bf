import RollcallCore
import RollcallSupport
import Yams

/// A mapping of a YAML file of which every key must be read, or it is an error. Flags and variables
/// win over its values.
package struct ConfigurationTree {
    /// The mapping's name from the top on; empty for the file itself.
    let path: String
    private let line: Int
    private var entries: [String: Node] = [:]
    private var origins: [String: SettingOrigin] = [:]
    private var known: Set<String> = []
    /// The values that win over this file, and the settings that were asked for so far.
    var sources: SettingSources

    /// Reads the top of a file; an empty file is an empty mapping.
    /// - Throws: `ConfigurationError` if it is not YAML, no mapping, or has too many aliases.
    init(yaml: String, sources: SettingSources = SettingSources()) throws(ConfigurationError) {
        guard Self.aliases(in: yaml) <= Self.aliasesMax else {
            throw ConfigurationError(
                line: 0, message: "more than \(Self.aliasesMax) aliases (*name): write it out")
        }
        let node: Node?
        do {
            node = try Yams.compose(yaml: yaml)
        } catch let error as YamlError {
            throw Self.notYAML(error)
        } catch {
            throw ConfigurationError(line: 0, message: "not YAML")
        }
        try self.init(node, path: "", line: 1, sources: sources)
    }

    private init(
        _ node: Node?, path: String, line: Int, sources: SettingSources
    ) throws(ConfigurationError) {
        self.path = path
        self.line = line
        self.sources = sources
        guard let node, node.null == nil else { return }
        guard case .mapping(let mapping) = node else {
            throw ConfigurationError(
                line: line, message: "\(path.isEmpty ? "the file" : path): a mapping is expected",
                key: path)
        }
        for (key, value) in mapping {
            let keyLine = key.mark?.line ?? line
            guard let name = key.string else {
                throw ConfigurationError(
                    line: keyLine, message: "\(path): a key is no text", key: path)
            }
            if sources.skipped.contains(full(name)) { continue }
            if entries[name] != nil {
                throw ConfigurationError(
                    line: keyLine, message: "\(full(name)): named twice", key: full(name))
            }
            entries[name] = value
            origins[name] = .file(line: keyLine)
        }
    }

    /// Aliases of lists of aliases make a few lines as large as one likes, and the parser looks at
    /// all of it where it stands in a key. So many cannot.
    private static let aliasesMax = 32

    /// Counts what is written like an alias, in quotes too: fewer there are not.
    private static func aliases(in yaml: String) -> Int {
        let bytes = yaml.utf8
        return zip(bytes, bytes.dropFirst()).count { star, next in
            star == UInt8(ascii: "*") && (0x80...0xFF ~= next || isWordByte(next))
        }
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }

    /// The parser's own text shows the line itself, and a secret may stand in it.
    private static func notYAML(_ error: YamlError) -> ConfigurationError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ConfigurationError(line: mark.line, message: "not YAML: \(problem)")
        case .duplicatedKeysInMapping(let keys, let context):
            ConfigurationError(
                line: context.mark.line,
                message: "named twice in one mapping: \(keys.sorted().joined(separator: ", "))")
        default: ConfigurationError(line: 0, message: "not YAML: it cannot be read as text")
        }
    }

    /// Lets a key pass unread.
    mutating func drop(_ key: String) {
        entries[key] = nil
        known.insert(key)
    }

    /// Lets a key pass unread that says nothing: `""` as in the printed file.
    mutating func dropEmpty(_ key: String) {
        if let node = entries[key], node.null != nil || node.string == "" { drop(key) }
    }

    /// Reads a mapping below this one, and refuses what `body` did not read of it.
    /// - Throws: `ConfigurationError` if it is no mapping, `body` throws, or a key of it was not
    ///   read.
    mutating func section(
        _ key: String, _ body: (inout ConfigurationTree) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        let node = takeFromFile(key)
        var below = 0
        if node != nil, case .file(let line) = origin(of: key) { below = line }
        // Also without a mapping in the file: variables may say what is in it.
        var tree = try ConfigurationTree(node, path: full(key), line: below, sources: sources)
        try body(&tree)
        try tree.finish()
        sources = tree.sources
    }

    /// Reads a list of mappings, each like `section` one. Only the file can give it.
    /// - Throws: `ConfigurationError` if it is no list of mappings, `body` throws, or a key was not
    ///   read.
    mutating func sections(
        _ key: String, _ body: (inout ConfigurationTree) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        sources.askedForList(full(key))
        guard let node = takeFromFile(key), node.null == nil else { return }
        guard case .sequence(let sequence) = node else { throw fault(key, "must be a list", "") }
        var within = sources
        within.flags = [:]
        within.variables = [:]
        for (place, element) in sequence.enumerated() {
            let path = "\(full(key))[\(place)]"
            if sources.skipped.contains(path) { continue }
            var tree = try ConfigurationTree(
                element, path: path, line: element.mark?.line ?? 0,
                sources: within)
            try body(&tree)
            try tree.finish()
            within = tree.sources
        }
        sources.take(from: within)
    }

    /// Reads a mapping below this one that only the file can give, like `section`.
    /// - Throws: `ConfigurationError` if it is no mapping, `body` throws, or a key of it was not
    ///   read.
    mutating func part(
        _ key: String, _ body: (inout ConfigurationTree) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        let node = takeFromFile(key)
        var below = line
        if node != nil, case .file(let line) = origin(of: key) { below = line }
        var within = sources
        within.flags = [:]
        within.variables = [:]
        var tree = try ConfigurationTree(node, path: full(key), line: below, sources: within)
        try body(&tree)
        try tree.finish()
        sources.take(from: tree.sources)
    }

    /// Refuses a key that nobody asked for.
    /// - Throws: `ConfigurationError` if there is one, with the nearest key that somebody did ask
    ///   for.
    func finish() throws(ConfigurationError) {
        guard let key = entries.keys.min() else { return }
        var hint = Spelling.hint(for: key, among: known)
        if hint.isEmpty {
            hint = Spelling.hint(for: key, below: path, among: Setting.all.map(\.key))
        }
        throw ConfigurationError(
            origin: origin(of: key), message: "\(full(key)): unknown setting\(hint)",
            key: full(key))
    }

    /// True if the file has a mapping under this key that says something, and nobody read it yet.
    func isMapping(_ key: String) -> Bool { entries[key]?.mapping?.isEmpty == false }

    /// Refuses what stands under a key in the file if it is neither a mapping nor nothing at all.
    /// - Throws: `ConfigurationError` of a text, an empty one in quotes too, and of a list.
    func checkMapping(_ key: String) throws(ConfigurationError) {
        switch entries[key] {
        case nil, .mapping?: return
        case .scalar(let scalar)? where scalar.style == .plain && entries[key]?.null != nil: return
        default: throw fault(key, "must be a mapping", "")
        }
    }

    /// True if what was given for this key, or the file for it, is known to be wrong: then it is not
    /// missing.
    func isWrong(_ key: String) -> Bool {
        sources.skipped.contains(full(key)) || sources.skipped.contains(full(key + "_file"))
    }

    /// The keys that the file has here and nobody has read yet, in their order.
    var names: [String] { entries.keys.sorted() }

    /// True if somebody gave this key, read or not.
    func isGiven(_ key: String) -> Bool { origins[key] != nil }

    /// True if the file has this key, and nobody read it yet.
    func has(_ key: String) -> Bool { entries[key] != nil }

    // MARK: - Values

    /// Reads a setting of some kind.
    /// - Throws: `ConfigurationError` if it is none of that kind.
    mutating func read<Value>(
        _ key: String, _ kind: SettingKind<Value>, _ value: inout Value
    ) throws(ConfigurationError) {
        try kind.read(&self, key, &value)
    }

    /// Reads each value that is given for a key, the one that counts last.
    /// - Throws: `ConfigurationError` with the rule if `parse` makes nothing of one.
    mutating func scalar<Value>(
        _ key: String, _ value: inout Value, rule: (Node) -> String, _ parse: (Node) -> Value?
    ) throws(ConfigurationError) {
        for (node, origin) in candidates(key) {
            origins[key] = origin
            guard let read = parse(node) else { throw fault(key, rule(node), node.string ?? "") }
            value = read
        }
    }

    /// The longest duration where nothing else is said.
    package static let durationMax = Milliseconds(366 * 86_400_000)

    /// An error about a key of this mapping; where nobody gave it, about one of `others`.
    func fault(
        _ key: String, _ rule: String, _ value: String, or others: [String] = []
    ) -> ConfigurationError {
        let shown = value.isEmpty ? "" : " (\(value))"
        let given = ([key] + others).first { origins[$0] != nil } ?? key
        return ConfigurationError(
            origin: origin(of: given), message: "\(full(key)) \(rule)\(shown)", key: full(key),
            others: others.map(full))
    }

    // MARK: - Parts

    /// The value of a setting, by whoever wins; nil if nobody gave it.
    mutating func take(_ key: String) -> Node? {
        guard let (node, origin) = candidates(key).last else { return nil }
        origins[key] = origin
        return node
    }

    /// The values of a setting, the one that counts last: what a variable hides must be right as
    /// well, or the file fails on the day when the variable is gone.
    private mutating func candidates(_ key: String) -> [(node: Node, origin: SettingOrigin)] {
        if sources.skipped.contains(full(key)) { return [] }
        let inFile = takeFromFile(key).map { ($0, origin(of: key)) }
        let winner = sources.winner(full(key)).map { (Node($0.text), $0.origin) }
        return [inFile, winner].compactMap { $0 }
    }

    /// The value of a setting that only the file can give.
    mutating func takeFromFile(_ key: String) -> Node? {
        known.insert(key)
        return entries.removeValue(forKey: key)
    }

    /// Returns the source of the value of `key`; without one, the mapping that it would stand in.
    func origin(of key: String) -> SettingOrigin { origins[key] ?? .file(line: line) }

    /// The setting's name from the top on.
    func full(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }
}
