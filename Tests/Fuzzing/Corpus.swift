import Glibc

/// A folder of inputs, as libFuzzer reads and extends it.
struct Corpus {
    let folder: String

    /// Puts samples there; false if that cannot be done.
    func write(_ samples: [[UInt8]]) -> Bool {
        mkdir(folder, 0o755)
        for (place, sample) in samples.enumerated() {
            guard write(sample, to: "\(folder)/sample-\(place)") else { return false }
        }
        return true
    }

    /// The option that hands over the words of the samples: what is between quotes.
    func words(_ samples: [[UInt8]]) -> [String] {
        var words: Set<[UInt8]> = []
        for sample in samples {
            let parts = sample.split(
                separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
            for (place, part) in parts.enumerated() where place % 2 == 1 {
                let isWord = part.allSatisfy { (0x20...0x7E) ~= $0 && $0 != UInt8(ascii: "\\") }
                if isWord, (2...40).contains(part.count) { words.insert(Array(part)) }
            }
        }
        if words.isEmpty { return [] }
        let lines = words.map { "\"\(String(decoding: $0, as: UTF8.self))\"\n" }.sorted()
        // Beside the folder: in it, it would be an input.
        let path = "\(folder).words"
        return write(Array(lines.joined().utf8), to: path) ? ["-dict=\(path)"] : []
    }

    private func write(_ bytes: [UInt8], to path: String) -> Bool {
        guard let file = fopen(path, "w") else { return false }
        let written = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && written == bytes.count
    }
}
