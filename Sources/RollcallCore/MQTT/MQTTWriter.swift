/// The packets of a client that subscribes and publishes nothing. Source: MQTT 3.1.1 §3.
package enum MQTTWriter {
    /// A connection as a known client whose session the broker keeps (CONNECT, §3.1).
    ///
    /// "If the User Name Flag is set to 0, the Password Flag MUST be set to 0" (§3.1.2.9): a password
    /// without a user is left out.
    package static func connect(
        clientID: [UInt8], user: [UInt8]?, password: [UInt8]?, keepAliveSeconds: UInt16
    ) -> [UInt8] {
        let password = user == nil ? nil : password
        var body: [UInt8] = []
        append(Array("MQTT".utf8), to: &body)
        body.append(4)
        // Clean session (bit 1) is not set: "The Server MUST resume communications with the Client
        // based on state from the current Session" (§3.1.2.4).
        body.append((user == nil ? 0 : 0x80) | (password == nil ? 0 : 0x40))
        append(keepAliveSeconds, to: &body)
        append(clientID, to: &body)
        if let user { append(user, to: &body) }
        if let password { append(password, to: &body) }
        return packet(.connect, body)
    }

    /// A subscription to one filter (SUBSCRIBE, §3.8).
    package static func subscribe(
        _ filter: [UInt8], quality: MQTTQuality, identifier: UInt16
    ) -> [UInt8] {
        var body: [UInt8] = []
        append(identifier, to: &body)
        append(filter, to: &body)
        body.append(quality.rawValue)
        return packet(.subscribe, flags: 0b0010, body)
    }

    /// The acknowledgement of a message: of one that comes at least once it is the only one (PUBACK,
    /// §3.4), of one that comes exactly once the first (PUBREC, §3.5). Empty for one that is not
    /// acknowledged.
    package static func acknowledgement(of quality: MQTTQuality, _ identifier: UInt16) -> [UInt8] {
        var body: [UInt8] = []
        append(identifier, to: &body)
        switch quality {
        case .atMostOnce: return []
        case .atLeastOnce: return packet(.puback, body)
        case .exactlyOnce: return packet(.pubrec, body)
        }
    }

    /// The end of a message that comes exactly once (PUBCOMP, §3.7).
    package static func completion(_ identifier: UInt16) -> [UInt8] {
        var body: [UInt8] = []
        append(identifier, to: &body)
        return packet(.pubcomp, body)
    }

    /// The question whether the broker is there (PINGREQ, §3.12).
    package static var ping: [UInt8] { packet(.pingreq, []) }

    /// The end of a connection (DISCONNECT, §3.14).
    package static var disconnect: [UInt8] { packet(.disconnect, []) }

    private static func packet(
        _ kind: MQTTPacket.Kind, flags: UInt8 = 0, _ body: [UInt8]
    ) -> [UInt8] {
        var bytes = [kind.rawValue << 4 | flags]
        // "the algorithm for encoding a non negative integer into the variable length encoding scheme"
        // (§2.2.3) is that of our own numbers. No text of ours comes near the 256 MB of four bytes.
        Varint.append(UInt64(body.count), to: &bytes)
        return bytes + body
    }

    private static func append(_ number: UInt16, to body: inout [UInt8]) {
        body.append(UInt8(number >> 8))
        body.append(UInt8(truncatingIfNeeded: number))
    }

    /// A text or binary data with its length before it (§1.5.3); settings are never longer.
    private static func append(_ text: [UInt8], to body: inout [UInt8]) {
        precondition(text.count <= MQTTTopic.bytesMax, "a text of \(text.count) bytes")
        append(UInt16(text.count), to: &body)
        body += text
    }
}
