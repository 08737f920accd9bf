import Testing

@testable import RollcallCore

/// One connection to a broker, packet by packet. Source: OASIS MQTT 3.1.1 §4; M6, M8.
@Suite struct MQTTSessionTests {
    private var session: MQTTSession

    init() {
        var settings = MQTTSession.Settings(clientID: [0x72], filter: Array("a/#".utf8))
        settings.messagesMax = 4
        settings.bytesMax = 100
        session = MQTTSession(settings, at: 0)
    }

    /// All news that these bytes bring.
    private mutating func bring(_ bytes: [UInt8], at now: Int64 = 0) throws -> [MQTTSession.News] {
        session.receive(bytes[...], at: now)
        var news: [MQTTSession.News] = []
        while let next = try session.next(at: now) { news.append(next) }
        return news
    }

    private mutating func open(isSessionPresent: Bool = false, at now: Int64 = 0) throws {
        _ = try bring([0x20, 2, isSessionPresent ? 1 : 0, 0, 0x90, 3, 0, 1, 1], at: now)
        #expect(session.stage == .open)
        _ = session.takeOutgoing()
    }

    private static func publish(_ identifier: UInt8, first: UInt8 = 0x32) -> [UInt8] {
        [first, 7, 0, 3, 0x61, 0x2F, 0x62, 0, identifier]
    }

    private static func deliveries(_ news: [MQTTSession.News]) -> [MQTTSession.Delivery] {
        news.compactMap { if case .delivery(let delivery) = $0 { delivery } else { nil } }
    }

    @Test mutating func `it connects, subscribes and is open (M6)`() throws {
        #expect(session.takeOutgoing().first == 0x10)
        #expect(try bring([0x20, 2, 1, 0]) == [.accepted(isSessionPresent: true)])
        #expect(session.takeOutgoing() == [0x82, 8, 0, 1, 0, 3, 0x61, 0x2F, 0x23, 1])
        #expect(try bring([0x90, 3, 0, 1, 1]) == [.subscribed(.atLeastOnce)])
        #expect(session.stage == .open)
    }

    @Test mutating func `a message is acknowledged once it is settled, and not before (M6)`() throws
    {
        try open()
        let news = Self.deliveries(try bring(Self.publish(9)))
        #expect(news.map(\.number) == [0])
        #expect(session.takeOutgoing() == [])
        session.settle(0)
        #expect(session.takeOutgoing() == [0x40, 2, 0, 9])
        session.settle(0)
        #expect(session.takeOutgoing() == [])
    }

    @Test mutating func `acknowledgements go out in the order of the messages (§4.6)`() throws {
        try open()
        _ = try bring(Self.publish(1) + Self.publish(2) + Self.publish(3))
        session.settle(2)
        session.settle(1)
        #expect(session.takeOutgoing() == [])
        session.settle(0)
        #expect(session.takeOutgoing() == [0x40, 2, 0, 1, 0x40, 2, 0, 2, 0x40, 2, 0, 3])
        #expect(session.waiting == 0)
    }

    @Test mutating func `one that comes exactly once has two acknowledgements (§4.3.3)`() throws {
        try open()
        _ = try bring(Self.publish(5, first: 0x34))
        session.settle(0)
        #expect(session.takeOutgoing() == [0x50, 2, 0, 5])
        #expect(try bring([0x62, 2, 0, 5]) == [])
        #expect(session.takeOutgoing() == [0x70, 2, 0, 5])
    }

    @Test mutating func `nothing more is read while so many messages wait`() throws {
        try open()
        let five = (1...5).flatMap { Self.publish($0) }
        #expect(Self.deliveries(try bring(five)).count == 4)
        #expect(!session.hasRoom)
        session.settle(0)
        #expect(Self.deliveries(try bring([])).map(\.number) == [4])
    }

    @Test mutating func `nothing more is read while so many bytes wait, but one message is`() throws
    {
        try open()
        let long: [UInt8] =
            [0x32, 127, 0, 3, 0x61, 0x2F, 0x62, 0, 1] + [UInt8](repeating: 0, count: 120)
        #expect(Self.deliveries(try bring(long + Self.publish(2))).count == 1)
        session.settle(0)
        #expect(Self.deliveries(try bring([])).count == 1)
    }

    /// A message of so many bytes, its topic's three among them.
    private static func publish(_ identifier: UInt8, bytes: Int) -> [UInt8] {
        [0x32, UInt8(4 + bytes), 0, 3, 0x61, 0x2F, 0x62, 0, identifier]
            + [UInt8](repeating: 0, count: bytes - 3)
    }

    @Test mutating func `the topic's bytes count, and exactly so many are enough (M6)`() throws {
        try open()
        let news = try bring(Self.publish(1, bytes: 99) + Self.publish(2, bytes: 3))
        #expect(Self.deliveries(news).count == 2)
        session.settle(0)
        session.settle(1)
        let full = try bring(Self.publish(3, bytes: 100) + Self.publish(4, bytes: 3))
        #expect(Self.deliveries(full).count == 1 && !session.hasRoom)
    }

    @Test mutating func `the bytes of what is settled have room again (M6)`() throws {
        try open()
        for identifier in stride(from: UInt8(1), to: 20, by: 2) {
            let two = Self.publish(identifier, bytes: 60) + Self.publish(identifier + 1, bytes: 60)
            let deliveries = Self.deliveries(try bring(two))
            #expect(deliveries.count == 2)
            for delivery in deliveries { session.settle(delivery.number) }
        }
    }

    @Test mutating func `a repetition of what waits is the same message`() throws {
        try open()
        let news = try bring(Self.publish(1) + Self.publish(1, first: 0x3A))
        #expect(Self.deliveries(news).count == 1)
        session.settle(0)
        #expect(session.takeOutgoing() == [0x40, 2, 0, 1])
    }

    @Test mutating func `two messages with one identifier are a fault (§2.3.1)`() throws {
        try open()
        session.receive((Self.publish(1) + Self.publish(1))[...], at: 0)
        _ = try session.next(at: 0)
        #expect(throws: MQTTFault.identifierInUse(1)) { try self.session.next(at: 0) }
    }

    @Test(
        arguments: [
            ([0xD0, 0], MQTTFault.unexpected(13)), ([0x90, 3, 0, 1, 1], .unexpected(9)),
            ([0x20, 2, 0, 4], .refused(.credentials)), ([0x30, 3, 0, 1, 0x61], .unexpected(3)),
            ([0x20, 2, 0, 0, 0x20, 2, 0, 0], .unexpected(2)),
            ([0x20, 2, 0, 0, 0x90, 3, 0, 2, 1], .unexpected(9)),
            ([0x20, 2, 0, 0, 0x90, 3, 0, 1, 0x80], .subscriptionRefused),
            ([0x20, 2, 0, 0, 0xD0, 0], .unexpected(13)),
            ([0x20, 2, 0, 0, 0x90, 3, 0, 1, 1, 0xD0, 0], .unexpected(13)),
        ] as [([UInt8], MQTTFault)])
    mutating func `what has no place is a fault`(bytes: [UInt8], fault: MQTTFault) {
        #expect(throws: fault) { _ = try self.bring(bytes) }
    }

    // MARK: - Time

    @Test mutating func `a broker that does not answer is given up after 10 s`() throws {
        try session.pass(at: 9_999)
        #expect(session.due == 10_000)
        #expect(throws: MQTTFault.noAnswer) { try self.session.pass(at: 10_000) }
    }

    @Test mutating func `each answer has 10 s, whatever else comes before it (M6)`() throws {
        // Half an answer is none.
        _ = try bring([0x20], at: 9_000)
        #expect(session.due == 10_000)
        _ = try bring([2, 0, 0], at: 9_500)
        #expect(session.stage == .subscribing && session.due == 19_500)
        try session.pass(at: 19_499)
        #expect(throws: MQTTFault.noAnswer) { try self.session.pass(at: 19_500) }
    }

    @Test mutating func `a broker that does not answer a ping is given up`() throws {
        try open()
        try session.pass(at: 0)
        #expect(session.takeOutgoing() == [0xC0, 0])
        #expect(try bring([0xD0, 0], at: 5) == [.heard])
        #expect(session.due == 5_000)
        try session.pass(at: 10_000)
        #expect(session.takeOutgoing() == [0xC0, 0])
        // Whatever comes proves that it is there.
        _ = try bring(Self.publish(1, first: 0x32), at: 19_000)
        session.settle(0)
        try session.pass(at: 28_999)
        #expect(throws: MQTTFault.noAnswer) { try self.session.pass(at: 29_000) }
    }

    @Test mutating func `no answer is missed while we do not read`() throws {
        try open()
        try session.pass(at: 0)
        _ = try bring((1...4).flatMap { Self.publish($0) }, at: 1)
        try session.pass(at: 10_001)
        try session.pass(at: 20_001)
        #expect(session.takeOutgoing() == [0xC0, 0], "one ping at a time")
        for number in 0...3 { session.settle(number) }
        #expect(try bring([0xD0, 0], at: 20_002) == [.heard])
    }

    @Test mutating func `what is not settled for 30 s ends the connection`() throws {
        try open()
        _ = try bring(Self.publish(1) + Self.publish(2), at: 100)
        session.settle(1)
        #expect(session.due <= 30_100)
        #expect(throws: MQTTFault.unsettled) { try self.session.pass(at: 30_100) }
    }

    @Test mutating func `it wakes for a message that is not settled (M6)`() throws {
        try open()
        for now in stride(from: Int64(0), through: 30_000, by: 10_000) {
            try session.pass(at: now)
            _ = try bring([0xD0, 0], at: now + 5)
            if now == 0 { _ = try bring(Self.publish(1), at: 100) }
        }
        #expect(session.due == 30_100)
    }

    // MARK: - What may be old

    private mutating func freshness(_ bytes: [UInt8], at now: Int64) throws -> [Bool] {
        let deliveries = Self.deliveries(try bring(bytes, at: now))
        for delivery in deliveries { session.settle(delivery.number) }
        return deliveries.map(\.isFresh)
    }

    @Test mutating func `without a kept session a message is of now, unless it is retained (M8)`()
        throws
    {
        try open()
        #expect(try freshness(Self.publish(1), at: 1) == [true])
        #expect(try freshness(Self.publish(2, first: 0x33), at: 1) == [false])
        #expect(try freshness(Self.publish(3, first: 0x3A), at: 1) == [false])
    }

    @Test
    mutating func `what was kept while we were away is not of now, until the broker had room (M8)`()
        throws
    {
        try open(isSessionPresent: true)
        // A window of two: two come, and two more once the first are acknowledged.
        #expect(
            try freshness(Self.publish(1) + Self.publish(2), at: 1) == [false, false])
        try session.pass(at: 1)
        #expect(session.takeOutgoing() == [0x40, 2, 0, 1, 0x40, 2, 0, 2, 0xC0, 0])
        #expect(
            try freshness(Self.publish(3) + Self.publish(4) + [0xD0, 0], at: 2)
                == [false, false])
        // The window was full before that answer: more may be kept.
        #expect(try freshness(Self.publish(5), at: 900) == [false])
        try session.pass(at: 1_001)
        #expect(try freshness(Self.publish(6) + [0xD0, 0], at: 1_002) == [false])
        // It could have sent two, and sent one.
        #expect(try freshness(Self.publish(7), at: 1_003) == [true])
    }

    /// M8: the last word on a message that comes exactly once is PUBCOMP.
    @Test(arguments: [true, false])
    mutating func `a message that comes exactly once has room for the next at its end (M8)`(
        isReleased: Bool
    ) throws {
        try open(isSessionPresent: true)
        #expect(try freshness(Self.publish(1, first: 0x34), at: 1) == [false])
        if isReleased { _ = try bring([0x62, 2, 0, 1], at: 1) }
        try session.pass(at: 1)
        _ = try bring([0xD0, 0], at: 2)
        #expect(try freshness(Self.publish(2), at: 3) == [isReleased])
    }

    @Test mutating func `the end of a message of an earlier connection makes no room (M8)`() throws
    {
        try open(isSessionPresent: true)
        #expect(try bring([0x62, 2, 0, 9], at: 1) == [])
        #expect(session.takeOutgoing() == [0x70, 2, 0, 9])
        _ = try bring(Self.publish(1), at: 1)
        try session.pass(at: 1)
        _ = try bring([0xD0, 0], at: 2)
        #expect(try freshness(Self.publish(2), at: 3) == [false])
    }

    @Test mutating func `a broker that kept nothing has said so after the first ping (M8)`() throws
    {
        try open(isSessionPresent: true)
        try session.pass(at: 0)
        _ = try bring([0xD0, 0], at: 1)
        #expect(try freshness(Self.publish(1), at: 2) == [true])
    }
}
