import Logging
import RollcallCore
import Synchronization

/// One listener as its requests are evaluated.
package struct AccessPoint: Sendable {
    /// Only this machine reaches it.
    package var isLoopback: Bool
    /// Only `/metrics` and health are behind it, for everybody.
    package var isForProbes: Bool
    /// `Host` as programs on this machine write it: known to be ours without being taken apart.
    package let usualHosts: [String]

    /// The access point that a listener is.
    package init(_ listener: HTTPListener, isForProbes: Bool = false) {
        isLoopback = listener.isLoopback
        self.isForProbes = isForProbes
        usualHosts = ["127.0.0.1", "localhost"].flatMap { [$0, "\($0):\(listener.port)"] }
    }
}

/// The access policy by which clients are let in, and the count of who was not.
package final class AccessPolicy: Sendable {
    /// The rules that may change while the server runs.
    package struct Rules: Sendable, Equatable {
        /// The tokens.
        package var access: Access
        /// The URL at which people reach us from outside, if that was set.
        package var externalURL: ExternalURL?
        /// The further names that `Host` may hold on loopback, lower case and without a port.
        package var trustedHosts: [String]
        /// The URL of a person in the users' own system, with `{id}` in it; empty for none.
        package var personURL: String

        /// Everything open, at loopback's names only, unless told otherwise.
        package init(
            access: Access = Access(), externalURL: ExternalURL? = nil, trustedHosts: [String] = [],
            personURL: String = ""
        ) {
            self.access = access
            self.externalURL = externalURL
            self.trustedHosts = trustedHosts
            self.personURL = personURL
        }
    }

    /// The reason why somebody was not let in.
    package enum Refusal: String, CaseIterable {
        /// `Host` names another machine.
        case host
        /// No token, or one that is not known.
        case token
        /// A user's password, or a user, that is not known.
        case password
        /// A client's certificate that is missing, or not good.
        case certificate
        /// The token does not open this.
        case scope
        /// A page of somebody else's wants to write.
        case origin
    }

    private struct State: Sendable {
        var rules: Rules
        var refused = [Int](repeating: 0, count: Refusal.allCases.count)
        var lastLine: ContinuousClock.Instant?
        var signIns = SignIns()
    }

    private let log: Logger
    private let closing = Atomic(false)
    private let state: Mutex<State>

    /// Doors that follow `rules` and tell `log` about who was refused.
    package init(_ rules: Rules, log: Logger) {
        self.log = log
        state = Mutex(State(rules: rules))
    }

    /// The rules as they are now.
    package var rules: Rules { state.withLock { $0.rules } }

    /// Follows other rules from the next request on.
    package func follow(_ rules: Rules) { state.withLock { $0.rules = rules } }

    /// Sign-ins in vain that may follow each other at once.
    package static var attemptsMax: Int { SignIns.attemptsMax }

    /// Returns the token of `shown`, which somebody signs in with; nil if it is nobody's.
    ///
    /// - Throws: `TooManyAttempts` if it is nobody's and so many were in vain: whoever tries is to wait, and
    ///   whoever has one is let in meanwhile.
    package func signIn(_ shown: [UInt8], _ rules: Rules) throws(TooManyAttempts) -> Access.Token? {
        if let token = rules.access.holder(of: shown) { return token }
        let now = ClockReading.now().elapsed
        guard state.withLock({ $0.signIns.takeAttempt(at: now) }) else { throw TooManyAttempts() }
        return nil
    }

    /// Ends a sign-in before its time, as far as this process knows of it.
    package func end(_ session: Session) {
        let now = ClockReading.now().wall
        state.withLock { $0.signIns.end(session, at: now) }
    }

    /// Returns true of a sign-in that was ended, or is over at `now`.
    package func isOver(_ session: Session, at now: Timestamp) -> Bool {
        state.withLock { $0.signIns.isOver(session, at: now) }
    }

    /// Says that the server is stopping.
    package func close() { closing.store(true, ordering: .relaxed) }

    /// True from `close` on.
    package var isClosing: Bool { closing.load(ordering: .relaxed) }

    /// Counts a refusal; a line a second at most says so: who knocks must not fill the disk.
    package func count(_ refusal: Refusal) {
        let now = ContinuousClock.now
        let logged: [Int]? = state.withLock { state in
            for (place, known) in Refusal.allCases.enumerated() where known == refusal {
                state.refused[place] += 1
            }
            if let last = state.lastLine, now - last < lineEvery { return nil }
            state.lastLine = now
            let counts = state.refused
            state.refused = counts.map { _ in 0 }
            return counts
        }
        guard let logged else { return }
        var metadata: Logger.Metadata = [:]
        for (known, count) in zip(Refusal.allCases, logged) where count > 0 {
            metadata[known.rawValue] = "\(count)"
        }
        log.warning("requests refused at the door", metadata: metadata)
    }
}

/// The refusal of a sign-in that is not looked at: a short while later one is again.
package struct TooManyAttempts: Error {
    /// Seconds after which one may be made.
    package var retryAfter: Int64 { SignIns.attemptEvery.count / 1000 }

    /// Whoever counts attempts says so.
    init() {}
}

/// Between lines about refusals; what is not told yet is told with the next one.
private let lineEvery = Duration.seconds(1)
