import RollcallCore
import RollcallSupport
import Synchronization

/// Threads that call other servers and wait for their answers, so that whoever asks need not. Each keeps its
/// connections for the next call, and ends when it has been without work for a while.
package final class CallPool: Sendable {
    /// Work for a thread, which has a caller unless libcurl is missing.
    package typealias Job = @Sendable (HTTPCaller?) -> Void

    /// A thread without work ends after so many milliseconds, with its connections.
    private static let idleMax: Int64 = 10_000

    private final class Worker: Sendable {
        let jobs = Mailbox<Job?>()
    }

    private struct State: Sendable {
        var idle: [Worker] = []
        var count = 0
        /// Those for which no thread was free, in their order.
        var waiting: [Job] = []
        var isClosed = false

        /// Takes a job that waits; if there is none the worker is idle, or it ends.
        mutating func takeWaiting(or worker: Worker, _ mayGoOn: inout Bool) -> Job? {
            if !waiting.isEmpty { return waiting.removeFirst() }
            mayGoOn = !isClosed
            if isClosed { count -= 1 } else { idle.append(worker) }
            return nil
        }
    }

    private let threadsMax: Int
    private let waitingMax: Int
    private let state = Mutex(State())

    /// A pool without threads, of `threadsMax` at most: so many calls are on their way at once, and
    /// `waitingMax` wait for one of them to come back.
    package init(threadsMax: Int, waitingMax: Int = 0) {
        (self.threadsMax, self.waitingMax) = (threadsMax, waitingMax)
    }

    /// Ends the threads once they are idle; what comes from now on finds no room, and what waits is done.
    package func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for worker in idle { worker.jobs.put(nil) }
    }

    /// Has a thread do a job, once one is free; false if there is no room, and then it is not done.
    package func take(_ job: @escaping Job) -> Bool {
        var waits = false
        let (worker, isNew): (Worker?, Bool) = state.withLock { state in
            if state.isClosed { return (nil, false) }
            if let idle = state.idle.popLast() { return (idle, false) }
            guard state.count < threadsMax else {
                waits = state.waiting.count < waitingMax
                if waits { state.waiting.append(job) }
                return (nil, false)
            }
            state.count += 1
            return (Worker(), true)
        }
        guard let worker else { return waits }
        if isNew {
            guard DetachedThread.start({ [self] in run(worker) }) else {
                let waiting: [Job] = state.withLock { state in
                    state.count -= 1
                    defer { if state.count == 0 { state.waiting = [] } }
                    return state.count == 0 ? state.waiting : []
                }
                // Nobody is there who would do what waits.
                for job in waiting { job(nil) }
                return false
            }
        }
        worker.jobs.put(job)
        return true
    }

    private func run(_ worker: Worker) {
        // One for each thread: it keeps the connections.
        let caller = try? HTTPCaller()
        while true {
            let jobs = worker.jobs.takeAll(waiting: Self.idleMax)
            for job in jobs {
                guard let job else { return }
                job(caller)
                var mayGoOn = false
                while let next = state.withLock({ $0.takeWaiting(or: worker, &mayGoOn) }) {
                    next(caller)
                }
                if !mayGoOn { return }
            }
            // With its connections it waits for the next.
            if !jobs.isEmpty { continue }
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
}
