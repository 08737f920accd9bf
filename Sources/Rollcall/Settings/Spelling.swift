/// Names that were probably meant.
enum Spelling {
    /// More changed letters than this are another word.
    private static let distanceMax = 3

    /// The nearest of `names` if it is near enough to be meant, as the end of a sentence.
    static func hint(for name: String, among names: some Sequence<String>) -> String {
        let nearest = names.sorted().map { (distance($0, name), $0) }.min { $0.0 < $1.0 }
        // Of a short name, half of the letters make another word.
        guard let nearest, nearest.0 <= min(distanceMax, name.count / 2) else { return "" }
        return ", did you mean \"\(nearest.1)\"?"
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
