import RollcallCore

/// The keys by which a list of people can be sorted. The raw values stand in cursors.
enum ResponderSort: UInt8, CaseIterable, Sendable {
    case id = 0
    case region = 1
    case status = 2
    case since = 3
    case lastSeen = 4
    case silentFor = 5
    case cause = 6
    case battery = 7
    case platform = 8
    case manufacturer = 9
    case model = 10
    case osVersion = 11
    case appVersion = 12
    case duty = 13
    case network = 14
    case permission = 15
    case services = 16
    case power = 17
    case appState = 18
    /// Those come first whose id begins with what was searched for.
    case relevance = 19

    /// The word in a query.
    var word: StaticString {
        switch self {
        case .id: "id"
        case .region: "region"
        case .status: "status"
        case .since: "since"
        case .lastSeen: "last_seen"
        case .silentFor: "silent_for"
        case .cause: "cause"
        case .battery: "battery"
        case .platform: "platform"
        case .manufacturer: "manufacturer"
        case .model: "model"
        case .osVersion: "os_version"
        case .appVersion: "app_version"
        case .duty: "duty_state"
        case .network: "network_type"
        case .permission: "permission_status"
        case .services: "location_services"
        case .power: "power_mode"
        case .appState: "app_state"
        case .relevance: "relevance"
        }
    }

    private static let fields = Telemetry.places(of: allCases.map(\.word))

    /// The place in `Telemetry.fields` of the field that it is; nil of all others.
    fileprivate var field: Int? { Self.fields[Int(rawValue)] }
}

/// The value by which somebody is sorted.
struct ResponderKey: Equatable, Sendable {
    /// True of those of whom it is not known: they come last, whichever way.
    var isMissing = false
    var number: Int64 = 0
    var text: [UInt8] = []

    static let missing = ResponderKey(isMissing: true)

    /// A number's key.
    static func number(_ number: Int64) -> ResponderKey { ResponderKey(number: number) }

    /// A name's key; of an empty one nothing is known.
    static func name(_ text: [UInt8]) -> ResponderKey {
        text.isEmpty ? missing : ResponderKey(text: text)
    }
}

/// The order of a list of people: by a key, and by their ids where that is the same. Source: V12.
struct ResponderOrder: Equatable, Sendable {
    var sort: ResponderSort
    var isDescending = false

    /// Returns true if one with key `a` and the first id comes before one with `b` and the other.
    func precedes(
        _ a: ResponderKey, _ aID: some Sequence<UInt8>,
        _ b: ResponderKey, _ bID: some Sequence<UInt8>
    ) -> Bool {
        if a.isMissing != b.isMissing { return b.isMissing }
        if a.number != b.number { return (a.number < b.number) != isDescending }
        if a.text != b.text { return a.text.lexicographicallyPrecedes(b.text) != isDescending }
        let isTurned = isDescending && sort == .id
        return isTurned
            ? bID.lexicographicallyPrecedes(aID) : aID.lexicographicallyPrecedes(bID)
    }

    /// Returns the key of a person, whose id holds what was searched for at `place`.
    func key(_ number: Int, foundAt place: Int, _ engine: Engine) -> ResponderKey {
        let person = engine.roster[number]
        switch sort {
        case .id: return ResponderKey()
        case .relevance: return .number(place == 0 ? 0 : 1)
        case .region: return .name(engine.regions[person.region])
        case .status:
            return person.isActive ? .number(Int64(person.status.rawValue)) : .missing
        case .since: return Self.time(person.since)
        case .lastSeen: return Self.time(person.lastContactAt)
        case .silentFor:
            guard let since = engine.silentSince(person) else { return .missing }
            return .number(-since.milliseconds)
        case .cause:
            guard let cause = engine.suspicion(of: number)?.cause else { return .missing }
            return Self.word(cause.word)
        case .battery: return person.battery < 0 ? .missing : .number(Int64(person.battery))
        case .platform:
            return person.platform == .unknown ? .missing : Self.word(person.platform.word)
        case .manufacturer: return .name(engine.versions[UInt32(person.manufacturer)])
        case .model: return .name(engine.versions[UInt32(person.model)])
        case .osVersion: return .name(engine.versions[UInt32(person.osVersion)])
        case .appVersion: return .name(engine.versions[UInt32(person.appVersion)])
        case .duty: return person.duty == .none ? .missing : Self.word(person.duty.word)
        case .network, .permission, .services, .power, .appState:
            guard let place = sort.field else { return .missing }
            let field = Telemetry.fields[place]
            let value = Int(field.value(person.telemetry))
            return value == 0 ? .missing : Self.word(field.values[value])
        }
    }

    private static func time(_ time: Timestamp) -> ResponderKey {
        time > .distantPast ? .number(time.milliseconds) : .missing
    }

    private static func word(_ word: StaticString) -> ResponderKey {
        word.withUTF8Buffer { .name(Array($0)) }
    }
}

extension ResponderOrder {
    /// Reads a `sort`: a key, with `-` in front the other way round; nil if it is none.
    init?(_ text: String) {
        let isDescending = text.hasPrefix("-")
        let word = isDescending ? String(text.dropFirst()) : text
        guard
            let sort = ResponderSort.allCases.first(where: {
                $0 != .relevance && "\($0.word)" == word
            })
        else { return nil }
        self.init(sort: sort, isDescending: isDescending)
    }

    /// The words of all keys, for those who ask.
    static let words = ResponderSort.allCases.filter { $0 != .relevance }.map { "\($0.word)" }
}

/// The place of a page's last person in an order: whoever did not change since comes behind it or
/// does not. Nobody reads it but us. Source: V12.
struct ResponderCursor: Equatable, Sendable {
    let order: ResponderOrder
    let key: ResponderKey
    let id: [UInt8]

    /// It as the text of `next`.
    var text: [UInt8] {
        var bytes: [UInt8] = [
            order.sort.rawValue << 2 | (order.isDescending ? 2 : 0) | (key.isMissing ? 1 : 0)
        ]
        withUnsafeBytes(of: key.number.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(truncatingIfNeeded: key.text.count >> 8))
        bytes.append(UInt8(truncatingIfNeeded: key.text.count))
        bytes += key.text + id
        var text: [UInt8] = []
        Base64.append(bytes, to: &text)
        return text.compactMap { letter in
            switch letter {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: letter
            }
        }
    }

    init(order: ResponderOrder, key: ResponderKey, id: [UInt8]) {
        self.order = order
        self.key = key
        self.id = id
    }

    /// Reads the text of a `next`; nil if it is none.
    init?(_ text: [UInt8]) {
        var letters = text.map { letter in
            switch letter {
            case UInt8(ascii: "-"): UInt8(ascii: "+")
            case UInt8(ascii: "_"): UInt8(ascii: "/")
            default: letter
            }
        }
        letters += repeatElement(UInt8(ascii: "="), count: (4 - letters.count % 4) % 4)
        guard let bytes = Base64.decoded(letters.span, 0..<letters.count), bytes.count > 11,
            let sort = ResponderSort(rawValue: bytes[0] >> 2)
        else { return nil }
        let number = bytes[1..<9].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let end = 11 + Int(bytes[9]) << 8 + Int(bytes[10])
        guard end < bytes.count else { return nil }
        order = ResponderOrder(sort: sort, isDescending: bytes[0] & 2 > 0)
        key = ResponderKey(
            isMissing: bytes[0] & 1 > 0, number: Int64(bitPattern: number),
            text: Array(bytes[11..<end]))
        id = Array(bytes[end...])
    }
}
