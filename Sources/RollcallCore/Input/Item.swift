/// The kind of an item, by the route that it came by.
package enum ItemKind: UInt8, Sendable {
    /// `POST /v1/batches`
    case batch = 1
    /// `POST /v1/transitions`
    case transition = 2
    /// `POST /v1/responders`
    case responder = 3
    /// An entry of `PUT /v1/responders`.
    case rosterEntry = 4
    /// The rest in the journal of an item about somebody who was erased.
    case nobody = 5
}

/// One item of a body: what is told about one person. Absent fields are nil.
///
/// It holds numbers and places only; the bytes of names stay in the list that it was read from.
/// Source: I9.
package struct Item: Sendable {
    package var kind: ItemKind = .batch
    /// The person, 1 to 128 bytes.
    package var responderID = ByteRange.empty
    /// The instant at which the backend heard the phone (`received_at`), or at which the fact
    /// became true (`at`).
    package var reportedAt: Timestamp?
    package var duty: DutyState?
    package var region: ByteRange?
    /// The names, each behind its length; see `ItemWriter.circles`.
    package var circles: ByteRange?
    package var sharing: Sharing?
    package var pausedUntil: Timestamp?
    package var platform: Platform?
    package var osVersion: ByteRange?
    package var appVersion: ByteRange?
    package var manufacturer: ByteRange?
    package var model: ByteRange?
    package var installID: ByteRange?
    /// Ten-thousandths of a full battery, 0 to 10 000.
    package var battery: Int16?
    package var telemetry: Telemetry?
    package var pushToken: ByteRange?
    /// 0 default, 1 silent (N5).
    package var nudgeSound: UInt8?
    package var from: Status?
    package var to: Status?
    /// The backend's own id of a transition.
    package var transitionID: ByteRange?
    /// Seconds until the phone means to report again, rounded up; 0 if it did not say (P5).
    package var promise: UInt16 = 0
    /// Number of updates and the bytes that hold them; see `UpdateReader`.
    package var updateCount = 0
    package var updates = ByteRange.empty
    /// The bytes that hold the updates without a sequence (P4).
    package var unsequenced = ByteRange.empty
    /// True if it enrols nobody (M3).
    package var isKnownOnly = false
    /// Of `nobody`: true if it enrolled them, which took a number.
    package var isEnrolment = false

    package init() {}

    /// True if it names a version, a manufacturer or a model.
    @inline(__always)
    var describesPhone: Bool {
        osVersion != nil || appVersion != nil || manufacturer != nil || model != nil
    }
}

/// The items of one body, each as the bytes that the journal stores.
///
/// What the engine folds is read from these very bytes, live as well as after a restart, so that
/// the two cannot differ. Coordinates never get this far.
package struct ItemList: Sendable {
    /// The items' bytes, one after the other.
    package var bytes: [UInt8] = []
    /// The end of each item in `bytes`.
    package var ends: [Int] = []
    /// The numbers of the people whom the items were about when they were stored, one each; empty if
    /// nobody knows. They say where to look first, and nothing else.
    package var numbers: [Int] = []

    package init() {}

    /// Number of items.
    package var count: Int { ends.count }

    /// Returns the bytes that take the place of an item about somebody who was erased.
    package static func nobody(isEnrolment: Bool) -> [UInt8] {
        isEnrolment
            ? [ItemKind.nobody.rawValue, ItemTag.isEnrolment.rawValue, 1]
            : [ItemKind.nobody.rawValue]
    }

    /// Returns the range of item `index` in `bytes`.
    package func range(of index: Int) -> Range<Int> {
        (index == 0 ? 0 : ends[index - 1])..<ends[index]
    }

    /// The region that an item's bytes name; nil if they name none, or are no item's.
    package static func region(ofItem bytes: [UInt8]) -> [UInt8]? {
        guard let region = ItemReader.item(bytes.span, 0..<bytes.count)?.region else { return nil }
        return Array(bytes[region.indices])
    }

    /// Item `index`; nil if its bytes are not what an `ItemWriter` writes (a damaged store).
    package func item(_ index: Int) -> Item? {
        ItemReader.item(bytes.span, range(of: index))
    }
}

/// The tags of an item's fields in its bytes. A value, once written to a journal, keeps its
/// meaning for ever.
enum ItemTag: UInt8 {
    case responderID = 1
    case reportedAt = 2
    case duty = 3
    case region = 4
    case circles = 5
    case sharing = 6
    case pausedUntil = 7
    case platform = 8
    case osVersion = 9
    case appVersion = 10
    case installID = 11
    case battery = 12
    case telemetry = 13
    case pushToken = 14
    case nudgeSound = 15
    case from = 16
    case to = 17
    case transitionID = 18
    case updates = 19
    case isEnrolment = 20
    case promise = 21
    case manufacturer = 22
    case model = 23
    /// Updates that have no sequence: how many, then each as `captured` of an update (P4). They stand
    /// before `updates`, which go on to the item's end.
    case unsequenced = 24
    /// The item enrols nobody (M3).
    case isKnownOnly = 25
}

/// Writes items as tagged fields.
struct ItemWriter {
    /// The place at which the item begins that is being written.
    private(set) var start = 0

    /// Begins an item at the end of `list`.
    mutating func begin(_ kind: ItemKind, in list: inout ItemList) {
        start = list.bytes.count
        list.bytes.append(kind.rawValue)
    }

    /// Takes back what was begun.
    func abandon(in list: inout ItemList) {
        list.bytes.removeSubrange(start...)
    }

    /// Ends the item.
    func finish(in list: inout ItemList) {
        list.ends.append(list.bytes.count)
    }

    static func number(_ tag: ItemTag, _ value: UInt64, to bytes: inout [UInt8]) {
        bytes.append(tag.rawValue)
        Varint.append(value, to: &bytes)
    }

    static func time(_ tag: ItemTag, _ value: Timestamp, to bytes: inout [UInt8]) {
        number(tag, UInt64(bitPattern: value.milliseconds), to: &bytes)
    }

    /// A text of `source[token]`, decoded.
    static func text(
        _ tag: ItemTag, _ token: JSONCursor.StringToken, _ source: Span<UInt8>,
        to bytes: inout [UInt8]
    ) {
        bytes.append(tag.rawValue)
        if token.isEscaped {
            let decoded = JSONText.decoded(token, source)
            Varint.append(UInt64(decoded.count), to: &bytes)
            bytes.append(contentsOf: decoded)
        } else {
            Varint.append(UInt64(token.range.count), to: &bytes)
            source.extracting(token.range).withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
        }
    }

    static func bytes(_ tag: ItemTag, _ value: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(tag.rawValue)
        Varint.append(UInt64(value.count), to: &bytes)
        bytes.append(contentsOf: value)
    }

    static func telemetry(_ value: Telemetry, to bytes: inout [UInt8]) {
        bytes.append(ItemTag.telemetry.rawValue)
        bytes.append(value.permissionStatus | value.locationServices << 4)
        bytes.append(value.powerMode | value.appState << 4)
        bytes.append(value.networkType)
        Varint.append(UInt64(value.queueDepth), to: &bytes)
    }

    static func update(_ update: Update, to bytes: inout [UInt8]) {
        if !update.isUnsequenced { Varint.append(UInt64(bitPattern: update.sequence), to: &bytes) }
        // Times are never negative here, so 0 can stand for "none".
        let captured = update.capturedAt.map { UInt64(bitPattern: $0.milliseconds) &+ 1 } ?? 0
        Varint.append(captured << 1 | (update.isCached ? 1 : 0), to: &bytes)
    }
}

/// Reads the updates of an item, one after the other, those without a sequence last.
package struct UpdateReader {
    private var at: Int
    private let end: Int
    private var unsequencedAt: Int
    private let unsequencedEnd: Int

    /// A reader of the updates of `item`.
    package init(_ item: Item) {
        at = item.updates.indices.lowerBound
        end = item.updates.indices.upperBound
        unsequencedAt = item.unsequenced.indices.lowerBound
        unsequencedEnd = item.unsequenced.indices.upperBound
    }

    /// The next update; nil after the last.
    package mutating func next(_ bytes: Span<UInt8>) -> Update? {
        guard at < end else { return nextUnsequenced(bytes) }
        guard let sequence = Varint.read(bytes, &at, end),
            let captured = Varint.read(bytes, &at, end)
        else { return nil }
        return Self.update(Int64(bitPattern: sequence), captured)
    }

    private mutating func nextUnsequenced(_ bytes: Span<UInt8>) -> Update? {
        guard unsequencedAt < unsequencedEnd,
            let captured = Varint.read(bytes, &unsequencedAt, unsequencedEnd), captured > 1
        else { return nil }
        return Self.update(-1, captured)
    }

    private static func update(_ sequence: Int64, _ captured: UInt64) -> Update {
        let time = captured >> 1
        return Update(
            sequence: sequence,
            capturedAt: time == 0 ? nil : Timestamp(milliseconds: Int64(bitPattern: time &- 1)),
            isCached: captured & 1 == 1)
    }
}

/// Reads what `ItemWriter` wrote.
enum ItemReader {
    /// The item that stands at `bytes[range]`; nil if the bytes are damaged.
    static func item(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Item? {
        guard range.upperBound <= bytes.count, let first = range.first,
            let kind = ItemKind(rawValue: bytes[first])
        else { return nil }
        var item = Item()
        item.kind = kind
        var at = first + 1
        let end = range.upperBound
        while at < end {
            guard let tag = ItemTag(rawValue: bytes[at]) else { return nil }
            at += 1
            if tag == .telemetry {
                var telemetry = Telemetry()
                guard Self.telemetry(bytes, &at, end, &telemetry) else { return nil }
                item.telemetry = telemetry
                continue
            }
            guard let value = Varint.read(bytes, &at, end) else { return nil }
            guard set(tag, value, &item, &at, end, bytes) else { return nil }
        }
        return item
    }

    /// Reads what stands behind the tag of telemetry; false if it is damaged.
    static func telemetry(
        _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int, _ telemetry: inout Telemetry
    ) -> Bool {
        guard at + 3 <= end else { return false }
        telemetry.permissionStatus = bytes[at] & 0xF
        telemetry.locationServices = bytes[at] >> 4
        telemetry.powerMode = bytes[at + 1] & 0xF
        telemetry.appState = bytes[at + 1] >> 4
        telemetry.networkType = bytes[at + 2]
        at += 3
        guard let depth = Varint.read(bytes, &at, end) else { return false }
        telemetry.queueDepth = UInt32(truncatingIfNeeded: depth)
        return telemetry.isLegal
    }

    private static func set(
        _ tag: ItemTag, _ value: UInt64, _ item: inout Item, _ at: inout Int, _ end: Int,
        _ bytes: Span<UInt8>
    ) -> Bool {
        let small = UInt8(truncatingIfNeeded: value)
        switch tag {
        case .reportedAt: item.reportedAt = Timestamp(milliseconds: Int64(bitPattern: value))
        case .duty: item.duty = DutyState(rawValue: small)
        case .sharing: item.sharing = Sharing(rawValue: small)
        case .pausedUntil: item.pausedUntil = Timestamp(milliseconds: Int64(bitPattern: value))
        case .platform: item.platform = Platform(rawValue: small)
        case .battery: item.battery = Int16(truncatingIfNeeded: value)
        case .nudgeSound: item.nudgeSound = small
        case .promise: item.promise = UInt16(clamping: value)
        case .isEnrolment: item.isEnrolment = small == 1
        case .isKnownOnly: item.isKnownOnly = small == 1
        case .from: item.from = Status(rawValue: small)
        case .to: item.to = Status(rawValue: small)
        case .responderID, .region, .circles, .osVersion, .appVersion, .manufacturer, .model,
            .installID, .pushToken, .transitionID:
            guard value <= UInt64(end - at) else { return false }
            let range = ByteRange(offset: at, count: Int(value))
            at += Int(value)
            setText(tag, range, &item)
        case .updates:
            guard let count = Int(exactly: value), count >= 0 else { return false }
            item.updateCount = count &+ item.updateCount
            item.updates = ByteRange(offset: at, count: end - at)
            at = end
        case .unsequenced:
            // Each takes a byte at least.
            guard value <= UInt64(end - at), item.updateCount == 0 else { return false }
            item.updateCount = Int(value)
            let first = at
            for _ in 0..<value where Varint.read(bytes, &at, end) ?? 0 <= 1 { return false }
            item.unsequenced = ByteRange(offset: first, count: at - first)
        case .telemetry: return false
        }
        return true
    }

    private static func setText(_ tag: ItemTag, _ range: ByteRange, _ item: inout Item) {
        switch tag {
        case .responderID: item.responderID = range
        case .region: item.region = range
        case .circles: item.circles = range
        case .osVersion: item.osVersion = range
        case .appVersion: item.appVersion = range
        case .manufacturer: item.manufacturer = range
        case .model: item.model = range
        case .installID: item.installID = range
        case .pushToken: item.pushToken = range
        default: item.transitionID = range
        }
    }
}
