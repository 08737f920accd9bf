/// A field that nobody knows, in the words of an answer: its name, cut, and what was probably meant.
/// Its value is neither read nor kept. Source: P3.
package struct UnknownField: Sendable {
    /// The place of a field in an item.
    enum Parent {
        case item
        case telemetry
        /// The update at this place.
        case update(Int)

        /// Its row in `known`.
        fileprivate var row: Int {
            switch self {
            case .item: 0
            case .telemetry: 1
            case .update: 2
            }
        }
    }

    /// Fields of one item that are named at most.
    package static let namedMax = 5
    /// Bytes of a name that are repeated at most.
    private static let nameBytesMax = 64
    /// A name within so many changes of a known one is probably that one.
    private static let changesMax = 2

    /// Its JSON pointer, from the item on.
    package let pointer: String
    /// The text about it.
    package let detail: String

    /// Describes the field that `token` names in an item of `kind`.
    init(
        _ token: JSONCursor.StringToken, _ parent: Parent, _ kind: ItemKind, _ body: Span<UInt8>
    ) {
        // What is cut away need not be decoded: an escape takes six bytes at most.
        var token = token
        let most = token.range.lowerBound + (Self.nameBytesMax + 1) * 6
        if !token.isEscaped, token.range.upperBound > most {
            token.range = token.range.lowerBound..<most
        }
        let name = JSONText.decoded(token, body)
        let shown = Self.escaped(Self.cut(name))
        let folded = Self.folded(name.prefix(Self.nameBytesMax))
        switch parent {
        case .item: pointer = "/\(shown)"
        case .telemetry: pointer = "/telemetry/\(shown)"
        case .update(let index): pointer = "/updates/\(index)/\(shown)"
        }
        detail = Self.detail(folded, Self.candidates(parent, kind))
    }

    /// Describes the member `name` of a small document that knows `known`.
    package init(name: [UInt8], among known: [String]) {
        pointer = "/\(Self.escaped(Self.cut(name)))"
        let folded = Self.folded(name.prefix(Self.nameBytesMax))
        detail = Self.detail(folded, known.map { KnownName($0, $0) })
    }

    /// True for the name of a place on earth, which is no unknown field (I8).
    package static func isPlace(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        let token = JSONCursor.StringToken(range: 0..<bytes.count, isEscaped: false)
        return ItemField.isPrivate(ShortWord(token, bytes.span))
    }

    private static func detail(_ folded: [UInt8], _ candidates: [KnownName]) -> String {
        let meant = meant(folded, candidates)
        return meant.map { "unknown field; \($0) is meant?" } ?? "unknown field"
    }

    // MARK: - What was meant

    /// A name that is known, as it is compared and as it is told.
    private struct KnownName: Sendable {
        let folded: [UInt8]
        /// The letters and digits in it, a bit each.
        let letters: UInt64
        let text: String

        /// The field `name`, of which `text` tells.
        init(_ name: String, _ text: String) {
            folded = UnknownField.folded(name.utf8)
            letters = UnknownField.letters(folded)
            self.text = text
        }
    }

    private static let telemetry = [
        "permission_status", "location_services", "power_mode", "app_state", "queue_depth",
        "network_type",
    ].map { KnownName($0, "telemetry.\($0)") }
    private static let updates = ["sequence", "captured_at", "fix"].map {
        KnownName($0, "updates[].\($0)")
    }

    /// The names that are known, by kind and place: made once, as a backend that sends a field of its
    /// own sends it with each batch.
    private static let known = (0...ItemKind.nobody.rawValue).map { raw in
        [Parent.item, .telemetry, .update(0)].map { parent in
            ItemKind(rawValue: raw).map { names($0, parent) } ?? []
        }
    }

    /// The names that are known, those of the same place first.
    private static func names(_ kind: ItemKind, _ parent: Parent) -> [KnownName] {
        let fields = (0..<ItemField.privateField.rawValue).compactMap { ItemField(rawValue: $0) }
        let names = fields.filter { $0.isKnown(kind) }.map { $0.name(kind) }
        let beside =
            switch parent {
            case .item: ""
            case .telemetry: " beside telemetry"
            case .update: " beside updates"
            }
        let own = names.map { KnownName($0, $0 + beside) }
        guard kind == .batch else { return own }
        return switch parent {
        case .item: own + telemetry + updates
        case .telemetry: telemetry + own + updates
        case .update: updates + own + telemetry
        }
    }

    private static func candidates(_ parent: Parent, _ kind: ItemKind) -> [KnownName] {
        known[Int(kind.rawValue)][parent.row]
    }

    /// The candidate that is the same but for case and separators, else the first that is nearly.
    private static func meant(_ name: [UInt8], _ candidates: [KnownName]) -> String? {
        if let same = candidates.first(where: { $0.folded == name }) { return same.text }
        if let other = others.first(where: { $0.name == name }),
            let known = candidates.first(where: { $0.folded == other.known })
        {
            return known.text
        }
        guard name.count > 2 * changesMax else { return nil }
        let letters = letters(name)
        return candidates.first {
            // A replacement takes one letter away and brings another.
            ($0.letters ^ letters).nonzeroBitCount <= 2 * changesMax
                && $0.folded.count > 2 * changesMax && areNear($0.folded, name)
        }?.text
    }

    /// Names that others give to fields which we know.
    private static let others: [(name: [UInt8], known: [UInt8])] = [
        ("deviceid", "responder_id"), ("userid", "responder_id"), ("driverid", "responder_id"),
        ("seq", "sequence"), ("sequenceno", "sequence"), ("sequencenumber", "sequence"),
        ("timestamp", "captured_at"), ("recordedat", "captured_at"), ("time", "captured_at"),
        ("timestamp", "at"), ("battery", "battery_level"), ("permission", "permission_status"),
        ("network", "network_type"), ("status", "duty_state"), ("circle", "circles"),
        ("os", "platform"), ("locations", "updates"), ("brand", "manufacturer"),
        ("make", "manufacturer"), ("vendor", "manufacturer"),
        ("devicemanufacturer", "manufacturer"), ("devicemodel", "model"), ("phonemodel", "model"),
        ("devicename", "model"),
    ].map { (Array($0.utf8), folded($1.utf8)) }

    /// The letters and digits of a folded name, a bit each; all else is one more.
    private static func letters(_ name: [UInt8]) -> UInt64 {
        name.reduce(0) { letters, byte in
            let place =
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(byte - UInt8(ascii: "a"))
                case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0")) + 26
                default: UInt64(63)
                }
            return letters | 1 &<< place
        }
    }

    /// Letters in lower case and digits; the rest are separators.
    private static func folded(_ name: some Sequence<UInt8>) -> [UInt8] {
        name.compactMap { byte in
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte | 0x20
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): byte
            default: byte < 0x80 ? nil : byte
            }
        }
    }

    /// True if at most two insertions, deletions or replacements lie between them.
    private static func areNear(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard abs(a.count - b.count) <= changesMax else { return false }
        var row = Array(0...b.count)
        for (i, byte) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for j in b.indices {
                let replaced = diagonal + (byte == b[j] ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(replaced, row[j] + 1, diagonal + 1)
            }
        }
        return row[b.count] <= changesMax
    }

    // MARK: - The name

    /// The first bytes of a name, and no half character.
    private static func cut(_ name: [UInt8]) -> [UInt8] {
        guard name.count > nameBytesMax else { return name }
        var end = nameBytesMax
        while end > 0, name[end] & 0xC0 == 0x80 { end -= 1 }
        return Array(name[..<end])
    }

    /// As a JSON pointer writes it (RFC 6901).
    private static func escaped(_ name: [UInt8]) -> String {
        var bytes: [UInt8] = []
        for byte in name {
            switch byte {
            case UInt8(ascii: "~"): bytes += Array("~0".utf8)
            case UInt8(ascii: "/"): bytes += Array("~1".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ItemField {
    /// True if it means something in an item of `kind`; those that stand beside the telemetry are not
    /// asked.
    fileprivate func isKnown(_ kind: ItemKind) -> Bool {
        switch self {
        case .responderID, .reportedAt: true
        case .dutyState, .region, .circles, .sharing, .platform: kind != .transition
        case .osVersion, .appVersion, .manufacturer, .model, .installID, .batteryLevel, .telemetry,
            .updates, .nextExpectedIn:
            kind == .batch
        case .pausedUntil, .pushToken, .nudgeSound: kind == .responder || kind == .rosterEntry
        case .from, .to, .transitionID, .reason: kind == .transition
        default: false
        }
    }
}
