import RollcallBasis
import RollcallCore
import RollcallSupport
import Synchronization

/// The counts of writes that a member passed on to the leader. Source: S15.
struct PassedOnStats: Sendable {
    /// An `Outcome` says what became of a write that was passed on.
    enum Outcome: Int, CaseIterable, Sendable {
        /// The leader answered, whatever it said.
        case answered
        /// The leader could not be reached: nothing of it can have arrived.
        case unreached
        /// No whole answer came: nobody knows.
        case unknown
        /// Too many were on their way already.
        case full

        /// The label's value.
        var word: StaticString {
            switch self {
            case .answered: "answered"
            case .unreached: "unreached"
            case .unknown: "unknown"
            case .full: "full"
            }
        }
    }

    private var counts = [Int](repeating: 0, count: Outcome.allCases.count)

    mutating func count(_ outcome: Outcome) { counts[outcome.rawValue] += 1 }

    /// Appends the family.
    func append(to page: inout Exposition) {
        page.family(
            "rollcall_member_passed_on", .counter,
            "Writes that this member passed on to the leader, by what became of them.")
        for outcome in Outcome.allCases {
            page.sample(["outcome": .word(outcome.word)], Quantity(counts[outcome.rawValue]))
        }
    }
}

/// Passes writes on to the member that leads, each on a thread that waits for its answer: neither the
/// listener nor the state writer does. Source: S15.
final class LeaderCaller: Sendable {
    /// The field by which a member says that it passes a request on, and for how many milliseconds it
    /// had it. Whoever gets such a one passes it to nobody.
    static let field = "Rollcall-Passed-On"
    /// Writes on their way at once at most; of more the client gets a 503 with the leader's address.
    static let callsMax = 64
    /// From the arrival of a request until its answer is given up: the listener's watchdog, which says
    /// nothing of who leads, would come next. A drill waits 4 s for its receiver.
    static let patience = Milliseconds(4500)
    /// Until the connection to the leader stands.
    private static let connectTimeout = Milliseconds(1000)
    /// A thread without work ends after so long, with its connection.
    private static let idleMax: Int64 = 10_000
    /// Bytes of an answer at most: a hundred names of items and problems each.
    private static let answerBytesMax = 4 << 20

    /// Takes what came of a call.
    typealias Reply = @Sendable (PassedOnStats.Outcome, HTTPCallAnswer?) -> Void

    private struct Job: Sendable {
        let call: HTTPCall
        /// The instant at which the request was here, by the machine's clock.
        let arrival: Int64
        let reply: Reply
    }

    private final class Worker: Sendable {
        let jobs = Mailbox<Job?>()
    }

    private struct State: Sendable {
        var idle: [Worker] = []
        var count = 0
        var isClosed = false
    }

    private let state = Mutex(State())

    /// A caller without threads.
    init() {}

    /// Ends the threads once they are idle; what comes from now on finds no room.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for worker in idle { worker.jobs.put(nil) }
    }

    /// Makes a call on another thread, for a request that was here at `arrival`; `reply` is called
    /// once, there, or at once if there is no room.
    func call(_ call: HTTPCall, arrival: Int64, reply: @escaping Reply) {
        let job = Job(call: call, arrival: arrival, reply: reply)
        let (worker, isNew): (Worker?, Bool) = state.withLock { state in
            if state.isClosed { return (nil, false) }
            if let idle = state.idle.popLast() { return (idle, false) }
            guard state.count < Self.callsMax else { return (nil, false) }
            state.count += 1
            return (Worker(), true)
        }
        guard let worker else { return reply(.full, nil) }
        worker.jobs.put(job)
        if isNew, !DetachedThread.start({ [self] in run(worker) }) {
            state.withLock { $0.count -= 1 }
            reply(.full, nil)
        }
    }

    private func run(_ worker: Worker) {
        // One for each thread: it keeps the connection to the leader.
        let caller = try? HTTPCaller()
        while true {
            for job in worker.jobs.takeAll(waiting: Self.idleMax) {
                guard let job else { return }
                perform(job, caller)
                let mayGoOn = state.withLock { state in
                    if state.isClosed {
                        state.count -= 1
                        return false
                    }
                    state.idle.append(worker)
                    return true
                }
                if !mayGoOn { return }
            }
            // Whoever is not among the idle any more has work on its way.
            let isOver = state.withLock { state in
                guard let place = state.idle.firstIndex(where: { $0 === worker }) else {
                    return false
                }
                state.idle.remove(at: place)
                state.count -= 1
                return true
            }
            if isOver { return }
        }
    }

    private func perform(_ job: Job, _ caller: HTTPCaller?) {
        let had = max(0, ClockReading.now().elapsed - job.arrival)
        let left = Self.patience.count - had
        guard let caller, left > 0 else { return job.reply(.unreached, nil) }
        var call = job.call
        call.headers.append((Self.field, "\(had)"))
        call.timeout = Milliseconds(left)
        call.connectTimeout = min(Self.connectTimeout, call.timeout)
        call.answerBytesMax = Self.answerBytesMax
        do throws(HTTPCallError) {
            let answer = try caller.answer(to: call)
            job.reply(.answered, answer)
        } catch {
            job.reply(error.mayHaveArrived ? .unknown : .unreached, nil)
        }
    }
}
