import RollcallCore
import RollcallSupport

/// An answer of Expo's push service. Source: Expo, "Push tickets", "Push receipts" and "Push
/// errors".
struct ExpoAnswer {
    /// Bytes of a ticket's id at most; Expo's have 36.
    static let ticketBytesMax = 128
    /// Bytes of an error's name at most.
    private static let nameBytesMax = 64

    private let tree: JSONTree?

    /// Reads a body; what is no JSON says nothing.
    init(_ body: [UInt8]) { tree = try? JSONTree(reading: body) }

    /// The reason why the whole request was refused; nil if it says nothing of that, or has answers
    /// as well.
    var refusal: String? {
        // Not compared with nil, which would be a tree of its own.
        if case .some = tree?["data"] { return nil }
        guard let first = tree?["errors"]?.elements.first else { return nil }
        return [first["code"]?.text, first["message"]?.text].compactMap { $0 }
            .joined(separator: ": ")
    }

    // MARK: - Tickets

    /// Returns what became of each of `count` messages, in their order; nil unless there is an
    /// answer for each, as nobody could say whose is missing.
    func tickets(_ count: Int) -> [(verdict: PushVerdict, words: String?)]? {
        guard case .list(let tickets) = tree?["data"], tickets.count == count else { return nil }
        return tickets.map(Self.ticket)
    }

    private static func ticket(_ ticket: JSONTree) -> (verdict: PushVerdict, words: String?) {
        switch ticket["status"]?.text {
        case "ok":
            guard let id = ticket["id"]?.text, isTicket(id) else {
                return (.unknown, "a ticket without an id")
            }
            return (.ticketed(Array(id.utf8)), nil)
        case "error":
            let name = name(of: ticket)
            let words = [name, ticket["message"]?.text].compactMap { $0 }.joined(separator: ": ")
            return (name == unregistered ? .unregistered : .refused(retryAfter: nil), words)
        default: return (.unknown, "a ticket without a status")
        }
    }

    private static func isTicket(_ id: String) -> Bool {
        (1...ticketBytesMax).contains(id.utf8.count)
            && id.utf8.allSatisfy { (0x21...0x7E) ~= $0 }
    }

    // MARK: - Receipts

    /// Returns what each ticket's receipt says, in their order, and the names of the errors among
    /// them; nil if these are no receipts.
    func receipts(
        _ tickets: [[UInt8]]
    ) -> (verdicts: [ReceiptVerdict], errors: [String])? {
        guard case .object(let members) = tree?["data"] else { return nil }
        var receipts: [String: JSONTree] = [:]
        for member in members { receipts[member.name] = member.value }
        var errors: Set<String> = []
        let verdicts = tickets.map { ticket -> ReceiptVerdict in
            let receipt = receipts[String(decoding: ticket, as: UTF8.self)]
            switch receipt?["status"]?.text {
            case "ok": return .delivered
            case "error":
                let name = receipt.flatMap(Self.name) ?? "an error without a name"
                errors.insert(name)
                return name == Self.unregistered ? .unregistered : .failed
            default: return .notReady
            }
        }
        return (verdicts, errors.sorted())
    }

    /// The one error that is about the phone.
    private static let unregistered = "DeviceNotRegistered"

    private static func name(of answer: JSONTree) -> String? {
        answer["details"]?["error"]?.text.map {
            NotificationWords.clipped($0, bytesMax: nameBytesMax)
        }
    }
}
