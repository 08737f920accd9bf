import Foundation

/// A client of Rollcall's for backends in Swift: a queue towards one Rollcall, and the task that
/// empties it.
///
/// ```swift
/// let rollcall = try RollcallClient(URL(string: "http://127.0.0.1:10112")!, source: "backend-1") {
///     logger.warning("\($0)")
/// }
/// try rollcall.batch(RollcallClient.Batch(responderID: "r-17"))
/// await rollcall.close()
/// ```
///
/// `batch`, `transition` and `facts` take a copy, stamp it with the time and return at once: they
/// neither suspend nor touch the network, and may be called from anywhere. What waits is sent as
/// NDJSON, together with the heartbeats of the source.
///
/// What waits is in memory and dies with the process. It is bounded by count and by bytes. When it is
/// full the oldest that is not being sent gives way to the new one: to a watch the newest news is
/// worth most. Whatever is not delivered is reported.
///
/// Nobody knows what became of a request without an answer (a refused connection, a time-out, 408,
/// 429, a 5xx), so the very same body goes again, after a pause that grows. That is safe: Rollcall
/// counts an update once for each responder, install and sequence, and a transition once for each id.
/// Any other refusal will not get better by repeating; the body is dropped and reported.
///
/// Of a fleet of many cells a gateway says which items a cell did not take. They are put aside, with what
/// comes of the same people behind them, and go again after pauses of their own; nobody else waits for
/// them.
///
/// Make one client in each process and close it at the end. Without `close` what waits is lost when
/// the client goes.
public final class RollcallClient: Sendable {
    private let sender: Sender
    private let worker: Task<Void, Never>

    /// Begins to send heartbeats.
    ///
    /// - Parameters:
    ///   - url: Where Rollcall, or the proxy in front of it, is reached. A path is kept.
    ///   - source: The name of this instance, which stays the same over restarts.
    ///   - token: A token with the scope `ingest`, asked for at each attempt, so that a file may
    ///     change; nil for none. An error counts as a failed attempt.
    ///   - options: The limits and times.
    ///   - report: Hears of what was dropped, of problems and of failures, on any thread. It must not
    ///     wait. Its text can be logged: it never holds a body, which may hold coordinates.
    /// - Throws: `Invalid` if the URL, the source or an option cannot be used.
    public init(
        _ url: URL, source: String, token: (@Sendable () throws -> String?)? = nil,
        options: Options = Options(), report: @escaping @Sendable (Report) -> Void
    ) throws {
        let address = try Address(url, source: source)
        try options.check()
        let sender = Sender(address: address, token: token, options: options, report: report)
        self.sender = sender
        worker = Task.detached { await sender.run() }
    }

    deinit { sender.abandon() }

    /// Queues what a phone sent (`POST /v1/batches`): a `Batch`, or any value of your own that
    /// encodes to such an object. Without a `received_at` it is stamped with now.
    ///
    /// - Returns: True if it was queued.
    /// - Throws: What encoding throws, or `Invalid.notAnObject`.
    @discardableResult
    public func batch(_ batch: some Encodable) throws -> Bool {
        try sender.put(batch, .batches)
    }

    /// Queues a batch that is JSON already, as the phone sent it. See `batch(_:)`.
    @discardableResult
    public func batch(json: Data) throws -> Bool { try sender.put(json: json, .batches) }

    /// Queues the backend's own change of a status (`POST /v1/transitions`). Without an `id` it gets
    /// one, so that a repeated request counts once; without an `at` it is stamped with now.
    ///
    /// - Returns: True if it was queued.
    /// - Throws: What encoding throws, or `Invalid.notAnObject`.
    @discardableResult
    public func transition(_ transition: some Encodable) throws -> Bool {
        try sender.put(transition, .transitions)
    }

    /// Queues facts that the backend knows, such as a duty state (`POST /v1/responders`). Without an
    /// `at` they are stamped with now.
    ///
    /// - Returns: True if they were queued.
    /// - Throws: What encoding throws, or `Invalid.notAnObject`.
    @discardableResult
    public func facts(_ facts: some Encodable) throws -> Bool { try sender.put(facts, .facts) }

    /// Returns what became of all items so far.
    public var counts: Counts { sender.counts }

    /// Sends what waits, for this time at most, and ends. Heartbeats end at once. Items that are left
    /// are reported as `closed`; those in a request without an answer may have arrived.
    ///
    /// - Returns: How many are left.
    @discardableResult
    public func close(within time: Duration = .seconds(5)) async -> Int {
        sender.end(within: time)
        let sender = self.sender
        let deadline = Task {
            try await Task.sleep(for: time)
            sender.hangUp()
        }
        await worker.value
        deadline.cancel()
        return sender.leave(after: time)
    }
}
