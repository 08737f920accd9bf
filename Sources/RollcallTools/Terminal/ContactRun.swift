import RollcallCore
import RollcallSupport

/// Contacts one after the other that say the same of the phone.
struct ContactRun {
    /// The least age of a capture at its contact that is told with its times: it had waited.
    private static let waitMin = Milliseconds.seconds(60)

    private let style: ConsoleStyle
    private var contacts: [JSONTree] = []

    init(_ style: ConsoleStyle) { self.style = style }

    /// Takes a contact that goes on with this run; false if it does not.
    mutating func takes(_ event: JSONTree) -> Bool {
        if let last = contacts.last {
            let isSame =
                GapWording.phrases(event["facts"] ?? .null)
                == GapWording.phrases(last["facts"] ?? .null)
            guard isSame, !hasWaited(event), !hasWaited(last) else { return false }
        }
        contacts.append(event)
        return true
    }

    /// Returns what was taken, as one sentence; the run is empty then.
    mutating func end() -> ExplanationStory.Part? {
        guard let first = contacts.first, let last = contacts.last else { return nil }
        defer { contacts = [] }
        let at = first["at"]?.instant
        var text = "Contact"
        if contacts.count > 1 {
            let until = last["at"]?.instant.map { " until \(style.time($0, beside: at ?? $0))" }
            text = "\(contacts.count) contacts\(until ?? "")"
        }
        text += updates
        if let received = first["received_at"]?.instant, let at, contacts.count == 1,
            at - received > .seconds(2)
        {
            text += ", heard by your backend at \(style.time(received, beside: at))"
        }
        let facts = GapWording.known(last["facts"] ?? .null)
        return ExplanationStory.Part(at: at, text: text + (facts.map { "; \($0)." } ?? "."))
    }

    private var updates: String {
        let count = contacts.reduce(0) { $0 + ($1["updates"]?.whole ?? 0) }
        guard count > 0 else { return " without an update" }
        let cached = contacts.reduce(0) { $0 + ($1["cached"]?.whole ?? 0) }
        var text = ", \(count) update\(count == 1 ? "" : "s")"
        if cached > 0 { text += " (\(cached) from a cache)" }
        guard contacts.count == 1, hasWaited(contacts[0]), let captured = contacts[0]["captured"],
            let first = captured["first"]?.instant, let last = captured["last"]?.instant
        else { return text }
        let at = contacts[0]["at"]?.instant ?? last
        return first == last
            ? text + " captured \(style.time(first, beside: at))"
            : text + " captured \(style.time(first, beside: at))–\(style.time(last, beside: at))"
    }

    private func hasWaited(_ event: JSONTree) -> Bool {
        guard let first = event["captured"]?["first"]?.instant, let at = event["at"]?.instant
        else { return false }
        return at - first > Self.waitMin
    }
}
