import Logging
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// Calls cells, each by threads of its own: one that is slow or dead delays nobody but those who ask it, and
/// these for `patience` at most. Source: K5.
final class CellCalls: Sendable {
    /// From the arrival of a request until a cell's answer is given up.
    static let patience = Milliseconds(2000)
    /// Requests on their way to one cell at once, at most.
    static let callsMax = 64
    /// Requests that wait for one of them to come back, at most; each for `patience`.
    static let waitingMax = 1024
    private static let connectTimeout = Milliseconds(1000)
    private static let answerBytesMax = 16 << 20

    /// Takes what came of a request.
    typealias Reply = @Sendable (CellOutcome) -> Void

    /// The reason why nobody can be called.
    static let noLibrary = "libcurl is missing"
    private static let inTime = "no answer in time"

    private struct State: Sendable {
        var pools: [[UInt8]: CallPool] = [:]
        /// The address that answered last, of cells with several.
        var urls: [[UInt8]: [UInt8]] = [:]
        /// The standing of each: whether it answers.
        var standings: [[UInt8]: CellStanding] = [:]
    }

    private let stats: GatewayStats
    private let log: Logger
    private let state = Mutex(State())

    /// Called with the version of the map by which a cell answers.
    private let onAnswer: @Sendable (Int64) -> Void

    /// Calls that are counted in `stats`; `log` is told why a cell does not answer, which clients are not.
    init(
        stats: GatewayStats, log: Logger,
        onAnswer: @escaping @Sendable (_ mapVersion: Int64) -> Void
    ) {
        self.stats = stats
        self.log = log
        self.onAnswer = onAnswer
    }

    /// Ends the threads once they are idle.
    func close() {
        for pool in state.withLock({ Array($0.pools.values) }) { pool.close() }
    }

    /// Sends a request that was here at `arrival`, by the machine's clock, to a cell; `reply` is called once,
    /// on another thread, or at once if there is no room for another one to wait.
    func send(
        _ request: CellRequest, to cell: CellMap.Cell, arrival: Int64, reply: @escaping Reply
    ) {
        let now = ClockReading.now().elapsed
        let (pool, leave) = state.withLock { state in
            let leave = state.standings[cell.name, default: CellStanding()].leave(at: now)
            if let known = state.pools[cell.name] { return (known, leave) }
            let pool = CallPool(threadsMax: Self.callsMax, waitingMax: Self.waitingMax)
            state.pools[cell.name] = pool
            return (pool, leave)
        }
        guard leave == .granted else {
            if leave == .refusedAndDue { ask(cell, pool) }
            return refuse("no answer in time lately", cell, reply)
        }
        let isTaken = pool.take { [self] caller in
            let found = perform(request, cell, arrival, caller)
            note(found, of: cell)
            stats.count(found.outcome, of: cell.name)
            if found.outcome.mapVersion > 0 { onAnswer(found.outcome.mapVersion) }
            reply(found.outcome)
        }
        if !isTaken { refuse("too much is on its way to it", cell, reply) }
    }

    /// Asks a cell that did not answer in time whether it is there again; nobody waits for that.
    private func ask(_ cell: CellMap.Cell, _ pool: CallPool) {
        let arrival = ClockReading.now().elapsed
        let noted = { @Sendable [self] (isThere: Bool) in
            let now = ClockReading.now().elapsed
            state.withLock { $0.standings[cell.name]?.noteAsked(isThere: isThere, at: now) }
        }
        let isTaken = pool.take { [self] caller in
            let found = perform(CellRequest(Resource.healthy.path), cell, arrival, caller)
            guard case .answered(let answer) = found.outcome, answer.status < 500 else {
                return noted(false)
            }
            noted(true)
        }
        if !isTaken { noted(false) }
    }

    private func refuse(_ why: String, _ cell: CellMap.Cell, _ reply: Reply) {
        let outcome = CellOutcome.unavailable(why)
        stats.count(outcome, of: cell.name)
        reply(outcome)
    }

    // MARK: - One request

    /// The outcome of a request, and what is told of it to nobody but the log.
    private struct Found {
        var outcome: CellOutcome
        var trouble: String?
        var isLate = false

        static func failed(_ why: String, _ trouble: String? = nil, isLate: Bool = false) -> Found {
            Found(outcome: .unavailable(why), trouble: trouble ?? why, isLate: isLate)
        }
    }

    private func perform(
        _ request: CellRequest, _ cell: CellMap.Cell, _ arrival: Int64, _ caller: HTTPCaller?
    ) -> Found {
        guard let caller else { return .failed(Self.noLibrary) }
        var last = Found.failed("it has no address")
        let urls = urls(of: cell)
        for (place, url) in urls.enumerated() {
            let left = request.patience.count - max(0, ClockReading.now().elapsed - arrival)
            guard left > 0 else { return place == 0 ? .failed(Self.inTime, isLate: true) : last }
            // One that hangs leaves the others their share; what goes out once has all of it.
            let even = left / Int64(urls.count - place)
            let share = Milliseconds(
                request.mayBeSentTwice ? max(even, min(left, request.shareMin.count)) : left)
            do throws(HTTPCallError) {
                let answer = try caller.answer(to: Self.call(request, url, share))
                if Self.isLoop(answer) {
                    let address = String(decoding: url, as: UTF8.self)
                    last = .failed(Self.loop, "\(address): \(Self.loop)")
                    continue
                }
                last = Found(outcome: .answered(answer))
                if answer.status < 500 {
                    prefer(url, of: cell)
                    return last
                }
                if !request.mayBeSentTwice { break }
            } catch {
                var isLate = false
                if case .timedOut = error.cause { isLate = true }
                last = .failed(Self.reason(of: error), error.description, isLate: isLate)
                // Another address would not have it either.
                if case .wrongField = error.cause { return last }
                if error.mayHaveArrived, !request.mayBeSentTwice { break }
            }
        }
        if urls.count > 1 { prefer(urls[1], of: cell) }
        return last
    }

    /// Notes whether a cell answers, and tells the log when that changes.
    private func note(_ found: Found, of cell: CellMap.Cell) {
        let now = ClockReading.now().elapsed
        let line = state.withLock {
            $0.standings[cell.name, default: CellStanding()].note(
                found.trouble, isLate: found.isLate, at: now)
        }
        let name = Gateway.name(of: cell)
        switch line {
        case .trouble(let why):
            log.warning("a cell does not answer", metadata: ["cell": "\(name)", "error": "\(why)"])
        case .isOver: log.info("a cell answers again", metadata: ["cell": "\(name)"])
        case nil: break
        }
    }

    /// Notes that no stream of a cell began at an address; the next one is asked for at another.
    func note(_ error: HTTPCallError, of cell: CellMap.Cell, at url: [UInt8]) {
        note(.failed("", error.description), of: cell)
        if let other = urls(of: cell).first(where: { $0 != url }) { prefer(other, of: cell) }
    }

    // MARK: - What is said of it

    private static let loop = "a gateway answers at its address"

    /// True of the answer of a gateway to what another one passes on.
    static func isLoop(_ answer: HTTPCallAnswer) -> Bool { answer.status == Gateway.loopStatus }

    /// Says to clients why there is no answer: addresses and what libraries say are for the log.
    static func reason(of error: HTTPCallError) -> String {
        switch error.cause {
        case .timedOut, .givenUp: inTime
        case .noLibrary: noLibrary
        case .answerTooLarge, .headTooLarge, .cutOff, .notHTTP: "its answer is not whole"
        case .wrongField: "a field of the request cannot be passed on"
        default: "it cannot be connected to"
        }
    }

    /// Returns a request as a call at one address.
    static func call(
        _ request: CellRequest, _ url: [UInt8], _ left: Milliseconds = patience
    ) -> HTTPCall {
        let address = String(decoding: url, as: UTF8.self)
        var call = HTTPCall(request.method, address + request.target)
        call.headers = request.headers + [(name: Gateway.viaField, value: Gateway.via)]
        if request.hasOrigin, let origin = ExternalURL(address)?.origin {
            call.headers.append((name: "Origin", value: origin))
        }
        call.body = request.body
        // Where members are is no client's business.
        call.fieldsKept =
            Router.fieldsKept.filter { $0 != Router.leaderField } + Router.pageFieldsKept
        call.mayBeSentTwice = request.mayBeSentTwice
        call.timeout = left
        call.connectTimeout = min(connectTimeout, left)
        call.answerBytesMax = answerBytesMax
        return call
    }

    /// The addresses of a cell, the one that answered last in front.
    func urls(of cell: CellMap.Cell) -> [[UInt8]] {
        guard cell.urls.count > 1, let known = state.withLock({ $0.urls[cell.name] }),
            cell.urls.contains(known)
        else { return cell.urls }
        return [known] + cell.urls.filter { $0 != known }
    }

    private func prefer(_ url: [UInt8], of cell: CellMap.Cell) {
        if cell.urls.count > 1 { state.withLock { $0.urls[cell.name] = url } }
    }
}

/// Gathers what comes of requests to several cells, and goes on once it has all of it.
final class CellGathering: Sendable {
    private struct State: Sendable {
        var outcomes: [CellOutcome?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let then: @Sendable ([CellOutcome]) -> Void

    /// Waits for `count` outcomes; `then` gets them in the order of the requests, on the thread of the last.
    init(_ count: Int, then: @escaping @Sendable ([CellOutcome]) -> Void) {
        state = Mutex(State(outcomes: [CellOutcome?](repeating: nil, count: count), missing: count))
        self.then = then
    }

    /// Takes what came of the request at `place`.
    func take(_ outcome: CellOutcome, at place: Int) {
        let all: [CellOutcome]? = state.withLock { state in
            guard state.outcomes[place] == nil else { return nil }
            state.outcomes[place] = outcome
            state.missing -= 1
            return state.missing == 0 ? state.outcomes.compactMap(\.self) : nil
        }
        if let all { then(all) }
    }
}

extension CellCalls {
    /// Sends a request to each of some cells, and goes on with what came of all.
    func send(
        _ requests: [(request: CellRequest, cell: CellMap.Cell)], arrival: Int64,
        then: @escaping @Sendable ([CellOutcome]) -> Void
    ) {
        let gathering = CellGathering(requests.count, then: then)
        for (place, (request, cell)) in requests.enumerated() {
            send(request, to: cell, arrival: arrival) { gathering.take($0, at: place) }
        }
    }
}
