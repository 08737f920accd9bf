import Glibc
import RollcallCore
import RollcallSupport
import Synchronization

/// One connection to a broker, from its beginning to its end, on the thread of its client.
final class MQTTConnection {
    /// The end of a connection.
    enum End: Equatable {
        /// It was asked for: a stop, other settings, or another member leads.
        case left
        /// A message could not be stored: it is not acknowledged, and comes again.
        case unavailable
        /// It broke, or did not come about; why.
        case broken(String)
    }

    /// Bytes that are read at once.
    private static let pieceBytes = 64 << 10
    /// Until a connection stands, TLS included.
    private static let connectMax: Int64 = 10_000
    /// Between two looks at whether it may go on.
    private static let lookEvery: Int64 = 500
    /// A stop waits for so long for what is on its way to the store.
    private static let leaveMax: Int64 = 2_000

    private let settings: MQTTSettings
    private let verdicts: MQTTVerdicts
    private let stream: NetworkStream
    private var session: MQTTSession
    private var outgoing: [UInt8] = []

    /// Connects.
    /// - Throws: `NetworkFault` if it does not come about.
    init(_ settings: MQTTSettings, _ verdicts: MQTTVerdicts) throws(NetworkFault) {
        self.settings = settings
        self.verdicts = verdicts
        let trust: [UInt8]? =
            settings.address.isEncrypted ? try Self.trust(settings.authorityFile) : nil
        let now = ClockReading.now().elapsed
        stream = try NetworkStream(
            host: settings.address.host, port: settings.address.port, trust: trust,
            until: now + Self.connectMax)
        session = MQTTSession(settings.session, at: ClockReading.now().elapsed)
    }

    /// The machine's authorities, and those of a file.
    private static func trust(_ extra: String?) throws(NetworkFault) -> [UInt8] {
        do throws(Authorities.Unreadable) {
            return try Authorities(extra: extra).bundle()
        } catch {
            throw .authorities(error.path)
        }
    }

    /// Hands over what comes until the connection ends, or `mayGoOn` says so.
    func run(
        mayGoOn: () -> Bool, news: (MQTTSession.News) -> Void
    ) -> End {
        do throws(MQTTEnding) {
            while mayGoOn() {
                try turn(news)
            }
            return leave()
        } catch {
            return error.end
        }
    }

    private func turn(_ news: (MQTTSession.News) -> Void) throws(MQTTEnding) {
        let now = ClockReading.now().elapsed
        try takeVerdicts()
        try MQTTEnding.of { () throws(MQTTFault) in
            try session.pass(at: now)
            while let next = try session.next(at: now) { news(next) }
        }
        try send()
        if session.hasRoom {
            let piece = try MQTTEnding.of { () throws(NetworkFault) in
                try stream.read(Self.pieceBytes)
            }
            if !piece.isEmpty { return session.receive(piece[...], at: now) }
        }
        stream.wait(
            reads: session.hasRoom, writes: !outgoing.isEmpty, verdicts.signal,
            milliseconds: min(session.due - now, Self.lookEvery))
    }

    /// Settles what the store has taken, or what will never be taken.
    private func takeVerdicts() throws(MQTTEnding) {
        for (number, isSettled) in verdicts.take() {
            guard isSettled else { throw MQTTEnding(end: .unavailable) }
            session.settle(number)
        }
    }

    private func send() throws(MQTTEnding) {
        outgoing += session.takeOutgoing()
        while !outgoing.isEmpty {
            let count = try MQTTEnding.of { () throws(NetworkFault) in
                try stream.write(outgoing[...])
            }
            if count == 0 { return }
            outgoing.removeFirst(count)
        }
    }

    /// Acknowledges what is stored by now, for a while, and says goodbye: a broker that is not told
    /// would publish our last will, had we one.
    private func leave() -> End {
        let until = ClockReading.now().elapsed + Self.leaveMax
        do throws(MQTTEnding) {
            while session.waiting > 0, ClockReading.now().elapsed < until {
                try takeVerdicts()
                try send()
                if session.waiting > 0 { verdicts.signal.wait(milliseconds: 50) }
            }
            outgoing += session.takeOutgoing() + MQTTWriter.disconnect
            try send()
        } catch {
            return error.end == .unavailable ? .unavailable : .left
        }
        return .left
    }
}

/// An `MQTTEnding` carries to the loop the reason why a connection ends.
private struct MQTTEnding: Error {
    var end: MQTTConnection.End

    /// Runs what talks to the broker.
    static func of<Value>(
        _ body: () throws(MQTTFault) -> Value
    ) throws(MQTTEnding) -> Value {
        do throws(MQTTFault) {
            return try body()
        } catch {
            throw MQTTEnding(end: .broken(error.sentence))
        }
    }

    /// Runs what uses the network.
    static func of<Value>(
        _ body: () throws(NetworkFault) -> Value
    ) throws(MQTTEnding) -> Value {
        do throws(NetworkFault) {
            return try body()
        } catch {
            throw MQTTEnding(end: .broken("\(error)"))
        }
    }
}

/// `MQTTVerdicts` collects what became of the messages of a connection, as the state writer's
/// thread says it.
package final class MQTTVerdicts: Sendable {
    private struct State: Sendable {
        var verdicts: [(number: Int, isSettled: Bool)] = []
        /// Messages that were handed over, and of which nobody has said what became of them.
        var open = 0
    }

    /// Wakes the client's thread.
    let signal: WakeSignal
    private let state = Mutex(State())

    /// Nothing is on its way.
    init(_ signal: WakeSignal) { self.signal = signal }

    /// Messages that are on their way.
    var open: Int { state.withLock { $0.open } }

    /// A message is handed over.
    func begin() { state.withLock { $0.open += 1 } }

    /// Says what became of a message: it is stored or will never be, or it has to come again.
    func put(_ number: Int, isSettled: Bool) {
        let wasEmpty = state.withLock { state in
            let wasEmpty = state.verdicts.isEmpty
            state.verdicts.append((number, isSettled))
            state.open -= 1
            return wasEmpty
        }
        if wasEmpty { signal.raise() }
    }

    /// Takes all that were put in.
    func take() -> [(number: Int, isSettled: Bool)] {
        signal.lower()
        return state.withLock { state in
            defer { state.verdicts = [] }
            return state.verdicts
        }
    }
}
