/// A packet that a broker sends to a client that subscribes and publishes nothing.
///
/// Source: MQTT Version 3.1.1 (OASIS Standard, 29 October 2014), §2 and §3.
package enum MQTTPacket: Equatable, Sendable {
    /// The broker takes the connection; whether it kept what came since the last one (CONNACK, §3.2).
    case accepted(isSessionPresent: Bool)
    /// The broker takes no connection (CONNACK, §3.2.2.3).
    case refused(MQTTRefusal)
    /// The answer to a subscription: the quality that was granted, nil if it was refused (SUBACK,
    /// §3.9.3).
    case subscribed(identifier: UInt16, granted: MQTTQuality?)
    /// Somebody's message (PUBLISH, §3.3).
    case message(MQTTMessage)
    /// The broker gives the identifier of a message back (PUBREL, §3.6).
    case released(identifier: UInt16)
    /// The broker is there (PINGRESP, §3.13).
    case pong

    /// The types of packets, which are the high four bits of the first byte (§2.2.1).
    enum Kind: UInt8, Sendable {
        case connect = 1
        case connack, publish, puback, pubrec, pubrel, pubcomp, subscribe, suback, unsubscribe
        case unsuback, pingreq, pingresp, disconnect

        /// The name that the standard gives it.
        var word: String { "\(self)".uppercased() }
    }
}

/// An `MQTTQuality` says how often a message is delivered. Source: MQTT 3.1.1 §4.3.
package enum MQTTQuality: UInt8, Sendable {
    case atMostOnce = 0
    case atLeastOnce = 1
    case exactlyOnce = 2
}

/// An `MQTTRefusal` says why a broker takes no connection, by its return code. Source: MQTT 3.1.1
/// §3.2.2.3, table 3.1.
package enum MQTTRefusal: UInt8, CaseIterable, Sendable {
    case protocolVersion = 1
    case identifier = 2
    case unavailable = 3
    case credentials = 4
    case authorisation = 5

    /// The refusal in words, with what to do.
    package var sentence: String {
        switch self {
        case .protocolVersion: "the broker does not speak MQTT 3.1.1"
        case .identifier: "the broker does not allow this client_id"
        case .unavailable: "the broker says that it is not available"
        case .credentials: "the broker says: bad user name or password"
        case .authorisation: "the broker says: not authorised (user, password or client_id)"
        }
    }
}

/// A message as the broker hands it over. Source: MQTT 3.1.1 §3.3.
package struct MQTTMessage: Equatable, Sendable {
    package var topic: [UInt8]
    package var payload: [UInt8]
    package var quality: MQTTQuality
    /// By which it is acknowledged; 0 for one that is not (§2.3.1).
    package var identifier: UInt16
    /// True for one that the broker held for whoever subscribes later (§3.3.1.3).
    package var isRetained: Bool
    /// True for one that the broker tried to deliver before (§3.3.1.1).
    package var isDuplicate: Bool
    /// Bytes of a payload that is too long to be read, and was skipped; 0 for one that was read.
    package var bytesSkipped = 0

    /// A message of `payload` on `topic`.
    package init(
        topic: [UInt8], payload: [UInt8], quality: MQTTQuality = .atLeastOnce,
        identifier: UInt16 = 1, isRetained: Bool = false, isDuplicate: Bool = false
    ) {
        self.topic = topic
        self.payload = payload
        self.quality = quality
        self.identifier = identifier
        self.isRetained = isRetained
        self.isDuplicate = isDuplicate
    }
}

/// An `MQTTFault` says what is wrong with what a broker sent, or with when it sent it. After any of
/// these the connection is closed: "it MUST close the Network Connection on which it received that
/// Control Packet which caused the Protocol Violation". Source: MQTT 3.1.1 §4.8.
package enum MQTTFault: Error, Equatable, Sendable {
    /// The remaining length has more than four bytes (§2.2.3).
    case lengthTooLong
    /// A packet that no broker sends to a client, or none of this kind (§2.2.1).
    case kindReserved(UInt8)
    /// Reserved flags of a packet are not as they have to be (§2.2.2).
    case flagsReserved(UInt8)
    /// A packet of a fixed length has another one.
    case lengthWrong(kind: UInt8, bytes: Int)
    /// A message ends within its topic or identifier.
    case messageCut
    /// A topic is empty, no UTF-8, or has a NUL or a wildcard (§1.5.3, §3.3.2.1, §4.7.3).
    case topicMalformed
    /// An identifier is 0 (§2.3.1).
    case identifierZero
    /// Two messages at once have the same identifier (§2.3.1).
    case identifierInUse(UInt16)
    /// Both bits of the quality are set (§3.3.1.2), or one that is delivered once at most is a
    /// repetition (§3.3.1.1).
    case qualityMalformed
    /// An answer to the connection makes no sense: reserved flags or code, or a refusal with a session
    /// (§3.2.2).
    case answerMalformed
    /// A code of a subscription's answer is reserved (§3.9.3).
    case grantReserved(UInt8)
    /// The packet has no place at this time: an answer to nothing, or something before the answer.
    case unexpected(UInt8)
    /// The broker refused the connection.
    case refused(MQTTRefusal)
    /// The broker refused the subscription (§3.9.3, 0x80).
    case subscriptionRefused
    /// The broker did not answer in time.
    case noAnswer
    /// A message that the broker sent could not be stored in time.
    case unsettled

    /// The fault in words, without any value of a message.
    package var sentence: String {
        switch self {
        case .lengthTooLong: "malformed: a length of more than four bytes"
        case .kindReserved(let kind):
            "malformed: a packet of type \(kind)"
        case .flagsReserved(let kind): "malformed: reserved flags of \(Self.word(kind))"
        case .lengthWrong(let kind, let bytes): "malformed: \(Self.word(kind)) of \(bytes) bytes"
        case .messageCut: "malformed: PUBLISH ends within its topic or identifier"
        case .topicMalformed: "malformed: a topic that is empty, no UTF-8, or has a wildcard"
        case .identifierZero: "malformed: packet identifier 0"
        case .identifierInUse(let identifier): "packet identifier \(identifier) is used twice"
        case .qualityMalformed: "malformed: quality of service of PUBLISH"
        case .answerMalformed: "malformed: CONNACK"
        case .grantReserved(let code): "malformed: SUBACK with code \(code)"
        case .unexpected(let kind): "\(Self.word(kind)) comes where it has no place"
        case .refused(let refusal): refusal.sentence
        case .subscriptionRefused:
            "the broker refuses the subscription: may the user read the topic?"
        case .noAnswer: "the broker did not answer in time"
        case .unsettled: "what the broker sent could not be stored in time"
        }
    }

    private static func word(_ kind: UInt8) -> String {
        MQTTPacket.Kind(rawValue: kind)?.word ?? "a packet of type \(kind)"
    }
}
