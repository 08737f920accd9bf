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
        case look(Shown)
        case close
    }

    private struct State {
        /// The code of the password of each user that was right, under the name.
        var known: [[UInt8]: [UInt8]] = [:]
        /// The codes of what was wrong a short while ago: who goes on showing the same costs nothing more.
        var wrong: Set<[UInt8]> = []
        /// Those who wait, by the code of what was shown.
        var waiting: [[UInt8]: [Waiter]] = [:]
        var waitingCount = 0
        var waitingOf: [UInt64: Int] = [:]
        var attempts = FailedAttempts()
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

    /// Forgets which passwords were right.
    func follow() {
        state.withLock {
            $0.known = [:]
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
            if let known = state.known[pair.user], isSameCode(known, shown.code),
                let user = access.user(pair.user)
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
            guard !state.isClosed, state.waitingCount < Self.waitingMax,
                state.waitingOf[network, default: 0] < Self.waitingOfNetworkMax
            else { return .refuse(Self.busy) }
            return .wait(shown)
        }
    }

    /// Looks at a password; `done` is called once, on another thread: with nil once the request is to be
    /// judged anew, else with what it is refused with.
    func check(_ shown: Shown, _ done: @escaping @Sendable (HTTPResponse?) -> Void) {
        let isBegun: Bool? = state.withLock { state in
            if state.isClosed { return nil }
            state.waitingCount += 1
            state.waitingOf[shown.network, default: 0] += 1
            let waiter = Waiter(network: shown.network, done: done)
            // The same is looked at once, for all who show it.
            if state.waiting[shown.code] != nil {
                state.waiting[shown.code]?.append(waiter)
                return true
            }
            state.attempts.take(shown.network, at: ClockReading.now().elapsed)
            state.waiting[shown.code] = [waiter]
            if !state.isRunning {
                state.isRunning = DetachedThread.start { [self] in run() }
            }
            guard state.isRunning else {
                settle(shown, &state)
                return nil
            }
            messages.put(.look(shown))
            return true
        }
        if isBegun == nil { done(Self.busy) }
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
                guard case .look(let shown) = message else {
                    refuseAll()
                    return
                }
                look(at: shown)
            }
        }
    }

    private func look(at shown: Shown) {
        let generation = state.withLock { $0.isClosed ? nil : $0.generation }
        guard let generation else { return }
        let access = policy.rules.access
        let isRight = comparison(shown.password, access.hash(of: shown.user))
        let waiting = state.withLock { state in
            if isRight == true, state.generation == generation {
                state.known[shown.user] = shown.code
                state.attempts.giveBack(shown.network)
            } else if isRight == false, state.generation == generation {
                if state.wrong.count >= Self.wrongMax { state.wrong = [] }
                state.wrong.insert(shown.code)
            } else if isRight == nil {
                state.attempts.giveBack(shown.network)
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

/// The passwords in vain of a short while ago, by the network that they came from.
struct FailedAttempts: Sendable {
    /// The attempts that may follow each other at once.
    static let atOnceMax = 20
    /// One more may be made after each such span.
    static let every = Milliseconds.seconds(1)
    /// Networks that are remembered; beyond that the oldest attempts are forgotten.
    static let networksMax = 4096

    private struct Record: Sendable {
        var left: Int
        var filledAt: Int64
    }

    private var records: [UInt64: Record] = [:]

    /// Networks that are remembered.
    var count: Int { records.count }

    /// Returns true if a network may try one more.
    func mayTry(_ network: UInt64, at elapsed: Int64) -> Bool {
        records[network].map { filled($0, at: elapsed).left > 0 } ?? true
    }

    /// Notes an attempt, in vain until it is given back.
    mutating func take(_ network: UInt64, at elapsed: Int64) {
        fill(network, at: elapsed)
        var record = records[network] ?? Record(left: Self.atOnceMax, filledAt: elapsed)
        record.left = max(0, record.left - 1)
        if records[network] == nil, records.count >= Self.networksMax { forget(at: elapsed) }
        records[network] = record
    }

    /// Takes back an attempt that was not in vain.
    mutating func giveBack(_ network: UInt64) {
        guard let left = records[network]?.left else { return }
        records[network]?.left = min(Self.atOnceMax, left + 1)
    }

    private mutating func fill(_ network: UInt64, at elapsed: Int64) {
        guard let record = records[network].map({ filled($0, at: elapsed) }) else { return }
        records[network] = record.left == Self.atOnceMax ? nil : record
    }

    private func filled(_ record: Record, at elapsed: Int64) -> Record {
        let more = max(0, (elapsed - record.filledAt) / Self.every.count)
        return Record(
            left: min(Self.atOnceMax, record.left + Int(clamping: min(more, 1 << 20))),
            filledAt: record.filledAt + more * Self.every.count)
    }

    /// Makes room: first those who may try as often as anybody, else the one noted the longest ago.
    private mutating func forget(at elapsed: Int64) {
        for network in Array(records.keys) { fill(network, at: elapsed) }
        guard records.count >= Self.networksMax,
            let first = records.min(by: { $0.value.filledAt < $1.value.filledAt })
        else { return }
        records[first.key] = nil
    }
}
