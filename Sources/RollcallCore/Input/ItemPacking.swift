/// Items in fewer bytes: of each field only how it differs from what the items before it make one
/// expect. Who packs and who unpacks go through the same items in the same order, and expect the same.
///
/// A phone that reports once a minute says little that is new: its sequence goes on by one, its times by
/// as much as the last time. Of an item are stored its form (which fields it has), which of them are not
/// as expected, and those.
package struct ItemPacking {
    /// Tags are less than this, and a form has no more fields.
    private static let tagsMax = 32

    /// Each form that was met: the kind of item, then its tags in their order.
    private var forms: [[UInt8]] = []
    private var form = 0
    /// The last value of each tag that has a number.
    private var numbers = [UInt64](repeating: 0, count: tagsMax)
    /// The last bytes of each tag that has some.
    private var texts = [[UInt8]](repeating: [], count: tagsMax)
    /// By how much each `reportedAt` of the person is beyond the one before it, about; 0 before two.
    private var step: Int64 = 0
    /// True before the first `reportedAt` of the person.
    private var isFirst = true
    /// By how much the item at hand is beyond the last one.
    private var moved: Int64 = 0
    private var sequence: UInt64 = 0
    /// The last update's time as an item holds it: 1 and its milliseconds, or 0, and behind it a bit.
    private var captured: UInt64 = 0
    private var updateCount: UInt64 = 0

    /// The bits of an update that is not as expected.
    private enum UpdateFlag {
        /// The sequence does not go on by one.
        static let jump: UInt8 = 1
        /// The time is written whole.
        static let time: UInt8 = 2
    }

    package init() {}

    /// Notes that what follows is about somebody else, whose reports have another pace.
    package mutating func beginPerson() {
        step = 0
        isFirst = true
    }

    // MARK: - Packing

    /// A field of an item: its tag, and where its value stands.
    private struct Field {
        var tag: UInt8
        var number: UInt64 = 0
        var value = 0..<0
    }

    /// Appends the item `body` to `output`; false, with nothing appended, if it is not as an
    /// `ItemWriter` writes it.
    package mutating func append(_ body: [UInt8], to output: inout [UInt8]) -> Bool {
        guard let fields = Self.fields(of: body) else { return false }
        appendForm([body[0]] + fields.map(\.tag), to: &output)
        let place = output.count
        output.append(0)
        var mask: UInt64 = 0
        for (index, field) in fields.enumerated() where appendField(field, body, to: &output) {
            mask |= 1 << UInt64(index)
        }
        if mask < 0x80 {
            output[place] = UInt8(mask)
        } else {
            var bytes: [UInt8] = []
            Varint.append(mask, to: &bytes)
            output.replaceSubrange(place...place, with: bytes)
        }
        return true
    }

    /// The form: its number, counted from 1 for the one at hand before, or 0 and all of a new one.
    private mutating func appendForm(_ wanted: [UInt8], to output: inout [UInt8]) {
        if let known = forms.firstIndex(of: wanted) {
            Varint.append(UInt64(known + 1), to: &output)
            form = known
            return
        }
        Varint.append(0, to: &output)
        Varint.append(UInt64(wanted.count), to: &output)
        output.append(contentsOf: wanted)
        form = forms.count
        forms.append(wanted)
    }

    /// Appends a field if it is not as expected, and expects what follows from it.
    private mutating func appendField(
        _ field: Field, _ body: [UInt8], to output: inout [UInt8]
    ) -> Bool {
        let tag = Int(field.tag)
        switch Value(field.tag) {
        case .number:
            let expected = expectedNumber(field.tag)
            note(field.number, of: field.tag)
            guard field.number != expected else { return false }
            Varint.appendSigned(Int64(bitPattern: field.number &- expected), to: &output)
        case .text, .telemetry:
            let bytes = body[field.value]
            guard !texts[tag].elementsEqual(bytes) else { return false }
            let shared = zip(texts[tag], bytes).prefix { $0 == $1 }.count
            Varint.append(UInt64(shared), to: &output)
            Varint.append(UInt64(bytes.count - shared), to: &output)
            output.append(contentsOf: bytes.dropFirst(shared))
            texts[tag] = Array(bytes)
        case .updates(let isSequenced):
            let isExpected = field.number == updateCount
            if !isExpected { Varint.append(field.number, to: &output) }
            updateCount = field.number
            var at = field.value.lowerBound
            body.withUnsafeBufferPointer { buffer in
                let bytes = buffer.span
                for index in 0..<field.number {
                    let number = isSequenced ? Varint.read(bytes, &at, body.count) ?? 0 : 0
                    let time = Varint.read(bytes, &at, body.count) ?? 0
                    appendUpdate(number, time, isFirst: index == 0, isSequenced, to: &output)
                }
            }
            return !isExpected
        }
        return true
    }

    private mutating func appendUpdate(
        _ number: UInt64, _ time: UInt64, isFirst: Bool, _ isSequenced: Bool,
        to output: inout [UInt8]
    ) {
        let jump = isSequenced ? number &- (sequence &+ 1) : 0
        let isPlain = time > 1 && captured > 1 && time & 1 == captured & 1
        var flags = jump == 0 ? 0 : UpdateFlag.jump
        var difference: Int64 = 0
        if isPlain {
            difference = Int64(time >> 1) &- expectedMilliseconds(isFirst: isFirst)
        } else {
            flags |= UpdateFlag.time
        }
        Varint.append(Varint.folded(difference) << 1 | (flags == 0 ? 0 : 1), to: &output)
        if flags != 0 { output.append(flags) }
        if jump != 0 { Varint.appendSigned(Int64(bitPattern: jump), to: &output) }
        if !isPlain { Varint.append(time, to: &output) }
        if isSequenced { sequence = number }
        captured = time
    }

    // MARK: - Unpacking

    /// Reads the next item, and appends its body; false if the bytes are damaged.
    package mutating func read(
        _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int, to body: inout [UInt8]
    ) -> Bool {
        guard readForm(bytes, &at, end), let mask = Varint.read(bytes, &at, end) else {
            return false
        }
        let tags = forms[form]
        body.append(tags[0])
        for index in 1..<tags.count {
            let isWritten = mask >> UInt64(index - 1) & 1 == 1
            guard readField(tags[index], isWritten, bytes, &at, end, to: &body) else {
                return false
            }
        }
        return true
    }

    private mutating func readForm(_ bytes: Span<UInt8>, _ at: inout Int, _ end: Int) -> Bool {
        guard let number = Varint.read(bytes, &at, end) else { return false }
        guard number == 0 else {
            guard number <= UInt64(forms.count) else { return false }
            form = Int(number) - 1
            return true
        }
        guard let count = Varint.read(bytes, &at, end), (1...UInt64(Self.tagsMax)).contains(count),
            count <= UInt64(end - at)
        else { return false }
        let new = (at..<(at + Int(count))).map { bytes[$0] }
        guard new.dropFirst().allSatisfy({ $0 < Self.tagsMax }) else { return false }
        at += Int(count)
        form = forms.count
        forms.append(new)
        return true
    }

    private mutating func readField(
        _ tag: UInt8, _ isWritten: Bool, _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int,
        to body: inout [UInt8]
    ) -> Bool {
        body.append(tag)
        switch Value(tag) {
        case .number:
            var number = expectedNumber(tag)
            if isWritten {
                guard let difference = Varint.readSigned(bytes, &at, end) else { return false }
                number = number &+ UInt64(bitPattern: difference)
            }
            note(number, of: tag)
            Varint.append(number, to: &body)
        case .text, .telemetry:
            if isWritten {
                guard readText(Int(tag), bytes, &at, end) else { return false }
            }
            let text = texts[Int(tag)]
            if Value(tag) == .text { Varint.append(UInt64(text.count), to: &body) }
            body.append(contentsOf: text)
        case .updates(let isSequenced):
            var count = updateCount
            if isWritten {
                guard let written = Varint.read(bytes, &at, end) else { return false }
                count = written
            }
            // Each takes a byte at least.
            guard count <= UInt64(end - at) else { return false }
            updateCount = count
            Varint.append(count, to: &body)
            for index in 0..<count {
                guard
                    readUpdate(isFirst: index == 0, isSequenced, bytes, &at, end, to: &body)
                else { return false }
            }
        }
        return true
    }

    private mutating func readText(
        _ tag: Int, _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int
    ) -> Bool {
        guard let shared = Varint.read(bytes, &at, end), shared <= UInt64(texts[tag].count),
            let count = Varint.read(bytes, &at, end), count <= UInt64(end - at)
        else { return false }
        texts[tag].removeSubrange(Int(shared)...)
        for place in at..<(at + Int(count)) { texts[tag].append(bytes[place]) }
        at += Int(count)
        return true
    }

    private mutating func readUpdate(
        isFirst: Bool, _ isSequenced: Bool, _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int,
        to body: inout [UInt8]
    ) -> Bool {
        guard let written = Varint.read(bytes, &at, end) else { return false }
        var flags: UInt8 = 0
        if written & 1 == 1 {
            guard at < end else { return false }
            flags = bytes[at]
            at += 1
        }
        if isSequenced {
            sequence = sequence &+ 1
            if flags & UpdateFlag.jump != 0 {
                guard let jump = Varint.readSigned(bytes, &at, end) else { return false }
                sequence = sequence &+ UInt64(bitPattern: jump)
            }
            Varint.append(sequence, to: &body)
        }
        if flags & UpdateFlag.time != 0 {
            guard let time = Varint.read(bytes, &at, end) else { return false }
            captured = time
        } else {
            let time = expectedMilliseconds(isFirst: isFirst) &+ Varint.unfolded(written >> 1)
            captured = UInt64(bitPattern: time) << 1 | captured & 1
        }
        Varint.append(captured, to: &body)
        return true
    }

    // MARK: - What is expected

    private func expectedNumber(_ tag: UInt8) -> UInt64 {
        let last = numbers[Int(tag)]
        return tag == ItemTag.reportedAt.rawValue ? last &+ UInt64(bitPattern: step) : last
    }

    private mutating func note(_ number: UInt64, of tag: UInt8) {
        if tag == ItemTag.reportedAt.rawValue {
            moved = Int64(bitPattern: number &- numbers[Int(tag)])
            // What is early or late once is not so the next time.
            if isFirst {
                step = 0
            } else {
                step = step == 0 ? moved : step &+ (moved &- step) / 4
            }
            isFirst = false
        }
        numbers[Int(tag)] = number
    }

    /// The first update is expected as long after the last item's as the report is after its report.
    private func expectedMilliseconds(isFirst: Bool) -> Int64 {
        Int64(captured >> 1) &+ (isFirst ? moved : 0)
    }
}

extension ItemPacking {
    /// The values that a tag can have.
    private enum Value: Equatable {
        case number, text, telemetry
        case updates(isSequenced: Bool)

        init(_ tag: UInt8) {
            switch ItemTag(rawValue: tag) {
            case .responderID, .region, .circles, .osVersion, .appVersion, .manufacturer, .model,
                .installID, .pushToken, .transitionID:
                self = .text
            case .telemetry: self = .telemetry
            case .updates: self = .updates(isSequenced: true)
            case .unsequenced: self = .updates(isSequenced: false)
            default: self = .number
            }
        }
    }

    /// The fields of an item's body; nil if it would not be made of them again, byte by byte.
    private static func fields(of body: [UInt8]) -> [Field]? {
        guard let kind = body.first, ItemKind(rawValue: kind) != nil else { return nil }
        return body.withUnsafeBufferPointer { buffer in
            let bytes = buffer.span
            var fields: [Field] = []
            var at = 1
            while at < body.count {
                guard let field = field(bytes, &at), fields.count < tagsMax - 1,
                    !fields.contains(where: { $0.tag == field.tag })
                else { return nil }
                fields.append(field)
            }
            return fields
        }
    }

    private static func field(_ bytes: Span<UInt8>, _ at: inout Int) -> Field? {
        var field = Field(tag: bytes[at])
        guard ItemTag(rawValue: field.tag) != nil else { return nil }
        at += 1
        let value = Value(field.tag)
        if value == .telemetry {
            let begin = at
            at += 3
            guard at < bytes.count, shortest(bytes, &at) != nil else { return nil }
            field.value = begin..<at
            return field
        }
        guard let number = shortest(bytes, &at) else { return nil }
        field.number = number
        let begin = at
        switch value {
        case .text:
            guard number <= UInt64(bytes.count - at) else { return nil }
            at += Int(number)
        case .updates(let isSequenced):
            guard number <= UInt64(bytes.count - at) else { return nil }
            for _ in 0..<number {
                if isSequenced, shortest(bytes, &at) == nil { return nil }
                guard let time = shortest(bytes, &at), time < timeMax else { return nil }
            }
        case .number:
            let isTime = field.tag == ItemTag.reportedAt.rawValue
            guard !isTime || number < timeMax else { return nil }
        case .telemetry: break
        }
        field.value = begin..<at
        return field
    }

    /// Differences of times below it leave room for a bit more.
    private static let timeMax: UInt64 = 1 << 60

    /// Reads a number that has no byte more than it needs; nil of any other.
    private static func shortest(_ bytes: Span<UInt8>, _ at: inout Int) -> UInt64? {
        let begin = at
        guard let number = Varint.read(bytes, &at, bytes.count) else { return nil }
        let bits = UInt64.bitWidth - number.leadingZeroBitCount
        return at - begin == max(1, (bits + 6) / 7) ? number : nil
    }
}
