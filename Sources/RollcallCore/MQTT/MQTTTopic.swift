/// Names of topics, and filters that subscribe to them. Source: MQTT 3.1.1 §1.5.3, §4.7.
package enum MQTTTopic {
    /// Bytes of a name or filter at most: its length is written in two bytes (§1.5.3).
    package static let bytesMax = 65535

    /// True for a name that a message may have.
    package static func isName(_ name: [UInt8]) -> Bool {
        isText(name)
            && !name.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") }
    }

    /// True for a filter: `#` stands alone in the last level only, `+` alone in its level.
    package static func isFilter(_ filter: [UInt8]) -> Bool {
        guard isText(filter) else { return false }
        let levels = levels(filter)
        return levels.indices.allSatisfy { index in
            let level = levels[index]
            if level.contains(UInt8(ascii: "#")) {
                return level.count == 1 && index == levels.count - 1
            }
            return !level.contains(UInt8(ascii: "+")) || level.count == 1
        }
    }

    /// True if messages on the topic `name` come by a subscription to `filter`.
    ///
    /// "The Server MUST NOT match Topic Filters starting with a wildcard character (# or +) with Topic
    /// Names beginning with a $ character" (§4.7.2).
    package static func matches(_ name: [UInt8], _ filter: [UInt8]) -> Bool {
        if name.first == UInt8(ascii: "$"), filter.first != name.first { return false }
        var names = levels(name)[...]
        for level in levels(filter) {
            if level.elementsEqual([UInt8(ascii: "#")]) { return true }
            guard let own = names.popFirst() else { return false }
            guard level.elementsEqual([UInt8(ascii: "+")]) || level == own else { return false }
        }
        return names.isEmpty
    }

    private static func isText(_ text: [UInt8]) -> Bool {
        (1...bytesMax).contains(text.count) && !text.contains(0)
            && String(validating: text, as: UTF8.self) != nil
    }

    private static func levels(_ text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }
}
