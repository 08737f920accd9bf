import RollcallCore

/// Conditions on labels as people write them: `name=value`, `name!=value`, `name=a|b`.
/// Source: A7.
package enum MatcherText {
    /// Conditions of one receiver, or one silence, at most.
    package static let countMax = 32
    /// Values of one condition at most.
    static let valuesMax = 64
    /// Bytes of a name, and of a value, at most.
    static let bytesMax = 1024

    /// The reason why a text is no condition.
    package struct Fault: Error, Equatable {
        package let reason: String

        /// Whoever reads conditions says what one must be like.
        package init(reason: String) { self.reason = reason }
    }

    /// Reads one condition. Quotes around the value, as Prometheus has them, are let go.
    /// - Throws: `Fault` if it is like none of `name=value`, `name!=value` and `name=a|b`, or too
    ///   long.
    package static func matcher(_ text: String) throws(Fault) -> LabelMatcher {
        guard let place = text.firstIndex(of: "=") else {
            throw Fault(reason: "must be like name=value, name!=value or name=a|b")
        }
        var name = text[..<place]
        let isEqual = name.last != "!"
        if !isEqual { name.removeLast() }
        var value = text[text.index(after: place)...]
        if name.hasSuffix("!") || value.hasPrefix("~") || name.hasSuffix("~") {
            throw Fault(reason: "regular expressions are not understood: name=a|b is any of them")
        }
        if value.count >= 2, value.first == "\"", value.last == "\"" {
            value = value.dropFirst().dropLast()
        }
        return try matcher(name: String(name), isEqual: isEqual, value: String(value))
    }

    /// Makes a condition of its parts; a value may be several, with `|` between them.
    /// - Throws: `Fault` if the name is none, or it holds too many or too long values.
    package static func matcher(
        name: String, isEqual: Bool, value: String
    ) throws(Fault) -> LabelMatcher {
        guard isName(name) else {
            throw Fault(
                reason: "must begin with a label's name of letters, digits and _, no digit first")
        }
        let values = value.split(separator: "|", omittingEmptySubsequences: false)
        guard values.count <= valuesMax, name.utf8.count <= bytesMax,
            values.allSatisfy({ $0.utf8.count <= bytesMax })
        else {
            throw Fault(reason: "must hold at most \(valuesMax) values of \(bytesMax) bytes")
        }
        return LabelMatcher(
            name: Array(name.utf8), isEqual: isEqual, values: values.map { Array($0.utf8) })
    }

    /// The word for `never`, in the place of conditions.
    package static let none = "none"

    /// The condition as it would be read.
    package static func text(_ matcher: LabelMatcher) -> String {
        let values = matcher.values.map { String(decoding: $0, as: UTF8.self) }
        let name = String(decoding: matcher.name, as: UTF8.self)
        return "\(name)\(matcher.isEqual ? "=" : "!=")\(values.joined(separator: "|"))"
    }

    /// True for what Prometheus takes as a label's name.
    package static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }
}

extension LabelMatcher {
    /// The condition that no alert meets: of a receiver that is only somebody's fallback.
    package static let never = LabelMatcher(name: [], values: [])
}
