import RollcallCore
import RollcallSupport
import Yams

/// A kind of value: how it is read, with its range, and how it is written.
struct SettingKind<Value>: Sendable {
    /// Reads the setting of a name in a section; the value stays as it is if nobody gives one.
    typealias Reading =
        @Sendable (inout ConfigurationTree, String, inout Value) throws(ConfigurationError) -> Void

    let read: Reading
    /// The value as a file has it; never a secret.
    let shown: @Sendable (Value) -> SettingValue
    /// The value as a `policy` line has it; nil if there is nothing to say.
    let replayed: @Sendable (Value) -> SettingValue?

    /// A kind with a reader of its own; in a `policy` line it stands as in a file if `replayed` does
    /// not say how else.
    init(
        shown: @escaping @Sendable (Value) -> SettingValue,
        replayed: (@Sendable (Value) -> SettingValue?)? = nil, read: @escaping Reading
    ) {
        self.read = read
        self.shown = shown
        self.replayed = replayed ?? { shown($0) }
    }

    /// A kind of one word, which a variable may give as well. `rule` says what `parse` wants.
    init(
        _ rule: String, shown: @escaping @Sendable (Value) -> SettingValue,
        replayed: (@Sendable (Value) -> SettingValue?)? = nil,
        parse: @escaping @Sendable (Node) -> Value?
    ) {
        self.init(shown: shown, replayed: replayed) {
            (tree, key, value) throws(ConfigurationError) in
            try tree.scalar(key, &value, rule: { _ in rule }, parse)
        }
    }
}

extension SettingKind where Value == String {
    /// A text that says something.
    static var text: SettingKind {
        SettingKind("must be a text", shown: { .word($0) }) { node in
            node.text.flatMap { $0.isEmpty ? nil : $0 }
        }
    }
}

extension SettingKind where Value: Equatable & Sendable {
    /// One of some words, each with what it means.
    static func word(_ words: [(String, Value)]) -> SettingKind {
        let rule = "must be one of \(words.map(\.0).joined(separator: ", "))"
        return SettingKind(
            shown: { value in .word(words.first { $0.1 == value }?.0 ?? "") },
            read: { (tree, key, value) throws(ConfigurationError) in
                try tree.scalar(
                    key, &value, rule: { $0.string?.isEmpty == false ? rule : "must be a text" }
                ) { node in
                    words.first { $0.0 == node.string }?.1
                }
            })
    }
}

extension SettingKind {
    /// A list of some words, one at least, each with what it means; only the file can give it.
    static func words<Element: Equatable & Sendable>(
        _ words: [(String, Element)]
    ) -> SettingKind where Value == [Element] {
        let rule = "must hold some of \(words.map(\.0).joined(separator: ", ")), each once"
        return SettingKind(
            shown: { value in
                .list(words.filter { value.contains($0.1) }.map { .word($0.0) })
            },
            read: { (tree, key, value) throws(ConfigurationError) in
                tree.sources.askedForList(tree.full(key))
                guard let node = tree.takeFromFile(key) else { return }
                guard case .sequence(let sequence) = node else {
                    throw tree.fault(key, "must be a list", "")
                }
                let read = sequence.map { element in words.first { $0.0 == element.text } }
                let named = words.filter { word in read.contains { $0?.0 == word.0 } }
                guard !named.isEmpty, named.count == read.count else {
                    throw tree.fault(key, rule, "")
                }
                value = named.map(\.1)
            })
    }
}

extension SettingKind where Value == [[UInt8]] {
    /// A list of names; only the file can give it.
    static var names: SettingKind {
        SettingKind(shown: { .list($0.map { .text($0) }) }) {
            (tree, key, value) throws(ConfigurationError) in
            tree.sources.askedForList(tree.full(key))
            guard let node = tree.takeFromFile(key) else { return }
            guard case .sequence(let sequence) = node else {
                throw tree.fault(key, "must be a list", "")
            }
            value = []
            for element in sequence {
                guard let name = element.text,
                    (1...ItemScanner.nameBytesMax).contains(name.utf8.count)
                else { throw tree.fault(key, "must hold names of 1 to 128 bytes", "") }
                value.append(Array(name.utf8))
            }
        }
    }
}

extension SettingKind where Value == Bool {
    static var flag: SettingKind {
        SettingKind("must be true or false", shown: { .plain("\($0)") }) { node in
            ["true": true, "false": false][node.string ?? ""]
        }
    }
}

extension SettingKind where Value == Int {
    static func integer(in range: ClosedRange<Int>) -> SettingKind {
        SettingKind(
            "must be an integer from \(range.lowerBound) to \(range.upperBound)",
            shown: { .plain("\($0)") }
        ) { node in
            node.decimalInteger.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// A count of bytes with its unit.
    static func size(in range: ClosedRange<Int>) -> SettingKind {
        let (least, most) = (
            SettingText.of(bytes: range.lowerBound), SettingText.of(bytes: range.upperBound)
        )
        return SettingKind(
            "must be a size such as 8MiB, from \(least) to \(most)",
            shown: { .word(SettingText.of(bytes: $0)) }
        ) { node in
            quantity(node, SettingText.sizeUnits, in: range)
        }
    }

    /// A rate, so many a second: `5/s`.
    static func rate(in range: ClosedRange<Int>) -> SettingKind {
        SettingKind(
            "must be a rate such as 5/s, from \(range.lowerBound)/s to \(range.upperBound)/s",
            shown: { .word("\($0)/s") }
        ) { node in
            quantity(node, [("/s", 1)], in: range)
        }
    }

    private static func quantity(
        _ node: Node, _ units: [(name: String, count: Int64)], in range: ClosedRange<Int>
    ) -> Int? {
        let count = SettingText.quantity(node.string ?? "", units).map { Int($0) }
        return count.flatMap { range.contains($0) ? $0 : nil }
    }
}

extension SettingKind where Value == Int64 {
    /// A share from 0 to 1, kept in ten-thousandths.
    static var share: SettingKind {
        SettingKind(
            "must be a number from 0 to 1 with at most four decimals",
            shown: { .plain("\(Double($0) / 10_000)") },
            replayed: { share in
                var digits: [UInt8] = []
                JSONWriter.fraction(share, to: &digits)
                return .plain(String(decoding: digits, as: UTF8.self))
            },
            parse: { node in
                let scaled = node.decimal.map { $0 * 10_000 } ?? -1
                guard let whole = Int64(exactly: scaled.rounded()), (0...10_000).contains(whole),
                    abs(scaled - Double(whole)) < 1e-6
                else { return nil }
                return whole
            })
    }
}

extension SettingKind where Value == Double {
    /// A number that multiplies a threshold.
    static var factor: SettingKind {
        SettingKind("must be a number from 0.1 to 100", shown: { .plain("\($0)") }) { node in
            node.decimal.flatMap { (0.1...100).contains($0) ? $0 : nil }
        }
    }
}

extension SettingKind where Value == Milliseconds {
    static func duration(
        from least: Milliseconds = Milliseconds(1),
        to most: Milliseconds = ConfigurationTree.durationMax
    ) -> SettingKind {
        let range = "from \(SettingText.of(least)) to \(SettingText.of(most))"
        return SettingKind(
            "must be a duration such as 1500ms, 90s, 2m30s, 4h or 30d, \(range)",
            shown: { .word(SettingText.of($0)) }
        ) { node in
            SettingText.duration(node.string ?? "").flatMap { $0 < least || $0 > most ? nil : $0 }
        }
    }
}

extension Node {
    /// The text that this is; nil if it is plainly null, which says that there is none.
    var text: String? {
        if let scalar, scalar.style == .plain, null != nil { return nil }
        return string
    }

    /// The whole number that this is, in decimal digits: `0x10` and `1:30` are numbers to some readers of
    /// YAML and texts to others.
    var decimalInteger: Int? { isDecimal ? string.flatMap { Int($0) } : nil }

    /// The number that this is, in decimal digits.
    var decimal: Double? {
        isDecimal ? string.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } : nil
    }

    private var isDecimal: Bool {
        string?.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
                true
            default: false
            }
        } ?? false
    }
}
