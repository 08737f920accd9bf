/// The named pointers of a mapping as a tree, so that a document is read in one pass: at each object
/// the few names that lead somewhere are compared, and every other value is skipped.
struct InputTree: Sendable {
    /// A name that leads on.
    struct Edge: Sendable {
        let word: ShortWord
        /// The name itself where a word cannot hold it.
        let long: [UInt8]?
        let node: Int
    }

    /// An entry of a list, by what one of its members says.
    struct Entry: Sendable {
        let key: [UInt8]
        let value: [UInt8]
        let node: Int
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
            let long = name.count > ShortWord.bytesMax ? name : nil
            if let edge = nodes[at].edges.first(where: { $0.word == word && $0.long == long }) {
                return edge.node
            }
            nodes[at].edges.append(Edge(word: word, long: long, node: nodes.count))
            append("\(nodes[at].text)/\(InputTree.escaped(name))")
        case .entry(let key, let value):
            if let entry = nodes[at].entries.first(where: { $0.key == key && $0.value == value }) {
                return entry.node
            }
            let text = "[\(InputTree.escaped(key))=\(InputTree.escaped(value))]"
            nodes[at].entries.append(Entry(key: key, value: value, node: nodes.count))
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

/// A tree as it is read by: flat, so that no name on the way costs more than its comparison.
final class InputPlan: Sendable {
    /// A place in a document.
    struct Node: Sendable {
        /// Its names among all.
        let edges: Range<Int>
        let entries: [InputTree.Entry]
        /// The slot of the value here; -1 for none.
        let slot: Int
        /// True if the items are here.
        let holdsItems: Bool
        let hasEntries: Bool
    }

    private let nodes: [Node]
    private let words: [ShortWord]
    private let nexts: [Int]
    /// The names that a word cannot hold.
    private let longs: [[UInt8]?]
    private let texts: [String]
    /// The pointer of each slot.
    let slots: [String]

    /// The plan of a tree that does not grow any more.
    init(_ tree: InputTree) {
        var (words, nexts, longs): ([ShortWord], [Int], [[UInt8]?]) = ([], [], [])
        var nodes: [Node] = []
        for node in tree.nodes {
            let first = words.count
            for edge in node.edges {
                words.append(edge.word)
                nexts.append(edge.node)
                longs.append(edge.long)
            }
            nodes.append(
                Node(
                    edges: first..<words.count, entries: node.entries, slot: node.slot,
                    holdsItems: node.holdsItems, hasEntries: !node.entries.isEmpty))
        }
        self.nodes = nodes
        self.words = words
        self.nexts = nexts
        self.longs = longs
        texts = tree.nodes.map(\.text)
        slots = tree.slots
    }

    /// The slot of the value at a place; -1 for none.
    func slot(_ at: Int) -> Int { nodes[at].slot }
    /// True if the items are at a place.
    func holdsItems(_ at: Int) -> Bool { nodes[at].holdsItems }
    /// True if a place is an object of which something is asked for.
    func hasEdges(_ at: Int) -> Bool { !nodes[at].edges.isEmpty }
    /// True if a place is a list of which entries are asked for.
    func hasEntries(_ at: Int) -> Bool { nodes[at].hasEntries }
    /// The entries that are asked for at a place.
    func entries(_ at: Int) -> [InputTree.Entry] { nodes[at].entries }
    /// The pointer to a place.
    func text(_ at: Int) -> String { texts[at] }

    /// The place to which a member's name leads; -1 if to none.
    func next(_ at: Int, _ token: JSONCursor.StringToken, _ bytes: Span<UInt8>) -> Int {
        let word = ShortWord(token, bytes)
        for edge in nodes[at].edges where words[edge] == word {
            guard let long = longs[edge] else { return nexts[edge] }
            if token.range.count <= long.count * JSONText.escapeBytesMax,
                JSONText.decoded(token, bytes) == long
            {
                return nexts[edge]
            }
        }
        return -1
    }
}

/// A value that was met at a named pointer: what it is and where it stands, unread.
struct InputToken {
    /// A `Kind` says what stands at the pointer.
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

    /// Returns where its bytes stand.
    var range: Range<Int> { Int(lower)..<Int(upper) }
    /// True if there is something, whatever it is.
    var isThere: Bool { kind != .absent }
}
