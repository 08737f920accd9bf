/// Which folder of a module names types of which other folder.
///
/// It goes by names: a capitalised word outside of comments and texts that is not behind a full stop
/// stands for the type of that name at the top level of some file, unless its own file declares a type
/// so called. What an extension adds is not seen, only which type it extends.
struct FolderGraph {
    /// The first use of a folder's type in another folder.
    struct Edge: CustomStringConvertible {
        /// The folders' paths in the module; its own is a full stop.
        let from: String
        let to: String
        /// The file that names the type, the type, and the file that declares it.
        let user: String
        let type: String
        let declarer: String

        var description: String {
            "\(from)/ → \(to)/: \(user) names \(type), which is in \(declarer)"
        }
    }

    private var edges: [String: [String: Edge]] = [:]

    /// The graph of files, by their paths in the module.
    init(_ files: [(path: String, bytes: [UInt8])]) {
        let files = files.sorted { $0.path < $1.path }.map { ($0.path, SourceNames($0.bytes)) }
        var declarers: [UInt64: String] = [:]
        for (path, names) in files {
            for name in names.declared { declarers[name] = path }
        }
        for (path, names) in files {
            for (name, type) in names.used where !names.own.contains(name) {
                guard let declarer = declarers[name] else { continue }
                let (from, to) = (Self.folder(path), Self.folder(declarer))
                if from == to { continue }
                // Always the same one is told of: the first by file and type.
                if let known = edges[from]?[to], (known.user, known.type) < (path, type) {
                    continue
                }
                edges[from, default: [:]][to] = Edge(
                    from: from, to: to, user: path, type: type, declarer: declarer)
            }
        }
    }

    /// Edges that lead round, one behind the other; none if all point one way.
    var cycle: [Edge] {
        var finished: Set<String> = []
        var way: [Edge] = []
        func visit(_ folder: String) -> [Edge]? {
            if finished.contains(folder) { return nil }
            if let begin = way.firstIndex(where: { $0.from == folder }) {
                return Array(way[begin...])
            }
            for edge in (edges[folder] ?? [:]).values.sorted(by: { $0.to < $1.to }) {
                way.append(edge)
                if let found = visit(edge.to) { return found }
                way.removeLast()
            }
            finished.insert(folder)
            return nil
        }
        for folder in edges.keys.sorted() {
            if let found = visit(folder) { return found }
        }
        return []
    }

    private static func folder(_ path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

/// The names of types in one source file, by the hashes of their bytes.
private struct SourceNames {
    /// Types at the top level that other files may name.
    private(set) var declared: Set<UInt64> = []
    /// All types that the file declares.
    private(set) var own: Set<UInt64> = []
    /// What it names, as text too.
    private(set) var used: [UInt64: String] = [:]

    private static let kinds = Set(
        ["struct", "enum", "class", "actor", "protocol", "typealias"].map { hash($0) })
    private static let hidden = Set(["private", "fileprivate"].map { hash($0) })

    /// Reads a file once, byte by byte: they are two and a half million.
    init(_ bytes: [UInt8]) {
        bytes.withUnsafeBufferPointer { read($0) }
    }

    private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) {
        let count = bytes.count
        var at = 0
        // Where the line begins; whether its declaration is hidden; whether a kind came before.
        var line = 0
        var isHidden = false
        var isDeclaring = false
        // Of texts around what is read: whether they have several lines, and the parentheses that are
        // open in the expression inside.
        var texts: [(isLong: Bool, open: Int)] = []
        while at < count {
            let byte = bytes[at]
            if Self.isLetter(byte) {
                let start = at
                var hash = Self.seed
                while at < count, Self.isLetter(bytes[at]) || Self.isDigit(bytes[at]) {
                    hash = Self.next(hash, bytes[at])
                    at += 1
                }
                if Self.kinds.contains(hash) {
                    isDeclaring = true
                } else if Self.hidden.contains(hash) {
                    isHidden = true
                } else if 0x41...0x5A ~= byte {
                    let isMember = start > 0 && bytes[start - 1] == UInt8(ascii: ".")
                    if isDeclaring {
                        own.insert(hash)
                        let isTop = Self.isLetter(bytes[line]) || bytes[line] == UInt8(ascii: "@")
                        if isTop && !isHidden { declared.insert(hash) }
                    } else if !isMember, used[hash] == nil {
                        used[hash] = String(decoding: bytes[start..<at], as: UTF8.self)
                    }
                    isDeclaring = false
                } else {
                    isDeclaring = false
                }
                continue
            }
            at += 1
            switch byte {
            case 0x0A: (line, isHidden, isDeclaring) = (at, false, false)
            case UInt8(ascii: "/") where at < count && bytes[at] == byte:
                while at < count, bytes[at] != 0x0A { at += 1 }
            case UInt8(ascii: "\""):
                let isLong = Self.isQuote(bytes, at) && Self.isQuote(bytes, at + 1)
                if isLong { at += 2 }
                texts.append((isLong, 0))
                at = Self.passText(bytes, at, &texts)
            case UInt8(ascii: "(") where !texts.isEmpty: texts[texts.count - 1].open += 1
            case UInt8(ascii: ")") where !texts.isEmpty:
                texts[texts.count - 1].open -= 1
                if texts[texts.count - 1].open == 0 { at = Self.passText(bytes, at, &texts) }
            default: break
            }
        }
    }

    /// The place behind the innermost text, which then is none any more, or behind the parenthesis that
    /// begins an expression in it.
    private static func passText(
        _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int,
        _ texts: inout [(isLong: Bool, open: Int)]
    ) -> Int {
        let isLong = texts[texts.count - 1].isLong
        var at = start
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\\") {
                if at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "(") {
                    texts[texts.count - 1].open = 1
                    return at + 2
                }
                at += 2
            } else if isQuote(bytes, at),
                !isLong || isQuote(bytes, at + 1) && isQuote(bytes, at + 2)
            {
                texts.removeLast()
                return at + (isLong ? 3 : 1)
            } else {
                at += 1
            }
        }
        return at
    }

    private static func isQuote(_ bytes: UnsafeBufferPointer<UInt8>, _ at: Int) -> Bool {
        at < bytes.count && bytes[at] == UInt8(ascii: "\"")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        0x61...0x7A ~= byte || 0x41...0x5A ~= byte || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

    private static let seed: UInt64 = 0xCBF2_9CE4_8422_2325

    /// FNV-1a.
    private static func next(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }

    private static func hash(_ word: String) -> UInt64 { word.utf8.reduce(seed) { next($0, $1) } }
}
