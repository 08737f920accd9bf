import Logging
import RollcallCore
import RollcallSupport
import Synchronization

/// Keeps a subscription at a broker alive, on a thread of its own: connects, hands over what comes,
/// acknowledges what is committed, and comes back after every break. Source: M6.
///
///     away ──► connecting ──► subscribing ──► open ──► away
///
/// `@unchecked Sendable` is true because everything mutable but `standing` is touched by its own thread
/// alone.
package final class MQTTClient: @unchecked Sendable {
    /// A message as it came.
    package struct Arrival: Sendable {
        package var topic: [UInt8]
        package var payload: [UInt8]
        /// Bytes of a payload that was too long to be read; 0 for one that was read.
        package var bytesSkipped: Int
        /// False if it may be an old one (M8).
        package var isFresh: Bool
        package var at: Timestamp
    }

    /// An `Outcome` says what became of a message.
    package enum Outcome: Int, CaseIterable, Sendable {
        /// It is committed.
        case committed
        /// It will never be taken: acknowledged all the same, or it would come for ever (M4).
        case refused
        /// It says nothing that is of interest.
        case skipped
        /// It is on a topic that nobody asked for: an older subscription's.
        case unasked
        /// It is not known to be stored: not acknowledged, so that it comes again.
        case returned

        /// The label's value.
        package var word: StaticString {
            switch self {
            case .committed: "committed"
            case .refused: "refused"
            case .skipped: "skipped"
            case .unasked: "unasked"
            case .returned: "returned"
            }
        }
    }

    /// A `Standing` says how a client stands, for those who must not ask it.
    package struct Standing: Equatable, Sendable {
        /// True while it is subscribed.
        package var isConnected = false
        /// Since when it is, or is not; an instant of the machine's clock.
        package var since: Int64
        /// The reason why it is not connected; empty before the first try, and while it is.
        package var trouble = ""
        /// True if it is not to be connected now: another member leads, or nothing can be stored.
        package var isHeldBack = false
        package var connections = 0
        /// Messages by `Outcome`.
        package var messages = [Int](repeating: 0, count: Outcome.allCases.count)
        /// Messages that wait for their commit.
        package var waiting = 0
    }

    /// Takes a message over; the closure is called once, from any thread, with what became of it.
    package typealias Deliver = @Sendable (Arrival, @escaping @Sendable (Outcome) -> Void) -> Void

    /// Without a connection for so long the log says so again, and louder.
    package static let awayMax: Int64 = 60_000
    /// Between two looks at whether it may connect.
    private static let lookEvery: Int64 = 500
    /// A connection that ends sooner is a hint that somebody else has the same client id.
    private static let briefMax: Int64 = 10_000
    private static let stackBytes = 2 << 20

    private let name: String
    private let settings: MQTTSettings
    private let log: Logger
    private let verdicts: MQTTVerdicts
    private let deliver: Deliver
    private let mayConnect: @Sendable () -> Bool
    private let onHeard: @Sendable () -> Void
    private let closed = Atomic(false)
    private let state: Mutex<Standing>

    private var pause: MQTTPause
    /// The trouble that was logged last; nil if nothing is wrong.
    private var logged: String?
    private var hasLoggedAway = false
    private var hadSession = false
    private var openedAt: Int64?
    private var brief = 0

    /// A client of the input `name`, to be started; nil if the system has no descriptors left.
    ///
    /// `mayConnect` is asked twice a second; `onHeard` is called when the broker has shown that it is
    /// there: at the subscription, and with each answer to a ping.
    package init?(
        input name: String, _ settings: MQTTSettings, log: Logger,
        mayConnect: @escaping @Sendable () -> Bool, onHeard: @escaping @Sendable () -> Void,
        deliver: @escaping Deliver
    ) {
        guard let signal = WakeSignal() else { return nil }
        verdicts = MQTTVerdicts(signal)
        self.name = name
        self.settings = settings
        self.log = log
        self.deliver = deliver
        self.mayConnect = mayConnect
        self.onHeard = onHeard
        state = Mutex(Standing(since: ClockReading.now().elapsed))
        let clientID = Array(settings.clientID.utf8)
        pause = MQTTPause(seed: StableHash.of(clientID.span, clientID.indices))
    }

    /// Starts the thread; false if the system has none left.
    package func start() -> Bool {
        DetachedThread.start(stackBytes: Self.stackBytes) { [self] in run() }
    }

    /// Ends it, and does not wait for that: it acknowledges what is committed within two seconds.
    package func close() {
        closed.store(true, ordering: .relaxed)
        verdicts.signal.raise()
    }

    /// Returns how the client stands.
    package var standing: Standing {
        var standing = state.withLock { $0 }
        standing.waiting = verdicts.open
        return standing
    }

    // MARK: - The thread

    private var isClosed: Bool { closed.load(ordering: .relaxed) }

    private func run() {
        while !isClosed {
            // What an earlier connection brought is settled before the broker sends it again.
            guard verdicts.open == 0, mayConnect() else {
                state.withLock { $0.isHeldBack = true }
                wait(Self.lookEvery)
                continue
            }
            _ = verdicts.take()
            state.withLock { $0.isHeldBack = false }
            let end = connect()
            leave(end)
            if isClosed { return }
            if end != .left { wait(pause.next()) }
        }
    }

    /// Waits, unless it is to close meanwhile; says it when the broker has been away for long.
    private func wait(_ milliseconds: Int64) {
        let until = ClockReading.now().elapsed + milliseconds
        while !isClosed {
            let now = ClockReading.now().elapsed
            logAway(now)
            if now >= until { return }
            verdicts.signal.wait(milliseconds: min(until - now, Self.lookEvery))
            // What is put in meanwhile is taken later: raised, the signal would not let us wait.
            verdicts.signal.lower()
        }
    }

    private func connect() -> MQTTConnection.End {
        openedAt = nil
        let connection: MQTTConnection
        do throws(NetworkFault) {
            connection = try MQTTConnection(settings, verdicts)
        } catch {
            return .broken("\(error)")
        }
        return connection.run(mayGoOn: { !isClosed && mayConnect() }, news: take)
    }

    private func take(_ news: MQTTSession.News) {
        switch news {
        case .accepted(let isSessionPresent):
            if hadSession, !isSessionPresent {
                log.warning(
                    "the broker has not kept the session: what came while we were away is lost",
                    metadata: metadata)
            }
        case .subscribed(let granted): opened(granted)
        case .heard: onHeard()
        case .delivery(let delivery): hand(over: delivery)
        }
    }

    private func opened(_ granted: MQTTQuality) {
        let now = ClockReading.now().elapsed
        openedAt = now
        hadSession = true
        state.withLock { state in
            state.isConnected = true
            state.since = now
            state.trouble = ""
            state.connections += 1
        }
        if logged != nil || state.withLock({ $0.connections }) == 1 {
            log.info("subscribed", metadata: metadata)
        }
        logged = nil
        hasLoggedAway = false
        if granted == .atMostOnce {
            log.warning(
                "the broker grants QoS 0 only: what comes while we are away is lost",
                metadata: metadata)
        }
        onHeard()
    }

    private func hand(over delivery: MQTTSession.Delivery) {
        verdicts.begin()
        let (message, number) = (delivery.message, delivery.number)
        guard MQTTTopic.matches(message.topic, Array(settings.topic.utf8)) else {
            count(.unasked)
            return verdicts.put(number, isSettled: true)
        }
        let arrival = Arrival(
            topic: message.topic, payload: message.payload, bytesSkipped: message.bytesSkipped,
            isFresh: delivery.isFresh, at: ClockReading.now().wall)
        deliver(arrival) { [self] outcome in
            count(outcome)
            verdicts.put(number, isSettled: outcome != .returned)
        }
    }

    private func count(_ outcome: Outcome) {
        state.withLock { $0.messages[outcome.rawValue] += 1 }
    }

    // MARK: - Away

    private func leave(_ end: MQTTConnection.End) {
        if isClosed { return }
        let now = ClockReading.now().elapsed
        let stood = openedAt.map { now - $0 }
        var trouble =
            switch end {
            case .left: ""
            case .unavailable: "what it brings cannot be stored"
            case .broken(let why): why
            }
        brief = end != .left && (stood ?? .max) < Self.briefMax ? brief + 1 : 0
        if brief >= 3, end != .unavailable {
            trouble += "; does another client have the client_id \(settings.clientID)?"
        }
        if (stood ?? 0) >= Self.briefMax { pause.begin() }
        state.withLock { state in
            if state.isConnected { state.since = now }
            state.isConnected = false
            state.trouble = trouble
        }
        guard !trouble.isEmpty, logged != trouble else { return }
        logged = trouble
        var metadata = metadata
        metadata["error"] = "\(trouble)"
        log.warning("the subscription is broken: it is tried again", metadata: metadata)
    }

    /// Says once that nobody is heard by it for a minute.
    private func logAway(_ now: Int64) {
        let standing = state.withLock { $0 }
        guard !hasLoggedAway, !standing.isHeldBack, !standing.isConnected,
            now - standing.since >= Self.awayMax
        else { return }
        hasLoggedAway = true
        var metadata = metadata
        metadata["error"] = "\(standing.trouble)"
        log.error(
            "the broker has been away for a minute: nobody is heard", metadata: metadata)
    }

    private var metadata: Logger.Metadata {
        ["input": "\(name)", "broker": "\(settings.address.text)"]
    }
}

/// An `MQTTPause` says how long a client waits before it tries anew: 1, 2, 4, … 60 s, ±20 %, so
/// that the clients of a broker that comes back do not come at once.
struct MQTTPause {
    private static let first: Int64 = 1_000
    private static let most: Int64 = 60_000

    /// Tells clients apart.
    private let seed: UInt64
    private var tries: UInt64 = 0

    /// The pauses of one client.
    init(seed: UInt64) { self.seed = seed }

    /// The next one is the first again.
    mutating func begin() { tries = 0 }

    /// Milliseconds of the next pause.
    mutating func next() -> Int64 {
        let pause = min(Self.first << Int64(min(tries, 10)), Self.most)
        tries += 1
        let bytes = withUnsafeBytes(of: seed &+ tries) { Array($0) }
        let share = Int64(StableHash.of(bytes.span, 0..<bytes.count) >> 20 % 401) - 200
        return pause + pause * share / 1000
    }
}
