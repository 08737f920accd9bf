import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The queue behind a lock, and the one loop that sends from it.
final class Sender: Sendable {
    private enum Step {
        case beat
        case send(WaitingQueue.Body)
        case sleep(Task<Void, Never>)
        case end
    }

    fileprivate struct State {
        var queue: WaitingQueue
        var counts = RollcallClient.Counts()
        /// The instant at which the oldest item that waits for its body came.
        var oldestAt: ContinuousClock.Instant
        var nextBeat: ContinuousClock.Instant
        /// Set from `end` on.
        var end: ContinuousClock.Instant?
        var isOver = false
        /// The pause of the loop, which ends early when it is cancelled.
        var sleeper: Task<Void, Never>?
        var problems: Set<String> = []
        var reported: [String: ContinuousClock.Instant] = [:]
    }

    private let address: Address
    private let token: (@Sendable () throws -> String?)?
    private let options: RollcallClient.Options
    private let report: @Sendable (RollcallClient.Report) -> Void
    private let transport = HTTPTransport()
    private let state: Locked<State>

    init(
        address: Address, token: (@Sendable () throws -> String?)?,
        options: RollcallClient.Options, report: @escaping @Sendable (RollcallClient.Report) -> Void
    ) {
        self.address = address
        self.token = token
        self.options = options
        self.report = report
        let now = ContinuousClock.now
        state = Locked(
            State(queue: WaitingQueue(options), oldestAt: now, nextBeat: now))
    }

    var counts: RollcallClient.Counts {
        state.withLock { state in
            var counts = state.counts
            counts.waiting = state.queue.count
            counts.waitingBytes = state.queue.bytes
            return counts
        }
    }

    // MARK: - The queue

    func put(_ item: some Encodable, _ route: Route) throws -> Bool {
        put(line: try JSONLine.of(item, route), route)
    }

    func put(json: Data, _ route: Route) throws -> Bool {
        put(line: try JSONLine.stamped(json, route), route)
    }

    private func put(line item: JSONLine, _ route: Route) -> Bool {
        let line = item.bytes
        let (isQueued, drop): (Bool, RollcallClient.Report?) = state.withLock { state in
            state.counts.given += 1
            if state.end != nil || state.isOver {
                return (false, state.drop(.closed, [line], "the client is closed"))
            }
            if line.count > options.queueBytes {
                return (false, state.drop(.tooLarge, [line], "\(line.count) bytes"))
            }
            if !state.queue.hasFresh { state.oldestAt = .now }
            let (isQueued, dropped) = state.queue.append(line, route, person: item.person)
            state.sleeper?.cancel()
            let limits = "\(options.queueItems) items, \(options.queueBytes) bytes at most"
            return (isQueued, state.drop(.full, dropped, limits))
        }
        drop.map(report)
        return isQueued
    }

    // MARK: - The end

    /// Says that no more is to come, and how long what waits may still be sent.
    func end(within time: Duration) {
        state.withLock { state in
            let now = ContinuousClock.now
            if state.end == nil { state.end = now + time }
            state.queue.resume()
            state.sleeper?.cancel()
        }
    }

    /// Ends what is in flight.
    func hangUp() { transport.end() }

    /// Reports what is left; how many those are.
    func leave(after time: Duration) -> Int {
        transport.end()
        let (count, drop) = state.withLock { state in
            state.isOver = true
            let left = state.queue.takeAll()
            return (left.count, state.drop(.closed, left, "after \(time)"))
        }
        drop.map(report)
        return count
    }

    /// Ends at once: nobody holds the client any more.
    func abandon() {
        state.withLock { state in
            state.isOver = true
            state.sleeper?.cancel()
        }
        transport.end()
    }

    // MARK: - The loop

    func run() async {
        while true {
            switch nextStep() {
            case .end: return
            case .sleep(let sleeper): await sleeper.value
            case .beat: await beat()
            case .send(let body): await send(body)
            }
        }
    }

    /// Returns what is to be done now. A pause is made under the lock, so that whoever changes
    /// something after that finds it and can end it.
    private func nextStep() -> Step {
        state.withLock { state in
            let now = ContinuousClock.now
            state.sleeper = nil
            if state.isOver { return .end }
            var until: [ContinuousClock.Instant] = []
            if let end = state.end {
                if state.queue.isEmpty || now >= end { return .end }
                until.append(end)
            } else if options.heartbeatSeconds != nil {
                if now >= state.nextBeat { return .beat }
                until.append(state.nextBeat)
            }
            while let (name, due) = state.nextQueue(at: now, linger: options.linger) {
                guard now >= due else {
                    until.append(due)
                    break
                }
                let isNew = state.queue.body == nil && name == .fresh
                let body = state.queue.nextBody(of: name)
                if isNew { state.oldestAt = now }
                // Without one all were put behind others, and another queue is next.
                if let body { return .send(body) }
            }
            let wake = until.min() ?? now + .seconds(3600)
            let sleeper = Task { (try? await Task.sleep(until: wake)) ?? () }
            state.sleeper = sleeper
            return .sleep(sleeper)
        }
    }

    private func beat() async {
        let every = options.heartbeatSeconds ?? 10
        let body = Data("{\"every_seconds\":\(every)}".utf8)
        let failure: String?
        var notes: [Verdict.Note] = []
        do throws(HTTPTransport.NoAnswer) {
            let answer = try await post("/v1/heartbeat", "application/json", body)
            failure = answer.status == 200 ? nil : Remark.text(answer)
            if failure == nil { notes = Remark.of(answer)?.problems ?? [] }
        } catch { failure = error.reason }
        // One that failed comes a little sooner; one that is late is not made up for.
        let wait = Double(every) * (failure == nil ? 1 : 0.5) * Double.random(in: 0.9...1)
        state.withLock { $0.nextBeat = .now + .seconds(wait) }
        if let failure { reportFailing("heartbeat: \(failure)", key: "heartbeat") }
        reportProblems(notes, "heartbeat", [body])
    }

    private func send(_ body: WaitingQueue.Body) async {
        let answer: HTTPTransport.Answer
        do throws(HTTPTransport.NoAnswer) {
            answer = try await post(body.route.rawValue, "application/x-ndjson", body.bytes)
        } catch { return fail(error.reason, retryAfter: nil) }
        let verdict = Verdict(answer, count: body.items.count)
        let isCut = verdict.map { $0.unnamed(of: body.items.count) > 0 } ?? false
        let isTooLarge = answer.status == 413
        if let verdict, !isCut {
            settle(verdict, body, retryAfter: answer.retryAfter)
        } else if isTooLarge || isCut,
            state.withLock({ $0.queue.halve(isTooLarge: isTooLarge) })
        {
            // Half of it goes next: nothing of it was taken, or more were rejected than are named.
        } else if (400..<500).contains(answer.status), ![408, 429].contains(answer.status) {
            let drop = state.withLock { state in
                state.queue.settle()
                return state.drop(.refused, body.lines, Remark.text(answer))
            }
            drop.map(report)
        } else {
            fail(Remark.text(answer), retryAfter: answer.retryAfter)
        }
    }

    /// Rollcall has the body: who was taken, who was not, and who waits for their cell.
    private func settle(_ verdict: Verdict, _ body: WaitingQueue.Body, retryAfter: Double?) {
        let lines = body.lines
        let away = verdict.away
        let drops = state.withLock { state in
            let isEnding = state.end != nil
            state.queue.settle(away: away) { pauseEnd($0, retryAfter, isEnding: isEnding) }
            if !away.isEmpty { state.counts.failures += 1 }
            state.counts.accepted += verdict.accepted
            state.counts.duplicates += verdict.duplicates
            return verdict.rejected.map { note in
                let line = note.index.flatMap { lines.indices.contains($0) ? $0 : nil }
                return state.drop(
                    .rejected, [line.map { lines[$0] } ?? Data()],
                    "\(note.pointer): \(note.detail)")
            }
        }
        drops.forEach { $0.map(report) }
        if !away.isEmpty {
            let cells = Set(away.values).sorted().joined(separator: ", ")
            reportFailing("cell \(cells) did not take \(away.count) items", key: "away")
        }
        reportProblems(verdict.problems ?? [], body.route.rawValue, lines)
    }

    /// Nobody knows what became of it: the same body goes again after a pause.
    private func fail(_ reason: String, retryAfter: Double?) {
        state.withLock { state in
            state.counts.failures += 1
            let isEnding = state.end != nil
            state.queue.fail { pauseEnd($0, retryAfter, isEnding: isEnding) }
        }
        reportFailing(reason, key: "send")
    }

    /// Returns the instant of the next attempt after so many failures in a row.
    private func pauseEnd(
        _ failures: Int, _ retryAfter: Double?, isEnding: Bool
    ) -> ContinuousClock.Instant {
        let chance = Double.random(in: 0...1)
        let pause =
            isEnding
            ? 0.1 + chance / 5
            : BackOff.pause(
                failures: failures, longest: options.pauseMax, retryAfter: retryAfter,
                chance: chance)
        return .now + .seconds(pause)
    }

    private func post(
        _ path: String, _ type: String, _ body: Data
    ) async throws(HTTPTransport.NoAnswer) -> HTTPTransport.Answer {
        let end = state.withLock { state in
            state.counts.attempts += 1
            return state.end
        }
        guard let url = address.url(path) else { throw HTTPTransport.NoAnswer(reason: "no URL") }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue(type, forHTTPHeaderField: "Content-Type")
        request.setValue("rollcall-swift", forHTTPHeaderField: "User-Agent")
        do {
            if let token = try token?() {
                guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E) ~= $0 }) else {
                    throw RollcallClient.Invalid.token
                }
                request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
            }
        } catch { throw HTTPTransport.NoAnswer(reason: "no token") }
        let left = end.map { max(.milliseconds(50), $0 - ContinuousClock.now) }
        // By the clock that stamps received_at, anew at each attempt (D10).
        request.setValue(
            "\(JSONLine.milliseconds(Date()))", forHTTPHeaderField: "Rollcall-Sent-At")
        return try await transport.send(
            request, within: left.map { min($0, options.timeout) } ?? options.timeout)
    }

    // MARK: - Reports

    /// At the first failure of a kind, and once a minute after that.
    private func reportFailing(_ reason: String, key: String) {
        let waiting: Int? = state.withLock { state in
            let now = ContinuousClock.now
            if let last = state.reported[key], now - last < .seconds(60) { return nil }
            state.reported[key] = now
            return state.queue.count
        }
        if let waiting { report(.failing(reason, waiting: waiting)) }
    }

    /// Each kind once: pointers differ in their numbers only.
    private func reportProblems(_ notes: [Verdict.Note], _ path: String, _ lines: [Data]) {
        for note in notes {
            let kind = "\(path) \(note.pointer) \(note.detail)".filter { !$0.isNumber }
            let isNew = state.withLock { state in
                state.problems.count < problemsMax && state.problems.insert(kind).inserted
            }
            guard isNew else { continue }
            let place = note.index.flatMap { lines.indices.contains($0) ? $0 : nil }
            report(
                .problem(
                    pointer: note.pointer, detail: note.detail,
                    item: place.map { lines[$0] } ?? Data()))
        }
    }
}

/// Kinds of problems that are told apart at most.
private let problemsMax = 256

extension Sender.State {
    /// Returns what is sent next, and when; nil if nothing waits.
    fileprivate func nextQueue(
        at now: ContinuousClock.Instant, linger: Duration
    ) -> (name: ItemQueue.Name, due: ContinuousClock.Instant)? {
        let freshAt = end == nil && !queue.isFull ? oldestAt + linger : nil
        return queue.next(at: now, freshAt: freshAt)
    }

    /// Counts what will not arrive; what is to be reported of it, if it is anything.
    fileprivate mutating func drop(
        _ reason: RollcallClient.DropReason, _ lines: [Data], _ detail: String
    ) -> RollcallClient.Report? {
        if lines.isEmpty { return nil }
        counts.dropped[reason, default: 0] += lines.count
        return .dropped(reason, items: lines, detail: detail)
    }
}
