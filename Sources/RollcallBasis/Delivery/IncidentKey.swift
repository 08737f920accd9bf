import RollcallCore

/// The key of an incident, by which pagers know it: its store's number and its own. Source: A9, D11.
package struct IncidentKey: Equatable, Sendable {
    /// The store's number; nil where the incident alone is named, as in answers of ours.
    package let store: UInt64?
    /// The number of the firing, or of the storm.
    package let incident: Int64

    private static let head = "rollcall-"

    /// Returns the key of an incident that is named by `word` in a store.
    static func text(_ store: UInt64, _ word: String) -> String {
        "\(head)\(NotificationPayload.hexadecimal(store))-\(word)"
    }

    /// Returns the key of a firing, or of a storm of alerts of a name.
    package static func text(
        _ store: UInt64, _ incident: Int64, ofStorm name: AlertName? = nil
    ) -> String {
        text(store, name.map { "\($0.word)-\(incident)" } ?? "\(incident)")
    }

    /// Reads a key as a pager has it, of a firing (`rollcall-STORE-7`), of one that a fallback was given
    /// (`rollcall-STORE-7-NAME`) or of a storm (`rollcall-STORE-NAME-7`), or a number; nil if it is none.
    package init?(_ text: String) {
        if let number = Int64(text), number > 0, text.utf8.first != UInt8(ascii: "+") {
            (store, incident) = (nil, number)
            return
        }
        guard text.hasPrefix(Self.head) else { return nil }
        let rest = text.dropFirst(Self.head.count)
        let digits = rest.prefix(16)
        guard digits.utf8.count == 16, digits.utf8.first != UInt8(ascii: "+"),
            let store = UInt64(digits, radix: 16)
        else { return nil }
        let parts = rest.dropFirst(17).split(separator: "-", omittingEmptySubsequences: false)
        let isStorm = parts.count == 2 && AlertName.allCases.contains { "\($0.word)" == parts[0] }
        guard rest.dropFirst(16).first == "-",
            let word = isStorm ? parts.last : parts.first,
            let number = Int64(word), number > 0, word.utf8.first != UInt8(ascii: "+")
        else { return nil }
        (self.store, incident) = (store, number)
    }
}
