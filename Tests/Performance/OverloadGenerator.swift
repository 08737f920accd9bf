import Glibc

/// What a server did that was offered more than it can do.
struct OverloadStats {
    /// The answers of one second of the run.
    struct Second {
        /// Requests answered 2xx.
        var served = 0
        /// Requests answered 503.
        var refused = 0
        /// How long those took that were served.
        var latencies = LatencyHistogram()
    }

    /// Second by second; not those answered after the last request.
    var seconds: [Second]
    /// Requests that were due.
    var offered = 0
    /// Of these: due while every connection still had one on its way.
    var unsent = 0
    /// Of these: answered 2xx, all its batches accepted.
    var served = 0
    /// Of these: answered 503.
    var refused = 0
    /// Of the refused: without `Retry-After`.
    var refusedWithoutRetryAfter = 0
    /// Of these: the connection closed without a whole answer.
    var cut = 0
}

/// An open loop: requests are due at a fixed rate whatever becomes of the earlier ones, as phones
/// report whether the server keeps up or not.
///
/// One thread on poll(2). What is due while no connection is free is not sent.
struct OverloadGenerator {
    private let workload: Workload
    private var connections: [LoadConnection] = []
    private var polled: [pollfd] = []
    private var free: [Int] = []
    private var isFree: [Bool] = []
    private var stats = OverloadStats(seconds: [])
    private var start = Nanoseconds(count: 0)

    /// Connects.
    init(_ workload: Workload, to server: ServerProcess) throws(BenchmarkError) {
        self.workload = workload
        for index in 0..<workload.connections {
            let connection = try LoadConnection(port: server.port, workload: workload)
            connections.append(connection)
            polled.append(
                pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0))
            free.append(index)
            isFree.append(true)
        }
    }

    /// Offers so many requests a second for whole seconds, and waits for the answers.
    mutating func run(
        _ source: inout BatchSource, perSecond: Double, seconds: Int
    ) throws(BenchmarkError) -> OverloadStats {
        stats = OverloadStats(
            seconds: Array(repeating: OverloadStats.Second(), count: seconds))
        start = .now()
        let end = start + .milliseconds(Int64(seconds) * 1000)
        var now = start
        while now < end {
            try offer(&source, due: Int((now - start).seconds * perSecond))
            try turn(waiting: 1)
            now = .now()
        }
        let patience = end + answerPatience
        while free.count < connections.count {
            guard Nanoseconds.now() < patience else {
                throw .answer(
                    "\(workload.name): \(connections.count - free.count) requests have no answer")
            }
            try turn(waiting: 100)
        }
        return stats
    }

    /// Sends what has become due, as far as there are free connections.
    private mutating func offer(
        _ source: inout BatchSource, due: Int
    ) throws(BenchmarkError) {
        source.readClock()
        while stats.offered < due {
            stats.offered += 1
            guard let index = free.popLast() else {
                stats.unsent += 1
                continue
            }
            isFree[index] = false
            try connections[index].begin(&source, at: .now())
            watch(index)
        }
    }

    private mutating func watch(_ index: Int) {
        polled[index].fd = connections[index].descriptor
        polled[index].events =
            connections[index].isSending ? Int16(POLLIN) | Int16(POLLOUT) : Int16(POLLIN)
    }

    /// Waits once, for some milliseconds at most, and handles every connection that is ready.
    private mutating func turn(waiting milliseconds: Int32) throws(BenchmarkError) {
        let ready = poll(&polled, nfds_t(polled.count), milliseconds)
        if ready < 0 && errno == EINTR { return }
        guard ready >= 0 else { throw .system(call: "poll", errno: errno) }
        guard ready > 0 else { return }
        for index in polled.indices where polled[index].revents != 0 {
            let events = Int32(polled[index].revents)
            if events & POLLOUT != 0, !isFree[index] {
                try connections[index].send()
                watch(index)
            }
            guard events & ~POLLOUT != 0 else { continue }
            try take(connections[index].read(), at: index)
        }
    }

    /// Counts what came of a request; its connection is free again, or a new one.
    private mutating func take(
        _ reading: LoadConnection.Reading, at index: Int
    ) throws(BenchmarkError) {
        let now = Nanoseconds.now()
        let second = Int((now - start).count / 1_000_000_000)
        let isInTime = stats.seconds.indices.contains(second)
        switch reading {
        case .partial: return
        case .answered:
            stats.served += 1
            if isInTime {
                stats.seconds[second].served += 1
                stats.seconds[second].latencies.record(now - connections[index].begun)
            }
        case .refused(let hasRetryAfter):
            stats.refused += 1
            if !hasRetryAfter { stats.refusedWithoutRetryAfter += 1 }
            if isInTime { stats.seconds[second].refused += 1 }
        case .cut:
            // The server may close a connection that nobody uses.
            if !isFree[index] { stats.cut += 1 }
        }
        try connections[index].renew()
        watch(index)
        guard !isFree[index] else { return }
        isFree[index] = true
        free.append(index)
    }
}

/// Rollcall's watchdog answers after 5 s.
private let answerPatience = Nanoseconds.milliseconds(20_000)
