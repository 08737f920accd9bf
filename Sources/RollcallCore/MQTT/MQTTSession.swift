/// A client's side of one connection to a broker: it subscribes to one filter, hands messages over, and
/// acknowledges each once it is settled, in the order in which they came.
///
///     connecting ──CONNACK──► subscribing ──SUBACK──► open
///
/// All instants are milliseconds of one clock that never goes back. Source: MQTT 3.1.1 §4; M6, M8.
package struct MQTTSession: Sendable {
    /// `Settings` says who connects, and what for.
    package struct Settings: Equatable, Sendable {
        /// Fixed, since the broker keeps the session under it.
        package var clientID: [UInt8]
        package var user: [UInt8]?
        package var password: [UInt8]?
        package var filter: [UInt8]
        /// Messages that wait to be settled, at most: then nothing more is read.
        package var messagesMax = 256
        /// Bytes of their payloads and topics, at most; one message is always taken.
        package var bytesMax = 1 << 20
        /// Bytes of a payload, at most; a longer one is skipped.
        package var payloadBytesMax = 256 << 10

        /// A client that subscribes to `filter`.
        package init(clientID: [UInt8], filter: [UInt8]) {
            self.clientID = clientID
            self.filter = filter
        }
    }

    /// A `Stage` says how far a connection has come.
    package enum Stage: Equatable, Sendable {
        /// CONNECT is sent.
        case connecting
        /// SUBSCRIBE is sent.
        case subscribing
        /// The broker has said yes to both.
        case open
    }

    /// A message, to be settled by its number.
    package struct Delivery: Equatable, Sendable {
        package var number: Int
        package var message: MQTTMessage
        /// False if it may be an old one: the broker kept it for us, or for all who subscribe, or sent
        /// it before (M8).
        package var isFresh: Bool
    }

    /// `News` says what a connection brings.
    package enum News: Equatable, Sendable {
        case accepted(isSessionPresent: Bool)
        case subscribed(MQTTQuality)
        case delivery(Delivery)
        /// The broker has answered a ping.
        case heard
    }

    /// A message that waits to be settled, or for those before it.
    private struct Pending: Sendable {
        var quality: MQTTQuality
        var identifier: UInt16
        var bytes: Int
        var since: Int64
        var isSettled = false
    }

    /// Seconds without a packet of ours after which the broker gives the connection up (§3.1.2.10).
    private static let keepAliveSeconds: UInt16 = 30
    /// Between two pings.
    package static let pingEvery: Int64 = 5_000
    /// Between two of them while it is not known whether the broker has sent what it kept.
    private static let pingEarly: Int64 = 1_000
    /// Until the broker has said yes, from the beginning; and until it answers a ping.
    package static let answerMax: Int64 = 10_000
    /// Until a message is settled.
    package static let settlingMax: Int64 = 30_000
    private static let subscription: UInt16 = 1

    private let settings: Settings
    private var reader: MQTTReader
    private var outgoing: [UInt8]
    private(set) package var stage = Stage.connecting
    /// Until when the next answer has to be there; nil while none is owed.
    private var answerBy: Int64?
    private var pingAt: Int64
    private var pending: [Pending] = []
    private var first = 0
    private var bytesPending = 0
    private var backlog = MQTTBacklog()

    /// A connection that stands since `now`.
    package init(_ settings: Settings, at now: Int64) {
        self.settings = settings
        reader = MQTTReader(payloadBytesMax: settings.payloadBytesMax)
        outgoing = MQTTWriter.connect(
            clientID: settings.clientID, user: settings.user, password: settings.password,
            keepAliveSeconds: Self.keepAliveSeconds)
        answerBy = now + Self.answerMax
        pingAt = .max
    }

    // MARK: - In

    /// Takes bytes of the broker, which prove that it is there.
    package mutating func receive(_ bytes: ArraySlice<UInt8>, at now: Int64) {
        reader.append(bytes)
        if stage == .open, answerBy != nil { answerBy = now + Self.answerMax }
    }

    /// True while there is room for another message: otherwise nothing is to be read.
    package var hasRoom: Bool {
        pending.count < settings.messagesMax
            && (bytesPending < settings.bytesMax || pending.isEmpty)
    }

    /// Returns what the bytes so far bring next; nil if there is no more, or no room for it.
    /// - Throws: `MQTTFault` if the connection is to be closed.
    package mutating func next(at now: Int64) throws(MQTTFault) -> News? {
        while hasRoom, let packet = try reader.next() {
            if let news = try take(packet, now) { return news }
        }
        return nil
    }

    private mutating func take(_ packet: MQTTPacket, _ now: Int64) throws(MQTTFault) -> News? {
        switch (packet, stage) {
        case (.accepted(let isPresent), .connecting):
            stage = .subscribing
            answerBy = now + Self.answerMax
            backlog.begin(isSessionPresent: isPresent)
            outgoing += MQTTWriter.subscribe(
                settings.filter, quality: .atLeastOnce, identifier: Self.subscription)
            return .accepted(isSessionPresent: isPresent)
        case (.refused(let refusal), .connecting): throw .refused(refusal)
        // "The first packet sent from the Server to the Client MUST be a CONNACK" (§3.2).
        case (_, .connecting), (.accepted, _), (.refused, _):
            throw .unexpected(Self.kind(packet).rawValue)
        case (.subscribed(Self.subscription, let granted), .subscribing):
            guard let granted else { throw .subscriptionRefused }
            stage = .open
            answerBy = nil
            pingAt = now
            return .subscribed(granted)
        case (.subscribed, _): throw .unexpected(MQTTPacket.Kind.suback.rawValue)
        // "The Server is permitted to start sending PUBLISH packets matching the Subscription before
        // the Server sends the SUBACK Packet" (§3.8.4); so is what it kept of an earlier one.
        case (.message(let message), _): return try take(message, now)
        case (.released(let identifier), _):
            outgoing += MQTTWriter.completion(identifier)
            backlog.acknowledged()
            return nil
        case (.pong, .open):
            guard answerBy != nil else { throw .unexpected(MQTTPacket.Kind.pingresp.rawValue) }
            answerBy = nil
            backlog.answered()
            return .heard
        case (.pong, .subscribing): throw .unexpected(MQTTPacket.Kind.pingresp.rawValue)
        }
    }

    private mutating func take(_ message: MQTTMessage, _ now: Int64) throws(MQTTFault) -> News? {
        let isAcknowledged = message.quality != .atMostOnce
        if isAcknowledged,
            pending.contains(where: {
                $0.identifier == message.identifier && $0.quality != .atMostOnce
            })
        {
            // Acknowledged twice, the second time would be for another message that has the
            // identifier by then.
            guard message.isDuplicate else { throw .identifierInUse(message.identifier) }
            return nil
        }
        let bytes = message.topic.count + message.payload.count
        pending.append(
            Pending(
                quality: message.quality, identifier: message.identifier, bytes: bytes, since: now))
        bytesPending += bytes
        if isAcknowledged { backlog.received() }
        return .delivery(
            Delivery(
                number: first + pending.count - 1, message: message,
                isFresh: backlog.isOver && !message.isRetained && !message.isDuplicate))
    }

    private static func kind(_ packet: MQTTPacket) -> MQTTPacket.Kind {
        switch packet {
        case .accepted, .refused: .connack
        case .subscribed: .suback
        case .message: .publish
        case .released: .pubrel
        case .pong: .pingresp
        }
    }

    // MARK: - Out

    /// Settles a message: it is committed, or will never be taken. It is acknowledged once those before
    /// it are: "it MUST send PUBACK packets in the order in which the corresponding PUBLISH packets were
    /// received" (§4.6).
    package mutating func settle(_ number: Int) {
        let place = number - first
        guard pending.indices.contains(place) else { return }
        pending[place].isSettled = true
        let settled = pending.prefix { $0.isSettled }
        for message in settled {
            bytesPending -= message.bytes
            outgoing += MQTTWriter.acknowledgement(of: message.quality, message.identifier)
            if message.quality == .atLeastOnce { backlog.acknowledged() }
        }
        first += settled.count
        pending.removeFirst(settled.count)
    }

    /// Messages that wait to be settled.
    package var waiting: Int { pending.count }

    /// Takes what is to be sent.
    package mutating func takeOutgoing() -> [UInt8] {
        defer { outgoing = [] }
        return outgoing
    }

    /// The instant at which `pass` has something to do.
    package var due: Int64 {
        var due = min(answerBy ?? .max, pingAt)
        if let first = pending.first { due = min(due, first.since + Self.settlingMax) }
        return due
    }

    /// Lets time pass: asks whether the broker is there.
    /// - Throws: `MQTTFault` if something did not come in time.
    package mutating func pass(at now: Int64) throws(MQTTFault) {
        if let first = pending.first, now >= first.since + Self.settlingMax { throw .unsettled }
        if let answerBy, now >= answerBy {
            // Behind what we do not read an answer may wait.
            guard !hasRoom else { throw .noAnswer }
            self.answerBy = now + Self.answerMax
        }
        guard stage == .open, now >= pingAt else { return }
        pingAt = now + (backlog.isOver ? Self.pingEvery : Self.pingEarly)
        // One at a time: so its answer says what the broker knew when it answered.
        if answerBy != nil { return }
        answerBy = now + Self.answerMax
        backlog.asked()
        outgoing += MQTTWriter.ping
    }
}

/// An `MQTTBacklog` knows whether the broker has sent all that it kept while we were away.
///
/// Nothing says so. But a broker has only so many messages unacknowledged at once, sends the next as
/// soon as it may, and handles packets in order. So once it answers a ping while it could have sent one
/// more, there was no more.
struct MQTTBacklog: Sendable {
    /// True once nothing is left of what was kept.
    private(set) var isOver = true
    private var receivedCount = 0
    private var acknowledgedCount = 0
    /// The most that it ever had unacknowledged, which it may have again.
    private var unacknowledgedMax = 1
    /// The number of messages that were acknowledged before the ping.
    private var acknowledgedBefore = 0

    /// A connection begins; without a session nothing was kept.
    mutating func begin(isSessionPresent: Bool) { isOver = !isSessionPresent }

    mutating func received() {
        receivedCount += 1
        unacknowledgedMax = max(unacknowledgedMax, receivedCount - acknowledgedCount)
    }

    /// The broker may send one more: it has the last word of ours on a message.
    mutating func acknowledged() { acknowledgedCount = min(acknowledgedCount + 1, receivedCount) }

    /// A ping is sent, behind the acknowledgements so far.
    mutating func asked() { acknowledgedBefore = acknowledgedCount }

    /// Its answer came, behind the messages so far.
    mutating func answered() {
        if receivedCount - acknowledgedBefore < unacknowledgedMax { isOver = true }
    }
}
