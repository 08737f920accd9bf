/// Writes a message of Protocol Buffers, field by field. Source: protobuf.dev, "Encoding".
///
/// It leaves nothing out for being 0. A writer of the third version does, unless the field has presence: whoever
/// writes a message knows which.
package struct ProtobufWriter: Sendable {
    /// The kind of a field, in the low three bits of its tag.
    enum Wire: UInt64 {
        /// Seven bits a byte.
        case varint = 0
        /// Eight bytes, the lowest first.
        case fixed64 = 1
        /// A length and so many bytes: texts, messages, packed numbers.
        case bytes = 2
        /// Four bytes, the lowest first.
        case fixed32 = 5
    }

    /// The message so far.
    package private(set) var bytes: [UInt8] = []

    /// A message without fields.
    package init() {}

    /// Appends a whole number, an enum's value or a flag.
    package mutating func varint(_ field: Int, _ value: UInt64) {
        tag(field, .varint)
        Varint.append(value, to: &bytes)
    }

    /// Appends a whole number that may be below 0 (`sint32`, `sint64`).
    package mutating func signed(_ field: Int, _ value: Int64) {
        tag(field, .varint)
        Varint.appendSigned(value, to: &bytes)
    }

    /// Appends a number of eight bytes.
    package mutating func fixed64(_ field: Int, _ value: UInt64) {
        tag(field, .fixed64)
        append(value)
    }

    /// Appends a binary fraction.
    package mutating func double(_ field: Int, _ value: Double) {
        fixed64(field, value.bitPattern)
    }

    /// Appends a text, whose bytes are mended where they are no UTF-8: a reader refuses the whole message for
    /// them.
    package mutating func text(_ field: Int, _ text: [UInt8]) {
        bytes(field, Array(String(decoding: text, as: UTF8.self).utf8))
    }

    /// Appends a message, or whatever else has a length in front.
    package mutating func bytes(_ field: Int, _ value: [UInt8]) {
        tag(field, .bytes)
        Varint.append(UInt64(value.count), to: &bytes)
        bytes += value
    }

    /// Appends a message that `body` writes.
    package mutating func message(_ field: Int, _ body: (inout ProtobufWriter) -> Void) {
        var message = ProtobufWriter()
        body(&message)
        bytes(field, message.bytes)
    }

    /// Appends numbers of eight bytes one behind the other, under one tag.
    package mutating func packed(_ field: Int, _ values: [UInt64]) {
        if values.isEmpty { return }
        tag(field, .bytes)
        Varint.append(UInt64(values.count * 8), to: &bytes)
        for value in values { append(value) }
    }

    private mutating func tag(_ field: Int, _ wire: Wire) {
        Varint.append(UInt64(field) << 3 | wire.rawValue, to: &bytes)
    }

    private mutating func append(_ value: UInt64) {
        for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (place * 8))) }
    }
}

/// Reads a message of Protocol Buffers as its fields, without knowing what they mean.
package enum ProtobufReader {
    /// The value of a field, as far as its tag tells.
    package enum Value: Equatable, Sendable {
        case varint(UInt64)
        case fixed64(UInt64)
        case bytes([UInt8])
        case fixed32(UInt32)
    }

    /// A field of a message.
    package struct Field: Equatable, Sendable {
        package var number: Int
        package var value: Value
    }

    /// Returns the fields in their order; nil if the bytes are no message.
    package static func fields(of bytes: [UInt8]) -> [Field]? {
        let span = bytes.span
        var fields: [Field] = []
        var at = 0
        while at < span.count {
            guard let tag = Varint.read(span, &at, span.count),
                let wire = ProtobufWriter.Wire(rawValue: tag & 7), (1...0x1FFF_FFFF) ~= tag >> 3
            else { return nil }
            guard let value = value(wire, span, &at) else { return nil }
            fields.append(Field(number: Int(tag >> 3), value: value))
        }
        return fields
    }

    private static func value(
        _ wire: ProtobufWriter.Wire, _ span: Span<UInt8>, _ at: inout Int
    ) -> Value? {
        switch wire {
        case .varint: return Varint.read(span, &at, span.count).map { .varint($0) }
        case .fixed64: return number(8, span, &at).map { .fixed64($0) }
        case .fixed32: return number(4, span, &at).map { .fixed32(UInt32(truncatingIfNeeded: $0)) }
        case .bytes:
            guard let length = Varint.read(span, &at, span.count),
                length <= UInt64(span.count - at)
            else { return nil }
            let end = at + Int(length)
            defer { at = end }
            return .bytes(span.extracting(at..<end).withUnsafeBufferPointer { Array($0) })
        }
    }

    private static func number(
        _ count: Int, _ span: Span<UInt8>, _ at: inout Int
    ) -> UInt64? {
        guard span.count - at >= count else { return nil }
        var value: UInt64 = 0
        for place in 0..<count { value |= UInt64(span[at + place]) << (place * 8) }
        at += count
        return value
    }
}
