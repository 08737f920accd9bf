import Testing

@testable import RollcallCore

/// Packets of MQTT 3.1.1, byte by byte. Source: OASIS MQTT 3.1.1 §2, §3; M6.
@Suite struct MQTTReaderTests {
    private static func read(_ bytes: [UInt8], max: Int = 1000) throws -> [MQTTPacket] {
        var reader = MQTTReader(payloadBytesMax: max)
        reader.append(bytes[...])
        var packets: [MQTTPacket] = []
        while let packet = try reader.next() { packets.append(packet) }
        return packets
    }

    private static let hello: [UInt8] =
        [0x32, 0x0A, 0x00, 0x03] + Array("a/b".utf8) + [0x00, 0x0A] + Array("hey".utf8)

    @Test func `each packet that a broker sends is read (M6)`() throws {
        let bytes: [UInt8] =
            [0x20, 2, 1, 0] + [0x90, 3, 0, 1, 1] + Self.hello + [0x62, 2, 0x12, 0x34] + [0xD0, 0]
        #expect(
            try Self.read(bytes) == [
                .accepted(isSessionPresent: true),
                .subscribed(identifier: 1, granted: .atLeastOnce),
                .message(
                    MQTTMessage(
                        topic: Array("a/b".utf8), payload: Array("hey".utf8), identifier: 10)),
                .released(identifier: 0x1234), .pong,
            ])
    }

    @Test func `however the network cuts packets, the same is read`() throws {
        let bytes = [0x20, 2, 0, 0] + Self.hello + [0x90, 3, 0, 1, 0x80] + Self.hello
        let whole = try Self.read(bytes)
        #expect(whole.count == 4)
        for size in 1...bytes.count {
            var reader = MQTTReader(payloadBytesMax: 1000)
            var packets: [MQTTPacket] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                reader.append(bytes[start..<min(bytes.count, start + size)])
                while let packet = try reader.next() { packets.append(packet) }
            }
            #expect(packets == whole)
            #expect(reader.bytesHeld == 0)
        }
    }

    @Test func `the flags of a message are read (§3.3.1)`() throws {
        func message(_ first: UInt8) throws -> MQTTMessage? {
            let bytes: [UInt8] =
                first & 0b110 == 0 ? [first, 3, 0, 1, 0x61] : [first, 5, 0, 1, 0x61, 0, 7]
            guard case .message(let message)? = try Self.read(bytes).first else { return nil }
            return message
        }
        let topic: [UInt8] = [0x61]
        #expect(
            try message(0x31)
                == MQTTMessage(
                    topic: topic, payload: [], quality: .atMostOnce, identifier: 0,
                    isRetained: true))
        #expect(
            try message(0x3A)
                == MQTTMessage(topic: topic, payload: [], identifier: 7, isDuplicate: true))
        #expect(
            try message(0x3D)
                == MQTTMessage(
                    topic: topic, payload: [], quality: .exactlyOnce, identifier: 7,
                    isRetained: true, isDuplicate: true))
    }

    @Test(arguments: zip(1...5 as ClosedRange<UInt8>, MQTTRefusal.allCases))
    func `each refusal has its code (§3.2.2.3)`(code: UInt8, refusal: MQTTRefusal) throws {
        #expect(try Self.read([0x20, 2, 0, code]) == [.refused(refusal)])
    }

    private static let malformed: [([UInt8], MQTTFault)] = [
        ([0x00], .kindReserved(0)), ([0xF0, 0], .kindReserved(15)), ([0x10, 0], .kindReserved(1)),
        ([0x40, 2, 0, 1], .kindReserved(4)), ([0x82, 0], .kindReserved(8)),
        ([0xB0, 2, 0, 1], .kindReserved(11)), ([0xE0, 0], .kindReserved(14)),
        ([0x21, 2], .flagsReserved(2)), ([0x60, 2], .flagsReserved(6)),
        ([0x92, 3], .flagsReserved(9)), ([0xD8, 0], .flagsReserved(13)),
        ([0x30, 0x80, 0x80, 0x80, 0x80], .lengthTooLong),
        ([0x20, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], .lengthTooLong),
        ([0x20, 3], .lengthWrong(kind: 2, bytes: 3)), ([0x90, 2], .lengthWrong(kind: 9, bytes: 2)),
        ([0x90, 4], .lengthWrong(kind: 9, bytes: 4)), ([0x62, 0], .lengthWrong(kind: 6, bytes: 0)),
        ([0xD0, 1], .lengthWrong(kind: 13, bytes: 1)),
        ([0x20, 2, 2, 0], .answerMalformed), ([0x20, 2, 1, 4], .answerMalformed),
        ([0x20, 2, 0, 6], .answerMalformed), ([0x20, 2, 0, 0xFF], .answerMalformed),
        ([0x90, 3, 0, 1, 3], .grantReserved(3)), ([0x90, 3, 0, 1, 0x81], .grantReserved(0x81)),
        ([0x90, 3, 0, 0, 1], .identifierZero), ([0x62, 2, 0, 0], .identifierZero),
        ([0x36, 5, 0, 1, 0x61, 0, 1], .qualityMalformed),
        ([0x38, 3, 0, 1, 0x61], .qualityMalformed),
        ([0x30, 0], .messageCut), ([0x30, 1, 0], .messageCut), ([0x30, 2, 0, 1], .messageCut),
        ([0x32, 4, 0, 1, 0x61, 0], .messageCut), ([0x30, 2, 0, 0], .topicMalformed),
        ([0x30, 3, 0, 1, 0], .topicMalformed), ([0x30, 3, 0, 1, 0x2B], .topicMalformed),
        ([0x30, 3, 0, 1, 0x23], .topicMalformed), ([0x30, 3, 0, 1, 0xFF], .topicMalformed),
        ([0x30, 5, 0, 3, 0xED, 0xA0, 0x80], .topicMalformed),
        ([0x32, 5, 0, 1, 0x61, 0, 0], .identifierZero),
    ]

    @Test(arguments: malformed)
    func `what is malformed is a fault that says what`(bytes: [UInt8], fault: MQTTFault) {
        #expect(throws: fault) { try Self.read(bytes) }
        #expect(!fault.sentence.isEmpty)
    }

    @Test func `a payload at the limit is read, one byte more is skipped unread`() throws {
        func bytes(_ payload: Int) -> [UInt8] {
            [0x32, UInt8(5 + payload), 0, 1, 0x61, 0, 9] + [UInt8](repeating: 0x78, count: payload)
        }
        guard case .message(let read)? = try Self.read(bytes(20), max: 20).first else {
            Issue.record("no message")
            return
        }
        #expect(read.payload.count == 20 && read.bytesSkipped == 0)
        // What comes behind it is read, however the two are cut.
        for cut in 0...(bytes(21).count) {
            let all = bytes(21) + [0xD0, 0]
            var reader = MQTTReader(payloadBytesMax: 20)
            var packets: [MQTTPacket] = []
            for part in [all[..<cut], all[cut...]] {
                reader.append(part)
                while let packet = try reader.next() { packets.append(packet) }
            }
            var skipped = MQTTMessage(topic: [0x61], payload: [], identifier: 9)
            skipped.bytesSkipped = 21
            #expect(packets == [.message(skipped), .pong])
        }
    }

    @Test func `a message of 256 MB costs no memory`() throws {
        var reader = MQTTReader(payloadBytesMax: 1 << 18)
        reader.append([0x32, 0xFF, 0xFF, 0xFF, 0x7F, 0, 1, 0x61, 0, 1])
        guard case .message(let message)? = try reader.next() else {
            Issue.record("no message")
            return
        }
        #expect(message.bytesSkipped == 268_435_455 - 5)
        let piece = [UInt8](repeating: 0, count: 1 << 20)
        var rest = message.bytesSkipped
        while rest > 0 {
            reader.append(piece.prefix(rest))
            rest -= min(rest, piece.count)
            #expect(reader.bytesHeld == 0)
        }
        reader.append([0xD0, 0])
        #expect(try reader.next() == .pong)
    }

    @Test func `what a client sends is as the standard's figures have it (§3.1, §3.8)`() {
        let name = Array("r".utf8)
        #expect(
            MQTTWriter.connect(clientID: name, user: nil, password: nil, keepAliveSeconds: 30)
                == [0x10, 13, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0, 0, 30, 0, 1, 0x72])
        #expect(
            MQTTWriter.connect(
                clientID: name, user: [0x75], password: [0x70], keepAliveSeconds: 258)
                == [
                    0x10, 19, 0, 4, 0x4D, 0x51, 0x54, 0x54, 4, 0xC0, 1, 2, 0, 1, 0x72, 0, 1, 0x75,
                    0, 1, 0x70,
                ])
        // A password without a user is not allowed (§3.1.2.9).
        #expect(
            MQTTWriter.connect(clientID: name, user: nil, password: [0x70], keepAliveSeconds: 0)[9]
                == 0)
        #expect(
            MQTTWriter.subscribe([0x61], quality: .atLeastOnce, identifier: 1)
                == [0x82, 6, 0, 1, 0, 1, 0x61, 1])
        #expect(MQTTWriter.acknowledgement(of: .atMostOnce, 1) == [])
        #expect(MQTTWriter.acknowledgement(of: .atLeastOnce, 0x0102) == [0x40, 2, 1, 2])
        #expect(MQTTWriter.acknowledgement(of: .exactlyOnce, 3) == [0x50, 2, 0, 3])
        #expect(MQTTWriter.completion(3) == [0x70, 2, 0, 3])
        #expect(MQTTWriter.ping == [0xC0, 0] && MQTTWriter.disconnect == [0xE0, 0])
        let long = [UInt8](repeating: 0x61, count: 200)
        #expect(
            MQTTWriter.subscribe(long, quality: .atLeastOnce, identifier: 1).prefix(3)
                == [0x82, 0xCD, 0x01])
    }

    @Test(arguments: [
        ("a/b", "a/b", true), ("a/b", "a/+", true), ("a/b", "#", true), ("a/b", "+/+", true),
        ("a/b/c", "a/#", true), ("a", "a/#", true), ("a/b", "+", false), ("a", "a/+", false),
        ("a/", "a/+", true), ("/a", "+/+", true), ("/a", "/+", true), ("/a", "+", false),
        ("$SYS/x", "#", false), ("$SYS/x", "+/x", false), ("$SYS/x", "$SYS/#", true),
        ("ab", "a", false), ("a/b", "A/b", false), ("a/b/c", "a/+/d", false),
    ])
    func `a topic matches a filter as the standard says (§4.7)`(
        name: String, filter: String, matches: Bool
    ) {
        #expect(MQTTTopic.isFilter(Array(filter.utf8)))
        #expect(MQTTTopic.matches(Array(name.utf8), Array(filter.utf8)) == matches)
    }

    @Test func `a topic and a filter have 65 535 bytes at most (§1.5.3)`() {
        for (count, isTaken) in [(65_535, true), (65_536, false)] {
            let text = [UInt8](repeating: 0x61, count: count)
            #expect(MQTTTopic.isFilter(text) == isTaken && MQTTTopic.isName(text) == isTaken)
        }
    }

    @Test(arguments: ["", "a#", "a/#/b", "#/a", "a+", "+a/b", "a/b+/c", "a\u{0}b"])
    func `what is no filter is refused (§4.7.1)`(filter: String) {
        #expect(!MQTTTopic.isFilter(Array(filter.utf8)))
    }
}
