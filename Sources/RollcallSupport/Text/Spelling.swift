/// Names that were probably meant.
package enum Spelling {
    /// More changed letters than this are another word.
    private static let distanceMax = 3

    /// A name that is less than this begins too many others.
    private static let stemMin = 4

    /// The nearest of `names` if it is near enough to be meant, as the end of a sentence.
    package static func hint(for name: String, among names: some Sequence<String>) -> String {
        let plain = plain(name)
        let nearest = names.sorted().map { (distance(Self.plain($0), plain), $0) }
            .min { $0.0 < $1.0 }
        // Of a short name, half of the letters make another word.
        if let nearest, nearest.0 <= min(distanceMax, name.count / 2) { return words(nearest.1) }
        // What was left off, or put on, may be long.
        let stem = names.sorted().filter { isStem(Self.plain($0), plain) }
            .min { abs($0.count - name.count) < abs($1.count - name.count) }
        return stem.map(words) ?? ""
    }

    /// The setting among `keys`, from the top on, that is called `name` and stands elsewhere than
    /// below `path`, as the end of a sentence.
    package static func hint(for name: String, below path: String, among keys: [String]) -> String {
        let plain = plain(name)
        let namesakes = keys.filter { key in
            key.split(separator: ".").last.map { Self.plain(String($0)) } == plain
        }
        let near = namesakes.first { !path.isEmpty && $0.hasPrefix(path + ".") }
        return (near ?? namesakes.first).map(words) ?? ""
    }

    private static func words(_ name: String) -> String { ", did you mean \"\(name)\"?" }

    /// Without what people confuse: `listenAddress` is `listen_address`.
    private static func plain(_ name: String) -> String {
        String(name.lowercased().filter { $0 != "_" && $0 != "-" })
    }

    private static func isStem(_ a: String, _ b: String) -> Bool {
        min(a.count, b.count) >= stemMin && (a.hasPrefix(b) || b.hasPrefix(a))
    }

    /// Returns how many letters must be changed, added or dropped (Levenshtein).
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
