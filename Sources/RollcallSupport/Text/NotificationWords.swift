import RollcallCore

/// The words that the formats share: bytes as text, and which labels and annotations go out.
///
/// Names that came from outside may hold anything. What is no UTF-8 is repaired before it is signed
/// or counted into a fingerprint, so that the receiver sees what was signed.
package enum NotificationWords {
    /// Bytes of a value at most; more is cut, with an ellipsis.
    static let valueBytesMax = 4096
    /// Bytes of a body at most: what PagerDuty takes. Source: its Events API v2.
    package static let bodyBytesMax = 512 << 10

    /// Bytes as text, not longer than a value may be.
    package static func text(_ bytes: [UInt8]) -> String {
        clipped(String(decoding: bytes, as: UTF8.self), bytesMax: valueBytesMax)
    }

    /// `text` cut between two characters, so that it fits with an ellipsis.
    package static func clipped(_ text: String, bytesMax: Int) -> String {
        guard text.utf8.count > bytesMax else { return text }
        let ellipsis = "…"
        var end = text.startIndex
        var count = ellipsis.utf8.count
        while end < text.endIndex {
            count += text[end].utf8.count
            if count > bytesMax { break }
            end = text.index(after: end)
        }
        return text[..<end] + ellipsis
    }

    /// Names and values without empty ones: to everybody in this field they mean the same as none,
    /// and Alertmanager drops them.
    package static func members(_ labels: [Label]) -> [JSONTree.Member] {
        labels.ordered().filter { !$0.value.isEmpty }.map {
            JSONTree.Member(name: text($0.name), value: .text(text($0.value)))
        }
    }

    /// The value of a label or an annotation as text; empty without one.
    package static func value(_ name: String, in labels: [Label]) -> String {
        text(labels.value(of: Array(name.utf8)))
    }

    /// The document's bytes.
    package static func bytes(_ tree: JSONTree) -> [UInt8] {
        var bytes: [UInt8] = []
        tree.append(to: &bytes)
        return bytes
    }
}
