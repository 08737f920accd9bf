/// The named pointers of a mapping as a tree, so that a document is read in one pass: at each object
/// the few names that lead somewhere are compared, and every other value is skipped.
struct InputTree: Sendable {
    /// A name that leads on.
    struct Edge: Sendable {
        let word: ShortWord
        /// The name itself where a word cannot hold it.
        let long: [UInt8]?
        let node: Int
        /// The name as a pointer writes it.
        let text: String

        /// True if `token` is the name.
        @inline(__always)
        func fits(
            _ word: ShortWord, _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>
        ) -> Bool {
            guard self.word == word else { return false }
            return long.map { $0 == JSONText.decoded(token, bytes) } ?? true
        }
    }

    /// An entry of a list, by what one of its members says.
    struct Entry: Sendable {
        let key: [UInt8]
        let value: [UInt8]
        let node: Int
        let text: String
    }

    /// A place in a document that means something, or leads to one.
    struct Node: Sendable {
        var edges: [Edge] = []
        var entries: [Entry] = []
        /// The slot of the value here; -1 for none.
        var slot = -1
        /// True if the items are here.
        var holdsItems = false
        /// The pointer to it.
        var text = ""

        /// True if nothing lies behind it.
        var isLeaf: Bool { edges.isEmpty && entries.isEmpty && !holdsItems }
    }

    /// The nodes; the first is the document.
    private(set) var nodes = [Node()]
    /// The pointer of each slot.
    private(set) var slots: [String] = []

    /// The slot of the value at `pointer`, made if there is none yet.
    mutating func slot(_ pointer: InputPointer) -> Int {
        let node = node(pointer)
        if nodes[node].slot < 0 {
            nodes[node].slot = slots.count
            slots.append(nodes[node].text)
        }
        return nodes[node].slot
    }

    /// Says that items are at `pointer`.
    mutating func holdItems(_ pointer: InputPointer) {
        nodes[node(pointer)].holdsItems = true
    }

    private mutating func node(_ pointer: InputPointer) -> Int {
        var at = 0
        for part in pointer.parts { at = next(at, part) }
        return at
    }

    private mutating func next(_ at: Int, _ part: InputPointer.Part) -> Int {
        switch part {
        case .member(let name):
            let token = JSONCursor.StringToken(range: 0..<name.count, isEscaped: false)
            let word = ShortWord(token, name.span)
            if let edge = nodes[at].edges.first(where: { $0.fits(word, token, name.span) }) {
                return edge.node
            }
            let text = InputTree.escaped(name)
            let long = name.count > ShortWord.bytesMax ? name : nil
            nodes[at].edges.append(Edge(word: word, long: long, node: nodes.count, text: text))
            append("\(nodes[at].text)/\(text)")
        case .entry(let key, let value):
            if let entry = nodes[at].entries.first(where: { $0.key == key && $0.value == value }) {
                return entry.node
            }
            let text = "[\(InputTree.escaped(key))=\(InputTree.escaped(value))]"
            nodes[at].entries.append(
                Entry(key: key, value: value, node: nodes.count, text: text))
            append("\(nodes[at].text)/\(text)")
        }
        return nodes.count - 1
    }

    private mutating func append(_ text: String) {
        var node = Node()
        node.text = text
        nodes.append(node)
    }

    private static func escaped(_ name: [UInt8]) -> String {
        String(decoding: name, as: UTF8.self)
            .split(separator: "~", omittingEmptySubsequences: false).joined(separator: "~0")
            .split(separator: "/", omittingEmptySubsequences: false).joined(separator: "~1")
    }
}

/// A value that was met at a named pointer: what it is and where it stands, unread.
struct InputToken {
    /// What stands there.
    enum Kind: UInt8 {
        case absent
        case string
        /// A string with a backslash in it.
        case escaped
        case number
        case yes
        case no
        /// An object or an array: no value.
        case container
        /// Named twice: whichever is meant, nobody knows.
        case twice
    }

    var kind = Kind.absent
    var lower: UInt32 = 0
    var upper: UInt32 = 0

    /// Where its bytes stand.
    var range: Range<Int> { Int(lower)..<Int(upper) }
    /// True if there is something, whatever it is.
    var isThere: Bool { kind != .absent }
}
