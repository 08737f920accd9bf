import Glibc
import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// A request to be posted. Whatever becomes of it, it is sent again with the same bytes.
struct FleetPost: Sendable {
    /// Items of one request at most.
    static let itemsMax = 2000

    var path: String
    var body: [UInt8] = []
    var items = 0
    var isNDJSON = false
}

/// The lines that go one way at once: what belongs together is one request.
struct FleetParcel {
    private let queue: FleetQueue
    private var open: FleetPost?

    /// A parcel for `queue`.
    init(_ queue: FleetQueue) { self.queue = queue }

    /// Adds a line; what it does not belong to leaves before.
    mutating func add(_ line: FleetLine, _ writer: inout FleetWriter) {
        let isNDJSON = line.itemKind != nil
        if open?.path != line.path || open?.items ?? 0 >= FleetPost.itemsMax || !isNDJSON {
            send()
        }
        var post = open ?? FleetPost(path: line.path, isNDJSON: isNDJSON)
        open = nil
        if isNDJSON {
            writer.appendItems(line, to: &post.body)
        } else {
            writer.appendBody(line, to: &post.body)
        }
        post.items += line.items.count
        open = post
    }

    /// Hands over what is left.
    mutating func send() {
        if let post = open { queue.put(post) }
        open = nil
    }
}

/// The counts of what was posted.
package struct FleetAggregates: Sendable, Equatable {
    /// Items that the server acknowledged, by its words.
    package var accepted = 0
    package var duplicates = 0
    package var rejected = 0
    /// Of them, batches.
    package var batches = 0
    /// Requests that were answered with 2xx.
    package var requests = 0
    /// Requests that were sent again, and answers 429 or 503 among the reasons.
    package var retried = 0
    package var refused = 0
    /// Items that were left unsent at the end, or whose delivery status is unknown.
    package var unsent = 0

    mutating func add(_ other: FleetAggregates) {
        accepted += other.accepted
        duplicates += other.duplicates
        rejected += other.rejected
        batches += other.batches
        requests += other.requests
        retried += other.retried
        refused += other.refused
        unsent += other.unsent
    }
}

/// One backend's way to the server: a thread and a connection of its own, one request at a time, in
/// order.
final class FleetQueue: Sendable {
    /// Items that wait at most: beyond it the fleet's time stands still.
    static let waitingMax = 50_000
    /// Milliseconds between two tries of a request: at first, at most, and at most where the server
    /// says how long.
    static let pausesStandard = (first: Int64(200), last: Int64(5000), asked: Int64(30_000))

    /// The state of a queue.
    struct State: Sendable {
        var aggregates = FleetAggregates()
        var waiting = 0
        /// The reason why nothing can ever be taken; nil while there is hope.
        var fault: String?
        /// The trouble that the last try met, while it is being repeated.
        var trouble: String?
        var isDone = false
    }

    private let address: ServerAddress
    private let target: String
    private let pauses: (first: Int64, last: Int64, asked: Int64)
    private let mailbox = Mailbox<FleetPost?>()
    private let shared = Mutex(State())
    /// True once nothing is worth waiting for.
    private let isCut = Atomic(false)

    /// A queue to the server at `address` for the backend that is called so.
    init(
        _ address: ServerAddress, source: String?,
        pauses: (first: Int64, last: Int64, asked: Int64) = pausesStandard
    ) {
        self.address = address
        self.pauses = pauses
        target = source.map { "?source=\(ServerQuestions.escaped($0))" } ?? ""
    }

    /// The state of it.
    var state: State { shared.withLock { $0 } }

    /// Starts its thread; false if there is none to be had.
    func start() -> Bool { DetachedThread.start { [self] in run() } }

    /// Hands over a request.
    func put(_ post: FleetPost) {
        shared.withLock { $0.waiting += post.items }
        mailbox.put(post)
    }

    /// Nothing more comes: it ends when all is sent.
    func close() { mailbox.put(nil) }

    /// Ends it at the next chance, with what waits unsent.
    func cut() { isCut.store(true, ordering: .relaxed) }

    private func run() {
        defer { shared.withLock { $0.isDone = true } }
        let caller: HTTPCaller
        do throws(HTTPCallError) {
            caller = try HTTPCaller(authorities: Authorities(extra: address.authorityPath))
        } catch {
            return shared.withLock { $0.fault = "\(error)" }
        }
        while true {
            for post in mailbox.takeAll(waiting: 200) {
                guard let post else { return }
                send(post, caller)
            }
            if isCut.load(ordering: .relaxed) { return }
        }
    }

    private func send(_ post: FleetPost, _ caller: HTTPCaller) {
        var call = HTTPCall(.post, address.url + post.path + target)
        call.body = post.body
        call.headers = [
            ("Content-Type", post.isNDJSON ? "application/x-ndjson" : "application/json")
        ]
        if let field = address.authorization { call.headers.append(("Authorization", field)) }
        call.clientCertificate = address.certificate
        var pause = pauses.first
        while !isCut.load(ordering: .relaxed), state.fault == nil {
            var wait = Milliseconds(pause)
            do throws(HTTPCallError) {
                let answer = try caller.answer(to: call)
                if take(answer, post, &wait) { return }
            } catch {
                shared.withLock {
                    $0.trouble = "\(error)"
                    $0.aggregates.retried += 1
                }
            }
            sleep(wait)
            pause = min(pause * 2, pauses.last)
        }
        shared.withLock {
            $0.waiting -= post.items
            $0.aggregates.unsent += post.items
        }
    }

    /// Takes an answer; false if the request is to be sent again after `wait`.
    private func take(
        _ answer: HTTPCallAnswer, _ post: FleetPost, _ wait: inout Milliseconds
    ) -> Bool {
        let body = try? JSONTree(reading: answer.body)
        switch answer.status {
        case 200...299, 422:
            shared.withLock { state in
                state.trouble = nil
                state.waiting -= post.items
                state.aggregates.requests += 1
                // What every item was rejected for, the server says too, with 422.
                var rejected = 0
                if case .list(let faults)? = body?["rejected"] { rejected = faults.count }
                let duplicates = Int(body?["duplicates"]?.whole ?? 0)
                state.aggregates.rejected += answer.status == 422 ? post.items : rejected
                state.aggregates.duplicates += duplicates
                let accepted = body?["accepted"]?.whole.map { Int($0) }
                if answer.status != 422 {
                    state.aggregates.accepted += accepted ?? post.items - rejected - duplicates
                }
                if post.path == "/v1/batches" { state.aggregates.batches += post.items }
            }
            return true
        case 408, 429, 500...599:
            let now = ClockReading.now().wall
            if let span = answer.retryAfter.flatMap({ RetryAfter.span($0, now: now) }) {
                wait = min(span, Milliseconds(pauses.asked))
            }
            shared.withLock {
                $0.trouble = "the server answers \(answer.status)"
                $0.aggregates.retried += 1
                if answer.status == 429 || answer.status == 503 { $0.aggregates.refused += 1 }
            }
            return false
        default:
            let detail = body?["detail"]?.shown ?? ""
            let advice =
                answer.status == 401 || answer.status == 403
                ? ": name a token with the scope ingest by --token-file or ROLLCALL_TOKEN" : ""
            shared.withLock {
                $0.fault =
                    "\(address.url)\(post.path) answers \(answer.status)"
                    + (detail.isEmpty ? "" : " (\(detail))") + advice
            }
            return false
        }
    }

    /// Waits, unless it is cut meanwhile.
    private func sleep(_ span: Milliseconds) {
        let end = ClockReading.now().elapsed + span.count
        while ClockReading.now().elapsed < end, !isCut.load(ordering: .relaxed) { usleep(20_000) }
    }
}
