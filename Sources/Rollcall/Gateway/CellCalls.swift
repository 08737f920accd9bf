import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The outcome of a request to one cell.
enum CellOutcome: Sendable {
    /// It answered, whatever it says.
    case answered(HTTPCallAnswer)
    /// No answer came in time, for a reason in words. Nothing is known of what it did, unless it was not
    /// reached.
    case unavailable(String)
}

/// A request as it goes on to a cell.
struct CellRequest: Sendable {
    var method: HTTPCall.Method
    /// The path and the query.
    var target: String
    var headers: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// True of what does nothing more when it comes twice.
    var mayBeSentTwice = true
    /// From the arrival of the request until the answer is given up.
    var patience = CellCalls.patience
    /// The time that each of several addresses has at least, while there is any.
    var shareMin = Milliseconds(500)
    /// True of what one of our own pages sent, which the gateway has seen to: to the cell the page is its own.
    var hasOrigin = false

    /// A question.
    init(_ target: String) { (method, self.target) = (.get, target) }

    /// A request with another target or body than the one that came; nil if its method goes on to nobody.
    init?(_ request: HTTPRequest, target: String, body: [UInt8]? = nil, mayBeSentTwice: Bool) {
        guard let method = HTTPCall.Method(rawValue: request.method) else { return nil }
        self.method = method
        self.target = target
        headers = Router.passedFields(of: request)
        if let coding = request.acceptEncoding, method == .get, body == nil {
            headers.append((name: "Accept-Encoding", value: coding))
        }
        self.body = body ?? request.body
        self.mayBeSentTwice = mayBeSentTwice || method == .get
        hasOrigin = request.origin != nil
    }

    /// Returns the same without a coding of the answer, which is to be read here.
    var plain: CellRequest {
        var copy = self
        copy.headers.removeAll { $0.name == "Accept-Encoding" }
        return copy
    }
}

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

    private struct State: Sendable {
        var pools: [[UInt8]: CallPool] = [:]
        /// The address that answered last, of cells with several.
        var urls: [[UInt8]: [UInt8]] = [:]
        var isClosed = false
    }

    private let stats: GatewayStats
    private let state = Mutex(State())

    /// Called with the version of the map by which a cell says that somebody is not its own.
    private let onMisdirected: @Sendable (Int64) -> Void

    /// Calls that are counted in `stats`.
    init(stats: GatewayStats, onMisdirected: @escaping @Sendable (Int64) -> Void = { _ in }) {
        self.stats = stats
        self.onMisdirected = onMisdirected
    }

    /// Ends the threads once they are idle.
    func close() {
        let pools = state.withLock { state in
            state.isClosed = true
            return Array(state.pools.values)
        }
        for pool in pools { pool.close() }
    }

    /// Sends a request that was here at `arrival`, by the machine's clock, to a cell; `reply` is called once,
    /// on another thread, or at once if there is no room for another one to wait.
    func send(
        _ request: CellRequest, to cell: CellMap.Cell, arrival: Int64, reply: @escaping Reply
    ) {
        let pool = state.withLock { state in
            if let known = state.pools[cell.name] { return known }
            let pool = CallPool(threadsMax: Self.callsMax, waitingMax: Self.waitingMax)
            state.pools[cell.name] = pool
            return pool
        }
        let isTaken = pool.take { [self] caller in
            let outcome = perform(request, cell, arrival, caller)
            stats.count(outcome, of: cell.name)
            if case .answered(let answer) = outcome, answer.status == 421,
                let field = answer.fields.first(where: { $0.name == Router.cellMapField }),
                let version = Int64(field.value)
            {
                onMisdirected(version)
            }
            reply(outcome)
        }
        guard !isTaken else { return }
        let outcome = CellOutcome.unavailable("too much is on its way to it")
        stats.count(outcome, of: cell.name)
        reply(outcome)
    }

    private func perform(
        _ request: CellRequest, _ cell: CellMap.Cell, _ arrival: Int64, _ caller: HTTPCaller?
    ) -> CellOutcome {
        guard let caller else { return .unavailable("libcurl is missing") }
        var last = CellOutcome.unavailable("it has no address")
        let urls = urls(of: cell)
        for (place, url) in urls.enumerated() {
            let left = request.patience.count - max(0, ClockReading.now().elapsed - arrival)
            guard left > 0 else { return place == 0 ? .unavailable("no answer in time") : last }
            // One that hangs leaves the others their share; what goes out once has all of it.
            let even = left / Int64(urls.count - place)
            let share = Milliseconds(
                request.mayBeSentTwice ? max(even, min(left, request.shareMin.count)) : left)
            do throws(HTTPCallError) {
                let answer = try caller.answer(to: Self.call(request, url, share))
                last = .answered(answer)
                if answer.status < 500 {
                    prefer(url, of: cell)
                    return last
                }
                if !request.mayBeSentTwice { break }
            } catch {
                last = .unavailable(error.description)
                if error.mayHaveArrived, !request.mayBeSentTwice { break }
            }
        }
        if urls.count > 1 { prefer(urls[1], of: cell) }
        return last
    }

    /// Returns a request as a call at one address.
    static func call(
        _ request: CellRequest, _ url: [UInt8], _ left: Milliseconds = patience
    ) -> HTTPCall {
        let address = String(decoding: url, as: UTF8.self)
        var call = HTTPCall(request.method, address + request.target)
        call.headers = request.headers
        if request.hasOrigin, let origin = ExternalURL(address)?.origin {
            call.headers.append((name: "Origin", value: origin))
        }
        call.body = request.body
        call.fieldsKept = Router.fieldsKept + Router.pageFieldsKept
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
