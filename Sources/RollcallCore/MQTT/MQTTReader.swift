/// Reads the packets of a broker, however the network cuts them. Whatever is malformed is a fault.
///
/// Source: MQTT 3.1.1 §2.2, §3.
package struct MQTTReader: Sendable {
    /// The first byte's meaning and how many bytes follow (§2.2).
    private struct Head {
        var kind: UInt8
        var flags: UInt8
        var length: Int
        /// The index at which the rest begins.
        var end: Int
    }

    /// Bytes of a payload at most; a longer one is skipped without being kept.
    package let payloadBytesMax: Int

    private var bytes: [UInt8] = []
    private var at = 0
    /// Bytes of a payload that are still to be skipped.
    private var skips = 0

    /// A reader of a connection from its beginning.
    package init(payloadBytesMax: Int) { self.payloadBytesMax = payloadBytesMax }

    /// Bytes that are kept.
    package var bytesHeld: Int { bytes.count - at }

    /// Takes what came.
    package mutating func append(_ new: ArraySlice<UInt8>) {
        let skipped = min(skips, new.count)
        skips -= skipped
        if at > 0, at == bytes.count || at >= 1 << 16 {
            bytes.removeSubrange(..<at)
            at = 0
        }
        bytes.append(contentsOf: new.dropFirst(skipped))
    }

    /// Returns the next packet; nil if more bytes are needed.
    /// - Throws: `MQTTFault` if what came makes no sense; nothing can be read after it.
    package mutating func next() throws(MQTTFault) -> MQTTPacket? {
        guard let head = try head() else { return nil }
        if head.kind == MQTTPacket.Kind.publish.rawValue { return try message(head) }
        guard head.end + head.length <= bytes.count else { return nil }
        defer { at = head.end + head.length }
        return try answer(head)
    }

    private func head() throws(MQTTFault) -> Head? {
        guard at < bytes.count else { return nil }
        let (kind, flags) = (bytes[at] >> 4, bytes[at] & 0x0F)
        try Self.check(kind, flags)
        var length = 0
        for place in 0..<4 {
            guard at + 1 + place < bytes.count else { return nil }
            let byte = bytes[at + 1 + place]
            length |= Int(byte & 0x7F) << (7 * place)
            guard byte & 0x80 != 0 else {
                try Self.check(kind, length: length)
                return Head(kind: kind, flags: flags, length: length, end: at + 2 + place)
            }
        }
        throw .lengthTooLong
    }

    /// "If a flag bit is marked as Reserved, it MUST be set to the value listed" (§2.2.2).
    private static func check(_ kind: UInt8, _ flags: UInt8) throws(MQTTFault) {
        switch MQTTPacket.Kind(rawValue: kind) {
        case .publish: break
        case .pubrel: if flags != 0b0010 { throw .flagsReserved(kind) }
        case .connack, .suback, .pingresp: if flags != 0 { throw .flagsReserved(kind) }
        default: throw .kindReserved(kind)
        }
    }

    /// An answer to one topic has one code, so that all lengths but those of messages are known.
    private static func check(_ kind: UInt8, length: Int) throws(MQTTFault) {
        let known: Int? =
            switch MQTTPacket.Kind(rawValue: kind) {
            case .connack, .pubrel: 2
            case .suback: 3
            case .pingresp: 0
            default: nil
            }
        if let known, known != length { throw .lengthWrong(kind: kind, bytes: length) }
    }

    /// The packet of a fixed length that begins at `head`, whole.
    private func answer(_ head: Head) throws(MQTTFault) -> MQTTPacket {
        switch MQTTPacket.Kind(rawValue: head.kind) {
        case .connack: return try accepted(flags: bytes[head.end], code: bytes[head.end + 1])
        case .suback:
            let code = bytes[head.end + 2]
            let identifier = try identifier(at: head.end)
            if code == 0x80 { return .subscribed(identifier: identifier, granted: nil) }
            guard let granted = MQTTQuality(rawValue: code) else { throw .grantReserved(code) }
            return .subscribed(identifier: identifier, granted: granted)
        case .pubrel: return .released(identifier: try identifier(at: head.end))
        default: return .pong
        }
    }

    /// "Bits 7-1 are reserved and MUST be set to 0"; "If a server sends a CONNACK packet containing a
    /// non-zero return code it MUST set Session Present to 0" (§3.2.2).
    private func accepted(flags: UInt8, code: UInt8) throws(MQTTFault) -> MQTTPacket {
        guard flags <= 1 else { throw .answerMalformed }
        if code == 0 { return .accepted(isSessionPresent: flags == 1) }
        guard flags == 0, let refusal = MQTTRefusal(rawValue: code) else { throw .answerMalformed }
        return .refused(refusal)
    }

    private func identifier(at place: Int) throws(MQTTFault) -> UInt16 {
        let identifier = UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1])
        if identifier == 0 { throw .identifierZero }
        return identifier
    }

    // MARK: - Messages

    /// The message that begins at `head`; nil if more of it is needed.
    private mutating func message(_ head: Head) throws(MQTTFault) -> MQTTPacket? {
        let isDuplicate = head.flags & 0b1000 != 0
        guard let quality = MQTTQuality(rawValue: head.flags >> 1 & 0b11),
            quality != .atMostOnce || !isDuplicate
        else { throw .qualityMalformed }
        guard head.length >= 2 else { throw .messageCut }
        guard head.end + 2 <= bytes.count else { return nil }
        let topicCount = Int(bytes[head.end]) << 8 | Int(bytes[head.end + 1])
        let begin = 2 + topicCount + (quality == .atMostOnce ? 0 : 2)
        guard begin <= head.length else { throw .messageCut }
        let isSkipped = head.length - begin > payloadBytesMax
        guard head.end + (isSkipped ? begin : head.length) <= bytes.count else { return nil }
        let topic = Array(bytes[(head.end + 2)..<(head.end + 2 + topicCount)])
        guard MQTTTopic.isName(topic) else { throw .topicMalformed }
        var message = MQTTMessage(
            topic: topic, payload: [], quality: quality, identifier: 0,
            isRetained: head.flags & 1 != 0, isDuplicate: isDuplicate)
        if quality != .atMostOnce {
            message.identifier = try identifier(at: head.end + 2 + topicCount)
        }
        let end = head.end + head.length
        if isSkipped {
            message.bytesSkipped = head.length - begin
            skips = max(0, end - bytes.count)
        } else {
            message.payload = Array(bytes[(head.end + begin)..<end])
        }
        at = min(end, bytes.count)
        return .message(message)
    }
}
