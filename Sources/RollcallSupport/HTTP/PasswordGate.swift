import Glibc
import RollcallCore
import Synchronization

/// The passwords of the web configuration's users: looked at one by one on a thread of its own, since each
/// takes as long as hundreds of requests; those that were right are known again by a keyed hash.
package final class PasswordGate: Sendable {
    /// Passwords that may wait at once; further ones are refused.
    package static let waitingMax = 32
    /// Of them those of one network.
    package static let waitingOfNetworkMax = 8
    /// Wrong ones that are remembered; all are forgotten beyond that.
    private static let wrongMax = 1024
    /// Bytes of a password that bcrypt looks at; those behind them are as good as any.
    static let bytesRead = 72

    /// The outcome of a look at a head.
    enum Verdict {
        /// It may go on; with its user, if a user's password is known to be right.
        case pass(Access.Token?)
        /// It is not looked at now.
        case refuse(HTTPResponse)
        /// It has to wait until this was looked at.
        case wait(Shown)
    }

    /// A user and a password that somebody shows.
    struct Shown: Sendable {
        fileprivate let user: [UInt8]
        fileprivate let password: [UInt8]
        fileprivate let code: [UInt8]
        fileprivate let network: UInt64

        fileprivate var site: UInt64 { HTTPConnection.site(of: network) }
    }

    private typealias Done = @Sendable (HTTPResponse?) -> Void

    /// Compares a password with a hash; nil if there was no memory for it.
    typealias Comparison =
        @Sendable (_ password: [UInt8], _ hash: (text: String, isSomebodys: Bool)) -> Bool?

    /// Somebody who waits.
    private struct Waiter: Sendable {
        let network: UInt64
        let done: Done
    }

    private enum Message: Sendable {
        /// One more waits to be looked at.
        case look
        case close
    }

    /// A password that was right.
    private struct Known {
        let code: [UInt8]
        /// The hash that it was right by.
        let hash: String
    }

    private struct State {
        /// The password of each user that was right, under the name.
        var known: [[UInt8]: Known] = [:]
        /// The codes of what was wrong a short while ago: who goes on showing the same costs nothing more.
        var wrong: Set<[UInt8]> = []
        /// Those that are to be looked at, in the order in which they came.
        var queue: [Shown] = []
        /// Those who wait, by the code of what was shown.
        var waiting: [[UInt8]: [Waiter]] = [:]
        var waitingCount = 0
        var waitingOf: [UInt64: Int] = [:]
        var attempts = FailedAttempts()
        /// The attempts in vain by sites: they decide who is looked at first, and refuse nobody.
        var attemptsOfSites = FailedAttempts()
        /// Counts changes of users: what was begun before one says nothing.
        var generation = 0
        var isRunning = false
        var isClosed = false
    }

    private let policy: AccessPolicy
    private let comparison: Comparison
    /// Of this process: codes are worth nothing outside of it.
    private let key: [UInt8]
    private let messages = Mailbox<Message>()
    private let state = Mutex(State())

    /// Looks at the passwords of the users of `policy`.
    init(
        _ policy: AccessPolicy, comparison: @escaping Comparison = { Bcrypt.isRight($0, for: $1) }
    ) {
        self.policy = policy
        self.comparison = comparison
        key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    }

    /// Follows other users of the policy: of those whose hash is another one nothing is known any more, and
    /// nothing is known to be wrong.
    func follow() {
        let access = policy.rules.access
        state.withLock {
            $0.known = $0.known.filter { access.hash(of: $0.key) == ($0.value.hash, true) }
            $0.wrong = []
            $0.generation += 1
        }
    }

    /// Refuses what waits, and ends the thread.
    func close() {
        state.withLock { $0.isClosed = true }
        messages.put(.close)
    }

    /// Judges the head of a request from a network.
    func verdict(on request: HTTPRequest, from network: UInt64) -> Verdict {
        // Inputs have doors of their own, and a phone's key may look like a user's password (M3).
        guard let field = request.authorization, Credentials.isBasic(field),
            !request.path.hasPrefix(HTTPRequest.inputsPath)
        else { return .pass(nil) }
        let access = policy.rules.access
        guard !access.users.isEmpty, access.holder(field) == nil,
            let pair = Credentials.basic(in: field)
        else { return .pass(nil) }
        let password = Array(pair.password.prefix(Self.bytesRead))
        let shown = Shown(
            user: pair.user, password: password, code: code(pair.user, password), network: network)
        let now = ClockReading.now().elapsed
        return state.withLock { state in
            if let known = state.known[pair.user], isSameCode(known.code, shown.code),
                let user = access.user(pair.user), access.hash(of: pair.user).text == known.hash
            {
                return .pass(user)
            }
            if state.wrong.contains(shown.code) {
                policy.count(.password)
                return .refuse(Self.wrong)
            }
            if state.waiting[shown.code] == nil, !state.attempts.mayTry(network, at: now) {
                return .refuse(Self.tooMany)
            }
            guard !state.isClosed,
                state.waitingOf[network, default: 0] < Self.waitingOfNetworkMax,
                state.waitingCount < Self.waitingMax
                    || Self.last(behind: shown.site, in: state, at: now) != nil
            else { return .refuse(Self.busy) }
            return .wait(shown)
        }
    }

    /// Looks at a password; `done` is called once, on another thread: with nil once the request is to be
    /// judged anew, else with what it is refused with.
    func check(_ shown: Shown, _ done: @escaping @Sendable (HTTPResponse?) -> Void) {
        let now = ClockReading.now().elapsed
        var displaced: [Waiter] = []
        let isBegun: Bool? = state.withLock { state in
            if state.isClosed { return nil }
            if state.waitingCount >= Self.waitingMax,
                let last = Self.last(behind: shown.site, in: state, at: now)
            {
                let shown = state.queue.remove(at: last)
                // Who was not looked at has not guessed.
                state.attempts.giveBack(shown.network)
                displaced = settle(shown, &state)
            }
            state.waitingCount += 1
            state.waitingOf[shown.network, default: 0] += 1
            let waiter = Waiter(network: shown.network, done: done)
            // The same is looked at once, for all who show it.
            if state.waiting[shown.code] != nil {
                state.waiting[shown.code]?.append(waiter)
                return true
            }
            state.attempts.take(shown.network, at: now)
            state.attemptsOfSites.take(shown.site, at: now)
            state.waiting[shown.code] = [waiter]
            state.queue.append(shown)
            if !state.isRunning {
                state.isRunning = DetachedThread.start { [self] in run() }
            }
            guard state.isRunning else {
                state.queue.removeLast()
                settle(shown, &state)
                return nil
            }
            messages.put(.look)
            return true
        }
        for waiter in displaced { waiter.done(Self.busy) }
        if isBegun == nil { done(Self.busy) }
    }

    /// Returns the one that leaves its place to one of `site` where all are taken: the last of the site that
    /// has guessed the most, if that is more. Else nil.
    private static func last(behind site: UInt64, in state: State, at now: Int64) -> Int? {
        let left = { state.attemptsOfSites.left($0, at: now) }
        let last = state.queue.indices.reversed().min {
            left(state.queue[$0].site) < left(state.queue[$1].site)
        }
        // What is yet to be taken for the new one counts.
        return last.flatMap { left(state.queue[$0].site) < left(site) - 1 ? $0 : nil }
    }

    /// Takes out the one that is looked at next: of those whose site has guessed the least the first. A site
    /// that fills the queue is looked at behind everybody else.
    private static func takeNext(of state: inout State) -> Shown? {
        let now = ClockReading.now().elapsed
        let sites = state.attemptsOfSites
        let next = state.queue.indices.max {
            sites.left(state.queue[$0].site, at: now) < sites.left(state.queue[$1].site, at: now)
        }
        return next.map { state.queue.remove(at: $0) }
    }

    private func code(_ user: [UInt8], _ password: [UInt8]) -> [UInt8] {
        SHA256.hmac(of: user + [UInt8(ascii: ":")] + password, key: key)
    }

    // MARK: - The thread

    private func run() {
        // Batches come first.
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
        while true {
            for message in messages.takeAll(waiting: idleWait) {
                guard case .look = message else {
                    refuseAll()
                    return
                }
                look()
            }
        }
    }

    private func look() {
        let next = state.withLock { state in
            state.isClosed ? nil : Self.takeNext(of: &state).map { ($0, state.generation) }
        }
        guard let (shown, generation) = next else { return }
        let hash = policy.rules.access.hash(of: shown.user)
        let isRight = comparison(shown.password, hash)
        let waiting = state.withLock { state in
            if isRight == true, state.generation == generation {
                state.known[shown.user] = Known(code: shown.code, hash: hash.text)
                state.attempts.giveBack(shown.network)
                state.attemptsOfSites.giveBack(shown.site)
            } else if isRight == false, state.generation == generation {
                if state.wrong.count >= Self.wrongMax { state.wrong = [] }
                state.wrong.insert(shown.code)
            } else if isRight == nil {
                state.attempts.giveBack(shown.network)
                state.attemptsOfSites.giveBack(shown.site)
            }
            return settle(shown, &state)
        }
        let refusal: HTTPResponse?
        switch isRight {
        case true?: refusal = nil
        case false?:
            policy.count(.password)
            refusal = Self.wrong
        case nil: refusal = Self.noMemory
        }
        for waiter in waiting { waiter.done(refusal) }
    }

    private func refuseAll() {
        let waiting = state.withLock { state in
            let all = state.waiting.values.flatMap { $0 }
            state.waiting = [:]
            state.queue = []
            return all
        }
        for waiter in waiting { waiter.done(Self.busy) }
    }

    /// Takes out who waited for what was looked at.
    @discardableResult
    private func settle(_ shown: Shown, _ state: inout State) -> [Waiter] {
        let waiting = state.waiting.removeValue(forKey: shown.code) ?? []
        state.waitingCount -= waiting.count
        for waiter in waiting {
            let rest = state.waitingOf[waiter.network, default: 0] - 1
            state.waitingOf[waiter.network] = rest > 0 ? rest : nil
        }
        return waiting
    }

    // MARK: - Answers

    private static var wrong: HTTPResponse {
        .problem(
            401, "Unauthorized", detail: "this user, or this password, is not known here",
            headers: [("WWW-Authenticate", Credentials.basicChallenge)])
    }

    private static var tooMany: HTTPResponse {
        .problem(
            429, "Too Many Requests",
            detail: "too many passwords that are not right came from this network: try again in "
                + "\(FailedAttempts.every.count / 1000) s",
            headers: [("Retry-After", "\(FailedAttempts.every.count / 1000)")])
    }

    private static var noMemory: HTTPResponse {
        .problem(
            503, "Service Unavailable", detail: "no memory to look at a password",
            headers: [("Retry-After", "1")])
    }

    private static var busy: HTTPResponse {
        .problem(
            503, "Service Unavailable", detail: "too many passwords wait to be looked at",
            headers: [("Retry-After", "1")])
    }
}

/// Below what serves requests.
private let niceness: Int32 = 10
/// Milliseconds of sleep without anything to do.
private let idleWait: Int64 = 3_600_000

/// Returns true for the same bytes, without a branch on where they differ.
private func isSameCode(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    var difference = UInt8(a.count == b.count ? 0 : 1)
    for (a, b) in zip(a, b) { difference |= a ^ b }
    return difference == 0
}
