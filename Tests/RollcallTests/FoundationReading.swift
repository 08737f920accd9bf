import Foundation
import RollcallCore

/// A batch as a reader understands it, whoever that is; nil stands for what it does not say.
struct ReadBatch: Equatable {
    struct Update: Equatable {
        var sequence: Int64
        var capturedAt: Int64?
        var isCached: Bool
    }

    var responderID = ""
    var receivedAt: Int64?
    /// The codes of duty state, sharing and platform.
    var words: [UInt8?] = [nil, nil, nil]
    var region: String?
    var circles: [String]?
    var versions: [String?] = [nil, nil]
    var installID: String?
    var battery: Int?
    /// The codes of the five words, and the queue's depth, or -1.
    var telemetry: [Int64]?
    /// Seconds that are promised; 0 for nothing.
    var promise = 0
    var updates: [Update] = []

    /// What the scanner took, in the order of the body; nil where it took nothing.
    static func all(_ scan: ScanResult) -> [ReadBatch?] {
        var all = [ReadBatch?](repeating: nil, count: scan.itemCount)
        for (index, place) in scan.places.enumerated() {
            all[Int(place)] = scan.items.item(index).map { ReadBatch($0, scan.items.bytes) }
        }
        return all
    }

    private init(_ item: Item, _ bytes: [UInt8]) {
        func text(_ range: ByteRange?) -> String? {
            range.map { String(decoding: bytes[$0.indices], as: UTF8.self) }
        }
        responderID = text(item.responderID) ?? ""
        receivedAt = item.reportedAt?.milliseconds
        words = [item.duty?.rawValue, item.sharing?.rawValue, item.platform?.rawValue]
        region = text(item.region)
        circles = item.circles.map { range in
            CircleNames.names(Array(bytes[range.indices])).map {
                String(decoding: $0, as: UTF8.self)
            }
        }
        versions = [text(item.osVersion), text(item.appVersion)]
        installID = text(item.installID)
        battery = item.battery.map { Int($0) }
        promise = Int(item.promise)
        telemetry = item.telemetry.map { told in
            let depth = told.queueDepth
            return Telemetry.fields.map { Int64($0.value(told)) }
                + [depth == Telemetry.queueDepthUnknown ? -1 : Int64(depth)]
        }
        var reader = UpdateReader(item)
        while let update = reader.next(bytes.span) {
            updates.append(
                Update(
                    sequence: update.sequence, capturedAt: update.capturedAt?.milliseconds,
                    isCached: update.isCached))
        }
    }

    init() {}
}

/// A body as Foundation's decoder reads it, and what I12 makes of that, in the plainest words.
struct FoundationReading {
    /// Nil where nothing is taken.
    let batches: [ReadBatch?]
    /// Places on earth, wherever they stand, and not what is within them.
    let privateFields: Int

    private static let privateNames: Set<String> = [
        "lat", "lng", "lon", "geo", "latitude", "longitude", "coords", "coordinates", "location",
        "altitude", "heading", "speed",
    ]

    /// Nil if the decoder refuses the body.
    init?(_ body: [UInt8]) {
        guard let value = try? JSONDecoder().decode(Value.self, from: Data(body)) else {
            return nil
        }
        var items = [value]
        if case .list(let values) = value { items = values }
        batches = items.map(Self.batch)
        privateFields = items.map(Self.privateFields).reduce(0, +)
    }

    /// Whatever JSON can say.
    private indirect enum Value: Decodable {
        case null
        case boolean(Bool)
        case number(Double, Int64?)
        case text(String)
        case list([Value])
        case object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .boolean(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value, try? container.decode(Int64.self))
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let values = try? container.decode([Value].self) {
                self = .list(values)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }

        var isNull: Bool { if case .null = self { true } else { false } }
        var text: String? { if case .text(let text) = self { text } else { nil } }
        var natural: Int64? {
            guard case .number(_, let value?) = self, value >= 0 else { return nil }
            return value
        }
    }

    private static func privateFields(_ value: Value) -> Int {
        switch value {
        case .list(let values): values.map(privateFields).reduce(0, +)
        case .object(let members):
            members.map { privateNames.contains($0.key) ? 1 : privateFields($0.value) }
                .reduce(0, +)
        default: 0
        }
    }

    // MARK: - Batches

    private static func batch(_ value: Value) -> ReadBatch? {
        guard case .object(let all) = value else { return nil }
        let members = all.filter { !$0.value.isNull }
        guard let id = name(members["responder_id"]) ?? numberedID(members["responder_id"]) else {
            return nil
        }
        var batch = ReadBatch()
        batch.responderID = id
        batch.receivedAt = members["received_at"].flatMap(time)
        if members["received_at"] != nil, batch.receivedAt == nil { return nil }
        batch.words = [
            code(
                members["duty_state"],
                ["ON_DUTY": DutyState.onDuty, "ON_MISSION": .onMission, "OFF_DUTY": .offDuty]
                    .mapValues(\.rawValue), nil),
            code(members["sharing"], ["active": 0, "paused": 1], nil),
            code(members["platform"], ["ios": 1, "android": 2], Platform.other.rawValue),
        ]
        batch.region = name(members["region"])
        batch.circles = circles(members["circles"])
        batch.versions = [name(members["os_version"]), name(members["app_version"])]
        batch.installID = name(members["install_id"])
        if case .number(let level, _) = members["battery_level"], (0...1).contains(level) {
            batch.battery = Int((level * 10_000).rounded())
        }
        batch.promise = promise(members["next_expected_in"])
        batch.telemetry = telemetry(members)
        if case .list(let updates) = members["updates"] {
            batch.updates = updates.compactMap(update)
        }
        return batch
    }

    /// A positive number of seconds, rounded up, or one of the durations that are tried here.
    private static func promise(_ value: Value?) -> Int {
        switch value {
        case .number(let seconds, _) where seconds > 0: Int(min(seconds.rounded(.up), 65_535))
        case .text("15m"): 900
        case .text("1h30m"): 5400
        case .text("2500ms"): 3
        case .text("3d"): 65_535
        default: 0
        }
    }

    /// A natural number; none is drawn that a double holds and an integer does not.
    private static func numberedID(_ value: Value?) -> String? {
        value?.natural.map { "\($0)" }
    }

    /// 1 to 128 bytes without control characters.
    private static func name(_ value: Value?) -> String? {
        guard let text = value?.text, (1...128).contains(text.utf8.count) else { return nil }
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            !(0...0x1F).contains(scalar.value) && !(0x7F...0x9F).contains(scalar.value)
        }
        return isPlain ? text : nil
    }

    private static func code(_ value: Value?, _ codes: [String: UInt8], _ other: UInt8?) -> UInt8? {
        guard let text = value?.text else { return nil }
        return codes[text] ?? other
    }

    private static func circles(_ value: Value?) -> [String]? {
        guard case .list(let values) = value else { return nil }
        let names = Set(values.compactMap { name($0) }.prefix(64).map { Array($0.utf8) })
        return names.sorted { $0.lexicographicallyPrecedes($1) }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static let telemetryNames = [
        "permission_status", "location_services", "power_mode", "app_state", "network_type",
        "queue_depth",
    ]

    /// What stands inside `telemetry` wins over what stands beside it.
    private static func telemetry(_ members: [String: Value]) -> [Int64]? {
        let inside = telemetry(inside: members["telemetry"])
        let isBeside = telemetryNames.contains { members[$0] != nil }
        guard isBeside, let beside = telemetry(inside: .object(members)) else { return inside }
        guard let inside else { return beside }
        return zip(inside, beside).enumerated().map { place, told in
            told.0 == (place == inside.count - 1 ? -1 : 0) ? told.1 : told.0
        }
    }

    private static func telemetry(inside value: Value?) -> [Int64]? {
        guard case .object(let members) = value else { return nil }
        let words: [[String]] = [
            ["granted", "denied"], [], ["normal", "low_power"],
            // In the empty place stands whatever is none of them.
            ["foreground", "background", "", "suspended", "terminated"],
            ["wifi", "cellular", "none"],
        ]
        let names = [
            "permission_status", "location_services", "power_mode", "app_state", "network_type",
        ]
        var told = zip(names, words).map { name, words -> Int64 in
            if name == "location_services" {
                guard case .boolean(let isOn) = members[name] else { return 0 }
                return isOn ? 1 : 2
            }
            guard let text = members[name]?.text else { return 0 }
            let other = words.firstIndex(of: "") ?? words.count
            return Int64((text.isEmpty ? other : words.firstIndex(of: text) ?? other) + 1)
        }
        let depth = members["queue_depth"]?.natural
        told.append(depth.map { min($0, Int64(UInt32.max) - 1) } ?? -1)
        return told
    }

    private static func update(_ value: Value) -> ReadBatch.Update? {
        guard case .object(let members) = value else { return nil }
        let captured = members["captured_at"].flatMap(time)
        var sequence = members["sequence"]?.natural
        if sequence == nil {
            switch members["sequence"] {
            case nil, .null: sequence = captured == nil ? nil : -1
            default: break
            }
        }
        guard let sequence else { return nil }
        return ReadBatch.Update(
            sequence: sequence, capturedAt: captured,
            isCached: members["fix"]?.text == "cached")
    }

    // MARK: - Times

    private static let last: Int64 = 253_402_300_799_999

    private static func time(_ value: Value) -> Int64? {
        switch value {
        case .number(let number, _):
            guard number >= 0, number < 1e14 else { return nil }
            // A double holds ten digits and three decimals, nearly: half of the last one is far.
            return number < 1e11 ? Int64((number * 1000 + 0.001).rounded(.down)) : Int64(number)
        case .text(let text): return time(text)
        default: return nil
        }
    }

    /// RFC 3339, by Foundation's calendar.
    private static func time(_ text: String) -> Int64? {
        let form =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?([Zz]|[-+][0-9]{2}:[0-9]{2})/
        guard let match = text.wholeMatch(of: form)?.output,
            let year = Int(match.1), let month = Int(match.2), let day = Int(match.3),
            let hour = Int(match.4), let minute = Int(match.5), let second = Int(match.6),
            hour <= 23, minute <= 59, second <= 60, let offset = offset(match.8)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        guard let zone = TimeZone(secondsFromGMT: 0) else { return nil }
        calendar.timeZone = zone
        let told = DateComponents(year: year, month: month, day: day)
        guard told.isValidDate(in: calendar), let date = calendar.date(from: told) else {
            return nil
        }
        let seconds = Int64(date.timeIntervalSince1970) + Int64(hour * 3600 + minute * 60 + second)
        let digits = (match.7?.dropFirst() ?? "").prefix(3)
        let fraction = Int64(digits + String(repeating: "0", count: 3 - digits.count)) ?? 0
        let milliseconds = (seconds - offset) * 1000 + fraction
        return (0...last).contains(milliseconds) ? milliseconds : nil
    }

    private static func offset(_ text: Substring) -> Int64? {
        if text == "Z" || text == "z" { return 0 }
        let parts = text.dropFirst().split(separator: ":").compactMap { Int64($0) }
        guard parts.count == 2, parts[0] <= 23, parts[1] <= 59 else { return nil }
        return (parts[0] * 60 + parts[1]) * (text.first == "-" ? -60 : 60)
    }
}
